"""The joint posterior of f and g, in the units of the model (unit cube, standardised y)."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.gp.cholesky import cholesky
from meseta.gp.clamped import Clamped
from meseta.gp.observed import Coming, Observed, Unseen
from meseta.kernels import SmoothedKernel
from meseta.noise.draws import Places

# Of the prior variance: what rounding can do to v_f at the data.
ROUNDING = 1e-12
TINY = 1e-300  # its root has a slope


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
    data. alpha = K^-1 (y - mean). Where the noise acted `unseen`, an average of f around X is in
    its place. `coming` is an observation yet to come. `clamped` says which variances were negative
    by more than rounding, wherever it was used.
    """

    kernel: SmoothedKernel
    mean: Float[Tensor, ""]
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    noise_variance: Float[Tensor, " n"]
    coming: Coming
    L: Float[Tensor, "n n"]
    alpha: Float[Tensor, " n"]
    jitter: float
    clamped: Clamped
    unseen: Unseen | None = None

    @cached_property
    def observed(self) -> Observed:
        return Observed(self.kernel, self.X, self.unseen)

    def k_f_data(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        """Prior covariances of f(x) with the data."""
        return self.observed.k_f(x)

    def k_gf_data(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        """Prior covariances of g(x) with the data."""
        return self.observed.k_g_fixed(x)

    @property
    def new_noise_variance(self) -> Float[Tensor, ""]:
        """The variance of an observation of f yet to come, or a typical one."""
        return self.coming.variance

    @property
    def jitter_variance(self) -> Float[Tensor, ""]:
        """What the jitter added to each noise variance."""
        return self.jitter * (self.kernel.kernel.variance + self.noise_variance.mean())

    def observation_variance(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """The variance of a new observation around f where it is made, as the model has to see it.

        With jitter the model takes the data to be that much noisier, so also a new observation;
        and without any noise v_f at the data is rounding, about which there is nothing to learn.
        """
        s2 = self.coming.variance_at(x) + self.jitter_variance
        return torch.maximum(s2, ROUNDING * self.kernel.prior_variance)

    @property
    def scatters(self) -> bool:
        """Whether values in use scatter around f."""
        return self.coming.scatters

    def scatter(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Return the standard deviation of the values in use around f."""
        return (self.coming.scatter_at(x) + TINY).sqrt()

    def at(self, x: Float[Tensor, "m d"]) -> Observed:
        """A new observation at each of x."""
        noise = self.coming.noise
        unseen = None if noise is None else Unseen(torch.ones(len(x), dtype=torch.bool), noise)
        return Observed(self.kernel, x, unseen)

    def new_observation(self, x: Float[Tensor, "m d"]) -> "NewObservation":
        """What a new observation at each x has in common with the data, its mean and variance.

        Where the noise takes it unseen to z, that is Var f(z) by the mean of f, and by what is not
        known about f.
        """
        noise, most = self.coming.noise, self.kernel.prior_variance
        z, w = (x, None) if noise is None else noise.draws(x)
        k = self.k_f_data(z.flatten(0, -2))
        a = self.whiten(k)
        v = self.clamped.sound("Var[f(x)]", most - a.square().sum(-1), most)
        values = self.mean + k @ self.alpha
        s2 = self.observation_variance(x)
        if noise is None or w is None:
            return NewObservation(a, values, v + s2)
        if noise.law == self.kernel.law:
            k_y = self.k_gf_data(x)
        else:
            k_y = (w[..., None] * k.view(*w.shape, -1)).sum(1)
        values = values.view_as(w)
        away = values - (w * values).sum(-1, keepdim=True)
        spread = (w * (v.view_as(w) + away.square())).sum(-1)
        return NewObservation(self.whiten(k_y), self.mean + k_y @ self.alpha, spread + s2)

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
        k_xf, k_xgf = self.k_f_data(x), self.k_gf_data(x)
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
        return self.mean + self.k_f_data(x) @ self.alpha

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
        c_x, a_z = self.whiten(self.k_gf_data(x)), self.whiten(self.k_f_data(z))
        return self.kernel.k_gf(x, z) - c_x @ a_z.mT

    def covariance_f(
        self, x: Float[Tensor, "*#batch m d"], z: Float[Tensor, "*#batch p d"]
    ) -> Float[Tensor, "*batch m p"]:
        """Cov[f(x), f(z)] given the data."""
        a_x, a_z = self.whiten(self.k_f_data(x)), self.whiten(self.k_f_data(z))
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
        noise_variance, noise = self.coming.variance_at(x), self.coming.noise
        if noise is not None:
            noise_variance = noise_variance + Scatter(self.observed, noise.draws(x)).by(self)
        return condition(
            self.kernel,
            self.mean,
            torch.cat([self.X, x]),
            torch.cat([self.y, self.new_observation(x).mean if y is None else y]),
            torch.cat([self.noise_variance, noise_variance]),
            self.coming,
            _with_coming(self.unseen, self.coming, len(self.X), len(x)),
        )


@dataclass(frozen=True, eq=False)
class Scatter:
    """E Var f(x + xi) at designs x, which the noise takes to places; `observed` are the data."""

    observed: Observed
    places: Places

    @cached_property
    def _with_data(self) -> Float[Tensor, "p n"]:
        return self.observed.k_f(self.places.z.flatten(0, 1))

    @cached_property
    def _prior(self) -> Float[Tensor, " m"]:
        z, w = self.places
        kernel = self.observed.kernel
        return kernel.prior_variance - (w[:, None] @ kernel.k_f(z, z) @ w[..., None])[:, 0, 0]

    def by(self, posterior: JointPosterior) -> Float[Tensor, " m"]:
        """Given the data, in a posterior of these."""
        w = self.places.weights
        a = posterior.whiten(self._with_data).view(*w.shape, -1)
        values = (self._with_data @ posterior.alpha).view_as(w)
        of_mean = (w * (values - (w * values).sum(-1, keepdim=True)).square()).sum(-1)
        # what is not known about f: the variances at z, less that of their average
        apart = a - (w[..., None] * a).sum(1, keepdim=True)
        return of_mean + (self._prior - (w * apart.square().sum(-1)).sum(-1)).clamp_min(0.0)


class NewObservation(NamedTuple):
    """A new observation: a = L^-1 k(X, x), its mean and its variance."""

    a: Float[Tensor, "m n"]
    mean: Float[Tensor, " m"]
    variance: Float[Tensor, " m"]


def _with_coming(unseen: Unseen | None, coming: Coming, n: int, num: int) -> Unseen | None:
    """Which rows the noise acts on unseen, with `num` new ones behind n."""
    noise = coming.noise if unseen is None else unseen.noise
    if noise is None:
        return None
    before = torch.zeros(n, dtype=torch.bool) if unseen is None else unseen.rows
    new = torch.full((num,), coming.noise is not None, dtype=torch.bool)
    return Unseen(torch.cat([before, new]), noise)


def condition(
    kernel: SmoothedKernel,
    mean: Float[Tensor, ""],
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    noise_variance: Float[Tensor, " n"],
    coming: Coming,
    unseen: Unseen | None = None,
    K: Float[Tensor, "n n"] | None = None,
) -> JointPosterior:
    """The joint posterior of f and g given y = f(X) + noise.

    K is the covariance of the data without their noise; None: it is computed.
    """
    K = Observed(kernel, X, unseen).own if K is None else K
    L, jitter = cholesky(K + torch.diag(noise_variance))
    alpha = torch.cholesky_solve((y - mean)[:, None], L)[:, 0]
    clamped = Clamped(kernel.prior_variance, kernel.error)
    return JointPosterior(
        kernel, mean, X, y, noise_variance, coming, L, alpha, jitter, clamped, unseen
    )
