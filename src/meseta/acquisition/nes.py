"""Noisy-Input Entropy Search: how much an observation of f(x) tells about the robust maximum g*."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.given_max import (
    ConditionedMoments,
    GivenMax,
    explained_by_max,
    given_max,
    moments_given_max,
)
from meseta.acquisition.prepared import RobustAcquisition
from meseta.gp.joint import JointPosterior
from meseta.gp.maxima import Maxima, MaximaOptions, percentile_values, sample_maxima
from meseta.gp.paths import Sampler
from meseta.gp.robust import raw_moments
from meseta.gp.surrogate import Units
from meseta.inference import EPInfo
from meseta.noise import NoiseLaw
from meseta.space.domain import Box, Domain


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
    s2 = state.posterior.observation_variance
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
    return _given(posterior, g_star, maxima.x, maxima)


def _given(posterior: JointPosterior, g_star: Tensor, starts: Tensor, maxima: Maxima | None) -> NES:
    state = given_max(posterior, g_star)
    info = NESInfo(
        g_star, maxima, state.info, len(state.sites), posterior.jitter, posterior.clamped.lowest
    )
    return NES(state, starts, info)


class NoisyInputEntropySearch(RobustAcquisition):
    """NES-EP as a BoTorch acquisition function.

    Example:
        >>> acq = NoisyInputEntropySearch(model, Normal(0.05), bounds, seed=0)
        >>> x, value = optimize_acqf(acq, bounds, q=1, num_restarts=10, raw_samples=256)
    """

    prepared: NES

    def __init__(
        self,
        model: Any,
        noise: NoiseLaw,
        bounds: Tensor | Domain,
        num_max_values: int = 1,
        max_values: Tensor | None = None,
        X_pending: Tensor | None = None,
        seed: int = 0,
        num_paths: int = MaximaOptions.num_paths,
        num_features: int = MaximaOptions.num_features,
        sampler: Sampler = MaximaOptions.sampler,
    ) -> None:
        """NES for a fitted single-output SingleTaskGP.

        Args:
            model: The fitted model of f.
            noise: The law of xi, in the raw units of x.
            bounds: 2 x d, the box in which g is maximised, in raw units; or a Domain.
            num_max_values: K, how many values of g* to average over (paper: 1).
            max_values: Values of g* in raw units; if given, none are sampled.
            X_pending: Points under evaluation (p x d): their outcome is taken to be its mean.
            seed: Of the sample paths; the same seed gives the same acquisition function.
            num_paths: Paths of g whose maxima are the samples of g*.
            num_features: Random Fourier features of each path.
            sampler: "pathwise", or the paper's "sparse-spectrum".
        """
        given_values = None if max_values is None else _checked_values(max_values)
        options = NESOptions(num_paths, num_features, sampler, num_max_values)

        def prepare(posterior: JointPosterior, domain: Domain, generator: torch.Generator) -> NES:
            if given_values is None:
                return prepare_nes(posterior, domain, generator, options)
            g_star = self.robust.units.y_to_model(given_values)
            return _given(posterior, g_star, posterior.X[:0], None)

        super().__init__(model, noise, bounds, prepare, X_pending, seed)

    @property
    def state(self) -> GivenMax:
        """The posterior given g*, in the units of the model."""
        return self.prepared.state

    def conditioned(self, x: Float[Tensor, "m d"]) -> ConditionedMoments:
        """Predictive moments of f and g given each g*, in raw units (the paper's Fig. 1)."""
        units = self.robust.units
        given = moments_given_max(self.state, units.x_to_model(self.robust.checked(x)))
        square = units.y_scale**2
        return ConditionedMoments(
            m_f=units.y_to_raw(given.m_f),
            v_f=given.v_f * square,
            m_g=units.y_to_raw(given.m_g),
            v_g=given.v_g * square,
            explained=given.explained,
            before=raw_moments(given.before, units),
        )


def _checked_values(max_values: Tensor) -> Float[Tensor, " k"]:
    values = torch.as_tensor(max_values, dtype=torch.double).reshape(-1)
    if not len(values) or not values.isfinite().all():
        raise ValueError(f"max_values must be one or more finite numbers, got {values.tolist()}")
    return values
