"""Numbers with their uncertainty: Gaussian estimates, and estimates from samples."""

from dataclasses import dataclass

from meseta.optimizer.record import Recommendation

BAND = 1.959964  # half-width of the 95 % interval of a Gaussian, in standard deviations


@dataclass(frozen=True)
class Estimate:
    """Mean and standard deviation of a Gaussian."""

    mean: float
    std: float

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.mean - BAND * self.std

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self.mean + BAND * self.std


@dataclass(frozen=True)
class SampledEstimate:
    """A value with the central 95 % interval of samples, which need not be symmetric."""

    value: float
    low: float
    high: float


def robust_value(best: Recommendation) -> Estimate:
    """The robust value g of a recommended design."""
    return Estimate(best.mean, best.std)


def nominal_value(best: Recommendation) -> Estimate:
    """The nominal value f of a recommended design."""
    return Estimate(best.nominal_mean, best.nominal_std)
