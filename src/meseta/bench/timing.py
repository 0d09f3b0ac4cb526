"""The compute time of an iteration of every method, as in the paper's table.

Methods take turns, one iteration each, in one thread of one process: what else the machine does
hits all of them alike, and ratios are to be trusted where seconds are not.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import torch

from meseta.bench.job import Job, read_method
from meseta.bench.one_run import Trace, steps, versions
from meseta.bench.plan import Plan
from meseta.bench.records import Writing, append_line, read_lines

PARTS = ("suggest", "recommend")
WARM_UP = 5  # evaluations; the first call of anything is slow


class Timing(NamedTuple):
    """Mean seconds of an iteration on one function, by method and part."""

    problem: str
    seed: int
    prior: str
    evaluations: int
    seconds: dict[str, dict[str, float]]
    versions: dict[str, str]


def timings(folder: Path, plan: Plan) -> list[Timing]:
    """The timings of a plan that the folder has, one for each problem and seed."""
    found: dict[Key, Timing] = {}
    for line in read_lines(_path(folder)):
        timing = Timing(**line)
        if set(timing.seconds) == set(plan.methods):
            found.setdefault(_key(timing), timing)
    return [found[key] for key in _keys(plan) if key in found]


def take_timings(folder: Path, plan: Plan) -> Iterator[Timing]:
    """Measure the missing timings of a plan, and store them."""
    torch.set_num_threads(1)
    with Writing(folder):
        have = {_key(timing) for timing in timings(folder, plan)}
        missing = [key for key in _keys(plan) if key not in have]
        if missing:
            measure(plan.methods, missing[0]._replace(evaluations=WARM_UP))
        for key in missing:
            timing = measure(plan.methods, key)
            append_line(_path(folder), timing._asdict())
            yield timing


class Key(NamedTuple):
    problem: str
    seed: int
    prior: str
    evaluations: int


def measure(labels: Sequence[str], key: Key) -> Timing:
    """The timing of all methods on one function, in turns."""
    traces = {label: Trace() for label in labels}
    turns = [
        steps(
            Job(key.problem, *read_method(label), key.seed, key.prior, key.evaluations),
            traces[label],
        )
        for label in labels
    ]
    for _ in zip(*turns, strict=True):
        pass
    return Timing(*key, {label: _means(trace) for label, trace in traces.items()}, versions())


def per_iteration(timing: Timing, label: str) -> float:
    return sum(timing.seconds[label].values())


def _means(trace: Trace) -> dict[str, float]:
    return {part: float(f"{mean(trace.seconds[part]):.4g}") for part in PARTS}


def _keys(plan: Plan) -> list[Key]:
    jobs = plan.jobs()
    return list(dict.fromkeys(Key(j.problem, j.seed, j.prior, j.evaluations) for j in jobs))


def _key(timing: Timing) -> Key:
    return Key(*timing[:4])


def _path(folder: Path) -> Path:
    return folder / "timing.jsonl"
