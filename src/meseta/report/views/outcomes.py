"""The values in use: the distribution of f(x + xi) at a design.

Scatter and ignorance are two things. The distribution is that of the best guess of f; its intervals
say what is not known about it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.in_use import InUse, Taken
from meseta.measures.weighted import percentiles, std
from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.meeting import inside
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 2000  # samples of the noise
BINS = 40
SHOWN = 0.999  # share of the values of each design that the bins hold


@dataclass(frozen=True)
class Outcomes:
    """The values of one design in use.

    Intervals show how well the model knows the distribution, not how wide the distribution is.
    """

    name: str  # "robust optimum" or "nominal optimum"
    values: tuple[float, ...]  # samples of f(x + xi) by the best guess of f, ordered
    quantiles: tuple[SampledEstimate, ...]  # at LEVELS
    std: SampledEstimate  # of f(x + xi)
    meets: SampledEstimate | None  # share that meets the specification; None without one


@dataclass(frozen=True)
class OutcomesOfBoth:
    """The values in use of both optima, counted in the same bins."""

    robust: Outcomes
    nominal: Outcomes
    edges: tuple[float, ...]  # of the bins, one more than there are bins
    robust_share: tuple[float, ...]  # share of the values in each bin
    nominal_share: tuple[float, ...]
    outside: tuple[float, float]  # share of the values beyond the bins, robust and nominal
    robust_band: tuple[tuple[float, ...], tuple[float, ...]]  # 95 % intervals of these shares
    nominal_band: tuple[tuple[float, ...], tuple[float, ...]]
    scatter: str = ""  # what the values count of the scatter of single ones, in words


def outcomes(subject: Subject, terms: Terms) -> OutcomesOfBoth:
    """Both optima with the same draws of the noise and the same paths of f."""
    both = [subject.in_use(x) for x in (subject.x_robust, subject.x_nominal)]
    edges = _edges(both)
    counted = [_histogram(each, edges) for each in both]
    (robust, around), (nominal, about) = counted
    rows = ((ROBUST, subject.x_robust), (NOMINAL, subject.x_nominal))
    tables = [
        _outcomes(name, each, None if terms.goal is None else inside(subject, terms.goal, x))
        for (name, x), each in zip(rows, both, strict=True)
    ]
    return OutcomesOfBoth(
        tables[0],
        tables[1],
        tuple(edges.tolist()),
        robust,
        nominal,
        (max(0.0, 1 - sum(robust)), max(0.0, 1 - sum(nominal))),
        around,
        about,
        subject.scatter_in_words,
    )


def central(pooled: float, of_each: Float[Tensor, " paths"]) -> SampledEstimate:
    """A value with the central 95 % interval of the values of single paths of f."""
    low, high = of_each.quantile(torch.tensor([0.025, 0.975], dtype=torch.double)).tolist()
    return SampledEstimate(pooled, min(low, pooled), max(high, pooled))


def sampled(taken: Taken) -> SampledEstimate:
    """A statistic by the best guess, with its interval."""
    return central(float(taken.best), taken.samples)


def quantile(level: float) -> Callable[[Tensor, Tensor], Tensor]:
    """The quantile of weighted values."""
    return lambda values, weights: percentiles(values, weights, (level,))[0]


def _outcomes(name: str, seen: InUse, meets: SampledEstimate | None) -> Outcomes:
    spread = sampled(seen.of(std))
    return Outcomes(
        name,
        tuple(_even(seen).tolist()),
        tuple(sampled(seen.of(quantile(level))) for level in LEVELS),
        SampledEstimate(spread.value, max(0.0, spread.low), spread.high),
        meets,
    )


def _even(seen: InUse) -> Float[Tensor, " draws"]:
    """Values that count alike, in order."""
    ranked, order = seen.best.sort()
    below = seen.weights[order].cumsum(0)
    at = (torch.arange(DRAWS, dtype=torch.double) + 0.5) / DRAWS
    return ranked[torch.searchsorted(below, at).clamp_max(len(ranked) - 1)]


def _edges(both: list[InUse]) -> Float[Tensor, " edges"]:
    """Bins that hold nearly all values of the best guess, and those of most paths."""
    ends = []
    for level in ((1 - SHOWN) / 2, (1 + SHOWN) / 2):
        taken = [each.of(quantile(level)) for each in both]
        ends.append([float(v) for t in taken for v in (t.best, t.samples.median())])
    low, high = min(ends[0]), max(ends[1])
    if not high - low > 1e-9 * max(abs(low), abs(high)):  # nothing is perturbed, and f is known
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    return torch.linspace(low, high, BINS + 1, dtype=torch.double)


def _histogram(
    seen: InUse, edges: Float[Tensor, " edges"]
) -> tuple[tuple[float, ...], tuple[tuple[float, ...], tuple[float, ...]]]:
    """The share of the values in each bin, and the ends of its 95 % interval."""
    best = _counted(seen.best[None], seen.weights, edges)[0]
    off = best - _counted(seen.guess[None], seen.few, edges)[0]  # what the few draws miss
    each = (_counted(seen.values, seen.few, edges) + off).clamp(0, 1)
    ends = torch.tensor([0.025, 0.975], dtype=torch.double)
    low, high = each.quantile(ends, dim=0)
    band = torch.minimum(low, best), torch.maximum(high, best)
    return tuple(best.tolist()), (tuple(band[0].tolist()), tuple(band[1].tolist()))


def _counted(
    values: Float[Tensor, "p m"], weights: Float[Tensor, " m"], edges: Float[Tensor, " edges"]
) -> Float[Tensor, "p bins"]:
    """Weighted shares of the values between edges; the last bin has its upper edge."""
    bins = len(edges) - 1
    at = torch.searchsorted(edges, values.contiguous(), right=True) - 1
    at = torch.where(values == edges[-1], bins - 1, at)
    inside = (at >= 0) & (at < bins)
    counted = torch.zeros(len(values), bins, dtype=torch.double)
    return counted.scatter_add_(1, at.clamp(0, bins - 1), weights * inside)
