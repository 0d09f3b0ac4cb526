"""The readable twin of NES-EP against quadrature, mpmath, Monte Carlo and stored values."""

import json
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.testing import assert_allclose
from scipy.stats import truncnorm

from examples import examples
from meseta.nes_plain import (
    RobustGP,
    alpha_nes_ep,
    condition_on_max,
    k_f,
    k_g,
    k_gf,
    maximize_g,
    posterior_f,
    posterior_g,
    sample_g_star,
    sample_path,
    select_max_values,
    truncate_by_ep,
    truncated_moments,
)

# Values of an independent implementation of the paper; the file says what each key means.
CASES = json.loads((Path(__file__).parents[1] / "data" / "nes_ep_cases.json").read_text())["cases"]


@pytest.fixture(params=CASES, ids=lambda case: f"d{case['d']}-n{case['n']}")
def case(request):
    return {key: np.array(value, float) for key, value in request.param.items()}


def gp_of(case):
    return RobustGP(
        X=case["X"],
        y=case["y"],
        lengthscale=case["lengthscale"],
        signal_variance=float(case["signal_variance"]),
        noise_variance=float(case["observation_noise_variance"]),
        input_noise_std=case["input_noise_std"],
    )


@pytest.fixture
def small_gp():
    return RobustGP(
        X=np.array([[0.1], [0.35], [0.6]]),
        y=np.array([0.3, -0.5, 0.8]),
        lengthscale=np.array([0.15]),
        signal_variance=0.7,
        noise_variance=1e-2,
        input_noise_std=np.array([0.05]),
    )


def random_gp(seed, n, d, noise_ratio):
    rng = np.random.default_rng(seed)
    lengthscale = rng.uniform(0.2, 0.6, d)
    return RobustGP(
        X=rng.uniform(size=(n, d)),
        y=rng.standard_normal(n),
        lengthscale=lengthscale,
        signal_variance=float(rng.uniform(0.5, 2)),
        noise_variance=1e-2,
        input_noise_std=noise_ratio * lengthscale,
    )


def test_kernels_are_expectations_of_k_f():
    gp = random_gp(seed=0, n=1, d=2, noise_ratio=0.7)
    a, b = np.array([[0.3, 0.9], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 0.2], [1.4, -0.3]])
    nodes, weights = hermegauss(28)
    weights = weights / weights.sum()
    xi = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2) * gp.input_noise_std
    p = np.outer(weights, weights).ravel()
    for i, point in enumerate(a):
        assert_allclose(k_gf(gp, a, b)[i], p @ k_f(gp, point + xi, b), rtol=1e-12)
        for j, other in enumerate(b):
            expected = p @ k_f(gp, point + xi, other + xi) @ p
            assert_allclose(k_g(gp, a, b)[i, j], expected, rtol=1e-12)


def test_without_input_noise_g_is_f():
    gp = random_gp(seed=1, n=6, d=2, noise_ratio=0.0)
    x = np.random.default_rng(2).uniform(size=(5, 2))
    for of_f, of_g in zip(posterior_f(gp, x), posterior_g(gp, x), strict=True):
        assert_allclose(of_g, of_f, rtol=0, atol=0)
    conditioned = condition_on_max(gp, x, g_star=1.0)
    assert_allclose(conditioned.m_tilde, conditioned.m_hat, rtol=0, atol=1e-12)
    assert_allclose(conditioned.v_tilde, conditioned.v_hat, rtol=0, atol=1e-12)


def test_agrees_with_an_independent_implementation(case):
    gp, x, g_star = gp_of(case), case["query_points"], float(case["g_star"])
    m_g, V_g = posterior_g(gp, x)
    assert_allclose(m_g, case["mean_g"], rtol=0, atol=1e-11)
    assert_allclose(np.diag(V_g), case["variance_g"], rtol=0, atol=1e-12)
    mu_1, Sigma_1 = truncate_by_ep(*posterior_g(gp, gp.X), g_star)
    assert_allclose(mu_1, case["ep_mean"], rtol=0, atol=1e-10)
    assert_allclose(np.diag(Sigma_1), case["ep_variance"], rtol=0, atol=1e-11)
    assert_allclose(alpha_nes_ep(gp, x, np.array([g_star])), case["alpha"], rtol=0, atol=1e-9)


def test_several_max_values_are_averaged(case):
    gp, x, g_star = gp_of(case), case["query_points"][:5], float(case["g_star"])
    values = g_star + np.array([0.0, 0.1, 0.4])
    one_by_one = [alpha_nes_ep(gp, x, values[k : k + 1]) for k in range(3)]
    assert_allclose(alpha_nes_ep(gp, x, values), np.mean(one_by_one, axis=0), rtol=0, atol=1e-13)


