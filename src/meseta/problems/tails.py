"""Sin + Linear by its tail: the quantile and the mean of the worst values, known exactly.

Between its extrema f is monotone, so that {f <= v} is an interval on each of these branches.
"""

from functools import cache

import numpy as np
from jaxtyping import Float64
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtr

from meseta.measures import CVaR, Measure, Quantile
from meseta.noise import Normal
from meseta.problems.problem import Function, Problem
from meseta.problems.sin_linear import STD, f

SHARE = 0.1
ENDS = (-0.45, 1.45)  # the box and 9 standard deviations
BISECTIONS = 42
NODES = 40
SOURCE = "Froehlich et al. 2020, Noisy-Input Entropy Search, AISTATS"


def sin_linear_quantile() -> Problem:
    """The value that 90 % reach."""
    return _problem(
        "sin-linear-quantile",
        "Sin + Linear, quantile",
        g_quantile,
        Quantile(SHARE),
        x_star=0.31124388034903033,
        g_star=0.8481995812842609,
        g_worst=-0.7207810702018218,
    )


def sin_linear_cvar() -> Problem:
    """The mean of the worst 10 %."""
    return _problem(
        "sin-linear-cvar",
        "Sin + Linear, CVaR",
        g_cvar,
        CVaR(SHARE),
        x_star=0.30269249482042077,
        g_star=0.6895325742318807,
        g_worst=-0.7246383712771313,
    )


def _problem(
    name: str,
    title: str,
    g: Function,
    measure: Measure,
    *,
    x_star: float,
    g_star: float,
    g_worst: float,
) -> Problem:
    return Problem(
        name=name,
        title=title,
        names=("x",),
        f=f,
        g=g,
        bounds=np.array([[0.0], [1.0]]),
        noise=Normal((STD,)),
        direction="maximize",
        x_star=np.array([x_star]),
        g_star=g_star,
        g_worst=g_worst,
        budget=30,
        num_initial=3,
        source=SOURCE,
        differs=f"{measure.in_words()}, not the mean",
        measure=measure,
        board="risk",
        certificate="exact on every monotone branch of f, bisection to 1e-12; grid of 401 designs",
    )


def g_quantile(x: Float64[np.ndarray, "m 1"]) -> Float64[np.ndarray, " m"]:
    """v with P(f(x + xi) <= v) = SHARE, by bisection."""
    t = x[:, 0]
    low, high = np.full(len(t), -2.0), np.full(len(t), 2.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        left, right = _below(middle)
        below = (ndtr((right - t) / STD) - ndtr((left - t) / STD)).sum(0) < SHARE
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def g_cvar(x: Float64[np.ndarray, "m 1"]) -> Float64[np.ndarray, " m"]:
    """v - E max(v - f(x + xi), 0) / SHARE, v the quantile."""
    t, v = x[:, 0], g_quantile(x)
    left, right = _below(v)
    # an interval of several standard deviations takes several panels
    nodes, weights = leggauss(NODES)
    left, right = (np.clip(end, t - 9 * STD, t + 9 * STD) for end in (left, right))
    half = (right - left)[..., None] / 2
    z = (left + right)[..., None] / 2 + half * nodes
    density = np.exp(-0.5 * ((z - t[:, None]) / STD) ** 2) / (STD * np.sqrt(2 * np.pi))
    short = v[:, None] - f(z.reshape(-1, 1)).reshape(z.shape)
    return v - ((half * density * short) @ weights).sum(0) / SHARE


@cache
def _branches() -> Float64[np.ndarray, " k"]:
    """The extrema of f and the ends: between neighbours f is monotone."""

    def slope(t: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        return 10 * np.pi * t * np.cos(5 * np.pi * t**2) + 0.5

    grid = np.linspace(*ENDS, 20001)
    signs = np.sign(slope(grid))
    change = np.flatnonzero(signs[1:] != signs[:-1])
    low, high, sign = grid[change], grid[change + 1], signs[change]
    for _ in range(60):
        middle = (low + high) / 2
        same = np.sign(slope(middle)) == sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([[ENDS[0]], (low + high) / 2, [ENDS[1]]])


def _below(
    v: Float64[np.ndarray, " m"],
) -> tuple[Float64[np.ndarray, "b m"], Float64[np.ndarray, "b m"]]:
    """The ends of {f <= v} on each branch; both the same where it is empty."""
    ends = _branches()
    left, right = (np.repeat(end[:, None], len(v), axis=1) for end in (ends[:-1], ends[1:]))
    heights = f(ends[:, None])
    rising = (heights[1:] > heights[:-1])[:, None]
    # `inside` stays where f <= v, at the lower end of the branch or where f crosses v
    inside, outside = np.where(rising, left, right), np.where(rising, right, left)
    lower = inside
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        under = f(middle.reshape(-1, 1)).reshape(middle.shape) <= v
        inside, outside = np.where(under, middle, inside), np.where(under, outside, middle)
    return np.minimum(lower, inside), np.maximum(lower, inside)
