"""Which BoTorch models a posterior of g is made from, and which are refused."""

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Log, Normalize, Round, Standardize, Warp
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import (
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    ProductKernel,
    RBFKernel,
    ScaleKernel,
)
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from gpytorch.priors import GammaPrior
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from examples import examples
from gp_models import kernel, model, normal, small_model, tensor, uniform
from meseta import Normal
from meseta.integrations.botorch import RobustPosterior, product_matern

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
    "a rounded input": (
        lambda: gp(kernel("se", [1, 1]), input_transform=Round(integer_indices=[0])),
        "input transform, Round",
    ),
    "a reversed transform": (
        lambda: gp(kernel("se", [1, 1]), input_transform=Normalize(2, reverse=True)),
        "reversed Normalize",
    ),
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


class ShiftedModel(SingleTaskGP):
    def forward(self, x):
        prior = super().forward(x)
        return type(prior)(prior.mean + x.sum(-1), prior.lazy_covariance_matrix)


class ShiftedPosterior(SingleTaskGP):
    def posterior(self, X, **options):
        return super().posterior(X + 0.1, **options)


class ShiftedMean(ConstantMean):
    def forward(self, x):
        return super().forward(x) + x.sum(-1)


class Halved(ScaleKernel):
    def forward(self, *points, **options):
        return super().forward(*points, **options) / 2


class Noisier(GaussianLikelihood):
    def marginal(self, distribution, *args, **options):
        return super().marginal(super().marginal(distribution, *args), *args)


class Squared(Normalize):
    def transform(self, X):
        return super().transform(X) ** 2


class SquaredInside(Normalize):
    def _transform(self, X):
        return super()._transform(X) ** 2


class Doubled(Standardize):
    def untransform_posterior(self, posterior, X=None):
        return super().untransform_posterior(super().untransform_posterior(posterior, X), X)


def se():
    return kernel("se", [0.4, 0.6], 1.3)


def patched(model, part, name, change):
    """A model with one method of one part replaced."""
    module = model if part is None else model.get_submodule(part)
    before = getattr(module, name)
    setattr(module, name, lambda *args, **options: change(before(*args, **options)))
    return model


def with_raw(part, name, value):
    changed = SingleTaskGP(X, Y[:, None])
    changed.get_submodule(part).get_parameter(name).data.fill_(value)
    return changed


def changed_after_a_prediction():
    changed = model(X, Y, se(), 1e-3)
    changed.posterior(X)
    changed.covar_module.base_kernel.lengthscale = tensor([0.1, 0.2])
    return changed


# What computes otherwise than the class it is derived from, and what the refusal has to name.
REPLACED = {
    "forward of a model": (lambda: ShiftedModel(X, Y[:, None], covar_module=se()), "own forward"),
    "posterior": (lambda: ShiftedPosterior(X, Y[:, None], covar_module=se()), "own posterior"),
    "a mean": (lambda: gp(se(), mean_module=ShiftedMean()), "ShiftedMean: .* own forward"),
    "a scale": (lambda: gp(Halved(RBFKernel(ard_num_dims=2))), "Halved: .* own forward"),
    "a likelihood": (lambda: gp(se(), likelihood=Noisier()), "Noisier: .* own marginal"),
    "an input transform": (
        lambda: gp(se(), input_transform=Squared(2)),
        "Squared: .* own transform",
    ),
    "an input transform, inside": (
        lambda: gp(se(), input_transform=SquaredInside(2)),
        "the model itself has",
    ),
    "an outcome transform": (
        lambda: gp(se(), outcome_transform=Doubled(1)),
        "Doubled: .* own untransform_posterior",
    ),
    "a patched mean": (
        lambda: patched(gp(se()), "mean_module", "forward", lambda mean: mean + 1),
        "ConstantMean: .* own forward",
    ),
    "a patched kernel": (
        lambda: patched(gp(se()), "covar_module.base_kernel", "forward", lambda k: k**2),
        "RBFKernel: .* own forward",
    ),
    "a patched noise": (
        lambda: patched(gp(se()), "likelihood.noise_covar", "forward", lambda noise: 2 * noise),
        "the noise variance is .* the model itself has",
    ),
    "a transform not used for predictions": (
        lambda: gp(se(), input_transform=Normalize(2, transform_on_eval=False)),
        "the model itself has",
    ),
    "stale caches": (changed_after_a_prediction, r"model\.train\(\) and model\.eval\(\)"),
    "a negative lengthscale": (
        lambda: with_raw("covar_module", "raw_lengthscale", -1.0),
        "lengthscale must be positive and finite",
    ),
    "a lengthscale that is NaN": (
        lambda: with_raw("covar_module", "raw_lengthscale", torch.nan),
        "lengthscale must be positive and finite",
    ),
    "a negative noise variance": (
        lambda: with_raw("likelihood.noise_covar", "raw_noise", -1.0),
        "noise variance must be finite and not negative",
    ),
    "an infinite mean": (
        lambda: with_raw("mean_module", "raw_constant", torch.inf),
        "constant mean must be finite",
    ),
}


