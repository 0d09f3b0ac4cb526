"""A real PostgreSQL server for a test, from the programs that the system has."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest


def program(name: str) -> str:
    """Its path; the test is skipped where it is not installed."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = str(places[0]) if places else shutil.which(name)
    if found is None:
        pytest.skip(f"PostgreSQL is not installed: there is no {name} (Debian: postgresql)")
    return found


class Server(NamedTuple):
    url: str
    stop: Callable[[], None]  # at once, as if it had crashed
    start: Callable[[], None]


@contextmanager
def server() -> Iterator[str]:
    """A server of its own on a socket of its own; its URL."""
    with restartable() as running:
        yield running.url


@contextmanager
def restartable() -> Iterator[Server]:
    """The same, to be stopped and started."""
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    # PostgreSQL refuses to run as root
    owner = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    as_owner = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid}
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # sockets must have short paths
    try:
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)

        def call(*words: str) -> None:
            done = subprocess.run(
                words,
                cwd=folder,
                env={**os.environ, "HOME": str(folder), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                **as_owner,
            )
            assert done.returncode == 0, done.stdout

        data, log = str(folder / "data"), str(folder / "log")
        call(initdb, "-D", data, "-U", "meseta", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses='' -k {folder} -c fsync=off"

        def start() -> None:
            call(pg_ctl, "-D", data, "-l", log, "-w", "-o", options, "start")

        def stop() -> None:
            call(pg_ctl, "-D", data, "-m", "immediate", "-w", "stop")

        start()
        try:
            yield Server(f"postgresql://meseta@/postgres?host={folder}", stop, start)
        finally:
            stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
