"""f and g along one parameter, the others as in the robust optimum."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from meseta.report.plot.look import (
    F,
    G,
    Points,
    draw_band,
    draw_bars,
    draw_data,
    draw_optimum,
    sure_of,
)
from meseta.report.plot.scale import SIDE, is_discrete, places, set_x
from meseta.report.plot.sheet import Entries, own_axes, set_legend
from meseta.report.plot.texts import F_OF_X, G_OF_X, NOMINAL, ROBUST, UNNAMED, of_value, plain
from meseta.report.views.estimate import BAND
from meseta.report.views.landscape import Slice
from meseta.report.views.terms import Terms

ASIDE = 0.13  # of the distance of two choices: f to the left of its label, g to the right


def along(view: Slice, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """Means and 95 % bands of f and g, the evaluations and both optima.

    Evaluations are filled where all of them lie in the slice, hollow where other parameters may
    differ. Choices have error bars in place of bands.
    """
    ax = own_axes(ax)
    set_legend(ax, draw_slice(ax, view, terms))
    ax.set_ylabel(of_value(terms))
    return ax


def draw_slice(ax: Axes, view: Slice, terms: Terms) -> Entries:
    """All but the label of the value and the legend, which slices side by side share."""
    apart = view.axis.scale == "choices"
    aside = ASIDE if apart else 0.0
    x = np.array(places(view.axis, view.axis.values))
    (nominal,), (robust,) = (places(view.axis, [mark.x]) for mark in (view.nominal, view.robust))
    at = places(view.axis, [each.x for each in view.data])
    draw = draw_bars if apart else partial(draw_band, dots=is_discrete(view.axis))
    entries: Entries = [
        (draw(ax, x - aside, *_belief(view.f_mean, view.f_std), F, F_OF_X), F_OF_X),
        (draw(ax, x + aside, *_belief(view.g_mean, view.g_std), G, G_OF_X), G_OF_X),
        (sure_of(apart), plain("95 %")),
        (draw_optimum(ax, nominal - aside, view.nominal.y, F, NOMINAL), NOMINAL),
        (draw_optimum(ax, robust + aside, view.robust.y, G, ROBUST), ROBUST),
    ]
    if view.data:
        marks = draw_data(ax, at, [each.value for each in view.data], view.exact)
        entries.append((marks, str(marks.get_label())))
    ax.margins(x=SIDE)
    set_x(ax, view.axis, terms)
    return entries


def _belief(mean: Sequence[float], std: Sequence[float]) -> tuple[Points, Points, Points]:
    """Mean, lower and upper end of the central 95 %."""
    middle, reach = np.array(mean), BAND * np.array(std)
    return middle, middle - reach, middle + reach
