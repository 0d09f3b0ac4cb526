"""Expectation propagation against stored values, the readable twin and rejection sampling."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from examples import examples
from meseta.inference import expectation_propagation, truncate_above
from meseta.inference.ep import TOLERANCE
from meseta.nes_plain import RobustGP, posterior_g, truncate_by_ep

# Values of an independent implementation of the paper; the file says what each key means.
CASES = json.loads((Path(__file__).parents[1] / "data" / "nes_ep_cases.json").read_text())["cases"]


@pytest.fixture(params=CASES, ids=lambda case: f"d{case['d']}-n{case['n']}")
def case(request):
    return {key: np.array(value, float) for key, value in request.param.items()}


def posterior_at_data(case):
    gp = RobustGP(
        X=case["X"],
        y=case["y"],
        lengthscale=case["lengthscale"],
        signal_variance=float(case["signal_variance"]),
        noise_variance=float(case["observation_noise_variance"]),
        input_noise_std=case["input_noise_std"],
    )
    m, G = posterior_g(gp, gp.X)
    return torch.from_numpy(m), torch.from_numpy(G)


def tensor(values):
    return torch.tensor(values, dtype=torch.double)


def random_gaussian(seed, n):
    """Standard deviations from 0.5 to 2 and correlations of a well-conditioned matrix."""
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(n, 2 * n + 4, generator=generator, dtype=torch.double)
    scale = 0.5 * 4 ** torch.rand(n, generator=generator, dtype=torch.double)
    covariance = scale[:, None] * (root @ root.T) / (2 * n + 4) * scale
    mean = torch.randn(n, generator=generator, dtype=torch.double)
    return mean, covariance


def test_agrees_with_an_independent_implementation(case):
    m, G = posterior_at_data(case)
    gaussian, info = expectation_propagation(m, G, torch.from_numpy(case["g_star"])[None])
    assert info.converged.all()
    assert_close(gaussian.mean[0], torch.from_numpy(case["ep_mean"]), rtol=0, atol=1e-10)
    assert_close(gaussian.variance[0], torch.from_numpy(case["ep_variance"]), rtol=0, atol=1e-11)


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 8),
    heights=st.lists(st.floats(-2, 4), min_size=1, max_size=3),
)
def test_agrees_with_the_readable_twin_bound_by_bound(seed, n, heights):
    mean, covariance = random_gaussian(seed, n)
    sd = covariance.diagonal().sqrt()
    upper = mean.mean() + sd.mean() * tensor(heights)
    gaussian, info = expectation_propagation(mean, covariance, upper)
    assert info.converged.all()
    for k, bound in enumerate(upper):
        mu_1, Sigma_1 = truncate_by_ep(mean.numpy(), covariance.numpy(), bound.item())
        assert_close(gaussian.mean[k] / sd, torch.from_numpy(mu_1) / sd, rtol=0, atol=1e-9)
        variance = torch.from_numpy(np.diag(Sigma_1).copy())
        assert_close(gaussian.variance[k] / sd**2, variance / sd**2, rtol=0, atol=1e-9)
        alone, its_info = expectation_propagation(mean, covariance, bound[None])
        assert its_info.sweeps.item() == info.sweeps[k].item()
        for name in ("mean", "variance", "root", "shift"):
            one, many = getattr(alone, name)[0], getattr(gaussian, name)[k]
            assert_close(one, many, rtol=1e-10, atol=1e-10)


@examples(40)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 8), height=st.floats(-2, 4))
def test_order_of_the_components_does_not_matter(seed, n, height):
    mean, covariance = random_gaussian(seed, n)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    upper = (mean.mean() + height)[None]
    gaussian, _ = expectation_propagation(mean, covariance, upper)
    shuffled, _ = expectation_propagation(mean[order], covariance[order][:, order], upper)
    sd = covariance.diagonal().sqrt()
    assert_close(shuffled.mean / sd[order], gaussian.mean[:, order] / sd[order], rtol=0, atol=1e-9)
    assert_close(shuffled.variance, gaussian.variance[:, order], rtol=1e-7, atol=0)


@examples(40)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 6),
    height=st.floats(-2, 4),
    shift=st.floats(-5, 5),
    log_scale=st.floats(-4, 4),
)
def test_shift_and_scale_pass_through(seed, n, height, shift, log_scale):
    mean, covariance = random_gaussian(seed, n)
    upper, scale = tensor([height]), 10**log_scale
    gaussian, _ = expectation_propagation(mean, covariance, upper)
    moved, _ = expectation_propagation(
        scale * (mean + shift), scale**2 * covariance, scale * (upper + shift)
    )
    sd = covariance.diagonal().sqrt()
    assert_close((moved.mean / scale - shift) / sd, gaussian.mean / sd, rtol=0, atol=1e-9)
    assert_close(moved.variance / scale**2, gaussian.variance, rtol=1e-7, atol=0)


def rejection_sampling(mean, covariance, upper, num, seed):
    """Mean and variance of each component of N(mean, covariance) given <= upper, with errors."""
    draws = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=num)
    kept = draws[(draws <= upper).all(axis=1)]
    variance = kept.var(axis=0)
    fourth = ((kept - kept.mean(axis=0)) ** 4).mean(axis=0)
    errors = np.sqrt(variance / len(kept)), np.sqrt((fourth - variance**2) / len(kept))
    return (kept.mean(axis=0), variance), errors


@pytest.mark.parametrize("seed", range(5))
def test_moments_agree_with_rejection_sampling_within_its_error(seed):
    """EP itself is off by some 1e-3 standard deviations at these correlations, up to 0.4."""
    rng = np.random.default_rng(seed)
    n = 4
    loading = rng.uniform(0.3, 0.63, n) * rng.choice([-1, 1], n)
    correlation = np.outer(loading, loading) + np.diag(1 - loading**2)
    scale = rng.uniform(0.5, 2, n)
    covariance = scale[:, None] * correlation * scale
    mean, upper = rng.uniform(-1, 1, n), 1.0
    gaussian, info = expectation_propagation(
        torch.from_numpy(mean), torch.from_numpy(covariance), tensor([upper])
    )
    assert info.converged.all()
    (m, v), errors = rejection_sampling(mean, covariance, upper, 200_000, seed)
    assert np.all(np.abs(gaussian.mean[0].numpy() - m) <= 4 * errors[0] + 0.005 * scale)
    assert np.all(np.abs(gaussian.variance[0].numpy() - v) <= 4 * errors[1] + 0.01 * scale**2)


@pytest.mark.parametrize("beta", [-10.0, -2.0, -0.3, 0.0, 1.0, 5.0, 30.0])
def test_one_dimension_is_exact(beta):
    mean, variance = tensor([0.7]), tensor([[0.3]])
    upper = mean + beta * math.sqrt(0.3)
    gaussian, info = expectation_propagation(mean, variance, upper)
    exact = truncate_above(mean, variance[0], upper)
    assert info.converged.all()
    assert_close(gaussian.mean[0], exact.mean, rtol=0, atol=1e-11)
    assert_close(gaussian.variance[0], exact.variance, rtol=1e-10, atol=0)


def test_independent_components_are_exact():
    mean, variance = tensor([0.3, -1.0, 2.0, 9.0]), tensor([1.0, 0.2, 0.5, 0.9])
    gaussian, info = expectation_propagation(mean, torch.diag(variance), tensor([0.4, 1.5]))
    for k, upper in enumerate([0.4, 1.5]):
        exact = truncate_above(mean, variance, torch.full_like(mean, upper))
        assert_close(gaussian.mean[k], exact.mean, rtol=0, atol=1e-11)
        assert_close(gaussian.variance[k], exact.variance, rtol=1e-10, atol=0)
    assert info.converged.all()


def test_bounds_far_above_leave_the_prior():
    mean, covariance = random_gaussian(3, 5)
    gaussian, info = expectation_propagation(mean, covariance, tensor([1e3, 1e10, 1e300]))
    assert info.converged.all()
    assert torch.equal(gaussian.mean, mean.expand(3, 5))
    assert_close(gaussian.variance, covariance.diagonal().expand(3, 5), rtol=1e-14, atol=0)
    assert torch.equal(gaussian.root, torch.zeros(3, 5, 5, dtype=torch.double))
    assert torch.equal(gaussian.shift, torch.zeros(3, 5, dtype=torch.double))


def test_lower_bounds_lower_every_mean_of_a_positively_correlated_vector():
    x = torch.linspace(0, 1, 6, dtype=torch.double)
    covariance = (-((x[:, None] - x) ** 2) / 0.1).exp() + 0.01 * torch.eye(6).double()
    gaussian, _ = expectation_propagation(
        torch.zeros(6).double(), covariance, torch.linspace(3, -2, 12, dtype=torch.double)
    )
    assert torch.all(gaussian.mean.diff(dim=0) < 0)
    assert torch.all(gaussian.variance.diff(dim=0) < 0)
    assert torch.all(gaussian.variance > 0)


def test_no_data_need_no_sweep():
    empty = torch.zeros(0, dtype=torch.double)
    gaussian, info = expectation_propagation(empty, torch.zeros(0, 0).double(), tensor([1.0, 2.0]))
    assert gaussian.mean.shape == (2, 0)
    assert info.converged.all()
    assert info.sweeps.tolist() == [0, 0]


def test_info_says_how_each_bound_went():
    """Independent components are done in one sweep, and the second sees that nothing moves."""
    mean, covariance = torch.zeros(3).double(), torch.eye(3).double()
    _, info = expectation_propagation(mean, covariance, tensor([0.5, 1e3]))
    assert info.sweeps.tolist() == [2, 1]
    assert info.converged.tolist() == [True, True]
    assert torch.all(info.change <= TOLERANCE)
    assert info.damping.tolist() == [1.0, 1.0]
    mean, covariance = random_gaussian(5, 6)
    _, info = expectation_propagation(mean, covariance, tensor([0.0]))
    assert info.sweeps.item() > 2
    assert info.converged.item() == (info.change.item() <= TOLERANCE)


@pytest.mark.parametrize("height", [0.0, -3.0, -10.0])
def test_nearly_repeated_points_far_above_the_bound_end_finite_and_say_how(height):
    n = 6
    covariance = torch.full((n, n), 1 - 1e-10, dtype=torch.double)
    covariance.fill_diagonal_(1.0)
    mean = torch.linspace(-0.1, 0.1, n, dtype=torch.double)
    gaussian, info = expectation_propagation(mean, covariance, tensor([height, 5.0]))
    for value in (gaussian.mean, gaussian.variance, gaussian.root, gaussian.shift, info.change):
        assert value.isfinite().all()
    assert torch.all(gaussian.variance > 0)
    assert torch.all(gaussian.mean[0] < height)
    assert torch.equal(info.converged, info.change <= TOLERANCE)
    assert info.converged[1]


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("correlation", [0.9, 0.99, 0.999999])
def test_strongly_correlated_components_agree_with_the_readable_twin(n, correlation):
    """Where updating all sites at once overshoots: the more, the more components agree."""
    covariance = torch.full((n, n), correlation, dtype=torch.double)
    covariance.fill_diagonal_(1.0)
    mean, upper = torch.zeros(n).double(), tensor([1.0, 2.0])
    gaussian, info = expectation_propagation(mean, covariance, upper)
    assert info.converged.all()
    for k, bound in enumerate(upper):
        mu_1, Sigma_1 = truncate_by_ep(mean.numpy(), covariance.numpy(), bound.item())
        assert_close(gaussian.mean[k], torch.from_numpy(mu_1), rtol=0, atol=1e-9)
        variance = torch.from_numpy(np.diag(Sigma_1).copy())
        assert_close(gaussian.variance[k], variance, rtol=0, atol=1e-9)


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("height", [-3.0, -10.0, -20.0])
def test_nearly_repeated_points_agree_with_the_readable_twin(gap, height):
    n = 6
    covariance = torch.full((n, n), 1 - gap, dtype=torch.double).fill_diagonal_(1.0)
    mean = torch.linspace(-0.1, 0.1, n, dtype=torch.double)
    gaussian, _ = expectation_propagation(mean, covariance, tensor([height]))
    mu_1, Sigma_1 = truncate_by_ep(mean.numpy(), covariance.numpy(), height)
    # EP stops where a sweep changes means by less than 5e-11 of the bound. Against 60 digits ours
    # is off by up to 5.5e-10 of it, with the code of some processors, and the twin by 5e-12.
    assert_close(gaussian.mean[0], torch.from_numpy(mu_1), rtol=1e-9, atol=0)
    variance = torch.from_numpy(np.diag(Sigma_1).copy())
    assert_close(gaussian.variance[0], variance, rtol=1e-6, atol=0)


def test_bounds_absurdly_far_below_the_mean_are_raised_and_counted():
    mean, covariance = random_gaussian(7, 5)
    gaussian, info = expectation_propagation(mean, covariance, tensor([-10.0, -1e6, -1e9]))
    assert info.raised.tolist() == [0, 5, 5]
    assert gaussian.mean.isfinite().all()
    assert torch.all(gaussian.variance > 0)
    assert_close(gaussian.mean[1], gaussian.mean[2], rtol=1e-12, atol=0)


@pytest.mark.parametrize("height", [-30.0, -300.0, -1000.0, -1e5])
@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 3.0])
def test_smooth_paths_far_above_the_bound_end_finite(height, lengthscale):
    x = torch.from_numpy(np.random.default_rng(0).uniform(size=20))
    covariance = (-0.5 * (x[:, None] - x) ** 2 / lengthscale**2).exp() + 1e-12 * torch.eye(20)
    gaussian, _ = expectation_propagation(torch.zeros(20).double(), covariance, tensor([height]))
    assert gaussian.mean.isfinite().all()
    assert torch.all(gaussian.variance > 0)


def sites(gaussian, R, k):
    """tau and nu of bound k: what was added to the precision R^-1 and precision-mean 0 of z."""
    W = gaussian.root[k].T @ gaussian.root[k]
    precision = torch.linalg.inv(R - R @ W @ R)
    return precision - torch.linalg.inv(R), precision @ (R @ gaussian.shift[k])


@examples(60)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), height=st.floats(-2, 1.5))
def test_any_jointly_gaussian_variable_is_conditioned_by_root_and_shift(seed, n, height):
    mean, covariance = random_gaussian(seed, n + 2)  # z, and two more variables x
    z, x = slice(0, n), slice(n, n + 2)
    bounds = mean[z].mean() + covariance.diagonal()[z].sqrt().mean() * tensor([height, height + 1])
    gaussian, _ = expectation_propagation(mean[z], covariance[z, z], bounds)
    scale = covariance.diagonal()[z].sqrt()
    assert_close(gaussian.scale, scale)
    R = covariance[z, z] / scale[:, None] / scale
    c = covariance[z, x] / scale[:, None]
    for k in range(2):
        m_x = mean[x] + c.T @ gaussian.shift[k]
        v_x = covariance.diagonal()[x] - (gaussian.root[k] @ c).square().sum(0)
        # the same from the joint precision of (z, x), to which the sites add
        tau, nu = sites(gaussian, R, k)
        assert_close(tau, torch.diag(tau.diagonal()), rtol=0, atol=1e-8 * tau.abs().max().item())
        joint = torch.block_diag(torch.diag(1 / scale), torch.eye(2).double())
        joint = joint @ covariance @ joint
        precision = torch.linalg.inv(joint) + torch.block_diag(tau, torch.zeros(2, 2).double())
        posterior = torch.linalg.inv(precision)
        assert_close(m_x - mean[x], posterior[x, z] @ nu, rtol=0, atol=1e-8)
        assert_close(v_x, posterior.diagonal()[x], rtol=0, atol=1e-8)
        # and z itself: its mean is R shift, its variance 1 - |root R|^2
        assert_close(gaussian.mean[k], mean[z] + scale * (R @ gaussian.shift[k]))
        own = scale**2 * (1 - (gaussian.root[k] @ R).square().sum(0))
        assert_close(gaussian.variance[k], own, rtol=1e-9, atol=1e-12)


def test_the_regression_of_the_documented_identity_follows_the_mean_of_z():
    """Without the sites: E x = m + Cov[x, z] R^-1 (E z - m_z) for x jointly Gaussian with z."""
    mean, covariance = random_gaussian(11, 5)
    gaussian, _ = expectation_propagation(mean[:4], covariance[:4, :4], tensor([0.2]))
    scale = gaussian.scale
    c = covariance[:4, 4] / scale
    weights = torch.linalg.solve(covariance[:4, :4], covariance[:4, 4])
    regression = mean[4] + weights @ (gaussian.mean[0] - mean[:4])
    assert (mean[4] + c @ gaussian.shift[0]).item() == pytest.approx(regression.item(), abs=1e-12)


@pytest.mark.parametrize("gap", [0.02, 0.05])
def test_extrapolation_saves_sweeps_and_changes_nothing(gap, monkeypatch):
    """Sites on a smooth path: plain sweeps converge, but slowly."""
    x = gap * torch.arange(8, dtype=torch.double)
    covariance = torch.exp(-0.5 * ((x[:, None] - x) / 0.3) ** 2)
    mean, upper = torch.sin(9 * x), tensor([0.5, 1.2])
    gaussian, info = expectation_propagation(mean, covariance, upper)
    monkeypatch.setattr("meseta.inference.ep.STRIDE", 1000)
    plain, plain_info = expectation_propagation(mean, covariance, upper)
    assert info.converged.all()
    assert not info.sequential.any()
    assert info.sweeps.sum() < 0.8 * plain_info.sweeps.sum()
    assert_close(gaussian.mean, plain.mean, rtol=0, atol=1e-8)
    assert_close(gaussian.variance, plain.variance, rtol=0, atol=1e-8)


def nearest_semidefinite(covariance):
    """The covariance with its negative eigenvalues set to 0, in units of its diagonal."""
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.outer(scale, scale) * ((vectors * values.clip(0)) @ vectors.T)


@pytest.mark.parametrize("rounding", [1e-9, 1e-6, 1e-3])
def test_a_covariance_that_rounding_made_indefinite_is_repaired_everywhere_alike(rounding):
    """The moments are those of the repaired covariance, by the readable twin."""
    rng = np.random.default_rng(0)
    loads, scale = rng.normal(size=(12, 3)), rng.uniform(0.5, 2, 12)
    noise = rng.normal(size=(12, 12))
    covariance = loads @ loads.T + rounding * (noise + noise.T)
    covariance = scale[:, None] * covariance * scale
    mean, upper = rng.normal(size=12), 1.5
    assert np.linalg.eigvalsh(covariance)[0] < 0
    gaussian, info = expectation_propagation(
        torch.from_numpy(mean), torch.from_numpy(covariance), tensor([upper])
    )
    assert 0 < info.jitter < 100 * rounding
    assert info.converged.all()
    repaired = nearest_semidefinite(covariance)
    mu_1, Sigma_1 = truncate_by_ep(mean, repaired, upper, max_sweeps=2000)
    m, S, mu_1, Sigma_1 = map(torch.from_numpy, (mean, repaired, mu_1, Sigma_1))
    sd = S.diagonal().sqrt()
    assert_close(gaussian.scale, sd)
    assert_close(gaussian.mean[0] / sd, mu_1 / sd, rtol=0, atol=1e-7)
    assert_close(gaussian.variance[0] / sd**2, Sigma_1.diagonal() / sd**2, rtol=0, atol=1e-7)
    # root and shift belong to the same model: z by them
    R = S / sd[:, None] / sd
    assert_close(gaussian.mean[0], m + sd * (R @ gaussian.shift[0]))
    own = sd**2 * (1 - (gaussian.root[0] @ R).square().sum(0))
    assert_close(gaussian.variance[0], own, rtol=1e-6, atol=1e-9)


def test_correlations_that_are_mostly_rounding_are_warned_about():
    covariance = tensor([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.warns(RuntimeWarning, match="mostly rounding"):
        gaussian, info = expectation_propagation(torch.zeros(3).double(), covariance, tensor([0.5]))
    assert info.jitter > 0.1
    assert gaussian.mean.isfinite().all()
    assert (gaussian.variance > 0).all()


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
