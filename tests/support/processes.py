"""Commands in processes of their own that begin at once, since torch is imported already.

A new interpreter takes seconds to import torch. These processes are forked from one that has done
so. What concerns the start of the program, its pipes or its parent is tested with subprocess.
"""

import os
import shutil
import sys
import tempfile
import weakref
from multiprocessing import get_context
from pathlib import Path

_FORKS = get_context("forkserver")
# What a run imports sooner or later, its database and what torch takes from elsewhere included.
_FORKS.set_forkserver_preload(
    [
        *("meseta.cli.study", "meseta.study.database", "meseta.study.sampling"),
        *("meseta.study.workers.work", "meseta.study.answer", "meseta.optimizer.ask_tell"),
        *("sqlalchemy.orm", "sqlalchemy.dialects.sqlite", "alembic.command", "sympy"),
    ]
)
PARENT = "PARENT"  # among the words of a command: the number of the process that forked it


def _run(folder: str, words: tuple[str, ...], out: str, err: str) -> None:
    os.setsid()  # so that it can be killed with all that it has started
    for number, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    sys.argv = ["meseta", *(str(os.getppid()) if word == PARENT else word for word in words)]
    sys.path.insert(0, "")  # as `python -m` does

    from meseta.cli import start

    start()


class Command:
    """`meseta WORDS` in a folder, with the part of Popen that tests need."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.written = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.written, ignore_errors=True)
        paths = [str(self.written / name) for name in ("out", "err")]
        self._process = _FORKS.Process(target=_run, args=(str(folder), words, *paths), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    poll = returncode.fget

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """It alone, and not what it has started."""
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote to standard output and error, once it has ended."""
        self._process.join(timeout)
        assert self.poll() is not None, f"it has not ended within {timeout} s"
        out, err = ((self.written / name).read_text("utf-8") for name in ("out", "err"))
        return out, err
