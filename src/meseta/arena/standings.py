"""Who stands where: ranks, regrets and seconds by the records, failed runs included."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float64

from meseta.arena.record import ArenaRecord, Entry, Rule
from meseta.bench.statistics import FLOOR, Curve, Rank, groups, mean_ranks

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
    """A problem on which another entrant ends lower than ours."""

    problem: str
    first: str
    ratio: float  # of the median regrets
    ours: float
    theirs: float


def counted(records: Sequence[ArenaRecord], rule: Rule) -> list[Counted]:
    return [Counted(record.job, record.regrets(rule)) for record in records]


def ranks(records: Sequence[ArenaRecord], rule: Rule) -> list[Rank]:
    """Mean ranks over problems and seeds that all of them have played, best first."""
    few = too_few(records)
    return mean_ranks(
        [each for each in counted(records, rule) if each.job.entrant not in few], of_many=True
    )


def too_few(records: Sequence[ArenaRecord]) -> list[str]:
    """Entrants with less than half the runs that others have: they would leave few to compare."""
    runs = Counter(record.job.entrant for record in records)
    return sorted(name for name, count in runs.items() if count < max(runs.values()) / 2)


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


def losses(records: Sequence[ArenaRecord], ours: str = OURS) -> list[Loss]:
    """The problems on which ours does not end lowest, the greatest distance first.

    Entrants with few runs are left out: of one run in twenty the lowest regret is luck.
    """
    found, few = [], too_few(records)
    for problem, standing in cells([r for r in records if r.job.entrant not in few]).items():
        mine = next((cell for cell in standing if cell.entrant == ours), None)
        if mine is None or standing[0].own[1] >= mine.own[1]:
            continue
        first = standing[0]
        ratio = max(mine.own[1], FLOOR) / max(first.own[1], FLOOR)
        if ratio > 1:
            found.append(Loss(problem, first.entrant, ratio, mine.own[1], first.own[1]))
    return sorted(found, key=lambda loss: -loss.ratio)


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
