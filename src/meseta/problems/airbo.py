"""The two problems of AIRBO: needles in one parameter, a ring in two."""

import numpy as np
import scipy.stats
from jaxtyping import Float64
from scipy.special import roots_jacobi

from meseta.noise import Empirical, from_scipy
from meseta.problems.problem import Problem

SOURCE = (
    "Yang, Lyu, Lyu and Chen 2023, Efficient Robust Bayesian Optimization for Arbitrary Uncertain "
    "Inputs, NeurIPS 36"
)
# xi = WIDTH b, b ~ Beta(SHAPE)
WIDTH, SHAPE = 0.1, (0.4, 0.2)
NODES = 64
ANGLES = 2 * np.pi * np.arange(60) / 60
RING = 0.5 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)


def needles() -> Problem:
    return Problem(
        name="needles",
        title="Needles (AIRBO)",
        names=("x",),
        f=needles_f,
        g=needles_g,
        bounds=np.array([[0.0], [1.0]]),
        noise={"x": from_scipy(scipy.stats.beta(*SHAPE, scale=WIDTH))},
        direction="maximize",
        x_star=np.array([0.2522763609569041]),
        g_star=6.4143423859715485,
        g_worst=-0.06782180289255446,
        budget=40,
        num_initial=3,
        source=SOURCE,
        differs="the law of the noise, Beta(0.4, 0.2) / 10, is known",
        certificate="Gauss-Jacobi, 64 nodes, doubled: 1e-11; 24 local searches from 4096 designs",
    )


def needles_f(x: Float64[np.ndarray, "m 1"]) -> Float64[np.ndarray, " m"]:
    """sinc(2 pi x) + 7.2 exp(-(37 (x - 0.25))^2) + 8.9 exp(-(39 (x - 0.35))^2)."""
    t = x[:, 0]
    first, second = 37 * (t - 0.25), 39 * (t - 0.35)
    return np.sinc(2 * np.pi * t) + 7.2 * np.exp(-(first**2)) + 8.9 * np.exp(-(second**2))


def needles_g(x: Float64[np.ndarray, "m 1"], num: int = NODES) -> Float64[np.ndarray, " m"]:
    """Gauss-Jacobi: its weight is the density of the noise, infinite at both ends."""
    a, b = SHAPE
    nodes, weights = roots_jacobi(num, b - 1, a - 1)
    points = x[:, :1] + WIDTH * (1 + nodes) / 2
    return needles_f(points.reshape(-1, 1)).reshape(points.shape) @ (weights / weights.sum())


def ring() -> Problem:
    return Problem(
        name="ring",
        title="Ring (AIRBO)",
        names=("x", "y"),
        f=ring_f,
        g=ring_g,
        bounds=np.array([[-2.0, -2.0], [2.0, 2.0]]),
        noise={("x", "y"): Empirical(RING)},
        direction="maximize",
        x_star=np.array([0.0, 0.0]),
        g_star=-0.008906320199920126,
        g_worst=-6.252595980731253,
        budget=50,
        num_initial=5,
        source=SOURCE,
        differs="the ring of radius 0.5 is 60 points",
        certificate="g is a sum of 60 terms; 24 local searches from 4096 designs",
    )


def ring_f(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """-(2 log(0.8 r^2 + exp(-10 r^2)) + 2.54), r^2 = x^2 + y^2."""
    square = (x**2).sum(-1)
    return -(2 * np.log(0.8 * square + np.exp(-10 * square)) + 2.54)


def ring_g(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """The mean over all points of the ring."""
    points = (x[:, None] + RING).reshape(-1, 2)
    return ring_f(points).reshape(len(x), len(RING)).mean(-1)
