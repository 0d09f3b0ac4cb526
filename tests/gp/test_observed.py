"""Values where the noise acted unseen, held against dense algebra and Monte Carlo."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gp_models import normal, tensor, uniform, unit_box
from meseta import Empirical, Laplace, Mixture, Normal, Shared, Uniform
from meseta.gp.fit import fit_surrogates
from meseta.gp.joint import Scatter, condition
from meseta.gp.log_posterior import Around, LogPosterior, LogPrior, Noise
from meseta.gp.observed import Coming, Observed, Unseen, acting
from meseta.gp.paths import sample_paths
from meseta.gp.quality import Quality
from meseta.gp.robust import joint_posterior
from meseta.gp.surrogate import Surrogate, Units
from meseta.kernels import StationaryKernel, smooth
from meseta.kernels.shapes import SHAPES

CLOUD = Empirical(normal(20, 2, seed=3) * 0.1)
LAWS = [
    Normal(0.1),
    Uniform(0.15),
    Laplace(0.05),
    Mixture([Normal(0.02), Normal(0.2)], [0.7, 0.3]),
    Normal(covariance=[[0.01, 0.005], [0.005, 0.02]]),
    Shared(Uniform(0.1)),
    CLOUD,
]


def kernel_of(law, shape="se", d=2, lengthscale=0.4, variance=1.3):
    plain = StationaryKernel(tensor(variance), (shape,) * d, tensor([lengthscale] * d))
    return smooth(plain, law.in_dimension(d), unit_box(d))


def rows(n, seed=0):
    return uniform(n, 2, seed=seed), torch.rand(
        n, generator=torch.Generator().manual_seed(seed)
    ) < 0.5


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_covariances_are_those_of_averages_over_the_noise(law):
    kernel = kernel_of(law)
    X, unseen = rows(6)
    noise = acting(law, 2)
    observed = Observed(kernel, X, Unseen(unseen, noise))
    x = uniform(5, 2, seed=9)
    sample = law.in_dimension(2).sample(20_000, torch.Generator().manual_seed(1))
    for j in range(6):
        z = X[j] + sample if unseen[j] else X[j : j + 1]
        for found, of in ((observed.k_f(x), kernel.k_f), (observed.k_g(x), kernel.k_gf)):
            torch.testing.assert_close(found[:, j], of(x, z).mean(-1), atol=0.01, rtol=0)
    torch.testing.assert_close(observed.k_g_fixed(x), observed.k_g(x), atol=1e-10, rtol=0)
    for i in range(6):
        k = observed.k_g(X[i : i + 1]) if unseen[i] else observed.k_f(X[i : i + 1])
        torch.testing.assert_close(observed.own[i], k[0], atol=1e-10, rtol=0)
    assert torch.linalg.eigvalsh(observed.own).min() > -1e-9


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_under_another_law_draws_stand_for_the_noise(law):
    kernel, other = kernel_of(law), kernel_of(Normal(0.03))
    X, unseen = rows(5, seed=2)
    x, rows_of = uniform(4, 2, seed=5), Unseen(unseen, acting(law, 2))
    exact, by_draws = Observed(kernel, X, rows_of), Observed(other, X, rows_of)
    torch.testing.assert_close(by_draws.k_f(x), exact.k_f(x), atol=0.02, rtol=0)
    torch.testing.assert_close(by_draws.own, exact.own, atol=0.03, rtol=0)
    torch.testing.assert_close(by_draws.k_g_fixed(x), by_draws.k_g(x), atol=1e-10, rtol=0)
    assert torch.linalg.eigvalsh(by_draws.own).min() > -1e-9


def test_the_posterior_is_that_of_a_dense_model_of_all_places():
    law, other = Normal(0.1), Uniform(0.2)
    kernel = kernel_of(other)
    X, unseen = rows(6)
    y, noise_variance = normal(6, seed=4), tensor([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    noise = acting(law, 2)
    mean = tensor(0.2)
    coming = Coming(tensor(0.1))
    posterior = condition(kernel, mean, X, y, noise_variance, coming, Unseen(unseen, noise))
    places = [noise.draws(X[i : i + 1]) if unseen[i] else None for i in range(6)]
    points = torch.cat([X[i : i + 1] if p is None else p.z[0] for i, p in enumerate(places)])
    W = torch.zeros(6, len(points), dtype=torch.double)
    at = 0
    for i, p in enumerate(places):
        weights = tensor([1.0]) if p is None else p.weights[0]
        W[i, at : at + len(weights)] = weights
        at += len(weights)
    K = W @ kernel.k_f(points, points) @ W.T + torch.diag(noise_variance)
    x = uniform(7, 2, seed=8)
    for cross, prior, found in (
        (kernel.k_f(x, points) @ W.T, kernel.k_f(x, x), "f"),
        (kernel.k_gf(x, points) @ W.T, kernel.k_g(x, x), "g"),
    ):
        gain = torch.linalg.solve(K, cross.T).T
        m, v = mean + gain @ (y - mean), (prior - gain @ cross.T).diagonal()
        moments = posterior.moments(x)
        torch.testing.assert_close(getattr(moments, f"m_{found}"), m)
        torch.testing.assert_close(getattr(moments, f"v_{found}"), v)


@pytest.mark.parametrize("own", [True, False])
def test_what_is_yet_to_come_has_the_mean_and_the_variance_of_f_where_it_is_made(own):
    law = Normal(0.15)
    kernel = kernel_of(law if own else Normal(0.05), variance=1.0)
    X, unseen = rows(8, seed=3)
    noise = acting(law, 2)
    coming = Coming(tensor(0.04), None, noise)
    y, s2 = normal(8, seed=6), torch.full((8,), 0.1).double()
    posterior = condition(kernel, tensor(0.0), X, y, s2, coming, Unseen(unseen, noise))
    x = uniform(4, 2, seed=7)
    new = posterior.new_observation(x)
    z = x[:, None] + law.in_dimension(2).sample(5000, torch.Generator().manual_seed(0))
    moments = posterior.moments(z.flatten(0, 1))
    m, v = moments.m_f.view(4, -1), moments.v_f.view(4, -1)
    torch.testing.assert_close(new.mean, m.mean(1), atol=0.06, rtol=0)
    torch.testing.assert_close(new.variance, v.mean(1) + m.var(1) + 0.04, atol=0.03, rtol=0.15)
    pairs = posterior.covariance_f(z[:, :1000], z[:, 1000:2000]).mean((1, 2))
    scatter = Scatter(posterior.observed, noise.draws(x)).by(posterior)
    torch.testing.assert_close(scatter, v.mean(1) + m.var(1) - pairs, atol=0.03, rtol=0.1)
    # and it moves the means of g as conditioning on it does
    A = uniform(5, 2, seed=11)
    prior = posterior.at(x).k_g(A)
    c = posterior.whiten(posterior.k_gf_data(A))
    for i in range(4):
        further = posterior.with_observations(x[i : i + 1], new.mean[i : i + 1] + 1.0)
        moved = further.mean_g(A) - posterior.mean_g(A)
        expected = (prior[:, i] - c @ new.a[i]) / new.variance[i]
        torch.testing.assert_close(moved, expected, atol=0.02, rtol=0.12)


@pytest.mark.parametrize("shape", ["se", "matern52", "matern32"])
def test_the_likelihood_of_averages_and_its_gradient(shape):
    X, unseen = rows(9, seed=1)
    z, w = acting(Uniform(0.2), 2).few(X)
    around = Around(unseen.numpy(), z.numpy(), w.numpy())
    noise = Noise(np.linspace(0.0, 0.2, 9), np.tile([1.0, 0.5, 0.0], 3))
    prior = LogPrior(np.full(4, -1.0), np.full(4, 1.0))
    y = normal(9, seed=2).numpy()
    posterior = LogPosterior(X.numpy(), y, SHAPES[shape], prior, noise, around)
    theta = np.array([-1.0, -0.7, 0.2, -2.0])
    value, gradient = posterior(theta)
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-5
        slope = (posterior(theta + step)[0] - posterior(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    # by hand: all places, and the variance of f for every value
    kernel = StationaryKernel(tensor(np.exp(0.2)), (shape,) * 2, tensor(np.exp(theta[:2])))
    k_f = smooth(kernel, Normal(0.0), unit_box(2)).k_f
    points = [z[i] if unseen[i] else X[i : i + 1] for i in range(9)]
    weights = [w[i] if unseen[i] else tensor([1.0]) for i in range(9)]
    each = list(zip(points, weights, strict=True))
    K = tensor([[a @ k_f(p, q) @ b for q, b in each] for p, a in each])
    K.diagonal()[:] = np.exp(0.2) + torch.tensor(noise.fixed + np.exp(-2.0) * noise.share)
    ones = torch.ones(9).double()
    solved = torch.linalg.solve(K, torch.stack([ones, tensor(y)], -1))
    mean = solved[:, 1].sum() / solved[:, 0].sum()
    law = torch.distributions.MultivariateNormal(mean * ones, K)
    assert value == pytest.approx(float(law.log_prob(tensor(y))) + prior(theta)[0], rel=1e-9)


def test_the_scatter_settles_at_what_the_model_itself_says():
    law = Normal(0.1)
    X = uniform(12, 1, seed=0)
    y = torch.sin(12 * X[:, 0])
    kernel = StationaryKernel(tensor(1.0), ("se",), tensor([0.15]))
    unseen = Unseen(torch.ones(12, dtype=torch.bool), acting(law, 1))
    still = torch.zeros(1).double()
    units = Units(still, still + 1, tensor(0.0), tensor(1.0))
    noise_variance = torch.full((12,), 1e-3).double()
    surrogate = Surrogate(
        kernel, tensor(0.0), X, y, noise_variance, tensor(1e-3), units, None, unseen, True
    )
    posterior = joint_posterior(surrogate, law, unit_box(1))
    scatter = Scatter(posterior.observed, posterior.observed.places).by(posterior)
    torch.testing.assert_close(posterior.noise_variance, 1e-3 + scatter, rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("law", [Normal(0.1), CLOUD], ids=["Normal", "cloud"])
def test_intervals_of_g_hold_the_truth_as_often_as_they_say(law):
    """Functions of the model's own kind, all of whose values the noise perturbed unseen."""
    held = []
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        omega = torch.randn(300, 2, generator=generator, dtype=torch.double) / 0.4
        weights = torch.randn(2, 300, generator=generator, dtype=torch.double) / 300**0.5

        def f(x, omega=omega, weights=weights):
            phase = x @ omega.T
            return phase.cos() @ weights[0] + phase.sin() @ weights[1]

        joint = law.in_dimension(2)
        X = torch.rand(40, 2, generator=generator, dtype=torch.double)
        y = f(X + joint.sample(40, generator))
        every = Unseen(torch.ones(40, dtype=torch.bool), acting(law, 2))
        ones = torch.ones(40).double()
        quality = Quality(torch.nan * ones, ones, every, True)
        fit = fit_surrogates(X, y, unit_box(2), law, kernel="se", quality=quality)
        surrogate = fit.surrogates[0]
        x = torch.rand(30, 2, generator=generator, dtype=torch.double)
        g = f((x[:, None] + joint.sample(2000, generator)).flatten(0, 1)).view(30, -1).mean(1)
        moments = joint_posterior(surrogate, law, unit_box(2)).moments(x)
        off = surrogate.units.y_to_raw(moments.m_g) - g
        sd = moments.v_g.sqrt() * surrogate.units.y_scale
        held.append((off.abs() <= 1.96 * sd).double().mean())
    assert 0.84 < float(torch.stack(held).mean()) < 0.995


