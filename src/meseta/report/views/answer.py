"""The answer: the robust optimum, the nominal one, and what choosing between them means."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.optimizer.record import Recommendation
from meseta.report.views.estimate import Estimate
from meseta.report.views.subject import Subject
from meseta.space.space import Design


@dataclass(frozen=True)
class Choice:
    """A design and what is expected of it."""

    params: Design
    perturbed: Estimate  # g = E f(x + xi): its worth in use
    unperturbed: Estimate  # f: its worth if nothing perturbs it


@dataclass(frozen=True)
class Answer:
    """Positive gain and price, whether large or small values are wanted."""

    maximize: bool
    robust: Choice
    nominal: Choice
    gain: Estimate  # in use: how much better the robust design is than the nominal one
    price: Estimate  # on paper: how much better the nominal one is where nothing is perturbed


def answer(subject: Subject) -> Answer:
    """Both optima, compared by the joint posterior: what they have in common cancels."""
    x = torch.cat([subject.x_robust, subject.x_nominal])
    core, moments = subject.optimizer.fitted.core, subject.moments(x)
    square = subject.units.y_scale**2
    return Answer(
        maximize=subject.sign > 0,
        robust=_choice(subject, subject.robust),
        nominal=_choice(subject, subject.nominal),
        gain=_difference(subject.sign * moments.m_g, core.covariance_g(x, x) * square),
        price=_difference(subject.sign * moments.m_f.flip(0), core.covariance_f(x, x) * square),
    )


def _choice(subject: Subject, best: Recommendation) -> Choice:
    return Choice(
        {**subject.called(best.params), **subject.fixed},
        Estimate(best.mean, best.std),
        Estimate(best.nominal_mean, best.nominal_std),
    )


def _difference(mean: Float[Tensor, " 2"], covariance: Float[Tensor, "2 2"]) -> Estimate:
    """Of the first and the second."""
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    return Estimate(float(mean[0] - mean[1]), float(variance.clamp_min(0).sqrt()))
