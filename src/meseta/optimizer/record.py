"""The record of a run: its trials, the order of their values, what was recommended after each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack

from meseta.boundary import EVERY
from meseta.optimizer.amendment import Amendment, Entry
from meseta.space.parameter import Design

if TYPE_CHECKING:  # torch, which most commands have no use for
    from meseta.measures.constraints import Constraint

# "withdrawn": it was told, and does not count any more
State = Literal["pending", "complete", "failed", "withdrawn"]
# Who chose the point: the user as an initial one, the sequence that fills the box, the method;
# the recommendation, which is put to the test; or the user, who told it unasked.
Origin = Literal["given", "space-filling", "method", "test", "told"]


@dataclass(frozen=True)
class Trial:
    """A point that was asked for or told, and what became of it."""

    number: int
    params: Design
    value: float | None
    state: State
    origin: Origin | None  # None: not known, in a study of another tool
    error: str | None = None  # why it failed, where that is known
    planned: Design | None = None  # what was asked for, where it was carried out otherwise
    outcomes: Mapping[str, float] = field(default_factory=dict)  # others, by name, as far as known
    std: Mapping[str, float] = field(default_factory=dict)  # of a measurement, VALUE and outcomes
    n: int = 1  # the measurements whose means were told
    unseen: bool = False  # whether the noise acted on it, and nobody saw how
    measured: tuple[str, ...] = ()  # parameters whose executed value somebody has measured
    amendments: tuple[Amendment, ...] = ()  # what was said after it was told, in that order

    @property
    def asked(self) -> bool:
        return self.origin != "told"

    @property
    def entry(self) -> Entry:
        """What the record has of it; of a withdrawn one, what it had before."""
        if self.state == "withdrawn":
            known = [each.before for each in self.amendments if each.what == "withdraw"]
            if known and known[-1] is not None:
                return replace(known[-1], withdrawn=True)
            return Entry(None, self.error, self.params, withdrawn=True)
        own = (self.std, self.n, self.unseen, self.measured)
        return Entry(self.value, self.error, self.params, self.outcomes, *own)

    def amended(self, entry: Entry, amendment: Amendment) -> "Trial":
        """With what the record has of it after an amendment."""
        amendments = (*self.amendments, amendment)
        if amendment.what == "comment":
            return replace(self, amendments=amendments)
        planned = self.planned or (self.params if self.asked else None)
        state: State = "failed" if entry.value is None else "complete"
        if entry.withdrawn:
            entry, state = Entry(None, None, entry.params), "withdrawn"
        return replace(
            self,
            params=entry.params,
            value=entry.value,
            state=state,
            error=entry.error if state == "failed" else None,
            planned=None if planned == entry.params else planned,
            outcomes=entry.outcomes,
            std=entry.std,
            n=entry.n,
            unseen=bool(entry.unseen),
            measured=() if planned is None else entry.measured,
            amendments=amendments,
        )


@dataclass(frozen=True)
class Test:
    """An evaluation at or near a recommended design, and what all other values led to expect."""

    __test__ = False  # no test of pytest's

    value: float
    expected: float
    std: float  # of what was expected, the noise of an observation included
    itself: bool = True  # the design was evaluated; False: one within 2 % of the ranges was

    @property
    def passed(self) -> bool:
        """Whether the value lies in the 95 % interval of what was expected."""
        return abs(self.value - self.expected) <= BAND * self.std

    def __str__(self) -> str:
        word = "as expected" if self.passed else "not as expected"
        others = f"{self.expected:.5g} ± {BAND * self.std:.2g} by the other values"
        near = "not evaluated itself, but a design within 2 % of the ranges was"
        what = "evaluated" if self.itself else near
        return f"{what}: {self.value:.5g}, {word} ({others})"


SURE = 0.95  # the probability from which on a design counts as one that keeps its constraints


class Counted(NamedTuple):
    """How many values of an outcome there are, in how many evaluations."""

    values: int
    evaluations: int


@dataclass(frozen=True)
class Kept:
    """How a design keeps a constraint in use."""

    constraint: "Constraint"
    share: float | None  # of what it becomes in use that keeps the limits; None: too few values
    interval: tuple[float, float]  # of that share, 95 %
    sure: float  # the probability that it is as large as was asked for
    counted: Counted  # the values of the outcome that are behind it
    scatter: str = ""  # what it counts of the scatter of single values, in words

    def __str__(self) -> str:
        low, high = self.interval
        if self.share is None:
            known = "1 value" if self.counted.values == 1 else f"{self.counted.values} values"
            return f"{self.constraint.in_words()}: not known yet, by {known} of it"
        return (
            f"{self.constraint.in_words()}: kept in {percent(self.share)} of the cases "
            f"({percent(low)} to {percent(high)}), asked: {percent(self.constraint.probability)}"
            f"{f'; {self.scatter}' if self.scatter else ''}{self.missing}"
        )

    @property
    def missing(self) -> str:
        """That some evaluations have no value of it, for texts; empty: all have."""
        values, evaluations = self.counted
        return f"; {values} values in {evaluations} evaluations" if values < evaluations else ""


def percent(share: float) -> str:
    """With as many digits as tell it from 100 %."""
    if share >= 0.999995:
        return "100 %" if share >= 1 else "over 99.999 %"
    digits = math.ceil(-math.log10(1 - share)) if share > 0 else 0
    text = f"{100 * share:.{max(1, digits)}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


BAND = 1.959964  # half-width of the 95 % interval of a Gaussian, in standard deviations


def interval(mean: float, std: float, possible: tuple[float, float]) -> tuple[float, float]:
    """The 95 % interval of a value that lies between the ends of what is possible."""
    low, high = possible
    return max(low, mean - BAND * std), min(high, mean + BAND * std)


def as_possible(mean: float, std: float, possible: tuple[float, float]) -> tuple[float, float]:
    """Mean and standard deviation of a value, with the mean not beyond what is possible.

    A model that is wrong by so much cannot be surer than that.
    """
    moved = min(max(mean, possible[0]), possible[1])
    return moved, math.hypot(std, moved - mean)


class Estimate(NamedTuple):
    """What a design is worth in use, and how sure that is."""

    mean: float
    std: float
    interval: tuple[float, float]  # 95 %


@dataclass(frozen=True)
class Recommendation:
    """A design with what the model expects of it, in the sign of the user."""

    params: Design
    mean: float  # of g(x) = E f(x + xi), or of another measure: what it is worth once perturbed
    std: float  # posterior standard deviation of that
    nominal_mean: float  # of f(x): what it is worth if nothing perturbs it
    nominal_std: float
    test: Test | None = None  # the nearest evaluation; None: there is none close by
    beyond: float = 0.0  # the share of the noise that falls beyond everything that was evaluated
    possible: tuple[float, float] = EVERY  # both means lie within, and so do intervals
    kept: Mapping[str, Kept] = field(default_factory=dict)  # how it keeps constraints, by name
    outside: float = 0.0  # the part of `beyond` that falls where no experiment is allowed
    interval: tuple[float, float] = EVERY  # the 95 % interval of what it is worth once perturbed
    sure: float = 1.0  # the probability that all constraints are kept as often as was asked for
    scatter: str = ""  # what another measure than the mean counts of the scatter of single values

    @property
    def feasible(self) -> bool:
        """Whether it is known to keep all constraints: by SURE, and not by an estimate alone."""
        return self.sure >= SURE


class Known(TypedDict, total=False):
    """What else is told of a trial, see `Trial`."""

    outcomes: Mapping[str, float]
    std: Mapping[str, float]
    n: int
    unseen: bool
    measured: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """Everything that was asked and told; each step returns a new record."""

    trials: tuple[Trial, ...] = ()
    told: tuple[int, ...] = ()  # numbers of trials, in the order of telling
    best: tuple[Recommendation | None, ...] = ()  # what was recommended after each told one

    @property
    def complete(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.state == "complete")

    @property
    def informative(self) -> tuple[Trial, ...]:
        """Those with a value, or another outcome."""
        return tuple(t for t in self.trials if t.state == "complete" or t.outcomes)

    @property
    def pending(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.state == "pending")

    @property
    def busy(self) -> tuple[Trial, ...]:
        """Pending and failed: points that have no value and are not to be asked for again."""
        return tuple(trial for trial in self.trials if trial.state in ("pending", "failed"))

    @property
    def counted(self) -> tuple[Trial, ...]:
        """All but those that were withdrawn."""
        return tuple(trial for trial in self.trials if trial.state != "withdrawn")

    def with_asked(self, designs: Sequence[Design], origin: Origin) -> "Record":
        numbered = enumerate(designs, start=len(self.trials))
        asked = (Trial(number, params, None, "pending", origin) for number, params in numbered)
        return replace(self, trials=(*self.trials, *asked))

    def with_told(
        self,
        params: Design,
        value: float | None,
        error: str | None,
        number: int | None,
        planned: Design | None = None,
        **known: Unpack["Known"],
    ) -> "Record":
        """With the value of that trial, evaluated at `params`; None: of a new one.

        `planned` is the plan of a new trial; None: there was none.
        """
        asked = None if number is None else self.trials[number]
        if number is None or asked is None:
            number, planned = len(self.trials), planned or params
            asked = Trial(number, planned, None, "pending", "told")
        planned = asked.params
        trial = replace(
            asked,
            params=params,
            value=value,
            state="failed" if value is None else "complete",
            error=error,
            planned=None if planned == params else planned,
            **known,
        )
        return Record(
            (*self.trials[:number], trial, *self.trials[number + 1 :]),
            (*self.told, number),
            (*self.best, None),
        )

    def with_amended(self, trial: Trial) -> "Record":
        """With another trial of that number; what was recommended after it was told is void.

        One that was withdrawn is no longer among those that were told.
        """
        number = trial.number
        trials = (*self.trials[:number], trial, *self.trials[number + 1 :])
        before = self.trials[number]
        if replace(trial, amendments=before.amendments) == before:
            return replace(self, trials=trials)
        first = self.told.index(number) if number in self.told else len(self.told)
        told = [each for each in self.told if each != number or trial.state != "withdrawn"]
        if trial.state != "withdrawn" and number not in told:
            told.append(number)
        best = (*self.best[:first], *(None,) * (len(told) - first))
        return Record(trials, tuple(told), best)

    def with_best(self, best: Recommendation) -> "Record":
        """With what is recommended after the last told trial."""
        return replace(self, best=(*self.best[:-1], best))
