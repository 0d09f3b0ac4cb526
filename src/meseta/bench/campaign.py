"""A campaign: does the missing runs of a plan, and stores each as soon as it is done."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from meseta.bench.records import Writing, append_run, read_runs
from meseta.bench.runs import AnyPlan, J, R

# How jobs are done, in any order; one record comes back for each.
Workers = Callable[[Iterable[J]], Iterable[R]]


@dataclass(frozen=True)
class Progress(Generic[J, R]):
    """The runs of a plan by their state."""

    complete: list[R]
    failed: list[R]
    missing: list[J]

    @property
    def ended(self) -> list[R]:
        return [*self.complete, *self.failed]

    @property
    def planned(self) -> int:
        return len(self.ended) + len(self.missing)


def progress(folder: Path, plan: AnyPlan[J, R]) -> Progress[J, R]:
    """The runs of a plan that the folder has."""
    jobs = plan.jobs()
    runs: dict[J, R] = {}
    for problem, label in dict.fromkeys((job.problem, job.label) for job in jobs):
        runs.update(read_runs(folder, problem, label, plan.read))
    have = [runs[job] for job in jobs if job in runs]
    return Progress(
        complete=[record for record in have if record.state == "complete"],
        failed=[record for record in have if record.state == "failed"],
        missing=[job for job in jobs if job not in runs],
    )


def campaign(
    folder: Path,
    plan: AnyPlan[J, R],
    workers: Workers[J, R],
    *,
    retry_failed: bool = False,
    within_seconds: float | None = None,
) -> Iterator[R]:
    """Do the missing runs of a plan; each record is on disk before it is handed on.

    After `within_seconds` no more runs are given out, and those that were are finished.
    """
    end = None if within_seconds is None else time.monotonic() + within_seconds
    with Writing(folder):
        before = progress(folder, plan)
        todo = [*before.missing, *([r.job for r in before.failed] if retry_failed else [])]
        waiting = set(todo)
        for record in workers(_until(end, todo)) if todo else ():
            if record.job in waiting:  # a cluster may do a run twice, it counts once
                waiting.remove(record.job)
                append_run(folder, record)
                yield record


def _until(end: float | None, jobs: list[J]) -> Iterator[J]:
    for job in jobs:
        if end is not None and time.monotonic() >= end:
            return
        yield job
