"""Gravity assist: reach planet D with little fuel, swinging by the planets on the way."""

from functools import cache

import numpy as np
from jaxtyping import Float64

from meseta.noise import Normal
from meseta.problems.flight import closest_distance
from meseta.problems.problem import Problem

LOWER, UPPER = np.array([-10.0, 4.1]), np.array([45.0, 5.0])
STD = np.array([3.0, 0.05])
# Lattice of the quadrature: it reaches 5 standard deviations beyond the box.
SPACING = STD / np.array([12, 2.5])


def gravity() -> Problem:
    return Problem(
        name="gravity",
        title="Gravity assist",
        names=("angle", "speed"),
        f=f,
        g=g,
        bounds=np.stack([LOWER, UPPER]),
        noise=Normal(STD),
        direction="minimize",
        x_star=np.array([27.864559, 4.7911987]),
        g_star=0.9988590439910,
        budget=50,
        num_initial=5,
        source="Froehlich et al. 2020, Noisy-Input Entropy Search, AISTATS",
        g_worst=1.25260947430,
        certificate="g by a lattice, to 5e-6 at the optimum; 8 local searches from 2048 designs",
    )


def f(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """log10(d_target + 2 v_0), d_target the closest distance to planet D."""
    angle, speed = x.T
    return np.log10(closest_distance(angle, speed) + 2 * speed)


def g(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """E f(x + xi) by the trapezoidal rule on a lattice that is the same for every x.

    The kinks of f (flights that hit D, or whose closest approach jumps to another instant) limit
    its accuracy: 5e-6 around the optimum and in half of the box. Where the craft grazes B (angles
    around 10 degrees) f has grooves narrower than the lattice, where it barely escapes A (speeds
    around 4.15) a cliff, and there g errs by up to 2e-3. `g_star` is the minimum of this rule, 6e-7
    from that of a rule with seven times as many flights, and the error changes slowly with x; so
    the regret near the optimum is more accurate than g itself.
    """
    outside = ((x < LOWER - 1e-6) | (x > UPPER + 1e-6)).any(-1)
    if outside.any():
        raise ValueError(
            "g of gravity is known for angles in [-10, 45] and speeds in [4.1, 5], got "
            f"{x[outside][0].tolist()}; move the design into the box"
        )
    angles, speeds, values = _lattice()
    by_angle = _weights(x[:, 0], angles, STD[0])
    by_speed = _weights(x[:, 1], speeds, STD[1])
    return ((by_angle @ values) * by_speed).sum(-1)


def _weights(
    center: Float64[np.ndarray, " m"], nodes: Float64[np.ndarray, " k"], std: float
) -> Float64[np.ndarray, "m k"]:
    density = np.exp(-0.5 * ((nodes - center[:, None]) / std) ** 2)
    return density / density.sum(-1, keepdims=True)


@cache
def _lattice() -> tuple[
    Float64[np.ndarray, " a"], Float64[np.ndarray, " s"], Float64[np.ndarray, "a s"]
]:
    """Angles, speeds and f at every pair: about 24 000 flights, a few seconds, once."""
    low, high = LOWER - 5 * STD, UPPER + 5 * STD
    num = np.rint((high - low) / SPACING).astype(int) + 1
    angles, speeds = (np.linspace(*ends) for ends in zip(low, high, num, strict=True))
    pairs = np.stack(np.meshgrid(angles, speeds, indexing="ij"), axis=-1)
    return angles, speeds, f(pairs.reshape(-1, 2)).reshape(pairs.shape[:2])
