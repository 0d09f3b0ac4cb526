"""The compute time of the methods of an experiment, without the evaluations of f."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from meseta.bench.pace import spoken
from meseta.bench.records import COMPUTE, RunRecord

DEAREST = 3


class Cost(NamedTuple):
    """The seconds of many runs, failed ones included."""

    iterations: int  # evaluations that a method chose
    by_part: dict[str, float]
    by_method: dict[str, float]

    @property
    def seconds(self) -> float:
        return sum(self.by_part.values())


def cost_of(records: Sequence[RunRecord]) -> Cost:
    by_part, by_method = dict.fromkeys(COMPUTE, 0.0), dict[str, float]()
    iterations = 0
    for record in records:
        iterations += len(record.seconds.get("suggest", ()))
        for part in COMPUTE:
            seconds = float(sum(record.seconds.get(part, ())))
            by_part[part] += seconds
            by_method[record.job.label] = by_method.get(record.job.label, 0.0) + seconds
    return Cost(iterations, by_part, by_method)


def cost_paragraph(records: Sequence[RunRecord]) -> str:
    """One sentence on the whole, and one on the most expensive methods."""
    cost = cost_of(records)
    if not cost.iterations or not cost.seconds:
        return "No iteration has been timed yet."
    dearest = sorted(cost.by_method.items(), key=lambda item: -item[1])[:DEAREST]
    return (
        f"All {cost.iterations} iterations together took {spoken(cost.seconds)} of compute, "
        f"{1e3 * cost.seconds / cost.iterations:.3g} s for every 1000, evaluations of f left out: "
        f"{_shares(cost.by_part.items(), cost.seconds)}. "
        f"Most of it went to {_shares(dearest, cost.seconds)}."
    )


def _shares(parts: Iterable[tuple[str, float]], whole: float) -> str:
    return ", ".join(f"{name} {100 * seconds / whole:.0f} %" for name, seconds in parts)
