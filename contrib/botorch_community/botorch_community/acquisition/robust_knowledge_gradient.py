#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

r"""
Robust knowledge gradient for designs with Normal input noise.

What is built differs from what was planned: ``x + xi``, ``xi ~ N(0, diag(s^2))``.
The robust value of a design is ``g(x) = E f(x + xi)``, while only ``f(x)`` is
evaluated. For an RBF kernel, f and g are jointly Gaussian with covariances in closed
form [Girard2004]_, [Froehlich2020]_, so no perturbed copies of points are needed. What
an evaluation of f is worth for the maximum of the mean of g is a discrete knowledge
gradient [Frazier2009]_ over the designs that may be recommended, together with the
candidate itself [Scott2011]_. It is computed exactly.

References

.. [Girard2004]
    A. Girard. Approximate methods for propagation of uncertainty with Gaussian
    process models. PhD thesis, University of Glasgow, 2004.

.. [Frazier2009]
    P. Frazier, W. Powell, S. Dayanik. The knowledge-gradient policy for correlated
    normal beliefs. INFORMS Journal on Computing, 21(4), 2009.

.. [Scott2011]
    W. Scott, P. Frazier, W. Powell. The correlated knowledge gradient for simulation
    optimization of continuous parameters using Gaussian process regression. SIAM
    Journal on Optimization, 21(3), 2011.

.. [Froehlich2020]
    L. P. Froehlich, E. D. Klenske, J. Vinogradska, C. Daniel, M. N. Zeilinger.
    Noisy-Input Entropy Search for Efficient Robust Bayesian Optimization. AISTATS,
    2020.

Contributor: your-github-handle
"""

from __future__ import annotations

import math

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.exceptions.errors import UnsupportedError
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import Standardize
from botorch.utils.transforms import t_batch_mode_transform
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.means import ConstantMean, ZeroMean
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor

# The log of "no gain at all": finite, so that optimizers can compare it.
NO_GAIN = -1e10


