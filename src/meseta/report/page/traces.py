"""Parts that several plots share: a mean with its 95 % band, the two optima."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from meseta.report.page.theme import LIGHT, translucent
from meseta.report.views.estimate import BAND


@dataclass(frozen=True)
class Look:
    """The look of a series; it never differs by its colour alone."""

    color: str
    dash: str = "solid"
    symbol: str = "circle"


OF_G = Look(LIGHT.robust, "solid", "star")
OF_F = Look(LIGHT.nominal, "dash", "diamond")


def add_band(
    figure: go.Figure,
    x: Sequence[Any],
    mean: Sequence[float],
    std: Sequence[float],
    name: str,
    look: Look,
    hover: Sequence[str],
    markers: bool = False,
    band: bool = True,
) -> None:
    """Adds a line of means; with `band`, also the 95 % intervals."""
    if band:
        add_area(figure, x, *_band(mean, std), name, look)
    figure.add_scatter(
        x=list(x),
        y=list(mean),
        mode="lines+markers" if markers else "lines",
        name=name,
        legendgroup=name,
        line={"color": look.color, "dash": look.dash, "width": 2},
        marker={"color": look.color, "symbol": look.symbol, "size": 6},
        hovertext=list(hover),
        hoverinfo="text",
    )


def add_area(
    figure: go.Figure,
    x: Sequence[Any],
    lower: Sequence[float],
    upper: Sequence[float],
    name: str,
    look: Look,
) -> None:
    """Adds what is not known about a line: the area between two others."""
    figure.add_scatter(
        x=[*x, *reversed(x)],
        y=[*upper, *reversed(lower)],
        fill="toself",
        fillcolor=translucent(look.color),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
    )


def add_bars(
    figure: go.Figure,
    x: Sequence[Any],
    mean: Sequence[float],
    std: Sequence[float],
    name: str,
    look: Look,
    hover: Sequence[str],
) -> None:
    """Adds means with bars of 95 %, for a categorical parameter."""
    figure.add_scatter(
        x=list(x),
        y=list(mean),
        error_y={"type": "data", "array": [BAND * s for s in std], "thickness": 1.5},
        mode="markers",
        name=name,
        offsetgroup=name,
        marker={"color": look.color, "size": 8, "symbol": look.symbol},
        hovertext=list(hover),
        hoverinfo="text",
    )


def add_mark(
    figure: go.Figure, x: Any, y: Any, name: str, look: Look, hover: str, group: str | None = None
) -> None:
    """Adds the symbol of an optimum."""
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        name=name,
        offsetgroup=group,
        marker={
            "color": look.color,
            "symbol": look.symbol,
            "size": 15 if look.symbol == "star" else 12,
            "line": {"color": LIGHT.panel, "width": 1.5},
        },
        hovertext=[hover],
        hoverinfo="text",
    )


def _band(mean: Sequence[float], std: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = list(zip(mean, std, strict=True))
    return [m - BAND * s for m, s in pairs], [m + BAND * s for m, s in pairs]
