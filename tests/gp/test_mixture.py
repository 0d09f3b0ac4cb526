"""Mixtures of posteriors: weights against quadrature, moments against samples."""

import math

import numpy as np
import pytest
import torch

from gp_models import normal, random_model, tensor, uniform, unit_box
from meseta import Normal
from meseta.gp import fit
from meseta.gp.fit import fit_surrogates
from meseta.gp.log_posterior import LogPosterior, Noise
from meseta.gp.mixture import Mixture
from meseta.gp.robust import RobustPosterior
from meseta.kernels.shapes import SHAPES


def mixture():
    parts = [
        RobustPosterior.from_model(
            random_model(3, 2, 9, lengthscale, noise_variance=1e-2, shape=shape), Normal(0.1)
        ).core
        for shape, lengthscale in (("se", 0.4), ("matern52", 0.3), ("matern32", 0.7))
    ]
    return Mixture(tuple(parts), (0.5, 0.3, 0.2))


def test_moments_are_those_of_samples():
    """Of f and g at two points, drawn from a part that is drawn by its weight."""
    made, x = mixture(), uniform(2, 2, seed=5)
    draws = []
    for part, num in zip(made.parts, made.shares(400_000), strict=True):
        moments = part.moments(x)
        pair = torch.stack([moments.m_f, moments.m_g], -1)
        rows = torch.stack(
            [
                torch.stack([moments.v_f, moments.c_fg], -1),
                torch.stack([moments.c_fg, moments.v_g], -1),
            ],
            -2,
        )
        noise = normal(num, 2, 2, seed=num)
        draws.append(pair + (torch.linalg.cholesky(rows) @ noise[..., None])[..., 0])
    samples, moments = torch.cat(draws), made.moments(x)
    close = {"rtol": 0.01, "atol": 0.006}
    torch.testing.assert_close(moments.m_f, samples[..., 0].mean(0), **close)
    torch.testing.assert_close(moments.m_g, samples[..., 1].mean(0), **close)
    torch.testing.assert_close(moments.v_f, samples[..., 0].var(0), **close)
    torch.testing.assert_close(moments.v_g, samples[..., 1].var(0), **close)
    for i in range(2):
        covariance = torch.cov(samples[:, i].T)[0, 1]
        torch.testing.assert_close(moments.c_fg[i], covariance, **close)


def test_covariances_have_the_variances_of_the_moments():
    made, x = mixture(), uniform(5, 2, seed=6)
    moments = made.moments(x)
    torch.testing.assert_close(made.covariance_g(x).diagonal(), moments.v_g)
    torch.testing.assert_close(made.covariance_f(x).diagonal(), moments.v_f)
    torch.testing.assert_close(made.mean(lambda part: part.mean_g)(x), made.mean_g(x))


def test_a_mixture_of_one_is_that_one():
    part = mixture().parts[1]
    x = uniform(4, 2, seed=7)
    for ours, theirs in zip(Mixture.single(part).moments(x), part.moments(x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_shares_of_samples_add_up():
    for num in (1, 2, 10, 333):
        shares = mixture().shares(num)
        assert sum(shares) == num
        assert min(shares) >= 0


def test_the_evidence_is_that_of_quadrature():
    """With a given noise variance two hyper-parameters are left, over which a grid sums."""
    X = uniform(14, 1, seed=1)
    y = torch.sin(6 * X[:, 0]) + 0.2 * normal(14, seed=2)
    y = (y - y.mean()) / y.std()
    prior = fit._log_prior(1, unit_box(1), None, "default", False)
    for kernel in fit.AUTO:
        posterior = LogPosterior(
            X.numpy(), y.numpy(), SHAPES[kernel], prior, Noise.same(len(X), 0.05)
        )
        hill = fit._highest(posterior)
        grid = np.linspace(-4, 4, 81)
        values = np.array(
            [[posterior(hill.theta + np.array([a, b]))[0] for a in grid] for b in grid]
        )
        top = values.max()
        exact = top + math.log(np.exp(values - top).sum() * (grid[1] - grid[0]) ** 2)
        volume = fit._curvature(posterior, hill).volume
        assert hill.value + volume == pytest.approx(exact, abs=0.35)


def test_the_data_choose_the_kernel():
    X = torch.linspace(0, 1, 40, dtype=torch.double)[:, None]
    smooth = fit_surrogates(X, torch.sin(7 * X[:, 0]), unit_box(1))
    assert smooth.info.weights["se"] > 0.99
    cliff = (X[:, 0] > 0.52) + 0.1 * X[:, 0]
    rough = fit_surrogates(X, cliff, unit_box(1))
    assert next(iter(rough.info.weights)) == "matern32"
    assert sum(rough.weights) == pytest.approx(1)
    assert list(rough.weights) == sorted(rough.weights, reverse=True)
    few = fit_surrogates(X[::13], cliff[::13], unit_box(1))
    assert len(few.surrogates) == 3


def test_where_the_parts_disagree_the_interval_is_wider():
    X = tensor([[0.0], [0.2], [0.45], [0.7], [1.0]])
    y = tensor([0.0, 0.8, 0.1, 0.9, 0.2])
    made = fit_surrogates(X, y, unit_box(1))
    assert len(made.surrogates) > 1
    posteriors = [RobustPosterior.from_model(each, Normal(0.05)).core for each in made.surrogates]
    x = torch.linspace(0, 1, 30, dtype=torch.double)[:, None]
    whole = Mixture(tuple(posteriors), made.weights).moments(x)
    least = torch.stack([each.moments(x).v_g for each in posteriors]).amin(0)
    assert (whole.v_g >= least).all()


def test_noise_that_moves_parameters_together_has_the_squared_exponential_alone():
    X, y = uniform(9, 2, seed=1), normal(9, seed=2)
    law = Normal(covariance=[[0.01, 0.005], [0.005, 0.01]])
    assert list(fit_surrogates(X, y, unit_box(2), law).info.weights) == ["se"]
    asked = fit_surrogates(X, y, unit_box(2), law, kernel="matern32")
    assert list(asked.info.weights) == ["matern32"]


@pytest.mark.parametrize("seed", range(6))
def test_kernels_beside_another_are_fitted_as_well_as_alone(seed):
    X = uniform(25, 3, seed=seed)
    y = torch.sin(6 * X[:, 0]) + (X[:, 1] - 0.4).abs() + 0.05 * normal(25, seed=seed + 1)
    together = fit_surrogates(X, y, unit_box(3))
    for surrogate in together.surrogates:
        name = surrogate.kernel.shapes[0]
        alone = fit_surrogates(X, y, unit_box(3), kernel=name).surrogates[0]
        close = {"rtol": 0.02, "atol": 0.0}
        torch.testing.assert_close(surrogate.kernel.lengthscale, alone.kernel.lengthscale, **close)
