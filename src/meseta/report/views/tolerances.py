"""Which tolerance matters: the robust optimum as the noise of each parameter changes."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.mixture import Mixture
from meseta.noise import Joint, NoiseLaw
from meseta.noise.moments import moments_at
from meseta.noise.widened import widened
from meseta.optimizer.record import SURE, Recommendation
from meseta.report.views.estimate import Estimate, SampledEstimate
from meseta.report.views.goal import OfGoal, of_goal
from meseta.report.views.noise_in_words import law_in_words, part_in_words
from meseta.report.views.shares import Shares, shares
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms
from meseta.space.parameter import Categorical
from meseta.space.space import Design

DRAWS = 256  # of the noise, with which two designs are compared
FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
FEW_FACTORS = (0.0, 0.5, 1.0, 1.5, 2.0)  # for many parameters or values, or another measure
MANY_PARAMETERS, MANY = 6, 1000  # FEW_FACTORS above: parameters; parameters times values


@dataclass(frozen=True)
class Tolerance:
    """The noise of one parameter, scaled while all others stay as they are."""

    name: str
    law: str  # the noise law in words
    std: float | None  # standard deviation of xi at the robust optimum; None: categorical
    log: bool  # whether std is that of the logarithm
    factors: tuple[float, ...]  # multiples of the noise
    best: tuple[Estimate, ...]  # g* for each factor: of the best design, by the measure
    params: tuple[Design, ...]  # x* for each factor
    kept: tuple[float, ...]  # the same for each factor at the robust optimum of today
    halving: Estimate  # gain in g* when the noise is halved; positive is better
    slope: float | None  # slope of the mean of f at x*, per unit; None: categorical
    alone: SampledEstimate  # share of the variance of f(x* + xi) that is due to this noise alone
    total: SampledEstimate  # the same with what is due to this noise together with others
    environment: bool = False  # whether nobody sets the parameter


@dataclass(frozen=True)
class Tolerances:
    """All tolerances, most important first."""

    each: tuple[Tolerance, ...]
    joint: tuple[str, ...]  # remarks on noise that parameters share
    goal: OfGoal | None = None  # None: there is none, or too little is known of it
    unit: str = ""  # of what designs are worth, and of gains; empty for a share


def tolerances(
    subject: Subject, terms: Terms, *, window: bool = True, confidence: float = SURE
) -> Tolerances | None:
    """A tolerance for each parameter that has noise, environments too; None: no parameter has.

    The operating window takes longest, and may be left out.
    """
    z = subject.perturbed(subject.x_robust, DRAWS, stream=3)
    moved = [name for name in subject.parameters if _moves(subject, name, z)]
    if not moved:
        return None
    optimizer = subject.optimizer
    num = sum(trial.state == "complete" for trial in optimizer.trials)
    many = len(moved) > MANY_PARAMETERS or len(moved) * num > MANY
    slow = optimizer.measure_in_model() is not None
    factors = FEW_FACTORS if many or slow else FACTORS
    today, of_each = _today(subject), shares(subject, moved)
    each = [_tolerance(subject, terms, name, factors, today, of_each[name]) for name in moved]
    each.sort(key=lambda tolerance: -tolerance.halving.mean)
    return Tolerances(
        tuple(each),
        _remarks(subject, moved),
        of_goal(subject, terms, moved, window=window, confidence=confidence),
        terms.unit if optimizer.measure.direction is None else "",
    )


class _Today(NamedTuple):
    """The robust optimum under the noise of today, which all tolerances are compared with."""

    best: Recommendation
    x: Float[Tensor, "1 d"]  # its row in the unit cube
    value: Estimate  # as the other noises are valued, with hyper-parameters as if known


def _today(subject: Subject) -> _Today:
    best, x = subject.by_measure[0], subject.x_robust
    value = _value(subject, subject.optimizer.fitted.mixture.at_modes, x)
    return _Today(best, x, value)


def _moves(subject: Subject, name: str, z: Float[Tensor, "m d"]) -> bool:
    place = subject.optimizer.space.columns_of(name)
    return bool((z[:, place] != subject.x_robust[:, place]).any())


def _remarks(subject: Subject, names: list[str]) -> tuple[str, ...]:
    shared = [subject.name(name) for name in _shared(subject, names)]
    if not shared:
        return ()
    return (
        f"{', '.join(shared)} share a noise that moves them together. Here the share of each is "
        "scaled alone, and still moves in step with the others. Of the variance they have one "
        "share, which stands at each of them.",
    )


def _shared(subject: Subject, names: list[str]) -> list[str]:
    law, space = subject.law, subject.optimizer.space
    if not isinstance(law, Joint):
        return [] if law.independent else names
    dims = {i for part, _ in law.parts if len(part) > 1 for i in part}
    several = [n for n in names if not isinstance(subject.parameter(n), Categorical)]
    return [name for name in several if space.columns_of(name).start in dims]


def _tolerance(
    subject: Subject,
    terms: Terms,
    name: str,
    factors: tuple[float, ...],
    today: _Today,
    of_variance: Shares,
) -> Tolerance:
    parameter, outer = subject.parameter(name), subject.name(name)
    column = subject.optimizer.space.columns_of(name).start
    laws = [widened(subject.law, column, factor) for factor in factors]
    mixtures = [subject.optimizer.fitted.mixture_under(law).at_modes for law in laws]
    rows = [
        today.x if factor == 1.0 else subject.optimizer.optimum_under(law)[None]
        for factor, law in zip(factors, laws, strict=True)
    ]
    best = [
        today.value if factor == 1.0 else _value(subject, each, x)
        for factor, each, x in zip(factors, mixtures, rows, strict=True)
    ]
    choice = isinstance(parameter, Categorical)
    half = factors.index(0.5)
    return Tolerance(
        name=outer,
        law=_words(subject, column, terms.unit_of(outer)),
        std=None if choice else _std(subject, column),
        log=not isinstance(parameter, Categorical) and parameter.log,
        factors=factors,
        best=tuple(best),
        params=tuple(subject.called(subject.design_at(x)) for x in rows),
        kept=tuple(_value(subject, each, today.x).mean for each in mixtures),
        halving=_gain(subject, best[half], rows[half], laws[half], today),
        slope=None if choice else _slope(subject, name, column),
        alone=of_variance.alone,
        total=of_variance.total,
        environment=name in subject.optimizer.environments.variables,
    )


def _words(subject: Subject, column: int, unit: str) -> str:
    law = subject.law.own if isinstance(subject.law, Joint) else subject.law
    marginal = law.marginals[column]
    own = law_in_words(marginal, unit) if bool(marginal.covariance_matrix.any()) else ""
    if not isinstance(subject.law, Joint):
        return own
    parts = [part_in_words(part) for dims, part in subject.law.parts if column in dims]
    return "; ".join([*([own] if own else []), *parts])


def _std(subject: Subject, column: int) -> float:
    """The standard deviation of the noise at the robust optimum, in the units of the column."""
    x = subject.optimizer.space.columns(subject.x_robust)
    return float(moments_at(subject.law, x)[1][0, column])


def _value(subject: Subject, mixture: Mixture, x: Float[Tensor, "1 d"]) -> Estimate:
    """What a design is worth in use: its measure, or its mean."""
    if subject.optimizer.measure_in_model() is None:
        return subject.estimate_g(mixture, x)
    found = subject.optimizer.measured(mixture, x[0])
    return Estimate(found.mean, found.std, subject.by_measure[0].possible, found.interval)


def _gain(
    subject: Subject, best: Estimate, x: Float[Tensor, "1 d"], law: NoiseLaw, today: _Today
) -> Estimate:
    """How much better the optimum under the other noise is than the optimum of today.

    The standard deviation is that over samples of f, with the same draws of the noise.
    """
    now = subject.perturbed(today.x, DRAWS, stream=3, law=subject.law)
    then = subject.perturbed(x, DRAWS, stream=3, law=law)
    values = subject.f_samples(torch.cat([then, now]))
    values = values + torch.cat([subject.scatter(each, DRAWS, 13) for each in (x, today.x)])
    by_then, by_now = (_measured(subject, each) for each in values.chunk(2, dim=-1))
    gain = subject.sign * (best.mean - today.value.mean)
    return Estimate(gain, float((by_then - by_now).std()))


def _measured(subject: Subject, values: Float[Tensor, "s m"]) -> Float[Tensor, " s"]:
    """The measure of values that count alike, without its offset: differences of it count."""
    optimizer = subject.optimizer
    measure = optimizer.measure_in_model()
    if measure is None:
        return values.mean(-1)
    offset, scale = optimizer.user_units
    weights = torch.full((values.shape[-1],), 1 / values.shape[-1], dtype=torch.double)
    rho = measure.exactly((values - offset) / scale, weights)
    return rho * optimizer.measure.raw_std(1.0, scale)


def _slope(subject: Subject, name: str, column: int) -> float:
    """The slope of the mean of f at the robust optimum, per unit of the parameter itself."""
    parameter, x = subject.parameter(name), subject.x_robust.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(subject.optimizer.fitted.mixture.mean_f(x).sum(), x)
    raw = gradient[0, column] * subject.units.y_scale / subject.units.x_width[column]
    by_log = not isinstance(parameter, Categorical) and parameter.log
    at = subject.optimizer.space.to_params(subject.optimizer.space.columns(x.detach()[0]))
    per_unit = 1 / float(at[name]) if by_log else 1.0
    return subject.sign * float(raw) * per_unit
