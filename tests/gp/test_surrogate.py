"""Which BoTorch models a posterior of g is made from, and which are refused."""

import pytest
from botorch.models import SingleTaskGP
from botorch.models.transforms import Log, Normalize, Warp
from gpytorch.kernels import (
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    ProductKernel,
    RBFKernel,
    ScaleKernel,
)
from gpytorch.means import LinearMean
from torch.testing import assert_close

from gp_models import kernel, model, normal, small_model, tensor, uniform
from meseta import Normal
from meseta.integrations.botorch import RobustPosterior

X, Y = uniform(6, 2, seed=0), normal(6, seed=1)


def gp(covar_module=None, **options):
    options.setdefault("outcome_transform", None)
    return SingleTaskGP(X, Y[:, None], covar_module=covar_module, **options)


MODELS = {
    "a multi-output model": (lambda: SingleTaskGP(X, normal(6, 2, seed=1)), "one output"),
    "a batched model": (
        lambda: SingleTaskGP(uniform(2, 6, 2, seed=1), normal(2, 6, 1, seed=1)),
        "batch",
    ),
    "something else": (lambda: "a model", "SingleTaskGP"),
    "a periodic kernel": (lambda: gp(PeriodicKernel()), "PeriodicKernel"),
    "a linear kernel": (lambda: gp(LinearKernel()), "LinearKernel"),
    "a sum of kernels": (lambda: gp(RBFKernel() + MaternKernel()), "AdditiveKernel"),
    "a Matern kernel of the distance": (
        lambda: gp(MaternKernel(nu=2.5, ard_num_dims=2)),
        "product_matern",
    ),
    "a dimension twice": (
        lambda: gp(ProductKernel(RBFKernel(ard_num_dims=2), RBFKernel(active_dims=(0,)))),
        "two factors",
    ),
    "a dimension missing": (lambda: gp(RBFKernel(active_dims=(0,))), "depend"),
    "a linear mean": (lambda: gp(kernel("se", [1, 1]), mean_module=LinearMean(2)), "ConstantMean"),
    "a warped input": (
        lambda: gp(kernel("se", [1, 1]), input_transform=Warp(d=2, indices=[0, 1])),
        "Normalize",
    ),
    "a logarithmic outcome": (
        lambda: SingleTaskGP(
            X, Y[:, None].abs() + 1, covar_module=kernel("se", [1, 1]), outcome_transform=Log()
        ),
        "Standardize",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_are_not_supported_are_refused(name):
    make, expected = MODELS[name]
    with pytest.raises((TypeError, ValueError), match=expected):
        RobustPosterior.from_model(make(), Normal(0.1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_models_of_data_with_holes_are_refused(bad):
    broken = model(X, Y.clone(), kernel("se", [1, 1]))
    broken.train_targets[3] = bad
    with pytest.raises(ValueError, match="NaN or infinite"):
        RobustPosterior.from_model(broken, Normal(0.1))


def test_a_normalised_model_takes_the_noise_in_raw_units_of_every_dimension():
    model_ = gp(kernel("se", [1, 1]), input_transform=Normalize(2))
    with pytest.raises(ValueError, match="3 values"):
        RobustPosterior.from_model(model_, Normal([1.0, 2.0, 3.0]))


def test_active_dimensions_under_a_scale_count_once():
    X, y, _ = small_model()
    x = X[:4] + 0.05
    swapped = ScaleKernel(RBFKernel(ard_num_dims=2, active_dims=(1, 0))).double()
    swapped.base_kernel.lengthscale = tensor([0.1, 2.0])
    product = ScaleKernel(MaternKernel(active_dims=(1,))) * ScaleKernel(RBFKernel(active_dims=(0,)))
    for covar_module in (swapped, product.double()):
        model = SingleTaskGP(X, y[:, None], covar_module=covar_module, outcome_transform=None)
        moments = RobustPosterior.from_model(model, Normal(0.1)).joint(x)
        assert_close(moments.m_f, model.posterior(x).mean.flatten().detach())
