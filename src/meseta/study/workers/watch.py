"""What is shown of a run: a bar with the trials and the best so far, and a report, if wanted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tqdm import tqdm

from meseta.study.ledger import Ledger
from meseta.study.progress import Progress
from meseta.study.terminal import one_line

if TYPE_CHECKING:
    from meseta.study.live import LiveReport


@contextmanager
def watched(
    ledger: Ledger, *, quiet: bool, live: "LiveReport | None" = None
) -> Iterator[Callable[[Progress], None]]:
    """A function that shows progress on a terminal, and keeps a report current."""
    silent = quiet or not sys.stderr.isatty()
    file = ledger.file
    with tqdm(total=file.budget, desc=one_line(file.name), unit="trial", disable=silent) as bar:

        def watch(now: Progress) -> None:
            bar.n = now.complete + now.failed
            bar.set_postfix(_said(ledger, now, live), refresh=True)
            if live is not None:
                live.look(now)

        yield watch


def _said(ledger: Ledger, now: Progress, live: "LiveReport | None") -> dict[str, int | str]:
    said: dict[str, int | str] = {"running": now.running, "failed": now.failed}
    if live is not None and live.best:
        return {**said, "robust value": live.best}
    # among values alone nothing is best that has constraints to keep
    if now.measured is not None and not ledger.file.needed:
        low, high = now.measured
        best = high if ledger.file.direction == "maximize" else low
        said["best measured"] = f"{best:.5g}"
    return said
