"""Branin-Williams: two parameters of the design, and an environment of twelve states."""

import numpy as np
from jaxtyping import Float64

from meseta.measures import CVaR, Mean, Measure, Quantile
from meseta.noise import Discrete
from meseta.problems.problem import Board, Function, Problem

# x2 and x3, which nobody controls, are independent
X2, WEIGHTS2 = (0.25, 0.5, 0.75), (0.25, 0.5, 0.25)
X3, WEIGHTS3 = (0.2, 0.4, 0.6, 0.8), (0.15, 0.35, 0.35, 0.15)
STATES = np.array([(x2, x3) for x2 in X2 for x3 in X3])
WEIGHTS = np.outer(WEIGHTS2, WEIGHTS3).ravel()
SHARE = 0.3
WILLIAMS = "Williams, Santner and Notz 2000, Statistica Sinica 10"
CAKMAK = "Cakmak et al. 2020, Bayesian Optimization of Risk Measures, NeurIPS"


def branin_williams() -> Problem:
    """The mean over the environment."""
    return _problem(
        "branin-williams",
        "Branin-Williams",
        g_mean,
        Mean(),
        board="mean",
        source=WILLIAMS,
        x_star=[0.20263389358639003, 0.2544527388632366],
        g_star=323.0117385006162,
        g_worst=16261.36999786939,
    )


def branin_williams_cvar() -> Problem:
    """The mean of the worst 30 % of the environment."""
    return _problem(
        "branin-williams-cvar",
        "Branin-Williams, CVaR",
        g_cvar,
        CVaR(SHARE),
        board="risk",
        source=f"{CAKMAK}; {WILLIAMS}",
        x_star=[0.2272885136842463, 0.29375893743409565],
        g_star=637.9877779230127,
        g_worst=28575.88870498416,
    )


def branin_williams_quantile() -> Problem:
    """The value that 70 % of the environment keep."""
    return _problem(
        "branin-williams-quantile",
        "Branin-Williams, quantile",
        g_quantile,
        Quantile(SHARE),
        board="risk",
        source=f"{CAKMAK}; {WILLIAMS}",
        x_star=[0.2026338940563877, 0.17047675934992512],
        g_star=207.01673970144722,
        g_worst=19245.621925938252,
    )


def _problem(
    name: str,
    title: str,
    g: Function,
    measure: Measure,
    *,
    board: Board,
    source: str,
    x_star: list[float],
    g_star: float,
    g_worst: float,
) -> Problem:
    return Problem(
        name=name,
        title=title,
        names=("x1", "x4"),
        f=f,
        g=g,
        bounds=np.array([[0.0, 0.0], [1.0, 1.0]]),
        noise={},
        direction="minimize",
        x_star=np.array(x_star),
        g_star=g_star,
        g_worst=g_worst,
        budget=50,
        num_initial=8,
        source=source,
        environment={"x2": Discrete(X2, WEIGHTS2), "x3": Discrete(X3, WEIGHTS3)},
        measure=measure,
        board=board,
        certificate="g is over 12 states, exactly; 24 local searches from 4096 designs",
    )


def branin(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(v - 5.1 u^2 / (4 pi^2) + 5 u / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos u + 10."""
    parabola = v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6
    return parabola**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10


def f(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, " m"]:
    """branin(15 x1 - 5, 15 x2) branin(15 x3 - 5, 15 x4), columns x1, x4, x2, x3."""
    x1, x4, x2, x3 = x.T
    return branin(15 * x1 - 5, 15 * x2) * branin(15 * x3 - 5, 15 * x4)


def _values(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, "m 12"]:
    """f in every state."""
    points = np.hstack([np.repeat(x, len(STATES), axis=0), np.tile(STATES, (len(x), 1))])
    return f(points).reshape(len(x), len(STATES))


def g_mean(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    return _values(x) @ WEIGHTS


def _from_the_worst(
    x: Float64[np.ndarray, "m 2"],
) -> tuple[Float64[np.ndarray, "m 12"], Float64[np.ndarray, "m 12"]]:
    """The values from the highest on, and the weight of those before and including each."""
    values = _values(x)
    order = np.argsort(-values, axis=-1)
    return np.take_along_axis(values, order, axis=-1), WEIGHTS[order].cumsum(-1)


def g_cvar(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """The mean of the highest values whose weights make SHARE; the last one counts in part."""
    values, until = _from_the_worst(x)
    counted = np.minimum(until, SHARE)
    return (values * np.diff(counted, axis=-1, prepend=0)).sum(-1) / SHARE


def g_quantile(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """The highest value with at least SHARE at or above it."""
    values, until = _from_the_worst(x)
    index = (until < SHARE * (1 - 1e-12)).sum(-1)
    return np.take_along_axis(values, index[:, None], axis=-1)[:, 0]
