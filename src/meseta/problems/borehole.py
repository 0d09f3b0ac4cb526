"""Water flow through a borehole: how often it is from 60 to 80 cubic metres a year."""

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

from meseta.measures import Yield
from meseta.noise import Normal, Uniform
from meseta.problems.problem import Problem
from meseta.problems.quadrature import average, bell, product, uniform

LOW, HIGH = 60.0, 80.0
RADIUS_STD = 0.005
HEAD = (1050.0, 25.0)  # upper potentiometric head: mean, standard deviation
CONDUCTIVITY = (10_950.0, 1095.0)  # middle and half width of its range
INFLUENCE, UPPER, LOWER = 25_050.0, 89_335.0, 89.55  # radius of influence, transmissivities


def borehole() -> Problem:
    return Problem(
        name="borehole",
        title="Borehole",
        names=("radius", "length", "lower_head"),
        f=flow,
        g=g,
        bounds=np.array([[0.05, 1120.0, 700.0], [0.15, 1680.0, 820.0]]),
        noise={"radius": Normal(RADIUS_STD)},
        direction="maximize",
        x_star=np.array([0.09891892806676465, 1680.0, 700.0]),
        g_star=0.7061714178087259,
        g_worst=0.0,
        budget=50,
        num_initial=12,
        source="Harper and Gupta 1983; Surjanovic and Bingham, Virtual Library",
        differs="the yield between 60 and 80; radius with noise, upper head and conductivity "
        "are an environment, the head by a Normal law; radius of influence and transmissivities "
        "are fixed",
        environment={
            "upper_head": Normal(HEAD[1], mean=HEAD[0]),
            "conductivity": Uniform(CONDUCTIVITY[1], mean=CONDUCTIVITY[0]),
        },
        measure=Yield(low=LOW, high=HIGH),
        board="risk",
        certificate="closed form in the head; 65 x 12 nodes, doubled: 1e-12; "
        "3 local searches from 512 designs",
    )


def flow(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """Cubic metres a year; linear in the difference of the heads."""
    radius, length, lower_head, upper_head, conductivity = x.T
    return _per_head(radius, length, conductivity) * (upper_head - lower_head)


def g(x: Float64[np.ndarray, "m 3"], num: int = 65, other: int = 12) -> Float64[np.ndarray, " m"]:
    """Given radius and conductivity the flow is Normal, as the upper head is."""
    nodes, weights = product([bell(num), uniform(other)])
    noise = np.stack([RADIUS_STD * nodes[:, 0], *np.zeros((2, len(nodes)))], axis=-1)
    conductivity = (CONDUCTIVITY[0] + CONDUCTIVITY[1] * nodes[:, 1])[:, None]

    def place(x: Float64[np.ndarray, "m 3"]) -> Float64[np.ndarray, "m k 4"]:
        return np.concatenate([x[:, None] + noise, np.tile(conductivity, (len(x), 1, 1))], axis=-1)

    def share(points: Float64[np.ndarray, "n 4"]) -> Float64[np.ndarray, " n"]:
        radius, length, lower_head, conductivity = points.T
        rate = _per_head(radius, length, conductivity)
        low, high = (ndtr((limit / rate + lower_head - HEAD[0]) / HEAD[1]) for limit in (LOW, HIGH))
        return high - low

    return average(share, place, x, weights)


def _per_head(radius: np.ndarray, length: np.ndarray, conductivity: np.ndarray) -> np.ndarray:
    """2 pi Tu / (log(r / rw) (1 + 2 L Tu / (log(r / rw) rw^2 Kw) + Tu / Tl))."""
    log = np.log(INFLUENCE / radius)
    resistance = 2 * length * UPPER / (log * radius**2 * conductivity)
    return 2 * np.pi * UPPER / (log * (1 + resistance + UPPER / LOWER))
