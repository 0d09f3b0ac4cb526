"""A campaign: does the missing runs of a plan, and stores each as soon as it is done."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from meseta.bench.job import Job
from meseta.bench.plan import Plan
from meseta.bench.records import RunRecord, Writing, append_run, read_runs

# How jobs are done, in any order; one record comes back for each.
Workers = Callable[[list[Job]], Iterable[RunRecord]]


@dataclass(frozen=True)
class Progress:
    """The runs of a plan by their state."""

    complete: list[RunRecord]
    failed: list[RunRecord]
    missing: list[Job]

    @property
    def planned(self) -> int:
        return len(self.complete) + len(self.failed) + len(self.missing)


def progress(folder: Path, plan: Plan) -> Progress:
    """The runs of a plan that the folder has."""
    jobs = plan.jobs()
    runs: dict[Job, RunRecord] = {}
    for problem, label in dict.fromkeys((job.problem, job.label) for job in jobs):
        runs.update(read_runs(folder, problem, label))
    have = [runs[job] for job in jobs if job in runs]
    return Progress(
        complete=[record for record in have if record.state == "complete"],
        failed=[record for record in have if record.state == "failed"],
        missing=[job for job in jobs if job not in runs],
    )


def campaign(
    folder: Path, plan: Plan, workers: Workers, *, retry_failed: bool = False
) -> Iterator[RunRecord]:
    """Do the missing runs of a plan; each record is on disk before it is handed on."""
    with Writing(folder):
        before = progress(folder, plan)
        todo = [*before.missing, *([r.job for r in before.failed] if retry_failed else [])]
        waiting = set(todo)
        for record in workers(todo) if todo else ():
            if record.job in waiting:  # a cluster may do a run twice, it counts once
                waiting.remove(record.job)
                append_run(folder, record)
                yield record
