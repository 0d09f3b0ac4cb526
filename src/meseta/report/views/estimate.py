"""A number that the model believes in, and how far."""

from dataclasses import dataclass

BAND = 1.959964  # standard deviations on either side that hold 95 % of a Gaussian


@dataclass(frozen=True)
class Estimate:
    """Mean and standard deviation of a Gaussian belief."""

    mean: float
    std: float

    @property
    def low(self) -> float:
        """Lower end of the central 95 %."""
        return self.mean - BAND * self.std

    @property
    def high(self) -> float:
        """Upper end of the central 95 %."""
        return self.mean + BAND * self.std


@dataclass(frozen=True)
class Between:
    """A number with an interval that need not be symmetric: the central 95 % of draws."""

    value: float
    low: float
    high: float
