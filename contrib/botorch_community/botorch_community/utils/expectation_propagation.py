#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

r"""
Expectation propagation (EP) for a Gaussian vector with upper bounds.

References

.. [Herbrich2005]
    R. Herbrich. On Gaussian expectation propagation. Technical report, Microsoft
    Research, 2005.

.. [Rasmussen2006]
    C. E. Rasmussen, C. K. I. Williams. Gaussian Processes for Machine Learning. MIT
    Press, 2006.

.. [Smith1987]
    D. A. Smith, W. F. Ford, A. Sidi. Extrapolation methods for vector sequences. SIAM
    Review, 29(2), 1987.

Contributor: your-github-handle
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import torch
from botorch.exceptions.warnings import NumericsWarning
from botorch.utils.probability.utils import standard_normal_log_hazard
from torch import Tensor

MAX_SWEEPS = 50  # of whole updates; of updates by half, twice as many
STRIDE = 6  # sweeps from one extrapolation to the next
TOLERANCE = 5e-11  # for the change of standardized means and variances in a sweep
# The largest site precision, in prior precisions: I + tau^1/2 R tau^1/2 has six digits.
MOST_PRECISE = 1e10


def nearest_correlation(covariance: Tensor) -> tuple[Tensor, Tensor]:
    r"""Correlations and standard deviations of the nearest covariance that is sound.

    Rounding may have made the covariance indefinite. Negative eigenvalues of the
    correlation are set to 0, which raises the variances by as much as rounding has
    changed them. Jitter would depend on where a factorization happens to fail.

    Args:
        covariance: A ``n x n``-dim tensor with a positive diagonal.

    Returns:
        A ``n x n``-dim tensor of correlations and a ``n``-dim one of standard
        deviations.
    """
    std = covariance.diagonal().sqrt()
    R = covariance / std.unsqueeze(-1) / std
    eigenvalues, Q = torch.linalg.eigh((R + R.mT) / 2)
    R = (Q * eigenvalues.clamp_min(0)) @ Q.mT
    raised = R.diagonal().sqrt()
    if (raised.square() > 1.1).any():
        warnings.warn(
            "The correlations are mostly rounding, and results are approximate. Remove "
            "points that nearly coincide.",
            NumericsWarning,
            stacklevel=2,
        )
    R = R / raised.unsqueeze(-1) / raised
    return (R + R.mT) / 2, std * raised


class StandardTruncation(NamedTuple):
    """Z ~ N(0, 1) given Z <= beta."""

    r: Tensor  # -E Z = phi(beta) / Phi(beta)
    explained: Tensor  # 1 - Var Z = r (r + beta)
    remaining: Tensor  # Var Z


def standard_truncation(beta: Tensor) -> StandardTruncation:
    r"""Moments of a standard Normal variable that is truncated from above.

    Far below 0, ``r + beta`` and ``1 - r (r + beta)`` cancel. There the continued
    fraction ``r = t + D_1``, ``D_k = k / (t + D_{k+1})``, ``t = -beta``, gives
    ``1 - r D_1 = (t + 2 D_2 - D_3) / ((t + D_3) (t + D_2)^2)``. The variance has a
    relative accuracy of 1e-12 or better.

    Args:
        beta: A tensor of truncation points.

    Returns:
        The moments, with the shape of beta.
    """
    near = beta.clamp(-6.0, 40.0)  # r underflows beyond 40
    r = standard_normal_log_hazard(-near).exp()
    explained = r * (r + near)
    if not (beta < -6.0).any():
        return StandardTruncation(r, explained, 1 - explained)
    t = (-beta).clamp_min(6.0)
    D = [torch.zeros_like(t)]
    for k in range(25, 0, -1):  # 25 terms are exact to 1e-16 from t = 6 on
        D.append(k / (t + D[-1]))
    D_3, D_2, D_1 = D[-3:]
    rest = (t + 2 * D_2 - D_3) / ((t + D_3) * (t + D_2).square())
    return StandardTruncation(
        torch.where(beta < -6.0, t + D_1, r),
        torch.where(beta < -6.0, 1 - rest, explained),
        torch.where(beta < -6.0, rest, 1 - explained),
    )


class TruncatedGaussian(NamedTuple):
    """N(z; 0, R) times Gaussian sites with precisions tau and precision-means nu."""

    mean: Tensor
    variance: Tensor
    left_out: Tensor  # 1 - tau * variance: the share of the precision of all others
    root: Tensor  # root' root = W = (R + 1 / tau)^-1
    shift: Tensor  # u = nu - W R nu, so that the mean is R u


def expectation_propagation(
    R: Tensor, bounds: Tensor
) -> tuple[TruncatedGaussian, bool]:
    r"""Approximate ``z ~ N(0, R)`` given ``z <= bounds`` [Herbrich2005]_.

    All sites are updated together. Where that does not converge, it begins anew and
    takes only a share of each update.

    Args:
        R: A ``n x n``-dim correlation matrix.
        bounds: A ``n``-dim tensor.

    Returns:
        The approximation, and whether it has converged.
    """
    for share in (1.0, 0.5, 0.25, 0.125, 0.0625):
        truncated, converged = _sweeps(R, bounds, share)
        if converged:
            break
    return truncated, converged


def _sweeps(R: Tensor, bounds: Tensor, share: float) -> tuple[TruncatedGaussian, bool]:
    """Updates of all sites, from none at all.

    Where sites are strongly correlated the changes shrink slowly, but regularly: their
    limit is extrapolated every few sweeps, and given up if it is no improvement.
    """
    sites = R.new_zeros(2, len(bounds))  # tau and nu
    now = _with_sites(R, sites)
    if not len(bounds):
        return now, True
    trail, before, change = [sites], None, math.inf
    for _ in range(round(MAX_SWEEPS / share)):
        new = sites + share * (_matched_sites(now, sites[1], bounds) - sites)
        after = _with_sites(R, new)
        d_mean = (after.mean - now.mean).abs() / bounds.abs().clamp_min(1)
        moves = torch.maximum(d_mean, (after.variance - now.variance).abs())
        moved = moves.max().item() / share
        if moved <= TOLERANCE:
            return after, bool((new[0] < MOST_PRECISE).all())
        if not moved <= change:
            if before is not None:  # back to where the extrapolation began
                sites, trail, before = before, [before], None
                now = _with_sites(R, sites)
                continue
            if not math.isfinite(moved):
                break
            trail = []
        sites, now, change, before = new, after, moved, None
        trail.append(sites)
        if len(trail) > STRIDE:
            before, sites = sites, _limit(trail)
            now, trail = _with_sites(R, sites), [sites]
    return now, False


def _with_sites(R: Tensor, sites: Tensor) -> TruncatedGaussian:
    tau, nu = sites
    half = tau.sqrt()
    identity = torch.eye(len(R)).to(R)
    # I + tau^1/2 R tau^1/2 has eigenvalues of at least 1 [Rasmussen2006, Eq. 3.26]_
    L, _ = torch.linalg.cholesky_ex(identity + half.unsqueeze(-1) * R * half)
    whitened = torch.linalg.solve_triangular(L, identity, upper=False)
    root, left_out = whitened * half, whitened.square().sum(0)
    # 1 - |root R|^2 = (1 - left_out) / tau: the first cancels where the site dominates
    # the others, the second where it does not
    direct = (1 - (root @ R).square().sum(0)).clamp_min(1e-15)
    dominates = left_out < 0.5
    by_site = (1 - left_out) / torch.where(dominates, tau, 1.0)
    shift = nu - root.mT @ (root @ (R @ nu))
    variance = torch.where(dominates, by_site, direct)
    return TruncatedGaussian(R @ shift, variance, left_out, root, shift)


def _matched_sites(now: TruncatedGaussian, nu: Tensor, bounds: Tensor) -> Tensor:
    """Sites that give each z_i the moments that truncation gives it."""
    # the distribution of z_i without its own site
    variance = now.variance / now.left_out
    mean = (now.mean - now.variance * nu) / now.left_out
    std = variance.sqrt()
    r, explained, remaining = standard_truncation((bounds - mean) / std)
    # tau = 1 / v_hat - 1 / v, nu = m_hat / v_hat - m / v
    tau = explained / (remaining * variance)
    nu = tau * mean - r / (remaining * std)
    return torch.stack([tau, nu]) / (tau / MOST_PRECISE).clamp_min(1)


def _limit(trail: list[Tensor]) -> Tensor:
    """The limit of a linearly convergent sequence, by reduced rank extrapolation.

    ``x_0 + sum_j xi_j u_j``, ``u_j = x_{j+1} - x_j``, with the xi that make
    ``u_0 + sum_j xi_j (u_{j+1} - u_j)`` least [Smith1987, Eq. 2.5]_.
    """
    x = torch.stack(trail, -1)
    scale = 1 + x[..., -1:].abs()
    x = (x / scale).flatten(0, 1)
    u = x.diff(dim=-1)
    xi = -torch.linalg.pinv(u.diff(dim=-1)) @ u[:, 0]
    tau, nu = (x[:, 0] + u[:, :-1] @ xi).view(2, -1) * scale.squeeze(-1)
    return torch.stack([tau.clamp(0, MOST_PRECISE), nu])
