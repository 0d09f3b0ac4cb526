"""Noisy-Input Entropy Search: how much an observation of f(x) tells about the robust maximum g*."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.given_max import (
    GivenMax,
    explained_by_max,
    given_max,
)
from meseta.gp.joint import JointPosterior
from meseta.gp.maxima import Maxima, MaximaOptions, percentile_values, sample_maxima
from meseta.gp.surrogate import Units
from meseta.inference import EPInfo
from meseta.space.domain import Box


@dataclass(frozen=True)
class NESOptions(MaximaOptions):
    """Settings of NES-EP."""

    num_max_values: int = 1  # K


def nes_ep(state: GivenMax, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
    """alpha(x) = 1/2 log(v_f + s2) - mean_k 1/2 log(v_tilde_k + s2) >= 0 (paper, Eq. nes_ep).

    As a single logarithm of what conditioning on g* removes: alpha -> 0 without cancellation.
    """
    before, explained = explained_by_max(state, x)
    # the share of Var[y(x)] that g(x) explains, of which conditioning removes `explained`
    s2 = state.posterior.observation_variance(x)
    share = before.c_fg**2 / (before.v_g * (before.v_f + s2))
    removed = (share * explained).clamp_max(1 - 1e-15)
    return -0.5 * torch.log1p(-removed).mean(0)


class NESInfo(NamedTuple):
    """What stands behind an acquisition function."""

    max_values: Float[Tensor, " k"]
    maxima: Maxima | None  # of the sampled paths, in the model's units; None: g* was given
    ep: EPInfo
    sites: int  # data points whose constraint g(x_i) <= g* counts
    jitter: float  # added to the diagonal of the data's covariance
    clamped: dict[str, float]  # variances that were negative by more than rounding, so far

    def raw(self, units: Units) -> "NESInfo":
        return self._replace(max_values=units.y_to_raw(self.max_values))


@dataclass(frozen=True, eq=False)
class NES:
    """NES-EP in the units of the model."""

    state: GivenMax
    starts: Float[Tensor, "s d"]
    info: NESInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        return nes_ep(self.state, x)


def prepare_nes(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: NESOptions,
) -> NES:
    """Sample g*, then one EP run for each of its values."""
    maxima = sample_maxima(posterior, bounds, generator, options)
    g_star = percentile_values(maxima.value, options.num_max_values)
    # observations that tell about g* lie around the places where g may have its maximum
    return nes_given(posterior, g_star, maxima.x, maxima)


def nes_given(
    posterior: JointPosterior, g_star: Tensor, starts: Tensor, maxima: Maxima | None = None
) -> NES:
    """NES given values of g*: one EP run for each."""
    state = given_max(posterior, g_star)
    info = NESInfo(
        g_star, maxima, state.info, len(state.sites), posterior.jitter, posterior.clamped.lowest
    )
    return NES(state, starts, info)
