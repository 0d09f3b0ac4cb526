"""Whether somebody still works at a trial: signs of life, and processes that are gone."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from meseta.study.attributes import BEAT, BY_HAND, WORKER

INTERVAL = 10.0  # seconds between signs of life
# Without a sign of life for so long, a worker on another machine is taken to be gone.
GRACE = 120.0


def this_worker() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "started": _started(pid)}


def is_abandoned(trial: FrozenTrial, now: float | None = None) -> bool:
    """Whether nobody works at a running trial any more."""
    attrs = trial.user_attrs
    if attrs.get(BY_HAND):
        return False
    now = time.time() if now is None else now
    worker = attrs.get(WORKER)
    if isinstance(worker, dict) and worker.get("host") == socket.gethostname():
        pid = worker.get("pid")
        return not isinstance(pid, int) or not _lives(pid, worker.get("started"))
    begun = now if trial.datetime_start is None else trial.datetime_start.timestamp()
    last = attrs.get(BEAT, begun)
    return now - (last if isinstance(last, (int, float)) else begun) > GRACE


@contextmanager
def beating(trial: optuna.Trial) -> Iterator[None]:
    """Signs of life while the block runs."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(INTERVAL):
            try:
                trial.set_user_attr(BEAT, time.time())
            except Exception:  # a database that is away for a while must not end the evaluation
                continue

    thread = threading.Thread(target=beat, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _lives(pid: int, started: object) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's process
    # the number may belong to another process by now
    return started is None or _started(pid) in (None, started)


def _started(pid: int) -> str | None:
    """When a process was started, in ticks of the machine's clock; None where that is not known.

    A process that has ended but was not waited for is not one that works.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return "ended" if fields[0] in "ZX" else fields[19]
