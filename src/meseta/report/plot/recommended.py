"""The recommendations on the way."""

import numpy as np
from matplotlib.axes import Axes

from meseta.report.plot.labels import UNNAMED, named, plain
from meseta.report.plot.scale import whole_numbers
from meseta.report.plot.sheet import own_axes, set_legend
from meseta.report.plot.style import G, draw_band
from meseta.report.views.search import Progress
from meseta.report.views.wording import Terms


def progress(
    view: Progress,
    terms: Terms = UNNAMED,
    ax: Axes | None = None,
    *,
    maximize: bool | None = None,
) -> Axes:
    """The robust value of the recommended design over evaluations, with its 95 % band.

    With `maximize`, the label of the value says which direction is better.
    """
    ax = own_axes(ax)
    mean, low, high = (
        np.array([getattr(best, part) for best in view.best]) for part in ("mean", "low", "high")
    )
    label = plain("robust value of the recommended design, 95 %")
    handle = draw_band(ax, np.array(view.evaluations, float), mean, low, high, G, label)
    handle[1].set(marker="o", markersize=3)  # a single evaluation gives no line
    ax.margins(x=0.03)
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set_xlabel("evaluations")
    better = {True: "\nlarger is better", False: "\nsmaller is better", None: ""}[maximize]
    ax.set_ylabel(named(f"expected {terms.value}", terms.unit) + better)
    set_legend(ax, [(handle, label)], columns=1)
    return ax