@pytest.mark.parametrize("name", REPLACED)
def test_models_that_compute_otherwise_than_their_hyper_parameters_say_are_refused(name):
    make, expected = REPLACED[name]
    with pytest.raises(ValueError, match=expected):
        RobustPosterior.from_model(make(), Normal(0.1))


class Named(SingleTaskGP):
    def __init__(self, name):
        super().__init__(X, Y[:, None], covar_module=se(), input_transform=Normalize(2))
        self.name = name


@pytest.mark.parametrize(
    "make",
    [
        lambda: Named("mine"),
        lambda: gp(se(), input_transform=Normalize(2, indices=[1])),
        lambda: gp(se(), input_transform=Normalize(2), outcome_transform=Standardize(1)),
        lambda: gp(se(), mean_module=ConstantMean()),
        lambda: gp(
            se(),
            likelihood=FixedNoiseGaussianLikelihood(
                uniform(6, seed=3), learn_additional_noise=True
            ),
        ),
        lambda: SingleTaskGP(X.float(), Y[:, None].float()),
        lambda: SingleTaskGP(X[:1], Y[:1, None], outcome_transform=None),
    ],
)
@pytest.mark.filterwarnings("ignore::botorch.exceptions.InputDataWarning")
def test_models_as_botorch_has_them_are_read_and_left_as_they_were(make):
    model, x = make().eval(), uniform(4, 2, seed=5)
    moments = RobustPosterior.from_model(model, Normal(0.0)).joint(x)
    assert model.prediction_strategy is None
    theirs = model.posterior(x.to(model.train_targets))
    rounding = {"rtol": 1e-3, "atol": 1e-3} if theirs.mean.dtype == torch.float else {}
    assert_close(moments.m_f, theirs.mean.flatten().detach().double(), **rounding)
    assert_close(moments.v_f, theirs.variance.flatten().detach().double(), **rounding)


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


