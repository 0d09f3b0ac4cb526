"""The answer: the robust and the nominal optimum, and what the choice between them means."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.measures import Mean
from meseta.optimizer.record import Recommendation
from meseta.report.views.estimate import Estimate, robust_value
from meseta.report.views.subject import Subject

ROBUST, NOMINAL = "robust optimum", "nominal optimum"  # their names in texts and plots


@dataclass(frozen=True)
class Answer:
    """Both optima in the user's terms; gain and price are positive in either direction."""

    maximize: bool
    robust: Recommendation
    nominal: Recommendation
    gain: Estimate  # how much better the robust value g of the robust optimum is
    price: Estimate  # how much better the nominal value f of the nominal optimum is
    measured: "MeasuredBoth | None" = None  # None: by its mean, the robust value


@dataclass(frozen=True)
class MeasuredBoth:
    """What the robust optimum was chosen by, where that is not the mean, for both optima."""

    words: str
    robust: Estimate
    nominal: Estimate
    of_values: bool  # whether it has the unit of the values

    @property
    def both(self) -> tuple[Estimate, Estimate]:
        return self.robust, self.nominal


def answer(subject: Subject) -> Answer:
    """Compares both optima by their joint posterior, in which common errors cancel."""
    x = torch.cat([subject.x_robust, subject.x_nominal])
    mixture, moments = subject.optimizer.fitted.mixture, subject.moments(x)
    square = subject.units.y_scale**2
    return Answer(
        maximize=subject.sign > 0,
        robust=_to_user(subject, subject.robust),
        nominal=_to_user(subject, subject.nominal),
        gain=_difference(subject.sign * moments.m_g, mixture.covariance_g(x) * square),
        price=_difference(subject.sign * moments.m_f.flip(0), mixture.covariance_f(x) * square),
        measured=_measured(subject),
    )


def _measured(subject: Subject) -> MeasuredBoth | None:
    measure = subject.optimizer.measure
    if isinstance(measure, Mean):
        return None
    robust, nominal = map(robust_value, subject.by_measure)
    return MeasuredBoth(measure.in_words(), robust, nominal, measure.direction is None)


def _to_user(subject: Subject, best: Recommendation) -> Recommendation:
    """The same with its design in the user's terms."""
    return replace(best, params={**subject.called(best.params), **subject.fixed})


def _difference(mean: Float[Tensor, " 2"], covariance: Float[Tensor, "2 2"]) -> Estimate:
    """The first minus the second: Var[a - b] = Var[a] + Var[b] - 2 Cov[a, b]."""
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    return Estimate(float(mean[0] - mean[1]), float(variance.clamp_min(0).sqrt()))
