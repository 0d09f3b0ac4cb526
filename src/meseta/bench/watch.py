"""The progress of a campaign: a bar while it runs, and a summary of a folder."""

import time
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from meseta.bench.campaign import Progress, Workers, campaign, progress
from meseta.bench.pace import Pace, spoken
from meseta.bench.plan import Plan, kept_plans
from meseta.bench.runs import AnyPlan, J, R
from meseta.bench.timing import take_timings, timings

# Without the time that tqdm expects: runs of one campaign differ, and ours knows which are left.
BAR = "{desc} |{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


def watched_campaign(
    folder: Path,
    plan: AnyPlan[J, R],
    workers: Workers[J, R],
    *,
    retry_failed: bool = False,
    within_seconds: float | None = None,
) -> Progress[J, R]:
    """Do a plan with a bar that shows the time left; returns the progress at the end."""
    before = progress(folder, plan)
    todo = set(before.missing) | {record.job for record in before.failed if retry_failed}
    pace = Pace(before.complete)
    failed = 0 if retry_failed else len(before.failed)
    start, done = time.monotonic(), 0.0

    def words() -> str:
        seconds = pace.seconds(todo)
        # how many seconds of runs a second of waiting brings: the workers that are really there
        at_once = done / (time.monotonic() - start) if done else 1.0
        left = None if seconds is None else seconds / at_once
        return f"{failed} failed, {spoken(left)} left"

    total = before.planned
    with tqdm(
        total=total, initial=total - len(todo), desc=plan.name, bar_format=BAR, disable=None
    ) as bar:
        bar.set_postfix_str(words())
        done_now = campaign(
            folder, plan, workers, retry_failed=retry_failed, within_seconds=within_seconds
        )
        for record in done_now:
            todo.discard(record.job)
            pace.add(record)
            done += record.duration
            failed += record.state == "failed"
            bar.set_postfix_str(words(), refresh=False)
            bar.update()
    return progress(folder, plan)


def watched_timings(folder: Path, plan: Plan) -> None:
    """Take the missing timings of a plan, with a bar."""
    total, before = len(plan.problems) * plan.runs, len(timings(folder, plan))
    with tqdm(total=total, initial=before, desc=plan.name, unit="function", disable=None) as bar:
        for _ in take_timings(folder, plan):
            bar.update()


def status_lines(folder: Path) -> list[str]:
    """The progress of every plan of a folder, time to go, and the reasons of failures."""
    lines = []
    for plan in kept_plans(folder):
        if plan.of.kind == "timing":
            total = len(plan.problems) * plan.runs
            lines.append(f"{plan.name:32} {len(timings(folder, plan))} of {total} measured")
            continue
        lines += plan_lines(folder, plan)
    return lines


def plan_lines(folder: Path, plan: AnyPlan[J, R]) -> list[str]:
    """The progress of one plan."""
    now = progress(folder, plan)
    left = spoken(Pace(now.complete).seconds(now.missing)) if now.missing else "0 s"
    reasons = Counter((r.job.problem, r.job.label, r.reason) for r in now.failed)
    return [
        f"{plan.name:32} {len(now.complete)} of {now.planned} complete, "
        f"{len(now.failed)} failed, {len(now.missing)} missing ({left} on one core)",
        *(
            f"  failed: {label} on {problem}, {count} x {reason}"
            for (problem, label, reason), count in reasons.items()
        ),
    ]
