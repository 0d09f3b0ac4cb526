"""Branke's function in ten parameters: a broad hill and a sharp, higher one in each, with kinks."""

import numpy as np
from jaxtyping import Float64

from meseta.noise import Uniform
from meseta.problems.problem import Problem

DIMENSION = 10
HALF_WIDTH = 0.2
DECAY = 8 * np.log(2)


def branke() -> Problem:
    return Problem(
        name="branke",
        title="Branke (10-dim.)",
        names=tuple(f"x{j + 1}" for j in range(DIMENSION)),
        f=f,
        g=g,
        bounds=np.array([[-2.0] * DIMENSION, [2.0] * DIMENSION]),
        noise=Uniform((HALF_WIDTH,) * DIMENSION),
        direction="maximize",
        x_star=np.full(DIMENSION, -1.0),
        g_star=9.467732229157788,
        g_worst=0.733785473478582,
        budget=60,
        num_initial=24,
        source="Branke 1998, Creating robust solutions by means of evolutionary algorithms, PPSN",
        differs="ten parameters, not twenty; 2 pi, not 6.283",
        certificate="closed form; "
        "additive, so the optimum is that of one parameter, by a grid of 400001",
    )


def f(x: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, " m"]:
    """sum_j h(x_j), 0 beyond -2 and 2.

    h(t) = -(t + 1)^2 + 1.4 - 0.8 |sin 2 pi t| where t < 0,
    h(t) = 0.6 2^(-8 |t - 1|) + 0.958887 - 0.8 |sin 2 pi t| from there on.
    """
    hill = -((x + 1) ** 2) + 1.4
    needle = 0.6 * 2.0 ** (-8 * np.abs(x - 1)) + 0.958887
    values = np.where(x < 0, hill, needle) - 0.8 * np.abs(np.sin(2 * np.pi * x))
    return np.where((x >= -2) & (x < 2), values, 0.0).sum(-1)


def g(x: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, " m"]:
    """sum_j (H(x_j + 0.2) - H(x_j - 0.2)) / 0.4, H the integral of h."""
    ends = _integral(x + HALF_WIDTH) - _integral(x - HALF_WIDTH)
    return (ends / (2 * HALF_WIDTH)).sum(-1)


def _integral(t: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, "m d"]:
    """From 0 to t, for t below 0 negative."""
    t = np.clip(t, -2, 2)
    left, right = np.minimum(t, 0), np.maximum(t, 0)
    hill = -((left + 1) ** 3 - 1) / 3 + 1.4 * left
    # 2^(-8 |t - 1|), from 0 to 1 and beyond
    rising = (np.exp(DECAY * (np.minimum(right, 1) - 1)) - np.exp(-DECAY)) / DECAY
    falling = (1 - np.exp(-DECAY * np.maximum(right - 1, 0))) / DECAY
    return hill + 0.6 * (rising + falling) + 0.958887 * right - 0.8 * _integral_of_waves(t)


def _integral_of_waves(t: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, "m d"]:
    """Of |sin 2 pi t|: every half period has 1 / pi."""
    whole = np.floor(2 * t)
    rest = t - whole / 2
    return whole / np.pi + (1 - np.cos(2 * np.pi * rest)) / (2 * np.pi)
