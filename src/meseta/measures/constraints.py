"""Limits that an outcome has to keep in use, each with the probability that is asked for."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from meseta.boundary import EVERY, read_number
from meseta.measures.catalogue import Quantile
from meseta.measures.measure import Measure, Rho, Values, Weights

if TYPE_CHECKING:
    Number = float
else:  # at run time they are read by hand, so that a mistake is named
    Number = object

PROBABILITY, MOST = 0.95, 0.99999


@dataclass(frozen=True)
class Constraint:
    """An outcome is to lie from `low` to `high` in use, with this probability at least."""

    low: float
    high: float
    probability: float

    def margin(self, offset: float = 0.0, scale: float = 1.0) -> "Margin":
        """By how much (value - offset) / scale keeps the limits."""
        low, high = (self.low - offset) / scale, (self.high - offset) / scale
        return Margin(low, high, 1 - self.probability)

    def of_possible(self, possible: tuple[float, float]) -> "Constraint":
        """Without a limit that no possible value breaks, unless it is the only one."""
        low = -math.inf if self.low <= possible[0] else self.low
        high = math.inf if self.high >= possible[1] else self.high
        free = math.isinf(low) and math.isinf(high)
        return self if free else Constraint(low, high, self.probability)

    def distance(self, value: float) -> float | None:
        """From a value to the nearer limit; None: it lies on it."""
        each = [abs(value - end) for end in (self.low, self.high) if math.isfinite(end)]
        return min(each) or None

    def check_possible(self, name: str, possible: tuple[float, float] = EVERY) -> None:
        """Refuse limits that no value can keep."""
        if self.high < possible[0] or self.low > possible[1]:
            raise ValueError(
                f"the constraint {name!r}, {self.in_words()}, can never be kept: values lie "
                f"between {possible[0]:g} and {possible[1]:g}"
            )

    def in_words(self) -> str:
        """The limits, for a table."""
        if math.isinf(self.low):
            return f"at most {self.high:g}"
        if math.isinf(self.high):
            return f"at least {self.low:g}"
        return f"from {self.low:g} to {self.high:g}"


class AtMost(Constraint):
    """The outcome stays at or below `limit`, with this probability at least."""

    def __init__(self, limit: Number, probability: Number = PROBABILITY) -> None:
        most = read_number("the limit of AtMost", limit, "write AtMost(250)")
        super().__init__(-math.inf, most, _read_probability("AtMost", probability))

    def __repr__(self) -> str:
        return f"AtMost({self.high:g}, probability={self.probability:g})"


class AtLeast(Constraint):
    """The outcome stays at or above `limit`, with this probability at least."""

    def __init__(self, limit: Number, probability: Number = PROBABILITY) -> None:
        least = read_number("the limit of AtLeast", limit, "write AtLeast(0.8)")
        super().__init__(least, math.inf, _read_probability("AtLeast", probability))

    def __repr__(self) -> str:
        return f"AtLeast({self.low:g}, probability={self.probability:g})"


class Between(Constraint):
    """The outcome stays between `low` and `high`, with this probability at least."""

    def __init__(self, low: Number, high: Number, probability: Number = PROBABILITY) -> None:
        least = read_number("the low of Between", low, "write Between(4.9, 5.1)")
        most = read_number("the high of Between", high, "write Between(4.9, 5.1)")
        if not least < most:
            raise ValueError(f"Between(low, high) must run from low to high, got {low!r}, {high!r}")
        super().__init__(least, most, _read_probability("Between", probability))

    def __repr__(self) -> str:
        return f"Between({self.low:g}, {self.high:g}, probability={self.probability:g})"


def limits(low: float | None, high: float | None, probability: float = PROBABILITY) -> Constraint:
    """From limits of which one may be missing."""
    if low is None:
        if high is None:
            raise ValueError("limits need at least one end")
        return AtMost(high, probability)
    return AtLeast(low, probability) if high is None else Between(low, high, probability)


@dataclass(frozen=True)
class Margin(Measure):
    """By how much all but the worst `share` of the values keep their limits.

    The limits are kept with the probability 1 - share where it is not negative.
    """

    low: float
    high: float
    share: float

    @property
    def tail(self) -> float:
        return self.share

    @property
    def around_mean(self) -> bool:
        return False

    def of(self, values: Values, weights: Weights) -> Rho:
        return Quantile(self.share).of(self.worst(values), weights)

    def exactly(self, values: Values, weights: Weights) -> Rho:
        return Quantile(self.share).exactly(self.worst(values), weights)

    @property
    def sides(self) -> "tuple[Margin, ...]":
        """One for each limit."""
        below, above = replace(self, high=math.inf), replace(self, low=-math.inf)
        return tuple(s for s, end in ((below, self.low), (above, self.high)) if math.isfinite(end))

    def kept(self, values: Values, weights: Weights) -> Rho:
        """The share of the values that keep the limits."""
        return (weights * (self.worst(values) >= 0)).sum(-1)

    def nominal(self, mean: Rho, variance: Rho) -> Rho:
        return self.worst(mean)

    def in_words(self) -> str:
        return f"margin that {100 * (1 - self.share):g} % keep"

    def worst(self, values: Values) -> Values:
        """By how much each value keeps the nearer limit."""
        if math.isinf(self.low):
            return self.high - values
        if math.isinf(self.high):
            return values - self.low
        return torch.minimum(values - self.low, self.high - values)


def _read_probability(name: str, probability: object) -> float:
    number = read_number(f"the probability of {name}", probability, "such as 0.99")
    if not 0.5 <= number <= MOST:
        hint = "; write 0.9999 for almost always" if MOST < number <= 1 else ""
        if 1 < number <= 100:
            hint = f"; write {number / 100:g} for {number:g} %"
        raise ValueError(
            f"the probability of {name} must be from 0.5 to {MOST}, got {probability!r}{hint}"
        )
    return number
