"""The plot of defects over a setting."""

import math
from typing import Any

import plotly.graph_objects as go

from meseta.report.page.axes import layout_of, shown
from meseta.report.page.labels import label, lines, set_to
from meseta.report.page.numbers import percent, percent_with_interval
from meseta.report.page.theme import LIGHT
from meseta.report.page.traces import OF_G, add_area
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.profiles import Profile
from meseta.report.views.wording import Terms

FLOOR = 1e-7  # smaller shares are drawn here: 0.1 ppm
DECADES = 1e-2  # a best share below this asks for a logarithmic scale

Row = list[float]


def profile_figure(profile: Profile, terms: Terms) -> go.Figure:
    """The share out of specification with its interval, over one parameter."""
    figure = go.Figure()
    axis = profile.axis
    choices, log = axis.scale == "choices", min(profile.outside) < DECADES
    x = shown(axis, axis.values)
    low, mid, high = (
        [max(v, FLOOR) if log else v for v in row]
        for row in (profile.low, profile.outside, profile.high)
    )
    hover = [
        lines(
            set_to(axis.name, value, terms),
            label(percent_with_interval(SampledEstimate(*row)), 80),
        )
        for value, *row in zip(axis.values, profile.outside, profile.low, profile.high, strict=True)
    ]
    (_add_bars if choices else _add_curve)(figure, x, low, mid, high, hover)
    if terms.goal is not None:
        _add_allowed(figure, 1 - terms.goal.probability, log)
    figure.update_layout(
        height=300,
        showlegend=False,
        xaxis=layout_of(axis, terms),
        yaxis={
            "title": {"text": "out of specification"},
            "type": "log" if log else "linear",
            "tickformat": "~%",
            **({"dtick": 1} if log else {"rangemode": "tozero"}),
        },
    )
    return figure


def _add_bars(
    figure: go.Figure, x: list[Any], low: Row, mid: Row, high: Row, hover: list[str]
) -> None:
    """Adds a point with its interval for each choice."""
    bars = {"array": [h - m for h, m in zip(high, mid, strict=True)]}
    bars |= {"arrayminus": [m - v for m, v in zip(mid, low, strict=True)]}
    figure.add_scatter(
        x=x,
        y=mid,
        mode="markers",
        error_y={"type": "data", "symmetric": False, "color": OF_G.color} | bars,
        marker={"color": OF_G.color, "size": 9},
        hovertext=hover,
        hoverinfo="text",
    )


def _add_curve(
    figure: go.Figure, x: list[Any], low: Row, mid: Row, high: Row, hover: list[str]
) -> None:
    """Adds a line in its band."""
    add_area(figure, x, low, high, "out of specification", OF_G)
    figure.add_scatter(
        x=x,
        y=mid,
        mode="lines",
        line={"color": OF_G.color, "width": 2},
        hovertext=hover,
        hoverinfo="text",
    )


def _add_allowed(figure: go.Figure, share: float, log: bool) -> None:
    """Adds a line at what may be out of specification."""
    figure.add_hline(y=share, line={"color": LIGHT.ink, "width": 1, "dash": "dot"})
    figure.add_annotation(
        xref="paper",
        x=1,
        xanchor="right",
        y=_at(share, log),
        yanchor="bottom",
        text=label(f"{percent(share)} allowed"),
        showarrow=False,
    )


def _at(share: float, log: bool) -> float:
    """A place on the axis; plotly takes those of annotations as logarithms."""
    return math.log10(max(share, FLOOR)) if log else share
