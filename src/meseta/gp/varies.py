"""Noise whose variance depends on the design, learned from repeats."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.gp.fit import fit_surrogates
from meseta.gp.joint import JointPosterior
from meseta.gp.observed import LogVariance
from meseta.gp.quality import LEAST_SHARE, Quality
from meseta.gp.robust import joint_posterior
from meseta.gp.surrogate import Units
from meseta.noise import Normal

LEAST_DESIGNS = 3  # with repeats, below which one variance holds for all
# A standard deviation that is told for a single measurement counts as one of so many repeats.
WORTH = 100.0


class Repeats(NamedTuple):
    """Designs that were measured more than once: how much a measurement scatters there."""

    rows: Int[Tensor, " k"]  # the first of each design
    squares: Float[Tensor, " k"]  # mean squares, which estimate the variance of a measurement
    freedom: Float[Tensor, " k"]


def repeats(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    std: Float[Tensor, " n"],
    count: Float[Tensor, " n"],
) -> Repeats:
    """From values at the same design, and from standard deviations that were told (or NaN)."""
    _, group = X.unique(dim=0, return_inverse=True)
    num = int(group.max()) + 1
    total = torch.zeros(num, dtype=torch.double).index_add(0, group, count)
    mean = torch.zeros_like(total).index_add(0, group, count * y) / total
    between = count * (y - mean[group]).square()
    told = ~std.isnan()
    within = torch.where(count > 1, count - 1, WORTH)
    sums = torch.zeros_like(total).index_add(0, group, between)
    sums = sums.index_add(0, group[told], (within * std.square())[told])
    freedom = torch.bincount(group, minlength=num).double() - 1
    freedom = freedom.index_add(0, group[told], within[told])
    row = torch.arange(len(X))
    first = torch.full((num,), len(X)).scatter_reduce(0, group, row, "amin")
    some = (freedom > 0).nonzero().flatten()
    some = some[first[some].argsort()]
    return Repeats(first[some], sums[some] / freedom[some], freedom[some])


def varying_quality(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    std: Float[Tensor, " n"],
    quality: Quality,
) -> tuple[Quality, str]:
    """With a variance for each value, by a smooth function of the design; X as shares of the box.

    The logs of the mean squares have a Gaussian process of their own: log s^2 scatters around the
    log of the variance as that of chi^2 / freedom does [Ankenman et al. 2010]. The second is why
    there are too few repeats for that; empty: there are enough.
    """
    seen = torch.ones(len(X), dtype=torch.bool) if quality.unseen is None else ~quality.unseen.rows
    rows = seen.nonzero().flatten()
    if not len(rows):
        return quality, _too_few(0)
    found = repeats(X[rows], y[rows], std[rows], quality.count[rows])
    floor = LEAST_SHARE * float((found.freedom * found.squares).sum() / found.freedom.sum())
    if len(found.rows) < LEAST_DESIGNS or not floor > 0:
        return quality, _too_few(len(found.rows))
    half = found.freedom / 2
    logs = found.squares.clamp_min(floor).log() - torch.digamma(half) + half.log()
    ones = torch.ones_like(half)
    box = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
    fit = fit_surrogates(
        X[rows][found.rows],
        logs,
        box,
        kernel="se",
        quality=Quality(torch.polygamma(1, half), ones),
    )
    surrogate = fit.surrogates[0]
    surface = _surface(joint_posterior(surrogate, Normal(0.0), box), surrogate.units)
    with torch.no_grad():
        known = surface(X).exp() / quality.count
    return Quality(known, quality.count, quality.unseen, quality.new_unseen, surface), ""


def _surface(posterior: JointPosterior, units: Units) -> LogVariance:
    """The log of the mean of the variance."""

    def log_variance(x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        k = posterior.k_f_data(x)
        most = posterior.kernel.prior_variance
        v = (most - posterior.whiten(k).square().sum(-1)).clamp_min(0.0)
        mean = posterior.mean + k @ posterior.alpha
        return units.y_to_raw(mean) + units.y_scale**2 * v / 2

    return log_variance


def _too_few(num: int) -> str:
    return (
        f"a noise variance that depends on the design is learned from repeats at {LEAST_DESIGNS} "
        f"designs or more, and there are {num}: one variance holds for all"
    )