class LogRobustKnowledgeGradient(AcquisitionFunction):
    r"""Log of the robust knowledge gradient (one point at a time, maximization).

    ``log(E[max_a m_g(a | y(x))] - max_a m_g(a))``, where ``a`` are the given designs
    and the candidate ``x``, and ``m_g`` is the posterior mean of
    ``g(a) = E f(a + xi)``.

    Example:
        >>> model = SingleTaskGP(train_X, train_Y)
        >>> designs = draw_sobol_samples(bounds, n=64, q=1).squeeze(-2)
        >>> acqf = LogRobustKnowledgeGradient(model, 0.05, designs)
        >>> x, value = optimize_acqf(acqf, bounds, q=1, num_restarts=4, raw_samples=64)
        >>> best = designs[acqf.robust_mean(designs).argmax()]
    """

    _log: bool = True

    def __init__(
        self,
        model: SingleTaskGP,
        input_noise_std: float | Tensor,
        designs: Tensor,
        X_pending: Tensor | None = None,
    ) -> None:
        r"""Log of the robust knowledge gradient.

        Args:
            model: A fitted single-output, unbatched SingleTaskGP with an RBFKernel, or
                a ScaleKernel of one, and a constant mean. Normalize and Standardize are
                supported as its transforms.
            input_noise_std: The standard deviation of ``xi``, in the raw units of X: a
                scalar or a ``d``-dim tensor. 0 means that a parameter is exact.
            designs: A ``p x d``-dim tensor of designs that may be recommended, raw.
                Sobol points, better with some close to the maximum of the mean of g.
            X_pending: A ``m x d``-dim tensor of points under evaluation. They count as
                observed at their posterior mean.
        """
        super().__init__(model=model)
        _check_model(model)
        model.eval()  # training inputs are transformed in eval mode only
        X = model.train_inputs[0].detach()
        d = X.shape[-1]
        std = torch.as_tensor(input_noise_std).to(X).double().expand(d)
        if not (std.isfinite().all() and (std >= 0).all()):
            raise ValueError(
                "input_noise_std must be finite and not negative, but got "
                f"{std.tolist()}."
            )
        if designs.ndim != 2 or designs.shape[-1] != d or len(designs) == 0:
            raise ValueError(
                f"designs must have shape p x {d}, but got {tuple(designs.shape)}."
            )
        kernel, variance = model.covar_module, torch.ones(())
        if isinstance(kernel, ScaleKernel):
            kernel, variance = kernel.base_kernel, kernel.outputscale.detach()
        # Normalize is affine: it maps the noise like a difference of two points.
        ends = torch.stack([torch.zeros(d), torch.ones(d)]).to(X)
        low, high = model.transform_inputs(ends).double()
        scale = torch.ones(())
        if getattr(model, "outcome_transform", None) is not None:
            scale = model.outcome_transform.stdvs
        noise = model.likelihood.noise.detach().double().reshape(-1)
        lengthscale = kernel.lengthscale.detach().double()[0].expand(d)
        self.register_buffer("train_X", X.double())
        self.register_buffer("mean", model.mean_module(X[:1]).detach().double())
        self.register_buffer("noise", noise.expand(len(X)))
        self.register_buffer("lengthscale", lengthscale)
        self.register_buffer("variance", variance.to(X).double().reshape(()))
        self.register_buffer("std", std * (high - low))
        self.register_buffer("scale", scale.to(X).double().reshape(()))
        self.register_buffer("designs", model.transform_inputs(designs.to(X)).double())
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        r"""Condition on pending points, with their posterior mean as their value.

        Args:
            X_pending: A ``m x d``-dim tensor of points, or None.
        """
        super().set_X_pending(X_pending)
        y = self.model.train_targets.detach().double() - self.mean
        self._condition(self.train_X, y, self.noise)
        if self.X_pending is not None and self.X_pending.numel():
            pending = self.X_pending.detach().to(self.model.train_targets)
            pending = (
                self.model.transform_inputs(pending)
                .double()
                .reshape(-1, self.train_X.shape[-1])
            )
            value = self._k(pending, self.X, 0) @ self.weights
            self._condition(
                torch.cat([self.train_X, pending]),
                torch.cat([y, value]),
                torch.cat([self.noise, self.noise.mean().expand(len(pending))]),
            )

    def _condition(self, X: Tensor, y: Tensor, noise: Tensor) -> None:
        """Factorize the covariance of the data; y is centered."""
        self.X = X
        self.L = psd_safe_cholesky(self._k(X, X, 0) + noise.diag())
        self.weights = torch.cholesky_solve(y.unsqueeze(-1), self.L).squeeze(-1)
        self.k_designs = self._k(self.designs, X, 1)
        self.m_designs = self.k_designs @ self.weights

    def _k(self, a: Tensor, b: Tensor, num_noises: int) -> Tensor:
        """Covariances of f(a) and f(b) for 0 noises; of g(a) and f(b) for 1.

        The average of an RBF kernel over a Normal law has a longer lengthscale and is
        lower [Girard2004]_.
        """
        width = (self.lengthscale**2 + num_noises * self.std**2).sqrt()
        distance = ((a.unsqueeze(-2) - b.unsqueeze(-3)) / width).square().sum(-1)
        height = self.variance * (self.lengthscale / width).prod()
        return height * (-0.5 * distance).exp()

    def robust_mean(self, X: Tensor) -> Tensor:
        r"""The posterior mean of g.

        Args:
            X: A ``... x d``-dim tensor of designs, raw.

        Returns:
            A ``...``-dim tensor.
        """
        x = self.model.transform_inputs(X).double()
        mean = self.mean + self._k(x, self.X, 1) @ self.weights
        if getattr(self.model, "outcome_transform", None) is not None:
            mean, _ = self.model.outcome_transform.untransform(mean.unsqueeze(-1))
            mean = mean.squeeze(-1)
        return mean.to(X)

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        r"""Evaluate the log of the robust knowledge gradient.

        Args:
            X: A ``(b1 x ... bk) x 1 x d``-dim tensor of candidates.

        Returns:
            A ``(b1 x ... bk)``-dim tensor.
        """
        x = self.model.transform_inputs(X).double()
        # a = L^-1 k(X, x): what the data say about f(x)
        a = torch.linalg.solve_triangular(self.L, self._k(self.X, x, 0), upper=False)
        variance = (self.variance - a.square().sum((-2, -1))).clamp_min(0)  # of f(x)
        # Cov[g(designs and x), f(x) | data]
        own = self._k(x, self.X, 1)
        k = torch.cat([self.k_designs.expand(*X.shape[:-2], -1, -1), own], dim=-2)
        whitened = torch.linalg.solve_triangular(self.L, k.mT, upper=False)
        prior = torch.cat([self._k(self.designs, x, 1), self._k(x, x, 1)], dim=-2)
        covariance = (prior - whitened.mT @ a).squeeze(-1)
        others = self.m_designs.expand(*X.shape[:-2], -1)
        means = torch.cat([others, own @ self.weights], dim=-1)
        # The mean at a moves by slope * Z, Z ~ N(0, 1), once f(x) has been observed.
        std = (variance + self.noise.mean()).sqrt()
        slopes = covariance / std.unsqueeze(-1)
        return (log_expected_gain(means, slopes) + self.scale.log()).to(X)


