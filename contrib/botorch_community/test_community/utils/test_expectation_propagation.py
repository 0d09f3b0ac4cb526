#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

import math

import torch
from botorch.exceptions.warnings import NumericsWarning
from botorch.utils.testing import BotorchTestCase
from botorch_community.utils.expectation_propagation import (
    expectation_propagation,
    nearest_correlation,
    standard_truncation,
)


def truncated_normal(beta):
    """Mean and variance of N(0, 1) below beta, for beta that is not far below 0."""
    r = math.exp(-0.5 * beta**2) / math.sqrt(2 * math.pi)
    r /= 0.5 * math.erfc(-beta / math.sqrt(2))
    return -r, 1 - r * (r + beta)


def sequential_ep(mean, covariance, upper, sweeps=80):
    """Mean and covariance below upper, by EP with one site at a time."""
    mu, Sigma = mean.clone(), covariance.clone()
    tau, nu = torch.zeros_like(mu), torch.zeros_like(mu)
    for i in list(range(len(mu))) * sweeps:
        v = 1 / (1 / Sigma[i, i] - tau[i])
        m = v * (mu[i] / Sigma[i, i] - nu[i])
        shift, share = truncated_normal(((upper - m) / v.sqrt()).item())
        new_tau = 1 / (share * v) - 1 / v
        new_nu = (m + v.sqrt() * shift) / (share * v) - m / v
        d_tau, d_nu = new_tau - tau[i], new_nu - nu[i]
        tau[i], nu[i] = new_tau, new_nu
        column = Sigma[:, i] / (1 + d_tau * Sigma[i, i])
        mu = mu + column * (d_nu - d_tau * mu[i])
        Sigma = Sigma - d_tau * torch.outer(column, Sigma[i])
    return mu, Sigma


class TestExpectationPropagation(BotorchTestCase):
    def test_standard_truncation(self) -> None:
        # by 80 digits
        for beta, *expected in (
            (-1e8, 100000000.00000001, 0.9999999999999999, 9.999999999999994e-17),
            (-1000.0, 1000.000999998, 0.99999900000599995, 9.9999400004999948e-7),
            (-30.0, 30.033259667433677, 0.99889622848810991, 0.001103771511890091),
            (-6.001, 6.1594586203840954, 0.97601931529898712, 0.023980684701012881),
            (-5.999, 6.1575065956586401, 0.97600540822347358, 0.023994591776526422),
            (-1.0, 1.5251352761609812, 0.80090233442965121, 0.19909766557034879),
            (0.0, 0.79788456080286536, 0.63661977236758134, 0.36338022763241866),
            (5.0, 1.4867199409049057e-6, 7.4336019148607112e-6, 0.99999256639808514),
            (1e9, 0.0, 0.0, 1.0),
        ):
            beta = torch.tensor(beta, dtype=torch.double, requires_grad=True)
            moments = standard_truncation(beta)
            for value, exact in zip(moments, expected, strict=True):
                self.assertLess(abs(value.item() - exact), 1e-12 * exact + 1e-300)
            # dr / dbeta = -r (r + beta)
            (slope,) = torch.autograd.grad(moments.r, beta)
            self.assertAllClose(slope, -moments.explained, rtol=1e-9, atol=1e-12)

    def test_one_and_independent_components_are_exact(self) -> None:
        bounds = torch.tensor([-3.0, 0.5, 6.0], dtype=torch.double)
        exact = [truncated_normal(b.item()) for b in bounds]
        mean, variance = torch.tensor(exact, dtype=torch.double).unbind(-1)
        for some in ([0], [1], [0, 1, 2]):
            R = torch.eye(len(some), dtype=torch.double)
            truncated, converged = expectation_propagation(R, bounds[some])
            self.assertTrue(converged)
            self.assertAllClose(truncated.mean, mean[some], rtol=1e-10)
            self.assertAllClose(truncated.variance, variance[some], rtol=1e-10)

    def test_against_one_site_at_a_time(self) -> None:
        generator = torch.Generator().manual_seed(0)
        for n, rank in ((3, 9), (6, 8), (8, 8)):
            for upper in (-1.0, 0.0, 1.0):
                A = torch.randn(n, rank, generator=generator, dtype=torch.double) + 0.5
                A = A / A.norm(dim=-1, keepdim=True)
                R, bounds = A @ A.mT, torch.full((n,), upper, dtype=torch.double)
                truncated, converged = expectation_propagation(R, bounds)
                self.assertTrue(converged)
                mu, Sigma = sequential_ep(torch.zeros_like(bounds), R, upper)
                projected = truncated.root @ R
                self.assertAllClose(truncated.mean, mu, rtol=0, atol=1e-9)
                self.assertAllClose(
                    R - projected.mT @ projected, Sigma, rtol=0, atol=1e-9
                )
                variance = Sigma.diagonal()
                self.assertAllClose(truncated.variance, variance, rtol=0, atol=1e-9)

    def test_strongly_correlated_components(self) -> None:
        """Plain updates of all sites at once oscillate here, or need many sweeps."""
        t = torch.linspace(0, 1, 25, dtype=torch.double)
        for width in (0.3, 1.0, 3.0, 30.0):
            R = (-0.5 * ((t - t.unsqueeze(-1)) / width) ** 2).exp()
            for upper in (-10.0, -3.0, 0.0, 1.0):
                bounds = upper + torch.sin(7 * t)
                truncated, converged = expectation_propagation(R, bounds)
                self.assertTrue(converged)
                self.assertTrue((truncated.variance > 0).all())
                self.assertTrue((truncated.mean < bounds).all())

    def test_nearest_correlation(self) -> None:
        """It is the correlation, unless the covariance is indefinite."""
        covariance = torch.tensor([[4.0, 1.0], [1.0, 9.0]], dtype=torch.double)
        R, std = nearest_correlation(covariance)
        self.assertAllClose(std, torch.tensor([2.0, 3.0], dtype=torch.double))
        self.assertAllClose(R[0, 1].item(), 1 / 6)
        covariance = torch.tensor([[1.0, 1.5], [1.5, 1.0]], dtype=torch.double)
        with self.assertWarnsRegex(NumericsWarning, "mostly rounding"):
            R, std = nearest_correlation(covariance)
        self.assertAllClose(R, torch.ones(2, 2, dtype=torch.double))
        self.assertAllClose(std, torch.full((2,), math.sqrt(1.25), dtype=torch.double))

    def test_without_components(self) -> None:
        R = torch.zeros(0, 0, dtype=torch.double)
        truncated, converged = expectation_propagation(R, R[0:0].flatten())
        self.assertTrue(converged)
        self.assertEqual(truncated.root.shape, torch.Size([0, 0]))
