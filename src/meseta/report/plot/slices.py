"""f and g along one parameter; the others are those of the robust optimum."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from meseta.report.plot.labels import F_OF_X, G_OF_X, UNNAMED, of_value, plain
from meseta.report.plot.scale import SIDE, is_discrete, places, set_x
from meseta.report.plot.sheet import Entries, own_axes, set_legend
from meseta.report.plot.style import (
    F,
    G,
    Points,
    draw_band,
    draw_bars,
    draw_data,
    draw_optimum,
    interval_symbol,
)
from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.estimate import BAND
from meseta.report.views.landscape import Slice
from meseta.report.views.wording import Terms

ASIDE = 0.13  # share of the distance between choices: f is left of its label, g right


def along(view: Slice, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """Means and 95 % bands of f and g, the evaluations and both optima.

    Evaluations are filled if all of them lie in the slice, and hollow if other parameters may
    differ. Choices have error bars instead of bands.
    """
    ax = own_axes(ax)
    set_legend(ax, draw_slice(ax, view, terms))
    ax.set_ylabel(of_value(terms))
    return ax


def draw_slice(ax: Axes, view: Slice, terms: Terms) -> Entries:
    """Draws all but the value label and the legend, which slices share, and returns the entries."""
    bars = view.axis.scale == "choices"
    aside = ASIDE if bars else 0.0
    x = np.array(places(view.axis, view.axis.values))
    (nominal,), (robust,) = (places(view.axis, [mark.x]) for mark in (view.nominal, view.robust))
    at = places(view.axis, [each.x for each in view.data])
    draw = draw_bars if bars else partial(draw_band, dots=is_discrete(view.axis))
    entries: Entries = [
        (draw(ax, x - aside, *_band(view.f_mean, view.f_std), F, F_OF_X), F_OF_X),
        (draw(ax, x + aside, *_band(view.g_mean, view.g_std), G, G_OF_X), G_OF_X),
        (interval_symbol(bars), plain("95 % interval")),
        (draw_optimum(ax, nominal - aside, view.nominal.y, F, NOMINAL), NOMINAL),
        (draw_optimum(ax, robust + aside, view.robust.y, G, ROBUST), ROBUST),
    ]
    if view.data:
        marks = draw_data(ax, at, [each.value for each in view.data], view.exact)
        entries.append((marks, str(marks.get_label())))
    ax.margins(x=SIDE)
    set_x(ax, view.axis, terms)
    return entries


def _band(mean: Sequence[float], std: Sequence[float]) -> tuple[Points, Points, Points]:
    """Mean, and lower and upper end of the 95 % interval."""
    middle, reach = np.array(mean), BAND * np.array(std)
    return middle, middle - reach, middle + reach
