"""The output of an objective: shown while somebody reads it, and never a reason to fail."""

import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from meseta.study.terminal import say

OUT, ERR = "standard output", "standard error"


class _Lasting(io.RawIOBase):
    """Hands on what is written until that fails, then drops it.

    A pipe whose reader has gone, a terminal that was closed, a full disk under a log: none of them
    is a failure of the function that prints.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self.lost = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return not self.lost and bool(self._stream.isatty())

    def fileno(self) -> int:
        number: int = self._stream.fileno()
        return number

    def write(self, data: Any) -> int:
        size = len(data)
        if not self.lost:
            try:
                self._stream.buffer.write(bytes(data))
                self._stream.buffer.flush()
            except (OSError, ValueError) as error:
                self.drop(str(error))
        return size

    def look(self) -> None:
        """Drop a stream that has lost its reader: programs that inherit it would be ended by it."""
        if self.lost or not hasattr(select, "poll"):
            return
        with suppress(OSError, ValueError):
            poll = select.poll()
            poll.register(self.fileno(), 0)
            if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
                self.drop("nobody reads it any more")

    def drop(self, why: str) -> None:
        self.lost = True
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), self.fileno())
        if self._name != ERR:  # where else could it be said
            say(f"{self._name} is lost ({why}); trials go on")


@contextmanager
def lasting_output(*, answer_alone: bool) -> Iterator[tuple[TextIO, Callable[[], None]]]:
    """A stream for the answer, and a function that looks whether somebody still reads.

    While the block runs, sys.stdout and sys.stderr never fail. With `answer_alone` standard output
    has nothing but the answer: what anybody else writes to it, also by its number and from
    programs that are started, goes to standard error.
    """
    before = sys.stdout, sys.stderr
    out, err = _lasting(sys.stdout, OUT), _lasting(sys.stderr, ERR)
    sys.stderr = err
    answer, sys.stdout = out, out
    if answer_alone:
        answer, sys.stdout = _alone(out, err), err

    def look() -> None:
        for stream in (out, err):
            raw = getattr(getattr(stream, "buffer", None), "raw", None)
            if isinstance(raw, _Lasting):
                raw.look()

    try:
        yield answer, look
    finally:
        for stream in (answer, out, err):
            with suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _alone(out: TextIO, err: TextIO) -> TextIO:
    """Standard output for us alone; its number stands for standard error from now on.

    That is not undone: libraries of C and Fortran keep what they print until the process ends.
    """
    try:
        number, other = out.fileno(), err.fileno()
    except (OSError, ValueError):  # a stream in memory has no number that others could write to
        return out
    out.flush()
    ours = open(os.dup(number), "w", encoding=out.encoding)  # noqa: SIM115
    os.dup2(other, number)
    return _lasting(ours, OUT)


def _lasting(stream: TextIO, name: str) -> TextIO:
    if getattr(stream, "buffer", None) is None:
        return stream
    with suppress(OSError, ValueError):
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(stream, name)),
        encoding=stream.encoding,
        errors="backslashreplace",  # nor is a letter that the terminal does not have a failure
        line_buffering=getattr(stream, "line_buffering", True),
    )
