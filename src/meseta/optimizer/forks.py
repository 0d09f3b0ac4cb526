"""Evaluations that end in one process, where f has made two of it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from meseta.boundary import described_error


@contextmanager
def in_one_process() -> Iterator[None]:
    """End a fork of this process that comes to the end of the block, which is ours alone.

    It would go on as a second one of us: with the same trial, the same database, the same random
    numbers.
    """
    ours = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != ours:
            _end(sys.exc_info()[1])


def _end(error: BaseException | None) -> None:
    """End this process; one that wanted to end does so without a word."""
    wanted = isinstance(error, SystemExit)
    if not wanted:
        what = "returned" if error is None else f"raised {described_error(error)}"
        with suppress(Exception):
            print(
                f"meseta: f has forked its process, and the fork {what}: it is ended, and what it "
                "gave does not count; let it end by os._exit(0)",
                file=sys.stderr,
                flush=True,
            )
    os._exit(0 if wanted else 1)
