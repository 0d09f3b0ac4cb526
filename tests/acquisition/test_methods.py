"""Every method keeps the same contract: this file runs over all of them."""

from dataclasses import fields
from functools import cache

import pytest
import torch

from examples import some
from gp_models import normal, tensor, uniform, unit_box
from gradients import slope_errors
from hostile_states import STATES
from meseta import Independent, Normal, Uniform
from meseta.acquisition import methods
from meseta.integrations.botorch import (
    RobustAcquisition,
    RobustPosterior,
    fit_surrogate,
    nominal,
    recommend,
    suggest,
)

NAMES = methods.names()
WITH_MODEL = [name for name in NAMES if methods.get(name).prepare is not None]
# fewer samples than the defaults, so that the tests are quick
QUICK = {"nes-rs": {"num_accepted": 200}}
LAWS = {1: Uniform(0.1), 3: Normal(0.1), 6: Independent([Normal(0.1), *[Uniform(0.1)] * 5])}


def data(d, n=None, seed=0):
    X = uniform(n or 4 + 2 * d, d, seed=seed)
    return X, torch.sin(5 * X).sum(-1) + 0.01 * normal(len(X), seed=seed + 1)


@cache
def fit(d):
    """Methods share the model: a fit takes longer than all that they do with it."""
    return fit_surrogate(*data(d), unit_box(d))


@cache
def fit_of_state(state):
    X, y = STATES[state]()
    return fit_surrogate(X, y, unit_box(X.shape[1]))


def one(name, d, law=None, **settings):
    options = QUICK.get(name)
    settings = {"method": name, "options": options, "fitted": fit(d), **settings}
    return suggest(*data(d), unit_box(d), law or LAWS[d], **settings)


def acquisition(name, d, **options):
    prepare = methods.prepare(name, QUICK.get(name))
    return RobustAcquisition(fit(d)[0], LAWS[d], unit_box(d), prepare, **options)


def test_the_methods_of_the_paper_are_there_and_the_default_is_known():
    assert {"nes-ep", "nes-rs", "uu-ei", "uu-ucb", "uu-mes", "unscented-ei", "ei"} < set(NAMES)
    assert methods.DEFAULT_METHOD in NAMES


@pytest.mark.parametrize("d", some([1, 3, 6], 2))
@pytest.mark.parametrize("name", NAMES)
def test_a_suggestion_is_a_point_of_the_box_determined_by_its_seed(name, d):
    before = torch.get_rng_state()
    x, info = one(name, d, seed=3)
    assert x.shape == (d,)
    assert x.dtype == torch.double
    assert ((x >= 0) & (x <= 1)).all()
    again, _ = one(name, d, seed=3)
    assert torch.equal(x, again)
    assert torch.equal(before, torch.get_rng_state())
    if info.acquisition is not None:
        assert info.maximize.value >= info.maximize.best_raw - 1e-9
        assert info.acquisition(x[None, None]).item() == pytest.approx(info.maximize.value)


@pytest.mark.parametrize("d", some([3, 1, 6], 3))
@pytest.mark.parametrize("name", WITH_MODEL)
def test_values_and_gradients(name, d):
    acq = acquisition(name, d)
    x = uniform(7, 1, d, seed=11).requires_grad_()
    values = acq(x)
    assert values.shape == (7,)
    assert values.isfinite().all()
    torch.testing.assert_close(acq(x[2]), values[2:3])
    assert acq(x[:0]).shape == (0,)
    (gradient,) = torch.autograd.grad(values.sum(), x)
    direction = normal(7, 1, d, seed=12)
    assert slope_errors(acq, x, gradient, direction, 1e-2).max() < 1e-3


@pytest.mark.parametrize("name", WITH_MODEL)
def test_batches_of_points_are_refused(name):
    with pytest.raises(ValueError, match="one point at a time"):
        acquisition(name, 3)(uniform(2, 2, 3, seed=0))


@pytest.mark.parametrize("name", NAMES)
def test_pending_points_are_kept_away_from(name):
    x, _ = one(name, 3)
    other, _ = one(name, 3, X_pending=x[None])
    assert (other - x).norm() > 1e-3


@pytest.mark.parametrize("name", WITH_MODEL)
def test_pending_points_count_as_observed_at_their_mean(name):
    pending = uniform(2, 3, seed=5)
    with_pending = acquisition(name, 3, X_pending=pending)
    late = acquisition(name, 3)
    x = uniform(5, 1, 3, seed=6)
    free = late(x)
    late.set_X_pending(pending)
    assert torch.equal(late(x), with_pending(x))
    assert not torch.equal(free, with_pending(x))


@pytest.mark.parametrize("state", some(STATES, 2))
@pytest.mark.parametrize("name", NAMES)
def test_hostile_data_give_a_finite_suggestion_and_recommendation(name, state):
    X, y = STATES[state]()
    bounds, law = unit_box(X.shape[1]), Normal(0.1)
    model, _ = fitted = fit_of_state(state)
    x, _ = suggest(X, y, bounds, law, method=name, options=QUICK.get(name), fitted=fitted)
    assert ((x >= 0) & (x <= 1)).all()
    best = recommend(RobustPosterior.from_model(model, law), bounds, method=name)
    assert best.x.isfinite().all()
    assert tensor([best.mean, best.std]).isfinite().all()


