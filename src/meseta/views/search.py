"""The search: what was evaluated, and what was recommended on the way."""

from dataclasses import dataclass
from typing import Literal

from meseta.record import Origin, State
from meseta.space import Design
from meseta.views.estimate import Estimate


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
    origin: Origin
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
class Finding:
    """Something about the health of model or search."""

    level: Literal["fine", "note", "warning"]
    topic: str  # such as "fit" or "expectation propagation"
    text: str


@dataclass(frozen=True)
class Search:
    progress: Progress | None  # None: nothing finished yet
    evaluations: tuple[Evaluation, ...]
    fit: LeaveOneOut | None  # None: fewer than two values
    deviations: tuple[Deviation, ...]  # of parameters that were ever carried out otherwise
    findings: tuple[Finding, ...]
