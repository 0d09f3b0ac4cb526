"""The whole landscape as curves, maps or slices, by the number of parameters."""

from meseta.report.plot.labels import UNNAMED, of_value
from meseta.report.plot.maps import over
from meseta.report.plot.next_point import draw_acquisition
from meseta.report.plot.sheet import COLUMN, Sheet, new_grid, new_sheet, set_common_legend
from meseta.report.plot.slices import draw_slice
from meseta.report.views.landscape import Landscape, Slice
from meseta.report.views.next_point import NextPoint
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms


def landscape(view: Landscape | Report, terms: Terms | None = None) -> Sheet:
    """One parameter: f, g and the acquisition function. Two: maps. More: slices.

    A report has its own terms; `terms` replace them.
    """
    if isinstance(view, Report):
        if view.landscape is None:
            raise ValueError("there is no landscape to draw: no trial has a value yet")
        return landscape(view.landscape, view.terms if terms is None else terms)
    terms = UNNAMED if terms is None else terms
    if len(view.slices) == 1:
        return _one(view.slices[0], view.next_point, terms)
    if len(view.slices) == 2 and view.maps:
        return over(view.maps[0], terms)
    return _many(view.slices, terms)


def _one(view: Slice, next_point: NextPoint | None, terms: Terms) -> Sheet:
    if next_point is None or next_point.axis is None:
        sheet, (upper,) = new_sheet(1, 1, (COLUMN, 2.7))
        entries = draw_slice(upper, view, terms)
    else:
        heights = {"height_ratios": (2.2, 1)}
        sheet, (upper, lower) = new_sheet(2, 1, (COLUMN, 3.9), sharex=True, **heights)
        entries = draw_slice(upper, view, terms)
        entries += draw_acquisition(lower, next_point, next_point.axis, terms)
        upper.set_xlabel("")
    upper.set_ylabel(of_value(terms))
    set_common_legend(sheet, entries, columns=2)
    return sheet


def _many(slices: tuple[Slice, ...], terms: Terms) -> Sheet:
    """Slices along each parameter; the others are those of the robust optimum."""
    sheet, axes = new_grid(len(slices), of_value(terms))
    entries = [draw_slice(ax, view, terms) for ax, view in zip(axes, slices, strict=True)]
    set_common_legend(sheet, entries[0], columns=3)
    return sheet
