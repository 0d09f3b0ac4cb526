"""Expectation propagation for a Gaussian vector under an upper bound, for many bounds at once."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from meseta.inference.truncated import standard_truncation

PARALLEL_SWEEPS = 60
SEQUENTIAL_SWEEPS = 30
STRIDE = 6  # sweeps from one extrapolation to the next
# Change of the standardised means and variances from one sweep to the next.
TOLERANCE = 5e-11
# Bounds further below the prior mean than this many standard deviations are raised to it. The
# mass below is 1e-197: no sampled maximum lies so low, only one that a user gives.
LOWEST = -30.0
# Rounding in a variance that is computed as 1 minus a sum.
SMALLEST = 1e-15
# The largest site precision in prior precisions: I + tau^1/2 R tau^1/2 keeps six digits.
MOST_PRECISE = 1e10
# A negative eigenvalue of R that does no harm: times MOST_PRECISE it is far below 1.
NEGLIGIBLE = 1e-12
# Where variances had to be raised by more than this share, correlations are mostly rounding.
DOUBTFUL = 0.1


class EPInfo(NamedTuple):
    """How EP went, for each bound."""

    sweeps: Int[Tensor, " k"]
    converged: Bool[Tensor, " k"]
    change: Float[Tensor, " k"]  # in the last sweep, in prior standard deviations
    damping: Float[Tensor, " k"]  # the share of each update that was taken; 1: no damping
    sequential: Bool[Tensor, " k"]  # all sites at once did not converge; one at a time was used
    raised: Int[Tensor, " k"]  # bounds so far below the mean that they were raised to LOWEST
    jitter: float  # the most that a prior variance was raised by, as a share of it; see below


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

    A posterior covariance is a difference, and rounding may have made it indefinite. It is then
    replaced by the nearest that is not, everywhere: z is the vector with that covariance, whose
    variances are a little larger. `EPInfo.jitter` says by how much.

    All sites are updated together, which costs one Cholesky factor per sweep; where that
    oscillates, the updates of that bound are damped, and where it still does not converge, its
    sites are updated one at a time. `covariance` must have a positive diagonal.
    """
    R, scale, jitter = _correlation(covariance)
    bound = (upper[:, None] - mean) / scale
    raised = (bound < LOWEST).sum(-1)
    bound = bound.clamp_min(LOWEST)
    sites, info = _parallel(R, bound)
    for k in (~info.converged).nonzero().flatten().tolist():
        (sites.tau[k], sites.nu[k]), sweeps, change = _sequential(R, bound[k])
        info.sweeps[k] += sweeps
        capped = sites.tau[k].max() >= MOST_PRECISE
        info.change[k], info.converged[k] = change, (change <= TOLERANCE) & ~capped
        info.sequential[k] = True
    marginal = _marginals(R, *sites)
    gaussian = TruncatedGaussian(
        mean=mean + scale * marginal.mean,
        variance=scale.square() * marginal.variance,
        root=marginal.root,
        shift=marginal.shift,
        scale=scale,
    )
    return gaussian, info._replace(raised=raised, jitter=jitter)


def _correlation(covariance: Tensor) -> tuple[Tensor, Tensor, float]:
    """The correlation R and standard deviations of z, and how much its variances were raised.

    R is positive semi-definite up to NEGLIGIBLE, and has a diagonal of exactly 1. Negative
    eigenvalues are set to 0, which changes R by no more than rounding has: unlike jitter, whose
    size depends on where a factorisation happens to break down.
    """
    scale = covariance.diagonal().sqrt()
    R = (covariance / scale[:, None] / scale).fill_diagonal_(1.0)
    R = (R + R.mT) / 2
    eigenvalues, Q = torch.linalg.eigh(R)
    if not len(R) or eigenvalues[0] >= -NEGLIGIBLE:
        return R, scale, 0.0
    R = (Q * eigenvalues.clamp_min(0)) @ Q.mT
    variance = R.diagonal().clone()
    root = variance.sqrt()
    R = ((R + R.mT) / 2 / root[:, None] / root).fill_diagonal_(1.0)
    jitter = float(variance.max() - 1)
    if jitter > DOUBTFUL:
        warnings.warn(
            "the correlations of g at the data are mostly rounding: expectation propagation raised "
            f"a variance by {jitter:.1g} of itself; remove points that nearly coincide, or take "
            "another method than nes-ep",
            RuntimeWarning,
            stacklevel=3,
        )
    return R, scale * root, jitter


