"""The health of model and search: what was repaired, and what a reader should know."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from meseta.inference import EPInfo
from meseta.kernels.smoothed import NOTICEABLE
from meseta.noise import Placed
from meseta.optimizer.suggest import SuggestInfo
from meseta.report.views.subject import Subject
from meseta.space.parameter import Categorical

EDGE = 1e-3  # of the range: an optimum that close to its end is at it
COVERED = 0.8  # share of values in their 95 % intervals below which the intervals are too narrow
ENOUGH = 10  # values from which on that share says something
WIDE = 0.5  # of the range: a noise wider than that leaves little to choose


@dataclass(frozen=True)
class Finding:
    """Something about the health of model or search."""

    level: Literal["fine", "note", "warning"]
    topic: str  # such as "fit" or "expectation propagation"
    text: str


def findings(subject: Subject, covered: float | None) -> tuple[Finding, ...]:
    """Of the model of now, and of the suggestion that it would make next."""
    _, info = subject.next_design
    return (
        *_fit(subject),
        *_intervals(subject, covered),
        *_numerics(subject, info),
        *_inference(info.recorded),
        *_ascent(info),
        *_places(subject),
    )


def _fit(subject: Subject) -> Iterator[Finding]:
    info = subject.optimizer.fitted.info
    if info.messages:
        for message in info.messages:
            yield Finding("warning", "fit", message)
    else:
        yield Finding("fine", "fit", f"found in {info.iterations} steps, nothing to report")
    if (num := len(subject.optimizer.fitted.core.y)) > info.num_fitted:
        yield Finding(
            "note",
            "fit",
            f"lengthscales and noise are learned from {info.num_fitted} of the {num} values; "
            "everything else uses them all",
        )
    noise = math.sqrt(float(subject.optimizer.posterior.noise_variance))
    yield Finding("fine", "fit", f"repeated evaluations are taken to differ by {noise:.2g} (sd)")


def _intervals(subject: Subject, covered: float | None) -> Iterator[Finding]:
    num = sum(trial.state == "complete" for trial in subject.optimizer.trials)
    if covered is None or num < ENOUGH:
        yield Finding(
            "note",
            "intervals",
            f"{num} values are too few to tell whether intervals can be relied on",
        )
    elif covered < COVERED:
        yield Finding(
            "warning",
            "intervals",
            f"only {covered:.0%} of the values lie in the 95 % intervals that the model gives them "
            "unseen: it is too sure of itself; evaluate more, or look for jumps and outliers",
        )
    else:
        yield Finding(
            "fine", "intervals", f"{covered:.0%} of the values lie in their 95 % intervals, unseen"
        )


def _numerics(subject: Subject, info: SuggestInfo) -> Iterator[Finding]:
    core = subject.optimizer.fitted.core
    tried = getattr(info.recorded, "clamped", {})
    for name, share in {**tried, **core.clamped.lowest}.items():
        yield Finding(
            "warning",
            "numerics",
            f"{name} came out negative, {share:.1g} of its prior variance, and was raised to 0: "
            "intervals are not to be relied on there",
        )
    jitter = core.jitter
    if jitter:
        yield Finding(
            "note",
            "numerics",
            f"the data are nearly dependent; {jitter:.1g} of the variance was added as noise",
        )
    error = core.kernel.error
    if error > NOTICEABLE:
        yield Finding(
            "warning",
            "numerics",
            f"averages over the noise have errors of about {error:.1g} of the prior standard "
            "deviation: several laws act on the same parameters, or the noise is very wide",
        )


def _inference(info: Any) -> Iterator[Finding]:
    ep: EPInfo | None = getattr(info, "ep", None)
    if ep is not None:
        topic, num = "expectation propagation", len(ep.converged)
        failed = num - int(ep.converged.sum())
        sweeps = int(ep.sweeps.max())
        if failed:
            yield Finding("warning", topic, f"{failed} of {num} runs did not converge")
        else:
            yield Finding("fine", topic, f"converged in {sweeps} sweeps at most")
        if bool((ep.damping < 1).any()) or bool(ep.sequential.any()):
            yield Finding("note", topic, "needed damping, or one site at a time")
        if ep.jitter:
            text = f"variances were raised by up to {ep.jitter:.1g} of themselves, against rounding"
            yield Finding("note", topic, text)
    accepted = getattr(info, "accepted", None)
    if accepted is not None:
        text = f"{min(accepted)} of {info.drawn} paths or more accepted for each maximum"
        yield Finding("fine" if min(accepted) > 10 else "warning", "rejection sampling", text)


def _ascent(info: SuggestInfo) -> Iterator[Finding]:
    if info.maximize is not None and info.maximize.unfinished:
        yield Finding(
            "note",
            "search for the next point",
            f"{info.maximize.unfinished} restarts were still moving when they were stopped",
        )


def _places(subject: Subject) -> Iterator[Finding]:
    for name in subject.design:
        parameter = subject.parameter(name)
        if isinstance(parameter, Categorical):
            continue
        column = subject.optimizer.space.columns_of(name).start
        x = float(subject.x_robust[0, column])
        if min(x, 1 - x) < EDGE:
            yield Finding(
                "note",
                "range",
                f"the robust optimum is at an end of the range of {subject.name(name)}; a wider "
                "range may hold a better one",
            )
        low, high = subject.optimizer.space.bounds[:, column].tolist()
        width = float(subject.law.covariance_matrix[column, column]) ** 0.5
        marginal = subject.law.marginals[column]
        replaced = isinstance(marginal, Placed) and marginal.kind == "replace"
        if width > WIDE * (high - low) and not replaced:
            yield Finding(
                "warning",
                "noise",
                f"the noise of {subject.name(name)} is {width / (high - low):.1g} times as wide as "
                "its range: there is little left to choose; are both in the same unit?",
            )
