#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

r"""
Acquisition functions for designs with Normal input noise.

What is built differs from what was planned: ``x + xi``, ``xi ~ N(0, diag(s^2))``.
The robust value of a design is ``g(x) = E f(x + xi)``, while only ``f(x)`` is
evaluated. For an RBF kernel, f and g are jointly Gaussian with covariances in closed
form [Girard2004]_, [Froehlich2020]_, so no perturbed copies of points are needed.

References

.. [Girard2004]
    A. Girard. Approximate methods for propagation of uncertainty with Gaussian
    process models. PhD thesis, University of Glasgow, 2004.

.. [Froehlich2020]
    L. P. Froehlich, E. D. Klenske, J. Vinogradska, C. Daniel, M. N. Zeilinger.
    Noisy-Input Entropy Search for Efficient Robust Bayesian Optimization. AISTATS,
    2020.

Contributor: your-github-handle
"""

from __future__ import annotations

from abc import ABC

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.exceptions.errors import UnsupportedError
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import Standardize
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, ZeroMean
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor


class NoisyInputAcquisitionFunction(AcquisitionFunction, ABC):
    r"""Base of acquisition functions that need the joint posterior of f and g.

    All is in the units of the model, in double precision, and y is centered:
    ``L L' = k_f(X, X) + noise`` and ``weights = (L L')^-1 y``. A subclass calls
    ``set_X_pending`` at the end of its constructor.
    """

    def __init__(self, model: SingleTaskGP, input_noise_std: float | Tensor) -> None:
        r"""Base of acquisition functions that need the joint posterior of f and g.

        Args:
            model: A fitted single-output, unbatched SingleTaskGP with an RBFKernel, or
                a ScaleKernel of one, and a constant mean. Normalize and Standardize are
                supported as its transforms.
            input_noise_std: The standard deviation of ``xi``, in the raw units of X: a
                scalar or a ``d``-dim tensor. 0 means that a parameter is exact.
        """
        super().__init__(model=model)
        _check_model(model, type(self).__name__)
        model.eval()  # training inputs are transformed in eval mode only
        X = model.train_inputs[0].detach()
        d = X.shape[-1]
        std = torch.as_tensor(input_noise_std).to(X).double().expand(d)
        if not (std.isfinite().all() and (std >= 0).all()):
            raise ValueError(
                "input_noise_std must be finite and not negative, but got "
                f"{std.tolist()}."
            )
        kernel, variance = model.covar_module, torch.ones(())
        if isinstance(kernel, ScaleKernel):
            kernel, variance = kernel.base_kernel, kernel.outputscale.detach()
        # Normalize is affine: it maps the noise like a difference of two points.
        ends = torch.stack([torch.zeros(d), torch.ones(d)]).to(X)
        low, high = model.transform_inputs(ends).double()
        offset, scale = torch.zeros(()), torch.ones(())
        if getattr(model, "outcome_transform", None) is not None:
            offset, scale = model.outcome_transform.means, model.outcome_transform.stdvs
        noise = model.likelihood.noise.detach().double().reshape(-1)
        lengthscale = kernel.lengthscale.detach().double()[0].expand(d)
        self.register_buffer("train_X", X.double())
        self.register_buffer("mean", model.mean_module(X[:1]).detach().double())
        self.register_buffer("noise", noise.expand(len(X)))
        self.register_buffer("lengthscale", lengthscale)
        self.register_buffer("variance", variance.to(X).double().reshape(()))
        self.register_buffer("std", std * (high - low))
        self.register_buffer("offset", offset.to(X).double().reshape(()))
        self.register_buffer("scale", scale.to(X).double().reshape(()))

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

    def _k(self, a: Tensor, b: Tensor, num_noises: int) -> Tensor:
        """Covariances of f(a), f(b) for 0 noises; g(a), f(b) for 1; g(a), g(b) for 2.

        The average of an RBF kernel over a Normal law has a longer lengthscale and is
        lower [Girard2004]_. For g and g the two noises are independent, also at a = b.
        """
        width = self._width(num_noises)
        distance = ((a.unsqueeze(-2) - b.unsqueeze(-3)) / width).square().sum(-1)
        return self._prior(num_noises) * (-0.5 * distance).exp()

    def _prior(self, num_noises: int) -> Tensor:
        """The covariance of two values at the same design."""
        return self.variance * (self.lengthscale / self._width(num_noises)).prod()

    def _width(self, num_noises: int) -> Tensor:
        return (self.lengthscale**2 + num_noises * self.std**2).sqrt()

    def _whiten(self, k: Tensor) -> Tensor:
        """L^-1 k for covariances k of the data (rows) with other values."""
        return torch.linalg.solve_triangular(self.L, k, upper=False)

    def _model_designs(self, designs: Tensor) -> Tensor:
        """Raw designs in the units of the model."""
        d = self.train_X.shape[-1]
        if designs.ndim != 2 or designs.shape[-1] != d or len(designs) == 0:
            raise ValueError(
                f"designs must have shape p x {d}, but got {tuple(designs.shape)}."
            )
        if not designs.isfinite().all():
            raise ValueError("designs must be finite.")
        X = self.model.train_inputs[0]
        return self.model.transform_inputs(designs.to(X)).double()

    def robust_mean(self, X: Tensor) -> Tensor:
        r"""The posterior mean of g.

        Args:
            X: A ``... x d``-dim tensor of designs, raw.

        Returns:
            A ``...``-dim tensor.
        """
        x = self.model.transform_inputs(X).double()
        mean = self.mean + self._k(x, self.X, 1) @ self.weights
        return in_precision_of(X, self.offset + self.scale * mean)


def in_precision_of(X: Tensor, values: Tensor) -> Tensor:
    """The values in the type of X, or as they are where X has whole numbers."""
    return values.to(X) if X.is_floating_point() else values


def _check_model(model: SingleTaskGP, name: str) -> None:
    if not isinstance(model, SingleTaskGP):
        raise UnsupportedError(
            f"{name} needs a SingleTaskGP, but got {type(model).__name__}."
        )
    if model.num_outputs != 1 or len(model.batch_shape) > 0:
        raise UnsupportedError(f"{name} needs a single-output model without batches.")
    # A method of a subclass has values that hyper-parameters do not tell.
    for method in ("forward", "posterior", "transform_inputs"):
        if getattr(type(model), method) is not getattr(SingleTaskGP, method):
            raise UnsupportedError(
                f"{name} needs {method} to be that of SingleTaskGP, but "
                f"{type(model).__name__} has its own."
            )
    kernel = model.covar_module
    scaled = type(kernel) is ScaleKernel
    base = kernel.base_kernel if scaled else kernel
    whole = kernel.active_dims is None and base.active_dims is None
    if type(base) is not RBFKernel or not whole:
        raise UnsupportedError(
            f"{name} needs an RBFKernel over all inputs, or a ScaleKernel of one."
        )
    if type(model.mean_module) not in (ConstantMean, ZeroMean):
        raise UnsupportedError(f"{name} needs a constant mean.")
    noise_models = (GaussianLikelihood, FixedNoiseGaussianLikelihood)
    if type(model.likelihood) not in noise_models:
        raise UnsupportedError(
            f"{name} supports GaussianLikelihood and FixedNoiseGaussianLikelihood, but "
            f"the model has {type(model.likelihood).__name__}."
        )
    for transform, supported in (
        (getattr(model, "input_transform", None), Normalize),
        (getattr(model, "outcome_transform", None), Standardize),
    ):
        if transform is not None and type(transform) is not supported:
            raise UnsupportedError(
                f"{name} supports {supported.__name__}, but the model has "
                f"{type(transform).__name__}."
            )