class _Sites(NamedTuple):
    tau: Tensor
    nu: Tensor


def _parallel(R: Tensor, bound: Tensor) -> tuple[_Sites, EPInfo]:
    """Sweeps that update all sites at once, damped for a bound whose changes do not shrink.

    Where sites are strongly correlated the changes shrink slowly, but regularly: every few sweeps
    their limit is extrapolated, and taken back if the next sweep changes more than the last did.
    """
    k, n = bound.shape
    sites = _Sites(torch.zeros_like(bound), torch.zeros_like(bound))
    damping = torch.ones(k, dtype=bound.dtype)
    change = torch.full((k,), torch.inf if n else 0.0, dtype=bound.dtype)
    sweeps = torch.zeros(k, dtype=torch.int64)
    marginal = _marginals(R, *sites)
    trail, retreat = [sites], None
    for _ in range(PARALLEL_SWEEPS):
        active = change > TOLERANCE
        if not active.any():
            break
        step = (damping * active)[:, None]
        target = _matched_sites(marginal, sites.nu, bound)
        sites = _Sites(*(old + step * (new - old) for old, new in zip(sites, target, strict=True)))
        if not (sites.tau.isfinite() & sites.nu.isfinite()).all():
            change = torch.full_like(change, torch.inf)
            break
        previous, marginal = marginal, _marginals(R, *sites)
        moved = _moved(previous, marginal, bound)
        sweeps += active
        worse = active & (moved > change)
        if retreat is not None:
            if worse.any():
                sites = _choose(worse, retreat, sites)
                marginal = _marginals(R, *sites)
            trail, retreat = [sites], None
            change = torch.where(active & ~worse, moved, change)
            continue
        damping = torch.where(worse, (damping / 2).clamp_min(1 / 16), damping)
        change = torch.where(active, moved, change)
        trail = [*trail, sites] if not worse.any() else [sites]
        if len(trail) > STRIDE and (change > TOLERANCE).any():
            retreat, sites = sites, _choose(change > TOLERANCE, _limit(trail), sites)
            marginal = _marginals(R, *sites)
    none = torch.zeros(k, dtype=torch.bool)
    converged = (change <= TOLERANCE) & (sites.tau < MOST_PRECISE).all(-1)
    return sites, EPInfo(sweeps, converged, change, damping, none, torch.zeros_like(sweeps), 0.0)


def _limit(trail: list[_Sites]) -> _Sites:
    """Where a sequence goes that converges linearly: reduced rank extrapolation.

    x* = x_0 + sum_j xi_j u_j with u_j = x_{j+1} - x_j, and xi such that the extrapolated change
    |u_0 + sum_j xi_j (u_{j+1} - u_j)| is least [Smith, Ford and Sidi 1987, Eq. 2.5].
    """
    x = torch.stack([torch.cat(tuple(sites), -1) for sites in trail], -1)
    x = x[..., -STRIDE - 1 :] / (scale := 1 + x[..., -1:].abs())
    u = x.diff(dim=-1)
    # by singular values: the default's pivots depend on what lay in memory before
    xi = torch.linalg.lstsq(u.diff(dim=-1), -u[..., :1], driver="gelsd").solution
    limit = ((x[..., :1] + u[..., :-1] @ xi) * scale).squeeze(-1)
    tau, nu = limit.tensor_split(2, -1)
    return _Sites(tau.clamp(0, MOST_PRECISE), nu)