def test_step_3_has_the_moments_of_a_truncated_normal(case):
    g_star = float(case["g_star"])
    c = condition_on_max(gp_of(case), case["query_points"], g_star)
    scale = np.sqrt(c.v_0)
    exact = truncnorm(-np.inf, (g_star - c.m_0) / scale, loc=c.m_0, scale=scale)
    assert_allclose(c.m_hat, exact.mean(), rtol=0, atol=1e-12)
    assert_allclose(c.v_hat, exact.var(), rtol=0, atol=1e-12)


def test_step_4_is_the_regression_of_f_on_g(case):
    gp, x = gp_of(case), case["query_points"]
    c = condition_on_max(gp, x, float(case["g_star"]))
    (m_f, V_f), (m_g, V_g) = posterior_f(gp, x), posterior_g(gp, x)
    c_fg = np.diag(k_gf(gp, x, x) - k_gf(gp, x, gp.X) @ np.linalg.solve(gp.K, k_f(gp, gp.X, x)))
    slope = c_fg / np.diag(V_g)
    assert_allclose(c.m_tilde, m_f + slope * (c.m_hat - m_g), rtol=0, atol=1e-9)
    assert_allclose(c.v_tilde, np.diag(V_f) - slope * c_fg + slope**2 * c.v_hat, rtol=0, atol=1e-11)


def test_truncated_moments_in_every_range_of_beta():
    """Against the plain formulas in 60 digits: they cancel to 1e-12 at beta = -1e6."""
    beta = np.concatenate(
        [-np.logspace(6, -3, 150), np.linspace(-2.6, -2.4, 41), [0.0], np.logspace(-3, 1.477, 40)]
    )
    r, h = truncated_moments(beta)
    with mp.workdps(60):
        exact_r = [mp.npdf(b) / (mp.erfc(-b / mp.sqrt(2)) / 2) for b in map(mp.mpf, beta.tolist())]
        exact_h = [
            1 - R * (R + b) for R, b in zip(exact_r, map(mp.mpf, beta.tolist()), strict=True)
        ]
    assert_allclose(r, [float(value) for value in exact_r], rtol=1e-12)
    assert_allclose(h, [float(value) for value in exact_h], rtol=1e-12)


def test_truncation_at_infinity_changes_nothing():
    r, h = truncated_moments(np.array([50.0, 1e200, np.inf]))
    assert_allclose(r, 0.0)
    assert_allclose(h, 1.0)


def rejection_sampling(mean, covariance, upper, num, rng):
    """Mean and variance of each component of N(mean, covariance) given <= upper, with errors."""
    draws = rng.multivariate_normal(mean, covariance, size=num, method="eigh")
    kept = draws[(draws <= upper).all(axis=1)]
    variance = kept.var(axis=0)
    fourth = ((kept - kept.mean(axis=0)) ** 4).mean(axis=0)
    errors = np.sqrt(variance / len(kept)), np.sqrt((fourth - variance**2) / len(kept))
    return (kept.mean(axis=0), variance), errors


def test_ep_is_exact_for_independent_components():
    mean, variance = np.array([0.3, -1.0, 2.0, 60.0]), np.array([1.0, 0.2, 0.5, 0.9])
    mu_1, Sigma_1 = truncate_by_ep(mean, np.diag(variance), upper=0.4)
    r, h = truncated_moments((0.4 - mean) / np.sqrt(variance))
    assert_allclose(mu_1, mean - np.sqrt(variance) * r, rtol=0, atol=1e-11)
    assert_allclose(np.diag(Sigma_1), variance * h, rtol=1e-9)


def test_ep_agrees_with_rejection_sampling_within_its_error():
    for weakly_correlated in CASES[2:]:
        case = {key: np.array(value, float) for key, value in weakly_correlated.items()}
        m, G = posterior_g(gp_of(case), case["X"])
        mu_1, Sigma_1 = truncate_by_ep(m, G, float(case["g_star"]))
        (mean, variance), errors = rejection_sampling(
            m, G, case["g_star"], num=60_000, rng=np.random.default_rng(0)
        )
        assert np.all(np.abs(mu_1 - mean) <= 4 * errors[0])
        assert np.all(np.abs(np.diag(Sigma_1) - variance) <= 4 * errors[1])


def test_ep_stays_near_rejection_sampling_where_it_is_not_exact(case):
    """With strong correlations EP itself is off: by 0.013 std and 4% in these cases."""
    m, G = posterior_g(gp_of(case), case["X"])
    mu_1, Sigma_1 = truncate_by_ep(m, G, float(case["g_star"]))
    (mean, variance), errors = rejection_sampling(
        m, G, case["g_star"], num=60_000, rng=np.random.default_rng(1)
    )
    assert np.all(np.abs(mu_1 - mean) <= 4 * errors[0] + 0.015 * np.sqrt(variance))
    assert np.all(np.abs(np.diag(Sigma_1) - variance) <= 4 * errors[1] + 0.045 * variance)


