"""Plots that show which tolerance matters."""

from collections.abc import Sequence

import plotly.graph_objects as go

from meseta.report.page.axes import layout_of, shown
from meseta.report.page.labels import label, lines, named, set_to, value_title
from meseta.report.page.numbers import estimate, number, plain
from meseta.report.page.theme import DASHES, LIGHT, SYMBOLS
from meseta.report.page.traces import OF_F, OF_G, Look, add_band
from meseta.report.views.axis import Axis
from meseta.report.views.estimate import BAND
from meseta.report.views.tolerances import Tolerance
from meseta.report.views.wording import Terms

MOST_LINES = 6  # tolerances with a line of their own; there are no more colours
MOST_BANDS = 3  # lines with bands; more bands would hide each other
FACTOR = "noise relative to today"


def looks(each: Sequence[Tolerance]) -> dict[str, Look]:
    """The look of the line of each tolerance, by parameter."""
    triples = zip(each[:MOST_LINES], LIGHT.series, DASHES, SYMBOLS, strict=False)
    return {t.name: Look(color, dash, symbol) for t, color, dash, symbol in triples}


def best_figure(each: Sequence[Tolerance], terms: Terms) -> go.Figure:
    """The robust value of the best design as each noise changes, with a line per parameter."""
    figure = go.Figure()
    by_name = looks(each)
    for tolerance in each[:MOST_LINES]:
        add_band(
            figure,
            tolerance.factors,
            [belief.mean for belief in tolerance.best],
            [belief.std for belief in tolerance.best],
            label(tolerance.name, 24),
            by_name[tolerance.name],
            _hovers(tolerance, terms),
            markers=True,
            band=len(each) <= MOST_BANDS,
        )
    figure.update_layout(
        height=420,
        xaxis={"title": {"text": FACTOR}},
        yaxis={"title": {"text": f"robust value: {value_title(terms)}"}},
    )
    _mark_today(figure)
    return figure


def kept_figure(tolerance: Tolerance, terms: Terms) -> go.Figure:
    """One noise: the best design for it, and the design of today."""
    figure = go.Figure()
    means, stds = zip(*((b.mean, b.std) for b in tolerance.best), strict=True)
    hover = _hovers(tolerance, terms)
    add_band(figure, tolerance.factors, means, stds, "best design for this noise", OF_G, hover)
    figure.add_scatter(
        x=list(tolerance.factors),
        y=list(tolerance.kept),
        mode="lines",
        name="design of today",
        line={"color": OF_F.color, "dash": OF_F.dash, "width": 2},
        hovertext=[
            lines(
                f"{plain(factor)} times the noise",
                label(f"design of today: {number(v, terms.unit)}", 80),
            )
            for factor, v in zip(tolerance.factors, tolerance.kept, strict=True)
        ],
        hoverinfo="text",
    )
    title = f"noise of {label(tolerance.name, 24)} relative to today"
    figure.update_layout(
        height=320,
        xaxis={"title": {"text": title}},
        yaxis={"title": {"text": f"robust value: {value_title(terms)}"}},
    )
    _mark_today(figure)
    return figure


def halving_figure(each: Sequence[Tolerance], terms: Terms) -> go.Figure:
    """The gain from half the noise of each parameter, with its interval."""
    figure = go.Figure()
    names = _distinct([label(tolerance.name, 28) for tolerance in each])
    figure.add_bar(
        x=[tolerance.halving.mean for tolerance in each],
        y=names,
        orientation="h",
        marker={"color": LIGHT.robust},
        error_x={
            "type": "data",
            "array": [BAND * tolerance.halving.std for tolerance in each],
            "color": LIGHT.ink,
            "thickness": 1.5,
        },
        hovertext=[
            lines(name, label(f"gain from half the noise: {estimate(t.halving, terms.unit)}", 80))
            for name, t in zip(names, each, strict=True)
        ],
        hoverinfo="text",
    )
    figure.update_layout(
        height=130 + 34 * len(each),
        bargap=0.4,
        xaxis={"title": {"text": f"gain in {value_title(terms)}"}, "zeroline": True},
        yaxis={"type": "category", "autorange": "reversed", "ticklabelstandoff": 4},
    )
    return figure


def movement_figure(axis: Axis, each: Sequence[Tolerance], terms: Terms) -> go.Figure:
    """One parameter of the robust optimum as each noise changes."""
    figure = go.Figure()
    by_name = looks(each)
    for tolerance in each[:MOST_LINES]:
        look = by_name[tolerance.name]
        values = [design.get(axis.name) for design in tolerance.params]
        figure.add_scatter(
            x=list(tolerance.factors),
            y=shown(axis, values),
            mode="lines+markers",
            name=f"noise of {label(tolerance.name, 20)}",
            line={"color": look.color, "dash": look.dash, "width": 1.5},
            marker={"color": look.color, "symbol": look.symbol, "size": 6},
            hovertext=[
                lines(_times(factor, tolerance), set_to(axis.name, value, terms))
                for factor, value in zip(tolerance.factors, values, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_layout(
        height=320, xaxis={"title": {"text": FACTOR}}, yaxis=layout_of(axis, terms)
    )
    figure.update_layout(yaxis={"title": {"text": named(axis.name, terms.unit_of(axis.name), 28)}})
    _mark_today(figure)
    return figure


def _hovers(tolerance: Tolerance, terms: Terms) -> list[str]:
    return [
        lines(_times(factor, tolerance), label(f"best design: {estimate(belief, terms.unit)}", 80))
        for factor, belief in zip(tolerance.factors, tolerance.best, strict=True)
    ]


def _times(factor: float, tolerance: Tolerance) -> str:
    return f"{plain(factor)} times the noise of {label(tolerance.name, 24)}"


def _mark_today(figure: go.Figure) -> None:
    figure.add_vline(x=1, line={"color": LIGHT.soft, "width": 1, "dash": "dot"})


def _distinct(names: list[str]) -> list[str]:
    """The same names, numbered if shortening made two of them equal."""
    return [f"{n} [{i}]" if names.count(n) > 1 else n for i, n in enumerate(names, start=1)]
