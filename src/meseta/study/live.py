"""A report that is kept current while its study runs.

It takes at most a tenth of the time of a run, and none of its failures is one of the run.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from meseta.report import page
from meseta.report.views.estimate import BAND
from meseta.report.views.report import Report
from meseta.report.views.running import Running
from meseta.study.ledger import Ledger
from meseta.study.progress import Progress
from meseta.study.reporting import report_of
from meseta.study.terminal import say

FIRST, EVERY = 20.0, 30.0  # seconds until the first report, and between others, at least
SHARE = 0.1  # of the time of a run that its reports may take


class LiveReport:
    """Writes the report of a running study now and then."""

    def __init__(
        self,
        ledger: Ledger,
        target: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger, self._target, self._clock = ledger, target, clock
        self._begun = clock()
        self._last: float | None = None  # when the last report was finished
        self._spent = 0.0  # seconds
        self._cost = 0.0  # of the last report
        self._seen: tuple[int, ...] = ()
        self._made: Report | None = None
        self._warned = False
        self.best = ""  # the robust value that the last report recommends

    def look(self, now: Progress) -> None:
        """Write a report, if there is something new and the time has come."""
        seen = (now.complete, now.failed, now.withdrawn)
        if now.complete and seen != self._seen and self._due():
            self._seen = seen
            again = round(max(EVERY, self._cost / SHARE))
            done = now.complete + now.failed
            self._write(Running(done, now.budget, datetime.now().astimezone(), again))

    def finish(self) -> None:
        """Write the report of a run that is over."""
        self._write(None)

    def leave(self) -> None:
        """Say no longer that it is running: the last report, as quickly as that can be done."""
        if self._made is not None:
            self._guarded(lambda: self._save(replace(self._written(), running=None)))

    def _written(self) -> Report:
        assert self._made is not None
        return self._made

    def _due(self) -> bool:
        now = self._clock()
        wait = FIRST if self._last is None else EVERY
        since = self._begun if self._last is None else self._last
        return now - since >= wait and self._spent + self._cost <= SHARE * (now - self._begun)

    def _write(self, running: Running | None) -> None:
        begun = self._clock()
        self._guarded(lambda: self._save(replace(self._report(running), running=running)))
        self._last = self._clock()
        self._cost = self._last - begun
        self._spent += self._cost

    def _report(self, running: Running | None) -> Report:
        with warnings.catch_warnings():
            if running is not None:  # what the model warns of is said at the end
                warnings.simplefilter("ignore")
            made = report_of(self._ledger)
        self._made = made
        if made.answer is not None:
            best = made.answer.robust
            self.best = f"{best.mean:.4g} ± {BAND * best.std:.2g} after {made.complete}"
        return made

    def _save(self, report: Report) -> None:
        page.write(report, self._target, file=self._ledger.file.path.name)

    def _guarded(self, act: Callable[[], None]) -> None:
        """A report that cannot be written is a warning, once."""
        try:
            act()
        except Exception as error:
            if not self._warned:
                why = str(error) or type(error).__name__
                say(f"the report {self._target} could not be written: {why}; the run goes on")
            self._warned = True


@contextmanager
def kept_current(ledger: Ledger, target: Path) -> Iterator[LiveReport]:
    """A report that is current while the block runs, and final after it."""
    live = LiveReport(ledger, target)
    try:
        yield live
    except BaseException:
        live.leave()
        raise
    live.finish()
