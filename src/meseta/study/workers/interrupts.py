"""Requests to end, where we are ending already."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that ask us to end are ignored while the block runs.

    Ctrl-C reaches a worker twice: from the terminal, and from the command that started it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt the main thread alone
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: it was not set by Python, and cannot be set back
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
