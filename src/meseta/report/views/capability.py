"""Capability: the share out of specification and the indices of the trade, at both optima."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from meseta.gp.in_use import Taken
from meseta.measures.capability import Indices, indices
from meseta.measures.constraints import Constraint
from meseta.measures.weighted import std
from meseta.optimizer.record import Recommendation
from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.estimate import SampledEstimate, robust_value
from meseta.report.views.meeting import beyond, outside
from meseta.report.views.outcomes import sampled
from meseta.report.views.profiles import Profile, profiles
from meseta.report.views.stack_up import StackUp, stack_up
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

ALIKE = 0.05  # by how much percentiles of what counts as normal may differ from three deviations


@dataclass(frozen=True)
class Capability:
    """How the values of one design keep the limits in use; intervals hold 95 %."""

    name: str  # "robust optimum" or "nominal optimum"
    inside: SampledEstimate  # the yield: the share that meets the specification
    outside: SampledEstimate  # the share that does not; times a million: ppm
    below: float | None  # of that the share below the lower limit; None without one
    above: float | None
    mean: SampledEstimate
    std: SampledEstimate
    cp: SampledEstimate | None  # None without two limits
    cpk: SampledEstimate
    ppk: SampledEstimate  # by percentiles
    cpm: SampledEstimate | None
    normal: bool  # whether percentiles are about where a normal law has them


@dataclass(frozen=True)
class CapabilityOfBoth:
    """Both optima against the same limits, and what else one asks of the robust one."""

    goal: Constraint
    target: float | None
    robust: Capability
    nominal: Capability
    stack_up: StackUp
    profiles: tuple[Profile, ...]  # one for each parameter of the design
    scatter: str = ""  # what all of them count of the scatter of single values, in words


def capability(subject: Subject, terms: Terms) -> CapabilityOfBoth | None:
    """None without a specification."""
    goal = terms.goal
    if goal is None:
        return None
    robust, nominal = (
        capability_of(subject, found, x, goal, terms.target)
        for found, x in ((subject.robust, subject.x_robust), (subject.nominal, subject.x_nominal))
    )
    return CapabilityOfBoth(
        goal,
        terms.target,
        robust,
        nominal,
        stack_up(subject, goal),
        profiles(subject, goal, robust.outside.value),
        subject.scatter_in_words,
    )


def capability_of(
    subject: Subject,
    found: Recommendation,
    x: Float[Tensor, "1 d"],
    goal: Constraint,
    target: float | None,
) -> Capability:
    seen = subject.in_use(x)
    fails = outside(subject, goal, x)
    guess = indices(seen.best, seen.weights, goal, target)
    of_samples = indices(seen.values, seen.few, goal, target)
    both = math.isfinite(goal.high - goal.low)
    below, above = beyond(subject, goal, x)

    def ratio(which: Callable[[Indices], Tensor]) -> SampledEstimate:
        """Ratios are compared as they are: what differs between samples are the samples."""
        best = which(guess)
        low, high = Taken(best, which(of_samples)).between()
        return SampledEstimate(float(best), min(low, float(best)), max(high, float(best)))

    spread, mean = sampled(seen.of(std)), robust_value(found)
    return Capability(
        name=ROBUST if found is subject.robust else NOMINAL,
        inside=SampledEstimate(1 - fails.value, 1 - fails.high, 1 - fails.low),
        outside=fails,
        below=below if math.isfinite(goal.low) else None,
        above=above if math.isfinite(goal.high) else None,
        mean=SampledEstimate(mean.mean, mean.low, mean.high),
        std=SampledEstimate(spread.value, max(0.0, spread.low), spread.high),
        cp=ratio(lambda i: i.cp) if both else None,
        cpk=ratio(lambda i: i.cpk),
        ppk=ratio(lambda i: i.ppk),
        cpm=ratio(lambda i: i.cpm) if both else None,
        normal=_normal(guess),
    )


def _normal(best: Indices) -> bool:
    ends = (best.high - best.mean) / (3 * best.std), (best.mean - best.low) / (3 * best.std)
    return bool(best.std > 0) and all(abs(float(end) - 1) <= ALIKE for end in ends)
