"""Robust plots in optuna-dashboard: f and g along each parameter, the recommendation over time.

    show_robust(study, noise={"x": meseta.Normal(0.1)})

They stand among the study's own plots, and calling it again replaces them.
"""

import hashlib
import re
from typing import Unpack

try:
    import optuna_dashboard
    from optuna.study import Study

    from meseta.report.page.figures_landscape import slice_figure
    from meseta.report.page.figures_search import progress_figure
    from meseta.report.page.labels import label
except ModuleNotFoundError as error:
    from meseta.boundary import missing

    sentence = f"meseta.integrations.dashboard needs {error.name}"
    raise ImportError(str(missing(sentence, "dashboard"))) from None

from meseta.integrations.optuna.study_answer import StudyAnswer, answer
from meseta.integrations.optuna.study_settings import study_settings
from meseta.optimizer.settings import Keywords, Settings
from meseta.report.views.landscape import slice_along
from meseta.report.views.search import progress
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

PREFIX = "meseta"


def show_robust(
    study: Study,
    *,
    most: int = 15,
    settings: Settings | None = None,
    **keywords: Unpack[Keywords],
) -> StudyAnswer:
    """Save the plots with the study, for the dashboard; returns what `recommend` does.

    Args:
        study: An Optuna study.
        most: The number of points in the plot over evaluations, at most; each costs a fit.
        settings: None: the defaults.
        keywords: The settings that differ from these, as in `RobustSampler`.
    """
    best = answer(study, study_settings(settings, keywords))
    subject = Subject(best.optimizer, best.space.outside, best.space.to_optuna)
    terms = Terms(value="Objective Value")  # as the dashboard calls it
    over = progress_figure(progress(subject, most), terms)
    over.update_layout(title="The robust optimum, over evaluations")
    figures = {"over-evaluations": over}
    for inside in subject.design:
        name = subject.name(inside)
        along = slice_figure(slice_along(subject, inside), terms)
        along.update_layout(title=f"Robust along {label(name)}, through the robust optimum")
        figures[f"along-{_id(name)}"] = along
    for name, figure in figures.items():
        optuna_dashboard.save_plotly_graph_object(study, figure, graph_object_id=f"{PREFIX}-{name}")
    return best


def _id(name: str) -> str:
    """The name itself where the dashboard takes it, otherwise what stands for it."""
    if re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        return name
    return hashlib.sha256(name.encode()).hexdigest()[:12]
