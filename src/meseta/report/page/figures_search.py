"""Plots of the search: the recommendations, the trials, and how well the model predicts."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from meseta.optimizer.record import Trial
from meseta.report.page.axes import layout_of, shown
from meseta.report.page.labels import label, lines, set_to, value_title
from meseta.report.page.numbers import estimate, number
from meseta.report.page.theme import LIGHT, SCALE
from meseta.report.page.traces import OF_G, add_band
from meseta.report.views.axis import Axis
from meseta.report.views.estimate import BAND
from meseta.report.views.search import LeaveOneOut, Progress
from meseta.report.views.wording import Terms

MOST_NAMED = 6  # parameters in a hover label


def progress_figure(progress: Progress, terms: Terms) -> go.Figure:
    """The robust value of the recommended design, over evaluations."""
    figure = go.Figure()
    hover = [
        lines(
            f"after {count} evaluations",
            label(estimate(best, terms.unit)),
            *(set_to(name, value, terms) for name, value in list(design.items())[:MOST_NAMED]),
        )
        for count, design, best in zip(
            progress.evaluations, progress.params, progress.best, strict=True
        )
    ]
    means, stds = zip(*((b.mean, b.std) for b in progress.best), strict=True)
    add_band(figure, progress.evaluations, means, stds, "recommended design", OF_G, hover)
    figure.data[-1].update(mode="lines+markers", marker={"symbol": "circle"})
    figure.update_layout(
        height=380,
        showlegend=False,
        xaxis={"title": {"text": "evaluations"}, "rangemode": "tozero"},
        yaxis={"title": {"text": f"robust value: {value_title(terms)}"}},
    )
    return figure


def recommended_figure(axis: Axis, progress: Progress, terms: Terms) -> go.Figure:
    """One parameter of the recommended design, over evaluations."""
    values = [design.get(axis.name) for design in progress.params]
    figure = go.Figure()
    figure.add_scatter(
        x=list(progress.evaluations),
        y=shown(axis, values),
        mode="lines+markers",
        line={"color": OF_G.color, "width": 2, "shape": "hv"},
        marker={"color": OF_G.color, "size": 6},
        hovertext=[
            lines(f"after {count} evaluations", set_to(axis.name, value, terms))
            for count, value in zip(progress.evaluations, values, strict=True)
        ],
        hoverinfo="text",
    )
    figure.update_layout(
        height=280,
        showlegend=False,
        xaxis={"title": {"text": "evaluations"}, "rangemode": "tozero"},
        yaxis=layout_of(axis, terms),
    )
    return figure


def trials_figure(axis: Axis, trials: Sequence[Trial], terms: Terms) -> go.Figure:
    """One parameter of every trial, over their numbers; colours are values, crosses failures."""
    figure = go.Figure()
    there = [each for each in trials if axis.name in each.params]
    complete = [each for each in there if each.value is not None]
    if complete:
        marker = {
            "size": 8,
            "color": [each.value for each in complete],
            "colorscale": SCALE,
            "colorbar": {"thickness": 10, "outlinewidth": 0},
            "line": {"color": LIGHT.soft, "width": 0.5},
        }
        _add_trials(figure, axis, complete, "complete", marker, terms)
    for state, symbol, color in (
        ("failed", "x-thin", LIGHT.warning),
        ("pending", "circle-open", LIGHT.ink),
    ):
        mine = [each for each in there if each.state == state]
        if mine:
            marker = {
                "size": 8,
                "symbol": symbol,
                "color": color,
                "line": {"width": 2, "color": color},
            }
            _add_trials(figure, axis, mine, state, marker, terms)
    figure.update_layout(
        height=300,
        showlegend=len(figure.data) > 1,
        xaxis={"title": {"text": "trial"}},
        yaxis=layout_of(axis, terms),
    )
    return figure


def fit_figure(fit: LeaveOneOut, terms: Terms) -> go.Figure:
    """Observed values, and what the model predicts for each from the others."""
    figure = go.Figure()
    rows = list(zip(fit.numbers, fit.observed, fit.predicted, strict=True))
    inside = [row for row in rows if row[2].low <= row[1] <= row[2].high]
    outside = [row for row in rows if not row[2].low <= row[1] <= row[2].high]
    for name, mine, color, symbol in (
        ("in its interval", inside, LIGHT.nominal, "circle"),
        ("outside its interval", outside, LIGHT.robust, "x"),
    ):
        if not mine:
            continue
        figure.add_scatter(
            x=[observed for _, observed, _ in mine],
            y=[belief.mean for _, _, belief in mine],
            error_y={
                "type": "data",
                "array": [BAND * belief.std for _, _, belief in mine],
                "thickness": 1,
                "width": 0,
            },
            mode="markers",
            name=name,
            marker={"color": color, "symbol": symbol, "size": 7},
            hovertext=[
                lines(
                    f"trial {n}",
                    label(f"observed: {number(observed, terms.unit)}"),
                    label(f"predicted: {estimate(belief, terms.unit)}"),
                )
                for n, observed, belief in mine
            ],
            hoverinfo="text",
        )
    ends = [min(fit.observed), max(fit.observed)]
    figure.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        name="observed = predicted",
        line={"color": LIGHT.soft, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.update_layout(
        height=420,
        xaxis={"title": {"text": f"observed {value_title(terms)}"}},
        yaxis={"title": {"text": f"predicted {value_title(terms)}"}},
    )
    return figure


def _add_trials(
    figure: go.Figure,
    axis: Axis,
    trials: Sequence[Trial],
    name: str,
    marker: dict[str, Any],
    terms: Terms,
) -> None:
    figure.add_scatter(
        x=[each.number for each in trials],
        y=shown(axis, [each.params[axis.name] for each in trials]),
        mode="markers",
        name=name,
        marker=marker,
        hovertext=[
            lines(
                f"trial {each.number}, {each.state}",
                set_to(axis.name, each.params[axis.name], terms),
                *(() if each.value is None else (label(number(each.value, terms.unit)),)),
            )
            for each in trials
        ],
        hoverinfo="text",
    )
