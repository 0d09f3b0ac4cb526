"""Sample paths of f, and of g with them, as functions that can be evaluated anywhere."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.gp.cholesky import cholesky
from meseta.gp.joint import JointPosterior
from meseta.gp.observed import Observed
from meseta.kernels import SmoothedKernel
from meseta.kernels.smoothed import Waves
from meseta.kernels.spectrum import frequencies

Sampler = Literal["pathwise", "sparse-spectrum"]


@dataclass(frozen=True, eq=False)
class SamplePaths:
    """Functions f~(x) = mean + cosine' cos(omega x) + sine' sin(omega x) + k_f(x, X) update.

    Averaging over xi multiplies exp(i omega x) by the characteristic function of the noise at
    omega and turns k_f into k_gf: g~ is the exact smoothing of f~, for every law.
    """

    kernel: SmoothedKernel
    mean: Float[Tensor, ""]
    omega: Float[Tensor, "features d"]
    f_cosine: Float[Tensor, "paths features"]
    f_sine: Float[Tensor, "paths features"]
    g_cosine: Float[Tensor, "paths features"]
    g_sine: Float[Tensor, "paths features"]
    observed: Observed
    update: Float[Tensor, "paths n"]
    jitter: float  # added to the diagonal of the covariance behind the update

    @property
    def X(self) -> Float[Tensor, "n d"]:
        return self.observed.X

    def subset(self, path: Int[Tensor, " k"]) -> "SamplePaths":
        """Some of the paths."""
        return replace(
            self,
            f_cosine=self.f_cosine[path],
            f_sine=self.f_sine[path],
            g_cosine=self.g_cosine[path],
            g_sine=self.g_sine[path],
            update=self.update[path],
        )

    def f(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "paths m"]:
        """All paths of f at the same points."""
        phase = x @ self.omega.T
        waves = self.f_cosine @ phase.cos().T + self.f_sine @ phase.sin().T
        return self.mean + waves + self.update @ self.observed.k_f(x).T

    def f_of(self, path: Int[Tensor, " b"], z: Float[Tensor, "b m d"]) -> Float[Tensor, "b m"]:
        """Path path[i] of f at all of z[i]."""
        cosine, sine, update = (
            weights[path][:, :, None] for weights in (self.f_cosine, self.f_sine, self.update)
        )
        phase = z @ self.omega.T
        waves = (phase.cos() @ cosine + phase.sin() @ sine)[..., 0]
        k = self.observed.k_f(z.flatten(0, 1)).view(*z.shape[:2], len(self.X))
        return self.mean + waves + (k @ update)[..., 0]

    def g(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "paths m"]:
        """All paths of g at the same points."""
        c, s = self._carrier(x)
        waves = self.g_cosine @ c.T + self.g_sine @ s.T
        return self.mean + waves + self.update @ self.observed.k_g_fixed(x).T

    def g_of(self, path: Int[Tensor, " m"], x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Path path[i] of g at x[i]."""
        cosine, sine = self.g_cosine[path], self.g_sine[path]
        if self._only_shifts:
            waves = _waves(x, self.omega, cosine, sine)
        else:
            c, s = self._carrier(x)
            waves = (cosine * c + sine * s).sum(-1)
        updates = self.observed.k_g_fixed(x) * self.update[path]
        return self.mean + waves + updates.sum(-1)

    @property
    def _only_shifts(self) -> bool:
        return len(self.kernel.shifted) == self.omega.shape[1]

    def _carrier(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Real and imaginary part of the waves that g_cosine and g_sine belong to."""
        if self._only_shifts:
            phase = x @ self.omega.T
            return phase.cos(), phase.sin()
        return self._waves(x)

    @cached_property
    def _waves(self) -> Waves:
        return self.kernel.waves_with(self.omega)


class _Waves(torch.autograd.Function):
    """sum_j cosine_j cos(omega_j x) + sine_j sin(omega_j x), a row of weights per row of x.

    Value and gradient share their cosines and sines, which is most of the work; autograd alone
    would compute them twice.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, omega: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        phase = x @ omega.T
        c, s = phase.cos(), phase.sin()
        ctx.save_for_backward((c * sine - s * cosine) @ omega)
        return (c * cosine + s * sine).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return upstream[0][:, None] * gradient, None, None, None


_waves: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _Waves.apply


def sample_paths(
    posterior: JointPosterior,
    num_paths: int,
    num_features: int,
    generator: torch.Generator,
    sampler: Sampler = "pathwise",
) -> SamplePaths:
    """Draw from p(f | D), by pathwise conditioning or with the paper's sparse-spectrum GP."""
    if num_paths < 1 or num_features < 1:
        raise ValueError(
            f"num_paths and num_features must be at least 1, got {num_paths} and {num_features}"
        )
    if sampler == "pathwise":
        return _pathwise(posterior, num_paths, num_features, generator)
    if sampler == "sparse-spectrum":
        return _sparse_spectrum(posterior, num_paths, num_features, generator)
    raise ValueError(f"unknown sampler {sampler!r}; use 'pathwise' or 'sparse-spectrum'")


def _pathwise(
    posterior: JointPosterior, num_paths: int, num_features: int, generator: torch.Generator
) -> SamplePaths:
    """f~ = phi' w + k_f(x, X) K^-1 (y - Phi w - eps) [Wilson et al. 2020].

    Half of the features are cosines, half sines of the same frequencies, so that the prior
    variance is exact; the correction is by the exact kernel.
    """
    kernel = posterior.kernel
    omega = frequencies(kernel.kernel, math.ceil(num_features / 2), generator)
    amplitude = (kernel.kernel.variance / len(omega)).sqrt()
    cosine, sine = amplitude * torch.randn(
        2, num_paths, len(omega), generator=generator, dtype=torch.double
    )
    prior = _observed(posterior, omega, cosine, sine)
    residual = posterior.y - posterior.mean - prior - _noise(posterior, num_paths, generator)
    update = torch.cholesky_solve(residual.T, posterior.L).T
    return _smoothed(posterior, omega, cosine, sine, update, posterior.jitter)


def _observed(
    posterior: JointPosterior, omega: Tensor, cosine: Tensor, sine: Tensor
) -> Float[Tensor, "paths n"]:
    """What the data are of waves: their values, or averages where the noise acted unseen."""

    def waves(x: Tensor) -> Tensor:
        phase = x @ omega.T
        return cosine @ phase.cos().T + sine @ phase.sin().T

    values, observed = waves(posterior.X), posterior.observed
    if posterior.unseen is None or observed.places is None:
        return values
    rows, (z, weights) = posterior.unseen.rows, observed.places
    if observed.own_law:
        none = torch.zeros(len(cosine), len(posterior.X), dtype=torch.double)
        smoothed = _smoothed(posterior, omega, cosine, sine, none, 0.0)
        values[:, rows] = smoothed.g(posterior.X[rows]) - posterior.mean
    else:
        drawn = waves(z.flatten(0, 1)).unflatten(-1, weights.shape)
        values[:, rows] = (drawn * weights).sum(-1)
    return values


def _sparse_spectrum(
    posterior: JointPosterior, num_paths: int, num_features: int, generator: torch.Generator
) -> SamplePaths:
    """f~ = a' phi, phi_i = cos(omega_i x + b_i), a ~ N(A^-1 Phi' y, s2 A^-1) (paper, Sec. 3.1).

    Drawn as a = w + Phi' (Phi Phi' + s2 I)^-1 (y - Phi w - eps), which has the same law and
    needs a factor of size n instead of M.
    """
    kernel = posterior.kernel
    omega = frequencies(kernel.kernel, num_features, generator)
    b = 2 * math.pi * torch.rand(num_features, generator=generator, dtype=torch.double)
    amplitude = (2 * kernel.kernel.variance / num_features).sqrt()
    every = amplitude * torch.eye(num_features, dtype=torch.double)
    # cos(omega x + b) = cos(b) cos(omega x) - sin(b) sin(omega x)
    Phi = _observed(posterior, omega, every * b.cos(), -every * b.sin()).T
    w = torch.randn(num_paths, num_features, generator=generator, dtype=torch.double)
    residual = posterior.y - posterior.mean - w @ Phi.T - _noise(posterior, num_paths, generator)
    L, jitter = cholesky(Phi @ Phi.T + torch.diag(_observation_variance(posterior)))
    a = w + torch.cholesky_solve(residual.T, L).T @ Phi
    update = torch.zeros(num_paths, len(posterior.X), dtype=torch.double)
    # cos(omega x + b) = cos(b) cos(omega x) - sin(b) sin(omega x)
    cosine, sine = amplitude * a * b.cos(), -amplitude * a * b.sin()
    return _smoothed(posterior, omega, cosine, sine, update, jitter)


def _smoothed(
    posterior: JointPosterior,
    omega: Tensor,
    cosine: Tensor,
    sine: Tensor,
    update: Tensor,
    jitter: float,
) -> SamplePaths:
    """E exp(i omega (x + xi)) = characteristic(omega) exp(i omega x): modulus and phase."""
    characteristic = posterior.kernel.characteristic(omega)
    real, imaginary = characteristic.real, characteristic.imag
    return SamplePaths(
        kernel=posterior.kernel,
        mean=posterior.mean,
        omega=omega,
        f_cosine=cosine,
        f_sine=sine,
        g_cosine=cosine * real + sine * imaginary,
        g_sine=sine * real - cosine * imaginary,
        observed=posterior.observed,
        update=update,
        jitter=jitter,
    )


def _noise(posterior: JointPosterior, num_paths: int, generator: torch.Generator) -> Tensor:
    eps = torch.randn(num_paths, len(posterior.X), generator=generator, dtype=torch.double)
    return eps * _observation_variance(posterior).sqrt()


def _observation_variance(posterior: JointPosterior) -> Tensor:
    """The noise that K was factorised with, jitter included."""
    return posterior.noise_variance + posterior.jitter_variance
