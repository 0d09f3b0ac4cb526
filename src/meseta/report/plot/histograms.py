"""The values in use: how f(x + xi) is distributed at both optima."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from meseta.report.plot.labels import UNNAMED, entry, of_value, percent
from meseta.report.plot.sheet import Entries, own_axes, set_legend
from meseta.report.plot.style import INK, WIDTH, F, G
from meseta.report.views.outcomes import Outcomes, OutcomesOfBoth
from meseta.report.views.wording import Terms

LEAST_SHARE = 0.0005  # smaller ones would be shown as 0.0 %


def outcomes(view: OutcomesOfBoth, terms: Terms = UNNAMED, ax: Axes | None = None) -> Axes:
    """Histograms of the values in use of both optima, with the specification limits."""
    ax = own_axes(ax)
    entries: Entries = []
    for each, share, beyond, look, opacity in (
        (view.nominal, view.nominal_share, view.outside[1], F, 0.10),
        (view.robust, view.robust_share, view.outside[0], G, 0.30),
    ):
        label = _label(each, beyond)
        style: dict[str, Any] = {"edgecolor": look.colour, "linestyle": look.dashes}
        style |= {"facecolor": to_rgba(look.colour, opacity), "linewidth": WIDTH, "fill": True}
        entries.append((ax.stairs(share, view.edges, label=label, **style), label))
    limits = (("at least", terms.at_least, "-."), ("at most", terms.at_most, ":"))
    for word, limit, dashes in limits:
        if limit is not None:
            label = entry(f"{word} {limit:g} {terms.unit}".rstrip())
            line = ax.axvline(limit, color=INK, linewidth=0.9, linestyle=dashes, label=label)
            entries.append((line, label))
    ax.set_ylim(bottom=0)
    ax.set_xlabel(of_value(terms))
    ax.set_ylabel("share of values")
    set_legend(ax, entries, columns=1)
    return ax


def _label(each: Outcomes, beyond: float) -> str:
    """The name, the share within the limits, and the share outside of the plot."""
    meets = "" if each.meets is None else f": {percent(each.meets.value, 1)} within limits"
    outside = f", {percent(beyond, 1)} not shown" if beyond >= LEAST_SHARE else ""
    return entry(f"{each.name}{meets}{outside}")
