"""The acquisition function in hostile states: finite, with finite gradients."""

import pytest
import torch

from examples import some
from gp_models import kernel, model, tensor, uniform, unit_box
from hostile_states import STATES, data
from meseta import Normal, Uniform
from meseta.integrations.botorch import NoisyInputEntropySearch

LAWS = [Normal(0.1), Uniform(0.1), Normal(1e-9), Normal(1e3), Uniform(1e-9), Uniform(1e3)]


@pytest.mark.parametrize("law", some(LAWS, 2), ids=repr)
@pytest.mark.parametrize("noise_variance", some([1e-12, 1e-6, 1.0], 2))
@pytest.mark.parametrize("shape", some(["se", "matern12", "matern52"], 2))
@pytest.mark.parametrize("state", ["duplicates", "nearly duplicate points", "one point"])
def test_acquisition_is_finite_for_every_noise(law, noise_variance, shape, state):
    X, y = STATES[state]()
    fixed = torch.full_like(y, noise_variance)
    gp = model(X, y, kernel(shape, [0.3] * X.shape[1], 1.0), fixed)
    acq = NoisyInputEntropySearch(gp, law, unit_box(X.shape[1]), num_max_values=2)
    assert finite_with_gradient(acq, torch.cat([uniform(5, X.shape[1], seed=9), X]))


@pytest.mark.parametrize("g_star", [-1e9, -50.0, 0.0, 1e9])
@pytest.mark.parametrize("noise_variance", [1e-12, 1e-3])
def test_any_given_maximum_even_below_every_mean(g_star, noise_variance):
    X, y = data(12)
    gp = model(X, y, kernel("se", [0.3, 0.3], 1.0), torch.full_like(y, noise_variance))
    values = tensor([g_star])
    acq = NoisyInputEntropySearch(gp, Normal(0.1), unit_box(2), max_values=values)
    assert finite_with_gradient(acq, torch.cat([uniform(5, 2, seed=9), X]))
    given = acq.conditioned(X)
    assert torch.stack([given.m_f, given.v_f, given.m_g, given.v_g]).isfinite().all()


def test_many_crowded_points_on_a_line():
    X = torch.linspace(0, 1, 150, dtype=torch.double)[:, None]
    y = torch.sin(9 * X[:, 0])
    gp = model(X, y, kernel("se", [0.3], 1.0), torch.full_like(y, 1e-10))
    acq = NoisyInputEntropySearch(gp, Normal(0.05), unit_box(1))
    assert finite_with_gradient(acq, uniform(20, 1, seed=9))


def test_a_repair_of_the_covariance_is_recorded():
    X, y = STATES["duplicates"]()
    gp = model(X, y, kernel("se", [3.0, 3.0], 1.0), torch.full_like(y, 1e-20))
    acq = NoisyInputEntropySearch(gp, Normal(0.1), unit_box(2))
    assert acq.info.jitter > 0
    assert finite_with_gradient(acq, uniform(5, 2, seed=9))


def finite_with_gradient(acq, x):
    x = x.clone().requires_grad_()
    alpha = acq(x[:, None])
    (gradient,) = torch.autograd.grad(alpha.sum(), x)
    return bool(alpha.isfinite().all() and (alpha >= 0).all() and gradient.isfinite().all())
