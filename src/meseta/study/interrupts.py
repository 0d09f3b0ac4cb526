"""Requests to end: where we are ending already, and where they must wait a moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that ask us to end are ignored while the block runs.

    Ctrl-C reaches a worker twice: from the terminal, and from the command that started it.
    """
    with _handled(signal.SIG_IGN):
        yield


@contextmanager
def deferred() -> Iterator[None]:
    """Signals that ask us to end arrive when the block is left, however it is left.

    So a program that is being started is known before anything can end us, and a database is not
    left in the middle of a read.
    """
    arrived: list[int] = []
    try:
        with _handled(lambda number, frame: arrived.append(number)):
            yield
    finally:
        for number in arrived:
            signal.raise_signal(number)


@contextmanager
def _handled(handler: Any) -> Iterator[None]:
    """Requests to end go to this handler while the block runs, except those that are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt the main thread alone
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            # None: it was not set by Python, and cannot be set back
            signal.signal(number, signal.SIG_DFL if handler_before is None else handler_before)
