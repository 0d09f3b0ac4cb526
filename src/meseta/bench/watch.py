"""A campaign under way and folders of results, for people to watch."""

import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from meseta.bench.campaign import Progress as Standing
from meseta.bench.campaign import Workers, campaign, progress
from meseta.bench.pace import Pace, spoken
from meseta.bench.plan import Plan, kept_plans
from meseta.bench.timing import take_timings, timings


def watched_campaign(
    folder: Path, plan: Plan, workers: Workers, *, retry_failed: bool = False
) -> Standing:
    """Do a plan with a bar that says how long it will still take; returns how far it is then."""
    before = progress(folder, plan)
    todo = set(before.missing) | {record.job for record in before.failed if retry_failed}
    pace = Pace(before.complete)
    bar = Progress(
        TextColumn(plan.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]} left"),
        console=Console(stderr=True),
    )
    failed = 0 if retry_failed else len(before.failed)
    start, done = time.monotonic(), 0.0

    def shown() -> dict[str, object]:
        seconds = pace.seconds(todo)
        # how many seconds of runs a second of waiting brings: the workers that are really there
        at_once = done / (time.monotonic() - start) if done else 1.0
        left = None if seconds is None else seconds / at_once
        return {"completed": before.planned - len(todo), "failed": failed, "left": spoken(left)}

    with bar:
        task = bar.add_task(plan.name, total=before.planned, **shown())  # type: ignore[arg-type]
        for record in campaign(folder, plan, workers, retry_failed=retry_failed):
            todo.discard(record.job)
            pace.add(record)
            done += record.duration
            failed += record.state == "failed"
            bar.update(task, **shown())  # type: ignore[arg-type]
    return progress(folder, plan)


def watched_timings(folder: Path, plan: Plan) -> None:
    """Take the missing timings of a plan, with a bar."""
    total = len(plan.problems) * plan.runs
    before = len(timings(folder, plan))
    bar = Progress(
        TextColumn(plan.name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(plan.name, total=total, completed=before)
        for _ in take_timings(folder, plan):
            bar.advance(task)


def status_lines(folder: Path) -> list[str]:
    """Counts for every plan of a folder, time to go, and the reasons of failures."""
    lines = []
    for plan in kept_plans(folder):
        if plan.of.kind == "timing":
            total = len(plan.problems) * plan.runs
            lines.append(f"{plan.name:32} {len(timings(folder, plan))} of {total} measured")
            continue
        now = progress(folder, plan)
        left = spoken(Pace(now.complete).seconds(now.missing)) if now.missing else "0 s"
        lines.append(
            f"{plan.name:32} {len(now.complete)} of {now.planned} complete, "
            f"{len(now.failed)} failed, {len(now.missing)} missing ({left} on one core)"
        )
        reasons = Counter((r.job.problem, r.job.label, r.reason) for r in now.failed)
        lines += [
            f"  failed: {label} on {problem}, {count} x {reason}"
            for (problem, label, reason), count in reasons.items()
        ]
    return lines
