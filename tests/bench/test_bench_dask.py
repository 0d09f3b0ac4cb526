"""The same work on a Dask cluster: a real one, with two worker processes, one of them killed."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

from examples import thorough
from meseta.bench.campaign import campaign
from meseta.bench.job import Job
from meseta.bench.one_run import run
from meseta.bench.plan import make_plan
from meseta.bench.records import failed, path_of, read_lines
from meseta.bench.workers import cluster, refuse_threads

pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None, reason="distributed is not installed: meseta[dask]"
)

CLUSTER = """
import json, sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        pids = [worker.process.pid for worker in local.workers.values()]
        print(json.dumps([local.scheduler_address, pids]), flush=True)
        sys.stdin.readline()
"""
SEEDS = 6


@pytest.fixture
def local_cluster(tmp_path):
    """Address of the scheduler and the processes of the workers."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield json.loads(process.stdout.readline())
        process.stdin.write("\n")
        process.stdin.close()
        process.wait(60)


@thorough
def test_a_killed_worker_costs_nothing_and_nothing_counts_twice(local_cluster, tmp_path):
    address, pids = local_cluster
    plan = make_plan("quick", problems=("sin-linear",), methods=("ei",), evaluations=4, runs=SEEDS)
    records = campaign(tmp_path, plan, cluster(address, run, failed))
    first = next(records)
    os.kill(pids[0], signal.SIGKILL)  # while it is at another run: there are many to do
    assert {record.state for record in (first, *records)} == {"complete"}
    kept = list(read_lines(path_of(tmp_path, "sin-linear", "ei")))
    assert sorted(record["seed"] for record in kept) == list(range(SEEDS))
    assert list(campaign(tmp_path, plan, cluster(address, run, failed))) == []


def test_workers_with_several_threads_are_refused():
    refuse_threads({"tcp://a": {"nthreads": 1}})
    with pytest.raises(RuntimeError, match="--nthreads 1"):
        refuse_threads({"tcp://a": {"nthreads": 1}, "tcp://b": {"nthreads": 2}})


def test_an_address_without_scheduler_is_named():
    job = Job("sin-linear", "ei", (), 0, "default", 4)
    with pytest.raises(RuntimeError, match=r"no Dask scheduler .*nonsense"):
        list(cluster("nonsense://here", run, failed)([job]))
