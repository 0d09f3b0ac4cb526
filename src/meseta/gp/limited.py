"""Whether an outcome keeps its limits in use: its margin at designs, and how sure that is.

The margin is a quantile of what f(x + xi) keeps its limits by, over the noise. Of the mean of f it
takes many draws of xi and little time. What the mean leaves open is, to first order, a weighted sum
of f at the draws next to the quantile, and so Gaussian.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.blocks import at_places
from meseta.gp.in_use import Rehearsal, Taken, rehearsal
from meseta.gp.joint import JointPosterior
from meseta.gp.measured import POINTS
from meseta.gp.mixture import Mixture
from meseta.gp.tilted import Tilted, heaviest, variance_of_sum
from meseta.measures.constraints import Margin
from meseta.noise import NoiseLaw
from meseta.noise.draws import Draws, draw

NEXT = 16  # draws next to the quantile, whose f moves it
SMALL = 0.05  # a share of values that break a limit, which is looked at closely
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
        values = self.draws.in_use(values, self.posterior.scatter(x))
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
    draws = draw(law, d, num_draws, generator, margin.tail, posterior.scatters)
    return Limited(posterior, margin, draws)


def room_to(limits: Sequence[Limited], x: Float[Tensor, "b d"], by: float) -> Float[Tensor, "c b"]:
    """The margins, less as many standard deviations as it takes to be sure."""
    each = [limit.moments(x) for limit in limits]
    return torch.stack([mean - by * variance.sqrt() for mean, variance in each])


@dataclass(frozen=True)
class Assessed:
    """How an outcome keeps its limits at a design, by samples of f."""

    margin: Taken
    share: float  # of the noise with which the limits are kept, by the best guess of f
    interval: tuple[float, float]  # of that, 95 %
    resolved: bool  # whether so small a share can be told by the draws of the noise
    broken: tuple[float, float]  # the share below the lower limit, and above the upper one

    def room(self, by: float) -> float:
        """Return the margin that is kept as surely as a Gaussian one by so many deviations."""
        level = float(torch.special.ndtr(torch.tensor(-by, dtype=torch.double)))
        return float(self.margin.samples.quantile(level))

    @property
    def sure(self) -> float:
        """The probability that the margin is not negative."""
        return sure_of([self])


def surplus(assessed: Sequence[Assessed], confidence: float) -> float:
    """The least margin that is kept with this confidence; `sure_of` reaches it where it is >= 0."""
    least = torch.stack([each.margin.samples for each in assessed]).amin(0)
    needed = max(1, math.ceil(confidence * (len(least) + 1) - 0.5))
    if needed > len(least) or (
        confidence > UNRESOLVED and not all(each.resolved for each in assessed)
    ):
        return -math.inf
    return float(least.sort(descending=True).values[needed - 1])


def sure_of(assessed: Sequence[Assessed]) -> float:
    """The probability that all limits are kept as often as is asked for."""
    if not assessed:
        return 1.0
    kept = torch.stack([each.margin.samples >= 0 for each in assessed]).all(0)
    sure = (float(kept.double().sum()) + 0.5) / (len(kept) + 1)
    return sure if all(each.resolved for each in assessed) else min(sure, UNRESOLVED)


@dataclass(frozen=True, eq=False)
class Assessment:
    """Samples of an outcome, on which single designs are assessed."""

    rehearsal: Rehearsal
    margin: Margin

    def best_guess(
        self, x: Float[Tensor, " d"], factors: Float[Tensor, "1 d"] | None = None
    ) -> float:
        """The margin by the best guess of f."""
        return float(self.margin.exactly(*self.rehearsal.best_guess(x, factors)))

    def at(self, x: Float[Tensor, " d"], factors: Float[Tensor, "1 d"] | None = None) -> Assessed:
        """How a design keeps the limits; with `factors` by noise so many times as wide."""
        return self._by(self.rehearsal, x, factors)

    def closely(self, x: Float[Tensor, " d"]) -> Assessed:
        """The same, small shares by draws around the places that decide."""
        rehearsal, margin = self.rehearsal, self.margin
        values, weights = rehearsal.best_guess(x)
        if margin.sides and 1 - float(margin.kept(values, weights)) < SMALL:
            rehearsal = rehearsal.around(x, [side.worst for side in margin.sides])
        return self._by(rehearsal, x)

    def _by(
        self,
        rehearsal: Rehearsal,
        x: Float[Tensor, " d"],
        factors: Float[Tensor, "1 d"] | None = None,
    ) -> Assessed:
        seen, margin = rehearsal.at(x, factors), self.margin
        fails = seen.without(margin.worst)
        low, high = fails.between()
        assert fails.share is not None
        below, above = (
            float(seen.weights @ beyond.double())
            for beyond in (seen.best < margin.low, seen.best > margin.high)
        )
        return Assessed(
            seen.measure(margin),
            1 - float(fails.best),
            (1 - high, 1 - low),
            fails.share.off <= margin.share,
            (below, above),
        )


def assessment(
    outcome: LimitedOutcome, generator: torch.Generator, law: NoiseLaw | None = None
) -> Assessment:
    """Draw the noise; see `rehearsal`."""
    mixture, margin = outcome
    return Assessment(rehearsal(mixture, margin, generator, law=law), margin)
