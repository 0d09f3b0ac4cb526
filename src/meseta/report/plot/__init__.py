"""Plots of a report by Matplotlib, for papers and notebooks.

    from meseta.report import plot

    plot.along(view, terms)          # a Slice: f and g along one parameter
    plot.over(view, terms)           # a Map: f and g over two
    plot.landscape(report)           # curves, maps or slices, by the number of parameters

Functions that need one Axes take and return it; those that need more return a Figure. Texts of
users are shown literally. rcParams do not change, and neither do the fonts of your own Axes.
"""

try:
    import matplotlib as _  # noqa: F401
except ModuleNotFoundError as error:
    from meseta.boundary import missing

    raise ImportError(str(missing(f"meseta.report.plot needs {error.name}", "plot"))) from None

from meseta.report.plot.histograms import outcomes
from meseta.report.plot.maps import over
from meseta.report.plot.next_point import acquisition
from meseta.report.plot.noise_fits import noise_fits
from meseta.report.plot.overview import landscape
from meseta.report.plot.predictions import leave_one_out
from meseta.report.plot.recommended import progress
from meseta.report.plot.scatter import trials
from meseta.report.plot.slices import along
from meseta.report.plot.tolerance_curves import tolerances

__all__ = [
    "acquisition",
    "along",
    "landscape",
    "leave_one_out",
    "noise_fits",
    "outcomes",
    "over",
    "progress",
    "tolerances",
    "trials",
]
