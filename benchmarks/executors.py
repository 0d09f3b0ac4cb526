"""Many workers: an objective that takes seconds, on a Dask cluster that loses a worker half-way.

    python benchmarks/executors.py [--seconds 2] [--workers 8] [--evaluations 64] [--method rkg]

The cluster has processes with one thread each, on this machine. Read the speed-up: the seconds that
the evaluations took, one after the other, by the seconds of the run; both are from the same run.
The model and the search for designs are part of the run, on one thread of the same machine. One
worker is killed in the middle. Its evaluation is begun again, and every design has to be told
exactly once.
"""

import argparse
import os
import platform
import signal
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path

import distributed
import torch
from distributed import Client, LocalCluster

import meseta

SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def objective(folder, seconds):
    """An f that leaves a mark when it begins and when it ends."""

    def f(params):
        name = f"{params['a']!r} {params['b']!r} {uuid.uuid4().hex}"
        begun = time.perf_counter()
        Path(folder, "begun", name).touch()
        time.sleep(seconds)
        value = -((params["a"] - 0.3) ** 2) - (params["b"] - 0.6) ** 2
        Path(folder, "ended", name).write_text(repr(time.perf_counter() - begun))
        return value

    return f


def marks(folder, what):
    """The number of marks of each design."""
    return Counter(tuple(map(float, p.name.split()[:2])) for p in Path(folder, what).iterdir())


def run(folder, seconds, workers, evaluations, method):
    """The result of a run, and how long it took; a worker is killed half-way."""
    for what in ("begun", "ended"):
        Path(folder, what).mkdir()

    def kill(optimizer, trial):
        if len(optimizer.history) == evaluations // 2:
            os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        begun = time.perf_counter()
        result = meseta.maximize(
            objective(folder, seconds),
            SPACE,
            noise=meseta.Normal(0.05),
            budget=evaluations,
            executor=client.get_executor(),
            workers=workers,
            method=method,
            callback=kill,
            progress=False,
        )
        return result, time.perf_counter() - begun


def report(folder, result, took, evaluations):
    begun, ended = marks(folder, "begun"), marks(folder, "ended")
    told = Counter((t.params["a"], t.params["b"]) for t in result.trials if t.state == "complete")
    alone = sum(float(path.read_text()) for path in Path(folder, "ended").iterdir())
    lost = evaluations - told.total()
    doubled = sum(times - 1 for times in told.values())
    print(
        f"evaluations: {told.total()} told of {evaluations}, {begun.total()} begun, "
        f"{ended.total()} ended\n"
        f"begun again: {begun.total() - len(begun)}\n"
        f"lost: {lost}, doubled: {doubled}\n"
        f"one after the other: {alone:.1f} s; the run: {took:.1f} s; "
        f"speed-up {alone / took:.2f} x"
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--evaluations", type=int, default=64)
    parser.add_argument("--method", default="rkg")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"distributed {distributed.__version__}, {os.cpu_count()} cores; "
        f"{options.workers} workers, {options.seconds:g} s for an evaluation\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        result, took = run(
            folder, options.seconds, options.workers, options.evaluations, options.method
        )
        report(folder, result, took, options.evaluations)


if __name__ == "__main__":
    main()
