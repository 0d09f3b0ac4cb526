"""How commands end: what went wrong in a sentence, and a code that a script can use."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from meseta.study.terminal import say

FAILURE, WRONG_USE, NOTHING_YET, INTERRUPTED = 1, 2, 3, 130


@contextmanager
def wrong_use() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, FileExistsError) as error:
        stop(str(error), WRONG_USE)


@contextmanager
def failures() -> Iterator[None]:
    try:
        yield
    except typer.Exit:  # a RuntimeError, too, but what is wrong has been said
        raise
    except (RuntimeError, OSError, ValueError, ImportError) as error:
        stop(str(error), FAILURE)
    except KeyboardInterrupt:
        stop("interrupted; finished work is kept, start the same command to go on", INTERRUPTED)


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Make requests to terminate interrupts, so that no worker is left behind."""
    hangup = getattr(signal, "SIGHUP", signal.SIGTERM)  # a terminal that is closed
    numbers = {signal.SIGTERM, hangup}
    if signal.getsignal(hangup) is signal.SIG_IGN:  # as nohup wants it
        numbers.discard(hangup)
    before = {each: signal.signal(each, signal.default_int_handler) for each in numbers}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def stop(message: str, code: int) -> NoReturn:
    say(message)
    raise typer.Exit(code)