def _choose(condition: Tensor, yes: _Sites, no: _Sites) -> _Sites:
    return _Sites(*(torch.where(condition[:, None], a, b) for a, b in zip(yes, no, strict=True)))


def _sequential(R: Tensor, bound: Tensor) -> tuple[_Sites, int, Tensor]:
    """One site at a time for a single bound: slower, but it does not overshoot."""
    sites = _Sites(torch.zeros_like(bound), torch.zeros_like(bound))
    marginal = _marginals(R, sites.tau[None], sites.nu[None])
    change = torch.tensor(torch.inf, dtype=R.dtype)
    sweeps = 0
    while sweeps < SEQUENTIAL_SWEEPS and change > TOLERANCE:
        tau, nu = sites.tau.clone(), sites.nu.clone()
        # the covariance is kept by rank-one updates within a sweep and made anew between sweeps
        projected = marginal.root[0] @ R
        Sigma, mu = R - projected.mT @ projected, marginal.mean[0].clone()
        for i in range(len(bound)):
            variance = Sigma[i, i].clamp_min(SMALLEST)
            left_out = (1 - tau[i] * variance).clamp_min(SMALLEST)
            here = _Marginals(mu[i], variance, left_out, marginal.root, marginal.shift)
            target = _matched_sites(here, nu[i], bound[i])
            d_tau, d_nu = target.tau - tau[i], target.nu - nu[i]
            column, denominator = Sigma[:, i].clone(), 1 + d_tau * variance
            # (Sigma^-1 + d_tau e e')^-1 and its mean [Rasmussen and Williams 2006, Eq. 3.70]
            mu = mu + column * (d_nu - d_tau * mu[i]) / denominator
            Sigma = Sigma - torch.outer(column, column) * (d_tau / denominator)
            tau[i], nu[i] = target
        if not (tau.isfinite() & nu.isfinite()).all():
            break  # rounding has taken over: the last sound state is the best there is
        sites = _Sites(tau, nu)
        previous, marginal = marginal, _marginals(R, tau[None], nu[None])
        change = _moved(previous, marginal, bound[None])[0]
        sweeps += 1
    return sites, sweeps, change


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
    # variance = 1 - |root R|^2 = (1 - left_out) / tau: the second where its own site dominates,
    # since there the first cancels; elsewhere the second does
    direct = (1 - (root @ R).square().sum(-2)).clamp_min(SMALLEST)
    dominated = left_out < 0.5
    variance = torch.where(dominated, (1 - left_out) / torch.where(dominated, tau, 1), direct)
    R_nu = nu @ R
    shift = nu - (root.mT @ (root @ R_nu[:, :, None])).squeeze(-1)
    return _Marginals(shift @ R, variance, left_out, root, shift)


def _moved(before: _Marginals, after: _Marginals, bound: Tensor) -> Tensor:
    """The largest change of a mean (relative to its bound) or variance, for each bound."""
    mean = (after.mean - before.mean).abs() / bound.abs().clamp_min(1)
    return torch.maximum(mean, (after.variance - before.variance).abs()).amax(-1)


def _matched_sites(marginal: _Marginals, nu: Tensor, bound: Tensor) -> _Sites:
    """Sites whose product with the cavity has the moments of the cavity truncated at the bound."""
    # cavity: the marginal without its own site
    variance = marginal.variance / marginal.left_out
    mean = (marginal.mean - marginal.variance * nu) / marginal.left_out
    sd = variance.sqrt()
    beta = (bound - mean) / sd
    standard = standard_truncation(beta)
    # 1/v_hat - 1/v = (explained / remaining) / v, and nu = tau m - r / (sd remaining)
    tau = standard.explained / standard.remaining / variance
    nu = tau * mean - standard.r / (sd * standard.remaining)
    excess = (tau / MOST_PRECISE).clamp_min(1)
    return _Sites(tau / excess, nu / excess)
