#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

r"""
Noisy-Input Entropy Search (NES-EP) for designs with Normal input noise.

The robust value of a design is ``g(x) = E f(x + xi)``, while only ``f(x)`` is
evaluated; see ``noisy_input.py``. An evaluation at x is worth what it tells about the
robust maximum ``g* = max g``. Max-value entropy search on a model of g would take g(x)
to be what is observed. Here the distribution of f(x) given g* is approximated, by
expectation propagation on ``g(X) <= g*`` at the data X, followed by ``g(x) <= g*``
[Froehlich2020]_.

Contributor: your-github-handle
"""

from __future__ import annotations

import warnings

import torch
from botorch.exceptions.warnings import NumericsWarning
from botorch.models import SingleTaskGP
from botorch.utils.transforms import t_batch_mode_transform
from botorch_community.acquisition.noisy_input import (
    in_precision_of,
    NoisyInputAcquisitionFunction,
)
from botorch_community.utils.expectation_propagation import (
    expectation_propagation,
    nearest_correlation,
    standard_truncation,
)
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor

# Posterior variances are differences: below this share of the prior variance they are
# mostly rounding, and below FLOOR nothing else.
ROUNDING = 1e-12
FLOOR = 1e-14
# Bounds further below the mean are raised to this many standard deviations. No sampled
# maximum lies so low, as the mass below is 1e-197.
LOWEST = -30.0


