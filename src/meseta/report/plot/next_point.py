"""The acquisition function, and the design that would be evaluated next."""

from matplotlib.axes import Axes

from meseta.report.plot.labels import UNNAMED, plain
from meseta.report.plot.scale import SIDE, places, set_x
from meseta.report.plot.sheet import Entries, own_axes, set_legend
from meseta.report.plot.style import FAINT, INK, WIDTH
from meseta.report.views.axis import Axis
from meseta.report.views.next_point import NextPoint
from meseta.report.views.wording import Terms


def acquisition(view: NextPoint, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """The acquisition function along the only parameter, and the next evaluation."""
    if view.axis is None:
        raise ValueError(
            "an acquisition function is drawn for designs with one parameter and methods with a "
            f"model; this view has the parameters {', '.join(view.params)} and no curve"
        )
    ax = own_axes(ax, height=1.7)
    set_legend(ax, draw_acquisition(ax, view, view.axis, terms))
    return ax


def draw_acquisition(ax: Axes, view: NextPoint, axis: Axis, terms: Terms) -> Entries:
    """Draws all but the legend, and returns its entries."""
    x = places(axis, axis.values)
    (chosen,) = places(axis, [view.params[axis.name]])
    if axis.scale == "choices":
        ax.bar(x, view.acquisition, width=0.5, color=FAINT, label="acquisition")
    else:
        ax.plot(x, view.acquisition, color=INK, linewidth=WIDTH, label="acquisition")
    line = ax.axvline(chosen, color=INK, linewidth=0.9, linestyle=":", label="next evaluation")
    ax.margins(x=SIDE)
    set_x(ax, axis, terms)
    ax.set_ylabel(plain(f"acquisition ({view.method})"))
    return [(line, "next evaluation")]