# Everything that a model may be made of, and whether it can be read.
KERNELS = {
    "default": lambda d: None,
    "ard": lambda d: RBFKernel(ard_num_dims=d),
    "one lengthscale": lambda d: ScaleKernel(RBFKernel()),
    "priors": lambda d: ScaleKernel(
        RBFKernel(ard_num_dims=d, lengthscale_prior=GammaPrior(3.0, 6.0)),
        outputscale_prior=GammaPrior(2.0, 0.15),
    ),
    "intervals": lambda d: ScaleKernel(
        RBFKernel(ard_num_dims=d, lengthscale_constraint=Interval(0.05, 4.0))
    ),
    "scaled twice": lambda d: ScaleKernel(ScaleKernel(RBFKernel(ard_num_dims=d))),
    "product": lambda d: ScaleKernel(product_matern(1.5, d)),
    "scaled factors": lambda d: ProductKernel(
        *(ScaleKernel(MaternKernel(nu=2.5, active_dims=(i,))) for i in reversed(range(d)))
    ),
    "swapped": lambda d: ScaleKernel(
        RBFKernel(ard_num_dims=d, active_dims=tuple(reversed(range(d))))
    ),
}
MEANS = {
    "default": lambda: None,
    "zero": ZeroMean,
    "constant": ConstantMean,
    "bounded": lambda: ConstantMean(constant_constraint=Interval(-2.0, 2.0)),
}
INPUTS = {
    "none": lambda d: None,
    "all": Normalize,
    "some": lambda d: Normalize(d, indices=[0]),
    "centred": lambda d: Normalize(d, center=0.0),
    "given": lambda d: Normalize(d, bounds=tensor([[-1.0] * d, [2.0] * d])),
}
OUTCOMES = {"none": lambda: None, "standardised": lambda: Standardize(1)}
LIKELIHOODS = {
    "default": lambda n: None,
    "inferred": lambda n: GaussianLikelihood(noise_constraint=GreaterThan(1e-8)),
    "fixed": lambda n: FixedNoiseGaussianLikelihood(0.01 + uniform(n, seed=3)),
    "fixed and more": lambda n: FixedNoiseGaussianLikelihood(
        0.01 + uniform(n, seed=3), learn_additional_noise=True
    ),
}
made_of = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "d": st.integers(1, 3),
        "n": st.sampled_from([1, 2, 8, 25]),
        "dtype": st.sampled_from([torch.double, torch.double, torch.float]),
        "scale": st.sampled_from([1.0, 1e6, 1e-6]),
        **{
            name: st.sampled_from(list(kinds))
            for name, kinds in (
                ("kernel", KERNELS),
                ("mean", MEANS),
                ("inputs", INPUTS),
                ("outcomes", OUTCOMES),
                ("likelihood", LIKELIHOODS),
            )
        },
    }
)


def assembled(parts):
    """A model with hyper-parameters at random, within their constraints."""
    d, n, dtype, seed = (parts[name] for name in ("d", "n", "dtype", "seed"))
    x, noise = uniform(n, d, seed=seed), 0.2 * normal(n, 1, seed=seed + 1)
    y = parts["scale"] * ((6 * x).sin().sum(-1, keepdim=True) + noise + 2)
    gp = SingleTaskGP(
        x.to(dtype),
        y.to(dtype),
        likelihood=LIKELIHOODS[parts["likelihood"]](n),
        covar_module=KERNELS[parts["kernel"]](d),
        mean_module=MEANS[parts["mean"]](),
        input_transform=INPUTS[parts["inputs"]](d),
        outcome_transform=OUTCOMES[parts["outcomes"]](),
    ).to(dtype)
    draw = torch.Generator().manual_seed(seed)
    for _, raw, constraint in gp.named_parameters_and_constraints():
        step = 0.5 * torch.randn(raw.shape, generator=draw)
        if constraint is None or constraint.enforced:
            raw.data += step
        else:  # raw is the value itself
            raw.data *= step.exp()
            raw.data.clamp_(min=constraint.lower_bound)
    return gp.eval()


@examples(40)
@given(parts=made_of)
@pytest.mark.filterwarnings("ignore::botorch.exceptions.InputDataWarning")
def test_models_of_any_supported_parts_have_the_posterior_of_botorch(parts):
    gp = assembled(parts)
    robust = RobustPosterior.from_model(gp, Normal(0.0))
    x = uniform(5, parts["d"], seed=parts["seed"] + 2).to(gp.train_targets)
    with torch.no_grad():
        theirs = gp.posterior(x).distribution
    moments, single = robust.joint(x.double()), parts["dtype"] == torch.float
    core, y_scale = robust.core, robust.units.y_scale
    size = (core.kernel.prior_variance.sqrt() + core.mean.abs() + core.y.abs().max()) * y_scale
    # of the size of raw values, since the posterior of BoTorch is in the precision of the model
    size += robust.units.y_offset.abs()
    rounding = {"rtol": 0, "atol": 5e-3 if single else 1e-6}
    assert_close(moments.m_f / size, theirs.mean.double() / size, **rounding)
    variance = theirs.covariance_matrix.diagonal().double()
    assert_close(moments.v_f / size**2, variance / size**2, **rounding)