class NoisyInputEntropySearch(NoisyInputAcquisitionFunction):
    r"""Noisy-Input Entropy Search (one point at a time, maximization).

    The mutual information of ``y(x)`` and ``g*`` in nats, with Gaussian entropies:
    ``1/2 log(v_f + s2) - mean_k 1/2 log(v_k + s2)``, where ``v_f`` and ``v_k`` are the
    variances of f(x) given the data and given ``g*_k`` too, and ``s2`` is the variance
    of the observation noise.

    Example:
        >>> model = SingleTaskGP(train_X, train_Y)
        >>> designs = draw_sobol_samples(bounds, n=512, q=1).squeeze(-2)
        >>> acqf = NoisyInputEntropySearch(model, 0.05, designs)
        >>> x, value = optimize_acqf(acqf, bounds, q=1, num_restarts=4, raw_samples=64)
        >>> best = designs[acqf.robust_mean(designs).argmax()]
    """

    def __init__(
        self,
        model: SingleTaskGP,
        input_noise_std: float | Tensor,
        designs: Tensor | None = None,
        num_max_values: int = 1,
        max_values: Tensor | None = None,
        num_samples: int = 100,
        X_pending: Tensor | None = None,
        seed: int = 0,
    ) -> None:
        r"""Noisy-Input Entropy Search.

        Args:
            model: A fitted single-output, unbatched SingleTaskGP with an RBFKernel, or
                a ScaleKernel of one, and a constant mean. Normalize and Standardize are
                supported as its transforms.
            input_noise_std: The standard deviation of ``xi``, in the raw units of X: a
                scalar or a ``d``-dim tensor. 0 means that a parameter is exact.
            designs: A ``p x d``-dim tensor of designs, raw. The maximum of a sample of
                g is taken over these and the data. Sobol points, better with some close
                to the maximum of the mean of g. Not needed if ``max_values`` are given.
            num_max_values: How many values of ``g*`` to average over.
            max_values: Values of ``g*`` in raw units. If given, none are sampled.
            num_samples: How many samples of g have their maxima taken. ``g*`` are
                percentiles of these, on a regular grid from 25 to 75.
            X_pending: A ``m x d``-dim tensor of points under evaluation. They count as
                observed at their posterior mean.
            seed: Seeds the samples of g.
        """
        super().__init__(model=model, input_noise_std=input_noise_std)
        if designs is None and max_values is None:
            raise ValueError("Expected designs or max_values, but got neither.")
        if num_max_values < 1 or num_samples < 1:
            raise ValueError(
                "num_max_values and num_samples must be at least 1, but got "
                f"{num_max_values} and {num_samples}."
            )
        self.num_max_values, self.num_samples = num_max_values, num_samples
        self.seed = seed
        if designs is not None:
            designs = self._model_designs(designs)
        self.register_buffer("designs", designs)
        if max_values is not None:
            max_values = torch.as_tensor(max_values).to(self.mean).reshape(-1)
            if not len(max_values) or not max_values.isfinite().all():
                raise ValueError(
                    "max_values must be one or more finite numbers, but got "
                    f"{max_values.tolist()}."
                )
        self.register_buffer("given_max_values", max_values)
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        r"""Condition on pending points, with their posterior mean as their value.

        Args:
            X_pending: A ``m x d``-dim tensor of points, or None.
        """
        super().set_X_pending(X_pending)
        if self.given_max_values is None:
            self.g_star = self._sampled_maxima()
        else:
            self.g_star = (self.given_max_values - self.offset) / self.scale - self.mean
        self._truncate()

    @property
    def max_values(self) -> Tensor:
        """The values of g* that are averaged over, in raw units."""
        return self.offset + self.scale * (self.mean + self.g_star)

    def _posterior_g(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and covariance of g at all of x, and L^-1 k_fg(X, x)."""
        k = self._k(self.X, x, 1)
        whitened = self._whiten(k)
        covariance = self._k(x, x, 2) - whitened.mT @ whitened
        return k.mT @ self.weights, covariance, whitened

    def _sampled_maxima(self) -> Tensor:
        """Percentiles of the maxima of joint samples of g."""
        # the data too, as g <= g* holds there
        mean, covariance, _ = self._posterior_g(torch.cat([self.designs, self.X]))
        # g is smooth, and its covariance singular up to rounding
        jitter = (ROUNDING * self._prior(2)).expand(len(mean)).diag()
        root = psd_safe_cholesky(covariance + jitter)
        generator = torch.Generator().manual_seed(self.seed)
        shape = (len(mean), self.num_samples)
        z = torch.randn(shape, generator=generator, dtype=torch.double).to(root)
        maxima = (mean.unsqueeze(-1) + root @ z).amax(0)
        low = 0.25 if self.num_max_values > 1 else 0.5
        grid = torch.linspace(low, 0.75, self.num_max_values, dtype=torch.double)
        return maxima.quantile(grid.to(maxima))

    def _truncate(self) -> None:
        """One run of EP on g(X) <= g* for each g*."""
        prior = self._prior(2)
        known = self._whiten(self._k(self.X, self.X, 1)).square().sum(0)
        # A g(x_i) without variance cannot be changed. A repeated point is a single
        # constraint, which EP would count several times.
        self.sites = self.X[prior - known > ROUNDING * prior].unique(dim=0)
        mean, G, self.V = self._posterior_g(self.sites)
        R, self.site_scale = nearest_correlation(G)
        bounds = (self.g_star.unsqueeze(-1) - mean) / self.site_scale
        if (bounds < LOWEST).any():
            warnings.warn(
                f"A value of g* is more than {-LOWEST:.0f} standard deviations below "
                "the mean of g at a data point, and was raised there. Give higher "
                "max_values.",
                NumericsWarning,
                stacklevel=4,
            )
        runs = [expectation_propagation(R, b.clamp_min(LOWEST)) for b in bounds]
        if not all(converged for _, converged in runs):
            warnings.warn(
                "Expectation propagation has not converged. Values of the acquisition "
                "function are approximate. Give higher max_values, or remove points "
                "that nearly coincide.",
                NumericsWarning,
                stacklevel=4,
            )
        self.root = torch.stack([truncated.root for truncated, _ in runs])
        self.shift = torch.stack([truncated.shift for truncated, _ in runs])

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        r"""Evaluate Noisy-Input Entropy Search.

        Args:
            X: A ``(b1 x ... bk) x 1 x d``-dim tensor of candidates.

        Returns:
            A ``(b1 x ... bk)``-dim tensor.
        """
        x = self.model.transform_inputs(X).double().reshape(-1, X.shape[-1])
        k_f, k_fg = self._k(self.X, x, 0), self._k(self.X, x, 1)
        a, c = self._whiten(k_f), self._whiten(k_fg)
        # v_f = k_f(x, x) - |a|^2, v_g = k_g(x, x) - |c|^2, c_fg = k_fg(x, x) - a'c
        v_f, v_g = (
            (prior - w.square().sum(0)).clamp_min(FLOOR * prior)
            for prior, w in ((self._prior(0), a), (self._prior(2), c))
        )
        limit = (v_f * v_g).sqrt()  # which rounding may exceed
        c_fg = (self._prior(1) - (a * c).sum(0)).clamp(-limit, limit)
        # C = Cov[g(X), g(x)], m_0 = m_g + C'u, v_0 = v_g - C'W C
        C = self._k(self.sites, x, 2) - self.V.mT @ c
        C = C / self.site_scale.unsqueeze(-1)
        m_0 = self.weights @ k_fg + self.shift @ C
        removed = (self.root @ C).square().sum(-2).minimum((1 - FLOOR) * v_g)
        v_0 = v_g - removed
        beta = (self.g_star.unsqueeze(-1) - m_0) / v_0.sqrt()
        # v_hat = v_g - removed - v_0 explained
        explained = (removed + v_0 * standard_truncation(beta).explained) / v_g
        # v_tilde = v_f - c_fg^2 / v_g (1 - v_hat / v_g): what is removed, as a share of
        # v_f + s2, so that log(v_f + s2) - log(v_tilde + s2) does not cancel
        share = c_fg.square() / (v_g * (v_f + self.noise.mean())) * explained
        alpha = -0.5 * torch.log1p(-share.clamp_max(1 - FLOOR)).mean(0)
        return in_precision_of(X, alpha.reshape(X.shape[:-2]))
