"""Keeps what an entrant starts: who loses its parent becomes a child of this process, on Linux.

    python keeper.py PARENT PYTHON HOST.py ENTRANT.py BYTES

So neither a session of its own, nor an empty environment, nor a double fork hides a process. It
ends with all of them when the host ends, when it is told to (SIGTERM), and when its parent dies.
The parent imports this file, too. It needs nothing but Python.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

# <linux/prctl.h>
SIGNAL_WHEN_PARENT_DIES, ADOPT, IS_ADOPTING = 1, 36, 37
PATIENCE = 30.0  # seconds in which what was killed must have ended


def can_adopt() -> bool:
    """Whether this system gives orphans to a process that asks for them, and shows them."""
    shows = sys.platform == "linux" and Path("/proc/self/stat").exists()
    return shows and _prctl(IS_ADOPTING, ctypes.byref(ctypes.c_int()))


def family(keeper: int) -> dict[int, float]:
    """The processes below a keeper, and their seconds of the processor.

    Its own number stands for those that have ended below it.
    """
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        pid = int(folder.name)
        # utime, stime, and those of its own children that it has waited for
        times = after_name[13:15] if pid == keeper else after_name[11:15]
        used[pid] = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
        children.setdefault(int(after_name[1]), []).append(pid)
    found = [keeper] if keeper in used else []
    for pid in found:  # it grows meanwhile
        found += children.get(pid, [])
    return {pid: used[pid] for pid in found}


def main(parent: int, command: list[str]) -> None:
    signal.signal(signal.SIGTERM, _stop)
    adopts = _prctl(ADOPT, ctypes.c_ulong(1)) and _prctl(
        SIGNAL_WHEN_PARENT_DIES, ctypes.c_ulong(signal.SIGTERM)
    )
    if not adopts or os.getppid() != parent:
        sys.exit("the keeper of an entrant has no parent, or keeps nothing")
    status = 0
    try:
        host = _start(command)
        ended = 0
        while ended != host:  # others are orphans
            ended, status = os.wait()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_all()
    _end_like(status)


def _start(command: list[str]) -> int:
    """Start the host; from then on only it, and what it starts, holds our ends of the pipes."""
    try:
        host = subprocess.Popen(command, start_new_session=True).pid
    except OSError as error:
        said = f"its interpreter {command[0]} does not start: {error}"
        print(json.dumps({"error": said}), flush=True)
        sys.exit(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    return host


def _stop(number: int, frame: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def _end_all() -> None:
    """End all below us: who has no child has no further descendant, since orphans are its own."""
    until = time.monotonic() + PATIENCE  # somebody else's processes cannot be ended
    while time.monotonic() < until:
        for pid in set(family(os.getpid())) - {os.getpid()}:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # it has ended meanwhile, or is somebody else's
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        time.sleep(0.01)


def _end_like(status: int) -> None:
    """End as the host has ended, which says why: by an exit code, or by a signal."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        sys.exit(code)
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file is enough
    if code != -signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)


def _prctl(option: int, value: object) -> bool:
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # a library without it
        return False
    return bool(prctl(option, value, *[ctypes.c_ulong(0)] * 3) == 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
