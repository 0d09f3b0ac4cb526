"""Crescent: a maximum of two smooth functions, with a kink along a circle."""

import numpy as np
from jaxtyping import Float64
from scipy.special import chndtr

from meseta.noise import Normal
from meseta.problems.problem import Problem

STD = 0.4


def crescent() -> Problem:
    return Problem(
        name="crescent",
        title="Crescent (kinked)",
        names=("x1", "x2"),
        f=f,
        g=g,
        bounds=np.array([[-2.0, -1.0], [2.0, 3.0]]),
        noise=Normal((STD, STD)),
        direction="minimize",
        x_star=np.array([0.0, -0.019852337279137378]),
        g_star=0.6765538831289256,
        g_worst=10.320000398334384,
        budget=40,
        num_initial=5,
        source="Kiwiel 1985; Luksan and Vlcek 2000, Test Problems for Nonsmooth Optimization",
        differs="noise is added",
        certificate="closed form by the noncentral chi-square law; "
        "24 local searches from 4096 designs",
    )


def f(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """max(r^2 + x2 - 1, -r^2 + x2 + 1) = x2 + |r^2 - 1|, r the distance from (0, 1)."""
    x1, x2 = x.T
    return x2 + np.abs(x1**2 + (x2 - 1) ** 2 - 1)


def g(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """x2 + E r^2 - 1 + 2 E max(1 - r^2, 0), r^2 / STD^2 ~ noncentral chi-square with 2 degrees.

    With its distribution functions F_k of k degrees: E[X 1{X <= t}] = 2 F_4(t) + lambda F_6(t).
    """
    x1, x2 = x.T
    noncentrality = (x1**2 + (x2 - 1) ** 2) / STD**2
    t = 1 / STD**2
    F2, F4, F6 = (chndtr(t, k, noncentrality) for k in (2, 4, 6))
    inside = F2 - STD**2 * (2 * F4 + noncentrality * F6)
    return x2 + STD**2 * (2 + noncentrality) - 1 + 2 * inside
