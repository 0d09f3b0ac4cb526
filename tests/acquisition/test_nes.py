"""NES-EP: agreement with independent implementations, and what must hold for every model."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from hypothesis import given
from hypothesis import strategies as st

from gp_models import (
    SHAPES,
    kernel,
    log_uniform,
    model,
    normal,
    random_model,
    small_model,
    tensor,
    uniform,
    unit_box,
)
from meseta import Normal, Uniform, nes_plain
from meseta.integrations.botorch import NoisyInputEntropySearch, fit_surrogate, to_botorch

CASES = json.loads((Path(__file__).parents[1] / "data" / "nes_ep_cases.json").read_text())["cases"]


def case_model(case):
    d = case["d"]
    X = tensor(case["X"]).reshape(-1, d)
    covar = kernel("se", case["lengthscale"], case["signal_variance"])
    noise = torch.full((len(X),), case["observation_noise_variance"], dtype=torch.double)
    return model(X, tensor(case["y"]), covar, noise)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"n={case['n']},d={case['d']}")
def test_agrees_with_stored_values_of_an_independent_implementation(case):
    law = Normal(case["input_noise_std"])
    q = tensor(case["query_points"]).reshape(-1, case["d"])
    acq = NoisyInputEntropySearch(
        case_model(case), law, unit_box(case["d"]), max_values=tensor([case["g_star"]])
    )
    torch.testing.assert_close(acq(q[:, None]), tensor(case["alpha"]), rtol=0, atol=1e-9)
    moments = acq.robust.joint(q)
    torch.testing.assert_close(moments.m_g, tensor(case["mean_g"]), rtol=0, atol=1e-11)
    torch.testing.assert_close(moments.v_g, tensor(case["variance_g"]), rtol=0, atol=1e-12)


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 3),
    width=log_uniform(-2, -0.3),
    quantile=st.floats(-3.0, 4.0),
)
def test_agrees_with_the_readable_twin(seed, d, width, quantile):
    # spread-out data: the paper's 2n x 2n matrix loses digits where points crowd
    grid = (torch.arange(4, dtype=torch.double)[:, None] + 0.5 * uniform(4, d, seed=seed)) / 4
    y, lengthscale = normal(4, seed=seed + 1), tensor([0.25] * d)
    gp = model(grid, y, kernel("se", lengthscale, 1.5), 1e-3)
    plain = nes_plain.RobustGP(
        grid.numpy(), y.numpy(), lengthscale.numpy(), 1.5, 1e-3, tensor([width] * d).numpy()
    )
    x = uniform(6, d, seed=seed + 2)
    mean, covariance = nes_plain.posterior_g(plain, torch.cat([grid, x]).numpy())
    sd = covariance.diagonal() ** 0.5
    g_star = float(mean.max() + quantile * (sd[mean.argmax()] if quantile > 0 else sd.min()))
    acq = NoisyInputEntropySearch(gp, Normal(width), unit_box(d), max_values=tensor([g_star]))
    ours, given_max = acq.conditioned(x), nes_plain.condition_on_max(plain, x.numpy(), g_star)
    tolerance = {"rtol": 0, "atol": 1e-7}
    torch.testing.assert_close(ours.m_g[0], tensor(given_max.m_hat), **tolerance)
    torch.testing.assert_close(ours.v_g[0], tensor(given_max.v_hat), **tolerance)
    torch.testing.assert_close(ours.m_f[0], tensor(given_max.m_tilde), **tolerance)
    torch.testing.assert_close(ours.v_f[0], tensor(given_max.v_tilde), **tolerance)
    alpha = nes_plain.alpha_nes_ep(plain, x.numpy(), tensor([g_star]).numpy())
    torch.testing.assert_close(acq(x[:, None]), tensor(alpha), **tolerance)


def test_sampled_maxima_have_the_law_of_the_twin_s():
    case = CASES[0]
    X, y = tensor(case["X"]).reshape(-1, 1), tensor(case["y"])
    law = Normal(case["input_noise_std"])
    plain = nes_plain.RobustGP(
        X.numpy(),
        y.numpy(),
        tensor(case["lengthscale"]).numpy(),
        case["signal_variance"],
        case["observation_noise_variance"],
        tensor(case["input_noise_std"]).numpy(),
    )
    expected = nes_plain.sample_g_star(plain, np.array([[0.0], [1.0]]), np.random.default_rng(0), 3)
    for sampler in ("pathwise", "sparse-spectrum"):
        acq = NoisyInputEntropySearch(
            case_model(case), law, unit_box(1), num_max_values=3, num_paths=400, sampler=sampler
        )
        spread = float(acq.info.maxima.value.std())
        # quantiles of 100 and of 400 draws: a standard error of about 0.14 spreads
        assert (acq.info.max_values - tensor(expected)).abs().max() < 0.6 * spread


problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "d": st.integers(1, 3),
        "n": st.integers(1, 8),
        "lengthscale": log_uniform(-1.3, 0.3),
        "noise_variance": log_uniform(-6, 0),
        "shape": st.sampled_from(SHAPES),
    }
)
laws = st.sampled_from([Normal, Uniform])
widths = log_uniform(-4, 1)
g_stars = st.lists(st.floats(-3, 6), min_size=1, max_size=3)


@given(problem=problems, law=laws, width=log_uniform(-6, 3), g_star=g_stars)
def test_alpha_is_finite_and_not_negative_everywhere(problem, law, width, g_star):
    gp, d = random_model(**problem), problem["d"]
    acq = NoisyInputEntropySearch(gp, law(width), unit_box(d), max_values=tensor(g_star))
    x = torch.cat([uniform(6, d, seed=problem["seed"] + 3), gp.train_inputs[0]])
    x = x.requires_grad_()
    alpha = acq(x[:, None])
    assert alpha.isfinite().all()
    assert alpha.min() >= -1e-9
    assert torch.autograd.grad(alpha.sum(), x)[0].isfinite().all()


@given(problem=problems, law=laws, width=widths)
def test_alpha_vanishes_as_the_maximum_grows(problem, law, width):
    gp, d = random_model(**problem), problem["d"]
    x = uniform(5, d, seed=problem["seed"] + 3)[:, None]
    near, far = (
        NoisyInputEntropySearch(gp, law(width), unit_box(d), max_values=tensor([value]))(x)
        for value in (8.0, 1e3)
    )
    assert (far <= near + 1e-15).all()
    assert far.max() < 1e-15


@given(
    problem=problems.map(lambda p: {**p, "noise_variance": max(p["noise_variance"], 1e-3)}),
    law=laws,
    width=log_uniform(-2, 0),
    g_star=g_stars,
)
def test_gradients_equal_finite_differences(problem, law, width, g_star):
    gp, d = random_model(**problem), problem["d"]
    acq = NoisyInputEntropySearch(gp, law(width), unit_box(d), max_values=tensor(g_star))
    x = uniform(3, d, seed=problem["seed"] + 3).requires_grad_()
    (gradient,) = torch.autograd.grad(acq(x[:, None]).sum(), x)
    step = 1e-6
    with torch.no_grad():
        shifted = x[:, None] + step * torch.eye(d, dtype=torch.double)
        back = x[:, None] - step * torch.eye(d, dtype=torch.double)
        numeric = (acq(shifted[:, :, None]) - acq(back[:, :, None])) / (2 * step)
    torch.testing.assert_close(gradient, numeric, rtol=1e-4, atol=1e-6)


@given(
    problem=problems,
    width=log_uniform(-2, 0),
    shift=st.floats(-1e3, 1e3),
    scale=log_uniform(-3, 3),
    g_star=st.floats(-1, 4),
)
def test_shifting_and_scaling_y_changes_nothing(problem, width, shift, scale, g_star):
    d, n = problem["d"], problem["n"] + 1
    X, y = uniform(n, d, seed=problem["seed"]), normal(n, seed=problem["seed"] + 1)
    x = uniform(5, d, seed=problem["seed"] + 3)[:, None]
    values = []
    for a, b in ((0.0, 1.0), (shift, scale)):
        covar = kernel(problem["shape"], [problem["lengthscale"]] * d, 1.3)
        gp = model(
            X,
            a + b * y,
            covar,
            problem["noise_variance"],
            mean=0.1,
            outcome_transform=Standardize(1, min_stdv=1e-12),
        )
        acq = NoisyInputEntropySearch(
            gp, Normal(width), unit_box(d), max_values=tensor([a + b * g_star])
        )
        values.append(acq(x))
    torch.testing.assert_close(values[0], values[1], rtol=1e-4, atol=1e-7)


@given(problem=problems, law=laws, width=widths, g_star=g_stars)
def test_the_order_of_data_and_dimensions_does_not_matter(problem, law, width, g_star):
    d, n, seed = problem["d"], problem["n"], problem["seed"]
    X, y = uniform(n, d, seed=seed), normal(n, seed=seed + 1)
    x = uniform(5, d, seed=seed + 3)
    lengthscale = problem["lengthscale"] * (1 + torch.arange(d, dtype=torch.double))
    half_widths = width * (1 + torch.arange(d, dtype=torch.double)) ** 2
    rows = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    columns = torch.randperm(d, generator=torch.Generator().manual_seed(seed))
    plain, permuted = (
        NoisyInputEntropySearch(
            model(
                X[i][:, j],
                y[i],
                kernel(problem["shape"], lengthscale[j], 1.3),
                problem["noise_variance"],
            ),
            law(half_widths[j]),
            unit_box(d),
            max_values=tensor(g_star),
        )(x[:, j][:, None])
        for i, j in ((torch.arange(n), torch.arange(d)), (rows, columns))
    )
    torch.testing.assert_close(plain, permuted, rtol=1e-5, atol=1e-8)


def raw_units_model(seed=0, n=8):
    lower, width = tensor([-10.0, 4.1]), tensor([55.0, 0.9])
    X = lower + width * uniform(n, 2, seed=seed)
    gp = model(
        X,
        1e3 + 50 * normal(n, seed=seed + 1),
        kernel("se", [0.3, 0.4]),
        1e-3,
        mean=0.0,
        input_transform=Normalize(2),
        outcome_transform=Standardize(1),
    )
    return gp, torch.stack([lower, lower + width])


def test_optimize_acqf_finds_a_point_in_the_box():
    gp, bounds = raw_units_model()
    acq = NoisyInputEntropySearch(gp, Normal([3.0, 0.05]), bounds, num_max_values=3, seed=1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x, value = optimize_acqf(acq, bounds, q=1, num_restarts=4, raw_samples=64)
        batch, _ = optimize_acqf(acq, bounds, q=3, num_restarts=4, raw_samples=64, sequential=True)
    assert ((x >= bounds[0]) & (x <= bounds[1])).all()
    assert value > 0
    separation = torch.pdist(batch / (bounds[1] - bounds[0]))
    assert separation.min() > 1e-2


def test_pending_points_are_observations_of_their_mean():
    gp, bounds = raw_units_model()
    law, x = Normal([3.0, 0.05]), bounds[0] + uniform(6, 2, seed=4) * (bounds[1] - bounds[0])
    pending = x[:2]
    given_values = tensor([1100.0])
    acq = NoisyInputEntropySearch(gp, law, bounds, max_values=given_values, X_pending=pending)
    grown = acq.robust.with_observations(pending, acq.robust.joint(pending).m_f)
    torch.testing.assert_close(torch.stack(grown.joint(x)), acq_moments(acq, x))
    torch.testing.assert_close(torch.stack(acq.conditioned(x).before), acq_moments(acq, x))
    free = NoisyInputEntropySearch(gp, law, bounds, max_values=given_values)
    assert (acq(pending[:, None]) < free(pending[:, None])).all()
    free.set_X_pending(pending)
    assert torch.equal(free(x[:, None]), acq(x[:, None]))
    free.set_X_pending(None)
    assert not torch.equal(free(x[:, None]), acq(x[:, None]))


def acq_moments(acq, x):
    """Moments of the posterior that the acquisition function uses, pending points included."""
    core, units = acq.state.posterior, acq.robust.units
    moments = core.moments(units.x_to_model(x))
    square = units.y_scale**2
    return torch.stack(
        [
            units.y_to_raw(moments.m_f),
            moments.v_f * square,
            units.y_to_raw(moments.m_g),
            moments.v_g * square,
            moments.c_fg * square,
        ]
    )


def test_a_seed_determines_everything():
    gp, bounds = raw_units_model()
    x = bounds[0] + uniform(6, 1, 2, seed=4) * (bounds[1] - bounds[0])
    first, again, other = (
        NoisyInputEntropySearch(gp, Normal([3.0, 0.05]), bounds, seed=seed) for seed in (5, 5, 6)
    )
    assert torch.equal(first(x), again(x))
    assert not torch.equal(first.info.max_values, other.info.max_values)


def test_global_random_state_is_neither_used_nor_changed():
    gp, bounds = raw_units_model()
    before = torch.get_rng_state()
    NoisyInputEntropySearch(gp, Normal([3.0, 0.05]), bounds)
    assert torch.equal(before, torch.get_rng_state())


def test_conditioning_on_the_maximum_pulls_both_functions_down():
    gp, bounds = raw_units_model()
    acq = NoisyInputEntropySearch(gp, Normal([3.0, 0.05]), bounds, num_max_values=3)
    x = bounds[0] + uniform(40, 2, seed=4) * (bounds[1] - bounds[0])
    given = acq.conditioned(x)
    assert given.m_g.shape == (3, 40)
    assert (given.m_g <= acq.info.max_values[:, None]).all()
    assert (given.v_g <= given.before.v_g + 1e-9).all()
    assert (given.v_f <= given.before.v_f + 1e-9).all()
    assert (given.v_f > 0).all()


def test_the_average_over_max_values_is_the_mean_of_their_entropies():
    gp, bounds = raw_units_model()
    x = bounds[0] + uniform(6, 1, 2, seed=4) * (bounds[1] - bounds[0])
    law, values = Normal([3.0, 0.05]), tensor([1050.0, 1100.0, 1200.0])
    together = NoisyInputEntropySearch(gp, law, bounds, max_values=values)(x)
    apart = [NoisyInputEntropySearch(gp, law, bounds, max_values=v[None])(x) for v in values]
    torch.testing.assert_close(together, torch.stack(apart).mean(0))


def test_single_precision_queries_get_single_precision_answers():
    gp, bounds = raw_units_model()
    acq = NoisyInputEntropySearch(gp, Normal([3.0, 0.05]), bounds)
    assert acq(bounds[:1, None].float()).dtype == torch.float32


def test_a_point_that_is_evaluated_twice_has_one_constraint():
    """Two values with twice the noise say the same as one: so do their constraints."""
    X, y = uniform(7, 2, seed=4), normal(7, seed=5)
    noise = torch.full_like(y, 0.01)
    once = model(X, y, kernel("se", [0.4, 0.4], 1.0), noise)
    twice = model(
        torch.cat([X, X]),
        torch.cat([y, y]),
        kernel("se", [0.4, 0.4], 1.0),
        torch.cat([noise] * 2) * 2,
    )
    values, x = tensor([0.0, 1.0]), uniform(30, 2, seed=6)  # the highest value is 1.9
    one, two = (
        NoisyInputEntropySearch(gp, Normal(0.1), unit_box(2), max_values=values)
        for gp in (once, twice)
    )
    assert one.info.sites == two.info.sites
    expected, given = one.conditioned(x), two.conditioned(x)
    torch.testing.assert_close(given.m_g, expected.m_g, rtol=0, atol=1e-8)
    torch.testing.assert_close(given.v_g, expected.v_g, rtol=0, atol=1e-8)


def test_what_was_read_from_a_model_does_not_change_when_the_model_does():
    X, _, surrogate = small_model()
    model = to_botorch(surrogate)
    acquisition = NoisyInputEntropySearch(model, Normal(0.1), unit_box(2))
    before = acquisition(X[:3, None]), acquisition.robust.joint(X).m_g
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3)
        model.train_targets.add_(1.0)
    assert torch.equal(acquisition(X[:3, None]), before[0])
    assert torch.equal(acquisition.robust.joint(X).m_g, before[1])


def test_no_points_give_no_values():
    _, _, model = small_model()
    acquisition = NoisyInputEntropySearch(model, Normal(0.1), unit_box(2))
    empty = torch.zeros(0, 2, dtype=torch.double)
    assert acquisition(empty[:, None]).shape == (0,)
    assert acquisition.robust.joint(empty).m_g.shape == (0,)


def test_without_any_noise_no_point_is_suggested_twice():
    X, y, _ = small_model()
    X = torch.cat([X, X[:1]])  # a repeated point makes the covariance singular
    model, _ = fit_surrogate(X, torch.cat([y, y[:1]]), unit_box(2), noise_variance=0.0)
    acquisition = NoisyInputEntropySearch(model, Normal(0.0), unit_box(2))
    x = torch.rand(50, 2, generator=torch.Generator().manual_seed(3), dtype=torch.double)
    assert acquisition(X[:, None]).max() < 0.2 * acquisition(x[:, None]).max()
