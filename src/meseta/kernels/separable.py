"""Squared exponentials under a joint law on nodes, as products of matrices.

In units of the width, exp(-|a + xi - b|^2 / 2) is the product of exp(-|a - b|^2 / 2), exp(-a xi),
exp(b xi) and exp(-xi^2 / 2): a sum over nodes xi is a matrix product, with an exponential for each
point and node instead of one for each pair of points and node. All terms are positive, so nothing
cancels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.quadrature import JointNodes

# Exponents whose exponential, and that of their sum, are far from overflow. Beyond, the nodes lie
# so many lengthscales apart that every pair is looked at by itself.
LARGEST = 300.0


@dataclass(frozen=True, eq=False)
class SeparableNodes:
    """What `JointNodes` with Gaussian bases computes, from points instead of differences."""

    nodes: JointNodes
    widths: tuple[Float[Tensor, " d"], Float[Tensor, " d"]]  # of the bases' gf and g

    def gf(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        delta = A.unsqueeze(-2) - B.unsqueeze(-3)
        tilted = _tilted(A, B, self.nodes.nodes, self.nodes.weights, self.widths[0])
        return self.nodes.gf(delta) if tilted is None else tilted * self.nodes.unshifted_gf(delta)

    def g(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        delta = A.unsqueeze(-2) - B.unsqueeze(-3)
        tilted = _tilted(A, B, *self.nodes.difference_nodes, self.widths[1])
        return self.nodes.g(delta) if tilted is None else tilted * self.nodes.unshifted_g(delta)

    def gf_with(self, B: Float[Tensor, "n d"]) -> Callable[[Tensor], Tensor]:
        return partial(self.gf, B=B)

    def g_with(self, B: Float[Tensor, "n d"]) -> Callable[[Tensor], Tensor]:
        return partial(self.g, B=B)

    def at_same_point(
        self, x: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        zero = torch.zeros_like(x[0])
        return self.nodes.gf(zero).expand(len(x)), self.nodes.g(zero).expand(len(x))


def _tilted(
    A: Tensor, B: Tensor, nodes: Tensor, weights: Tensor, width: Tensor
) -> Float[Tensor, "*batch m n"] | None:
    """sum_i w_i exp(-xi_i^2 / 2 W^2 - (a - b) xi_i / W^2); None: beyond floating point."""
    tilt = nodes / width.square()
    center = (A.detach().reshape(-1, A.shape[-1]).mean(0)).nan_to_num()
    a, b = -(A - center) @ tilt.mT, (B - center) @ tilt.mT
    if not all((exponent.detach().abs() < LARGEST).all() for exponent in (a, b)):
        return None
    inner = weights * (-0.5 * (nodes / width).square().sum(-1)).exp()
    return (a.exp() * inner) @ b.exp().mT
