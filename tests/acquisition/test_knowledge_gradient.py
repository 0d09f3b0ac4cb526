"""The robust knowledge gradient against quadrature over what may be observed."""

import pytest
import torch
from botorch.optim import optimize_acqf

from examples import some
from gp_models import normal, random_model, tensor, uniform, unit_box
from gradients import slope_errors
from meseta import Normal, Uniform
from meseta.acquisition.knowledge_gradient import KGOptions
from meseta.integrations.botorch import RobustKnowledgeGradient, RobustPosterior, fit_surrogate

GRID = torch.linspace(0, 1, 1001, dtype=torch.double)[:, None]


def by_quadrature(gp, law, x, num=400):
    """E_y max_x' E[g(x') | D, y at x] - max E[g | D], max over a dense grid, trapezoids over y."""
    robust = RobustPosterior.from_model(gp, law)
    now = robust.joint(GRID).m_g.max()
    moments = robust.joint(x[None])
    deviation = (moments.v_f + robust.noise_variance).sqrt()
    z = torch.linspace(-8, 8, num, dtype=torch.double)
    weight = (-0.5 * z**2).exp()
    best = torch.stack(
        [
            robust.with_observations(x[None], moments.m_f + deviation * value).joint(GRID).m_g.max()
            for value in z
        ]
    )
    return float(((best - now) * weight).sum() / weight.sum())


@pytest.mark.parametrize("law", [Normal(0.05), Uniform(0.1)], ids=repr)
@pytest.mark.parametrize("seed", some([0, 1, 2], 3))
def test_gain_is_the_expected_rise_of_the_best_mean(law, seed):
    gp = random_model(seed, 1, 5, lengthscale=0.2)
    acq = RobustKnowledgeGradient(gp, law, unit_box(1), KGOptions(num_sobol=256))
    for x in uniform(3, 1, seed=seed + 7):
        exact = by_quadrature(gp, law, x)
        gain = acq(x[None, None]).exp().item()
        # the maxima of a hundred paths are not all designs that may win
        assert exact * 0.93 - 1e-6 <= gain <= exact * 1.0001 + 1e-6


def test_the_gain_of_observing_a_known_point_is_small_and_sound():
    gp = random_model(3, 1, 40, lengthscale=0.3, noise_variance=1e-9)
    acq = RobustKnowledgeGradient(gp, Normal(0.05), unit_box(1))
    x = torch.linspace(0, 1, 50, dtype=torch.double)[:, None, None].requires_grad_()
    value = acq(x)
    assert (value < -15).all()
    (gradient,) = torch.autograd.grad(value.sum(), x)
    assert gradient.isfinite().all()
    inside = (x.detach().flatten() > 0.01) & (x.detach().flatten() < 0.99)
    error = slope_errors(acq, x, gradient, torch.ones_like(x), 1.0)
    assert error[inside].max() < 1e-3


def test_the_cloud_of_designs_follows_the_incumbent():
    """As data crowd around the top, so do the designs that may win."""
    spreads = []
    for n in (4, 16):
        X = torch.linspace(0.05, 0.95, n, dtype=torch.double)[:, None]
        gp = random_model(0, 1, n, lengthscale=0.3, noise_variance=1e-6)
        gp.set_train_data(X, -((X[:, 0] - 0.4) ** 2), strict=False)
        acq = RobustKnowledgeGradient(gp, Normal(0.05), unit_box(1))
        assert acq.info.incumbent.x.item() == pytest.approx(0.4, abs=0.2)
        spreads.append(float((acq.info.maxima.x - acq.info.incumbent.x).abs().median()))
    assert spreads[1] < 0.2 * spreads[0]


def test_it_drops_into_optimize_acqf():
    gp = random_model(0, 2, 8)
    acq = RobustKnowledgeGradient(gp, Normal(0.1), unit_box(2), X_pending=tensor([[0.5, 0.5]]))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x, value = optimize_acqf(acq, unit_box(2), q=1, num_restarts=4, raw_samples=64)
    assert ((x >= 0) & (x <= 1)).all()
    assert value.isfinite()


def test_values_are_in_the_units_of_the_model_and_info_is_raw():
    X, y = uniform(6, 1, seed=0), 1e4 + 100 * normal(6, seed=1)
    bounds = unit_box(1)
    model, _ = fit_surrogate(X, y, bounds)
    info = RobustKnowledgeGradient(model, Normal(0.05), bounds).info
    assert 9_500 < info.incumbent.value.item() < 10_500
