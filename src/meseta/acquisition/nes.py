"""Noisy-Input Entropy Search: how much an observation of f(x) tells about the robust maximum g*."""

from typing import Any, NamedTuple

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.given_max import (
    ConditionedMoments,
    GivenMax,
    explained_by_max,
    given_max,
    moments_given_max,
)
from meseta.gp.maxima import Maxima, maximize_paths, percentile_values
from meseta.gp.paths import Sampler, sample_paths
from meseta.gp.robust import RobustPosterior, raw_moments
from meseta.inference import EPInfo
from meseta.noise import NoiseLaw
from meseta.space import checked_bounds

# The paper's settings (Sec. 4): 500 features; its K values are quantiles of 100 maxima.
NUM_PATHS = 100
NUM_FEATURES = 500
# Of the prior variance: what rounding can do to v_f.
ROUNDING = 1e-12


def nes_ep(state: GivenMax, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
    """alpha(x) = 1/2 log(v_f + s2) - mean_k 1/2 log(v_tilde_k + s2) >= 0 (paper, Eq. nes_ep).

    As a single logarithm of what conditioning on g* removes: alpha -> 0 without cancellation.
    """
    before, explained = explained_by_max(state, x)
    posterior = state.posterior
    # with jitter the model takes the data to be that much noisier, so also a new observation; and
    # without any noise v_f at the data is rounding, about which there is nothing to learn
    s2 = posterior.new_noise_variance + posterior.jitter_variance
    s2 = torch.maximum(s2, ROUNDING * posterior.kernel.at_same_point[0])
    # the share of Var[y(x)] that g(x) explains, of which conditioning removes `explained`
    share = before.c_fg**2 / (before.v_g * (before.v_f + s2))
    removed = (share * explained).clamp_max(1 - 1e-15)
    return -0.5 * torch.log1p(-removed).mean(0)


class NESInfo(NamedTuple):
    """What stands behind an acquisition function; values in raw units."""

    max_values: Float[Tensor, " k"]
    maxima: Maxima | None  # of the sampled paths, in the model's units; None: g* was given
    ep: EPInfo
    sites: int  # data points whose constraint g(x_i) <= g* counts
    jitter: float  # added to the diagonal of the data's covariance


class NoisyInputEntropySearch(AcquisitionFunction):
    """NES-EP as a BoTorch acquisition function.

    Example:
        >>> acq = NoisyInputEntropySearch(model, Normal(0.05), bounds, seed=0)
        >>> x, value = optimize_acqf(acq, bounds, q=1, num_restarts=10, raw_samples=256)
    """

    def __init__(
        self,
        model: Any,
        noise: NoiseLaw,
        bounds: Tensor,
        num_max_values: int = 1,
        max_values: Tensor | None = None,
        X_pending: Tensor | None = None,
        seed: int = 0,
        num_paths: int = NUM_PATHS,
        num_features: int = NUM_FEATURES,
        sampler: Sampler = "pathwise",
    ) -> None:
        """NES for a fitted single-output SingleTaskGP.

        Args:
            model: The fitted model of f.
            noise: The law of xi, in the raw units of x.
            bounds: 2 x d, the box in which g is maximised, in raw units.
            num_max_values: K, how many values of g* to average over (paper: 1).
            max_values: Values of g* in raw units; if given, none are sampled.
            X_pending: Points under evaluation (p x d): their outcome is taken to be its mean.
            seed: Of the sample paths; the same seed gives the same acquisition function.
            num_paths: Paths of g whose maxima are the samples of g*.
            num_features: Random Fourier features of each path.
            sampler: "pathwise", or the paper's "sparse-spectrum".
        """
        super().__init__(model=model)
        self.robust = RobustPosterior.from_model(model, noise)
        self.bounds = checked_bounds(bounds, self.robust.dimension)
        self.given_values = None if max_values is None else _checked_values(max_values)
        self.num_max_values, self.seed, self.sampler = num_max_values, seed, sampler
        self.num_paths, self.num_features = num_paths, num_features
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        """Condition on pending points (p x d), with their mean as their value."""
        robust = self.robust
        if X_pending is not None and X_pending.numel():
            pending = robust.checked(X_pending.detach())
            robust = robust.with_observations(pending.reshape(-1, robust.dimension))
        super().set_X_pending(X_pending)
        maxima = None
        if self.given_values is not None:
            g_star = robust.units.y_to_model(self.given_values)
        else:
            maxima = self._sample_maxima(robust)
            g_star = percentile_values(maxima.value, self.num_max_values)
        self.state = given_max(robust.core, g_star)
        self.info = NESInfo(
            max_values=robust.units.y_to_raw(g_star),
            maxima=maxima,
            ep=self.state.info,
            sites=len(self.state.sites),
            jitter=robust.core.jitter,
        )

    def _sample_maxima(self, robust: RobustPosterior) -> Maxima:
        generator = torch.Generator().manual_seed(self.seed)
        paths = sample_paths(
            robust.core, self.num_paths, self.num_features, generator, self.sampler
        )
        return maximize_paths(paths, robust.units.x_to_model(self.bounds), generator)

    def forward(self, X: Tensor) -> Tensor:
        """alpha at X (b x 1 x d), as a tensor of shape b."""
        X = X if X.ndim > 2 else X.unsqueeze(0)
        if X.shape[-2] != 1:
            raise ValueError(
                f"expected X of shape (b, 1, d), got {tuple(X.shape)}: one point at a time; "
                "for a batch of points use optimize_acqf(..., q=q, sequential=True)"
            )
        x = self.robust.units.x_to_model(self.robust.checked(X.squeeze(-2)))
        return nes_ep(self.state, x.reshape(-1, x.shape[-1])).view(x.shape[:-1]).to(X)

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
