"""Reports: one HTML file that shows why the robust design wins; to open, print and hand on.

meseta.report.for_study(study, {"x": meseta.Normal(0.1)}, unit="N").save("report.html")
"""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from meseta import page
from meseta.integrations.study_model import StudyModel
from meseta.integrations.study_report import study_report
from meseta.optimizer import Optimizer
from meseta.views.report import Report, report
from meseta.views.terms import Words, read_terms

if TYPE_CHECKING:
    from optuna.study import Study

    from meseta.gp.fit import Prior
    from meseta.named_noise import NamedEdge, NamedNoise
else:  # at run time they are read by hand, so that a mistake is named
    Study = NamedNoise = NamedEdge = Prior = object

__all__ = ["Page", "for_optimizer", "for_study"]


@dataclass(frozen=True)
class Page:
    """A report: its numbers, and the page that shows them."""

    report: Report

    @property
    def html(self) -> str:
        """The whole page, which needs nothing else."""
        return page.html(self.report)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the page to a file, and return its path.

        Args:
            path: Of the file. An older report is overwritten.
            force: Overwrite also a file that is not a report.
        """
        return page.write(self.report, path, force=force)

    def __repr__(self) -> str:
        return f"<report: {self.report.terms.title}, {self.report.complete} evaluations>"

    def _repr_html_(self) -> str:
        """In a notebook: in a frame, so that its style does not touch the rest."""
        frame = '<iframe style="width: 100%; height: 48rem; border: 0" srcdoc="{}"></iframe>'
        return frame.format(html.escape(self.html))


def for_optimizer(optimizer: Optimizer, **words: Unpack[Words]) -> Page:
    """Of an optimizer, whatever it has been told so far.

    Args:
        optimizer: With ask and tell, or `result.optimizer`.
        words: title, value (what is measured) and its unit, units and notes (by parameter), a note
            on the whole, and at_least and at_most: limits that the value has to meet.
    """
    return Page(report(optimizer, read_terms(words, optimizer.space.names)))


def for_study(
    study: Study,
    noise: NamedNoise | None,
    *,
    edge: NamedEdge = "allow",
    method: str | None = None,
    options: object = None,
    seed: int = 0,
    prior: Prior = "default",
    noise_variance: float | int | None = None,
    **words: Unpack[Words],
) -> Page:
    """Of an Optuna study, running or finished, made by any sampler.

    The arguments are those of `meseta.integrations.optuna.recommend`; `words` those of
    `for_optimizer`.
    """
    model = StudyModel(noise, edge, method, options, None, prior, noise_variance).checked()
    said: Mapping[str, object] = {"title": study.study_name, **words}
    return Page(study_report(study, model, read_terms(said), seed))
