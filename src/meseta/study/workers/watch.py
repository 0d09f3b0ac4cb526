"""The progress bar of a run: trials that are done, running and failed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from meseta.study.ledger import Ledger
from meseta.study.progress import Progress
from meseta.study.terminal import one_line


@contextmanager
def watched(ledger: Ledger, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A function that shows progress on a terminal, and does nothing elsewhere."""
    silent = quiet or not sys.stderr.isatty()
    file = ledger.file
    with tqdm(total=file.budget, desc=one_line(file.name), unit="trial", disable=silent) as bar:

        def watch(now: Progress) -> None:
            bar.n = now.complete + now.failed
            bar.set_postfix({"running": now.running, "failed": now.failed}, refresh=True)

        yield watch
