"""Gauss rules of any law of one number."""

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import eigh_tridiagonal
from torch import Tensor

from meseta.noise.law import OneDimensional
from meseta.noise.panels import composite, panels

# Gauss nodes of heavy tails would follow them and leave the bulk bare: such a law is cut at so many
# standard deviations.
CUT = 12.0
# Gauss rules deeper in the tails than this change nothing but the most extreme nodes.
DEEPEST = 1e-64
# Points reduced at once: more are reduced in parts first, which keeps all moments.
AT_ONCE = 2**14


def gauss_rule(
    values: Float[Tensor, " n"], weights: Float[Tensor, " n"], num: int
) -> tuple[Float[Tensor, " num"], Float[Tensor, " num"]]:
    """num nodes and weights with the moments of the given ones up to degree 2 num - 1.

    The Jacobi matrix of the discrete measure by Lanczos with full reorthogonalisation, its
    eigenvalues and vectors by Golub and Welsch (1969). Fewer nodes come back where there are no
    more distinct values, or where the rest of them has no weight worth a rounding error.
    """
    values, weights = merged(values, weights)
    if len(values) <= num:
        return values, weights
    if len(values) > max(AT_ONCE, 4 * num):
        pieces = zip(values.split(AT_ONCE), weights.split(AT_ONCE), strict=True)
        parts = [gauss_rule(piece, weight, num) for piece, weight in pieces]
        return gauss_rule(torch.cat([p for p, _ in parts]), torch.cat([w for _, w in parts]), num)
    total = weights.sum()
    share = (weights / total).numpy()
    center = float(share @ values.numpy())
    x = values.numpy() - center
    farthest = float(np.abs(x).max())  # whose square may be beyond floating point
    scale = farthest * float(np.sqrt(share @ (x / farthest) ** 2))
    alpha, beta = _jacobi(x / scale, np.sqrt(share), num)
    nodes, vectors = eigh_tridiagonal(alpha, beta)
    mass = torch.tensor(vectors[0] ** 2)
    return center + scale * torch.tensor(nodes), total * mass / mass.sum()


def gauss_nodes(
    law: OneDimensional, num: int
) -> tuple[Float[Tensor, " num"], Float[Tensor, " num"]]:
    """Gauss rule of the law: exact up to degree 2 num - 1 as far as its tails are resolved.

    Tails heavier than exponential are cut at 12 standard deviations: moments of high degree, which
    they dominate or do not have, are then those of the law so cut.
    """
    if num == 1 or not law.covariance_matrix.any():
        return law.mean, torch.ones(1, dtype=torch.double)
    points, weights = _cached_nodes(law, num)
    return points.clone(), weights.clone()


@lru_cache(maxsize=256)
def _cached_nodes(law: OneDimensional, num: int) -> tuple[Tensor, Tensor]:
    points, weights = gauss_rule(*discretised(law, num), num)
    return points, weights / weights.sum()


def discretised(law: OneDimensional, num: int) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """The law as many points with weights, for polynomials up to degree 2 num - 1."""
    values, weights = law.atoms
    continuous = 1 - float(weights.sum())
    if continuous <= 0:
        return values, weights
    found = panels(law, *reach(law, num), law.breaks)
    points, density = composite(law, found, num + 16)
    density = continuous * density / density.sum()
    return torch.cat([values, points]), torch.cat([weights, density])


def reach(law: OneDimensional, num: int) -> tuple[float, float]:
    """Where the nodes of a rule of this many may lie.

    x^(2 num - 1) exp(-|x|), the slowest decay that is not called heavy here, is negligible beyond
    a tail of 10^-(16 + 2 num).
    """
    mean, std = float(law.mean), float(law.covariance_matrix.sqrt())
    low, high = law.interval(1e-16)
    lowest, highest = law.interval(DEEPEST)
    # tails that decay exponentially reach 4 times as far down to 1e-64
    if max(mean - lowest, highest - mean) > 6 * max(mean - low, high - mean):
        return max(low, mean - CUT * std), min(high, mean + CUT * std)
    return law.interval(max(10.0 ** -(16 + 2 * num), DEEPEST))


def merged(
    values: Float[Tensor, " n"], weights: Float[Tensor, " n"]
) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Distinct values in ascending order, with the weights of equal ones taken together."""
    distinct, index = values.unique(sorted=True, return_inverse=True)
    total = torch.zeros_like(distinct).index_add_(0, index, weights)
    return distinct[total > 0], total[total > 0]


def _jacobi(x: np.ndarray, start: np.ndarray, num: int) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal and off-diagonal of the Jacobi matrix: Lanczos on diag(x) from sqrt(weights)."""
    Q = np.empty((num, len(x)))
    alpha, beta = np.empty(num), np.empty(num)
    q = start / np.linalg.norm(start)
    for k in range(num):
        Q[k] = q
        r = x * q
        size = np.linalg.norm(r)
        alpha[k] = q @ r
        for _ in range(2):  # once loses orthogonality where a node settles on an isolated value
            r -= Q[: k + 1].T @ (Q[: k + 1] @ r)
        beta[k] = np.linalg.norm(r)
        if beta[k] < 1e-13 * size:
            return alpha[: k + 1], beta[:k]
        q = r / beta[k]
    return alpha, beta[: num - 1]
