"""Measured deviations beside the noise laws that are fitted to them."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meseta.noise.fitting import FittedLaw, NoiseFit
from meseta.report.plot.labels import entry, plain
from meseta.report.plot.sheet import PAGE, Entries, new_sheet, set_legend
from meseta.report.plot.style import FAINT, INK, SERIES, WIDTH

MOST_DRAWN = 3  # laws
POINTS = 401


def noise_fits(fits: Mapping[str, NoiseFit]) -> Figure:
    """For each parameter: a histogram with the densities of laws, and quantiles of the best one.

    The keys are the labels of the axes, such as "speed [m/s]".
    """
    sheet, axes = new_sheet(len(fits), 2, (PAGE, 0.4 + 2.3 * len(fits)))
    for row, (label, fit) in enumerate(fits.items()):
        laws = [law for law in (fit.best, *fit.as_good, *fit.laws) if law.width is not None]
        shown = list({law.title: law for law in laws}.values())
        _histogram(axes[2 * row], label, fit, shown)
        _quantiles(axes[2 * row + 1], label, fit, shown[0])
    return sheet


def _alike(fit: NoiseFit, laws: list[FittedLaw]) -> list[FittedLaw]:
    """Those whose numbers are of the same kind as those of the first one."""
    seen = fit.seen_by(laws[0])
    return [law for law in laws if np.array_equal(fit.seen_by(law), seen)][:MOST_DRAWN]


def _named(label: str, law: FittedLaw) -> str:
    if law.relative:
        return plain(f"deviation of {label}, by the planned value")
    kind = "logarithm of the factor" if law.name == "log-normal" else "deviation"
    return plain(f"{kind} of {label}")


def _histogram(ax: Axes, label: str, fit: NoiseFit, laws: list[FittedLaw]) -> None:
    values = fit.seen_by(laws[0])
    bins = min(60, max(5, round(2 * len(values) ** (1 / 3))))
    ax.hist(values, bins=bins, density=True, color=FAINT, alpha=0.35, linewidth=0)
    ax.plot(values, np.zeros_like(values), "|", color=INK, markersize=5, clip_on=False)
    margin = 0.15 * float(np.ptp(values))
    x = np.linspace(values.min() - margin, values.max() + margin, POINTS)
    entries: Entries = []
    for law, look in zip(_alike(fit, laws), SERIES, strict=False):
        style = {"color": look.colour, "linestyle": look.dashes, "linewidth": WIDTH}
        (line,) = ax.plot(x, law.density(x), **style)
        fits = "fits" if law.fits else "does not fit"
        entries.append((line, entry(f"{law.title}: {fits}")))
    ax.set_ylim(bottom=0)
    ax.set_xlabel(_named(label, laws[0]))
    ax.set_ylabel("density")
    set_legend(ax, entries, columns=1)


def _quantiles(ax: Axes, label: str, fit: NoiseFit, law: FittedLaw) -> None:
    """The sorted values over those that the law has in their places."""
    values = np.sort(fit.seen_by(law))
    expected = law.quantile((np.arange(len(values)) + 0.5) / len(values))
    ax.axline((float(expected[0]),) * 2, (float(expected[-1]),) * 2, color=FAINT, linewidth=0.8)
    ax.plot(expected, values, "o", color=SERIES[0].colour, markersize=3)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(plain(f"expected by {law.title}"))
    ax.set_ylabel("measured")
