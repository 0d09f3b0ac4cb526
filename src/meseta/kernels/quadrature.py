"""The route for joint laws where the kernel is no squared exponential: an average over nodes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.compress import Rule
from meseta.kernels.stationary import Factors, product

# Numbers held at once while nodes are averaged over: 32 MiB.
CHUNK = 2**22


@dataclass(frozen=True, eq=False)
class JointNodes:
    """xi is the sum of independent parts, which `bases` smooth in closed form, and of a common
    part on nodes: the smoother the bases, the fewer nodes are needed."""

    bases: Factors
    nodes: Rule  # of the common part of xi
    differences: Rule  # of that of xi - xi'

    @property
    def error(self) -> float:
        return max(self.nodes.error, self.differences.error)

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return product(self.bases, delta, lambda base, part: base.f(part))

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        def kappa(delta: Tensor) -> Tensor:
            return product(self.bases, delta, lambda base, part: base.gf(part))

        return _average(kappa, delta, self.nodes)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        def kappa(delta: Tensor) -> Tensor:
            return product(self.bases, delta, lambda base, part: base.g(part))

        return _average(kappa, delta, self.differences)


def _average(kappa: Callable[[Tensor], Tensor], delta: Tensor, rule: Rule) -> Tensor:
    """sum_i w_i kappa(delta + xi_i), some nodes at a time so that memory stays bounded."""
    total = torch.zeros_like(delta[..., 0])
    at_once = max(1, CHUNK // max(1, delta.numel()))
    for node, weight in zip(rule.nodes.split(at_once), rule.weights.split(at_once), strict=True):
        total = total + kappa(delta.unsqueeze(-2) + node) @ weight
    return total
