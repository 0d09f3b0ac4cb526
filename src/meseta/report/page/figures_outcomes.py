"""The plot of the values in use."""

from itertools import pairwise

import plotly.graph_objects as go

from meseta.report.page.labels import label, lines, value_title
from meseta.report.page.numbers import number, percent, plain, with_interval
from meseta.report.page.theme import LIGHT
from meseta.report.page.traces import OF_F, OF_G, Look, add_area
from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.outcomes import LEVELS, Outcomes, OutcomesOfBoth
from meseta.report.views.wording import Terms


def outcomes_figure(both: OutcomesOfBoth, terms: Terms) -> go.Figure:
    """Two histograms; below them, the central 50 % and 90 % of the values."""
    figure = go.Figure()
    rows = (
        (NOMINAL, OF_F, both.nominal, both.nominal_share, both.nominal_band),
        (ROBUST, OF_G, both.robust, both.robust_share, both.robust_band),
    )
    for name, look, outcomes, shares, band in rows:
        _add_band(figure, both.edges, band, name, look)
        _add_steps(figure, both.edges, shares, name, look, terms)
        _add_strip(figure, outcomes, name, look, terms)
    ends = _ends(both, terms)
    limits = ((terms.at_least, "at least", True), (terms.at_most, "at most", False))
    for row, (limit, words, right) in enumerate(limits):
        if limit is not None:
            text = label(f"{words} {number(limit, terms.unit)}")
            _add_limit(figure, limit, text, right, row, ends)
    figure.update_layout(
        height=440,
        xaxis={"title": {"text": value_title(terms)}, "anchor": "y2", "range": list(ends)},
        yaxis={
            "title": {"text": "share of values"},
            "domain": [0.3, 1.0],
            "tickformat": ".0%",
            "rangemode": "tozero",
        },
        yaxis2={
            "domain": [0.0, 0.2],
            "type": "category",
            "range": [-0.6, 1.6],
            "showgrid": False,
            "tickvals": [NOMINAL, ROBUST],
            "ticktext": ["nominal", "robust"],
        },
    )
    return figure


def _ends(both: OutcomesOfBoth, terms: Terms) -> tuple[float, float]:
    """The ends of the axis. It includes the limits, unless they are far from the values."""
    low, high = both.edges[0], both.edges[-1]
    room = 0.5 * (high - low)
    limits = [v for v in (terms.at_least, terms.at_most) if v is not None]
    near = [v for v in limits if low - room <= v <= high + room]
    margin = 0.03 * (high - low)
    return min([low, *near]) - margin, max([high, *near]) + margin


def _add_limit(
    figure: go.Figure,
    limit: float,
    text: str,
    right: bool,
    row: int,
    ends: tuple[float, float],
) -> None:
    """Adds a specification limit: a line and its text, or the text only if it is far away."""
    if ends[0] <= limit <= ends[1]:
        figure.add_vline(x=limit, line={"color": LIGHT.ink, "width": 1.5, "dash": "dot"})
        at = limit
    elif limit > ends[1]:
        text, at, right = f"{text} →", ends[1], False
    else:
        text, at, right = f"← {text}", ends[0], True
    figure.add_annotation(
        x=at,
        xanchor="left" if right else "right",
        xshift=4 if right else -4,
        y=1,
        yref="paper",
        yanchor="top",
        yshift=-18 * row,  # below the other text, which may be at the same end
        text=text,
        showarrow=False,
    )


def _add_steps(
    figure: go.Figure,
    edges: tuple[float, ...],
    shares: tuple[float, ...],
    name: str,
    look: Look,
    terms: Terms,
) -> None:
    bins = zip(edges, edges[1:], shares, strict=False)
    texts = [
        lines(name, label(f"{plain(low, 4)} to {number(high, terms.unit)}"), percent(share))
        for low, high, share in bins
    ]
    figure.add_scatter(
        x=[edges[0], *edges],
        y=[0.0, *shares, 0.0],
        mode="lines",
        line={"shape": "hv", "color": look.color, "dash": look.dash, "width": 2},
        name=name,
        legendgroup=name,
        hovertext=["", *texts, ""],
        hoverinfo="text",
    )


def _add_band(
    figure: go.Figure,
    edges: tuple[float, ...],
    band: tuple[tuple[float, ...], tuple[float, ...]],
    name: str,
    look: Look,
) -> None:
    """Adds what is not known about the shares: an area around the steps."""
    x = [edge for pair in pairwise(edges) for edge in pair]
    lower, upper = ([v for v in row for _ in range(2)] for row in band)
    add_area(figure, x, lower, upper, name, look)


def _add_strip(figure: go.Figure, outcomes: Outcomes, name: str, look: Look, terms: Terms) -> None:
    """Adds a thin line from 5 to 95 %, a thick line from 25 to 75 %, and the median."""
    at = [quantile.value for quantile in outcomes.quantiles]
    texts = [
        lines(
            name, label(f"{100 * level:.0f} % are below {with_interval(quantile, terms.unit)}", 80)
        )
        for level, quantile in zip(LEVELS, outcomes.quantiles, strict=True)
    ]
    for ends, width in (((0, 4), 2), ((1, 3), 7)):
        figure.add_scatter(
            x=[at[i] for i in ends],
            y=[name, name],
            yaxis="y2",
            mode="lines",
            line={"color": look.color, "width": width},
            legendgroup=name,
            showlegend=False,
            hovertext=[texts[i] for i in ends],
            hoverinfo="text",
        )
    figure.add_scatter(
        x=[at[2]],
        y=[name],
        yaxis="y2",
        mode="markers",
        marker={
            "color": LIGHT.panel,
            "symbol": look.symbol,
            "size": 12,
            "line": {"color": look.color, "width": 2},
        },
        legendgroup=name,
        showlegend=False,
        hovertext=[texts[2]],
        hoverinfo="text",
    )
