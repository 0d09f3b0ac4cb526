"""A parameter as an axis: the positions of its values, ticks and label."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import Locator, MaxNLocator

from meseta.report.plot.labels import of_choice, of_parameter
from meseta.report.views.axis import Axis
from meseta.report.views.wording import Terms
from meseta.space.parameter import Value

SIDE = 0.03  # margin left and right of a range, as a share of the width: half a mark
ROOM = 32  # letters that fit side by side under narrow axes


def places(axis: Axis, values: Iterable[Value]) -> list[float]:
    """The positions of values on the axis; choices are at 0, 1, 2, ..."""
    if axis.scale == "choices":
        return [float(axis.values.index(value)) for value in values]
    return [float(value) for value in values]


def borders(axis: Axis) -> list[float]:
    """The borders of the cells around the values, midway on the scale of the axis.

    There is one border more than values. On a continuous axis, the first and last cells are half.
    """
    values = np.array(places(axis, axis.values))
    if axis.scale == "log":
        values = np.log(values)
    if len(values) == 1:
        values = np.array([values[0] - 0.5, values[0] + 0.5])
    else:
        middle = (values[1:] + values[:-1]) / 2
        half = (middle[0] - values[0], values[-1] - middle[-1]) if is_discrete(axis) else (0.0, 0.0)
        values = np.concatenate([[values[0] - half[0]], middle, [values[-1] + half[1]]])
    return list(map(float, np.exp(values) if axis.scale == "log" else values))


def is_discrete(axis: Axis) -> bool:
    return axis.scale == "choices" or all(isinstance(value, int) for value in axis.values)


def set_x(ax: Axes, axis: Axis, terms: Terms) -> None:
    """Sets scale, ticks and label of the x axis."""
    ax.set_xlabel(of_parameter(axis.name, terms))
    if axis.scale == "log":
        ax.set_xscale("log")
    elif axis.scale == "choices":
        labels = [of_choice(choice) for choice in axis.values]
        crowded = max(map(len, labels)) * len(labels) > ROOM
        slant: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(len(labels)), labels, **(slant if crowded else {}))
        ax.set_xlim(-0.5, len(labels) - 0.5)
    elif is_discrete(axis):
        ax.xaxis.set_major_locator(whole_numbers())


def set_y(ax: Axes, axis: Axis, terms: Terms) -> None:
    """Sets the same for the y axis: the second parameter of a map."""
    ax.set_ylabel(of_parameter(axis.name, terms))
    if axis.scale == "log":
        ax.set_yscale("log")
    elif axis.scale == "choices":
        ax.set_yticks(range(len(axis.values)), [of_choice(choice) for choice in axis.values])
    elif is_discrete(axis):
        ax.yaxis.set_major_locator(whole_numbers())


def whole_numbers() -> Locator:
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True)
