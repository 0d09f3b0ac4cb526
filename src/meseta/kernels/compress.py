"""Few points in place of many, for averages of functions that are as smooth as the kernel."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

# The weighted residual variance at which points are enough. Its root bounds the error of averages
# of the worst of all functions; those of covariances are some hundred times smaller.
ENOUGH = 1e-12
# The same for nodes whose pairs are looked at, and for the pairs: there are many of them.
ENOUGH_TO_PAIR, ENOUGH_OF_PAIRS = 1e-9, 1e-7
# Pairs of nodes among which fewer are looked for, and how many they may be.
COMPRESSIBLE, MOST_DIFFERENCES = 2**13, 384

Kernel = Callable[[Tensor, Tensor], Tensor]


class Rule(NamedTuple):
    """Nodes and weights in place of a law; `error` bounds that of averages of unit functions."""

    nodes: Float[Tensor, "r d"]
    weights: Float[Tensor, " r"]
    error: float


def compressed(
    points: Float[Tensor, "n d"],
    weights: Float[Tensor, " n"],
    kernel: Kernel,
    most: int,
    enough: float = ENOUGH,
) -> Rule:
    """At most `most` of the points that average functions of the kernel's space like all of them.

    A pivoted Cholesky factorisation of the kernel between the points, until the conditional
    variances of the others, weighted, are rounding; then the weights with the least error for
    functions of unit norm, E h - sum w h = <h, mu - sum w k(., s)>. Whatever order rounding gives
    the pivots, the error is bounded by what is left.
    """
    n = len(points)
    residual = torch.ones(n, dtype=torch.double)  # k(s, s) = 1
    columns = torch.empty(min(most, n), n, dtype=torch.double)
    chosen: list[int] = []
    left = float(weights.abs() @ residual)
    for k in range(min(most, n)):
        if left <= enough * float(weights.abs().sum()):
            break
        pivot = int((weights.abs() * residual).argmax())
        column = kernel(points[pivot : pivot + 1], points)[0]
        column = (column - columns[:k, pivot] @ columns[:k]) / residual[pivot].sqrt()
        columns[k] = column
        residual = (residual - column.square()).clamp_min(0)
        residual[pivot] = 0
        chosen.append(pivot)
        left = float(weights.abs() @ residual)
    if len(chosen) == n:
        return Rule(points, weights, 0.0)
    L = columns[: len(chosen)]
    # K_SS w = K_S. W with K = L' L: L_S' (L_S w) = L_S' (L W)
    w = torch.linalg.solve_triangular(L[:, chosen], (L @ weights)[:, None], upper=True)[:, 0]
    return Rule(points[chosen], w, left**0.5)


def mirrored_differences(rule: Rule, kernel: Kernel) -> Rule:
    """Nodes of xi - xi', xi and xi' independent and on the nodes: half of them, and their mirror.

    All pairs where there are few, or where fewer points would not do.
    """
    nodes, weights = rule.nodes, rule.weights
    first, second = torch.triu_indices(len(nodes), len(nodes), 1)
    pairs = torch.cat([nodes.new_zeros(1, nodes.shape[1]), nodes[first] - nodes[second]])
    shares = torch.cat([weights.square().sum()[None], 2 * weights[first] * weights[second]])
    half = Rule(pairs, shares, 0.0)
    if 2 <= len(pairs) <= COMPRESSIBLE:
        most = min(MOST_DIFFERENCES, len(pairs) // 2)
        few = compressed(pairs, shares, kernel, most, ENOUGH_OF_PAIRS)
        if few.error <= 2 * ENOUGH_OF_PAIRS**0.5:
            half = few
    return Rule(
        torch.cat([half.nodes, -half.nodes]),
        torch.cat([half.weights, half.weights]) / 2,
        half.error,
    )
