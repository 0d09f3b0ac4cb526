"""Several workers on this machine: processes that share nothing but the storage."""

import os
import subprocess
import time
from collections.abc import Sequence

from meseta.study.ledger import Ledger
from meseta.study.progress import progress
from meseta.study.watch import watched

POLL = 0.5  # seconds
PATIENCE = 10.0  # seconds for a worker to end by itself


def run_team(
    ledger: Ledger, command: Sequence[str], workers: int, trials: int | None, *, quiet: bool
) -> list[str]:
    """Start the workers and wait for all; what those said that did not end well.

    A worker that dies costs nothing: the others take over its trial.
    """
    shares = _shares(workers, trials)
    team = [
        subprocess.Popen(
            [*command, *(["--trials", str(share)] if share is not None else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # one thread each: small tensors, and threads would fight over the cores
            env={"OMP_NUM_THREADS": "1", **os.environ},
        )
        for share in shares
    ]
    try:
        with watched(ledger, quiet=quiet) as watch:
            while any(worker.poll() is None for worker in team):
                watch(progress(ledger.trials, ledger.file.budget))
                time.sleep(POLL)
            watch(progress(ledger.trials, ledger.file.budget))
    finally:
        _end(team)
    return [_last_words(worker) for worker in team if worker.returncode != 0]


def _shares(workers: int, trials: int | None) -> list[int | None]:
    """How many trials each worker takes, where there are so many to be done."""
    if trials is None:
        return [None] * workers
    each, more = divmod(trials, workers)
    shares = [each + (i < more) for i in range(workers)]
    return [share for share in shares if share]


def _end(team: Sequence["subprocess.Popen[str]"]) -> None:
    for worker in team:
        if worker.poll() is None:
            worker.terminate()
    for worker in team:
        try:
            worker.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def _last_words(worker: "subprocess.Popen[str]") -> str:
    assert worker.stderr is not None
    said = worker.stderr.read().strip().splitlines()
    return said[-1] if said else f"exit code {worker.returncode}"
