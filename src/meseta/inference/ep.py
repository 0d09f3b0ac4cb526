"""Expectation propagation for a Gaussian vector under an upper bound, for many bounds at once."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from meseta.inference.truncated import standard_truncation

MAX_SWEEPS = 200
# Change of the standardised means and variances from one sweep to the next.
TOLERANCE = 1e-11


class EPInfo(NamedTuple):
    """How EP went, for each bound."""

    sweeps: Int[Tensor, " k"]
    converged: Bool[Tensor, " k"]
    change: Float[Tensor, " k"]  # in the last sweep, in prior standard deviations
    damping: Float[Tensor, " k"]  # the share of each update that was taken; 1: no damping


@dataclass(frozen=True, eq=False)
class TruncatedGaussian:
    """The EP approximation of z ~ N(mean, covariance) given z_i <= upper for all i.

    Sites have precisions tau and precision-means nu. In units where every z_i has prior mean 0
    and variance 1, and R is the prior correlation:
        root = chol(I + tau^1/2 R tau^1/2)^-1 tau^1/2, so that W = root' root = (R + 1/tau)^-1,
        shift = nu - W R nu, so that the mean of z is R shift.
    Any x jointly Gaussian with z, with covariance c in these units, then has variance
    v - |root c|^2 and mean m + c' shift.
    """

    mean: Float[Tensor, "k n"]
    variance: Float[Tensor, "k n"]
    root: Float[Tensor, "k n n"]
    shift: Float[Tensor, "k n"]
    scale: Float[Tensor, " n"]  # prior standard deviations


def expectation_propagation(
    mean: Float[Tensor, " n"],
    covariance: Float[Tensor, "n n"],
    upper: Float[Tensor, " k"],
) -> tuple[TruncatedGaussian, EPInfo]:
    """Match the moments of N(mean, covariance) truncated to z <= upper [Herbrich 2005].

    All sites are updated together, which costs one Cholesky factor per sweep; where that
    oscillates, the updates of that bound are damped. `covariance` must have a positive diagonal.
    """
    scale = covariance.diagonal().sqrt()
    R = covariance / scale[:, None] / scale
    bound = (upper[:, None] - mean) / scale
    k, n = bound.shape
    tau, nu = torch.zeros_like(bound), torch.zeros_like(bound)
    damping = torch.ones(k, dtype=bound.dtype)
    change = torch.full((k,), torch.inf if n else 0.0, dtype=bound.dtype)
    sweeps = torch.zeros(k, dtype=torch.int64)
    marginal = _marginals(R, tau, nu)
    for _ in range(MAX_SWEEPS):
        active = change > TOLERANCE
        if not active.any():
            break
        step = (damping * active)[:, None]
        target_tau, target_nu = _matched_sites(marginal, nu, bound)
        tau, nu = tau + step * (target_tau - tau), nu + step * (target_nu - nu)
        previous, marginal = marginal, _marginals(R, tau, nu)
        moved = torch.maximum(
            (marginal.mean - previous.mean).abs(), (marginal.variance - previous.variance).abs()
        ).amax(-1)
        worse = active & (moved > change)
        damping = torch.where(worse, (damping / 2).clamp_min(1 / 16), damping)
        change = torch.where(active, moved, change)
        sweeps += active
    gaussian = TruncatedGaussian(
        mean=mean + scale * marginal.mean,
        variance=covariance.diagonal() * marginal.variance,
        root=marginal.root,
        shift=marginal.shift,
        scale=scale,
    )
    return gaussian, EPInfo(sweeps, change <= TOLERANCE, change, damping)


class _Marginals(NamedTuple):
    """N(z; 0, R) times the sites, in standardised units."""

    mean: Tensor
    variance: Tensor
    left_out: Tensor  # 1 - tau * variance: how much of the precision is not the site's own
    root: Tensor
    shift: Tensor


def _marginals(R: Tensor, tau: Tensor, nu: Tensor) -> _Marginals:
    n = len(R)
    identity = torch.eye(n, dtype=R.dtype)
    half = tau.sqrt()
    # B = I + tau^1/2 R tau^1/2 has eigenvalues of at least 1 [Rasmussen and Williams 2006, 3.26]
    L_B = torch.linalg.cholesky(identity + half[:, :, None] * R * half[:, None, :])
    inverse_root = torch.linalg.solve_triangular(L_B, identity.expand_as(L_B), upper=False)
    root = inverse_root * half[:, None, :]
    left_out = inverse_root.square().sum(-2)  # diagonal of B^-1
    # variance = 1 - |root R|^2 = (1 - left_out) / tau: the second where the first would cancel
    direct = 1 - (root @ R).square().sum(-2)
    variance = torch.where(tau < 1, direct, (1 - left_out) / tau.clamp_min(1))
    R_nu = nu @ R
    shift = nu - (root.mT @ (root @ R_nu[:, :, None])).squeeze(-1)
    return _Marginals(shift @ R, variance, left_out, root, shift)


def _matched_sites(marginal: _Marginals, nu: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """Sites whose product with the cavity has the moments of the cavity truncated at the bound."""
    # cavity: the marginal without its own site
    variance = marginal.variance / marginal.left_out
    mean = (marginal.mean - marginal.variance * nu) / marginal.left_out
    sd = variance.sqrt()
    beta = (bound - mean) / sd
    standard = standard_truncation(beta)
    # 1/v_hat - 1/v = (explained / remaining) / v, and nu = tau m - r / (sd remaining)
    tau = standard.explained / standard.remaining / variance
    return tau, tau * mean - standard.r / (sd * standard.remaining)
