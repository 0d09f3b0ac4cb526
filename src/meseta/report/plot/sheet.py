"""Figures for a column or a page of a journal, which notebooks show as well."""

import io
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.container import Container
from matplotlib.figure import Figure

from meseta.report.plot.style import COLOURS

COLUMN, PAGE = 3.4, 7.0  # inches: the width of one column of a journal, and of two
SMALL, TYPE = 7.0, 8.0  # points: font size of ticks and legends; of labels and titles
PER_ROW = 3  # small multiples side by side
NOTEBOOK_DPI = 150  # makes a column as wide as a third of a screen


class Sheet(Figure):
    """A figure made by this package.

    Notebooks show the value of a cell, and every pyplot figure that is open at its end. A returned
    pyplot figure would be shown twice and stay open. So functions that return a Figure do not use
    pyplot, and the figure draws itself. Functions that return an Axes do use pyplot, as pandas
    does: notebooks show and close the figure, and plt.show() works. Scripts that draw hundreds of
    them must close them.
    """

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=NOTEBOOK_DPI)
        return image.getvalue()


def own_axes(ax: Axes | None, height: float = 2.5) -> Axes:
    """The given Axes, or new ones in a figure as wide as a column."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt  # late: the import chooses how windows open

    size = (COLUMN, height)
    figure = plt.figure(FigureClass=Sheet, figsize=size, layout="constrained")
    return _sized(figure.add_subplot())


def new_sheet(
    rows: int, columns: int, size: tuple[float, float], **options: Any
) -> tuple[Sheet, list[Axes]]:
    """A figure with a grid of axes, row by row."""
    sheet = Sheet(figsize=size, layout="constrained")
    grid: np.ndarray = sheet.subplots(rows, columns, squeeze=False, **options)
    return sheet, [_sized(ax) for ax in grid.flat]


def new_grid(count: int, value: str) -> tuple[Sheet, list[Axes]]:
    """Small multiples that share the axis of values, and its label."""
    columns = 2 if count == 4 else min(count, PER_ROW)
    rows = -(-count // columns)
    width = COLUMN if columns == 1 else PAGE
    sheet, axes = new_sheet(rows, columns, (width, 0.6 + 1.9 * rows), sharey=True)
    for ax in axes[::columns]:
        ax.set_ylabel(value)
    for ax in axes[count:]:
        ax.remove()
    return sheet, axes[:count]


def draw_colour_bar(sheet: Sheet, axes: list[Axes], scale: Normalize, label: str) -> None:
    """Draws one colour bar for all axes."""
    bar = sheet.colorbar(ScalarMappable(scale, COLOURS), ax=axes, pad=0.02, aspect=30)
    bar.set_label(label, size=TYPE)
    bar.ax.tick_params(labelsize=SMALL, width=0.6)
    bar.ax.yaxis.get_offset_text().set_fontsize(SMALL)
    for spine in bar.ax.spines.values():
        spine.set_linewidth(0.6)


def _sized(ax: Axes) -> Axes:
    """Sets fonts and line widths for a journal, without a change of rcParams."""
    ax.tick_params(which="both", labelsize=SMALL, width=0.6)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(TYPE)
    for offset in (ax.xaxis.get_offset_text(), ax.yaxis.get_offset_text()):
        offset.set_fontsize(SMALL)
    for spine in ax.spines.values():
        spine.set_linewidth(0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def small_type(ax: Axes) -> float | None:
    """The font size of legends and remarks; None on the user's own axes: rcParams decide."""
    return SMALL if isinstance(ax.figure, Sheet) else None


# Symbols of a legend, with their texts.
Entries = list[tuple[Artist | tuple[Artist, ...] | Container, str]]


def set_legend(ax: Axes, entries: Entries, columns: int = 2) -> None:
    """Sets the legend: above our own axes; on the user's axes, where it hides least."""
    place: dict[str, Any] = {}
    if isinstance(ax.figure, Sheet):
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns}
        place |= {"columnspacing": 1.2, "borderaxespad": 0.3, "frameon": False}
    handles, labels = zip(*entries, strict=True)
    ax.legend(handles, labels, fontsize=small_type(ax), **place)


def set_common_legend(sheet: Sheet, entries: Entries, columns: int) -> None:
    """Sets one legend for all axes of a figure, above them."""
    handles, labels = zip(*entries, strict=True)
    place: dict[str, Any] = {"loc": "outside upper center", "ncols": columns}
    sheet.legend(handles, labels, frameon=False, fontsize=SMALL, columnspacing=1.2, **place)
