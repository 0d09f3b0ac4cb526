"""Ballistic flight of a craft among fixed planets, point masses with G = 1.

Near a planet ordinary integrators need ever smaller steps. Here the craft moves in a fictitious
time s with dt = ds / U, U = sum_i m_i / r_i, by the leapfrog of the logarithmic Hamiltonian
log(T + B) - log U, T = |v|^2 / 2, B = U - T at launch [Mikkola and Tanikawa 1999; Preto and
Tremaine 1999]. It follows the orbit around one planet exactly, through collisions too (the craft
then turns back, the limit of ever closer passages), so that every flight has finitely many steps.
The plane is the complex plane.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Complex128, Float64, Int

PLANETS = np.array([0.0, 4 + 0.2j, 5 - 1.5j, 10])  # A, B, C, D
MASSES = np.array([1.0, 2, 8, 10])
START = 0.1
TARGET = 10.0  # planet D
DURATION = 4.0

# Seventeen leapfrogs make one step of order 8 [Kahan and Li 1997, s17odr8a]; symmetric.
_HALF = [
    0.13020248308889008088,
    0.56116298177510838456,
    -0.38947496264484728641,
    0.15884190655515560090,
    -0.39590389413323757734,
    0.18453964097831570709,
    0.25837438768632204729,
    0.29501172360931029887,
]
KICKS = np.array([*_HALF, -0.60550853383003451170, *_HALF[::-1]])
DRIFTS = (np.append(KICKS, 0) + np.append(0, KICKS)) / 2
# Length of a step; at 0.25 half of the flights of the box know their closest distance to 2e-7.
FINENESS = 0.25
# From about 14 on, a craft that heads for a planet would need finer steps: T + B turns negative.
MAX_SPEED = 10.0
BATCH = 32768


class Flights(NamedTuple):
    """Many craft: where, how fast, when, and U - T, which stays as it was at launch."""

    position: Complex128[np.ndarray, " n"]
    velocity: Complex128[np.ndarray, " n"]
    time: Float64[np.ndarray, " n"]
    binding: Float64[np.ndarray, " n"]


def launch(angle: Float64[np.ndarray, " n"], speed: Float64[np.ndarray, " n"]) -> Flights:
    """Craft at the start; angle in degrees, counter-clockwise from the direction to planet D."""
    allowed = np.isfinite(angle) & (speed > 0) & (speed <= MAX_SPEED)
    if not allowed.all():
        worst = np.flatnonzero(~allowed)[0]
        raise ValueError(
            f"expected a finite angle and a speed above 0, at most {MAX_SPEED}, got "
            f"angle {angle[worst]} and speed {speed[worst]}; "
            "to launch the other way add 180 to the angle"
        )
    position = np.full(angle.shape, START, dtype=np.complex128)
    velocity = speed * np.exp(1j * np.deg2rad(angle))
    binding = potential_and_pull(position)[0] - speed**2 / 2
    return Flights(position, velocity, np.zeros(angle.shape), binding)


def potential_and_pull(
    position: Complex128[np.ndarray, " n"],
) -> tuple[Float64[np.ndarray, " n"], Complex128[np.ndarray, " n"]]:
    """U = sum_i m_i / r_i and its gradient, the acceleration of the craft."""
    U = np.zeros(position.shape)
    pull = np.zeros_like(position)
    for planet, mass in zip(PLANETS, MASSES, strict=True):
        towards = planet - position
        # 1e-15 from a planet U is 1e15 already; nearer the division could overflow
        inverse = 1 / np.maximum(towards.real**2 + towards.imag**2, 1e-30)
        u = mass * np.sqrt(inverse)
        U += u
        pull += (u * inverse) * towards
    return U, pull


def step_length(flights: Flights, fineness: float = FINENESS) -> Float64[np.ndarray, " n"]:
    """Fictitious time of a step, fineness * U / sum_i (sqrt(m_i) / r_i).

    On an orbit of size a around planet i one radian of eccentric anomaly takes sqrt(m_i a): around
    heavy planets a step may be longer. Craft that are faster than any orbit (T > 2 U) take shorter
    ones.
    """
    nearness = 1 / np.maximum(np.abs(flights.position[:, None] - PLANETS), 1e-15)
    U = nearness @ MASSES
    haste = np.sqrt(np.maximum(U - flights.binding, 2 * U) / (2 * U))
    return fineness * U / (nearness @ np.sqrt(MASSES)) / haste


def advance(flights: Flights, step: Float64[np.ndarray, " n"]) -> Flights:
    """One step in fictitious time: v += ds grad U / U between z += ds v / (T + B)."""
    z, v, t, binding = flights
    dt = DRIFTS[0] * step / ((v.real**2 + v.imag**2) / 2 + binding)
    z, t = z + dt * v, t + dt
    for kick, drift in zip(KICKS, DRIFTS[1:], strict=True):
        U, pull = potential_and_pull(z)
        v = v + (kick * step / U) * pull
        dt = drift * step / ((v.real**2 + v.imag**2) / 2 + binding)
        z, t = z + dt * v, t + dt
    return Flights(z, v, t, binding)


def closest_distance(
    angle: Float64[np.ndarray, " n"], speed: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    """Smallest distance to planet D at any time between launch and the end of the flight."""
    closest = np.empty(angle.shape)
    for first in range(0, len(angle), BATCH):
        batch = slice(first, first + BATCH)
        closest[batch] = _closest(launch(angle[batch], speed[batch]))
    return closest


def trajectory(
    angle: float | int, speed: float | int
) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, "k 2"]]:
    """Times and positions of one flight, close enough together for a smooth line."""
    flight = launch(np.array([float(angle)]), np.array([float(speed)]))
    path = [flight]
    while flight.time[0] < DURATION:
        flight, _ = _advance_within_duration(flight, step_length(flight, FINENESS / 5))
        path.append(flight)
    z = np.concatenate([f.position for f in path])
    return np.concatenate([f.time for f in path]), np.stack([z.real, z.imag], axis=-1)


def _closest(flights: Flights) -> Float64[np.ndarray, " n"]:
    closest = _distance(flights)
    flying = np.arange(len(closest))
    while len(flying):
        after, step = _advance_within_duration(flights, step_length(flights))
        distance = _distance(after)
        passing = (_approach(flights) < 0) & (_approach(after) > 0)
        if passing.any():
            distance[passing] = _pericentre(
                _take(flights, passing), _take(after, passing), step[passing]
            )
        closest[flying] = np.minimum(closest[flying], distance)
        still = after.time < DURATION
        flights, flying = _take(after, still), flying[still]
    return closest


def _advance_within_duration(
    flights: Flights, step: Float64[np.ndarray, " n"]
) -> tuple[Flights, Float64[np.ndarray, " n"]]:
    """One step, shortened for those who would fly beyond the end; and the steps taken."""
    after = advance(flights, step)
    over = np.flatnonzero(after.time >= DURATION)
    if len(over):
        before = _take(flights, over)
        ds = step[over] * (DURATION - before.time) / (after.time[over] - before.time)
        for _ in range(4):  # Newton: t(s) = DURATION, dt/ds = 1/U
            last = advance(before, ds)
            ds = ds + (DURATION - last.time) * potential_and_pull(last.position)[0]
        for whole, part in zip(after, last, strict=True):
            whole[over] = part
        after.time[over] = DURATION
        step[over] = ds
    return after, step


def _pericentre(
    before: Flights, after: Flights, step: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    """Distance to D where it is smallest within a step that first approaches, then recedes.

    The rate (z - D).v is a smooth function of fictitious time even in a collision, so its root is
    found quickly by regula falsi (Illinois); the distance errs by the square of the root's error.
    """
    left, right = np.zeros_like(step), step
    rate_left, rate_right = _approach(before), _approach(after)
    closest = np.minimum(_distance(before), _distance(after))
    for _ in range(5):
        middle = (left * rate_right - right * rate_left) / (rate_right - rate_left)
        there = advance(before, middle)
        closest = np.minimum(closest, _distance(there))
        rate = _approach(there)
        receding = rate > 0
        left, right = np.where(receding, left, middle), np.where(receding, middle, right)
        rate_left, rate_right = (
            np.where(receding, rate_left / 2, rate),
            np.where(receding, rate, rate_right / 2),
        )
    return closest


def _distance(flights: Flights) -> Float64[np.ndarray, " n"]:
    return np.abs(flights.position - TARGET)


def _approach(flights: Flights) -> Float64[np.ndarray, " n"]:
    """(z - D).v: negative while the craft comes nearer."""
    return (flights.velocity * np.conj(flights.position - TARGET)).real


def _take(flights: Flights, which: Int[np.ndarray, " k"] | Bool[np.ndarray, " n"]) -> Flights:
    return Flights(*(values[which] for values in flights))
