"""The route for every pair of kernel and law that has no closed form.

The law is replaced by a discrete one, and that is smoothed exactly: k_gf and k_g stay
jointly positive semi-definite whatever the number of nodes, only their accuracy depends on it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.stationary import Factor


@dataclass(frozen=True, eq=False)
class IndependentNodes:
    """One dimension, any law: sum_i w_i kappa(delta + xi_i)."""

    base: Factor
    nodes: Float[Tensor, "num 1"]
    weights: Float[Tensor, " num"]

    def f(self, delta: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch"]:
        return self.base.f(delta)

    def gf(self, delta: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch"]:
        return _average(self.base, delta, self.nodes, self.weights)

    def g(self, delta: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch"]:
        return _average(self.base, delta, *_differences(self.nodes, self.weights))


@dataclass(frozen=True, eq=False)
class JointNodes:
    """All dimensions together under a law whose coordinates depend on each other."""

    bases: tuple[tuple[list[int], Factor], ...]
    nodes: Float[Tensor, "num d"]
    weights: Float[Tensor, " num"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        value = torch.ones_like(delta[..., 0])
        for dims, base in self.bases:
            value = value * base.f(delta[..., dims])
        return value

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _average(self, delta, self.nodes, self.weights)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _average(self, delta, *_differences(self.nodes, self.weights))


def _average(base: Factor, delta: Tensor, nodes: Tensor, weights: Tensor) -> Tensor:
    """sum_i w_i kappa(delta + xi_i), a node at a time so that memory stays that of delta."""
    total = torch.zeros_like(delta[..., 0])
    for node, weight in zip(nodes, weights, strict=True):
        total = total + weight * base.f(delta + node)
    return total


def _differences(nodes: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights of xi - xi'."""
    pairs = nodes[:, None] - nodes
    return pairs.reshape(-1, nodes.shape[1]), torch.outer(weights, weights).reshape(-1)
