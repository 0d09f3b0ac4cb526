"""The polynomial of Bertsimas, Nohadani and Teo with its two constraints, as published."""

import numpy as np
from jaxtyping import Float64
from numpy.polynomial.polynomial import polyval2d
from scipy.special import ndtr

from meseta.measures import AtMost
from meseta.noise import Normal
from meseta.problems.problem import Problem
from meseta.problems.quadrature import normal_average, normal_moments

STD = 0.2
PROBABILITY = 0.95
# the first constraint is a disc of fourth powers around (MIDDLE, MIDDLE)
MIDDLE, FOURTH = 1.5, 10.125


def constrained_polynomial() -> Problem:
    return Problem(
        name="constrained-polynomial",
        title="Polynomial with constraints",
        names=("x", "y"),
        f=f,
        g=g,
        bounds=np.array([[-0.3, -0.3], [3.3, 3.3]]),
        noise=Normal((STD, STD)),
        direction="minimize",
        x_star=np.array([0.11376971434908673, 0.5118383600666623]),
        g_star=2.587908797672062,
        g_worst=101.79811099999961,
        budget=50,
        num_initial=5,
        source="Bertsimas, Nohadani and Teo 2010, INFORMS J. Comput. 22, Sec. 4",
        differs="Normal noise with 95 % within each constraint, not the worst case of a disc",
        outcomes={"h1": h1, "h2": h2},
        constraints={"h1": AtMost(0, PROBABILITY), "h2": AtMost(0, PROBABILITY)},
        shares=shares,
        board="constraints",
        certificate="g by moments; shares by double exponential rules: 1e-12; "
        "24 local searches from 4096 designs",
    )


def _coefficients() -> Float64[np.ndarray, "7 7"]:
    c = np.zeros((7, 7))
    c[1:, 0] = [6.2, -4.7, -6.4, 21.2, -12.2, 2]
    c[0, 1:] = [-10, 56.9, -74.8, 43.3, -11, 1]
    c[1, 1], c[2, 2], c[1, 2], c[2, 1] = -4.1, -0.1, 0.4, 0.4
    return c


COEFFICIENTS = _coefficients()


def f(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """sum_ij c_ij x^i y^j."""
    return polyval2d(x[:, 0], x[:, 1], COEFFICIENTS)


def g(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """sum_ij c_ij E[x^i] E[y^j]."""
    first, second = (normal_moments(x[:, j], STD, 6) for j in range(2))
    return np.einsum("mi,ij,mj->m", first, COEFFICIENTS, second)


def h1(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """(x - 1.5)^4 + (y - 1.5)^4 - 10.125."""
    return ((x - MIDDLE) ** 4).sum(-1) - FOURTH


def h2(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """-(2.5 - x)^3 - (y + 1.5)^3 + 15.75."""
    return -((2.5 - x[:, 0]) ** 3) - (x[:, 1] + 1.5) ** 3 + 15.75


def shares(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, "m 2"]:
    """Given the first parameter, the second keeps a constraint within an interval."""
    first, second = x[:, 0], x[:, 1][:, None]

    def within_h1(z: Float64[np.ndarray, "m k"]) -> Float64[np.ndarray, "m k"]:
        half = np.maximum(FOURTH - (z - MIDDLE) ** 4, 0) ** 0.25
        return ndtr((MIDDLE + half - second) / STD) - ndtr((MIDDLE - half - second) / STD)

    def within_h2(z: Float64[np.ndarray, "m k"]) -> Float64[np.ndarray, "m k"]:
        least = np.cbrt(15.75 - (2.5 - z) ** 3) - 1.5
        return ndtr((second - least) / STD)

    radius = FOURTH**0.25
    return np.stack(
        [
            normal_average(within_h1, first, STD, (MIDDLE - radius, MIDDLE + radius)),
            normal_average(within_h2, first, STD, (2.5 - np.cbrt(15.75),)),
        ],
        axis=-1,
    )
