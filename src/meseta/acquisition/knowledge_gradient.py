"""The robust knowledge gradient: how much an observation of f(x) lifts the best mean of g."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.incumbent import Incumbent, maximize_mean
from meseta.gp.joint import JointPosterior
from meseta.gp.maxima import Maxima, MaximaOptions, maximize_paths, sample_maxima
from meseta.gp.measured import Measured, maximize_measure, measured
from meseta.gp.surrogate import Units
from meseta.gp.tilted import Tilted
from meseta.inference.envelope import log_expected_gain
from meseta.measures import Measure
from meseta.space.domain import Box, Domain, as_domain

# How much closer to the incumbent: with these in turn the gain is 2 to 10 % low, without 10 to 60 %
# in three dimensions with many data.
CLOSER = (0.3, 0.1, 0.03)
# Paths on which a measure is maximised, and points of the sweep for that: each value costs
# num_draws times as much as one of g.
MOST_PATHS = 16
FEWER_SWEPT = 128


@dataclass(frozen=True)
class KGOptions(MaximaOptions):
    """Settings of the robust knowledge gradient."""

    num_sobol: int = 32  # points of A that are spread over the whole box
    num_draws: int = 64  # of the noise, for measures other than the mean


class KGInfo(NamedTuple):
    """What stands behind an acquisition function."""

    incumbent: Incumbent
    maxima: Maxima  # of the sampled paths, in the model's units
    jitter: float  # added to the diagonal of the data's covariance
    clamped: dict[str, float]  # variances that were negative by more than rounding, so far

    def raw(self, units: Units) -> "KGInfo":
        return self._replace(incumbent=self.incumbent.raw(units))


@dataclass(frozen=True, eq=False)
class KnowledgeGradient:
    """log rKG in the units of the model.

    A are the designs that may be recommended after the next observation, c = L^-1 k_fg(X, A). A
    measure other than the mean has its `tilted` f in place of g.
    """

    posterior: JointPosterior
    A: Float[Tensor, "p d"]
    mean: Float[Tensor, " p"]
    c: Float[Tensor, "p n"]
    starts: Float[Tensor, "s d"]
    info: KGInfo
    tilted: Tilted | None = None

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        return log_expected_gain(self.mean, self.slopes(x))

    def slopes(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "m p"]:
        """s(x', x) = Cov[g(x'), y(x) | D] / sd[y(x) | D]: the mean of g at x' moves by s Z."""
        new, tilted = self.posterior.at(x), self.tilted
        prior = new.k_g(self.A) if tilted is None else tilted.k(new)
        return slopes_of(self.posterior, prior, self.c, x)


def slopes_of(
    posterior: JointPosterior,
    prior: Float[Tensor, "p m"],
    c: Float[Tensor, "p n"],
    x: Float[Tensor, "m d"],
) -> Float[Tensor, "m p"]:
    """By how much an observation at x moves means, per standard deviation of it.

    `prior` are their prior covariances with it, and c those with the data, times L^-1.
    """
    new = posterior.new_observation(x)
    return (prior.mT - new.a @ c.mT) / new.variance.sqrt()[:, None]


def prepare_knowledge_gradient(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: KGOptions,
    measure: Measure | None = None,
) -> KnowledgeGradient:
    """A: the incumbent, the maxima of sample paths of g, and a few points everywhere.

    Where paths of g have their maxima, there the next observation can put the maximum of the mean:
    the cloud shrinks around the incumbent as fast as the posterior does, whatever its shape. One
    observation settles only a part of what is unknown, so each maximum counts once more closer to
    the incumbent.
    """
    domain = as_domain(bounds)
    of = None if measure is None else measured_paths(posterior, measure, options, generator)
    if of is None:
        incumbent = maximize_mean(posterior, posterior.mean_g, domain, generator)
        maxima = sample_maxima(posterior, domain, generator, options)
    else:
        incumbent = maximize_measure([of], [1.0], domain, generator)
        maxima = maximize_paths(of, domain, generator, FEWER_SWEPT)
    return gradient_over(posterior, of, domain, generator, options, incumbent, maxima)


def gradient_over(
    posterior: JointPosterior,
    of: Measured | None,
    domain: Domain,
    generator: torch.Generator,
    options: KGOptions,
    incumbent: Incumbent,
    maxima: Maxima,
) -> KnowledgeGradient:
    """With these designs, closer ones, and some everywhere; `of` None: for the mean."""
    share = torch.tensor(CLOSER, dtype=torch.double)[torch.arange(len(maxima.x)) % len(CLOSER)]
    closer = domain.snap(incumbent.x + share[:, None] * (maxima.x - incumbent.x))
    everywhere = domain.sobol(options.num_sobol, generator)
    A = torch.cat([incumbent.x[None], maxima.x, closer, everywhere])
    tilted = None if of is None else Tilted(A, *of.tilt(A), of.measure.around_mean)
    with_data = posterior.k_gf_data(A) if tilted is None else tilted.k(posterior.observed)
    with torch.no_grad():
        mean = posterior.mean_g(A) if of is None else of.mean(A)
    return KnowledgeGradient(
        posterior=posterior,
        A=A,
        mean=mean,
        c=posterior.whiten(with_data),
        starts=torch.cat([incumbent.x[None], maxima.x]),
        info=KGInfo(incumbent, maxima, posterior.jitter, posterior.clamped.lowest),
        tilted=tilted,
    )


def measured_paths(
    posterior: JointPosterior, measure: Measure, options: KGOptions, generator: torch.Generator
) -> Measured:
    """Not more paths than it takes time for."""
    num_paths = min(options.num_paths, MOST_PATHS)
    return measured(
        posterior, measure, num_paths, options.num_features, options.num_draws, generator
    )
