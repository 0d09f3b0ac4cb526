"""The search: what was evaluated, and what was recommended on the way."""

from dataclasses import dataclass

import torch

from meseta.optimizer.record import Origin, State, Trial
from meseta.report.views.estimate import BAND, Estimate
from meseta.report.views.health import Finding, findings
from meseta.report.views.subject import Subject
from meseta.space.space import Design

# Numbers of evaluations at which the recommendation is looked at, each for the price of a fit; and
# how many values make that price high.
MARKS, FEW_MARKS, MANY = 15, 6, 150


@dataclass(frozen=True)
class Progress:
    """What would have been recommended after so many evaluations, seen from then."""

    evaluations: tuple[int, ...]
    params: tuple[Design, ...]
    best: tuple[Estimate, ...]  # g at the recommended design


@dataclass(frozen=True)
class Evaluation:
    """One trial, as a row of a table."""

    number: int
    params: Design
    planned: Design | None  # where it was carried out otherwise
    value: float | None
    state: State
    origin: Origin | None  # None: not known, of a study of another tool
    error: str | None


@dataclass(frozen=True)
class LeaveOneOut:
    """What the model would have said of each value had it not known it; noise included."""

    numbers: tuple[int, ...]  # of the trials
    observed: tuple[float, ...]
    predicted: tuple[Estimate, ...]
    covered: float  # share of values within their 95 % interval
    explained: float  # share of the variance of the values: 1 - PRESS / total


@dataclass(frozen=True)
class Deviation:
    """Executed minus planned values of a parameter, beside the noise that is assumed."""

    name: str
    pairs: int
    mean: float
    std: float
    assumed_mean: float
    assumed_std: float
    ratio: float  # std / assumed_std; NaN without assumed noise


@dataclass(frozen=True)
class Search:
    progress: Progress | None  # None: nothing finished yet
    evaluations: tuple[Evaluation, ...]
    fit: LeaveOneOut | None  # None: fewer than two values
    deviations: tuple[Deviation, ...]  # of parameters that were ever carried out otherwise
    findings: tuple[Finding, ...]


def search(subject: Subject) -> Search:
    trials = subject.optimizer.trials
    fit = leave_one_out(subject)
    values = subject.optimizer.has_values
    return Search(
        progress=progress(subject) if values else None,
        evaluations=tuple(_evaluation(subject, trial) for trial in trials),
        fit=fit,
        deviations=_deviations(subject),
        findings=findings(subject, None if fit is None else fit.covered) if values else (),
    )


def progress(subject: Subject, most: int | None = None) -> Progress:
    """As it was told on the way, where it was; otherwise at `most` numbers of evaluations.

    The values are taken in the order of the trials.
    """
    optimizer = subject.optimizer
    told = _told(subject)
    if told is not None:
        return told
    complete = [trial for trial in optimizer.trials if trial.state == "complete"]
    limit = most or (MARKS if len(complete) <= MANY else FEW_MARKS)
    marks = torch.linspace(1, len(complete), min(limit, len(complete))).round().int().tolist()
    designs, best = [], []
    for num in marks[:-1]:
        ends = complete[num - 1].number + 1
        then = optimizer.with_trials(optimizer.trials[:ends]).recommend()
        designs.append(subject.called(then.params))
        best.append(Estimate(then.mean, then.std))
    now = subject.robust
    designs.append(subject.called(now.params))
    best.append(Estimate(now.mean, now.std))
    return Progress(tuple(marks), tuple(designs), tuple(best))


def leave_one_out(subject: Subject) -> LeaveOneOut | None:
    """y_i - alpha_i / [K^-1]_ii and 1 / [K^-1]_ii [Rasmussen and Williams 2006, Eq. 5.12].

    The hyper-parameters are those of all values.
    """
    complete = [trial for trial in subject.optimizer.trials if trial.value is not None]
    if len(complete) < 2:
        return None
    core, units = subject.optimizer.fitted.core, subject.units
    same = torch.eye(len(core.y), dtype=torch.double)
    precision = torch.linalg.solve_triangular(core.L, same, upper=False).square().sum(0)
    mean = subject.sign * units.y_to_raw(core.y - core.alpha / precision)
    std = units.y_scale / precision.sqrt()
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
    """From the history; None: there was no recommendation after some value."""
    table = subject.optimizer.history
    done = table[table["state"] == "complete"]
    if done["best_mean"].isna().any():
        return None
    designs = [
        subject.called({name: row[f"best_{name}"] for name in subject.design})
        for row in done.to_dict("records")
    ]
    best = zip(done["best_mean"], done["best_std"], strict=True)
    return Progress(
        tuple(range(1, len(done) + 1)),
        tuple(designs),
        tuple(Estimate(float(mean), float(std)) for mean, std in best),
    )


def _evaluation(subject: Subject, trial: Trial) -> Evaluation:
    planned = None if trial.planned is None else subject.called(trial.planned)
    return Evaluation(
        subject.number(trial),
        subject.called(trial.params),
        planned,
        trial.value,
        trial.state,
        trial.origin if subject.numbers is None else None,
        trial.error,
    )


def _deviations(subject: Subject) -> tuple[Deviation, ...]:
    table = subject.optimizer.deviations
    rows = table[(table["std"] > 0) | (table["mean"] != 0)]
    return tuple(
        Deviation(_outer(subject, row.parameter), int(row.pairs), *(float(n) for n in row[3:]))
        for row in rows.itertuples()
    )


def _outer(subject: Subject, label: str) -> str:
    """The name of a parameter whose deviations may be those of its logarithm."""
    inside = label.removeprefix("log ")
    if label in subject.optimizer.space.names:
        return subject.name(label)
    return f"log {subject.name(inside)}"
