"""The robust knowledge gradient where other outcomes have to keep limits.

A design is worth its mean, above the worst one, times the probability that it keeps all limits. An
experiment tells f(x) and all other outcomes: each moves the margins of designs by s Z, as f(x)
moves their means. For a few values of these Z the probabilities are numbers, and what is left is
the highest of several lines, as without limits [Ungredda and Branke 2021].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from meseta.acquisition.knowledge_gradient import (
    KGInfo,
    KGOptions,
    KnowledgeGradient,
    gradient_over,
    measured_paths,
    slopes_of,
)
from meseta.gp.incumbent import Incumbent
from meseta.gp.joint import JointPosterior
from meseta.gp.limited import Limited, LimitedOutcome, limited, room_to
from meseta.gp.maxima import Maxima
from meseta.gp.mixture import Mean
from meseta.gp.paths import sample_paths
from meseta.gp.tilted import Tilted, variance_of_sum
from meseta.gp.within_limits import maximize_within
from meseta.inference.envelope import NOTHING, log_expected_gain
from meseta.measures import Measure
from meseta.space.domain import Box, Domain, as_domain

NUM_DRAWS, QUICK = 128, 32  # of the noise, for the margins of designs, and for a quick look
SURE = 1.0  # standard deviations by which the incumbent keeps each limit
# Points of which each scenario takes the best: spread over the box, and around the incumbent,
# within these shares of it.
SWEEP, AROUND = 256, 64
SCALES = (0.3, 0.1, 0.03)
SCENARIOS = 32
# Values of Z for each outcome: Gauss-Hermite nodes, or this number of points if there are many,
# whose variance is by so much larger, over the number of outcomes.
HERMITE = {1: 7, 2: 5}
POINTS, WIDER = 64, 4.5
ROUNDING = 1e-14  # of the largest value
LEAST = math.log(1e-6)  # of the probability to keep a limit, where that is by far not kept


@dataclass(frozen=True, eq=False)
class Limit:
    """What an experiment says about the margins of designs."""

    posterior: JointPosterior
    tilted: Tilted
    c: Float[Tensor, "p n"]  # L^-1 times the prior covariances of the margins with the data
    mean: Float[Tensor, " p"]
    variance: Float[Tensor, " p"]

    def slopes(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "m p"]:
        """The mean of the margin of each design moves by s Z."""
        posterior = self.posterior
        return slopes_of(posterior, self.tilted.k(posterior.at(x)), self.c, x)

    def log_kept(self, x: Float[Tensor, "m d"], Z: Float[Tensor, " k"]) -> Float[Tensor, "m k p"]:
        """The log of the probability that each design keeps the limit, once Z is known."""
        s = self.slopes(x)[:, None]
        left = (self.variance - s.square()).clamp_min(1e-6 * self.variance)
        return log_kept((self.mean + s * Z[:, None]) / left.sqrt())


def log_kept(score: Float[Tensor, "*m"]) -> Float[Tensor, "*m"]:
    """The log of the probability that a normal variable with this mean, of variance 1, is positive.

    Far below 0 it falls slower than that, so that there is a way to go where nothing is likely.
    """
    return torch.logaddexp(torch.special.log_ndtr(score), LEAST - score.square().log1p())


@dataclass(frozen=True, eq=False)
class ConstrainedGradient:
    """The log of the gain. Designs, means and slopes are those of `gradient`."""

    gradient: KnowledgeGradient
    limits: tuple[Limit, ...]
    Z: Float[Tensor, "k c"]
    weights: Float[Tensor, " k"]

    @property
    def starts(self) -> Float[Tensor, "s d"]:
        return self.gradient.starts

    @property
    def info(self) -> KGInfo:
        return self.gradient.info

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        each = zip(self.limits, self.Z.T, strict=True)
        kept = torch.stack([limit.log_kept(x, Z) for limit, Z in each]).sum(0).exp()
        mean = self.gradient.mean
        a = (mean - mean.min()) * kept
        b = self.gradient.slopes(x)[:, None] * kept
        # what the other outcomes decide: the best design given them, over the best without
        decided = a.amax(-1) @ self.weights - (self.weights @ a).amax(-1)
        least = ROUNDING * a.detach().amax().clamp_min(1e-300)
        by_limits = torch.where(decided > least, decided.clamp_min(1e-300).log(), NOTHING)
        gain = log_expected_gain(a.flatten(0, 1), b.flatten(0, 1)).view(len(x), -1)
        return torch.logaddexp(by_limits, (gain + self.weights.log()).logsumexp(-1))


def nodes(num: int, seed: int) -> tuple[Float[Tensor, "k c"], Float[Tensor, " k"]]:
    """Values of `num` independent standard normal variables, and their weights."""
    if num in HERMITE:
        z, w = map(torch.from_numpy, np.polynomial.hermite_e.hermegauss(HERMITE[num]))
        Z = torch.cartesian_prod(*[z] * num).view(-1, num)
        return Z, torch.cartesian_prod(*[w / w.sum()] * num).view(-1, num).prod(-1)
    unit = SobolEngine(num, scramble=True, seed=seed).draw(POINTS // 2, dtype=torch.double)
    half = torch.special.ndtri(unit.clamp(1e-12, 1 - 1e-12))
    scores = torch.cat([half, -half])
    # rare outcomes make most of the gain: they are drawn more often, and count less
    wider = 1 + WIDER / num
    weights = (-(wider - 1) / 2 * scores.square().sum(-1)).softmax(-1)
    return wider**0.5 * scores, weights


def prepare_constrained(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: KGOptions,
    measure: Measure | None = None,
    outcomes: Sequence[LimitedOutcome] = (),
) -> ConstrainedGradient:
    """Designs that may be recommended after the next experiment, and what it can say about them.

    These are the incumbent, and the best design of scenarios: a path of g, and margins that are,
    for each limit, everywhere the same number of standard deviations off.
    """
    domain = as_domain(bounds)
    limits = [
        limited(each.mixture.heaviest, each.margin, NUM_DRAWS, generator) for each in outcomes
    ]
    if measure is None:
        of, value = None, posterior.mean_g
        paths = sample_paths(posterior, SCENARIOS, options.num_features, generator)
    else:
        of = measured_paths(posterior, measure, options, generator)
        value, paths = of.mean, of.paths
    incumbent = _incumbent(posterior, value, limits, domain, generator)

    def heights(x: Tensor) -> Tensor:
        return paths.g(x) + (value(x) - posterior.mean_g(x))

    maxima = _best_of_scenarios(heights, limits, domain, generator, incumbent.x, paths.jitter)
    gradient = gradient_over(posterior, of, domain, generator, options, incumbent, maxima)
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    each = tuple(_limit_at(limit, gradient.A) for limit in limits)
    return ConstrainedGradient(gradient, each, *nodes(len(each), seed))


def _incumbent(
    posterior: JointPosterior,
    value: Mean,
    limits: list[Limited],
    domain: Domain,
    generator: torch.Generator,
) -> Incumbent:
    """The best design that keeps all limits by SURE standard deviations."""

    def room(x: Tensor) -> Tensor:
        return room_to(limits, x, SURE)

    def quick(x: Tensor) -> Tensor:
        return room_to([limit.with_fewer(QUICK) for limit in limits], x, SURE)

    lengthscale = posterior.kernel.kernel.lengthscale
    best = maximize_within(value, room, domain, generator, posterior.X, lengthscale, quick, 1)
    return Incumbent(best.x, torch.tensor(best.value, dtype=torch.double))


@torch.no_grad()
def _best_of_scenarios(
    heights: Mean,
    limits: list[Limited],
    domain: Domain,
    generator: torch.Generator,
    incumbent: Float[Tensor, " d"],
    jitter: float,
) -> Maxima:
    """Among points everywhere, and around the incumbent; where none keeps all, the likeliest."""
    width = domain.bounds[1] - domain.bounds[0]
    around = [
        incumbent + share * width * (torch.rand(AROUND, len(width), generator=generator) * 2 - 1)
        for share in SCALES
    ]
    points = torch.cat(
        [incumbent[None], domain.snap(torch.cat(around)), domain.sobol(SWEEP, generator)]
    )
    values = heights(points)
    moments = [limit.with_fewer(QUICK).moments(points) for limit in limits]
    m = torch.stack([mean for mean, _ in moments])
    sd = torch.stack([variance.sqrt() for _, variance in moments])
    off = torch.randn(len(values), len(limits), 1, generator=generator, dtype=torch.double)
    kept = (m + off * sd >= 0).all(1)
    likely = log_kept(m / sd).sum(0)
    none = ~kept.any(-1, keepdim=True)
    ranks = torch.where(none, likely, torch.where(kept, values, -torch.inf))
    top = ranks.max(-1).indices
    every = torch.arange(len(top))
    return Maxima(values[every, top], points[top], 0, jitter)


def _limit_at(limit: Limited, A: Float[Tensor, "p d"]) -> Limit:
    """What an experiment can say about the margins of these designs."""
    posterior = limit.posterior
    with torch.no_grad():
        mean, tilted = limit.tilted(A)
        variance = variance_of_sum(posterior, tilted.z, tilted.w)
    return Limit(posterior, tilted, posterior.whiten(tilted.k(posterior.observed)), mean, variance)
