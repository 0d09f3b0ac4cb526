"""The workers that do the runs: processes of this machine (joblib), or a Dask cluster."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from meseta.bench.campaign import Workers
from meseta.bench.runs import J, R
from meseta.boundary import missing


def processes(number: int, run: Callable[[J], R]) -> Workers[J, R]:
    """Workers in this many processes, each with one thread; 1: this process itself."""
    if number < 1:
        raise ValueError(f"workers must be at least 1, got {number}")
    return partial(_by_joblib, number, run)


def cluster(address: str, run: Callable[[J], R], failed: Callable[[J, str], R]) -> Workers[J, R]:
    """The workers of the Dask cluster whose scheduler has that address.

    `failed` makes the record of a run that the cluster lost.
    """
    return partial(_by_dask, address, run, failed)


def _by_joblib(number: int, run: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError as error:
        raise missing("running experiments needs joblib", "bench") from error
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    if number == 1:
        yield from map(run, jobs)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(
            n_jobs=number,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="n_jobs",  # a job that is given out will be done
        )
        try:
            yield from parallel(delayed(run)(job) for job in jobs)
        except TerminatedWorkerError as error:
            raise RuntimeError(
                "a worker process was killed (too little memory?); finished runs are kept, so "
                "start the same command again, perhaps with fewer --workers"
            ) from error


def _by_dask(
    address: str, run: Callable[[J], R], failed: Callable[[J, str], R], jobs: Iterable[J]
) -> Iterator[R]:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise missing("a Dask cluster needs distributed", "dask") from error
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        refuse_threads(client.scheduler_info(n_workers=-1)["workers"])
        futures = {
            # a key of its own: neither another campaign's result, nor twice the same
            client.submit(run, job, key=f"meseta-{os.getpid()}-{number}", pure=False): job
            for number, job in enumerate(jobs)
        }
        finished = as_completed(futures, loop=client.loop, raise_errors=False)
        for future in finished:
            job = futures.pop(future)
            if future.status == "finished":
                yield future.result()
            else:
                yield failed(job, f"lost by the cluster: {future.exception()!r}")
            future.release()


def refuse_threads(workers: dict[str, dict[str, Any]]) -> None:
    """Refuse several runs in one process: GPyTorch's settings are global."""
    if any(worker["nthreads"] > 1 for worker in workers.values()):
        raise RuntimeError(
            "every Dask worker must do one run at a time; start them with --nthreads 1 "
            "(and as many --nworkers as there are cores)"
        )
