#!/usr/bin/env python3
# Copyright (c) Meta Platforms, Inc. and affiliates.
#
# This source code is licensed under the MIT license found in the
# LICENSE file in the root directory of this source tree.

import math

import numpy as np
import torch
from botorch.exceptions.errors import UnsupportedError
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms.input import InputPerturbation, Log10, Normalize
from botorch.models.transforms.outcome import Log, Standardize
from botorch.utils.testing import BotorchTestCase
from botorch_community.acquisition.noisy_input import NoisyInputAcquisitionFunction
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean


class RobustMean(NoisyInputAcquisitionFunction):
    def __init__(self, model, input_noise_std, X_pending=None) -> None:
        """Condition on pending points last, as every subclass has to."""
        super().__init__(model=model, input_noise_std=input_noise_std)
        self.set_X_pending(X_pending)

    def forward(self, X):
        return self.robust_mean(X).squeeze(-1)


class ShiftedModel(SingleTaskGP):
    def forward(self, x):
        return super().forward(x + 0.1)


class ShiftedMean(ConstantMean):
    def forward(self, x):
        return super().forward(x) + x.sum(-1)


class Halved(ScaleKernel):
    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs) / 2


class OtherNoise(GaussianLikelihood):
    pass


class TestNoisyInputAcquisitionFunction(BotorchTestCase):
    def _data(self, **tkwargs):
        X = torch.tensor([[0.1, -1.0], [0.7, 2.0], [1.9, 0.5]], **tkwargs)
        return X, X.sin().sum(-1, keepdim=True)

    def _model(self, **tkwargs):
        kernel = ScaleKernel(RBFKernel(ard_num_dims=2)).to(**tkwargs)
        kernel.base_kernel.lengthscale = torch.tensor([0.3, 0.7])
        kernel.outputscale = 1.3
        model = SingleTaskGP(
            *self._data(**tkwargs),
            covar_module=kernel,
            input_transform=Normalize(2),
            outcome_transform=Standardize(1),
        )
        return model.eval()

    def test_covariances_are_those_of_quadrature(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        model, std = self._model(**tkwargs), torch.tensor([0.2, 0.0], **tkwargs)
        acqf = RobustMean(model, std)
        z, w = np.polynomial.hermite_e.hermegauss(20)
        w = torch.tensor(w / math.sqrt(2 * math.pi)).to(**tkwargs)
        X, _ = self._data(**tkwargs)
        nodes = X.unsqueeze(-2) + torch.tensor(z).to(**tkwargs).unsqueeze(-1) * std
        x = model.transform_inputs(X)
        around = model.transform_inputs(nodes.reshape(-1, 2))
        k_f = model.covar_module(x).to_dense()
        k_gf = model.covar_module(around, x).to_dense().view(3, 20, 3)
        k_g = model.covar_module(around).to_dense().view(3, 20, 3, 20)
        for num, expected in (
            (0, k_f),
            (1, torch.einsum("aib,i->ab", k_gf, w)),
            (2, torch.einsum("aibj,i,j->ab", k_g, w, w)),
        ):
            self.assertAllClose(acqf._k(x, x, num), expected, atol=1e-9)
            self.assertAllClose(acqf._prior(num), expected[0, 0], atol=1e-9)

    def test_pending_points_keep_the_mean(self) -> None:
        for dtype in (torch.float, torch.double):
            tkwargs = {"device": self.device, "dtype": dtype}
            X = torch.rand(4, 1, 2, **tkwargs)
            acqf = RobustMean(self._model(**tkwargs), 0.1)
            free = acqf(X)
            self.assertEqual(free.dtype, dtype)
            self.assertEqual(len(acqf.X), 3)
            acqf.set_X_pending(X[:2, 0])
            self.assertEqual(len(acqf.X), 5)
            self.assertAllClose(acqf(X), free, atol=1e-5)
            # an empty tensor is no pending point
            acqf.set_X_pending(X[:0, 0])
            self.assertEqual(len(acqf.X), 3)

    def test_whole_numbers_have_values_in_double_precision(self) -> None:
        for dtype in (torch.float, torch.double):
            acqf = RobustMean(self._model(device=self.device, dtype=dtype), 0.1)
            X = torch.tensor([[[0, 1]], [[1, -1]]], device=self.device)
            self.assertEqual(acqf(X).dtype, torch.double)
            self.assertAllClose(acqf(X), acqf(X.double()), atol=1e-6)

    def test_what_is_refused(self) -> None:
        tkwargs = {"device": self.device, "dtype": torch.double}
        X, Y = self._data(**tkwargs)
        X, Y = X.abs() + 0.1, Y.abs() + 0.1
        perturbation = InputPerturbation(torch.zeros(2, 2, **tkwargs))
        for model, message in (
            (ModelListGP(SingleTaskGP(X, Y)), "RobustMean needs a SingleTaskGP"),
            (SingleTaskGP(X, Y.expand(-1, 2)), "single-output"),
            (SingleTaskGP(X.expand(2, -1, 2), Y.expand(2, -1, 1)), "without batches"),
            (SingleTaskGP(X, Y, covar_module=MaternKernel()), "RBFKernel over all"),
            (
                SingleTaskGP(X, Y, covar_module=RBFKernel(active_dims=(0,))),
                "RBFKernel over all",
            ),
            (
                SingleTaskGP(X, Y, covar_module=Halved(RBFKernel())),
                "RBFKernel over all",
            ),
            (SingleTaskGP(X, Y, mean_module=LinearMean(2)), "constant mean"),
            (SingleTaskGP(X, Y, mean_module=ShiftedMean()), "constant mean"),
            (SingleTaskGP(X, Y, likelihood=OtherNoise()), "has OtherNoise"),
            (ShiftedModel(X, Y), "ShiftedModel has its own"),
            (SingleTaskGP(X, Y, input_transform=Log10([0])), "has Log10"),
            (SingleTaskGP(X, Y, input_transform=perturbation), "InputPerturbation"),
            (SingleTaskGP(X, Y, outcome_transform=Log()), "has Log"),
        ):
            with self.assertRaisesRegex(UnsupportedError, message):
                RobustMean(model, 0.1)
        for std in (-0.1, math.nan, math.inf):
            with self.assertRaisesRegex(ValueError, "finite and not negative"):
                RobustMean(SingleTaskGP(X, Y), std)
