#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

import math

import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_samples
from botorch.utils.testing import BotorchTestCase
from botorch_community.acquisition.robust_knowledge_gradient import (
    log_expected_gain,
    LogRobustKnowledgeGradient,
    NO_GAIN,
)
from gpytorch.kernels import RBFKernel, ScaleKernel


class TestLogRobustKnowledgeGradient(BotorchTestCase):
    def _data(self, n: int = 7, **tkwargs):
        X = draw_sobol_samples(
            torch.tensor([[0.0, -1.0], [2.0, 3.0]], **tkwargs), n=n, q=1, seed=1
        ).squeeze(-2)
        Y = torch.sin(3 * X[:, :1]) + 0.3 * X[:, 1:]
        return X, Y

    def _model(self, n: int = 7, **tkwargs):
        X, Y = self._data(n, **tkwargs)
        bounds = torch.tensor([[0.0, -1.0], [2.0, 3.0]], **tkwargs)
        model = SingleTaskGP(
            X,
            Y,
            covar_module=ScaleKernel(RBFKernel(ard_num_dims=2)),
            input_transform=Normalize(2, bounds=bounds),
            outcome_transform=Standardize(1),
        ).to(**tkwargs)
        model.covar_module.base_kernel.lengthscale = torch.tensor([0.3, 0.7])
        model.covar_module.outputscale = 1.3
        model.likelihood.noise = 1e-2
        return model.eval()

    def _designs(self, n: int = 9, **tkwargs):
        bounds = torch.tensor([[0.0, -1.0], [2.0, 3.0]], **tkwargs)
        return draw_sobol_samples(bounds, n=n, q=1, seed=5).squeeze(-2)

    def _g_mean(self, model, X, std, order: int = 16):
        """The mean of g by Gauss-Hermite quadrature over the posterior mean of f."""
        z, w = np.polynomial.hermite_e.hermegauss(order)
        nodes = torch.cartesian_prod(*[torch.tensor(z).to(X)] * 2) * std
        weights = torch.cartesian_prod(*[torch.tensor(w).to(X)] * 2).prod(-1)
        with torch.no_grad():
            means = [model.posterior(x + nodes).mean.squeeze(-1) for x in X]
        return torch.stack([mean @ weights for mean in means], -1) / (2 * math.pi)

    def test_shapes_and_gradients(self) -> None:
        for dtype in (torch.float, torch.double):
            tkwargs = {"device": self.device, "dtype": dtype}
            model, designs = self._model(**tkwargs), self._designs(**tkwargs)
            acqf = LogRobustKnowledgeGradient(model, 0.2, designs)
            for shape in ((2,), (1, 2), (3, 1, 2), (4, 3, 1, 2)):
                X = torch.rand(*shape, **tkwargs).requires_grad_()
                value = acqf(X if X.ndim > 1 else X.unsqueeze(0))
                self.assertEqual(value.shape, torch.Size(shape[:-2] or (1,)))
                self.assertEqual(value.dtype, dtype)
                self.assertTrue(value.isfinite().all())
                (gradient,) = torch.autograd.grad(value.sum(), X)
                self.assertTrue(gradient.isfinite().all())
                self.assertTrue((gradient != 0).any())
            with self.assertRaisesRegex(AssertionError, "Expected X to be"):
                acqf(torch.rand(1, 2, 2, **tkwargs))

    def test_robust_mean_is_that_of_quadrature(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        model, designs = self._model(**tkwargs), self._designs(**tkwargs)
        std = torch.tensor([0.2, 0.5], **tkwargs)
        acqf = LogRobustKnowledgeGradient(model, std, designs)
        expected = self._g_mean(model, designs, std)
        self.assertAllClose(acqf.robust_mean(designs), expected, atol=1e-8)
        # without noise, g is f
        exact = LogRobustKnowledgeGradient(model, 0.0, designs)
        expected = model.posterior(designs).mean.squeeze(-1)
        self.assertAllClose(exact.robust_mean(designs), expected, atol=1e-8)

    def test_value_is_that_of_conditioned_models(self) -> None:
        """E max of the mean of g after y(x), by models conditioned on many y(x)."""
        tkwargs = {"device": self.device, "dtype": torch.double}
        model, designs = self._model(**tkwargs), self._designs(**tkwargs)
        std = torch.tensor([0.2, 0.5], **tkwargs)
        acqf = LogRobustKnowledgeGradient(model, std, designs)
        # midpoints of equal shares of the law of y(x)
        share = (torch.arange(100, **tkwargs) + 0.5) / 100
        z = torch.special.ndtri(share)
        for x in self._designs(12, **tkwargs)[[3, 11]]:
            x = x.unsqueeze(0)
            y = model.posterior(x, observation_noise=True)
            values = (y.mean + y.variance.sqrt() * z).reshape(-1, 1, 1)
            scaled, _ = model.outcome_transform(values)
            after = model.condition_on_observations(
                x.expand(len(z), 1, 2),
                values,
                noise=torch.full_like(scaled, 1e-2),
            )
            choices = torch.cat([designs, x])
            lifted = self._g_mean(after, choices, std, order=7)
            before = self._g_mean(model, choices, std, order=7).max()
            gain = lifted.max(-1).values.mean() - before
            self.assertAllClose(acqf(x).exp()[0], gain, rtol=0.02, atol=1e-5)

    def test_pending_points_count_as_observed(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        model, designs = self._model(**tkwargs), self._designs(**tkwargs)
        acqf = LogRobustKnowledgeGradient(model, 0.2, designs)
        x = torch.tensor([[1.5, 0.5]], **tkwargs)
        free, mean = acqf(x), acqf.robust_mean(designs)
        acqf.set_X_pending(x)
        self.assertAllClose(acqf.robust_mean(designs), mean)
        self.assertLess(acqf(x).item(), free.item())
        given = LogRobustKnowledgeGradient(model, 0.2, designs, X_pending=x)
        self.assertAllClose(given(x), acqf(x))
        acqf.set_X_pending(None)
        self.assertAllClose(acqf(x), free)

    def test_it_is_optimized(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        model, designs = self._model(**tkwargs), self._designs(**tkwargs)
        bounds = torch.tensor([[0.0, -1.0], [2.0, 3.0]], **tkwargs)
        acqf = LogRobustKnowledgeGradient(model, 0.2, designs)
        x, _ = optimize_acqf(
            acqf, bounds, q=2, num_restarts=2, raw_samples=16, sequential=True
        )
        self.assertEqual(x.shape, torch.Size([2, 2]))
        acqf.set_X_pending(None)
        value, others = acqf(x[:1]).item(), acqf(designs[:, None])
        self.assertGreaterEqual(value, others.max().item() - 0.1)

    def test_plain_and_fixed_noise_models(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        X, Y = self._data(**tkwargs)
        designs = self._designs(**tkwargs)
        for Yvar in (None, torch.full_like(Y, 0.1)):
            model = SingleTaskGP(X, Y, Yvar, outcome_transform=None)
            acqf = LogRobustKnowledgeGradient(model, 0.2, designs)
            self.assertTrue(acqf(designs[:, None]).isfinite().all())
            std = torch.full((2,), 0.2, **tkwargs)
            self.assertAllClose(
                acqf.robust_mean(designs), self._g_mean(model, designs, std), atol=1e-8
            )

    def test_designs_of_a_wrong_shape_are_refused(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        model, designs = self._model(**tkwargs), self._designs(**tkwargs)
        for wrong in (designs[0], designs[:, :1], designs[:0]):
            with self.assertRaisesRegex(ValueError, "must have shape p x 2"):
                LogRobustKnowledgeGradient(model, 0.1, wrong)


class TestLogExpectedGain(BotorchTestCase):
    def test_against_quadrature(self) -> None:
        torch.manual_seed(0)
        a = torch.randn(20, 6, dtype=torch.double)
        b = torch.randn(20, 6, dtype=torch.double)
        z = torch.linspace(-9, 9, 200_001, dtype=torch.double)
        density = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        for i in range(len(a)):
            highest = (a[i] + b[i] * z.unsqueeze(-1)).amax(-1)
            expected = torch.trapezoid(highest * density, z) - a[i].max()
            gain = log_expected_gain(a[i], b[i]).exp()
            self.assertAllClose(gain, expected, atol=1e-7)

    def test_corner_cases(self) -> None:
        a = torch.zeros(3, dtype=torch.double)
        # parallel lines never gain, nor does a single one
        self.assertEqual(log_expected_gain(a, a + 1).item(), NO_GAIN + math.log(3))
        self.assertEqual(log_expected_gain(a[:1], a[:1]).item(), NO_GAIN)
        # three lines through one point: E max(-Z, 0, Z) = E |Z|
        b = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.double)
        expected = torch.tensor(0.5 * math.log(2 / math.pi), dtype=torch.double)
        for order in ([0, 1, 2], [1, 0, 2], [2, 0, 1]):
            self.assertAllClose(log_expected_gain(a, b[order]), expected)
        # equal lines count once
        doubled = torch.tensor([-1.0, -1.0, 1.0, 1.0], dtype=torch.double)
        gain = log_expected_gain(torch.zeros_like(doubled), doubled)
        self.assertAllClose(gain, expected)
        # far crossings: log(phi(t) - t Phi(-t)) by 50 digits
        for t, log in (
            (1.0, -2.4851210257126413),
            (99.0, -4910.6094842154551),
            (101.0, -5110.6494735548640),
            (1e5, -5000000023.9447895),
        ):
            value = log_expected_gain(
                torch.tensor([t, 0.0], dtype=torch.double),
                torch.tensor([0.0, 1.0], dtype=torch.double),
            )
            self.assertAlmostEqual(value.item() / log, 1.0, places=12)
