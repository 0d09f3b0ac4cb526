#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

import math
import warnings
from unittest import mock

import numpy as np
import torch
from botorch.exceptions.warnings import NumericsWarning
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_samples
from botorch.utils.testing import BotorchTestCase
from botorch_community.acquisition.noisy_input_entropy_search import (
    NoisyInputEntropySearch,
)
from botorch_community.utils import expectation_propagation as ep_module
from botorch_community.utils.expectation_propagation import (
    expectation_propagation,
    standard_truncation,
)
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.settings import min_fixed_noise

VARIANCE, LENGTHSCALE, NOISE = 1.25, 0.25, 2**-7  # exact in single precision


def plain_model(X, Y, noise=NOISE):
    """A model without transforms and with mean 0."""
    kernel = ScaleKernel(RBFKernel()).to(X)
    kernel.outputscale, kernel.base_kernel.lengthscale = VARIANCE, LENGTHSCALE
    noise = torch.as_tensor(noise).to(Y).expand_as(Y)
    model = SingleTaskGP(X, Y, noise, covar_module=kernel, outcome_transform=None)
    model.mean_module.constant.data.fill_(0.0)
    return model.eval()


def value_by_the_paper(X, Y, x, std, upper):
    """Steps 1 to 4 of the paper at one point x, with its matrices."""

    def k(a, b, num_noises):
        width = LENGTHSCALE**2 + num_noises * std**2
        height = VARIANCE * (LENGTHSCALE / width.sqrt()).prod()
        return height * (-0.5 * ((a[:, None] - b) ** 2 / width).sum(-1)).exp()

    n, y = len(X), Y.squeeze(-1)
    K = k(X, X, 0) + NOISE * torch.eye(n).to(X)
    # 1. EP on g(X)
    weights = torch.linalg.solve(K, k(X, X, 1).mT).mT
    mean, G = weights @ y, k(X, X, 2) - weights @ k(X, X, 1).mT
    std_g = G.diagonal().sqrt()
    R = G / std_g / std_g.unsqueeze(-1)
    ep, _ = expectation_propagation(R, (upper - mean) / std_g)
    mu = mean + std_g * ep.mean
    Sigma = std_g * (R - R @ ep.root.mT @ ep.root @ R) * std_g.unsqueeze(-1)
    # 2. g(x) given y and g(X)
    top, bottom = [k(X, X, 2), k(X, X, 1)], [k(X, X, 1).mT, K]
    joint = torch.cat([torch.cat(top, -1), torch.cat(bottom, -1)])
    k_x = torch.cat([k(x, X, 2), k(x, X, 1)], -1)[0]
    B = torch.linalg.solve(joint, k_x)
    m_0 = B[:n] @ mu + B[n:] @ y
    v_0 = k(x, x, 2)[0, 0] - B @ k_x + B[:n] @ Sigma @ B[:n]
    # 3. g(x) <= g*
    share = standard_truncation((upper - m_0) / v_0.sqrt()).remaining
    # 4. f(x) given y and g(x)
    k_xg = k(x, X, 1)
    joint = torch.cat([torch.cat([K, k_xg.mT], -1), torch.cat([k_xg, k(x, x, 2)], -1)])
    k_z = torch.cat([k(x, X, 0), k(x, x, 1)], -1)[0]
    A = torch.linalg.solve(joint, k_z)
    v_tilde = VARIANCE - A @ k_z + A[-1] ** 2 * v_0 * share
    v_f = VARIANCE - k(x, X, 0)[0] @ torch.linalg.solve(K, k(x, X, 0)[0])
    return 0.5 * ((v_f + NOISE) / (v_tilde + NOISE)).log()


