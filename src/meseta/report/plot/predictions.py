"""Predictions: each value, and what the model predicts for it from the others."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from meseta.report.plot.labels import UNNAMED, named, percent, plain
from meseta.report.plot.sheet import Entries, own_axes, set_legend, small_type
from meseta.report.plot.style import FAINT, INK, F, G
from meseta.report.views.search import LeaveOneOut
from meseta.report.views.wording import Terms


def leave_one_out(view: LeaveOneOut, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """Predicted over observed values, with 95 % intervals; those that miss are marked."""
    ax = own_axes(ax, height=3.2)
    inside = [
        each.low <= value <= each.high
        for each, value in zip(view.predicted, view.observed, strict=True)
    ]
    entries: Entries = []
    for wanted, look, marker, label in (
        (True, F, "o", "in its 95 % interval"),
        (False, G, "s", "outside"),
    ):
        chosen = [i for i, within in enumerate(inside) if within is wanted]
        if chosen:
            mean = np.array([view.predicted[i].mean for i in chosen])
            reach = [view.predicted[i].high - view.predicted[i].mean for i in chosen]
            bars = ax.errorbar(
                [view.observed[i] for i in chosen],
                mean,
                yerr=reach,
                fmt=marker,
                color=look.colour,
                markersize=3.5,
                markerfacecolor=look.colour if wanted else "white",
                elinewidth=0.8,
                label=plain(label),
            )
            entries.append((bars, plain(label)))
    middle = [*view.observed, *[each.mean for each in view.predicted]]
    ax.axline((min(middle),) * 2, slope=1, color=FAINT, linewidth=0.8, zorder=0.5)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(named(f"observed {terms.value}", terms.unit))
    ax.set_ylabel(named(f"predicted {terms.value}", terms.unit))
    place: dict[str, Any] = {"transform": ax.transAxes, "va": "top", "size": small_type(ax)}
    ax.text(0.03, 0.97, _remark(view), color=INK, **place)
    set_legend(ax, entries)
    return ax


def _remark(view: LeaveOneOut) -> str:
    covered = f"{percent(view.covered)} in their 95 % interval"
    explained = f"\n{percent(view.explained)} of the variance explained"
    return plain(covered + (explained if math.isfinite(view.explained) else ""))
