"""Who stands where: ranks, regrets and seconds by the records, failed runs included."""

from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float64

from meseta.arena.record import ArenaRecord, Entry, Rule
from meseta.bench.statistics import (
    Comparison,
    Curve,
    Rank,
    compare,
    fewest_pairs,
    groups,
    mean_ranks_of_many,
)
from meseta.problems import get

OURS = "meseta-rkg"  # our default method: whose defeats the page names first


class Counted(NamedTuple):
    """A run by one of the two recommendations; failed ones count, too."""

    job: Entry
    regret: Float64[np.ndarray, " m"]
    state: Literal["complete"] = "complete"


class Cell(NamedTuple):
    """An entrant on a problem, at the end of its runs."""

    problem: str
    entrant: str
    runs: int
    failures: int
    own: tuple[float, float, float]  # the quartiles of the regret
    common: tuple[float, float, float]
    per_step: float | None  # median seconds


class Loss(NamedTuple):
    """A problem on which another entrant ends lower than ours, over runs with the same seeds."""

    by: Comparison  # its `method` is the other entrant, its `reference` is ours
    ours: float  # median regrets over these runs
    theirs: float

    @property
    def problem(self) -> str:
        return self.by.problem

    @property
    def first(self) -> str:
        return self.by.method

    @property
    def times(self) -> float:
        """How many times lower theirs is, in the median over pairs of runs."""
        return 1 / self.by.ratio


def counted(records: Sequence[ArenaRecord], rule: Rule) -> list[Counted]:
    return [Counted(record.job, record.regrets(rule)) for record in records]


def ranks(records: Sequence[ArenaRecord], rule: Rule, without: Collection[str]) -> list[Rank]:
    """Mean ranks over problems and seeds that all of them have played, best first."""
    return mean_ranks_of_many(
        [each for each in counted(records, rule) if each.job.entrant not in without]
    )


def too_few(records: Sequence[ArenaRecord]) -> list[str]:
    """Entrants with less than half the runs that others have: they would leave few to compare."""
    runs = Counter(record.job.entrant for record in records)
    return sorted(name for name, count in runs.items() if count < max(runs.values()) / 2)


def seldom_seen(records: Sequence[ArenaRecord]) -> list[str]:
    """Entrants on fewer than half of the problems: with them, the others would not count."""
    problems = {record.job.problem for record in records}
    played = Counter(entrant for entrant, _ in {(r.job.entrant, r.job.problem) for r in records})
    return sorted(name for name, count in played.items() if count < len(problems) / 2)


def cells(records: Sequence[ArenaRecord]) -> dict[str, list[Cell]]:
    """By problem, the entrant with the lowest own median regret first."""
    found: dict[str, dict[str, list[ArenaRecord]]] = {}
    for record in records:
        found.setdefault(record.job.problem, {}).setdefault(record.job.entrant, []).append(record)
    return {
        problem: sorted(
            (_cell(problem, name, runs) for name, runs in by_name.items()),
            key=lambda cell: cell.own[1],
        )
        for problem, by_name in found.items()
    }


def _cell(problem: str, entrant: str, runs: list[ArenaRecord]) -> Cell:
    seconds = [record.per_step for record in runs]
    known = [each for each in seconds if each is not None]
    return Cell(
        problem,
        entrant,
        len(runs),
        sum(record.state == "failed" for record in runs),
        _quartiles(runs, "own"),
        _quartiles(runs, "common"),
        median(known) if known else None,
    )


def _quartiles(runs: list[ArenaRecord], rule: Rule) -> tuple[float, float, float]:
    low, middle, high = np.quantile([r.regrets(rule)[-1] for r in runs], [0.25, 0.5, 0.75]).tolist()
    return low, middle, high


