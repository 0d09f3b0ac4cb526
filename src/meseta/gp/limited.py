"""Whether an outcome keeps its limits in use: its margin at designs, and how sure that is.

The margin is a quantile of what f(x + xi) keeps its limits by, over the noise. Of the mean of f it
takes many draws of xi and little time. What the mean leaves open is, to first order, a weighted sum
of f at the draws next to the quantile, and so Gaussian.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.blocks import at_places
from meseta.gp.in_use import InUse, Rehearsal, between, rehearsal
from meseta.gp.joint import JointPosterior
from meseta.gp.measured import POINTS, PORTIONS
from meseta.gp.mixture import Mixture
from meseta.gp.tilted import Tilted, heaviest, variance_of_sum
from meseta.measures.constraints import Margin
from meseta.noise.draws import Draws, draw

NEXT = 16  # draws next to the quantile, whose f moves it
FEWER = 16  # paths that tell how far off the draws are
UNRESOLVED = 0.5  # the surest that anything is of which draws cannot tell


class LimitedOutcome(NamedTuple):
    """Another outcome of the experiments, and how it keeps its limits, in units of its model."""

    mixture: Mixture
    margin: Margin


@dataclass(frozen=True, eq=False)
class Limited:
    """The margin that an outcome keeps at designs; kept is what is not negative."""

    posterior: JointPosterior
    margin: Margin
    draws: Draws

    def moments(
        self, x: Float[Tensor, "b d"], factors: Float[Tensor, "b d"] | None = None
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, " b"]]:
        """Mean and variance; with `factors` by noise that is so many times as wide."""
        means, tilted = self.tilted(x, factors)
        return means, variance_of_sum(self.posterior, tilted.z, tilted.w)

    def with_fewer(self, num: int) -> "Limited":
        """With some of the draws, for a quick look."""
        return replace(self, draws=self.draws.portion(0, num))

    def tilted(
        self, x: Float[Tensor, "b d"], factors: Float[Tensor, "b d"] | None = None
    ) -> tuple[Float[Tensor, " b"], Tilted]:
        """Its mean, and what moves it."""
        num = max(1, POINTS // len(self.draws.own))
        parts = x.split(num)
        wider = [None] * len(parts) if factors is None else factors.split(num)
        each = [self._next(part, by) for part, by in zip(parts, wider, strict=True)]
        rho, z, w = (torch.cat(column) for column in zip(*each, strict=True))
        return rho, Tilted(x, z, w, with_g=False)

    def _next(self, x: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The margin of the mean of f, and places and weights next to the quantile."""
        places = self.draws(x, factors)
        values = at_places(self.posterior.mean_f, places.z, len(self.posterior.X))
        with torch.enable_grad():
            at = values.detach().requires_grad_()
            (w,) = torch.autograd.grad(self.margin.of(at, places.weights).sum(), at)
        # ranks do not change with a small change, so w is all of the derivative
        rho = self.margin.of(at.detach(), places.weights)
        rho = rho + ((values - values.detach()) * w).sum(-1)
        return rho, *heaviest(places.z, w, NEXT)


def limited(
    posterior: JointPosterior, margin: Margin, num_draws: int, generator: torch.Generator
) -> Limited:
    """With draws of its noise."""
    law, d = posterior.kernel.law, posterior.X.shape[1]
    return Limited(posterior, margin, draw(law, d, num_draws, generator, margin.tail))


def room_to(limits: Sequence[Limited], x: Float[Tensor, "b d"], by: float) -> Float[Tensor, "c b"]:
    """The margins, less as many standard deviations as it takes to be sure."""
    each = [limit.moments(x) for limit in limits]
    return torch.stack([mean - by * variance.sqrt() for mean, variance in each])


@dataclass(frozen=True)
class Assessed:
    """How an outcome keeps its limits at a design, by sample paths of f."""

    mean: float  # of the margin
    std: float
    share: float  # of the noise with which the limits are kept, by the best guess of f
    interval: tuple[float, float]  # of that, 95 %
    sure: float  # the probability that the margin is not negative


@dataclass(frozen=True, eq=False)
class Assessment:
    """Sample paths of an outcome, on which single designs are assessed."""

    rehearsal: Rehearsal
    margin: Margin

    @torch.no_grad()
    def at(self, x: Float[Tensor, " d"]) -> Assessed:
        """How a design keeps the limits."""
        seen, margin = self.rehearsal.at(x), self.margin
        whole, fails = seen.of(margin.exactly).paths, seen.without(margin.worst)
        portions = self._by_portions(seen)
        std = (whole.var() + portions.var() / len(portions)).sqrt()
        off = seen.left_open(margin.worst)
        low, high = between(fails, off)
        passed = (float((whole >= 0).double().sum()) + 0.5) / (len(whole) + 1)
        sure = float(torch.special.ndtr(whole.mean() / std.clamp_min(1e-300)))
        if passed < len(whole) / (len(whole) + 1):  # margins may be skewed
            sure = min(sure, passed)
        if off > margin.share:  # so small a share cannot be told by these draws
            sure = min(sure, UNRESOLVED)
        share = 1 - float(fails.best)
        return Assessed(float(whole.mean()), float(std), share, (1 - high, 1 - low), sure)

    def _by_portions(self, seen: InUse) -> Float[Tensor, " portions"]:
        """The margin by portions of the draws, on average over some paths."""
        by = partial(_portions, self.margin)
        some = [
            by(part.values[:: max(1, len(part.values) // FEWER)], part.weights)
            - by(part.mean[None], part.weights)
            + by(part.of_many[None], seen.weights)
            for part in seen.parts
        ]
        return torch.cat(some, dim=-1).mean(-1)


def assessment(outcome: LimitedOutcome, generator: torch.Generator) -> Assessment:
    """Draw the paths."""
    mixture, margin = outcome
    return Assessment(rehearsal(mixture, margin.tail, generator), margin)


def _portions(margin: Margin, values: Tensor, weights: Tensor) -> Tensor:
    """By portions of the values."""
    parts = zip(values.chunk(PORTIONS, -1), weights.chunk(PORTIONS), strict=True)
    return torch.stack([margin.exactly(v, w / w.sum().clamp_min(1e-300)) for v, w in parts])
