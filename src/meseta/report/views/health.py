"""The health of model and search: repairs, and what a reader should know."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from meseta.inference import EPInfo
from meseta.kernels.smoothed import NOTICEABLE
from meseta.measures import Mean
from meseta.noise import Placed
from meseta.optimizer.beyond import in_words
from meseta.optimizer.comparison import verdict
from meseta.optimizer.suggest import SuggestInfo
from meseta.report.views.deviations import measured_deviations
from meseta.report.views.shares import FEW
from meseta.report.views.subject import Subject
from meseta.space.parameter import Categorical

COUNTS = 0.1  # share of impossible predictions that makes the others doubtful
EDGE = 1e-3  # share of the range: an optimum closer to an end is at the end
COVERED = 0.8  # intervals are too narrow if a smaller share of values lies in them
ENOUGH = 10  # values that are needed to judge the intervals
WIDE = 0.5  # share of the range: wider noise leaves little to choose


Level = Literal["fine", "note", "warning"]


@dataclass(frozen=True)
class Finding:
    """One statement on the health of model or search."""

    level: Level
    topic: str  # for example "fit" or "expectation propagation"
    text: str


def findings(subject: Subject, covered: float | None) -> tuple[Finding, ...]:
    """Findings on the model as it is now, and on the next suggestion."""
    _, info = subject.next_design
    return (
        *_fit(subject),
        *_intervals(subject, covered),
        *_numerics(subject, info),
        *_inference(info.recorded),
        *_ascent(info),
        *_measure(subject),
        *_constraints(subject),
        *_possible(subject),
        *_beyond(subject),
        *_places(subject),
        *_noise(subject),
    )


def _fit(subject: Subject) -> Iterator[Finding]:
    info = subject.optimizer.fitted.info
    if info.messages:
        for message in info.messages:
            yield Finding("warning", "fit", message)
    else:
        yield Finding("fine", "fit", "the fit converged")
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in info.weights.items())
    if len(info.weights) > 1:
        yield Finding(
            "fine",
            "fit",
            f"the values leave open how smooth f is: a mixture of kernels is used ({shares})",
        )
    elif subject.optimizer.settings.kernel == "auto" and not subject.law.independent:
        yield Finding(
            "note",
            "fit",
            "f is taken to be very smooth (kernel se). Rougher kernels are not weighed, because "
            "they take long with noise that moves several parameters together; kernel = "
            '"matern52" uses one all the same',
        )
    if (num := len(subject.optimizer.fitted.core.y)) > info.num_fitted:
        yield Finding(
            "note",
            "fit",
            f"lengthscales and noise are fitted to {info.num_fitted} of the {num} values; "
            "predictions use all values",
        )
    yield Finding("fine", "fit", _noise_of_values(subject))
    if said := subject.optimizer.untold_scatter:
        yield Finding("warning", "fit", said)
    unseen = sum(trial.unseen for trial in subject.optimizer.trials if trial.state == "complete")
    if unseen:
        yield Finding(
            "fine",
            "fit",
            f"{unseen} of the {num} values are of experiments that the noise perturbed unseen",
        )


def _noise_of_values(subject: Subject) -> str:
    """How much measurements of f scatter, in words."""
    core, scale = subject.optimizer.fitted.core, float(subject.optimizer.posterior.units.y_scale)
    with torch.no_grad():
        stds = core.coming.variance_at(core.X).sqrt() * scale
    low, high = float(stds.min()), float(stds.max())
    if core.coming.log_variance is None:
        return f"the estimated noise of f has the standard deviation {low:.2g}"
    return f"the noise of f varies: its standard deviation is {low:.2g} to {high:.2g} at the values"


def _intervals(subject: Subject, covered: float | None) -> Iterator[Finding]:
    num = sum(trial.state == "complete" for trial in subject.optimizer.trials)
    if covered is None or num < ENOUGH:
        yield Finding(
            "note",
            "intervals",
            f"{num} values are too few to check the intervals; {ENOUGH} are needed",
        )
    elif covered < COVERED:
        yield Finding(
            "warning",
            "intervals",
            f"only {100 * covered:.0f} % of the values lie in the 95 % intervals that the model "
            "predicts from the others. The intervals are too narrow: evaluate more, or look for "
            "jumps and outliers",
        )
    else:
        yield Finding(
            "fine",
            "intervals",
            f"{100 * covered:.0f} % of the values lie in the 95 % intervals that the model "
            "predicts from the others",
        )


def _numerics(subject: Subject, info: SuggestInfo) -> Iterator[Finding]:
    core = subject.optimizer.fitted.core
    tried = getattr(info.recorded, "clamped", {})
    for name, share in {**tried, **core.clamped.lowest}.items():
        yield Finding(
            "warning",
            "numerics",
            f"{name} was negative ({share:.1g} of its prior variance) and was raised to 0. "
            "Do not rely on intervals there",
        )
    jitter = core.jitter
    if jitter:
        yield Finding(
            "note",
            "numerics",
            f"the data are nearly dependent; jitter of {jitter:.1g} of the variance was added",
        )
    error = core.kernel.error
    if error > NOTICEABLE:
        yield Finding(
            "warning",
            "numerics",
            f"averages over the noise have errors of about {error:.1g} of the prior standard "
            "deviation. Several noise laws act on the same parameters, or the noise is very wide",
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
            yield Finding("fine", topic, f"all runs converged, in at most {sweeps} sweeps")
        if bool((ep.damping < 1).any()) or bool(ep.sequential.any()):
            yield Finding("note", topic, "some runs needed damping or sequential updates")
        if ep.jitter:
            text = f"against rounding, variances were raised by up to {ep.jitter:.1g} of their size"
            yield Finding("note", topic, text)
    accepted = getattr(info, "accepted", None)
    if accepted is not None:
        text = f"at least {min(accepted)} of {info.drawn} paths were accepted for each maximum"
        yield Finding("fine" if min(accepted) > 10 else "warning", "rejection sampling", text)


def _ascent(info: SuggestInfo) -> Iterator[Finding]:
    if info.maximize is not None and info.maximize.unfinished:
        yield Finding(
            "note",
            "search for the next design",
            f"{info.maximize.unfinished} restarts stopped before they converged",
        )


def _measure(subject: Subject) -> Iterator[Finding]:
    measure = subject.optimizer.measure
    if not isinstance(measure, Mean):
        yield Finding(
            "note",
            "measure",
            f"the robust optimum was chosen by another measure than the mean ({measure.in_words()}"
            "), and so were the recommendations on the way. Tolerances are compared by it, too; "
            "curves and maps of the landscape show the mean in use",
        )


def _constraints(subject: Subject) -> Iterator[Finding]:
    best = subject.robust
    if best.kept:
        level: Level = "fine" if best.feasible else "warning"
        yield Finding(level, "constraints", verdict(best))
        yield Finding(
            "note",
            "constraints",
            "curves, maps and tolerances show what is optimised alone, and not where constraints "
            "are kept",
        )


def _possible(subject: Subject) -> Iterator[Finding]:
    low, high = subject.optimizer.settings.possible
    values = subject.f_samples(subject.perturbed(subject.x_robust, FEW, stream=2))
    share = float(((values < low) | (values > high)).double().mean())
    if share >= 0.001:
        yield Finding(
            "note" if share < COUNTS else "warning",
            "values",
            f"of the values in use that the model predicts for the robust optimum, "
            f"{100 * share:.1f} % are impossible (below {low:g} or above {high:g}). They count as "
            "the nearest possible value, and intervals end there",
        )


def _beyond(subject: Subject) -> Iterator[Finding]:
    share = subject.robust.beyond
    if warning := in_words(share, subject.robust.outside):
        yield Finding("warning", "range", warning)
    elif share >= 0.01:
        yield Finding(
            "note",
            "range",
            f"{100 * share:.0f} % of the noise at the robust optimum falls beyond everything that "
            "was evaluated",
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
                f"the robust optimum is at an end of the range of {subject.name(name)}. A wider "
                "range may have a better one",
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
                "its range. Check that both have the same unit",
            )


def _noise(subject: Subject) -> Iterator[Finding]:
    """Whether the assumed noise agrees with what was measured, and what was learned of it."""
    for name, law in subject.optimizer.learned.items():
        low, high = law.width_interval
        yield Finding(
            "note",
            "noise",
            f"the width of the noise of {subject.name(name)} is learned: {law.std:.3g} ({low:.3g} "
            f"to {high:.3g}), as by {law.worth:g} measured pairs. The interval of the robust value "
            "has this in it; bands of curves, and constraints, do not",
        )
    for each in measured_deviations(subject):
        low, high = each.interval
        measured = (
            f"by {each.pairs} measured pairs the noise of {each.name} is {each.ratio:.2g} times as "
            f"wide as assumed (95 % interval {low:.2g} to {high:.2g})"
        )
        if low > 1:
            yield Finding(
                "warning",
                "noise",
                f"{measured}. The design may be less robust than it looks: assume wider noise",
            )
        elif high < 1 and each.ratio > 0:
            yield Finding(
                "note",
                "noise",
                f"{measured}. Before you assume less, make sure that the values were measured, and "
                "not read from the setting",
            )