def losses(records: Sequence[ArenaRecord], rule: Rule = "own", ours: str = OURS) -> list[Loss]:
    """The problems on which ours does not end lowest, the greatest distance first.

    By runs with the same seeds. One for each problem and rival, so a problem may come twice.
    """
    runs = counted(records, rule)
    regrets = {
        (each.job.problem, each.job.entrant, each.job.seed): float(each.regret[-1]) for each in runs
    }
    found = []
    for comparison in comparisons(records, rule, ours):
        if comparison.ratio < 1:
            problem, rival = comparison.problem, comparison.method
            shared = [s for p, e, s in regrets if (p, e) == (problem, rival)]
            shared = [seed for seed in shared if (problem, ours, seed) in regrets]
            mine, theirs = (
                median(regrets[problem, name, seed] for seed in shared) for name in (ours, rival)
            )
            found.append(Loss(comparison, mine, theirs))
    return sorted(found, key=lambda loss: -loss.times)


def defeats(records: Sequence[ArenaRecord], rule: Rule = "own") -> tuple[list[Loss], list[Loss]]:
    """The surest loss of each problem: over many pairs of runs, and over few.

    Of few the lowest regret may be luck: fewer than any difference needs, unless ours has no more.
    By the common rule only what own recommendations do not show: that somebody's experiments tell
    our model more than ours do.
    """
    every = losses(records, rule)
    if rule == "common":
        known = {(loss.problem, loss.first) for loss in losses(records)}
        every = [loss for loss in every if (loss.problem, loss.first) not in known]
    played = Counter(record.job.problem for record in records if record.job.entrant == OURS)
    many = [loss for loss in every if loss.by.pairs >= min(fewest_pairs(), played[loss.problem])]
    return surest(many), surest([loss for loss in every if loss not in many])


def by_board(records: Sequence[ArenaRecord]) -> dict[str, list[ArenaRecord]]:
    found: dict[str, list[ArenaRecord]] = {}
    for record in records:
        found.setdefault(get(record.job.problem).board, []).append(record)
    return found


def comparisons(
    records: Sequence[ArenaRecord], rule: Rule = "own", ours: str = OURS
) -> list[Comparison]:
    """Every other with ours on every problem that both have played with the same seed."""
    return compare(counted(records, rule), ours)


def surest(found: Sequence[Loss]) -> list[Loss]:
    """For each problem the loss that the test is surest of, the greatest distance first.

    The greatest ratio may be that of a rival that was lucky in a few runs.
    """
    first: dict[str, Loss] = {}
    for loss in sorted(found, key=lambda loss: (loss.by.p, -loss.times)):
        first.setdefault(loss.problem, loss)
    return sorted(first.values(), key=lambda loss: -loss.times)


def curves(records: Sequence[ArenaRecord], rule: Rule) -> dict[str, dict[str, Curve]]:
    """Regrets over evaluations, by problem and entrant."""
    return {
        problem: {
            name: _curve(np.stack([run.regret for run in runs]), counts[problem], len(runs))
            for name, runs in by_name.items()
        }
        for counts in [{r.job.problem: np.array(r.checkpoints, dtype=float) for r in records}]
        for problem, by_name in groups(counted(records, rule)).items()
    }


def timed_curves(records: Sequence[ArenaRecord]) -> dict[str, dict[str, Curve]]:
    """Own regrets over the median seconds of the entrant; runs that ended early left out."""
    whole = [r for r in records if r.state == "complete"]
    return {
        problem: {
            name: _curve(
                np.stack([run.regret for run in runs]),
                np.median([run.elapsed() for run in runs], axis=0),
                len(runs),
            )
            for name, runs in by_name.items()
        }
        for problem, by_name in groups(whole).items()
    }


def _curve(
    regrets: Float64[np.ndarray, "runs m"], at: Float64[np.ndarray, " m"], runs: int
) -> Curve:
    lower, middle, upper = np.quantile(regrets, [0.25, 0.5, 0.75], axis=0)
    return Curve(at, middle, lower, upper, runs)
