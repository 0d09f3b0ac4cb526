"""Which rows of the unit cube are allowed as designs."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from scipy.optimize import linprog
from torch import Tensor

from meseta.space.allowed import ROUNDING


@dataclass(frozen=True, eq=False)
class Allowed:
    """Rows that keep weights @ values(x) <= limits, and for which `others` is true."""

    values: Callable[[Tensor], Tensor]  # of the parameters, in their own units
    weights: Float[Tensor, "r d"]
    limits: Float[Tensor, " r"]
    others: Callable[[Tensor], Tensor] | None
    inner: Callable[[], Tensor | None]  # a row in the middle of the inequalities, if there is one

    def __call__(self, x: Float[Tensor, "m d"]) -> Bool[Tensor, " m"]:
        kept = (self.room(x) >= -ROUNDING).all(0)
        if self.others is not None:
            left = kept.nonzero().flatten()
            kept[left] = self.others(x[left]) if len(left) else kept[left]
        return kept

    def room(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "r m"]:
        """What is left to each limit, over the largest term: a function that has a slope."""
        terms = self.values(x) * self.weights[:, None]
        largest = terms.detach().abs().amax(-1).maximum(self.limits.abs()[:, None])
        return (self.limits[:, None] - terms.sum(-1)) / largest.clamp_min(1e-300)


def inner_point(
    weights: Float[Tensor, "r d"], limits: Float[Tensor, " r"], bounds: Float[Tensor, "2 d"]
) -> Float[Tensor, " d"] | None:
    """The point of a box with the most room to all inequalities, by linear programming."""
    low, high = bounds
    d = len(low)
    # x = low + width u; the last variable is the room, over the sizes of the inequalities
    scaled = weights * (high - low)
    size = scaled.abs().sum(-1, keepdim=True)
    found = linprog(
        [0.0] * d + [-1.0],
        A_ub=torch.cat([scaled, size], dim=-1).numpy() if len(weights) else None,
        b_ub=(limits - weights @ low).numpy() if len(weights) else None,
        bounds=[(0.0, 1.0)] * d + [(0.0, 1.0)],
    )
    if not found.success:
        return None
    return low + (high - low) * torch.from_numpy(found.x[:d])
