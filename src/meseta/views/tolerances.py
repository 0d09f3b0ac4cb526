"""Which tolerance matters: the answer as each noise grows or shrinks."""

from dataclasses import dataclass

from meseta.space import Design
from meseta.views.estimate import Between, Estimate

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)


@dataclass(frozen=True)
class Tolerance:
    """Of one parameter, all others as they are."""

    name: str
    law: str  # as people write it
    std: float | None  # standard deviation of xi at the robust optimum; None: of a choice
    log: bool  # whether that is one of the logarithm
    factors: tuple[float, ...]  # by which the noise is multiplied
    best: tuple[Estimate, ...]  # g* for each: the worth of the best design for that noise
    params: tuple[Design, ...]  # x* for each
    kept: tuple[float, ...]  # mean of g for each at the robust optimum of today
    halving: Estimate  # gain in g* when the noise is halved; positive is better
    slope: float | None  # of the mean of f at x*, per unit of the parameter; None: of a choice
    share: Between  # of the variance of f(x* + xi) that this noise has part in: total Sobol index


@dataclass(frozen=True)
class Tolerances:
    """Those that matter most come first."""

    each: tuple[Tolerance, ...]
    joint: tuple[str, ...]  # remarks on noise that several parameters share
