"""Expectations by quadrature: rules for single laws, their products, and panels with breaks."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

# Numbers held at once: 32 MiB.
CHUNK = 2**22
# Beyond so many standard deviations a normal law has 1e-15 of its mass.
REACH = 8.0
# Of the double exponential rule: 2 * 107 + 1 nodes, 0.4 standard deviations apart in the middle.
STEP, NUM = 0.03, 107


class Rule(NamedTuple):
    """Nodes and weights, 1 together."""

    nodes: Float64[np.ndarray, "k p"]
    weights: Float64[np.ndarray, " k"]


def uniform(num: int) -> Rule:
    """Of the uniform law from -1 to 1: exact for polynomials up to degree 2 num - 1."""
    nodes, weights = leggauss(num)
    return Rule(nodes[:, None], weights / 2)


def normal(num: int) -> Rule:
    """Of the standard normal law: exact for polynomials up to degree 2 num - 1."""
    nodes, weights = hermegauss(num)
    return Rule(nodes[:, None], weights / weights.sum())


def bell(num: int) -> Rule:
    """Of the standard normal law within REACH, by the trapezoidal rule: for what is steep."""
    nodes = np.linspace(-REACH, REACH, num)
    density = np.exp(-0.5 * nodes**2)
    return Rule(nodes[:, None], density / density.sum())


def product(rules: Sequence[Rule]) -> Rule:
    """Of independent laws: all combinations of their nodes."""
    nodes, weights = rules[0]
    for rule in rules[1:]:
        k, n = len(weights), len(rule.weights)
        nodes = np.hstack([np.repeat(nodes, n, axis=0), np.tile(rule.nodes, (k, 1))])
        weights = np.outer(weights, rule.weights).ravel()
    return Rule(nodes, weights)


def average(
    f: Callable[[Float64[np.ndarray, "n p"]], Float64[np.ndarray, " n"]],
    place: Callable[[Float64[np.ndarray, "m d"]], Float64[np.ndarray, "m k p"]],
    x: Float64[np.ndarray, "m d"],
    weights: Float64[np.ndarray, " k"],
) -> Float64[np.ndarray, " m"]:
    """sum_k w_k f(place(x)_k) for each design, some of them at a time."""
    means = np.empty(len(x))
    at_once = max(1, CHUNK // (len(weights) * 8))
    for first in range(0, len(x), at_once):
        points = place(x[first : first + at_once])
        values = f(points.reshape(-1, points.shape[-1])).reshape(points.shape[:2])
        means[first : first + at_once] = values @ weights
    return means


def normal_average(
    h: Callable[[Float64[np.ndarray, "m k"]], Float64[np.ndarray, "m k"]],
    mean: Float64[np.ndarray, " m"],
    std: float,
    breaks: Sequence[float | Float64[np.ndarray, " m"]] = (),
) -> Float64[np.ndarray, " m"]:
    """E h(z), z ~ N(mean, std^2), by the double exponential rule between the breaks of h.

    It converges for roots and steep steps at the breaks, too [Takahasi and Mori 1974]. Breaks may
    differ from design to design.
    """
    t = STEP * np.arange(-NUM, NUM + 1)
    nodes = np.tanh(np.pi / 2 * np.sinh(t))
    weights = STEP * np.pi / 2 * np.cosh(t) / np.cosh(np.pi / 2 * np.sinh(t)) ** 2
    low, high = mean - REACH * std, mean + REACH * std
    inner = np.array([np.clip(each, low, high) for each in breaks]).reshape(-1, len(mean))
    ends = [low, *np.sort(inner, axis=0), high]
    total = np.zeros(len(mean))
    for left, right in pairwise(ends):
        half = (right - left)[:, None] / 2
        z = (left + right)[:, None] / 2 + half * nodes
        density = np.exp(-0.5 * ((z - mean[:, None]) / std) ** 2) / (std * np.sqrt(2 * np.pi))
        total += (half * density * h(z)) @ weights
    return total


def normal_moments(
    mean: Float64[np.ndarray, " m"], std: float, degree: int
) -> Float64[np.ndarray, "m k"]:
    """E z^k, k = 0, ..., degree, z ~ N(mean, std^2).

    E z^k = mean E z^(k-1) + (k - 1) std^2 E z^(k-2).
    """
    moments = [np.ones_like(mean), mean]
    for k in range(2, degree + 1):
        moments.append(mean * moments[k - 1] + (k - 1) * std**2 * moments[k - 2])
    return np.stack(moments, axis=-1)
