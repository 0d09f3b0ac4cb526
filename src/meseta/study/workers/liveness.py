"""Whether somebody still works at a trial: signs of life, and processes that are gone."""

import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from meseta.study.database import PatientDatabase, database_time
from meseta.study.marks import BEAT, BY_HAND, SEEN, SILENT, WORKER

INTERVAL = 10.0  # seconds between signs of life
# A worker that cannot be looked at is taken to be gone after this time without a sign of life.
GRACE = 120.0  # seconds
# What clocks say of it must be seen, too: they are set, and those of two machines may differ.
SURE = 3 * INTERVAL
LAST_BEAT = 5.0  # seconds that a sign of life may take once the evaluation is over


def this_worker(now: float) -> dict[str, Any]:
    """Who we are, for others to see whether we still live; `now` is the time of the database."""
    pid = os.getpid()
    return {
        "host": socket.gethostname(),  # for people: containers may share the name
        "place": this_place(),
        "pid": pid,
        "started": _started(pid),
        "since": now,
    }


@lru_cache(maxsize=1)
def this_place() -> str | None:
    """The place within which processes see each other by their numbers; None: there is none.

    On Linux that is a namespace of processes (a container has its own) since the machine was
    started. Other systems have one for the whole machine, which its network card tells apart from
    others of the same name.
    """
    if os.name == "nt":  # where to look at a process by os.kill would end it
        return None
    if sys.platform != "linux":
        return f"{socket.gethostname()} {uuid.getnode():x}"
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def is_abandoned(trial: FrozenTrial) -> bool:
    """Whether nobody works any more at a running trial that `with_silence` has seen."""
    attrs = trial.user_attrs
    if attrs.get(BY_HAND):
        return False
    worker: Any = attrs.get(WORKER)
    if _is_here(worker):
        pid = worker.get("pid")
        return not isinstance(pid, int) or not _lives(pid, worker.get("started"))
    return attrs.get(SILENT, 0.0) > GRACE


class Listener:
    """How long signs of life have stayed the same, by a clock of our own that nobody sets."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[int, tuple[tuple[object, ...], float]] = {}  # by number of the trial

    def silence(self, trial: FrozenTrial, by_clock: float) -> float:
        """The seconds since the last sign of life, where another clock has `by_clock`.

        That clock counts when nothing has come for a while that we have seen, and not at all when
        that was longer than a worker may be silent.
        """
        signs, now = tuple(_signs(trial)), self._clock()
        before, since = self._seen.get(trial.number, (None, now))
        if signs != before:
            since = now
        self._seen[trial.number] = signs, since
        seen = now - since
        if seen > GRACE:
            return max(seen, by_clock)
        return by_clock if seen >= SURE else min(seen, by_clock)


def with_silence(
    trials: Sequence[FrozenTrial], clock: Callable[[], float], listener: Listener | None = None
) -> list[FrozenTrial]:
    """The trials; those of workers elsewhere get the attribute SILENT.

    `clock` is the clock of the database. Clocks and time zones of machines differ, so that neither
    the clock of the reader nor `datetime_start`, which is a local time, can be compared with it.
    Who ends the trials of others has a listener besides: the clock may be set meanwhile, and that
    of a SQLite file is the clock of whoever has opened it.
    """
    now: float | None = None
    seen = []
    for trial in trials:
        last = _last_sign(trial)
        if last is not None:
            now = clock() if now is None else now
            silence = now - last
            silence = silence if listener is None else listener.silence(trial, silence)
            trial = copy(trial)
            trial.user_attrs = {**trial.user_attrs, SILENT: silence}
        seen.append(trial)
    return seen


def says_nothing(trial: FrozenTrial) -> bool:
    """Whether a running trial has no sign of who works at it: it was killed as it began."""
    attrs = trial.user_attrs
    running = trial.state == TrialState.RUNNING and not attrs.get(BY_HAND)
    return running and not _is_here(attrs.get(WORKER)) and _last_sign(trial) is None


def _last_sign(trial: FrozenTrial) -> float | None:
    attrs = trial.user_attrs
    worker = attrs.get(WORKER)
    if trial.state != TrialState.RUNNING or attrs.get(BY_HAND) or _is_here(worker):
        return None
    return max(_signs(trial), default=None)


def _signs(trial: FrozenTrial) -> list[float]:
    attrs = trial.user_attrs
    worker = attrs.get(WORKER)
    since = worker.get("since") if isinstance(worker, dict) else None
    return [s for s in (since, attrs.get(BEAT), attrs.get(SEEN)) if isinstance(s, (int, float))]


def _is_here(worker: Any) -> bool:
    """Whether its process can be looked at."""
    place = this_place()
    return isinstance(worker, dict) and place is not None and worker.get("place") == place


@contextmanager
def beating(trial: optuna.Trial, trial_id: int, database: PatientDatabase) -> Iterator[None]:
    """Give signs of life while the block runs; only the first one may block."""
    trial.set_user_attr(BEAT, database.now())
    over, direct = threading.Event(), database.database

    def beat() -> None:
        while not over.wait(INTERVAL):
            # a database that is away for a while must not end the evaluation
            with suppress(Exception):
                direct.set_trial_user_attr(trial_id, BEAT, database_time(direct.engine))
            with suppress(Exception):
                direct.remove_session()

    thread = threading.Thread(target=beat, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LAST_BEAT)


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

    A process that has ended but that its parent has not collected does not work any more.
    """
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return None  # numbers in /proc are those of another namespace
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return "ended" if fields[0] in "ZX" else fields[19]
