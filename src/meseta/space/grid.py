"""What is discrete in a box: values on a grid, and one of several choices.

Both know their columns and number their values from 0; where the values lie follows from the ends
of the columns, so that they hold in any units.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

MOST_NEIGHBOURS = 64  # of a choice


@dataclass(frozen=True)
class Grid:
    """One column with `count` values from end to end, evenly spaced.

    With `log_of` they are spaced as the logarithms of log_of, log_of + 1, log_of + 2, ...
    """

    column: int
    count: int
    log_of: int | None = None

    @property
    def columns(self) -> slice:
        return slice(self.column, self.column + 1)

    @property
    def shifts(self) -> tuple[int, ...]:
        """How far the neighbours of a value are."""
        return (1, -1) if self.ordered else (1,)

    @property
    def ordered(self) -> bool:
        """Whether values in between would mean something."""
        return self.count > 2

    def shifted(self, index: Int[Tensor, "*m"], shift: int) -> Int[Tensor, "*m"]:
        """So far away; round the corner at the ends, where the other end is as good a guess."""
        return (index + shift) % self.count

    def values(
        self, index: Int[Tensor, "*m"], bounds: Float[Tensor, "2 1"]
    ) -> Float[Tensor, "*m 1"]:
        low, high = bounds
        steps = index[..., None].double()
        if self.log_of is None:
            # in this order whole numbers stay whole
            x = low + (high - low) * steps / (self.count - 1)
        else:
            x = low + (high - low) * torch.log1p(steps / self.log_of) / self._log_ratio
        return x.clamp(low, high)  # rounding must not lead out of the box

    def nearest(self, x: Float[Tensor, "*m 1"], bounds: Float[Tensor, "2 1"]) -> Int[Tensor, "*m"]:
        """On a logarithmic scale: of the numbers whose logarithms they are."""
        last = self.count - 1
        share = ((x - bounds[0]) / (bounds[1] - bounds[0])).squeeze(-1).clamp(0, 1)
        if self.log_of is None:
            return (share * last).round().long()
        steps = self.log_of * torch.expm1(share * self._log_ratio)
        return steps.round().clamp(0, last).long()

    def spread(self, unit: Float[Tensor, "*m"]) -> Int[Tensor, "*m"]:
        """From the unit interval: as many of each value, or of each stretch of their logarithms."""
        if self.log_of is None:
            return _even(unit, self.count)
        # each number stands for itself and a half to either side, so that no end is rare
        low, high = self.log_of - 0.5, self.log_of + self.count - 0.5
        number = low * torch.exp(unit * math.log(high / low))
        return (number.round() - self.log_of).clamp(0, self.count - 1).long()

    @property
    def _log_ratio(self) -> float:
        assert self.log_of is not None
        return math.log1p((self.count - 1) / self.log_of)


@dataclass(frozen=True)
class OneOf:
    """Columns of which one is at its upper end, and all others at their lower."""

    first: int
    count: int

    @property
    def columns(self) -> slice:
        return slice(self.first, self.first + self.count)

    @property
    def shifts(self) -> tuple[int, ...]:
        """Every other choice is a neighbour; of very many, some."""
        return tuple(range(1, self.count, math.ceil((self.count - 1) / MOST_NEIGHBOURS)))

    @property
    def ordered(self) -> bool:
        return False

    def shifted(self, index: Int[Tensor, "*m"], shift: int) -> Int[Tensor, "*m"]:
        return (index + shift) % self.count

    def values(
        self, index: Int[Tensor, "*m"], bounds: Float[Tensor, "2 c"]
    ) -> Float[Tensor, "*m c"]:
        chosen = torch.nn.functional.one_hot(index, self.count).bool()
        return torch.where(chosen, bounds[1], bounds[0])

    def nearest(self, x: Float[Tensor, "*m c"], bounds: Float[Tensor, "2 c"]) -> Int[Tensor, "*m"]:
        return ((x - bounds[0]) / (bounds[1] - bounds[0])).argmax(-1)

    def spread(self, unit: Float[Tensor, "*m"]) -> Int[Tensor, "*m"]:
        """From the unit interval: as many of each."""
        return _even(unit, self.count)


Discrete = Grid | OneOf


def _even(unit: Tensor, count: int) -> Tensor:
    return (unit * count).floor().clamp_max(count - 1).long()
