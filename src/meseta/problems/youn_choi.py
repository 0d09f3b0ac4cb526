"""Chance-constrained problems of reliability-based design: a line, and a narrow curved valley.

Both have x1 and x2, Normal with standard deviation 0.3, and three constraints.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

from meseta.measures import AtLeast, AtMost
from meseta.noise import Normal
from meseta.problems.problem import Problem
from meseta.problems.quadrature import normal_average

STD = 0.3
# of x1 + x2 and of x1 - x2, which are independent
SUM_STD = STD * np.sqrt(2)
# the rows that turn x1 and x2 into the axes of the valley; orthogonal, of one length
AXES = np.array([[0.9063, 0.4226], [0.4226, -0.9063]])
AXIS_STD = STD * float(np.hypot(0.9063, 0.4226))
Values = Float64[np.ndarray, " m"]
Points = Float64[np.ndarray, "m 2"]


def youn_choi() -> Problem:
    asked = float(ndtr(3.0))
    return Problem(
        name="youn-choi",
        title="Youn and Choi",
        names=("x1", "x2"),
        f=total,
        g=total,
        bounds=np.array([[0.0, 0.0], [10.0, 10.0]]),
        noise=Normal((STD, STD)),
        direction="minimize",
        x_star=np.array([3.453927694838817, 3.2749864560305846]),
        g_star=6.728914150869402,
        g_worst=20.0,
        budget=40,
        num_initial=5,
        source="Youn and Choi 2004, J. Mech. Des. 126, 403-411, math. example",
        differs="deviations of 0.3 and beta = 3, as in later papers; 0.6 and 2 elsewhere",
        outcomes={"g1": g1, "g2": g2, "g3": g3},
        constraints={name: AtLeast(0, asked) for name in ("g1", "g2", "g3")},
        shares=shares,
        board="constraints",
        certificate="g is f; shares by double exponential rules to 1e-12; "
        "24 local searches from 4096 designs",
    )


def curved_valley() -> Problem:
    asked = float(ndtr(3.0))
    return Problem(
        name="curved-valley",
        title="Curved valley",
        names=("x1", "x2"),
        f=valley,
        g=valley_mean,
        bounds=np.array([[0.0, 0.0], [10.0, 10.0]]),
        noise=Normal((STD, STD)),
        direction="minimize",
        x_star=np.array([4.623621476564123, 1.9433105339700458]),
        g_star=-1.7402842406837582,
        g_worst=-0.0075,
        budget=50,
        num_initial=5,
        source="Lee, Choi and Zhao 2011, Struct. Multidiscip. Optim. 44, 299-317",
        differs="beta = 3, where other shares are asked as well; "
        "the mean of the objective, 0.0075 below its value at the design",
        outcomes={"g1": g1, "curve": curve, "g3": g3},
        constraints={"g1": AtLeast(0, asked), "curve": AtMost(0, asked), "g3": AtLeast(0, asked)},
        shares=valley_shares,
        board="constraints",
        certificate="g by moments; shares by double exponential rules: 1e-12; "
        "3 local searches from 512 designs",
    )


def total(x: Points) -> Values:
    """x1 + x2, and so is its mean."""
    return x.sum(-1)


def valley(x: Points) -> Values:
    """-(x1 + x2 - 10)^2 / 30 - (x1 - x2 + 10)^2 / 120."""
    x1, x2 = x.T
    return -((x1 + x2 - 10) ** 2) / 30 - (x1 - x2 + 10) ** 2 / 120


def valley_mean(x: Points) -> Values:
    """The mean of a square has the variance, 2 STD^2, more."""
    return valley(x) - SUM_STD**2 * (1 / 30 + 1 / 120)


def g1(x: Points) -> Values:
    """x1^2 x2 / 20 - 1."""
    return x[:, 0] ** 2 * x[:, 1] / 20 - 1


def g2(x: Points) -> Values:
    """(x1 + x2 - 5)^2 / 30 + (x1 - x2 - 12)^2 / 120 - 1."""
    x1, x2 = x.T
    return (x1 + x2 - 5) ** 2 / 30 + (x1 - x2 - 12) ** 2 / 120 - 1


def g3(x: Points) -> Values:
    """80 / (x1^2 + 8 x2 + 5) - 1."""
    return 80 / (x[:, 0] ** 2 + 8 * x[:, 1] + 5) - 1


def curve(x: Points) -> Values:
    """-1 + s^2 + s^3 - 0.6 s^4 + Z, s = Y - 6, (Y, Z) = AXES x."""
    Y, Z = AXES @ x.T
    return Z - _highest(Y)


def shares(x: Points) -> Float64[np.ndarray, "m 3"]:
    return np.stack([_share1(x), _share2(x), _share3(x)], axis=-1)


def valley_shares(x: Points) -> Float64[np.ndarray, "m 3"]:
    return np.stack([_share1(x), _share_of_curve(x), _share3(x)], axis=-1)


def _share1(x: Points) -> Values:
    """Given x1: x2 >= 20 / x1^2."""
    step = np.sqrt(20 / np.maximum(x[:, 1], 1e-3))
    return _given_x1(x, lambda z: (20 / np.maximum(z**2, 1e-12), np.inf), (-step, step))


def _share3(x: Points) -> Values:
    """Given x1: 0 < x1^2 + 8 x2 + 5 <= 80."""
    step = np.sqrt(np.maximum(75 - 8 * x[:, 1], 0))
    return _given_x1(x, lambda z: (-(5 + z**2) / 8, (75 - z**2) / 8), (-step, step))


def _given_x1(
    x: Points,
    ends: Callable[[np.ndarray], tuple[np.ndarray | float, ...]],
    steps: tuple[np.ndarray, ...],
) -> Values:
    """The share of x2 between ends that depend on x1."""
    x2 = x[:, 1][:, None]

    def within(z: np.ndarray) -> np.ndarray:
        low, high = ends(z)
        return ndtr((high - x2) / STD) - ndtr((low - x2) / STD)

    return normal_average(within, x[:, 0], STD, steps)


def _share2(x: Points) -> Values:
    """Given p = x1 + x2, q = x1 - x2 is not within an ellipse around (5, 12)."""
    p, q = x.sum(-1), (x[:, 0] - x[:, 1])[:, None]

    def outside(z: np.ndarray) -> np.ndarray:
        half = np.sqrt(120 * np.maximum(1 - (z - 5) ** 2 / 30, 0))
        return 1 - ndtr((12 + half - q) / SUM_STD) + ndtr((12 - half - q) / SUM_STD)

    return normal_average(outside, p, SUM_STD, (5 - np.sqrt(30), 5 + np.sqrt(30)))


def _share_of_curve(x: Points) -> Values:
    """Given Y, Z stays below the curve; the two are independent."""
    Y, Z = AXES @ x.T
    # where the curve has the height Z; the real parts of complex roots do no harm
    roots = [6 + np.roots([0.6, -1, -1, 0, 1 - height]).real for height in Z]
    steps = np.array(roots).reshape(-1, 4).T
    return normal_average(
        lambda y: ndtr((_highest(y) - Z[:, None]) / AXIS_STD), Y, AXIS_STD, [*steps]
    )


def _highest(Y: np.ndarray) -> np.ndarray:
    s = Y - 6
    return 1 - s**2 - s**3 + 0.6 * s**4
