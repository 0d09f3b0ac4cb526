"""Numbers with their uncertainty: Gaussian estimates, and estimates from samples."""

from dataclasses import dataclass

from meseta.boundary import EVERY
from meseta.optimizer.record import BAND, Recommendation, interval

__all__ = ["BAND", "Estimate", "SampledEstimate", "nominal_value", "robust_value"]


@dataclass(frozen=True)
class Estimate:
    """Mean and standard deviation, of a Gaussian where no interval is known."""

    mean: float
    std: float
    possible: tuple[float, float] = EVERY  # no interval goes beyond
    ends: tuple[float, float] | None = None  # of the 95 % interval

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return (self.ends or interval(self.mean, self.std, self.possible))[0]

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return (self.ends or interval(self.mean, self.std, self.possible))[1]


@dataclass(frozen=True)
class SampledEstimate:
    """A value with the central 95 % interval of samples, which need not be symmetric."""

    value: float
    low: float
    high: float


def robust_value(best: Recommendation) -> Estimate:
    """The robust value g of a recommended design."""
    return Estimate(best.mean, best.std, best.possible, best.interval)


def nominal_value(best: Recommendation) -> Estimate:
    """The nominal value f of a recommended design."""
    return Estimate(best.nominal_mean, best.nominal_std, best.possible)
