"""Cases that once went wrong."""

import inspect
import math

import numpy as np
import pytest
import torch
from botorch.acquisition import qMaxValueEntropy
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from test_ascent import concave_quadratics, unit_box
from test_kernels import every_shape, gradient, kernel_1d
from test_maxima import on_grid, paths_of
from test_truncated import BETA, exact, exact_truncation
from torch.testing import assert_close

from meseta.gp.joint import condition
from meseta.gp.maxima import maximize_paths
from meseta.gp.paths import sample_paths
from meseta.inference import expectation_propagation, truncate_above
from meseta.inference.truncated import standard_truncation
from meseta.integrations.botorch import (
    NoisyInputEntropySearch,
    RobustModel,
    RobustPosterior,
    fit_surrogate,
    recommend,
    suggest,
)
from meseta.kernels import StationaryKernel, smooth
from meseta.nes_plain import truncate_by_ep
from meseta.noise import Normal, Uniform
from meseta.noise.law import read_width
from meseta.space.ascent import ascend
from quadrature_reference import LENGTHSCALE, kappa, smoothed


def tensor(values):
    return torch.tensor(values, dtype=torch.double)


@every_shape
@pytest.mark.parametrize("ratio", [0.24, 0.26, 1.0, 30.0])
def test_gradients_at_the_ends_of_the_interval_are_differences_of_the_kernel(shape, ratio):
    h = ratio * LENGTHSCALE
    kernel = kernel_1d(shape, Uniform(h))
    value = float(kappa(shape, 2 * h) - 1) / (2 * h)
    assert gradient(kernel.k_gf, [h]).item() == pytest.approx(value, abs=1e-10 / h)
    far, near = (smoothed(shape, "uniform", h, e, 1) for e in (3 * h, h))
    value = (far - near) / (2 * h)
    assert gradient(kernel.k_g, [2 * h]).item() == pytest.approx(value, abs=1e-10 / h)


