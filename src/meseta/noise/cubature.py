"""Few points with positive weights in place of many, for laws of several numbers."""

import math
from functools import reduce

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.polynomial.legendre import legvander
from scipy.optimize import nnls
from torch import Tensor

# Points among which the nodes are sought: enough to find them, few enough for scipy's nnls.
CANDIDATES = 4096


def cubature(
    points: Float[Tensor, "n d"], weights: Float[Tensor, " n"], num: int, even: bool = False
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """At most num of the points, with the moments of all of them (Tchakaloff's theorem).

    Exact for polynomials up to the highest total degree that has no more than num monomials, and
    for waves as many as there are nodes left, which keeps them from going to extremes; fewer where
    rounding leaves no positive weights. `even`: polynomials of even degree and cosines only.
    """
    if len(points) <= num:
        return points, weights
    candidates = np.unique(np.linspace(0, len(points) - 1, CANDIDATES).round().astype(int))
    for degree in range(highest_degree(points.shape[1], num, even), 0, -1):
        P = _orthonormal(points.numpy(), weights.numpy(), degree, num, even)
        moments = weights.numpy() @ P
        try:
            found, residual = nnls(P[candidates].T, moments)
        except RuntimeError:  # too many iterations
            continue
        if residual <= 1e-10 * np.linalg.norm(moments):
            chosen = found > 0
            share = torch.tensor(found[chosen])
            return points[candidates[chosen]], weights.sum() * share / share.sum()
    return (weights @ points / weights.sum())[None], weights.sum()[None]


def highest_degree(dimension: int, num: int, even: bool = False) -> int:
    """Such that no more than num monomials in so many variables have at most this degree."""
    total, degree = 0, -1
    while True:
        degree += 1
        # monomials of exactly this degree
        total += math.comb(dimension + degree - 1, degree) if not (even and degree % 2) else 0
        if total > num:
            return degree - 1


def _orthonormal(
    points: Float64[np.ndarray, "n d"],
    weights: Float64[np.ndarray, " n"],
    degree: int,
    num: int,
    even: bool,
) -> Float64[np.ndarray, "n m"]:
    """num polynomials up to this degree, then waves, orthonormal under the weights."""
    low, high = points.min(0), points.max(0)
    if even:  # about 0, so that mirrored points have the same values
        low = -(high := np.abs(points).max(0))
    span = np.where(high > low, high - low, 1)
    legendre = legvander((2 * points - low - high) / span, degree)  # (n, d, degree + 1)
    columns = [
        reduce(np.multiply, (legendre[:, i, k] for i, k in enumerate(powers)))
        for powers in _powers(points.shape[1], degree)
        if not (even and sum(powers) % 2)
    ]
    columns += _waves(points, weights, num - len(columns), even)
    root = np.sqrt(weights / weights.sum())[:, None]
    values = np.stack(columns, axis=1)
    _, size, right = np.linalg.svd(values * root, full_matrices=False)
    kept = size > 1e-12 * size[0]  # points on a line or a lattice have fewer polynomials
    return values @ (right[kept].T / size[kept])


def _waves(
    points: Float64[np.ndarray, "n d"], weights: Float64[np.ndarray, " n"], num: int, even: bool
) -> list[Float64[np.ndarray, " n"]]:
    """Cosines and sines about as long as the spread of the points, the same every time."""
    centred = points - (0 if even else weights @ points / weights.sum())
    spread = np.sqrt(weights @ centred**2 / weights.sum())
    directions = np.random.default_rng(0).normal(size=(num, points.shape[1]))
    phases = centred / np.where(spread > 0, spread, 1) @ directions.T
    waves = [wave for phase in phases.T for wave in (np.cos(phase), np.sin(phase))]
    return waves[: 2 * num : 2] if even else waves[:num]


def _powers(dimension: int, degree: int) -> list[tuple[int, ...]]:
    """Exponents of all monomials up to a total degree."""
    if dimension == 1:
        return [(k,) for k in range(degree + 1)]
    return [(k, *rest) for k in range(degree + 1) for rest in _powers(dimension - 1, degree - k)]