def test_ep_says_when_it_has_not_converged(small_gp):
    with pytest.warns(UserWarning, match="after 1 sweeps"):
        truncate_by_ep(*posterior_g(small_gp, small_gp.X), upper=0.2, max_sweeps=1)


def test_sample_paths_have_the_moments_of_the_posterior(small_gp):
    rng = np.random.default_rng(3)
    x = np.linspace(-0.2, 1.2, 8)[:, None]
    num = 700
    paths = [sample_path(small_gp, rng, num_features=300) for _ in range(num)]
    for draws, (mean, covariance) in (
        (np.array([path.f(x) for path in paths]), posterior_f(small_gp, x)),
        (np.array([path.g(x) for path in paths]), posterior_g(small_gp, x)),
    ):
        variance = np.diag(covariance)
        # 4 standard errors of the mean, and of the variance of Gaussian draws
        assert np.all(np.abs(draws.mean(axis=0) - mean) <= 4 * np.sqrt(variance / num))
        assert_allclose(draws.var(axis=0), variance, rtol=4 * np.sqrt(2 / num))


def test_a_path_of_g_is_the_expectation_of_its_path_of_f():
    gp = random_gp(seed=4, n=5, d=2, noise_ratio=0.5)
    path = sample_path(gp, np.random.default_rng(5), num_features=100)
    nodes, weights = hermegauss(40)
    xi = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2) * gp.input_noise_std
    p = np.outer(weights, weights).ravel() / weights.sum() ** 2
    x = np.array([[0.2, 0.7]])
    assert_allclose(path.g(x), p @ path.f(x + xi), rtol=0, atol=1e-10)
    step = 1e-6 * np.eye(2)
    slopes = (path.g(x + step) - path.g(x - step)) / 2e-6
    assert_allclose(path.g_gradient(x)[0], slopes, rtol=0, atol=1e-7)


def test_maximum_of_a_path_is_no_lower_than_on_a_fine_grid(small_gp):
    rng = np.random.default_rng(6)
    grid = np.linspace(0, 1, 20_001)[:, None]
    for _ in range(3):
        path = sample_path(small_gp, rng, num_features=100)
        on_grid = path.g(grid).max()
        assert on_grid - 1e-9 <= maximize_g(path, np.array([[0.0], [1.0]])) <= on_grid + 1e-6


def test_selected_values_are_percentiles():
    maxima = np.random.default_rng(7).permutation(101).astype(float)  # its percentiles are 0..100
    assert_allclose(select_max_values(maxima, 1), [50])
    assert_allclose(select_max_values(maxima, 2), [25, 75])
    assert_allclose(select_max_values(maxima, 5), [25, 37.5, 50, 62.5, 75])


def test_sampled_max_values_follow_the_posterior_of_the_maximum(small_gp):
    num = 60
    bounds = np.array([[0.0], [1.0]])
    g_star = sample_g_star(small_gp, bounds, np.random.default_rng(8), 3, num_paths=num)
    grid = np.linspace(0, 1, 101)[:, None]
    mean, covariance = posterior_g(small_gp, grid)
    draws = np.random.default_rng(9).multivariate_normal(
        mean, covariance, size=20_000, method="eigh"
    )
    maxima = draws.max(axis=1)
    # a sample quantile q of n draws lies within 4 sqrt(q (1 - q) / n) of q in probability
    for value, q in zip(g_star, (0.25, 0.5, 0.75), strict=True):
        assert abs((maxima <= value).mean() - q) <= 4 * np.sqrt(q * (1 - q) / num)


@examples(20)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 8),
    d=st.integers(1, 3),
    noise_ratio=st.floats(0.1, 1.5),
    margin=st.floats(-1, 2),
)
def test_invariants_of_the_acquisition(seed, n, d, noise_ratio, margin):
    gp = random_gp(seed, n, d, noise_ratio)
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(4, d))
    g_star = np.array([posterior_g(gp, gp.X)[0].max() + margin])
    alpha = alpha_nes_ep(gp, x, g_star)
    assert np.all(alpha >= -1e-7)
    order, axes = rng.permutation(n), rng.permutation(d)
    shuffled = replace(
        gp,
        X=gp.X[order][:, axes],
        y=gp.y[order],
        lengthscale=gp.lengthscale[axes],
        input_noise_std=gp.input_noise_std[axes],
    )
    assert_allclose(alpha_nes_ep(shuffled, x[:, axes], g_star), alpha, rtol=0, atol=1e-7)
    scaled = replace(
        gp,
        y=3 * gp.y,
        signal_variance=9 * gp.signal_variance,
        noise_variance=9 * gp.noise_variance,
    )
    assert_allclose(alpha_nes_ep(scaled, x, 3 * g_star), alpha, rtol=0, atol=1e-7)
    assert_allclose(alpha_nes_ep(gp, x, np.array([np.inf])), 0, rtol=0, atol=1e-7)
