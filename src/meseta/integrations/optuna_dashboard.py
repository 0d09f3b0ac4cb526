"""Robust plots in optuna-dashboard: f and g along each parameter, the recommendation over time.

    show_robust(study, {"x": meseta.Normal(0.1)})

They stand among the study's own plots, and calling it again replaces them.
"""

import hashlib
import re
from typing import TYPE_CHECKING, Any

try:
    import optuna_dashboard
    import plotly.graph_objects as go
    from optuna.study import Study
except ModuleNotFoundError as error:
    from meseta.boundary import missing

    sentence = f"meseta.integrations.optuna_dashboard needs {error.name}"
    raise ImportError(str(missing(sentence, "dashboard"))) from None

from meseta.integrations.study_answer import StudyAnswer, answer
from meseta.integrations.study_model import StudyModel
from meseta.integrations.study_views import Progress, Slice, progress, slices

if TYPE_CHECKING:
    from meseta.gp.fit import Prior
    from meseta.named_noise import NamedEdge, NamedNoise
else:  # at run time they are read by hand, so that a mistake is named
    NamedNoise = NamedEdge = Prior = object

PREFIX = "meseta"
F, G = "31, 119, 180", "214, 80, 20"  # red, green, blue of f and of g
BAND = 1.96  # standard deviations: 95 % of a Gaussian


def show_robust(
    study: Study,
    noise: NamedNoise | None,
    *,
    edge: NamedEdge = "allow",
    method: str | None = None,
    options: object = None,
    seed: int = 0,
    prior: Prior = "default",
    noise_variance: float | int | None = None,
    most: int = 15,
) -> StudyAnswer:
    """Save the plots with the study, for the dashboard; returns what `recommend` does.

    The arguments are those of `recommend`; `most` limits at how many numbers of evaluations the
    recommendation is looked at, each of which costs a fit.
    """
    model = StudyModel(noise, edge, method, options, None, prior, noise_variance).checked()
    best = answer(study, model, seed)
    figures = {"over-evaluations": progress_figure(progress(study, model, most, seed))}
    for each in slices(best):
        figures[f"along-{_id(each.name)}"] = slice_figure(each)
    for name, figure in figures.items():
        optuna_dashboard.save_plotly_graph_object(study, figure, graph_object_id=f"{PREFIX}-{name}")
    return best


def slice_figure(slice_: Slice) -> go.Figure:
    """Means and 95 % bands of f and g, and both optima."""
    figure = go.Figure()
    for name, color, mean, std in (
        ("f(x)", F, slice_.f_mean, slice_.f_std),
        ("E f(x + xi)", G, slice_.g_mean, slice_.g_std),
    ):
        _add_band(figure, list(slice_.values), mean, std, name, color, slice_.choices)
    for name, color, (x, y) in (
        ("nominal optimum", F, slice_.nominal),
        ("robust optimum", G, slice_.robust),
    ):
        marker = {"size": 12, "symbol": "star", "color": f"rgb({color})"}
        shown = _labels([x]) if slice_.choices else [x]
        figure.add_scatter(x=shown, y=[y], mode="markers", name=name, marker=marker)
    kind = "category" if slice_.choices else "log" if slice_.log else "linear"
    figure.update_layout(
        title=f"Robust along {slice_.name}, through the robust optimum",
        xaxis={"title": slice_.name, "type": kind},
        yaxis={"title": "Objective Value"},
    )
    return figure


def progress_figure(progress_: Progress) -> go.Figure:
    """The mean and 95 % band of g at what would have been recommended."""
    figure = go.Figure()
    x = list(progress_.evaluations)
    _add_band(figure, x, progress_.mean, progress_.std, "recommended", G, False)
    figure.data[-1].update(
        text=[", ".join(f"{n}={_text(v)}" for n, v in p.items()) for p in progress_.params]
    )
    figure.update_layout(
        title="The robust optimum, over evaluations",
        xaxis={"title": "Complete trials"},
        yaxis={"title": "E f(x + xi)"},
    )
    return figure


def _add_band(
    figure: go.Figure,
    x: list[Any],
    mean: tuple[float, ...],
    std: tuple[float, ...],
    name: str,
    color: str,
    choices: bool,
) -> None:
    """A line in its band; points with bars, where there is no order."""
    if choices:
        bars = {"type": "data", "array": [BAND * s for s in std]}
        figure.add_scatter(
            x=_labels(x),
            y=list(mean),
            error_y=bars,
            mode="markers",
            name=name,
            marker={"color": f"rgb({color})"},
        )
        return
    upper = [m + BAND * s for m, s in zip(mean, std, strict=True)]
    lower = [m - BAND * s for m, s in zip(mean, std, strict=True)]
    figure.add_scatter(
        x=[*x, *reversed(x)],
        y=[*upper, *reversed(lower)],
        fill="toself",
        fillcolor=f"rgba({color}, 0.2)",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    line = {"color": f"rgb({color})"}
    figure.add_scatter(x=list(x), y=list(mean), mode="lines", name=name, line=line)


def _labels(choices: list[Any]) -> list[str]:
    return [str(choice) for choice in choices]


def _text(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _id(name: str) -> str:
    """The name itself where the dashboard takes it, otherwise what stands for it."""
    if re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        return name
    return hashlib.sha256(name.encode()).hexdigest()[:12]