@pytest.mark.parametrize("law", [Normal(0.0), Normal(1e3), Uniform(1e-9)], ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_any_width_of_the_noise(name, law):
    x, _ = one(name, 2, law)
    assert ((x >= 0) & (x <= 1)).all()


@pytest.fixture(scope="module")
def other_units():
    """The same data in other units of x and y: width and offset, data, box, what was fitted."""
    X, y = data(2)
    width, offset = tensor([55.0, 0.9]), tensor([-10.0, 4.1])
    told = offset + width * X, 1e3 + 1e-2 * y, torch.stack([offset, offset + width])
    return width, offset, told, fit_surrogate(*told)


@pytest.mark.parametrize("name", NAMES)
def test_raw_units_do_not_matter(name, other_units):
    """The same problem in other units of x and y: the same point, in those units."""
    width, offset, told, fitted = other_units
    there, _ = one(name, 2, Normal(0.1))
    options = QUICK.get(name)
    here, _ = suggest(*told, Normal(0.1 * width), method=name, options=options, fitted=fitted)
    torch.testing.assert_close((here - offset) / width, there, rtol=0, atol=2e-2)


@pytest.mark.parametrize("name", NAMES)
def test_info_is_for_people(name):
    _, info = one(name, 1)
    if info.acquisition is None:
        assert name == "sobol"
        return
    told = info.acquisition.info._asdict()
    assert "jitter" in told
    _, y = data(1)
    size = y.max() - y.min()
    values = told["incumbent"].value if "incumbent" in told else told["max_values"]
    assert ((values > y.min() - size) & (values < y.max() + 2 * size)).all()


@pytest.mark.parametrize("name", NAMES)
def test_options_are_typed_and_have_defaults(name):
    kind = methods.get(name).options
    assert methods.checked_options(name) == kind()
    assert methods.checked_options(name, {}) == kind()
    given = methods.checked_options(name, {f.name: f.default for f in fields(kind)})
    assert methods.checked_options(name, given) is given
    with pytest.raises(ValueError, match=r"no option of .* called 'colour'"):
        methods.checked_options(name, {"colour": 1})
    with pytest.raises(TypeError, match="must be a dictionary"):
        methods.checked_options(name, 3)


REFUSED = {
    "a method that is nearly right": (lambda: methods.get("nesep"), "did you mean 'nes-ep'"),
    "another": (lambda: methods.get("UCB"), "did you mean 'uu-ucb'"),
    "an option that is nearly right": (
        lambda: methods.checked_options("nes-ep", {"num_max_value": 3}),
        "did you mean 'num_max_values'",
    ),
    "text for a number": (
        lambda: methods.checked_options("nes-ep", {"num_max_values": "3"}),
        "must be a whole number, got '3'",
    ),
    "a fraction of a count": (
        lambda: methods.checked_options("nes-rs", {"num_accepted": 2.5}),
        "must be a whole number, got 2.5",
    ),
    "no paths": (
        lambda: methods.checked_options("nes-ep", {"num_paths": 0}),
        "num_paths must be at least 1, got 0",
    ),
    "no values of the maximum": (
        lambda: methods.checked_options("uu-mes", {"num_max_values": 0}),
        "num_max_values must be at least 1, got 0",
    ),
    "an unknown sampler": (
        lambda: methods.checked_options("rkg", {"sampler": "pathwize"}),
        "must be one of 'pathwise', 'sparse-spectrum', got 'pathwize'",
    ),
    "a negative number of deviations": (
        lambda: methods.checked_options("uu-ucb", {"num_deviations": -1.0}),
        "num_deviations must lie between 0 and 1e\\+06, got -1",
    ),
    "truth for a number": (
        lambda: methods.checked_options("unscented-ei", {"kappa": True}),
        "must be a number, got True",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_named(case):
    make, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_whole_numbers_are_numbers():
    assert methods.checked_options("unscented-ei", {"kappa": 2}).kappa == 2


def test_beliefs_differ_where_the_needle_is():
    """A narrow high peak and a broad lower one: ei believes in the needle, the others do not."""
    X = torch.linspace(0, 1, 60, dtype=torch.double)[:, None]
    needle = 1.2 * torch.exp(-0.5 * ((X[:, 0] - 0.8) / 0.03) ** 2)
    y = needle + torch.exp(-0.5 * ((X[:, 0] - 0.3) / 0.15) ** 2)
    model, _ = fit_surrogate(X, y, unit_box(1))
    posterior = RobustPosterior.from_model(model, Normal(0.08))
    for name in NAMES:
        best = recommend(posterior, unit_box(1), method=name)
        where = 0.8 if name == "ei" else 0.3
        assert best.x.item() == pytest.approx(where, abs=0.05), name
        assert best.mean == pytest.approx(posterior.joint(best.x[None]).m_g.item())
    assert nominal(posterior, unit_box(1)).x.item() == pytest.approx(0.8, abs=0.02)
