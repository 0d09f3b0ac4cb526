"""Which tolerance matters: the best robust value as each noise changes."""

import numpy as np
from matplotlib.axes import Axes

from meseta.report.plot.labels import UNNAMED, entry, named, plain
from meseta.report.plot.sheet import PAGE, Entries, Sheet, new_sheet, set_legend
from meseta.report.plot.style import FAINT, INK, SERIES, Look, draw_band
from meseta.report.views.estimate import BAND
from meseta.report.views.tolerances import Tolerance, Tolerances
from meseta.report.views.wording import Terms

OTHER = Look(FAINT, "-", "", 0.0)  # the look of the least important ones


def tolerances(view: Tolerances, terms: Terms = UNNAMED) -> Sheet:
    """Left: g* over the factor of each noise. Right: the gain from half the noise.

    Both have 95 % intervals.
    """
    if not view.each:
        raise ValueError("there is no tolerance to draw: no parameter has noise")
    looks = [*SERIES, *[OTHER] * len(view.each)][: len(view.each)]
    height = max(2.5, 0.9 + 0.24 * len(looks))
    sheet, (left, right) = new_sheet(1, 2, (PAGE, height), width_ratios=(1.15, 1))
    _draw_curves(left, view.each, looks, terms)
    _draw_gains(right, view.each, looks, terms)
    return sheet


def _draw_curves(ax: Axes, each: tuple[Tolerance, ...], looks: list[Look], terms: Terms) -> None:
    entries: Entries = []
    for tolerance, look in zip(each, looks, strict=True):
        mean, low, high = (
            np.array([getattr(best, part) for best in tolerance.best])
            for part in ("mean", "low", "high")
        )
        label = entry(tolerance.name) if look is not OTHER else "others"
        band, line = draw_band(ax, np.array(tolerance.factors), mean, low, high, look, label)
        line.set(marker=look.marker, markersize=look.size)
        band.set_visible(look is not OTHER)  # many bands would hide each other
        if label not in [text for _, text in entries]:
            entries.append(((band, line), label))
    ax.axvline(1, color=INK, linewidth=0.6, linestyle=":", zorder=0.5)  # the noise of today
    ax.margins(x=0.02)
    ax.set_xlabel("factor of the noise")
    ax.set_ylabel(named(f"best expected {terms.value}", terms.unit))
    set_legend(ax, entries, columns=2 if len(entries) in (2, 4) else 3)


def _draw_gains(ax: Axes, each: tuple[Tolerance, ...], looks: list[Look], terms: Terms) -> None:
    at = list(range(len(each)))
    gains = [tolerance.halving for tolerance in each]
    reach = [BAND * gain.std for gain in gains]
    ax.barh(
        at,
        [gain.mean for gain in gains],
        xerr=reach,
        height=0.6,
        color=[look.colour for look in looks],
        alpha=0.75,
        error_kw={"ecolor": INK, "elinewidth": 0.9, "capsize": 2},
    )
    ax.axvline(0, color=INK, linewidth=0.6)
    ax.set_yticks(at, [plain(tolerance.name) for tolerance in each])
    ax.set_ylim(max(len(each), 3) - 0.5, -0.5)  # downwards: the most important one is at the top
    ax.set_xlabel(named("gain from half the noise", terms.unit))
