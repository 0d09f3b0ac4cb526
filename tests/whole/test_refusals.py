"""Bad input is refused with what was expected, what came and what to do."""

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Log, Normalize, Warp
from gpytorch.kernels import LinearKernel, MaternKernel, PeriodicKernel, ProductKernel, RBFKernel
from gpytorch.means import LinearMean

from gp_models import kernel, model, normal, random_model, tensor, uniform, unit_box
from meseta import Normal, Uniform
from meseta.integrations.botorch import (
    NoisyInputEntropySearch,
    RobustPosterior,
    fit_surrogate,
    suggest,
)

X, Y = uniform(6, 2, seed=0), normal(6, seed=1)
GOOD = random_model(0, 2, 6)


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
def test_data_with_holes_is_refused(bad):
    y = Y.clone()
    y[3] = bad
    with pytest.raises(ValueError, match=r"\[3\].*leave failed evaluations out"):
        suggest(X, y, unit_box(2), Normal(0.1))
    x = X.clone()
    x[2, 1] = bad
    with pytest.raises(ValueError, match=r"\[2\]"):
        suggest(x, Y, unit_box(2), Normal(0.1))
    broken = model(X, Y.clone(), kernel("se", [1, 1]))
    broken.train_targets[3] = bad
    with pytest.raises(ValueError, match="NaN or infinite"):
        RobustPosterior.from_model(broken, Normal(0.1))


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (lambda: Normal([0.1, 0.2, 0.3]), "3 values but x has 2 parameters"),
        (lambda: Uniform([0.1]), "1 values but x has 2 parameters"),
        (lambda: Normal(covariance=torch.eye(3)), "3 x 3 but x has 2"),
        (lambda: 0.1, "Normal"),
        (lambda: Normal(-0.1), "not negative"),
        (lambda: Uniform(float("nan")), "finite"),
        (lambda: Normal([0.1, -0.2]), "not negative"),
        (lambda: Normal(covariance=[[1.0, 2.0], [2.0, 1.0]]), "semi-definite"),
    ],
)
def test_noise_that_does_not_fit_is_refused(noise, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        NoisyInputEntropySearch(GOOD, noise(), unit_box(2))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bounds": unit_box(3)}, r"\(2, 2\)"),
        ({"bounds": unit_box(2).flip(0)}, "below its upper bound"),
        ({"bounds": tensor([[0.0, 0.0], [1.0, torch.inf]])}, "finite"),
        ({"num_max_values": 0}, "at least 1"),
        ({"max_values": tensor([torch.nan])}, "finite"),
        ({"max_values": tensor([])}, "one or more"),
        ({"sampler": "magic"}, "pathwise"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, expected):
    arguments = {"bounds": unit_box(2), **options}
    with pytest.raises((TypeError, ValueError), match=expected):
        NoisyInputEntropySearch(GOOD, Normal(0.1), **arguments)


def test_queries_of_the_wrong_shape_are_refused():
    acq = NoisyInputEntropySearch(GOOD, Normal(0.1), unit_box(2))
    with pytest.raises(ValueError, match="last dimension must be 2"):
        acq(uniform(3, 1, 4, seed=0))
    with pytest.raises(ValueError, match="sequential=True"):
        acq(uniform(3, 2, 2, seed=0))
    with pytest.raises(ValueError, match="NaN"):
        acq(tensor([[[torch.nan, 0.0]]]))


def test_fitting_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match=r"\(n, d\)"):
        fit_surrogate(X, Y[:3], unit_box(2))
    with pytest.raises(ValueError, match="no data"):
        fit_surrogate(X[:0], Y[:0], unit_box(2))
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        fit_surrogate(X, Y, unit_box(1))
    with pytest.raises(ValueError, match="below its upper bound"):
        fit_surrogate(X, Y, unit_box(2).flip(0))
    with pytest.raises((TypeError, ValueError), match=r"'default'.*'paper'"):
        fit_surrogate(X, Y, unit_box(2), prior="guess")
    with pytest.raises(ValueError, match="give noise"):
        fit_surrogate(X, Y, unit_box(2), prior="paper")


def test_a_normalised_model_takes_the_noise_in_raw_units_of_every_dimension():
    model_ = gp(kernel("se", [1, 1]), input_transform=Normalize(2))
    with pytest.raises(ValueError, match="3 values"):
        RobustPosterior.from_model(model_, Normal([1.0, 2.0, 3.0]))
