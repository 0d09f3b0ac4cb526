"""Golinski's speed reducer: the lightest whose shafts and gear hold, with tolerances."""

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

from meseta.measures import AtMost
from meseta.noise import Normal
from meseta.problems.problem import Problem
from meseta.problems.quadrature import normal
from meseta.space.parameter import Int

FIRST, SECOND = 7.3, 7.8  # lengths of the shafts between bearings
STD = {"face": 0.02, "module": 0.002, "shaft1": 0.02, "shaft2": 0.02}
PROBABILITY = 0.99


def speed_reducer() -> Problem:
    return Problem(
        name="speed-reducer",
        title="Speed reducer",
        names=("face", "module", "teeth", "shaft1", "shaft2"),
        f=weight,
        g=g,
        bounds=np.array([[2.6, 0.7, 17.0, 2.9, 5.0], [3.7, 0.8, 28.0, 3.9, 5.5]]),
        noise={name: Normal(std) for name, std in STD.items()},
        direction="minimize",
        x_star=np.array([3.552018719856674, 0.7, 17.0, 3.3967418776424436, 5.333210223202728]),
        g_star=3058.677871556317,
        g_worst=7264.475974214509,
        budget=60,
        num_initial=14,
        source="Golinski 1970, J. Mechanisms 5; 1973, Mech. Mach. Theory 8",
        differs="the lengths of the shafts are fixed, face goes to 3.7; of eleven constraints the "
        "three that bind without noise; dimensions have tolerances",
        kinds={"teeth": Int(17, 28)},
        outcomes={"stress1": stress1, "stress2": stress2, "slenderness": slenderness},
        constraints={
            name: AtMost(1, PROBABILITY) for name in ("stress1", "stress2", "slenderness")
        },
        shares=shares,
        board="constraints",
        certificate="g by moments; shares in closed form given the module, Gauss-Hermite 12 nodes, "
        "doubled: 1e-12; 4 local searches for every number of teeth",
    )


def weight(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """Golinski's polynomial."""
    face, module, teeth, d1, d2 = x.T
    return _weight(face, module**2, teeth, (d1**2, d2**2), (d1**3, d2**3))


def g(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """E z^2 = mean^2 + std^2, E z^3 = mean^3 + 3 mean std^2."""
    face, module, teeth, d1, d2 = x.T
    v1, v2 = STD["shaft1"] ** 2, STD["shaft2"] ** 2
    squares = (d1**2 + v1, d2**2 + v2)
    cubes = (d1**3 + 3 * d1 * v1, d2**3 + 3 * d2 * v2)
    return _weight(face, module**2 + STD["module"] ** 2, teeth, squares, cubes)


def _weight(
    face: np.ndarray,
    module2: np.ndarray,
    teeth: np.ndarray,
    squares: tuple[np.ndarray, np.ndarray],
    cubes: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    gear = 0.7854 * face * module2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
    holes = 1.508 * face * (squares[0] + squares[1])
    shafts = 7.4777 * (cubes[0] + cubes[1]) + 0.7854 * (FIRST * squares[0] + SECOND * squares[1])
    return gear - holes + shafts


def stress1(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """Of the first shaft, as a share of what it bears."""
    return _bending1(x[:, 1], x[:, 2]) / x[:, 3] ** 3


def stress2(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    return _bending2(x[:, 1], x[:, 2]) / x[:, 4] ** 3


def slenderness(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """5 module / face."""
    return 5 * x[:, 1] / x[:, 0]


def _bending1(module: np.ndarray, teeth: np.ndarray) -> np.ndarray:
    return np.sqrt((745 * FIRST / (module * teeth)) ** 2 + 16.9e6) / 110


def _bending2(module: np.ndarray, teeth: np.ndarray) -> np.ndarray:
    return np.sqrt((745 * SECOND / (module * teeth)) ** 2 + 157.5e6) / 85


def shares(x: Float64[np.ndarray, "m 5"], num: int = 12) -> Float64[np.ndarray, "m 3"]:
    """Given the module, a shaft bears the load from a certain diameter on."""
    nodes, weights = normal(num)
    face, module, teeth, d1, d2 = x.T
    modules = module[:, None] + STD["module"] * nodes[:, 0]
    bearing = [
        ndtr((d[:, None] - np.cbrt(bending(modules, teeth[:, None]))) / std) @ weights
        for d, bending, std in ((d1, _bending1, STD["shaft1"]), (d2, _bending2, STD["shaft2"]))
    ]
    # face - 5 module is Normal
    slender = ndtr((face - 5 * module) / np.hypot(STD["face"], 5 * STD["module"]))
    return np.stack([*bearing, slender], axis=-1)
