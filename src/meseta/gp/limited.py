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

from meseta.gp.blocks import in_blocks
from meseta.gp.joint import JointPosterior
from meseta.gp.measured import POINTS, PORTIONS, Measured, measured_mixture
from meseta.gp.mixture import Mixture
from meseta.gp.tilted import Tilted, heaviest, variance_of_sum
from meseta.measures.constraints import Margin
from meseta.noise.draws import Draws, draw

NEXT = 16  # draws next to the quantile, whose f moves it
# Paths of an outcome, their features, and draws of the noise, where a design is assessed; and draws
# for the mean of f there.
ASSESSED, MANY = (128, 500, 2048), 2**14
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
        values = self.posterior.mean_f(places.z.flatten(0, 1)).view(places.z.shape[:2])
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
    share: float  # of the noise with which the limits are kept, on average
    interval: tuple[float, float]  # of that, 95 %
    sure: float  # the probability that the margin is not negative


@dataclass(frozen=True, eq=False)
class Assessment:
    """Sample paths of an outcome, on which single designs are assessed."""

    parts: tuple[Measured, ...]
    margin: Margin
    many: Draws  # for the mean of f

    @torch.no_grad()
    def at(self, x: Float[Tensor, " d"]) -> Assessed:
        """How a design keeps the limits."""
        many = self.many(x[None])
        of_mean = [in_blocks(part.posterior.mean_f, many.z[0], len(part.X)) for part in self.parts]
        each = [
            self._of(part, x, values, many.weights[0])
            for part, values in zip(self.parts, of_mean, strict=True)
        ]
        whole, some, shares = (torch.cat(column, dim=-1) for column in zip(*each, strict=True))
        portions = some.mean(-1)
        std = (whole.var() + portions.var() / len(portions)).sqrt()
        ends = torch.tensor([0.025, 0.975], dtype=torch.double)
        low, high = shares.quantile(ends).tolist()
        share, off = float(shares.mean().clamp(0, 1)), self._left_open(of_mean[0], many.weights[0])
        between = max(0.0, min(low - off, share)), min(1.0, max(high + off, share))
        passed = (float((whole >= 0).double().sum()) + 0.5) / (len(whole) + 1)
        sure = float(torch.special.ndtr(whole.mean() / std.clamp_min(1e-300)))
        if passed < len(whole) / (len(whole) + 1):  # margins may be skewed
            sure = min(sure, passed)
        if off > self.margin.share:  # so small a share cannot be told by these draws
            sure = min(sure, UNRESOLVED)
        return Assessed(float(whole.mean()), float(std), share, between, sure)

    def _left_open(self, values: Float[Tensor, " m"], weights: Float[Tensor, " m"]) -> float:
        """By how much a share may be off because of the draws, where the mean of f is known."""
        fails = 1 - (self.margin.worst(values) >= 0).double()
        off = 2 * float((weights * (fails - weights @ fails)).norm())
        if fails.sum() >= 3:
            return off
        nearest = self.margin.worst(values).sort().indices[:NEXT]
        return off + 3 * float(weights[nearest].mean())  # the rule of three

    def _of(
        self,
        part: Measured,
        x: Float[Tensor, " d"],
        of_many: Float[Tensor, " m"],
        weights: Float[Tensor, " m"],
    ) -> tuple[Float[Tensor, " paths"], Float[Tensor, "portions some"], Float[Tensor, " paths"]]:
        """The margin of each path, that of some by portions of the draws, and the shares kept.

        Of the mean of f both are known by many draws; by those of the paths only what these differ
        from the mean (control variates).
        """
        few = part.draws(x[None])
        z, w, margin = few.z[0], few.weights[0], self.margin
        mean = part.posterior.mean_f(z)
        values, exactly = part.paths.f(z), margin.exactly
        whole = exactly(values, w) - exactly(mean, w) + exactly(of_many, weights)
        by_portions = partial(_portions, margin)
        differ = by_portions(values[:: max(1, len(values) // FEWER)], w) - by_portions(
            mean[None], w
        )
        shares = margin.kept(values, w) - margin.kept(mean, w) + margin.kept(of_many, weights)
        return whole, differ + by_portions(of_many[None], weights), shares


def assessment(outcome: LimitedOutcome, generator: torch.Generator) -> Assessment:
    """Draw the paths."""
    mixture, margin = outcome
    parts, _ = measured_mixture(mixture, margin, *ASSESSED, generator)
    law, d = mixture.heaviest.kernel.law, mixture.heaviest.X.shape[1]
    return Assessment(tuple(parts), margin, draw(law, d, MANY, generator, margin.tail))


def _portions(margin: Margin, values: Tensor, weights: Tensor) -> Tensor:
    """By portions of the values."""
    parts = zip(values.chunk(PORTIONS, -1), weights.chunk(PORTIONS), strict=True)
    return torch.stack([margin.exactly(v, w / w.sum().clamp_min(1e-300)) for v, w in parts])
