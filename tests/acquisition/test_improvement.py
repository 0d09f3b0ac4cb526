"""EI, UCB, MES and unscented EI against closed forms, quadrature and BoTorch on f."""

import math

import mpmath as mp
import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from torch.distributions import Normal as Gaussian

from gp_models import random_model, tensor, uniform, unit_box
from meseta import Normal, Uniform
from meseta.acquisition.improvement import (
    EIOptions,
    UCBOptions,
    log_improvement,
    prepare_ei,
    prepare_ei_of_f,
    prepare_ucb,
)
from meseta.acquisition.mes import prepare_mes
from meseta.acquisition.nes import NESOptions
from meseta.acquisition.unscented import UnscentedOptions, prepare_unscented_ei, unscented_mean
from meseta.integrations.botorch import RobustPosterior

LAW = Normal(0.1)
STANDARD = Gaussian(tensor(0.0), tensor(1.0))


def core_of(d=2, n=8, law=LAW, seed=0):
    return RobustPosterior.from_model(random_model(seed, d, n), law).core


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def expected_improvement(mean, variance, best):
    sd = variance.sqrt()
    u = (mean - best) / sd
    return sd * (STANDARD.log_prob(u).exp() + u * STANDARD.cdf(u))


def test_ei_of_g_is_the_closed_form_over_the_best_mean_of_g():
    core, x = core_of(), uniform(10, 2, seed=5)
    ei = prepare_ei(core, unit_box(2), generator(), EIOptions())
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 101, dtype=torch.double)] * 2)
    assert ei.info.incumbent.value >= core.mean_g(grid).max()
    moments = core.moments(x)
    expected = expected_improvement(moments.m_g, moments.v_g, ei.info.incumbent.value)
    torch.testing.assert_close(ei.value(x).exp(), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "u", [-1e8, -1e4, -300.0, -39.0, -12.001, -11.999, -1.0, -1e-9, 0.0, 2.0, 37.0, 49.9, 51.0, 1e9]
)
def test_the_logarithm_of_an_improvement_is_exact_however_small_it_is(u):
    with mp.workdps(60):
        t, root = mp.mpf(u), mp.sqrt(2)
        exact = mp.log(mp.npdf(t) + t * mp.erfc(-t / root) / 2)
        slope = mp.erfc(-t / root) / 2 / (mp.npdf(t) + t * mp.erfc(-t / root) / 2)
    at = tensor(u).requires_grad_()
    value = log_improvement(at)
    assert float(value.detach()) == pytest.approx(float(exact), rel=1e-12, abs=1e-13)
    (gradient,) = torch.autograd.grad(value, at)
    assert float(gradient) == pytest.approx(float(slope), rel=1e-8)


def test_ei_of_f_is_what_botorch_makes_of_the_model():
    gp = random_model(0, 2, 8)
    core, x = RobustPosterior.from_model(gp, LAW).core, uniform(10, 2, seed=5)
    ei = prepare_ei_of_f(core, unit_box(2), generator(), EIOptions())
    plain = LogExpectedImprovement(gp, best_f=ei.info.incumbent.value)
    torch.testing.assert_close(ei.value(x), plain(x[:, None]).detach(), rtol=1e-6, atol=1e-6)


def test_ucb_is_mean_plus_deviations():
    core, x = core_of(), uniform(10, 2, seed=5)
    moments = core.moments(x)
    for deviations in (2.0, 0.5):
        ucb = prepare_ucb(core, unit_box(2), generator(), UCBOptions(deviations))
        expected = moments.m_g + deviations * moments.v_g.sqrt()
        torch.testing.assert_close(ucb.value(x), expected, rtol=1e-8, atol=1e-8)


def test_mes_is_the_entropy_that_truncation_removes():
    core, x = core_of(d=1, n=4), uniform(6, 1, seed=5)
    mes = prepare_mes(core, unit_box(1), generator(), NESOptions(num_max_values=2))
    moments = core.moments(x)
    for value, m, v in zip(mes.value(x), moments.m_g, moments.v_g, strict=True):
        lost = 0.0
        for g_star in mes.g_star:
            sd = v.sqrt()
            y = torch.linspace(float(m - 10 * sd), float(g_star), 20_001, dtype=torch.double)
            density = Gaussian(m, sd).log_prob(y).exp() / Gaussian(m, sd).cdf(g_star)
            entropy = torch.trapezoid(torch.special.entr(density), y)
            lost += (0.5 * (2 * math.pi * math.e * v).log() - entropy) / 2
        assert value.item() == pytest.approx(float(lost), abs=1e-6)


@pytest.mark.parametrize("law", [Normal([0.1, 0.05]), Uniform(0.1)], ids=repr)
@pytest.mark.parametrize("kappa", [0.0, 1.0, 2.0])
def test_unscented_ei_is_the_weighted_sum_over_sigma_points(law, kappa):
    core, x = core_of(law=law), uniform(5, 2, seed=5)
    unscented = prepare_unscented_ei(core, unit_box(2), generator(), UnscentedOptions(kappa))
    points, weights = core.kernel.law.sigma_points(kappa)
    moments = [core.moments(x + point) for point in points]
    expected = sum(
        weight * expected_improvement(m.m_f, m.v_f, unscented.info.incumbent.value)
        for weight, m in zip(weights, moments, strict=True)
    )
    torch.testing.assert_close(unscented.value(x).exp(), expected, rtol=1e-5, atol=1e-12)
    believed = sum(weight * m.m_f for weight, m in zip(weights, moments, strict=True))
    torch.testing.assert_close(unscented_mean(core, kappa)(x), believed)


def test_a_negative_kappa_is_refused():
    with pytest.raises(ValueError, match="kappa must be 0 or greater, got -1"):
        UnscentedOptions(-1.0)


@pytest.mark.parametrize("prepare", [prepare_ei, prepare_ei_of_f])
def test_a_small_variance_at_the_data_is_neither_raised_nor_called_negative(prepare):
    """GPyTorch raises variances below 1e-10, with a warning, which would be an error here."""
    gp = random_model(0, 2, 8, noise_variance=torch.full((8,), 1e-11, dtype=torch.double))
    core = RobustPosterior.from_model(gp, Normal(1e-9)).core
    ei = prepare(core, unit_box(2), generator(), EIOptions())
    assert core.moments(core.X).v_g.max() < 1e-10
    assert ei.value(core.X).isfinite().all()
