"""The log posterior of the hyper-parameters, against GPyTorch and against differences."""

import math

import numpy as np
import pytest
import torch
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from mpmath import mp

from gp_models import tensor, uniform
from meseta.gp.botorch_models import to_botorch
from meseta.gp.log_posterior import LOWEST, LogPosterior, LogPrior, Noise
from meseta.gp.surrogate import Surrogate, Units
from meseta.kernels import StationaryKernel
from meseta.kernels.shapes import SHAPES

KERNELS = ("se", "matern12", "matern32", "matern52")
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def problem(kernel, n, d, seed, noise_variance=None):
    X = uniform(n, d, seed=seed)
    y = torch.sin(4 * X).sum(-1) + (X[:, 0] - 0.4).abs()
    y = (y - y.mean()) / y.std()
    num = d + 2 - (noise_variance is not None)
    randomness = np.random.default_rng(seed)
    prior = LogPrior(randomness.normal(-1, 1, num), randomness.uniform(0.1, 3, num))
    theta = randomness.normal([*[-1.0] * d, 0.0, -6.0][:num], 0.7)
    noise = Noise.same(len(X), noise_variance)
    return LogPosterior(X.numpy(), y.numpy(), SHAPES[kernel], prior, noise), theta


def of_gpytorch(posterior, theta):
    """Value and gradient of GPyTorch's likelihood and priors, at the mean that we have."""
    d = posterior.X.shape[1]
    h, n = torch.tensor(np.exp(theta)), len(posterior.y)
    given = None if posterior.noise.learned else posterior.noise.fixed[0]
    noise = h[d + 1] if given is None else tensor(given)
    units = Units(torch.zeros(d).double(), torch.ones(d).double(), tensor(0.0), tensor(1.0))
    kernel = StationaryKernel(h[d], (posterior.shape.name,) * d, h[:d])
    X, y = torch.tensor(posterior.X), torch.tensor(posterior.y)
    mean = tensor(posterior.mean(theta)[0])
    model = to_botorch(Surrogate(kernel, mean, X, y, noise.expand(n), noise, units))
    model.train()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    value = n * mll(model(X), model.train_targets)
    base = model.covar_module.base_kernel
    parts = list(getattr(base, "kernels", [base]))
    raw = [part.raw_lengthscale for part in parts] + [model.covar_module.raw_outputscale]
    raw += [model.likelihood.noise_covar.raw_noise] if given is None else []
    flat = torch.cat([each.reshape(-1) for each in raw])
    mode, spread = torch.tensor(posterior.prior.log_mode), torch.tensor(posterior.prior.spread)
    value = value + LogNormalPrior(mode + spread**2, spread).log_prob(flat.exp()).sum()
    gradient = torch.autograd.grad(value, raw)
    return value.item(), torch.cat([each.reshape(-1) for each in gradient]).numpy()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("noise_variance", [None, 1e-3])
@every_kernel
def test_value_and_gradient_are_those_of_gpytorch(kernel, noise_variance, seed):
    n, d = 5 + 4 * seed, 1 + seed % 4
    posterior, theta = problem(kernel, n, d, seed, noise_variance)
    value, gradient = posterior(theta)
    theirs, their_gradient = of_gpytorch(posterior, theta)
    assert value == pytest.approx(theirs, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(gradient, their_gradient, rtol=1e-8, atol=1e-9 * abs(value))


@every_kernel
def test_the_gradient_is_that_of_differences_at_every_point(kernel):
    posterior, theta = problem(kernel, 12, 3, 1)
    for seed in range(20):
        at = theta + np.random.default_rng(seed).normal(0, 0.5, len(theta))
        _, gradient = posterior(at)
        step = 1e-5
        for i, slope in enumerate(gradient):
            ahead, behind = at.copy(), at.copy()
            ahead[i] += step
            behind[i] -= step
            difference = (posterior(ahead)[0] - posterior(behind)[0]) / (2 * step)
            assert slope == pytest.approx(difference, rel=1e-5, abs=1e-6)


@every_kernel
def test_no_other_mean_has_a_higher_likelihood(kernel):
    posterior, theta = problem(kernel, 15, 2, 3)
    mean, value = posterior.mean(theta)[0], posterior(theta)[0]
    for other in (mean - 0.1, mean + 0.1):
        shifted = LogPosterior(
            posterior.X, posterior.y, posterior.shape, posterior.prior, posterior.noise
        )
        shifted.mean = lambda _, other=other: (other, 0.0)
        assert of_gpytorch(shifted, theta)[0] < value


def test_without_a_cholesky_factor_the_value_is_the_lowest():
    X, y = np.zeros((4, 1)), np.arange(4.0)
    prior = LogPrior(np.zeros(2), np.ones(2))
    value, gradient = LogPosterior(X, y, SHAPES["se"], prior, Noise.same(len(X), 0.0))(np.zeros(2))
    assert value == LOWEST
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-3, 1.0, 50.0, 1e4])
@every_kernel
def test_correlations_and_slopes_over_the_range(kernel, distance):
    def one(r):
        if kernel == "se":
            return mp.exp(-(r**2) / 2)
        nu = SHAPES[kernel].nu
        s = mp.sqrt(mp.mpf(2 * nu)) * r
        factor = {0.5: mp.mpf(1), 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}[nu]
        return factor * mp.exp(-s)

    def exact(log_lengthscale):
        first = one(mp.mpf(distance) / mp.exp(log_lengthscale))
        return first * one(mp.mpf(0.1) / mp.mpf(0.7))

    at = SHAPES[kernel].correlation(np.array([[distance], [0.1]]))
    kappa, slopes = at(np.array([0.3, 0.7]))
    with mp.workdps(40):
        log_lengthscale = mp.log(mp.mpf(0.3))
        slope = mp.diff(lambda t: mp.log(exact(t)), log_lengthscale)
        expected = float(exact(log_lengthscale)), float(slope)
    # exp(-s) has a relative error of s roundings
    assert kappa[0] == pytest.approx(expected[0], rel=1e-11, abs=1e-300)
    assert slopes(np.ones(1))[0] == pytest.approx(expected[1], rel=1e-10, abs=1e-15)


def test_the_prior_is_highest_at_its_mode():
    prior = LogPrior(np.array([math.log(0.2), 0.0]), np.array([0.7, 3.0]))
    value, gradient = prior(prior.log_mode)
    assert (gradient == 0).all()
    assert prior(prior.log_mode + 0.1)[0] < value
