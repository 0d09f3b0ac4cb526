"""Problems whose f is a sum of Gaussians, so that g is one too: RKHS, GMM, Hartmann."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64

from meseta.noise import Normal
from meseta.problems.problem import Problem


@final
@dataclass(frozen=True, eq=False)
class SumOfGaussians:
    """x -> sum_i w_i exp(-1/2 sum_j (x_j - c_ij)^2 / v_ij)."""

    weights: Float64[np.ndarray, " k"]
    centers: Float64[np.ndarray, "k d"]
    variances: Float64[np.ndarray, "k d"]

    def __call__(self, x: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, " m"]:
        values = np.zeros(len(x))
        for w, c, v in zip(self.weights, self.centers, self.variances, strict=True):
            values += w * np.exp(-0.5 * ((x - c) ** 2 / v).sum(-1))
        return values

    def smoothed(self, std: float) -> "SumOfGaussians":
        """The expectation of this at x + xi, xi ~ N(0, std^2 I).

        E exp(-(x + xi - c)^2 / 2v) = sqrt(v / (v + std^2)) exp(-(x - c)^2 / 2(v + std^2)).
        """
        wider = self.variances + std**2
        shrinkage = np.sqrt(self.variances / wider).prod(-1)
        return SumOfGaussians(self.weights * shrinkage, self.centers, wider)


def rkhs() -> Problem:
    """Five wide bumps and fourteen narrow ones; the highest point of f is narrow."""
    wide = [(0.1, 4), (0.15, -1), (0.08, 2), (0.3, -2), (0.4, 1)]
    narrow = [(0.8, 3), (0.85, 4), (0.9, 2), (0.95, 1), (0.92, -1), (0.74, 2), (0.91, 2)]
    narrow += [(0.89, 3), (0.79, 3), (0.88, 2), (0.86, -1), (0.96, -2), (0.99, 4), (0.82, -3)]
    lengthscales = np.repeat([0.1, 0.01], [len(wide), len(narrow)])
    centers, weights = np.array(wide + narrow).T
    f = SumOfGaussians(weights, centers[:, None], lengthscales[:, None] ** 2)
    return _problem(
        "rkhs",
        "RKHS function",
        f,
        std=0.03,
        x_star=[0.07628762318489636],
        g_star=4.716619905973212,
        g_worst=-0.8713799650490076,
        budget=30,
        num_initial=3,
        source="Assael et al. 2014, arXiv:1406.7758; also Nogueira et al. 2016, IROS",
    )


def gmm() -> Problem:
    """A broad low hill and two narrow high ones."""
    widths = np.array([0.2, 0.1, 0.1])
    f = SumOfGaussians(
        np.array([0.5, 0.7, 0.7]),
        np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.7]]),
        np.tile(widths[:, None] ** 2, 2),
    )
    return _problem(
        "gmm",
        "Gaussian mixture",
        f,
        std=0.1,
        x_star=[0.2002980943977715, 0.20022463710849317],
        g_star=0.4001149596689175,
        g_worst=7.233272796455609e-05,
        budget=30,
        num_initial=5,
        source="Nogueira et al. 2016, IROS",
    )


HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])


def hartmann3() -> Problem:
    A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
    P = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
    return _problem(
        "hartmann3",
        "Hartmann (3-dim.)",
        # sum_i w_i exp(-sum_j A_ij (x_j - P_ij)^2)
        SumOfGaussians(HARTMANN_WEIGHTS, 1e-4 * np.array(P), 0.5 / A),
        std=0.1,
        x_star=[0.11728558626427017, 0.5694067390765856, 0.8303015920363445],
        g_star=2.971074510087074,
        g_worst=0.0006977623793664341,
        budget=100,
        num_initial=10,
        source="Hartman 1973, J. Optim. Theory Appl. 12; Dixon and Szego 1978",
    )


def hartmann6() -> Problem:
    A = np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    )
    P = [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
    return _problem(
        "hartmann6",
        "Hartmann (6-dim.)",
        SumOfGaussians(HARTMANN_WEIGHTS, 1e-4 * np.array(P), 0.5 / A),
        std=0.1,
        x_star=[
            0.20298142676604888,
            0.1534837979469491,
            0.47409133843229423,
            0.27290035838167653,
            0.31370260242103115,
            0.6592013249291353,
        ],
        g_star=2.282344755116602,
        g_worst=6.573053539756945e-07,
        budget=60,
        num_initial=10,
        source="Hartman 1973, J. Optim. Theory Appl. 12; Dixon and Szego 1978",
    )


def _problem(
    name: str,
    title: str,
    f: SumOfGaussians,
    *,
    std: float,
    x_star: list[float],
    g_star: float,
    g_worst: float,
    budget: int,
    num_initial: int,
    source: str,
) -> Problem:
    """Maximise over the unit cube."""
    d = len(x_star)
    return Problem(
        name=name,
        title=title,
        names=("x",) if d == 1 else tuple(f"x{j + 1}" for j in range(d)),
        f=f,
        g=f.smoothed(std),
        bounds=np.array([[0.0] * d, [1.0] * d]),
        noise=Normal((std,) * d),
        direction="maximize",
        x_star=np.array(x_star),
        g_star=g_star,
        g_worst=g_worst,
        certificate="g in closed form; optimum by 12 local searches from 2048 designs",
        budget=budget,
        num_initial=num_initial,
        source=source,
    )
