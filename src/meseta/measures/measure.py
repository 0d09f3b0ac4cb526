"""What a measure is: a number of the values f(x + xi) that a design has in use.

It is to be as high as possible, of values where high is good: `Optimizer` turns the sign of values
that are minimised, so that the bad tail is always the lower one.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

Values = Float[Tensor, "*batch m"]
Weights = Float[Tensor, "... m"]  # of the values; they may lack leading dimensions
Rho = Float[Tensor, "*batch"]
Room = Callable[[Tensor], Tensor]  # from each value to a limit, negative beyond it


@dataclass(frozen=True)
class Measure(ABC):
    """rho of the values of a design in use."""

    @property
    def direction(self) -> Literal["maximize", "minimize"] | None:
        """Its own; None: that of the values."""
        return None

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest that it can be, in the user's terms."""
        return -math.inf, math.inf

    @property
    def within_values(self) -> bool:
        """Whether it lies between the smallest and the largest value."""
        return True

    @property
    def around_mean(self) -> bool:
        """Whether it is the mean of f(x + xi), which is known exactly, and something else."""
        return True

    @property
    def tail(self) -> float:
        """The share of the values that it looks at, where these are the worst ones."""
        return 0.5

    def in_units(self, offset: float, scale: float) -> "Measure":
        """The same of (value - offset) / scale; scale may be negative."""
        return self

    def raw(self, rho: float, offset: float, scale: float) -> float:
        """From that of (value - offset) / scale to the user's terms."""
        return offset + scale * rho

    def raw_std(self, std: float, scale: float) -> float:
        return abs(scale) * std

    def nominal(self, mean: Rho, variance: Rho) -> Rho:
        """What is to be high where nothing is perturbed, and f(x) has this mean and variance."""
        return mean

    @property
    def room(self) -> Room | None:
        """How far a value is from not counting, negative if it does not; None: it is no share."""
        return None

    @abstractmethod
    def of(self, values: Values, weights: Weights) -> Rho:
        """rho of weighted values, smooth enough to climb on."""

    def exactly(self, values: Values, weights: Weights) -> Rho:
        """The same without any smoothing, for many values."""
        return self.of(values, weights)

    @abstractmethod
    def in_words(self) -> str:
        """What is measured, for a table."""
