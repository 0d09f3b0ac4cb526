"""The joint posterior of f and g, in the units of the model (unit cube, standardised y)."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.gp.cholesky import cholesky
from meseta.gp.clamped import Clamped
from meseta.kernels import SmoothedKernel
from meseta.kernels.smoothed import Covariance

# Of the prior variance: what rounding can do to v_f at the data.
ROUNDING = 1e-12


class JointMoments(NamedTuple):
    """Means and variances of f(x) and g(x) given the data, at each x; c_fg is their covariance."""

    m_f: Float[Tensor, " m"]
    v_f: Float[Tensor, " m"]
    m_g: Float[Tensor, " m"]
    v_g: Float[Tensor, " m"]
    c_fg: Float[Tensor, " m"]


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """f ~ GP(mean, k_f) given y = f(X) + noise, with g(x) = E f(x + xi) alongside.

    L is the Cholesky factor of k_f(X, X) + diag(noise_variance): the only factorisation of the
    data. alpha = K^-1 (y - mean). `new_noise_variance` is that of an observation yet to come.
    `clamped` says which variances were negative by more than rounding, wherever it was used.
    """

    kernel: SmoothedKernel
    mean: Float[Tensor, ""]
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    noise_variance: Float[Tensor, " n"]
    new_noise_variance: Float[Tensor, ""]
    L: Float[Tensor, "n n"]
    alpha: Float[Tensor, " n"]
    jitter: float
    clamped: Clamped

    @cached_property
    def k_gf_data(self) -> Covariance:
        """k_gf(x, X) as a function of x."""
        return self.kernel.gf_with(self.X)

    @property
    def jitter_variance(self) -> Float[Tensor, ""]:
        """What the jitter added to each noise variance."""
        return self.jitter * (self.kernel.kernel.variance + self.noise_variance.mean())

    @property
    def observation_variance(self) -> Float[Tensor, ""]:
        """The variance of a new observation around f(x), as the model has to see it.

        With jitter the model takes the data to be that much noisier, so also a new observation;
        and without any noise v_f at the data is rounding, about which there is nothing to learn.
        """
        s2 = self.new_noise_variance + self.jitter_variance
        return torch.maximum(s2, ROUNDING * self.kernel.prior_variance)

    def moments(self, x: Float[Tensor, "m d"]) -> JointMoments:
        """Means, variances and covariance of f and g at each x."""
        return self.moments_and_whitened(x)[0]

    def moments_and_whitened(
        self, x: Float[Tensor, "m d"]
    ) -> tuple[JointMoments, Float[Tensor, "m n"]]:
        """The moments, and the c = L^-1 k_fg(X, x) that further covariances of g need.

        With a = L^-1 k_f(X, x): v_f = k_f(x, x) - |a|^2, v_g = k_g(x, x) - |c|^2,
        c_fg = k_fg(x, x) - a.c, m_f = mean + k_f(x, X) alpha, m_g = mean + k_gf(x, X) alpha.
        """
        k_xf, k_xgf = self.kernel.k_f(x, self.X), self.k_gf_data(x)
        a, c = self.whiten(torch.cat([k_xf, k_xgf])).tensor_split(2)
        prior_f, (prior_fg, prior_g) = self.kernel.prior_variance, self.kernel.at_same_point(x)
        v_f = self.clamped.sound("Var[f(x)]", prior_f - a.square().sum(-1), prior_f)
        v_g = self.clamped.sound("Var[g(x)]", prior_g - c.square().sum(-1), prior_g)
        limit = (v_f * v_g).sqrt()  # Cauchy-Schwarz, which rounding may break
        c_fg = (prior_fg - (a * c).sum(-1)).clamp(-limit, limit)
        m_f, m_g = self.mean + k_xf @ self.alpha, self.mean + k_xgf @ self.alpha
        return JointMoments(m_f, v_f, m_g, v_g, c_fg), c

    def whiten(self, k: Float[Tensor, "*batch m n"]) -> Float[Tensor, "*batch m n"]:
        """L^-1 k for each row k of covariances with the data."""
        # x L' = k, solved from the right: no transposes of large batches
        return torch.linalg.solve_triangular(self.L.mT, k, upper=True, left=False)

    def mean_g(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m"]:
        return self.mean + self.k_gf_data(x) @ self.alpha

    def mean_f(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m"]:
        return self.mean + self.kernel.k_f(x, self.X) @ self.alpha

    def covariance_g(
        self, x: Float[Tensor, "*#batch m d"], z: Float[Tensor, "*#batch p d"]
    ) -> Float[Tensor, "*batch m p"]:
        """Cov[g(x), g(z)] given the data."""
        c_x, c_z = (
            self.whiten(self.k_gf_data(x)),
            self.whiten(self.k_gf_data(z)),
        )
        return self.kernel.k_g(x, z) - c_x @ c_z.mT

    def covariance_gf(
        self, x: Float[Tensor, "*#batch m d"], z: Float[Tensor, "*#batch p d"]
    ) -> Float[Tensor, "*batch m p"]:
        """Cov[g(x), f(z)] given the data."""
        c_x, a_z = self.whiten(self.k_gf_data(x)), self.whiten(self.kernel.k_f(z, self.X))
        return self.kernel.k_gf(x, z) - c_x @ a_z.mT

    def covariance_f(
        self, x: Float[Tensor, "*#batch m d"], z: Float[Tensor, "*#batch p d"]
    ) -> Float[Tensor, "*batch m p"]:
        """Cov[f(x), f(z)] given the data."""
        a_x, a_z = self.whiten(self.kernel.k_f(x, self.X)), self.whiten(self.kernel.k_f(z, self.X))
        return self.kernel.k_f(x, z) - a_x @ a_z.mT

    def leave_one_out(
        self, rows: Int[Tensor, " m"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Mean and variance of these values, each given all others; the same hyper-parameters.

        y_i - alpha_i / [K^-1]_ii and 1 / [K^-1]_ii [Rasmussen and Williams 2006, Eq. 5.12].
        """
        same = torch.eye(len(self.y), dtype=self.y.dtype)[:, rows]
        precision = torch.linalg.solve_triangular(self.L, same, upper=False).square().sum(0)
        return self.y[rows] - self.alpha[rows] / precision, 1 / precision

    def with_observations(
        self, x: Float[Tensor, "p d"], y: Float[Tensor, " p"] | None = None
    ) -> "JointPosterior":
        """Given further observations too; without `y`, given that they equal their mean."""
        y = self.mean_f(x) if y is None else y
        return condition(
            self.kernel,
            self.mean,
            torch.cat([self.X, x]),
            torch.cat([self.y, y]),
            torch.cat([self.noise_variance, self.new_noise_variance.expand(len(x))]),
            self.new_noise_variance,
        )


def condition(
    kernel: SmoothedKernel,
    mean: Float[Tensor, ""],
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    noise_variance: Float[Tensor, " n"],
    new_noise_variance: Float[Tensor, ""],
) -> JointPosterior:
    """The joint posterior of f and g given y = f(X) + noise."""
    K = in_blocks(lambda x: kernel.k_f(x, X), X, len(X))
    L, jitter = cholesky(K + torch.diag(noise_variance))
    alpha = torch.cholesky_solve((y - mean)[:, None], L)[:, 0]
    clamped = Clamped(kernel.prior_variance, kernel.error)
    return JointPosterior(
        kernel, mean, X, y, noise_variance, new_noise_variance, L, alpha, jitter, clamped
    )
