"""The evaluations: values against each parameter, early ones dark, late ones light."""

from collections.abc import Iterable
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from meseta.report.plot.look import COLOURS, INK
from meseta.report.plot.scale import places, set_x
from meseta.report.plot.sheet import Sheet, draw_colour_bar, new_grid, set_common_legend
from meseta.report.plot.texts import UNNAMED, of_value
from meseta.report.views.axis import Axis
from meseta.report.views.report import Report
from meseta.report.views.search import Evaluation, Search
from meseta.report.views.terms import Terms

STATES = {"failed": "x", "pending": "o"}  # those without a value, and their marks
FOOT = 0.04  # of the height of an axes


def evaluations(
    view: Search | Report, terms: Terms | None = None, *, axes: Iterable[Axis] = ()
) -> Sheet:
    """Small multiples, coloured by number; trials without a value stand at the foot.

    A report knows terms and scales itself; with a search alone, `axes` tell what is logarithmic
    and in which order choices stand.
    """
    if isinstance(view, Report):
        terms = view.terms if terms is None else terms
        slices = view.landscape.slices if view.landscape else ()
        return evaluations(view.search, terms, axes=[*axes, *[each.axis for each in slices]])
    if not view.evaluations:
        raise ValueError("there is no evaluation to draw yet")
    terms = UNNAMED if terms is None else terms
    # of two axes of one name the first counts
    known = {axis.name: axis for axis in reversed([*axes])}
    names = list(view.evaluations[0].params)
    sheet, panels = new_grid(len(names), of_value(terms))
    numbers = Normalize(0, max(1, *(each.number for each in view.evaluations)))
    marks: dict[str, Artist] = {}
    for ax, name in zip(panels, names, strict=True):
        axis = known.get(name) or _axis(name, view.evaluations)
        marks |= _draw_values(ax, axis, view.evaluations, numbers)
        set_x(ax, axis, terms)
    draw_colour_bar(sheet, panels, numbers, "trial")
    if marks:
        set_common_legend(sheet, [(mark, label) for label, mark in marks.items()], len(marks))
    return sheet


def _axis(name: str, rows: tuple[Evaluation, ...]) -> Axis:
    """Numbers on a linear scale; anything else are choices, as they came up."""
    values = tuple(dict.fromkeys(row.params[name] for row in rows))
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return Axis(name, "linear" if numbers else "choices", values)


def _draw_values(
    ax: Axes, axis: Axis, rows: tuple[Evaluation, ...], numbers: Normalize
) -> dict[str, Artist]:
    """Returns what stands below the values, with its meaning."""
    done = [(row, row.value) for row in rows if row.value is not None]
    ax.scatter(
        places(axis, [row.params[axis.name] for row, _ in done]),
        [value for _, value in done],
        c=[row.number for row, _ in done],
        norm=numbers,
        cmap=COLOURS,
        s=16,
        edgecolors=INK,  # light dots on white paper
        linewidths=0.4,
        zorder=3,
    )
    ax.margins(y=0.12)  # room at the foot for trials without a value
    below: dict[str, Artist] = {}
    for state, marker in STATES.items():
        at = places(axis, [row.params[axis.name] for row in rows if row.state == state])
        if at:
            style: dict[str, Any] = {"markersize": 4, "markerfacecolor": "none", "color": INK}
            style |= {"markeredgewidth": 0.8, "transform": ax.get_xaxis_transform()}
            (below[state],) = ax.plot(at, [FOOT] * len(at), marker, label=state, **style)
    return below
