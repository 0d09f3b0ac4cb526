"""Exact joint draws of g at a design and of f at the places that the noise takes it to."""

import torch
from jaxtyping import Float
from scipy.linalg import lapack
from torch import Tensor

from meseta.gp.joint import JointPosterior

TINY = 1e-300
LEFT = 1e-3  # of the largest variance: what a factor may leave, which is then independent


def factor(
    covariance: Float[Tensor, "m m"], left: float
) -> tuple[Float[Tensor, "m r"], Float[Tensor, " m"]]:
    """R and v with covariance = R R' + what has the diagonal v, no element of which is over `left`.

    A Cholesky factor with pivots: as few columns as it takes. The covariance may be singular.
    """
    m = len(covariance)
    if float(covariance.diagonal().amax()) <= left:
        return covariance.new_zeros(m, 0), covariance.diagonal().clamp_min(0.0)
    packed, pivots, rank, _ = lapack.dpstrf(covariance.numpy(), tol=left, lower=1)
    rows = torch.from_numpy(packed[:, :rank]).tril()
    R = torch.empty_like(rows)
    R[torch.from_numpy(pivots).long() - 1] = rows
    return R, (covariance.diagonal() - R.square().sum(-1)).clamp_min(0.0)


def stratified(num: int, generator: torch.Generator) -> Float[Tensor, " num"]:
    """Standard normal numbers, one from each of `num` parts that are equally likely, in any order.

    Their variance is that of the law on average, and nearly so each time.
    """
    within = torch.rand(num, generator=generator, dtype=torch.double)
    order = torch.randperm(num, generator=generator)
    return torch.special.ndtri((order + within) / num)


@torch.no_grad()
def draw_f(
    posterior: JointPosterior,
    z: Float[Tensor, "m d"],
    num: int,
    generator: torch.Generator,
) -> Float[Tensor, "num m"]:
    """f(z) at all places together."""
    known = posterior.k_f_data(z)
    a = posterior.whiten(known)
    covariance = posterior.kernel.k_f(z, z) - a @ a.T
    return posterior.mean + known @ posterior.alpha + _drawn(covariance, num, generator)


@torch.no_grad()
def draw_g_and_f(
    posterior: JointPosterior,
    x: Float[Tensor, " d"],
    z: Float[Tensor, "m d"],
    num: int,
    generator: torch.Generator,
) -> tuple[Float[Tensor, " num"], Float[Tensor, "num m"]]:
    """g(x) and f(z) together: g by its own variance, and f given g."""
    known, at_x = posterior.k_f_data(z), posterior.k_gf_data(x[None])
    a, c = posterior.whiten(torch.cat([known, at_x])).split([len(z), 1])
    prior_g = posterior.kernel.at_same_point(x[None])[1]
    v_g = posterior.clamped.sound("Var[g(x)]", prior_g - c.square().sum(-1), prior_g)
    covariance = posterior.kernel.k_f(z, z) - a @ a.T
    slope = torch.zeros_like(covariance[0])
    if float(v_g) > LEFT * LEFT * float(covariance.diagonal().amax()):
        slope = (posterior.kernel.k_gf(x[None], z)[0] - a @ c[0]) / v_g
        covariance = covariance - v_g * torch.outer(slope, slope)
    g = v_g.sqrt() * stratified(num, generator)
    f = torch.outer(g, slope) + _drawn(covariance, num, generator)
    return (
        posterior.mean + at_x[0] @ posterior.alpha + g,
        posterior.mean + known @ posterior.alpha + f,
    )


def _drawn(
    covariance: Float[Tensor, "m m"], num: int, generator: torch.Generator
) -> Float[Tensor, "num m"]:
    """Gaussian numbers with this covariance."""
    R, left = factor(covariance, LEFT * max(float(covariance.diagonal().amax()), TINY))
    normal = torch.randn(num, R.shape[1], generator=generator, dtype=torch.double)
    rest = torch.randn(num, len(left), generator=generator, dtype=torch.double)
    return normal @ R.T + left.sqrt() * rest