class TestNoisyInputEntropySearch(BotorchTestCase):
    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(0)
        self.tkwargs = {"device": self.device, "dtype": torch.double}

    def _data(self, n: int = 6, d: int = 2, **tkwargs):
        tkwargs = tkwargs or self.tkwargs
        X = draw_sobol_samples(torch.tensor([[0.0] * d, [1.0] * d]), n, 1, seed=1)
        X = X.squeeze(-2).to(**tkwargs)
        return X, torch.sin(5 * X).sum(-1, keepdim=True)

    def _scaled_model(self, **tkwargs):
        """In raw units of its own, with all transforms."""
        X, Y = self._data(**tkwargs)
        return SingleTaskGP(
            torch.tensor([2.0, 30.0]).to(X) * X - 1,
            5 * Y + 3,
            covar_module=ScaleKernel(RBFKernel(ard_num_dims=2)),
            input_transform=Normalize(2),
            outcome_transform=Standardize(1),
        ).to(X)

    def test_shapes_and_gradients(self) -> None:
        for dtype in (torch.float, torch.double):
            tkwargs = {"device": self.device, "dtype": dtype}
            model = self._scaled_model(**tkwargs)
            scale, std = torch.tensor([[2.0, 30.0], [0.2, 3.0]], **tkwargs)
            designs = scale * torch.rand(20, 2, **tkwargs) - 1
            for num in (1, 3):
                acqf = NoisyInputEntropySearch(model, std, designs, num_max_values=num)
                self.assertEqual(acqf.max_values.shape, torch.Size([num]))
                for shape in ((1, 2), (3, 1, 2), (4, 3, 1, 2)):
                    X = torch.rand(*shape, **tkwargs).requires_grad_()
                    value = acqf(X)
                    self.assertEqual(value.shape, torch.Size(shape[:-2] or (1,)))
                    self.assertEqual(value.dtype, dtype)
                    self.assertTrue((value > 0).all())
                    (gradient,) = torch.autograd.grad(value.sum(), X)
                    self.assertTrue(gradient.isfinite().all())
                    self.assertTrue((gradient != 0).any())
            with self.assertRaisesRegex(AssertionError, "Expected X to be"):
                acqf(torch.rand(1, 2, 2, **tkwargs))
        # finite differences, also where g* is far below the mean
        values = acqf.max_values
        for low in (0.0, 10.0):
            acqf = NoisyInputEntropySearch(model, std, max_values=values - low)
            X = torch.rand(5, 1, 2, **tkwargs).requires_grad_()
            self.assertTrue(torch.autograd.gradcheck(acqf, X, atol=1e-7))

    def test_value_is_that_of_the_paper(self) -> None:
        std = torch.tensor([0.1, 0.3], **self.tkwargs)
        X, Y = self._data()
        model, x = plain_model(X, Y), torch.rand(4, 1, 2, **self.tkwargs)
        for upper in (0.5, 1.5, 3.0):
            max_values = torch.tensor([upper], **self.tkwargs)
            acqf = NoisyInputEntropySearch(model, std, max_values=max_values)
            expected = [value_by_the_paper(X, Y, point, std, upper) for point in x]
            self.assertAllClose(acqf(x), torch.stack(expected), rtol=0, atol=1e-9)

    def test_value_is_that_of_rejection_sampling(self) -> None:
        """The variance of f(x) where g(X) and g(x) are below g*, by joint samples."""
        X = torch.tensor([[0.1], [0.55], [0.9]], **self.tkwargs)
        Y = torch.tensor([[0.3], [0.6], [-0.2]], **self.tkwargs)
        model, std, upper = plain_model(X, Y), 0.15, 0.7
        max_values = torch.tensor([upper], **self.tkwargs)
        acqf = NoisyInputEntropySearch(model, std, max_values=max_values)
        z, w = np.polynomial.hermite_e.hermegauss(12)
        z, w = torch.tensor(z).to(X), torch.tensor(w).to(X) / math.sqrt(2 * math.pi)
        generator = torch.Generator(device=self.device).manual_seed(0)
        for x in torch.tensor([[0.3], [0.7], [1.1]], **self.tkwargs):
            # f around the data and x, and at x
            designs = torch.cat([X, x.unsqueeze(0)])
            nodes = torch.cat([(designs + std * z).reshape(-1, 1), x.unsqueeze(0)])
            with torch.no_grad():
                f = model.posterior(nodes).distribution
            values, Q = torch.linalg.eigh(f.covariance_matrix)
            root = Q * values.clamp_min(0).sqrt()
            # g is an average of f
            average = torch.block_diag(w, w, w, w, torch.ones(1).to(w))
            mean, root = average @ f.mean, average @ root
            e = torch.randn(len(values), 100_000, generator=generator, **self.tkwargs)
            samples = mean.unsqueeze(-1) + root @ e
            kept = samples[-1, (samples[:-1] <= upper).all(0)]
            v_f, v_tilde = root[-1].square().sum(), kept.var()
            expected = 0.5 * ((v_f + NOISE) / (v_tilde + NOISE)).log()
            self.assertAllClose(acqf(x.unsqueeze(0))[0], expected, rtol=0, atol=0.015)

    def test_limits(self) -> None:
        X, Y = self._data()
        model, x = plain_model(X, Y), torch.rand(30, 1, 2, **self.tkwargs)
        x = torch.cat([x, X.unsqueeze(-2)])
        previous = torch.zeros(len(x), **self.tkwargs)
        for upper in (1e300, 1e3, 4.0, 2.0, 1.0):
            max_values = torch.tensor([upper], **self.tkwargs)
            for std in (0.0, 0.1, 1.0):
                acqf = NoisyInputEntropySearch(model, std, max_values=max_values)
                value = acqf(x.requires_grad_())
                (gradient,) = torch.autograd.grad(value.sum(), x)
                self.assertTrue((value >= 0).all())
                self.assertTrue(gradient.isfinite().all())
                if upper > 100:
                    self.assertTrue((value == 0).all())
                # f(x) is at most known for certain
                v_f = model.posterior(x).variance.reshape(-1)
                self.assertTrue((value <= 0.5 * (1 + v_f / NOISE).log() + 1e-9).all())
                if std == 0.1:
                    self.assertTrue((value.mean() >= previous.mean()).all())
                    previous = value.detach()
        # the mean over values of g*
        values = torch.tensor([1.0, 2.0], **self.tkwargs)
        one, two, both = (
            NoisyInputEntropySearch(model, 0.1, max_values=max_values)(x)
            for max_values in (values[:1], values[1:], values)
        )
        self.assertAllClose(both, (one + two) / 2)

    def test_max_values_are_percentiles_of_maxima(self) -> None:
        X, Y = self._data(d=1)
        model, std = plain_model(X, Y), 0.1
        designs = torch.linspace(0, 1, 15, **self.tkwargs).unsqueeze(-1)
        state = torch.random.get_rng_state()
        acqf, again, other, single = (
            NoisyInputEntropySearch(
                model, std, designs, num_max_values=num, num_samples=10_000, seed=seed
            )
            for num, seed in ((5, 1), (5, 1), (5, 2), (1, 1))
        )
        self.assertTrue(torch.equal(torch.random.get_rng_state(), state))
        self.assertTrue(torch.equal(acqf.max_values, again.max_values))
        self.assertFalse(torch.equal(acqf.max_values, other.max_values))
        self.assertAllClose(single.max_values, acqf.max_values[2:3])
        # g as an average of joint samples of f
        z, w = np.polynomial.hermite_e.hermegauss(12)
        points = torch.cat([designs, X])
        nodes = (points + std * torch.tensor(z).to(X)).reshape(-1, 1)
        with torch.no_grad():
            f = model.posterior(nodes).distribution
        values, Q = torch.linalg.eigh(f.covariance_matrix)
        generator = torch.Generator(device=self.device).manual_seed(0)
        e = torch.randn(len(values), 10_000, generator=generator, **self.tkwargs)
        samples = f.mean.unsqueeze(-1) + (Q * values.clamp_min(0).sqrt()) @ e
        w = torch.tensor(w).to(X) / math.sqrt(2 * math.pi)
        g = torch.einsum("aik,i->ak", samples.view(len(points), len(w), -1), w)
        grid = torch.tensor([0.25, 0.375, 0.5, 0.625, 0.75], **self.tkwargs)
        expected = g.amax(0).quantile(grid)
        spread = (expected[-1] - expected[0]).item()
        self.assertGreater(spread, 0.01)
        self.assertAllClose(acqf.max_values, expected, rtol=0, atol=0.08 * spread)
        # the data count, however poor the designs
        poor = NoisyInputEntropySearch(model, std, designs[:1] - 9)
        self.assertGreater(
            poor.max_values.item(), acqf.robust_mean(X).max().item() - 0.1
        )
        # they are used
        given = NoisyInputEntropySearch(model, std, max_values=acqf.max_values)
        self.assertAllClose(given(points[:, None]), acqf(points[:, None]))

    def test_units_do_not_matter(self) -> None:
        X, Y = self._data()
        x, scale = torch.rand(5, 1, 2, **self.tkwargs), torch.tensor([7.0, 0.1]).to(X)
        std = torch.tensor([0.1, 0.2], **self.tkwargs)
        values = []
        for a, b in ((1.0, 0.0), (20.0, -3.0)):
            bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], **self.tkwargs)
            model = SingleTaskGP(
                X if a == 1 else scale * X - 4,
                a * Y + b,
                input_transform=Normalize(
                    2, bounds=bounds if a == 1 else scale * bounds - 4
                ),
                outcome_transform=Standardize(1),
            )
            acqf = NoisyInputEntropySearch(
                model,
                std if a == 1 else std * scale,
                max_values=a * torch.tensor([1.5, 2.0], **self.tkwargs) + b,
            )
            values.append(acqf(x if a == 1 else scale * x - 4))
        self.assertAllClose(*values, rtol=1e-8, atol=1e-10)
        # nor does the mean of the model
        model, shifted = plain_model(X, Y), plain_model(X, Y + 2)
        shifted.mean_module.constant.data.fill_(2.0)
        max_values = torch.tensor([1.5], **self.tkwargs)
        acqf = NoisyInputEntropySearch(model, std, max_values=max_values)
        moved = NoisyInputEntropySearch(shifted, std, max_values=max_values + 2)
        self.assertAllClose(moved(x), acqf(x), rtol=1e-8, atol=1e-10)

    def test_pending_points_count_as_observed(self) -> None:
        X, Y = self._data()
        model, x = plain_model(X, Y), torch.tensor([[0.35, 0.8]], **self.tkwargs)
        designs = torch.rand(30, 2, **self.tkwargs)
        acqf = NoisyInputEntropySearch(model, 0.1, designs)
        free, values = acqf(x), acqf.max_values
        acqf.set_X_pending(x)
        self.assertLess(acqf(x).item(), free.item())
        given = NoisyInputEntropySearch(model, 0.1, designs, X_pending=x)
        self.assertAllClose(given(x), acqf(x))
        # as if its mean had been observed
        with torch.no_grad():
            mean = model.posterior(x).mean
        observed = plain_model(torch.cat([X, x]), torch.cat([Y, mean]))
        acqf = NoisyInputEntropySearch(observed, 0.1, max_values=given.max_values)
        self.assertAllClose(given(designs[:, None]), acqf(designs[:, None]))
        given.set_X_pending(None)
        self.assertAllClose(given(x), free)
        self.assertAllClose(given.max_values, values)

    def test_repeated_points_are_one_constraint(self) -> None:
        """Two observations at a point are one with half of the variance."""
        X = torch.tensor([[0.2], [0.6]], **self.tkwargs)
        Y = torch.tensor([[0.5], [0.9]], **self.tkwargs)
        # the means of the noise, which new observations have, are equal
        noise = torch.tensor([[0.02], [0.02], [0.05]], **self.tkwargs)
        halved = torch.tensor([[0.01], [0.05]], **self.tkwargs)
        acqf, once = (
            NoisyInputEntropySearch(model, 0.1, max_values=torch.tensor([1.0]))
            for model in (
                plain_model(X[[0, 0, 1]], Y[[0, 0, 1]], noise),
                plain_model(X, Y, halved),
            )
        )
        self.assertEqual(len(acqf.sites), 2)
        x = torch.rand(6, 1, 1, **self.tkwargs)
        self.assertAllClose(acqf(x), once(x), rtol=0, atol=1e-10)

    def test_hostile_data(self) -> None:
        generator = torch.Generator().manual_seed(0)
        U = torch.rand(20, 2, generator=generator, dtype=torch.double)
        for X in (0.5 + 0.02 * U, U[:5].repeat(4, 1) + 0.01 * U, U[:5].repeat(4, 1)):
            X = X.to(**self.tkwargs)
            Y = torch.sin(5 * X).sum(-1, keepdim=True)
            model = plain_model(X, Y, noise=1e-4)
            acqf = NoisyInputEntropySearch(model, 0.1, X)
            mean = acqf.robust_mean(X)
            # g* below and just above the highest mean, and below all means
            for upper in (mean.max() + 0.01, mean.max() - 0.02, mean.min() - 0.02):
                with warnings.catch_warnings():
                    warnings.simplefilter("error", NumericsWarning)
                    values = torch.tensor([upper], **self.tkwargs)
                    acqf = NoisyInputEntropySearch(model, 0.1, max_values=values)
                x = torch.cat([X, torch.rand(20, 2, **self.tkwargs)])[:, None]
                value = acqf(x.requires_grad_())
                (gradient,) = torch.autograd.grad(value.sum(), x)
                self.assertTrue(((value >= 0) & value.isfinite()).all())
                self.assertTrue(gradient.isfinite().all())

    def test_what_is_known_is_no_constraint(self) -> None:
        """Without noise of any kind, g(X) = y. Then only g(x) <= g* is left."""
        X = torch.tensor([[0.0], [0.5], [1.0]], **self.tkwargs)
        Y = torch.tensor([[0.5], [0.9], [0.1]], **self.tkwargs)
        x = torch.tensor([[[0.2]], [[0.9]]], **self.tkwargs)
        with min_fixed_noise(double_value=1e-14), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # small noise is what is wanted here
            model = plain_model(X, Y, noise=1e-14)
        with torch.no_grad():
            posterior = model.posterior(x)
        mean, v_f = posterior.mean.reshape(-1), posterior.variance.reshape(-1)
        acqf = NoisyInputEntropySearch(model, 0.0, max_values=torch.tensor([1.0]))
        self.assertEqual(acqf.sites.shape, torch.Size([0, 1]))
        share = standard_truncation((1.0 - mean) / v_f.sqrt()).remaining
        self.assertAllClose(acqf(x), -0.5 * share.log(), atol=1e-6)

    def test_it_warns(self) -> None:
        X, Y = self._data()
        model = plain_model(X, Y)
        with self.assertWarnsRegex(NumericsWarning, "more than 30 standard"):
            acqf = NoisyInputEntropySearch(model, 0.1, max_values=torch.tensor([-99.0]))
        self.assertTrue(acqf(X[:, None]).isfinite().all())
        with (
            mock.patch.object(ep_module, "MAX_SWEEPS", 1),
            self.assertWarnsRegex(NumericsWarning, "has not converged"),
        ):
            acqf = NoisyInputEntropySearch(model, 0.1, max_values=torch.tensor([1.0]))
        self.assertTrue(acqf(X[:, None]).isfinite().all())

    def test_it_is_optimized(self) -> None:
        X, Y = self._data()
        bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], **self.tkwargs)
        designs = torch.rand(64, 2, **self.tkwargs)
        acqf = NoisyInputEntropySearch(plain_model(X, Y), 0.1, designs)
        x, _ = optimize_acqf(
            acqf, bounds, q=2, num_restarts=2, raw_samples=32, sequential=True
        )
        self.assertEqual(x.shape, torch.Size([2, 2]))
        acqf.set_X_pending(None)
        value, others = acqf(x[:1]).item(), acqf(designs[:, None])
        self.assertGreaterEqual(value, others.max().item() - 0.01)

    def test_what_is_refused(self) -> None:
        X, Y = self._data()
        model = plain_model(X, Y)
        with self.assertRaisesRegex(ValueError, "designs or max_values"):
            NoisyInputEntropySearch(model, 0.1)
        with self.assertRaisesRegex(ValueError, "must have shape p x 2"):
            NoisyInputEntropySearch(model, 0.1, X[0])
        for counts in ({"num_max_values": 0}, {"num_samples": 0}):
            with self.assertRaisesRegex(ValueError, "at least 1"):
                NoisyInputEntropySearch(model, 0.1, X, **counts)
        for values in ([], [math.nan], [1.0, math.inf]):
            with self.assertRaisesRegex(ValueError, "finite numbers"):
                NoisyInputEntropySearch(model, 0.1, max_values=torch.tensor(values))
