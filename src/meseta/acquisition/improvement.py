"""Expected improvement and upper confidence bound, looking at g or at f."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.incumbent import Incumbent, maximize_mean
from meseta.gp.joint import JointPosterior
from meseta.gp.surrogate import Units
from meseta.inference.truncated import INERT, standard_truncation
from meseta.kernels import smooth
from meseta.noise import Normal
from meseta.space.domain import Box

CLOUD = 32  # starting points around the incumbent, from a lengthscale away to a thousandth of it
MOST_DEVIATIONS = 1e6  # beyond, the bound is the standard deviation and nothing else


@dataclass(frozen=True)
class EIOptions:
    """Expected improvement has no settings: its incumbent is the maximum of the mean."""


@dataclass(frozen=True)
class UCBOptions:
    """Settings of the upper confidence bound."""

    num_deviations: float = 2.0  # standard deviations that are added to the mean

    def __post_init__(self) -> None:
        if not 0 <= self.num_deviations <= MOST_DEVIATIONS:
            raise ValueError(
                f"num_deviations must lie between 0 and {MOST_DEVIATIONS:g}, got "
                f"{self.num_deviations}: "
                "the bound is the mean plus this number of standard deviations"
            )


class IncumbentInfo(NamedTuple):
    """The highest mean, which an observation is to improve upon."""

    incumbent: Incumbent
    jitter: float  # added to the diagonal of the data's covariance
    clamped: dict[str, float]  # variances that were negative by more than rounding, so far

    def raw(self, units: Units) -> "IncumbentInfo":
        return self._replace(incumbent=self.incumbent.raw(units))


@dataclass(frozen=True, eq=False)
class Improvement:
    """log EI of g over the incumbent: log E max(g(x) - best, 0), as if g were observed."""

    posterior: JointPosterior
    starts: Float[Tensor, "s d"]
    info: IncumbentInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        moments = self.posterior.moments(x)
        sd = moments.v_g.sqrt()
        return sd.log() + log_improvement((moments.m_g - self.info.incumbent.value) / sd)


@dataclass(frozen=True, eq=False)
class ConfidenceBound:
    """m_g + num_deviations sqrt(v_g)."""

    posterior: JointPosterior
    num_deviations: float
    starts: Float[Tensor, "s d"]
    info: IncumbentInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        moments = self.posterior.moments(x)
        return moments.m_g + self.num_deviations * moments.v_g.sqrt()


def log_improvement(u: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """log(phi(u) + u Phi(u)) = log Phi(u) + log(u + r), with r = phi(u) / Phi(u).

    Relative accuracy 1e-12, and 1e-8 of the slope, from u = -1e8 on, where the plain formula has
    none below -38 [Ament et al. 2023].
    """
    near = u.clamp_max(INERT)
    truncation = standard_truncation(near)
    # log Phi = log phi - log r below 0: the slope of log_ndtr is lost far out
    r = torch.where(u < 0, truncation.r, 1.0)
    below = -0.5 * near.square() - 0.5 * math.log(2 * math.pi) - r.log()
    log_phi = torch.where(u < 0, below, torch.special.log_ndtr(near.clamp_min(0)))
    value = log_phi + truncation.gap.log()
    return torch.where(u < INERT, value, u.clamp_min(INERT).log())


def prepare_ei(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: EIOptions,
) -> Improvement:
    """log EI over the highest mean of g, as if g were observed without noise."""
    incumbent = maximize_mean(posterior, posterior.mean_g, bounds, generator)
    return Improvement(
        posterior, around(incumbent.x, posterior, generator), _info(posterior, incumbent)
    )


def prepare_ei_of_f(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: EIOptions,
) -> Improvement:
    """log EI over the highest mean of f: standard Bayesian optimization."""
    return prepare_ei(without_noise(posterior), bounds, generator, options)


def prepare_ucb(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: UCBOptions,
) -> ConfidenceBound:
    """m_g + 2 sqrt(v_g)."""
    incumbent = maximize_mean(posterior, posterior.mean_g, bounds, generator)
    starts = around(incumbent.x, posterior, generator)
    return ConfidenceBound(posterior, options.num_deviations, starts, _info(posterior, incumbent))


def _info(posterior: JointPosterior, incumbent: Incumbent) -> IncumbentInfo:
    return IncumbentInfo(incumbent, posterior.jitter, posterior.clamped.lowest)


def without_noise(posterior: JointPosterior) -> JointPosterior:
    """The same posterior with xi = 0, so that g is f."""
    return replace(posterior, kernel=smooth(posterior.kernel.kernel, Normal(0.0)))


def around(
    x: Float[Tensor, " d"], posterior: JointPosterior, generator: torch.Generator
) -> Float[Tensor, "s d"]:
    """x and a cloud around it, at all distances from a lengthscale to a thousandth of it."""
    radius = 10 ** (-3 * torch.rand(CLOUD, 1, generator=generator, dtype=torch.double))
    steps = torch.randn(CLOUD, len(x), generator=generator, dtype=torch.double)
    return torch.cat([x[None], x + radius * posterior.kernel.kernel.lengthscale * steps])
