"""Reports: one HTML file that shows the robust optimum and why it is better; open it or print it.

meseta.report.for_optimizer(optimizer, unit="N").save("report.html")
"""

import html
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Unpack

from meseta.optimizer.ask_tell import Optimizer
from meseta.report.views.report import Report, report
from meseta.report.views.wording import Words, read_terms

__all__ = ["Page", "for_optimizer"]


@dataclass(frozen=True)
class Page:
    """A report: its numbers and the page that shows them."""

    report: Report

    @property
    def html(self) -> str:
        """The whole page; it needs no other file."""
        from meseta.report import page

        return page.html(self.report)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the page to a file, and return its path.

        Args:
            path: The file. An older report is overwritten.
            force: Also overwrite a file that is not a report.
        """
        from meseta.report import page

        return page.write(self.report, path, force=force)

    def __repr__(self) -> str:
        return f"<report: {self.report.terms.title}, {self.report.complete} evaluations>"

    def _repr_html_(self) -> str:
        """The page in a frame, so that its style does not change the rest of a notebook."""
        frame = '<iframe style="width: 100%; height: 48rem; border: 0" srcdoc="{}"></iframe>'
        return frame.format(html.escape(self.html))


def for_optimizer(optimizer: Optimizer, **words: Unpack[Words]) -> Page:
    """Returns the report of an optimizer, with all that it has been told so far.

    Args:
        optimizer: An optimizer with ask and tell, or `result.optimizer`.
        words: title, value (the name of what is measured) and its unit, units and notes of the
            parameters, a note on the study, and the specification limits at_least and at_most.
    """
    return Page(report(optimizer, read_terms(words, optimizer.space.names)))
