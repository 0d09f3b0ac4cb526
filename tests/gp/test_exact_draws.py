"""Exact joint draws of f and g: against covariances computed otherwise, by every seed."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
import torch

import meseta
from gp_models import normal, random_model, tensor, uniform
from meseta.gp.exact_draws import draw_f, draw_g_and_f, factor, stratified
from meseta.gp.in_use import rehearsal, sampled_f
from meseta.gp.limited import LimitedOutcome, assessment, sure_of
from meseta.gp.mixture import Mixture
from meseta.gp.robust import RobustPosterior
from meseta.measures import CVaR, Mean, MeanStd, Quantile


def posterior_of(shape, d=1, noise=0.07, n=9, lengthscale=0.3):
    model = random_model(3, d, n, lengthscale, noise_variance=1e-2, shape=shape)
    return RobustPosterior.from_model(model, meseta.Normal(noise)).core


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_a_factor_leaves_no_more_than_it_may(rank):
    root = normal(40, rank, seed=rank)
    covariance = root @ root.T
    R, left = factor(covariance, 1e-6 * float(covariance.diagonal().amax()))
    assert R.shape[1] <= rank
    rest = covariance - R @ R.T
    torch.testing.assert_close(rest.diagonal(), left, atol=1e-10, rtol=0)
    assert float(left.amax()) <= 1e-6 * float(covariance.diagonal().amax()) + 1e-10
    assert float(torch.linalg.eigvalsh(rest).amin()) > -1e-9


def test_nothing_is_drawn_where_all_is_known():
    R, left = factor(torch.zeros(4, 4, dtype=torch.double), 1e-300)
    assert R.shape == (4, 0)
    assert not left.any()


def test_stratified_numbers_are_normal():
    """The variance of few is that of the law, up to a few per cent, whatever the seed."""
    for seed in range(20):
        few = stratified(64, generator(seed))
        assert abs(float(few.mean())) < 0.05
        assert float(few.var()) == pytest.approx(1.0, abs=0.2)
    assert len({float(stratified(64, generator(seed))[0]) for seed in range(9)}) == 9


@pytest.mark.parametrize("shape", ["se", "matern52", "matern32"])
def test_draws_have_the_covariance_of_the_posterior(shape):
    """g and f at seven places, two of which are the same; four standard errors of moments."""
    posterior, x = posterior_of(shape, d=2), uniform(1, 2, seed=1)[0]
    z = uniform(7, 2, seed=2)
    z[6] = z[0]
    num = 40_000
    g, f = draw_g_and_f(posterior, x, z, num, generator())
    both = torch.cat([g[:, None], f], -1)
    exact = torch.zeros(8, 8, dtype=torch.double)
    exact[0, 0] = posterior.moments(x[None]).v_g[0]
    exact[0, 1:] = exact[1:, 0] = posterior.covariance_gf(x[None], z)[0]
    exact[1:, 1:] = posterior.covariance_f(z, z)
    mean = torch.cat([posterior.mean_g(x[None]), posterior.mean_f(z)])
    variances = exact.diagonal()
    off = (both.mean(0) - mean).abs() / (variances / num).sqrt()
    assert float(off.amax()) < 4.5
    error = ((variances[:, None] * variances + exact.square()) / num).sqrt()
    allowed = 4.5 * error + 2e-3 * float(variances.amax())  # what a factor leaves is independent
    assert bool(((both.T.cov() - exact).abs() <= allowed).all())
    torch.testing.assert_close(
        draw_f(posterior, z, num, generator()).T.cov(), exact[1:, 1:], atol=0.03, rtol=0.05
    )


@pytest.mark.parametrize("shape", ["se", "matern52", "matern32"])
@pytest.mark.parametrize("measure", [CVaR(1.0), MeanStd(0.0)], ids=str)
def test_a_measure_that_is_the_mean_is_as_sure_as_the_mean(shape, measure):
    """By every seed: the spread is no matter of luck."""
    posterior, x = posterior_of(shape), torch.tensor([0.5], dtype=torch.double)
    moments = posterior.moments(x[None])
    for seed in range(6):
        made = rehearsal(Mixture.single(posterior), measure, generator(seed))
        found = made.at(x).measure(measure)
        assert found.mean == pytest.approx(float(moments.m_g), abs=0.01 * float(moments.v_g.sqrt()))
        assert found.std == pytest.approx(float(moments.v_g.sqrt()), rel=0.03)


@cache
def many_draws(shape, at, num):
    """Of f at 400 places around a design, each of which counts as much."""
    z = (at + 0.07 * torch.special.ndtri((torch.arange(400).double() + 0.5) / 400))[:, None]
    return draw_f(posterior_of(shape), z, num, generator(99)), torch.full((400,), 1 / 400).double()


@pytest.mark.parametrize("shape", ["se", "matern52", "matern32"])
@pytest.mark.parametrize(
    "measure", [Quantile(0.1), Quantile(0.5), CVaR(0.1), MeanStd(1.0)], ids=str
)
def test_measures_of_draws_are_those_of_many(shape, measure):
    """Mean and spread by 8,000 draws of f at 400 other places, for several seeds."""
    posterior, x = posterior_of(shape), torch.tensor([0.4], dtype=torch.double)
    rho = measure.exactly(*many_draws(shape, 0.4, 8_000))
    spread = float(rho.std())
    for seed in range(3):
        found = rehearsal(Mixture.single(posterior), measure, generator(seed)).at(x)
        taken = found.measure(measure)
        assert taken.mean == pytest.approx(float(rho.mean()), abs=0.25 * spread)
        # four standard errors of the deviation of 512 draws
        assert taken.std == pytest.approx(spread, rel=4 / math.sqrt(2 * 512))


def test_how_sure_a_limit_is_kept_is_what_100_000_draws_say():
    posterior, x = posterior_of("matern52"), torch.tensor([0.45], dtype=torch.double)
    worst = Quantile(0.1).exactly(*many_draws("matern52", 0.45, 100_000))
    for limit, seed in itertools.product(worst[:1000].quantile(tensor([0.05, 0.2, 0.5])), range(3)):
        margin = meseta.AtLeast(float(limit), 0.9).margin()
        exact = float((worst >= limit).double().mean())
        found = assessment(LimitedOutcome(Mixture.single(posterior), margin), generator(seed)).at(x)
        error = math.sqrt(max(exact * (1 - exact), 1 / 512) / 512)
        assert sure_of([found]) == pytest.approx(exact, abs=4 * error)
        assert found.sure == sure_of([found])
        assert sure_of([found, found]) == found.sure  # the same outcome twice: no product


def test_samples_of_a_mixture_are_shared_by_weight():
    parts = (posterior_of("se"), posterior_of("matern32", lengthscale=0.2))
    made, z = Mixture(parts, (0.7, 0.3)), uniform(3, 1, seed=4)
    drawn = sampled_f(made, z, 30_000, generator())
    torch.testing.assert_close(drawn.mean(0), made.mean_f(z), atol=0.03, rtol=0)
    torch.testing.assert_close(drawn.T.cov(), made.covariance_f(z), atol=0.05, rtol=0.05)


def told(seed=0, noise=0.0, **settings):
    rng = np.random.default_rng(seed)
    optimizer = meseta.Optimizer({"x": (0.0, 1.0)}, noise=meseta.Normal(0.07), **settings)
    for x in rng.random(12):
        value = math.sin(6 * x) + 0.3 * math.sin(17 * x) + noise * rng.standard_normal()
        optimizer.tell({"x": float(x)}, value)
    return optimizer


def test_what_is_promised_leaves_the_hyperparameters_open():
    """It is less sure than with those that fit best, and the same for the same data."""
    optimizer = told(noise=0.1, measure=Mean())
    known = optimizer.fitted.mixture
    assert len(known.promised.parts) > 12
    assert sum(known.promised.weights) == pytest.approx(1.0)
    x = optimizer.space.to_cube({"x": 0.5})[None]
    promise = optimizer.promise({"x": 0.5})
    moments, at_modes = known.promised.moments(x), known.moments(x)
    scale = abs(optimizer.user_units[1])
    assert promise.std == pytest.approx(float(moments.v_g.sqrt()) * scale, rel=0.02)
    assert float(moments.v_g) > float(at_modes.v_g)
    again = told(noise=0.1, measure=Mean()).promise({"x": 0.5})
    assert (again.mean, again.std, again.interval) == (promise.mean, promise.std, promise.interval)
    quick = optimizer.recommend(quick=True)
    assert quick.std < optimizer.recommend().std
