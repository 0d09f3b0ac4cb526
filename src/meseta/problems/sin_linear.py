"""Sin + Linear: oscillations that become faster, and the highest is the narrowest."""

import numpy as np
from jaxtyping import Float64

from meseta.noise import Normal
from meseta.problems.problem import Problem

STD = 0.05


def sin_linear() -> Problem:
    return Problem(
        name="sin-linear",
        title="Sin + Linear",
        names=("x",),
        f=f,
        g=g,
        bounds=np.array([[0.0], [1.0]]),
        noise=Normal((STD,)),
        direction="maximize",
        x_star=np.array([0.3111187120990578]),
        g_star=1.0420977492858565,
        budget=20,
        num_initial=3,
        source="Froehlich et al. 2020, Noisy-Input Entropy Search, AISTATS",
        g_worst=-0.4232269821041339,
        certificate="g in closed form; optimum by 12 local searches from 2048 designs",
    )


def f(x: Float64[np.ndarray, "m 1"]) -> Float64[np.ndarray, " m"]:
    """sin(5 pi x^2) + x / 2."""
    t = x[:, 0]
    return np.sin(5 * np.pi * t**2) + 0.5 * t


def g(x: Float64[np.ndarray, "m 1"]) -> Float64[np.ndarray, " m"]:
    """Im exp(i a x^2 / c) / sqrt(c) + x / 2 with a = 5 pi, c = 1 - 2 i a std^2.

    E exp(i a (x + xi)^2) is a Gaussian integral with a complex width.
    """
    t = x[:, 0]
    a = 5 * np.pi
    c = 1 - 2j * a * STD**2
    return (np.exp(1j * a * t**2 / c) / np.sqrt(c)).imag + 0.5 * t
