"""How far each value can be trusted: what was told about it, and what its repeats say."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import polygamma
from torch import Tensor

from meseta.gp.observed import LogVariance, Unseen

# Repeats that agree this much better than others do so by chance, or because they were rounded.
LEAST_SHARE = 1e-4
MOST_FREEDOM = 1e6  # of the variance that all have in common


@dataclass(frozen=True, eq=False)
class Quality:
    """What is known about the values of a fit besides themselves."""

    known: Float[Tensor, " n"]  # the variance of each value, raw; NaN: the one that all share
    count: Float[Tensor, " n"]  # the measurements of which each value is the mean
    unseen: Unseen | None = None  # the rows that the noise acted on, in shares of the box
    new_unseen: bool = False  # whether it will act on the next one
    log_variance: LogVariance | None = None  # of a new one, raw, of shares of the box; None: as all


def plain(n: int) -> Quality:
    """Nothing is known, and each value is one measurement."""
    return Quality(torch.full((n,), math.nan).double(), torch.ones(n).double())


def known_variances(std: Float[Tensor, " n"], count: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The variance of each value of which a standard deviation was told; NaN: of none.

    That of a single measurement is taken as it is. That of several is an estimate by these few,
    which borrows from the estimates of all others (see `pooled`).
    """
    single = std.square()
    repeated = ~std.isnan() & (count > 1)
    if repeated.any():
        single = single.clone()
        single[repeated] = pooled(single[repeated], count[repeated] - 1)
    return single / count


def pooled(squares: Float[Tensor, " k"], freedom: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
    """Better estimates of variances than the mean squares of a few repeats, by what all have.

    The variances are taken to be s0^2 d0 / chi^2 with d0 degrees of freedom around a common s0^2;
    both follow from mean and spread of the logs of the mean squares [Smyth 2004]. Where these do
    not differ by more than chance, all variances are the same.
    """
    if len(squares) < 2:
        return squares
    floor = LEAST_SHARE * (freedom * squares).sum() / freedom.sum()
    if not floor > 0:
        return squares
    half = freedom / 2
    logs = squares.clamp_min(float(floor)).log() - torch.digamma(half) + half.log()
    between = float(logs.var() - torch.polygamma(1, half).mean())
    prior = _freedom_with(between)
    common = float(logs.mean())
    if prior >= MOST_FREEDOM:
        return squares.new_full(squares.shape, float((freedom * squares).sum() / freedom.sum()))
    s0 = math.exp(common + float(torch.digamma(torch.tensor(prior / 2))) - math.log(prior / 2))
    return (prior * s0 + freedom * squares) / (prior + freedom)


def _freedom_with(spread: float) -> float:
    """The degrees of freedom with which the log of a mean square has this variance."""
    if spread <= float(polygamma(1, MOST_FREEDOM / 2)):
        return MOST_FREEDOM
    low, high = 1e-3, MOST_FREEDOM
    if spread >= float(polygamma(1, low / 2)):
        return low
    found = brentq(lambda d: math.log(float(polygamma(1, d / 2)) / spread), low, high)
    return float(found)
