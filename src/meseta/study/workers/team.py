"""Several workers on this machine: processes that share nothing but the storage."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from meseta.study.database import PATIENCE
from meseta.study.ledger import Ledger, StorageError
from meseta.study.progress import progress
from meseta.study.terminal import OURS, say
from meseta.study.workers.command import described
from meseta.study.workers.tail import Tail
from meseta.study.workers.watch import watched

if TYPE_CHECKING:
    from meseta.study.live import LiveReport

POLL = 0.5  # seconds
MOMENT = 1.5  # seconds for workers to end that were interrupted with us
ENDING = 10.0  # seconds for a worker to end once it was asked to
LAST_WORDS = 2.0  # seconds for what it has written to arrive


class _Worker(NamedTuple):
    process: "subprocess.Popen[bytes]"
    stderr: Tail


def run_team(
    ledger: Ledger,
    command: Sequence[str],
    workers: int,
    trials: int | None,
    *,
    quiet: bool,
    live: "LiveReport | None" = None,
) -> list[str]:
    """Start the workers and wait for all; returns the last words of workers that failed.

    A worker that dies costs nothing: the others take over its trial. After an interrupt, values
    that workers could not store are printed before we end.
    """
    shares = _shares(workers, trials)
    team = [_started([*command, "--worker", str(os.getpid())], share) for share in shares]
    ledger.database.patience = PATIENCE
    try:
        with watched(ledger, quiet=quiet, live=live) as watch:
            try:
                while any(worker.process.poll() is None for worker in team):
                    watch(progress(ledger.trials, ledger.file.budget))
                    time.sleep(POLL)
                watch(progress(ledger.trials, ledger.file.budget))
            except StorageError as error:  # workers have trials in hand: they decide for themselves
                say(f"{error}; the workers finish their trials")
                for worker in team:
                    worker.process.wait()
    except KeyboardInterrupt:
        # Ctrl-C reaches workers as well. A second signal right after the first may be given to a
        # thread that does not evaluate, and would not be noticed before the evaluation is over.
        until = time.monotonic() + MOMENT
        while any(w.process.poll() is None for w in team) and time.monotonic() < until:
            time.sleep(MOMENT / 20)
        _end(team)
        for words in _lost(team):
            say(words)
        raise
    finally:
        _end(team)
    return _lost(team)


def _started(command: Sequence[str], share: int | None) -> _Worker:
    process = subprocess.Popen(
        [*command, *(["--trials", str(share)] if share is not None else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # one thread each: small tensors, and threads would fight over the cores
        env={"OMP_NUM_THREADS": "1", **os.environ},
    )
    assert process.stderr is not None
    # read at once: a pipe that is full would stop the worker
    return _Worker(process, Tail(process.stderr))


def _shares(workers: int, trials: int | None) -> list[int | None]:
    """The number of trials of each worker; None: no limit."""
    if trials is None:
        return [None] * workers
    each, more = divmod(trials, workers)
    shares = [each + (i < more) for i in range(workers)]
    return [share for share in shares if share]


def _end(team: Sequence[_Worker]) -> None:
    for process, _ in team:
        if process.poll() is None:
            process.terminate()
    for process, _ in team:
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _lost(team: Sequence[_Worker]) -> list[str]:
    """The last words of workers that failed, without those that were interrupted, each once."""
    fine = (0, 128 + signal.SIGINT, -signal.SIGINT, -signal.SIGTERM)
    return list(dict.fromkeys(_last_words(w) for w in team if w.process.returncode not in fine))


def _last_words(worker: _Worker) -> str:
    worker.stderr.finish(LAST_WORDS)
    said = worker.stderr.lines()
    ours = [line.removeprefix(OURS) for line in said if line.startswith(OURS)]
    if ours and worker.process.returncode > 0:
        return ours[-1]
    code = f"a worker ended with {described(worker.process.returncode)}"
    return f"{code}: {said[-1]}" if said else code
