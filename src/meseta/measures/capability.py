"""Process capability: how well values in use keep a specification, by the indices of the trade."""

import math
from typing import NamedTuple

import torch

from meseta.measures.constraints import Constraint
from meseta.measures.measure import Rho, Values, Weights
from meseta.measures.weighted import percentiles
from meseta.measures.weighted import std as scatter

# The shares of a normal law beyond its mean plus and minus three standard deviations.
BEYOND = 0.0013498980316300933
ROUNDED = 1e-12  # of the largest value: no scatter
GOOD = 1.33  # what is commonly asked of an index


class Indices(NamedTuple):
    """Of the values of a design; each a number for every row of the values.

    An index of a value without scatter is infinite, positive if the value keeps the limits. `cp`
    and `cpm` are not a number where a limit is missing.
    """

    mean: Rho
    std: Rho
    low: Rho  # the value that BEYOND are below
    median: Rho
    high: Rho  # the value that BEYOND are above
    below: Rho  # the share of the values that are less than the lower limit
    above: Rho  # the share that is greater than the upper limit
    cp: Rho  # the room between the limits over six standard deviations
    cpk: Rho  # from the mean to the nearer limit, over three
    ppk: Rho  # from the median to the nearer limit, over the way to `low` or `high`: any law
    cpm: Rho  # as cp, with the mean square from the target in place of the variance

    @property
    def outside(self) -> Rho:
        """The share of the values that break a limit."""
        return self.below + self.above


def indices(
    values: Values, weights: Weights, goal: Constraint, target: float | None = None
) -> Indices:
    """The indices of weighted values; the weights are 1 together.

    Percentiles are those of ISO 22514-2, which for a normal law give the same as mean and standard
    deviation. Without a target it is the middle between the limits.
    """
    mean = (weights * values).sum(-1)
    std = scatter(values, weights)
    least = ROUNDED * values.abs().amax(-1)  # what scatters by less does not
    low, median, high = percentiles(values, weights, (BEYOND, 0.5, 1 - BEYOND))
    below = (weights * (values < goal.low)).sum(-1)
    above = (weights * (values > goal.high)).sum(-1)
    wide = goal.high - goal.low
    middle = (goal.low + goal.high) / 2 if target is None else target
    off = (std.square() + (mean - middle).square()).sqrt()
    unknown = torch.full_like(mean, math.nan)
    both = math.isfinite(wide)
    return Indices(
        mean=mean,
        std=std,
        low=low,
        median=median,
        high=high,
        below=below,
        above=above,
        cp=wide / (6 * std) if both else unknown,
        cpk=_nearer(mean - goal.low, 3 * std, goal.high - mean, 3 * std, least),
        ppk=_nearer(median - goal.low, median - low, goal.high - median, high - median, least),
        cpm=wide / (6 * off) if both else unknown,
    )


def _nearer(below: Rho, down: Rho, above: Rho, up: Rho, least: Rho) -> Rho:
    """The smaller of both ratios; one without a limit is infinite."""
    return torch.minimum(_ratio(below, down, least), _ratio(above, up, least))


def _ratio(room: Rho, by: Rho, least: Rho) -> Rho:
    # what lies on its limit and does not scatter has all of the room that it needs
    whole = torch.where(room < 0, -math.inf, math.inf)
    return torch.where((by > least) & room.isfinite(), room / by.clamp_min(1e-300), whole)
