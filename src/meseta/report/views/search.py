"""The search: all trials, the recommendations on the way, and how well the model predicts."""

from dataclasses import dataclass, replace

import torch

from meseta.optimizer.loop import RECOMMENDED
from meseta.optimizer.record import Trial
from meseta.report.views.deviations import Deviation, measured_deviations
from meseta.report.views.estimate import BAND, Estimate, robust_value
from meseta.report.views.health import Finding, findings
from meseta.report.views.subject import Subject
from meseta.space.space import Design

# The recommendation is computed after this many different numbers of evaluations, each of which
# costs a fit; fewer, if there are MANY values, since each fit takes longer then, or where the
# recommendation does.
MARKS, FEW_MARKS, MANY = 15, 6, 150


@dataclass(frozen=True)
class Progress:
    """The recommendations on the way, each from the evaluations up to then."""

    evaluations: tuple[int, ...]
    params: tuple[Design, ...]
    best: tuple[Estimate, ...]  # robust value of the recommended design


@dataclass(frozen=True)
class LeaveOneOut:
    """Each value, and what the model predicts for it from all other values; with noise of f."""

    numbers: tuple[int, ...]  # the trials
    observed: tuple[float, ...]
    predicted: tuple[Estimate, ...]
    covered: float  # share of the values in their 95 % interval
    explained: float  # explained share of the variance: 1 - PRESS / total


@dataclass(frozen=True)
class Search:
    """The trials in the user's terms, and what is known about the model."""

    progress: Progress | None  # None: no trial has a value
    trials: tuple[Trial, ...]
    fit: LeaveOneOut | None  # None: fewer than two values
    deviations: tuple[Deviation, ...]  # parameters whose executed values were measured
    findings: tuple[Finding, ...]


def search(subject: Subject) -> Search:
    trials = subject.optimizer.trials
    fit = leave_one_out(subject)
    values = subject.optimizer.has_values
    return Search(
        progress=progress(subject) if values else None,
        trials=tuple(_to_user(subject, trial) for trial in trials),
        fit=fit,
        deviations=measured_deviations(subject),
        findings=findings(subject, None if fit is None else fit.covered) if values else (),
    )


def progress(subject: Subject, most: int | None = None) -> Progress:
    """The recommendations of the history, or new ones after at most `most` numbers of evaluations.

    New ones take the values in the order of the trials.
    """
    optimizer = subject.optimizer
    told = _told(subject)
    if told is not None:
        return told
    complete = [trial for trial in optimizer.trials if trial.state == "complete"]
    quick = len(complete) <= MANY and optimizer.recommends_quickly
    limit = most or (MARKS if quick else FEW_MARKS)
    marks = torch.linspace(1, len(complete), min(limit, len(complete))).round().int().tolist()
    designs, best = [], []
    for num in marks[:-1]:
        ends = complete[num - 1].number + 1
        then = optimizer.with_trials(optimizer.trials[:ends]).recommend(quick=True)
        designs.append(subject.called(then.params))
        best.append(robust_value(then))
    now = subject.robust
    designs.append(subject.called(now.params))
    best.append(robust_value(now))
    return Progress(tuple(marks), tuple(designs), tuple(best))


def leave_one_out(subject: Subject) -> LeaveOneOut | None:
    """Each value predicted from all others. The hyper-parameters are those of all values."""
    complete = [trial for trial in subject.optimizer.trials if trial.value is not None]
    if len(complete) < 2:
        return None
    units = subject.units
    every = torch.arange(len(complete))
    expected, variance = subject.optimizer.fitted.mixture.leave_one_out(every)
    mean, std = subject.sign * units.y_to_raw(expected), units.y_scale * variance.sqrt()
    observed = torch.tensor([trial.value for trial in complete], dtype=torch.double)
    error = observed - mean
    total = (observed - observed.mean()).square().sum()
    explained = 1 - float(error.square().sum() / total) if float(total) > 0 else 0.0
    return LeaveOneOut(
        tuple(subject.number(trial) for trial in complete),
        tuple(observed.tolist()),
        tuple(Estimate(m, s) for m, s in zip(mean.tolist(), std.tolist(), strict=True)),
        float((error.abs() <= BAND * std).double().mean()),
        explained,
    )


def _told(subject: Subject) -> Progress | None:
    """The recommendations of the history; None: it lacks the last one, or has too few."""
    table = subject.optimizer.history
    done = table[table["state"] == "complete"].reset_index(drop=True)
    known = done["best_mean"].notna()
    enough = len(done) if subject.optimizer.recommends_quickly else min(len(done), RECOMMENDED)
    if known.sum() < enough or not known.iloc[-1]:
        return None
    done = done[known]
    designs = [
        subject.called({name: row[f"best_{name}"] for name in subject.design})
        for row in done.to_dict("records")
    ]
    best = zip(done["best_mean"], done["best_std"], strict=True)
    return Progress(
        tuple((done.index + 1).tolist()),
        tuple(designs),
        tuple(Estimate(float(mean), float(std)) for mean, std in best),
    )


def _to_user(subject: Subject, trial: Trial) -> Trial:
    """The same in the user's terms; the origin is not known in a study of another tool."""
    return replace(
        trial,
        number=subject.number(trial),
        params=subject.called(trial.params),
        planned=None if trial.planned is None else subject.called(trial.planned),
        origin=trial.origin if subject.numbers is None else None,
    )
