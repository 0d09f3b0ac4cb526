"""The style of lines, bands and marks: each differs by its colour, and by dash or marker too.

Colour-blind readers can tell the colours apart; in grey, dashes and markers differ.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxtyping import Float64
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy import ndarray

Points = Float64[ndarray, " n"]

WIDTH = 1.3  # points: width of lines that show data
BAND_OPACITY = 0.16
INK, FAINT = "#222222", "#757575"
COLOURS = "viridis"  # colours of maps: from dark to light, also in grey


class Look(NamedTuple):
    """The look of a series."""

    colour: str
    dashes: Any
    marker: str
    size: float  # size of the marker, in points


F = Look("#1f77b4", (0, (4, 1.6)), "D", 6.0)
G = Look("#d65014", "-", "*", 10.5)
# The colours of Okabe and Ito, without yellow, which is hard to see in print.
SERIES = (
    Look("#0072B2", "-", "o", 3.5),
    Look("#D55E00", (0, (4, 1.6)), "s", 3.5),
    Look("#009E73", (0, (4, 1.2, 1, 1.2)), "^", 4.0),
    Look("#CC79A7", (0, (1.2, 1.2)), "D", 3.2),
    Look("#56B4E9", (0, (7, 2)), "v", 4.0),
    Look("#8C510A", (0, (4, 1.2, 1, 1.2, 1, 1.2)), "P", 4.0),
)


def draw_band(
    ax: Axes,
    x: Points,
    mean: Points,
    low: Points,
    high: Points,
    look: Look,
    label: str,
    dots: bool = False,
) -> tuple[Artist, Line2D]:
    """Draws a line and its band, and returns both for a legend.

    `dots` mark the values of a whole-number parameter.
    """
    band = ax.fill_between(x, low, high, color=look.colour, alpha=BAND_OPACITY, linewidth=0)
    style: dict[str, Any] = {"color": look.colour, "linestyle": look.dashes, "linewidth": WIDTH}
    (line,) = ax.plot(x, mean, marker="." if dots else "", label=label, **style)
    return band, line


def draw_bars(
    ax: Axes, x: Points, mean: Points, low: Points, high: Points, look: Look, label: str
) -> Container:
    """Draws means with error bars, for a categorical parameter."""
    style: dict[str, Any] = {"fmt": "s", "color": look.colour, "markersize": 4, "capsize": 2}
    face = look.colour if look.dashes == "-" else "white"  # dashes are hard to see in short bars
    style |= {"elinewidth": WIDTH, "markerfacecolor": face}
    bars = ax.errorbar(x, mean, yerr=[mean - low, high - mean], label=label, **style)
    for part in bars.lines[2]:
        part.set_linestyle(look.dashes)
    return bars


def interval_symbol(bars: bool) -> Artist:
    """The symbol of a legend for all bands, or for all error bars."""
    if bars:
        return Line2D([], [], linestyle="none", marker="|", markersize=8, color=INK)
    return Patch(facecolor=INK, alpha=BAND_OPACITY, linewidth=0)


def draw_optimum(ax: Axes, x: float, y: float, look: Look, label: str, clip: bool = True) -> Line2D:
    """Draws the symbol of an optimum, with a white edge to stand out."""
    (mark,) = ax.plot(
        [x],
        [y],
        look.marker,
        color=look.colour,
        markersize=look.size,
        markeredgecolor="white",
        markeredgewidth=0.7,
        clip_on=clip,
        zorder=6,
        label=label,
    )
    return mark


def draw_data(
    ax: Axes, x: Sequence[float], y: Sequence[float], exact: bool, clip: bool = True
) -> Line2D:
    """Draws evaluations; they are hollow if they do not lie in the slice or map."""
    (marks,) = ax.plot(
        x,
        y,
        "o",
        markersize=3.5,
        markerfacecolor=INK if exact else (1, 1, 1, 0.35),  # visible on dark maps, too
        markeredgecolor="white" if exact else FAINT,
        clip_on=clip,
        markeredgewidth=0.4 if exact else 0.7,
        zorder=4 if exact else 2.5,
        label="evaluations" if exact else "evaluations elsewhere",
    )
    return marks
