"""Which tolerance matters: the answer as each noise grows or shrinks."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.joint import JointPosterior
from meseta.noise import Joint, NoiseLaw
from meseta.noise.moments import moments_at
from meseta.noise.widened import widened
from meseta.optimizer.recommend import robust_optimum
from meseta.optimizer.record import Recommendation
from meseta.report.views.estimate import Between, Estimate
from meseta.report.views.noise_in_words import law_in_words, part_in_words
from meseta.report.views.outcomes import DRAWS, central
from meseta.report.views.subject import Subject
from meseta.report.views.terms import Terms
from meseta.space.parameter import Categorical
from meseta.space.space import Design

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
FEW_FACTORS = (0.0, 0.5, 1.0, 1.5, 2.0)  # where there are many parameters or many values
MANY_PARAMETERS, MANY = 6, 1000  # beyond so many, or so many times the values, these have to do


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
    share: Between  # of the variance of f(x* + xi) that is gone without this noise


@dataclass(frozen=True)
class Tolerances:
    """Those that matter most come first."""

    each: tuple[Tolerance, ...]
    joint: tuple[str, ...]  # remarks on noise that several parameters share


def tolerances(subject: Subject, terms: Terms) -> Tolerances | None:
    """One for each parameter of the design that is perturbed; None: nothing is."""
    z = subject.perturbed(subject.x_robust, DRAWS, stream=3)
    moved = [name for name in subject.design if _moves(subject, name, z)]
    if not moved:
        return None
    optimizer = subject.optimizer
    num = sum(trial.state == "complete" for trial in optimizer.trials)
    many = len(moved) > MANY_PARAMETERS or len(moved) * num > MANY
    factors = FEW_FACTORS if many else FACTORS
    today = _today(subject, z)
    each = [_tolerance(subject, terms, name, factors, today) for name in moved]
    each.sort(key=lambda tolerance: -tolerance.halving.mean)
    return Tolerances(tuple(each), _remarks(subject, moved))


class _Today(NamedTuple):
    """What all tolerances are compared with."""

    best: Recommendation
    x: Float[Tensor, "1 d"]  # its row in the unit cube
    worth: Float[Tensor, " paths"]  # of f(x* + xi) on average, by each path of f
    z: Float[Tensor, "m d"]  # draws of x* + xi
    variance: Float[Tensor, " paths"]  # of f there


def _today(subject: Subject, z: Float[Tensor, "m d"]) -> _Today:
    best, x = subject.robust, subject.x_robust
    return _Today(best, x, _worth(subject, x, subject.law), z, subject.f_paths(z).var(-1))


def _moves(subject: Subject, name: str, z: Float[Tensor, "m d"]) -> bool:
    place = subject.optimizer.space.columns_of(name)
    return bool((z[:, place] != subject.x_robust[:, place]).any())


def _remarks(subject: Subject, names: list[str]) -> tuple[str, ...]:
    shared = [subject.name(name) for name in _shared(subject, names)]
    if not shared:
        return ()
    return (
        f"The noise of {', '.join(shared)} moves them together; here the part of each is made "
        "wider or narrower by itself, and stays in step with the others.",
    )


def _shared(subject: Subject, names: list[str]) -> list[str]:
    law, space = subject.law, subject.optimizer.space
    if not isinstance(law, Joint):
        return [] if law.independent else names
    dims = {i for part, _ in law.parts if len(part) > 1 for i in part}
    several = [n for n in names if not isinstance(subject.parameter(n), Categorical)]
    return [name for name in several if space.columns_of(name).start in dims]


def _tolerance(
    subject: Subject, terms: Terms, name: str, factors: tuple[float, ...], today: _Today
) -> Tolerance:
    parameter, outer = subject.parameter(name), subject.name(name)
    column = subject.optimizer.space.columns_of(name).start
    laws = [widened(subject.law, column, factor) for factor in factors]
    cores = [subject.optimizer.fitted.core_under(law) for law in laws]
    rows = [
        today.x if factor == 1.0 else _best(subject, core)
        for factor, core in zip(factors, cores, strict=True)
    ]
    best = [subject.estimate_g(core, x) for core, x in zip(cores, rows, strict=True)]
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
        kept=tuple(subject.estimate_g(core, today.x).mean for core in cores),
        halving=_gain(subject, best[half], rows[half], laws[half], today),
        slope=None if choice else _slope(subject, name, column),
        share=_share(subject, name, today),
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


def _best(subject: Subject, core: JointPosterior) -> Float[Tensor, "1 d"]:
    optimizer = subject.optimizer
    x = robust_optimum(
        core,
        optimizer.space.cube,
        method=optimizer.method,
        options=optimizer.options,
        seed=optimizer.seed,
        held=optimizer.environments.typical(),
    )
    return x[None]


def _gain(
    subject: Subject, best: Estimate, x: Float[Tensor, "1 d"], law: NoiseLaw, today: _Today
) -> Estimate:
    """How much better the other optimum is in its noise than today's in today's.

    The spread is that over paths of f, under the same draws of the noise.
    """
    spread = (_worth(subject, x, law) - today.worth).std()
    return Estimate(subject.sign * (best.mean - today.best.mean), float(spread))


def _worth(subject: Subject, x: Float[Tensor, "1 d"], law: NoiseLaw) -> Float[Tensor, " paths"]:
    """By each path of f, over draws of the noise."""
    return subject.f_paths(subject.perturbed(x, DRAWS, stream=3, law=law)).mean(-1)


def _slope(subject: Subject, name: str, column: int) -> float:
    """The slope of the mean of f at the robust optimum, per unit of the parameter itself."""
    parameter, x = subject.parameter(name), subject.x_robust.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(subject.optimizer.fitted.core.mean_f(x).sum(), x)
    raw = gradient[0, column] * subject.units.y_scale / subject.units.x_width[column]
    by_log = not isinstance(parameter, Categorical) and parameter.log
    per_unit = 1 / float(subject.robust.params[name]) if by_log else 1.0
    return subject.sign * float(raw) * per_unit


def _share(subject: Subject, name: str, today: _Today) -> Between:
    """1 - Var f(z without this noise) / Var f(z), for each path of f."""
    place = subject.optimizer.space.columns_of(name)
    still = today.z.clone()
    still[:, place] = subject.x_robust[:, place]
    before, after = today.variance, subject.f_paths(still).var(-1)
    gone = torch.where(before > 0, 1 - after / before.clamp_min(1e-300), 0.0)
    pooled = 1 - float(after.mean() / before.mean()) if float(before.mean()) > 0 else 0.0
    return central(pooled, gone)
