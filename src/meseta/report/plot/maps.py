"""f and g over two parameters, side by side."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from meseta.report.plot.labels import F_OF_X, G_OF_X, UNNAMED, of_value
from meseta.report.plot.scale import borders, is_discrete, places, set_x, set_y
from meseta.report.plot.sheet import (
    PAGE,
    TYPE,
    Entries,
    Sheet,
    draw_colour_bar,
    new_sheet,
    set_common_legend,
)
from meseta.report.plot.style import COLOURS, F, G, draw_data, draw_optimum
from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.landscape import Map
from meseta.report.views.wording import Terms

LINES = 9  # contour lines, at most


def over(view: Map, terms: Terms = UNNAMED) -> Sheet:
    """Maps of the means of f and g with one colour scale, the evaluations and both optima."""
    sheet, axes = new_sheet(1, 2, (PAGE, 3.0), sharex=True, sharey=True)
    means = [np.array(view.f_mean), np.array(view.g_mean)]
    span = _span(means)
    for ax, mean, title in zip(axes, means, (F_OF_X, G_OF_X), strict=True):
        _draw_mean(ax, view, mean, span)
        entries = _draw_points(ax, view)
        ax.set_title(title, fontsize=TYPE)
        set_x(ax, view.x, terms)
    set_y(axes[0], view.y, terms)
    set_common_legend(sheet, entries, columns=len(entries))
    draw_colour_bar(sheet, axes, Normalize(*span), of_value(terms))
    return sheet


def _span(means: list[np.ndarray]) -> tuple[float, float]:
    low, high = (float(end([end(mean) for mean in means])) for end in (np.min, np.max))
    return low, high if high > low else low + 1  # equal values still need a range of colours


def _draw_mean(ax: Axes, view: Map, mean: np.ndarray, span: tuple[float, float]) -> None:
    edges = borders(view.x), borders(view.y)
    # as pixels: thousands of vector cells are slow to show and have visible seams
    ax.pcolormesh(*edges, mean, norm=Normalize(*span), cmap=COLOURS, rasterized=True)
    levels = MaxNLocator(LINES).tick_values(*span)
    inside = [level for level in levels if mean.min() < level < mean.max()]
    if inside and not is_discrete(view.x) and not is_discrete(view.y):
        at = (places(axis, axis.values) for axis in (view.x, view.y))
        ax.contour(*at, mean, levels=inside, colors="white", linewidths=0.4, alpha=0.7)
    for spine in ax.spines.values():
        spine.set_visible(True)


def _draw_points(ax: Axes, view: Map) -> Entries:
    """Draws evaluations and optima, unclipped: many lie on the border of the map."""
    entries: Entries = []
    if view.data:
        x = places(view.x, [each.x for each in view.data])
        y = places(view.y, [each.y for each in view.data])
        marks = draw_data(ax, x, y, view.exact, clip=False)
        entries.append((marks, str(marks.get_label())))
    for mark, look, label in ((view.nominal, F, NOMINAL), (view.robust, G, ROBUST)):
        (x_at,), (y_at,) = places(view.x, [mark.x]), places(view.y, [mark.y])
        entries.append((draw_optimum(ax, x_at, y_at, look, label, clip=False), label))
    return entries
