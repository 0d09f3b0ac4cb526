"""What comes out in use: the law of f(x + xi) at a design, drawn from the posterior."""

from dataclasses import dataclass

from meseta.views.estimate import Between

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Outcomes:
    """Of one design. Intervals say how sure the model is of the law, not how wide the law is."""

    name: str  # "robust optimum" or "nominal optimum"
    values: tuple[float, ...]  # draws of f(x + xi): over both the noise and the posterior of f
    quantiles: tuple[Between, ...]  # at LEVELS
    std: Between  # of f(x + xi)
    meets: Between | None  # probability to meet the specification; None: there is none


@dataclass(frozen=True)
class OutcomesOfBoth:
    """Side by side, counted in the same bins."""

    robust: Outcomes
    nominal: Outcomes
    edges: tuple[float, ...]  # of the bins, one more than there are bins
    robust_share: tuple[float, ...]  # of the draws in each bin
    nominal_share: tuple[float, ...]
    outside: tuple[float, float]  # share of draws beyond the bins, robust and nominal
