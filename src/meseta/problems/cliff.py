"""Cliff: the nearer to the edge the better, and nothing beyond it."""

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

from meseta.noise import Normal
from meseta.problems.problem import Problem

FOOT, EDGE = -0.8, 0.2
STD = np.array([0.05, 0.15])


def cliff() -> Problem:
    return Problem(
        name="cliff",
        title="Cliff (broken)",
        names=("x1", "x2"),
        f=f,
        g=g,
        bounds=np.array([[-1.0, -1.0], [1.0, 1.0]]),
        noise=Normal(STD.tolist()),
        direction="maximize",
        x_star=np.array([0.09759689465177956, -0.017809541035678444]),
        g_star=1.5809962998415164,
        g_worst=4.6938931944225077e-08,
        budget=40,
        num_initial=5,
        source="Paenke, Branke and Jin 2006, IEEE Trans. Evol. Comput. 10",
        differs="its broken function as public code has it; two parameters, Normal noise of two "
        "widths",
        certificate="closed form; 24 local searches from 4096 designs",
    )


def f(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """sum_j x_j + 0.8 where -0.8 <= x_j < 0.2, else 0."""
    return np.where((x >= FOOT) & (x < EDGE), x - FOOT, 0.0).sum(-1)


def g(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """sum_j (x_j + 0.8) (Phi(b) - Phi(a)) - std (phi(b) - phi(a)), a and b the ends, scaled."""
    a, b = (FOOT - x) / STD, (EDGE - x) / STD
    phi_a, phi_b = (np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) for z in (a, b))
    return ((x - FOOT) * (ndtr(b) - ndtr(a)) - STD * (phi_b - phi_a)).sum(-1)