def log_expected_gain(intercepts: Tensor, slopes: Tensor) -> Tensor:
    r"""``log(E max_i (a_i + b_i Z) - max_i a_i)`` for ``Z ~ N(0, 1)``, exactly.

    The maximum of lines is convex with kinks at c_k, where the slope grows by d_k. So
    the gain is ``sum_k d_k h(|c_k|)``, ``h(t) = E[(Z - t)_+]`` [Frazier2009]_. All
    terms are positive, and are summed as logarithms.

    Args:
        intercepts: A ``... x p``-dim tensor, ``a_i``.
        slopes: A ``... x p``-dim tensor, ``b_i``.

    Returns:
        A ``...``-dim tensor.
    """
    with torch.no_grad():
        steeper = slopes.unsqueeze(-2) - slopes.unsqueeze(-1)  # [i, j]: b_j - b_i
        lower = intercepts.unsqueeze(-1) - intercepts.unsqueeze(-2)  # a_i - a_j
        crossing = lower / torch.where(steeper == 0, 1.0, steeper)
        # line i is highest from its last flatter line to its first steeper one
        begins = torch.where(steeper < 0, crossing, -math.inf).amax(-1)
        ends, following = torch.where(steeper > 0, crossing, math.inf).min(-1)
        # of parallel lines the highest counts; of equal ones, the first
        index = torch.arange(slopes.shape[-1], device=slopes.device)
        earlier = index.unsqueeze(0) < index.unsqueeze(-1)
        beaten = (steeper == 0) & ((lower < 0) | ((lower == 0) & earlier))
        kink = (begins < ends) & ends.isfinite() & ~beaten.any(-1)
        # where several lines cross in one point, the steepest of them goes on
        tied = (crossing <= ends.unsqueeze(-1)) & (steeper > 0)
        steepest = torch.where(tied, steeper, -math.inf).argmax(-1)
        following = torch.where(tied.any(-1), steepest, following)
    growth = slopes.gather(-1, following) - slopes
    drop = intercepts - intercepts.gather(-1, following)
    growth = torch.where(kink, growth, 1.0)
    terms = growth.log() + _log_excess((drop / growth).abs())
    return torch.where(kink, terms, NO_GAIN).logsumexp(-1)


def _log_excess(t: Tensor) -> Tensor:
    """log E[(Z - t)_+] = log(phi(t) - t Phi(-t)) for t >= 0, without cancellation."""
    near = t.clamp_max(100.0)
    mills = math.sqrt(math.pi / 2) * torch.special.erfcx(near / math.sqrt(2))
    far = t.clamp_min(100.0)
    inverse = far.square().reciprocal()
    # phi(t) / t^2 (1 - 3 / t^2 + 15 / t^4 - ...): good to 1e-13 from 100 on
    series = torch.log1p(inverse * (-3 + 15 * inverse)) - 2 * far.log()
    log_phi = -0.5 * t.square() - 0.5 * math.log(2 * math.pi)
    return log_phi + torch.where(t < 100.0, torch.log1p(-near * mills), series)


def _check_model(model: SingleTaskGP) -> None:
    name = "LogRobustKnowledgeGradient"
    if not isinstance(model, SingleTaskGP):
        raise UnsupportedError(
            f"{name} needs a SingleTaskGP, but got {type(model).__name__}."
        )
    if model.num_outputs != 1 or len(model.batch_shape) > 0:
        raise UnsupportedError(f"{name} needs a single-output model without batches.")
    kernel = model.covar_module
    scaled = isinstance(kernel, ScaleKernel)
    base = kernel.base_kernel if scaled else kernel
    whole = kernel.active_dims is None and base.active_dims is None
    if type(base) is not RBFKernel or not whole:
        raise UnsupportedError(
            f"{name} needs an RBFKernel over all inputs, or a ScaleKernel of one."
        )
    if not isinstance(model.mean_module, (ConstantMean, ZeroMean)):
        raise UnsupportedError(f"{name} needs a constant mean.")
    for transform, supported in (
        (getattr(model, "input_transform", None), Normalize),
        (getattr(model, "outcome_transform", None), Standardize),
    ):
        if transform is not None and type(transform) is not supported:
            raise UnsupportedError(
                f"{name} supports {supported.__name__}, but the model has "
                f"{type(transform).__name__}."
            )
