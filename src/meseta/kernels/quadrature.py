"""The route for every pair of kernel and law that has no closed form.

The law is replaced by a discrete one, and that is smoothed exactly: k_gf and k_g stay
jointly positive semi-definite whatever the number of nodes, only their accuracy depends on it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.stationary import Factor, Factors, product

# Numbers held at once while nodes are averaged over: 32 MiB.
CHUNK = 2**22


@dataclass(frozen=True, eq=False)
class IndependentNodes:
    """One dimension, any law: sum_i w_i kappa(delta + xi_i)."""

    base: Factor
    nodes: Float[Tensor, "num 1"]
    weights: Float[Tensor, " num"]

    def f(self, delta: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch"]:
        return self.base.f(delta)

    def gf(self, delta: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch"]:
        return _average(self.base.f, delta, self.nodes, self.weights)

    def g(self, delta: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch"]:
        return _average(self.base.f, delta, *_differences(self.nodes, self.weights))


@dataclass(frozen=True, eq=False)
class JointNodes:
    """All dimensions together under a law whose coordinates depend on each other.

    xi is the sum of independent parts, which `bases` smooth in closed form, and of a common part
    on a few nodes: the smoother the bases, the fewer nodes are needed.
    """

    bases: Factors
    nodes: Float[Tensor, "num d"]
    weights: Float[Tensor, " num"]
    # of xi - xi', where a rule with fewer nodes than all differences is known
    differences: tuple[Float[Tensor, "many d"], Float[Tensor, " many"]] | None = None

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return product(self.bases, delta, lambda base, part: base.f(part))

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _average(self.unshifted_gf, delta, self.nodes, self.weights)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _average(self.unshifted_g, delta, *self.difference_nodes)

    @cached_property
    def difference_nodes(self) -> tuple[Float[Tensor, "many d"], Float[Tensor, " many"]]:
        """Of xi - xi'."""
        return self.differences or _differences(self.nodes, self.weights)

    def unshifted_gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        """Of the independent parts alone."""
        return product(self.bases, delta, lambda base, part: base.gf(part))

    def unshifted_g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return product(self.bases, delta, lambda base, part: base.g(part))


def _average(
    kappa: Callable[[Tensor], Tensor], delta: Tensor, nodes: Tensor, weights: Tensor
) -> Tensor:
    """sum_i w_i kappa(delta + xi_i), some nodes at a time so that memory stays bounded."""
    total = torch.zeros_like(delta[..., 0])
    at_once = max(1, CHUNK // max(1, delta.numel()))
    for node, weight in zip(nodes.split(at_once), weights.split(at_once), strict=True):
        total = total + kappa(delta.unsqueeze(-2) + node) @ weight
    return total


def _differences(nodes: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights of xi - xi', those that are equal taken together."""
    pairs = (nodes[:, None] - nodes).reshape(-1, nodes.shape[1])
    # Gauss rules are symmetric, so about half of the differences coincide up to rounding
    scale = nodes.abs().amax().clamp_min(1e-300)
    keys = (pairs / scale * 1e12).round()
    distinct, index = keys.unique(dim=0, return_inverse=True)
    total = torch.zeros(len(distinct), dtype=weights.dtype)
    total.index_add_(0, index, torch.outer(weights, weights).reshape(-1))
    merged = torch.zeros(len(distinct), nodes.shape[1], dtype=nodes.dtype)
    merged[index] = pairs
    return merged, total
