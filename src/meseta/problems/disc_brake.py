"""A disc brake: the lightest that stops in time, with tolerances of radii and force."""

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

from meseta.measures import AtLeast, AtMost
from meseta.noise import Normal, Uniform
from meseta.problems.problem import Problem
from meseta.problems.quadrature import product, uniform
from meseta.space.parameter import Int

TOLERANCE = 0.5  # of both radii, mm
FORCE = 0.03  # standard deviation of the force, as a share of it
SECONDS = 4.0
LEAST_WIDTH = 20.0
PROBABILITY = 0.95
NODES = 8


def disc_brake() -> Problem:
    return Problem(
        name="disc-brake",
        title="Disc brake",
        names=("inner", "outer", "force", "surfaces"),
        f=mass,
        g=g,
        bounds=np.array([[55.0, 75.0, 1000.0, 2.0], [80.0, 110.0, 3000.0, 11.0]]),
        noise={
            "inner": Uniform(TOLERANCE),
            "outer": Uniform(TOLERANCE),
            "force": Normal(FORCE, relative=True),
        },
        direction="minimize",
        x_star=np.array([71.21645301860981, 91.90022525259297, 3000.0, 7.0]),
        g_star=0.9919172569520877,
        g_worst=4.44675,
        budget=60,
        num_initial=12,
        source="Osyczka and Kundu 1995, Struct. Optim. 10; Ray and Liew 2002, Eng. Optim. 34",
        differs="mass is minimised, the stopping time has a limit; the limits of pressure, "
        "temperature and torque are left out, that of the length is in the range of the surfaces; "
        "tolerances are added",
        kinds={"surfaces": Int(2, 11)},
        outcomes={"time": time, "width": width},
        constraints={
            "time": AtMost(SECONDS, PROBABILITY),
            "width": AtLeast(LEAST_WIDTH, PROBABILITY),
        },
        shares=shares,
        board="constraints",
        certificate="g by moments; shares in closed form given the radii, Gauss-Legendre 8 x 8, "
        "doubled: 1e-12; for every number of surfaces the least width, and the least inner radius "
        "that stops in time with the largest force, by bisection; differential evolution agrees",
    )


def mass(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """4.9e-5 (outer^2 - inner^2) (surfaces - 1), kg."""
    inner, outer, _, surfaces = x.T
    return 4.9e-5 * (outer**2 - inner**2) * (surfaces - 1)


def g(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """The variances of both radii are the same, so that the mean mass is that of the mean radii."""
    return mass(x)


def time(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """9.82e6 (outer^2 - inner^2) / (force surfaces (outer^3 - inner^3)), s."""
    inner, outer, force, surfaces = x.T
    return 9.82e6 * _ratio(inner, outer) / (force * surfaces)


def width(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """outer - inner, mm."""
    return x[:, 1] - x[:, 0]


def shares(x: Float64[np.ndarray, "m 4"], num: int = NODES) -> Float64[np.ndarray, "m 2"]:
    """The force must reach a least one, given the radii; the width has a triangular law."""
    radii = product([uniform(num), uniform(num)])
    inner, outer = (x[:, j, None] + TOLERANCE * radii.nodes[:, j] for j in range(2))
    force, surfaces = x[:, 2, None], x[:, 3, None]
    least = 9.82e6 * _ratio(inner, outer) / (SECONDS * surfaces)
    in_time = ndtr((force - least) / (FORCE * force)) @ radii.weights
    # the distance to the limit in units of the largest there can be, 2 TOLERANCE
    t = np.clip((width(x) - LEAST_WIDTH) / (2 * TOLERANCE), -1, 1)
    wide = 0.5 + t - np.sign(t) * t**2 / 2
    return np.stack([in_time, wide], axis=-1)


def _ratio(inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """(outer^2 - inner^2) / (outer^3 - inner^3), without the factor that both have."""
    return (inner + outer) / (inner**2 + inner * outer + outer**2)
