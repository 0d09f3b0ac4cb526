"""Plots of f and g along one parameter and over two."""

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from meseta.report.page.axes import layout_of, reach, shown
from meseta.report.page.labels import label, lines, parameter_title, set_to, value_title
from meseta.report.page.numbers import estimate, number, plain
from meseta.report.page.theme import LIGHT, SCALE
from meseta.report.page.traces import OF_F, OF_G, add_band, add_bars, add_mark
from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.axis import Axis
from meseta.report.views.estimate import BAND, Estimate
from meseta.report.views.landscape import Map, PlottedTrial, Slice
from meseta.report.views.next_point import NextPoint
from meseta.report.views.wording import Terms
from meseta.space.parameter import Value

ROBUST_VALUE, NOMINAL_VALUE = "robust value (g)", "nominal value (f)"
LEVELS = 12  # contour lines on a map, approximately


def slice_figure(slice_: Slice, terms: Terms, next_point: NextPoint | None = None) -> go.Figure:
    """Means and 95 % intervals of f and g; below, the acquisition function if it is known."""
    figure = go.Figure()
    axis, choices = slice_.axis, slice_.axis.scale == "choices"
    x = shown(axis, axis.values)
    for name, look, means, stds in (
        (NOMINAL_VALUE, OF_F, slice_.f_mean, slice_.f_std),
        (ROBUST_VALUE, OF_G, slice_.g_mean, slice_.g_std),
    ):
        hover = [
            lines(set_to(axis.name, v, terms), _believed(name, m, s, terms))
            for v, m, s in zip(axis.values, means, stds, strict=True)
        ]
        (add_bars if choices else add_band)(figure, x, means, stds, name, look, hover)
    _add_data(figure, slice_, terms)
    for name, look, mark, group in (
        (NOMINAL, OF_F, slice_.nominal, NOMINAL_VALUE),
        (ROBUST, OF_G, slice_.robust, ROBUST_VALUE),
    ):
        hover_text = lines(
            name, set_to(axis.name, mark.x, terms), label(number(mark.y, terms.unit))
        )
        add_mark(figure, shown(axis, [mark.x])[0], mark.y, name, look, hover_text, group)
    figure.update_layout(
        height=400,
        xaxis=layout_of(axis, terms, [slice_.robust.x, *(each.x for each in slice_.data)]),
        yaxis={"title": {"text": value_title(terms)}, "range": list(_reach(slice_))},
    )
    if choices:
        figure.update_layout(scattermode="group")  # side by side
    if next_point is not None and next_point.axis is not None:
        _add_acquisition(figure, next_point, next_point.axis, terms)
    return figure


def cut_off(slice_: Slice) -> int:
    """The number of evaluations that lie beyond the plot, so that they do not flatten it."""
    low, high = _reach(slice_)
    return sum(not low <= each.value <= high for each in slice_.data)


def map_figures(map_: Map, terms: Terms, maximize: bool | None) -> tuple[go.Figure, go.Figure]:
    """The maps of f and of g, with the same colour scale; `maximize` None: neither end is good."""
    everything = [v for rows in (map_.f_mean, map_.g_mean) for row in rows for v in row]
    low, high = reach(everything)
    limits = max(low, min(everything)), min(high, max(everything))
    end = {True: ", large is good", False: ", small is good", None: ""}[maximize]
    return (
        _map_figure(map_, terms, map_.f_mean, map_.f_std, limits, NOMINAL_VALUE, end),
        _map_figure(map_, terms, map_.g_mean, map_.g_std, limits, ROBUST_VALUE, end),
    )


def _map_figure(
    map_: Map,
    terms: Terms,
    mean: Sequence[Sequence[float]],
    std: Sequence[Sequence[float]],
    limits: tuple[float, float],
    title: str,
    end: str,
) -> go.Figure:
    figure = go.Figure()
    of = f"{title[0].upper()}{title[1:]}: {value_title(terms)}{end}"
    x_title, y_title = (parameter_title(axis.name, terms) for axis in (map_.x, map_.y))
    unit = f" {label(terms.unit, 16)}" if terms.unit else ""
    surface: dict[str, Any] = {
        "x": shown(map_.x, map_.x.values),
        "y": shown(map_.y, map_.y.values),
        "z": [list(row) for row in mean],
        "customdata": [[BAND * s for s in row] for row in std],
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": SCALE,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hovertemplate": lines(
            f"{x_title}: {_slot('x', map_.x)}",
            f"{y_title}: {_slot('y', map_.y)}",
            f"%{{z:.4~g}} ± %{{customdata:.2~g}}{unit}<extra></extra>",
        ),
    }
    if "choices" in (map_.x.scale, map_.y.scale):
        figure.add_heatmap(**surface)
    else:
        step = _round_step((limits[1] - limits[0]) / LEVELS)
        start = math.ceil(limits[0] / step) * step
        contours = {"coloring": "heatmap", "start": start, "end": limits[1], "size": step}
        figure.add_contour(
            **surface, contours=contours, line={"width": 0.6, "color": "rgba(255, 255, 255, 0.6)"}
        )
    _add_evaluated(figure, map_, terms)
    for name, look, mark in ((NOMINAL, OF_F, map_.nominal), (ROBUST, OF_G, map_.robust)):
        hover = lines(name, set_to(map_.x.name, mark.x, terms), set_to(map_.y.name, mark.y, terms))
        x, y = shown(map_.x, [mark.x])[0], shown(map_.y, [mark.y])[0]
        add_mark(figure, x, y, name, look, hover)
    figure.update_layout(
        height=470,
        title={
            "text": of,
            "font": {"size": 13},
            "x": 0,
            "xanchor": "left",
            "xref": "paper",
            "y": 1,
            "yanchor": "top",
            "yref": "container",
            "pad": {"t": 8},
        },
        margin={"t": 96},
        hoverdistance=8,  # pixels: farther from a point, the hover text is that of the surface
        xaxis=layout_of(map_.x, terms, [map_.robust.x, *(each.x for each in map_.data)]),
        yaxis=layout_of(map_.y, terms, [map_.robust.y, *(each.y for each in map_.data)]),
    )
    return figure