def best_in_unit_box(A, c, start):
    result = minimize(
        lambda x: (0.5 * (x - c) @ A @ (x - c), A @ (x - c)),
        start,
        jac=True,
        bounds=[(0, 1)] * len(c),
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10_000},
    )
    return -result.fun, result.x


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 6))
def test_concave_quadratics_in_a_box_reach_the_maximum_that_scipy_finds(seed, d):
    b = 5
    objective, A, c = concave_quadratics(seed, b, d)
    start = torch.rand(b, d, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    ascent = ascend(
        objective,
        start,
        unit_box(d),
        max_iterations=300,
        gradient_tolerance=1e-9,
        value_tolerance=1e-13,
    )
    scale = objective(torch.arange(b), start).abs().max().item()
    for i in range(b):
        value, _ = best_in_unit_box(A[i].numpy(), c[i].numpy(), start[i].numpy())
        assert ascent.value[i].item() == pytest.approx(value, abs=1e-9 * scale)


def test_a_direction_that_the_box_bends_is_shortened_until_it_climbs():
    A, c = tensor([[51.6, -32.4], [-32.4, 25.7]]), tensor([0.75, 1.32])
    ascent = ascend(
        lambda problem, x: -0.5 * ((x - c) @ A * (x - c)).sum(-1),
        tensor([[0.24, 0.76]]),
        unit_box(2),
        max_iterations=300,
    )
    value, _ = best_in_unit_box(A.numpy(), c.numpy(), np.array([0.24, 0.76]))
    assert ascent.value.item() == pytest.approx(value, abs=1e-6)


def test_variance_has_eleven_digits_next_to_the_series_too():
    values = standard_truncation(BETA).remaining
    assert_close(values, exact(exact_truncation, BETA, 3), rtol=1e-11, atol=0)


def test_truncation_at_infinity_changes_nothing():
    m, v, u = tensor([0.3]), tensor([0.5]), tensor([math.inf])
    moments = truncate_above(m.requires_grad_(), v, u)
    assert moments.mean.item() == 0.3
    assert moments.variance.item() == 0.5
    assert moments.explained.item() == 0.0
    (slope,) = torch.autograd.grad(moments.variance.sum(), m)
    assert slope.item() == 0.0


def test_an_infinite_bound_leaves_the_prior():
    mean, covariance = tensor([0.0, 1.0]), tensor([[1.0, 0.5], [0.5, 2.0]])
    gaussian, info = expectation_propagation(mean, covariance, tensor([math.inf]))
    assert info.converged.all()
    assert_close(gaussian.mean[0], mean)
    assert_close(gaussian.variance[0], covariance.diagonal())


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("height", [-25.0])
def test_nearly_repeated_points_far_above_the_bound_agree_with_the_readable_twin(gap, height):
    n = 6
    covariance = torch.full((n, n), 1 - gap, dtype=torch.double).fill_diagonal_(1.0)
    mean = torch.linspace(-0.1, 0.1, n, dtype=torch.double)
    gaussian, info = expectation_propagation(mean, covariance, tensor([height]))
    assert info.converged
    if gap < 1e-7:  # plain sweeps do not get there, nor does the twin, but it is the limit
        assert_close(gaussian.mean[0], mean - 25.13765, rtol=0, atol=1e-5)
        assert_close(gaussian.variance[0], torch.full_like(mean, 1.186e-3), rtol=1e-3, atol=0)
        return
    mu_1, Sigma_1 = truncate_by_ep(mean.numpy(), covariance.numpy(), height)
    # rounding of the covariance, 1e-16 / gap of the little that is left, reaches both
    assert_close(gaussian.mean[0], torch.from_numpy(mu_1), rtol=0, atol=1e-8)
    variance = torch.from_numpy(np.diag(Sigma_1).copy())
    assert_close(gaussian.variance[0], variance, rtol=1e-6, atol=0)


@pytest.mark.parametrize("noise_variance", [0.0, 1e-18, 1e-16])
@pytest.mark.parametrize("sampler", ["pathwise", "sparse-spectrum"])
def test_paths_without_observation_noise_interpolate(noise_variance, sampler):
    kernel = smooth(StationaryKernel(tensor(1.5), ("matern52",), tensor([0.3])), Normal(0.1))
    X = torch.rand(5, 1, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    y = (6 * X[:, 0]).sin()
    noise = torch.full((5,), noise_variance, dtype=torch.double)
    posterior = condition(kernel, tensor(0.0), X, y, noise, tensor(1e-6))
    paths = sample_paths(posterior, 20, 500, torch.Generator().manual_seed(1), sampler)
    assert_close(paths.f(X), y.expand(20, 5), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("lengthscale", "std"), [(0.3, 0.1), (0.1, 0.03)])
def test_maxima_of_paths_with_several_tops_are_those_of_a_dense_grid(lengthscale, std):
    paths = paths_of(("se", "se"), [lengthscale] * 2, Normal(std), 100, n=10)
    maxima = maximize_paths(paths, unit_box(2), torch.Generator().manual_seed(6))
    axis = torch.linspace(0, 1, 101, dtype=torch.double)
    best = on_grid(paths, torch.cartesian_prod(axis, axis))
    # two starts per path miss the top of a few; the quantiles that are used hardly notice
    assert (maxima.value < best - 1e-6).sum() <= 5
    assert maxima.value.median() == pytest.approx(best.median().item(), abs=0.01)


def test_a_negative_variance_beside_a_large_one_is_refused():
    with pytest.raises(ValueError, match="semi-definite"):
        Normal(covariance=[[1e12, 0.0], [0.0, -0.5]])


@pytest.mark.parametrize("width", [torch.ones(2, 1), [[0.1, 0.2]], [None]], ids=str)
def test_nested_widths_are_refused_by_name(width):
    with pytest.raises((TypeError, ValueError), match="std must be"):
        inspect.unwrap(read_width)("std", width)


def test_bytes_are_no_widths():
    with pytest.raises((TypeError, ValueError)):
        inspect.unwrap(read_width)("std", b"12")


@pytest.mark.parametrize("width", [1, [1, 2], np.array([0.1, 0.2]), np.float32(0.5)], ids=str)
def test_integers_and_arrays_pass_the_type_checks(width):
    Normal(width)
    Uniform(width)


def small_model(**options):
    X = torch.rand(8, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    y = torch.sin(5 * X).sum(-1)
    return X, y, fit_surrogate(X, y, unit_box(2), **options)[0]


def test_the_view_of_g_takes_many_and_repeated_points():
    _, _, model = small_model()
    view = RobustModel.from_model(model, Normal(0.1))
    x = torch.rand(100, 2, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    assert view.posterior(x).variance.isfinite().all()
    assert view.posterior(x[:1].repeat(50, 1)).mean.isfinite().all()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert qMaxValueEntropy(view, x)(x[:3, None]).isfinite().all()


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


@pytest.mark.parametrize(("centre", "width"), [(1.7e9, 60.0), (2.4e9, 2e4), (-5e7, 1.0)])
def test_a_narrow_box_far_from_zero_keeps_its_digits(centre, width):
    bounds = tensor([[centre - width / 2], [centre + width / 2]])
    X = bounds[0] + width * torch.linspace(0.03, 0.97, 8, dtype=torch.double)[:, None]
    model, _ = fit_surrogate(X, torch.sin(6 * (X[:, 0] - bounds[0]) / width), bounds)
    robust = RobustPosterior.from_model(model, Normal(0.05 * width))
    expected = model.posterior(X).mean.flatten().detach()
    assert_close(robust.joint(X).m_f, expected, rtol=0, atol=1e-5)
    assert recommend(robust, bounds).x.item() == pytest.approx(
        centre - 0.24 * width, abs=0.03 * width
    )


def test_what_was_read_from_a_model_does_not_change_when_the_model_does():
    X, y, model = small_model()
    acquisition = NoisyInputEntropySearch(model, Normal(0.1), unit_box(2))
    before = acquisition(X[:3, None]), acquisition.robust.joint(X).m_g
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3)
        model.train_targets.add_(1.0)
    assert torch.equal(acquisition(X[:3, None]), before[0])
    assert torch.equal(acquisition.robust.joint(X).m_g, before[1])
    single, info = fit_surrogate(X, y, unit_box(2))
    mean = info.hyperparameters.mean.item()
    with torch.no_grad():
        single.mean_module.raw_constant.add_(1.0)
    assert info.hyperparameters.mean.item() == mean


def test_data_of_any_kind_of_number_is_fitted():
    X, y, _ = small_model()
    plain, _ = suggest(X, y, unit_box(2), Normal(0.1))
    with_graph, _ = suggest(X, y.clone().requires_grad_(), unit_box(2), Normal(0.1))
    assert torch.equal(plain, with_graph)
    suggest(X.float(), y.float(), unit_box(2).float(), Normal(0.1), noise_variance=1e-4)
    suggest(X, torch.arange(8), unit_box(2), Normal(0.1), noise_variance=0.5)


def test_pending_points_of_another_dimension_are_refused():
    _, _, model = small_model()
    with pytest.raises(ValueError, match="last dimension must be 2"):
        NoisyInputEntropySearch(
            model, Normal(0.1), unit_box(2), X_pending=torch.rand(3, 4).double()
        )


def test_no_points_give_no_values():
    _, _, model = small_model()
    acquisition = NoisyInputEntropySearch(model, Normal(0.1), unit_box(2))
    empty = torch.zeros(0, 2, dtype=torch.double)
    assert acquisition(empty[:, None]).shape == (0,)
    assert acquisition.robust.joint(empty).m_g.shape == (0,)


def test_a_noise_of_their_own_for_new_observations_is_refused():
    X, y, model = small_model()
    view = RobustModel.from_model(model, Normal(0.1))
    with pytest.raises(NotImplementedError, match="noise of the model"):
        view.condition_on_observations(X, y[:, None], noise=torch.ones(8, 1).double())
    assert view.subset_output([0]) is view


def test_without_any_noise_no_point_is_suggested_twice():
    X, y, _ = small_model()
    X = torch.cat([X, X[:1]])  # a repeated point makes the covariance singular
    model, _ = fit_surrogate(X, torch.cat([y, y[:1]]), unit_box(2), noise_variance=0.0)
    acquisition = NoisyInputEntropySearch(model, Normal(0.0), unit_box(2))
    x = torch.rand(50, 2, generator=torch.Generator().manual_seed(3), dtype=torch.double)
    assert acquisition(X[:, None]).max() < 0.2 * acquisition(x[:, None]).max()


@pytest.mark.parametrize("noise_variance", [-1.0, math.nan, math.inf])
def test_noise_variances_that_are_none_are_refused(noise_variance):
    X, y, _ = small_model()
    with pytest.raises(ValueError, match="noise_variance must be finite"):
        fit_surrogate(X, y, unit_box(2), noise_variance=noise_variance)


def test_what_a_fit_has_to_say_is_said_once():
    """Repeated points without any noise: GPyTorch warned of its jitter at each step of the fit."""
    X, y = tensor([[0.2], [0.2], [0.2], [0.7], [0.7]]), tensor([1.0, 1.0, 1.0, 0.0, 0.0])
    _, info = fit_surrogate(X, y, tensor([[0.0], [1.0]]), noise_variance=0.0)
    assert info.messages
    assert len(set(info.messages)) == len(info.messages)
