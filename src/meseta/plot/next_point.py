"""What the method expects of each point: the acquisition function, and the point that it chose."""

from matplotlib.axes import Axes

from meseta.plot.look import FAINT, INK, WIDTH
from meseta.plot.scale import places, set_x
from meseta.plot.sheet import own_axes, set_legend
from meseta.plot.words import UNNAMED, plain
from meseta.views.landscape import NextPoint
from meseta.views.terms import Terms


def acquisition(view: NextPoint, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """The acquisition function along the only parameter, and what would be evaluated next."""
    if view.axis is None:
        raise ValueError(
            "an acquisition function is drawn along one parameter, but this point has "
            f"{', '.join(view.params)} and no curve; there is one for designs of one parameter and "
            "methods that have a model"
        )
    ax = own_axes(ax, height=1.7)
    x = places(view.axis, view.axis.values)
    (chosen,) = places(view.axis, [view.params[view.axis.name]])
    if view.axis.scale == "choices":
        ax.bar(x, view.acquisition, width=0.5, color=FAINT, label="acquisition")
    else:
        ax.plot(x, view.acquisition, color=INK, linewidth=WIDTH, label="acquisition")
    line = ax.axvline(chosen, color=INK, linewidth=0.9, linestyle=":", label="next evaluation")
    ax.margins(x=0.02)
    set_x(ax, view.axis, terms)
    ax.set_ylabel(plain(f"acquisition ({view.method})"))
    set_legend(ax, [(line, "next evaluation")])
    return ax
