#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

r"""
Robust knowledge gradient for designs with Normal input noise.

The robust value of a design is ``g(x) = E f(x + xi)``, while only ``f(x)`` is
evaluated; see ``noisy_input.py``. What an evaluation of f is worth for the maximum of
the mean of g is a discrete knowledge gradient [Frazier2009]_ over the designs that may
be recommended, together with the candidate itself [Scott2011]_. It is computed exactly.

References

.. [Frazier2009]
    P. Frazier, W. Powell, S. Dayanik. The knowledge-gradient policy for correlated
    normal beliefs. INFORMS Journal on Computing, 21(4), 2009.

.. [Scott2011]
    W. Scott, P. Frazier, W. Powell. The correlated knowledge gradient for simulation
    optimization of continuous parameters using Gaussian process regression. SIAM
    Journal on Optimization, 21(3), 2011.

Contributor: your-github-handle
"""

from __future__ import annotations

import math

import torch
from botorch.models import SingleTaskGP
from botorch.utils.transforms import t_batch_mode_transform
from botorch_community.acquisition.noisy_input import (
    in_precision_of,
    NoisyInputAcquisitionFunction,
)
from torch import Tensor

# The log of "no gain at all": finite, so that optimizers can compare it.
NO_GAIN = -1e10


class LogRobustKnowledgeGradient(NoisyInputAcquisitionFunction):
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
        super().__init__(model=model, input_noise_std=input_noise_std)
        self.register_buffer("designs", self._model_designs(designs))
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        r"""Condition on pending points, with their posterior mean as their value.

        Args:
            X_pending: A ``m x d``-dim tensor of points, or None.
        """
        super().set_X_pending(X_pending)
        self.k_designs = self._k(self.designs, self.X, 1)
        self.m_designs = self.k_designs @ self.weights

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
        a = self._whiten(self._k(self.X, x, 0))
        variance = (self.variance - a.square().sum((-2, -1))).clamp_min(0)  # of f(x)
        # Cov[g(designs and x), f(x) | data]
        own = self._k(x, self.X, 1)
        k = torch.cat([self.k_designs.expand(*X.shape[:-2], -1, -1), own], dim=-2)
        prior = torch.cat([self._k(self.designs, x, 1), self._k(x, x, 1)], dim=-2)
        covariance = (prior - self._whiten(k.mT).mT @ a).squeeze(-1)
        others = self.m_designs.expand(*X.shape[:-2], -1)
        means = torch.cat([others, own @ self.weights], dim=-1)
        # The mean at a moves by slope * Z, Z ~ N(0, 1), once f(x) has been observed.
        std = (variance + self.noise.mean()).sqrt()
        slopes = covariance / std.unsqueeze(-1)
        gain = log_expected_gain(means, slopes) + self.scale.log()
        return in_precision_of(X, gain)


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