@given(st.integers(0, 10**6))
def test_repeats_may_be_told_one_by_one_or_as_their_mean(seed):
    generator = torch.Generator().manual_seed(seed)
    counts = torch.randint(1, 5, (6,), generator=generator)
    X, kernel = uniform(6, 2, seed=seed % 1000), kernel_of(Normal(0.1))
    each = torch.randn(int(counts.sum()), generator=generator, dtype=torch.double)
    mean = torch.stack([part.mean() for part in each.split(counts.tolist())])
    s2, coming = tensor(0.3), Coming(tensor(0.3))
    one_by_one = condition(
        kernel, tensor(0.1), X.repeat_interleave(counts, 0), each, s2.expand(len(each)), coming
    )
    as_mean = condition(kernel, tensor(0.1), X, mean, s2 / counts, coming)
    x = uniform(5, 2, seed=1)
    for ours, theirs in zip(one_by_one.moments(x), as_mean.moments(x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_paths_have_the_moments_of_the_posterior():
    law = Normal(0.15)
    X, unseen = rows(8, seed=3)
    noise, s2 = acting(law, 2), torch.full((8,), 0.1).double()
    posterior = condition(
        kernel_of(law), tensor(0.0), X, normal(8, seed=6), s2, Coming(s2[0]), Unseen(unseen, noise)
    )
    x = uniform(4, 2, seed=7)
    for sampler in ("pathwise", "sparse-spectrum"):
        paths = sample_paths(posterior, 4000, 1000, torch.Generator().manual_seed(0), sampler)
        f, g = paths.f(x), paths.g(x)
        torch.testing.assert_close(f.mean(0), posterior.mean_f(x), atol=0.1, rtol=0)
        torch.testing.assert_close(g.mean(0), posterior.mean_g(x), atol=0.1, rtol=0)
        torch.testing.assert_close(f.T.cov(), posterior.covariance_f(x, x), atol=0.06, rtol=0.1)
        torch.testing.assert_close(g.T.cov(), posterior.covariance_g(x, x), atol=0.06, rtol=0.1)
