"""A run as people watch it: a bar with what is done, failed and running."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from meseta.study.ledger import Ledger
from meseta.study.progress import Progress
from meseta.study.terminal import one_line


@contextmanager
def watched(ledger: Ledger, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Something that shows progress on a terminal, and nothing where there is none."""
    silent = quiet or not sys.stderr.isatty()
    file = ledger.file
    with tqdm(total=file.budget, desc=one_line(file.name), unit="trial", disable=silent) as bar:

        def watch(now: Progress) -> None:
            bar.n = now.complete + now.failed
            bar.set_postfix({"running": now.running, "failed": now.failed}, refresh=True)

        yield watch
