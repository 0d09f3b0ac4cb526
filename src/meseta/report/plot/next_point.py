"""What the method expects of each point: the acquisition function, and the point that it chose."""

from matplotlib.axes import Axes

from meseta.report.plot.look import FAINT, INK, WIDTH
from meseta.report.plot.scale import SIDE, places, set_x
from meseta.report.plot.sheet import Entries, own_axes, set_legend
from meseta.report.plot.texts import UNNAMED, plain
from meseta.report.views.axis import Axis
from meseta.report.views.next_point import NextPoint
from meseta.report.views.terms import Terms


def acquisition(view: NextPoint, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """The acquisition function along the only parameter, and what would be evaluated next."""
    if view.axis is None:
        raise ValueError(
            "an acquisition function is drawn along one parameter, but this point has "
            f"{', '.join(view.params)} and no curve; there is one for designs of one parameter and "
            "methods that have a model"
        )
    ax = own_axes(ax, height=1.7)
    set_legend(ax, draw_acquisition(ax, view, view.axis, terms))
    return ax


def draw_acquisition(ax: Axes, view: NextPoint, axis: Axis, terms: Terms) -> Entries:
    """All but the legend."""
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
