"""Which rows of the unit cube are allowed as designs."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from meseta.space.allowed import ROUNDING


@dataclass(frozen=True, eq=False)
class Allowed:
    """Rows that keep weights @ values(x) <= limits, and for which `others` is true."""

    values: Callable[[Tensor], Tensor]  # of the parameters, in their own units
    weights: Float[Tensor, "r d"]
    limits: Float[Tensor, " r"]
    others: Callable[[Tensor], Tensor] | None

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
