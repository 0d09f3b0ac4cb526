"""A pressure vessel of plates in steps of 1/16 inch: the cheapest that holds, with tolerances."""

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

from meseta.measures import AtLeast
from meseta.noise import Normal
from meseta.problems.problem import Problem
from meseta.problems.quadrature import normal_average
from meseta.space.parameter import Float

RADIUS_STD, LENGTH_STD = 0.2, 2.0
VOLUME = 1_296_000.0
PROBABILITY = 0.95
STEP = 0.0625


def pressure_vessel() -> Problem:
    return Problem(
        name="pressure-vessel",
        title="Pressure vessel (mixed)",
        names=("shell", "head", "radius", "length"),
        f=cost,
        g=g,
        bounds=np.array([[0.5, 0.25, 30.0, 100.0], [1.5, 1.0, 60.0, 240.0]]),
        noise={"radius": Normal(RADIUS_STD), "length": Normal(LENGTH_STD)},
        direction="minimize",
        x_star=np.array([0.75, 0.375, 38.53113290155271, 232.67828361977234]),
        g_star=6019.392058081999,
        g_worst=24233.165124000003,
        budget=60,
        num_initial=12,
        source="Sandgren 1990, J. Mech. Des. 112; Kannan and Kramer 1994, J. Mech. Des. 116",
        differs="a smaller box; radius and length have tolerances",
        kinds={
            "shell": Float(0.5, 1.5, step=STEP),
            "head": Float(0.25, 1.0, step=STEP),
        },
        outcomes={"shell_spare": shell_spare, "head_spare": head_spare, "volume": volume},
        constraints={
            "shell_spare": AtLeast(0, PROBABILITY),
            "head_spare": AtLeast(0, PROBABILITY),
            "volume": AtLeast(1, PROBABILITY),
        },
        shares=shares,
        board="constraints",
        certificate="g by moments; shares in closed form, that of the volume by a double "
        "exponential rule to 1e-12; 25 radii for all plates",
    )


def cost(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    shell, head, radius, length = x.T
    return _cost(shell, head, radius, length, radius**2)


def g(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """E radius^2 = mean^2 + std^2; all else is linear in radius and length."""
    shell, head, radius, length = x.T
    return _cost(shell, head, radius, length, radius**2 + RADIUS_STD**2)


def _cost(
    shell: np.ndarray,
    head: np.ndarray,
    radius: np.ndarray,
    length: np.ndarray,
    radius2: np.ndarray,
) -> np.ndarray:
    plates = 0.6224 * shell * radius * length + 1.7781 * head * radius2
    return plates + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius


def shell_spare(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """What the shell is thicker than it has to be."""
    return x[:, 0] - 0.0193 * x[:, 2]


def head_spare(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    return x[:, 1] - 0.00954 * x[:, 2]


def volume(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """As a share of what is asked: pi r^2 l + 4 pi r^3 / 3."""
    radius, length = x[:, 2], x[:, 3]
    return (np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3) / VOLUME


def shares(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, "m 3"]:
    """Given the radius, the volume asks for a least length."""
    length = x[:, 3][:, None]

    def enough(z: Float64[np.ndarray, "m k"]) -> Float64[np.ndarray, "m k"]:
        return ndtr((length - VOLUME / (np.pi * z**2) + 4 / 3 * z) / LENGTH_STD)

    return np.stack(
        [
            ndtr(shell_spare(x) / (0.0193 * RADIUS_STD)),
            ndtr(head_spare(x) / (0.00954 * RADIUS_STD)),
            normal_average(enough, x[:, 2], RADIUS_STD),
        ],
        axis=-1,
    )
