"""Parameters as axes of plots: their scale, and the labels of choices."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from meseta.report.page.labels import label, parameter_title
from meseta.report.views.axis import Axis
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms
from meseta.space.parameter import Value

BEYOND = 2.0  # heights of the curves that an axis may go beyond them
RARE = 0.02  # share of the values of a curve at each end that may be cut off


def axes_of(report: Report) -> dict[str, Axis]:
    """An axis for each parameter, guessed from the trials if there is no landscape."""
    slices = () if report.landscape is None else report.landscape.slices
    known = {each.axis.name: each.axis for each in slices}
    return {name: known.get(name) or _guessed(name, report) for name in report.parameters}


def shown(axis: Axis, values: Iterable[Value]) -> list[Any]:
    """Values as plotly takes them; choices become labels."""
    if axis.scale != "choices":
        return list(values)
    names = _choices(axis)
    return [names.get(repr(value), label(str(value))) for value in values]


def layout_of(axis: Axis, terms: Terms, points: Iterable[Value] = ()) -> dict[str, Any]:
    """The axis for plotly; with `points`, it is just long enough to hold them."""
    title = {"text": parameter_title(axis.name, terms)}
    if axis.scale == "choices":
        order = shown(axis, axis.values)
        return {
            "title": title,
            "type": "category",
            "categoryorder": "array",
            "categoryarray": order,
            "range": [-0.5, len(order) - 0.5],
        }
    ends = _ends(axis, points)
    layout = {"title": title, "type": axis.scale, "exponentformat": "power"}
    return layout | ({"range": ends} if ends else {})


def reach(core: Sequence[float], others: Sequence[float] = ()) -> tuple[float, float]:
    """The ends of an axis of values that a few far ones do not flatten.

    It holds nearly all of `core`, such as curves, and goes up to twice its height beyond on either
    side, where more of them or `others`, such as points, are there.
    """
    ranked = sorted(value for value in core if math.isfinite(value))
    if not ranked:
        return 0.0, 1.0
    rare = int(RARE * (len(ranked) - 1))
    low, high = ranked[rare], ranked[len(ranked) - 1 - rare]
    height = high - low or abs(high) or 1.0
    lowest, highest = low - BEYOND * height, high + BEYOND * height
    near = [v for v in others if lowest <= v <= highest]
    ends = max(lowest, min([ranked[0], *near])), min(highest, max([ranked[-1], *near]))
    room = 0.05 * (ends[1] - ends[0] or height)
    return ends[0] - room, ends[1] + room


def _ends(axis: Axis, points: Iterable[Value]) -> list[float] | None:
    """The range of the axis, extended to points beyond it, with room for their symbols."""
    inside = [axis.values[0], axis.values[-1]] if axis.values else []
    beyond = list(points)
    if not beyond or not inside:
        return None
    ends = [min(*inside, *beyond), max(*inside, *beyond)]
    if axis.scale == "log":  # plotly takes these ends as logarithms
        if ends[0] <= 0:
            return None
        inside, ends = ([math.log10(v) for v in pair] for pair in (sorted(inside), ends))
    room = 0.02 * (ends[1] - ends[0])
    return [
        ends[0] - (room if ends[0] < min(inside) else 0.0),
        ends[1] + (room if ends[1] > max(inside) else 0.0),
    ]


def _choices(axis: Axis) -> dict[str, str]:
    """The label of each choice, numbered if two look the same, such as 1 and "1"."""
    names = [label(str(value) if str(value).strip() else repr(value), 20) for value in axis.values]
    numbered = [
        f"{name} [{i}]" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)
    ]
    return {repr(value): name for value, name in zip(axis.values, numbered, strict=True)}


def _guessed(name: str, report: Report) -> Axis:
    values = _distinct(trial.params[name] for trial in report.search.trials if name in trial.params)
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return Axis(name, "linear", tuple(sorted(values)))
    return Axis(name, "choices", tuple(values))


def _distinct(values: Iterable[Value]) -> Sequence[Value]:
    return list({repr(value): value for value in values}.values())
