"""The knowledge gradient of other measures than the mean: its pieces against brute force."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from examples import examples, thorough
from gp_models import random_model, tensor, uniform, unit_box
from gradients import slope_errors
from meseta import CVaR, MeanStd, Normal, OnTarget, Quantile, StudentT, Uniform, WorstCase, Yield
from meseta.acquisition import methods
from meseta.acquisition.knowledge_gradient import KGOptions, prepare_knowledge_gradient
from meseta.gp.measured import measured
from meseta.integrations.botorch import RobustPosterior
from meseta.measures import Mean

MEASURES = [
    Quantile(0.05),
    CVaR(0.1),
    MeanStd(2),
    WorstCase(0.9),
    OnTarget(0.3),
    Yield(-0.2, 0.8),
    Yield(low=0.5),
]


NORMAL = Normal(0.08)


def posterior(seed, d=2, law=NORMAL, num=8):
    return RobustPosterior.from_model(random_model(seed, d, num), law).core


def prepared(core, measure, **options):
    generator = torch.Generator().manual_seed(0)
    return prepare_knowledge_gradient(
        core, unit_box(core.X.shape[1]), generator, KGOptions(**options), measure
    )


@pytest.mark.parametrize("measure", [Mean(), MeanStd(0.0), CVaR(1.0)], ids=repr)
@pytest.mark.parametrize("law", [Normal(0.08), Uniform(0.2), StudentT(4, 0.05)], ids=repr)
def test_the_mean_as_another_measure_is_the_robust_knowledge_gradient(measure, law):
    core = posterior(3, law=law)
    found = prepared(core, measure)
    plain = replace(
        found,
        tilted=None,
        mean=core.mean_g(found.A),
        c=core.whiten(core.k_gf_data(found.A)),
    )
    x = uniform(20, 2, seed=5)
    assert_close(found.mean, plain.mean, rtol=0, atol=1e-9)
    assert_close(found.slopes(x), plain.slopes(x), rtol=0, atol=1e-9)
    assert_close(found.value(x), plain.value(x), rtol=1e-6, atol=1e-6)


@given(
    measure=st.sampled_from(MEASURES),
    law=st.sampled_from([Normal(0.08), Uniform(0.2), StudentT(4, 0.05)]),
    seed=st.integers(0, 1000),
)
@examples(8)
def test_a_tilt_is_how_the_measure_moves_with_f(measure, law, seed):
    core = posterior(seed, law=law)
    of = measured(core, measure, 16, 200, 64, torch.Generator().manual_seed(seed))
    x = uniform(3, 2, seed=seed + 5)
    z, w = of.tilt(x)
    if measure.around_mean:
        assert_close(w.sum(-1), torch.zeros(3).double(), rtol=0, atol=1e-9)
        w = w + of.draws(x).weights

    def bump(z):
        return torch.sin(3 * z[..., 0] + z[..., 1])

    def rho(step):
        places = of.draws(x)
        values = of.paths.f(places.z.flatten(0, 1)).view(16, 3, -1) + step * bump(places.z)
        return of.measure.of(values, places.weights).mean(0)

    change = (rho(1e-6) - rho(-1e-6)) / 2e-6
    # the width of a yield's step counts as fixed
    room = 0.1 if isinstance(measure, Yield) else 1e-3
    assert_close((w * bump(z)).sum(-1), change, rtol=room, atol=room)


@given(measure=st.sampled_from(MEASURES), seed=st.integers(0, 1000), d=st.integers(1, 3))
@examples(6)
def test_slopes_are_posterior_covariances_of_the_tilted_f(measure, seed, d):
    core = posterior(seed, d)
    found = prepared(core, measure, num_paths=4, num_features=60, num_sobol=2, num_draws=16)
    x = uniform(5, d, seed=seed + 3)
    z, w = found.tilted.z, found.tilted.w
    for i in range(0, len(found.A), 3):
        covariance = w[i] @ core.covariance_f(z[i], x)
        if measure.around_mean:
            moments = core.kernel.k_gf(found.A[i : i + 1], x)[0]
            a = core.whiten(core.kernel.k_f(x, core.X))
            covariance = covariance + moments - a @ core.whiten(core.k_gf_data(found.A[[i]]))[0]
        v = core.moments(x).v_f + core.observation_variance(x)
        assert_close(found.slopes(x)[:, i], covariance / v.sqrt(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_gradients_of_the_acquisition_function(measure):
    core = posterior(1)
    found = prepared(core, measure)
    x = uniform(5, 1, 2, seed=2).requires_grad_()

    def value(x):
        return found.value(x[:, 0])

    (gradient,) = torch.autograd.grad(value(x).sum(), x)
    for direction in torch.eye(2).double():
        assert slope_errors(value, x, gradient, direction.expand(5, 1, 2), 1.0).max() < 1e-3


@thorough
def test_the_gain_is_that_of_brute_force_over_what_may_be_observed():
    """One design after the next observation: the expected rise of the best mean of CVaR."""
    core = posterior(4, d=1, num=5, law=Normal(0.05))
    measure = CVaR(0.2)
    found = prepared(core, measure, num_draws=128, num_sobol=64)
    grid = torch.linspace(0, 1, 101, dtype=torch.double)[:, None]
    nodes = torch.linspace(-3.5, 3.5, 29, dtype=torch.double)
    weight = (-0.5 * nodes**2).exp()
    weight = weight / weight.sum()

    def best(of_core):
        of = measured(of_core, measure, 64, 300, 128, torch.Generator().manual_seed(9))
        return float(of.mean(grid).max())

    for x in tensor([[0.15], [0.5], [0.83]]):
        moments = core.moments(x[None])
        spread = (moments.v_f + core.observation_variance(x[None])).sqrt()
        rises = [
            best(core.with_observations(x[None], moments.m_f + spread * node)) for node in nodes
        ]
        exact = float((weight * tensor(rises)).sum()) - best(core)
        gain = found.value(x[None]).exp().item()
        assert 0.5 * exact - 0.02 < gain < 1.6 * exact + 0.02


@pytest.mark.parametrize("name", methods.names())
def test_a_method_that_serves_the_mean_only_says_so(name):
    if methods.get(name).measures:
        methods.check_measure(name, CVaR(0.1))
    else:
        with pytest.raises(ValueError, match=f"method '{name}' looks for the best mean.*'rkg'"):
            methods.check_measure(name, CVaR(0.1))
    methods.check_measure(name, Mean())