def _add_data(figure: go.Figure, slice_: Slice, terms: Terms) -> None:
    if not slice_.data:
        return
    figure.add_scatter(
        x=shown(slice_.axis, [each.x for each in slice_.data]),
        y=[each.value for each in slice_.data],
        mode="markers",
        name="evaluations",
        offsetgroup="evaluations",
        # hollow if the points do not lie in the slice and need not meet the line
        marker={
            "color": LIGHT.soft,
            "size": 7,
            "symbol": "circle" if slice_.exact else "circle-open",
            "opacity": 0.9 if slice_.exact else 0.65,
        },
        hovertext=[
            lines(*_observed(each, terms), set_to(slice_.axis.name, each.x, terms))
            for each in slice_.data
        ],
        hoverinfo="text",
    )


def _add_evaluated(figure: go.Figure, map_: Map, terms: Terms) -> None:
    if not map_.data:
        return
    figure.add_scatter(
        x=shown(map_.x, [each.x for each in map_.data]),
        y=shown(map_.y, [each.y for each in map_.data]),
        mode="markers",
        name="evaluations",
        marker={
            "color": "rgba(255, 255, 255, 0.85)" if map_.exact else "rgba(255, 255, 255, 0.35)",
            "size": 6,
            "line": {"color": "#20262b", "width": 1},
        },
        hovertext=[
            lines(
                *_observed(each, terms),
                set_to(map_.x.name, each.x, terms),
                set_to(map_.y.name, each.y, terms),
            )
            for each in map_.data
        ],
        hoverinfo="text",
    )


def _add_acquisition(figure: go.Figure, next_point: NextPoint, axis: Axis, terms: Terms) -> None:
    """Adds the acquisition function in a panel below, with the same x axis."""
    x = shown(axis, axis.values)
    # scaled to a maximum of 1, since the unit depends on the method
    highest = max(map(abs, next_point.acquisition), default=0.0)
    y = [value / highest if highest else 0.0 for value in next_point.acquisition]
    choices = axis.scale == "choices"
    figure.add_scatter(
        x=x,
        y=y,
        yaxis="y2",
        mode="markers" if choices else "lines",
        name="acquisition function",
        offsetgroup=ROBUST_VALUE,
        line={"color": LIGHT.third, "width": 2, "dash": "dot"},
        marker={"color": LIGHT.third, "symbol": "square"},
        hovertext=[f"acquisition function: {plain(v, 3)} of the maximum" for v in y],
        hoverinfo="text",
    )
    at = next_point.params[axis.name]
    figure.add_scatter(
        x=shown(axis, [at]),
        y=[y[_nearest(axis, at)]],
        yaxis="y2",
        mode="markers",
        name="next evaluation",
        offsetgroup=ROBUST_VALUE,
        marker={"color": LIGHT.third, "symbol": "triangle-up", "size": 12},
        hovertext=[lines("next evaluation", set_to(axis.name, at, terms))],
        hoverinfo="text",
    )
    figure.update_layout(
        height=540,
        yaxis={"domain": [0.34, 1.0]},
        yaxis2={"domain": [0.0, 0.24], "title": {"text": "acquisition"}, "rangemode": "tozero"},
        xaxis={"anchor": "y2"},
    )


def _reach(slice_: Slice) -> tuple[float, float]:
    """From the lowest to the highest value of the curves, their bands and the points near them."""
    rows = ((slice_.f_mean, slice_.f_std), (slice_.g_mean, slice_.g_std))
    pairs = [pair for means, stds in rows for pair in zip(means, stds, strict=True)]
    bands = [m + sign * BAND * s for m, s in pairs for sign in (-1, 1)]
    points = [each.value for each in slice_.data]
    marks = [slice_.robust.y, slice_.nominal.y]
    return reach([*slice_.f_mean, *slice_.g_mean, *marks], bands + points)


def _nearest(axis: Axis, at: Value) -> int:
    if axis.scale == "choices":
        return list(map(repr, axis.values)).index(repr(at))
    return min(range(len(axis.values)), key=lambda i: abs(axis.values[i] - at))


def _observed(each: PlottedTrial, terms: Terms) -> tuple[str, str]:
    value = label(f"{terms.value}: {number(each.value, terms.unit)}", 80)
    return f"trial {each.number}", value


def _believed(name: str, mean: float, std: float, terms: Terms) -> str:
    return label(f"{name}: {estimate(Estimate(mean, std), terms.unit)}", 80)


def _slot(letter: str, axis: Axis) -> str:
    """The placeholder that plotly fills with a coordinate."""
    return f"%{{{letter}}}" if axis.scale == "choices" else f"%{{{letter}:.4~g}}"


def _round_step(width: float) -> float:
    """The next larger number that is 1, 2 or 5 times a power of ten."""
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= width * (1 - 1e-9))
