"""All trials: values over each parameter; early trials are dark, late ones light."""

from collections.abc import Iterable
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from meseta.optimizer.record import Trial
from meseta.report.plot.labels import UNNAMED, of_value
from meseta.report.plot.scale import places, set_x
from meseta.report.plot.sheet import Sheet, draw_colour_bar, new_grid, set_common_legend
from meseta.report.plot.style import COLOURS, INK
from meseta.report.views.axis import Axis
from meseta.report.views.report import Report
from meseta.report.views.search import Search
from meseta.report.views.wording import Terms

STATES = {"failed": "x", "pending": "o"}  # states without a value, and their marks
FOOT = 0.04  # their position, as a share of the height


def trials(
    view: Search | Report, terms: Terms | None = None, *, axes: Iterable[Axis] = ()
) -> Sheet:
    """Values of all trials over each parameter, coloured by trial number.

    Trials without a value are at the bottom. A report has its own terms and scales; for a search
    alone, `axes` say which parameters are logarithmic, and give the order of choices.
    """
    if isinstance(view, Report):
        terms = view.terms if terms is None else terms
        slices = view.landscape.slices if view.landscape else ()
        return trials(view.search, terms, axes=[*axes, *[each.axis for each in slices]])
    shown = tuple(each for each in view.trials if each.state != "withdrawn")
    if not shown:
        raise ValueError("there is no trial to draw yet")
    terms = UNNAMED if terms is None else terms
    # if two axes have the same name, the first counts
    known = {axis.name: axis for axis in reversed([*axes])}
    names = list(shown[0].params)
    sheet, panels = new_grid(len(names), of_value(terms))
    numbers = Normalize(0, max(1, *(each.number for each in shown)))
    marks: dict[str, Artist] = {}
    for ax, name in zip(panels, names, strict=True):
        axis = known.get(name) or _axis(name, shown)
        marks |= _draw_values(ax, axis, shown, numbers)
        set_x(ax, axis, terms)
    draw_colour_bar(sheet, panels, numbers, "trial")
    if marks:
        set_common_legend(sheet, [(mark, label) for label, mark in marks.items()], len(marks))
    return sheet


def _axis(name: str, rows: tuple[Trial, ...]) -> Axis:
    """A linear axis if all values are numbers; otherwise choices, in order of appearance."""
    values = tuple(dict.fromkeys(row.params[name] for row in rows))
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return Axis(name, "linear" if numbers else "choices", values)


def _draw_values(
    ax: Axes, axis: Axis, rows: tuple[Trial, ...], numbers: Normalize
) -> dict[str, Artist]:
    """Draws one panel, and returns the marks below the values, by state."""
    done = [(row, row.value) for row in rows if row.value is not None]
    ax.scatter(
        places(axis, [row.params[axis.name] for row, _ in done]),
        [value for _, value in done],
        c=[row.number for row, _ in done],
        norm=numbers,
        cmap=COLOURS,
        s=16,
        edgecolors=INK,  # makes light dots visible on white paper
        linewidths=0.4,
        zorder=3,
    )
    ax.margins(y=0.12)  # room at the bottom for trials without a value
    below: dict[str, Artist] = {}
    for state, marker in STATES.items():
        at = places(axis, [row.params[axis.name] for row in rows if row.state == state])
        if at:
            style: dict[str, Any] = {"markersize": 4, "markerfacecolor": "none", "color": INK}
            style |= {"markeredgewidth": 0.8, "transform": ax.get_xaxis_transform()}
            (below[state],) = ax.plot(at, [FOOT] * len(at), marker, label=state, **style)
    return below
