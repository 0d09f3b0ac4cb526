"""Recommended designs are put to the test, and the answer says what came out."""

import math

import pytest

import meseta
from examples import thorough
from gp_models import without_value
from meseta.optimizer.record import Test

PLANE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def roof(params):
    return -abs(params["x"] - 0.62) - 0.3 * abs(params["y"] - 0.3)


def run(budget=20, **settings):
    settings = {"noise": meseta.Normal(0.05), **settings}
    return meseta.maximize(roof, PLANE, budget=budget, progress=False, **settings)


def close(trial, params, share=0.02):
    return max(abs(trial.params[name] - params[name]) for name in PLANE) <= share


@thorough
def test_every_fifth_evaluation_is_at_the_recommended_design_unless_one_is_close():
    optimizer = meseta.Optimizer(PLANE, noise=meseta.Normal(0.05), seed=1)
    tests = 0
    for number in range(25):
        due = number >= 5 and (number - 5 + 1) % 5 == 0
        best = optimizer.recommend().params if number else None
        params = optimizer.ask()
        trial = optimizer.trials[-1]
        if due and not any(close(other, best) for other in optimizer.trials[:-1]):
            assert (trial.origin, params) == ("test", best)
            tests += 1
        else:
            assert trial.origin != "test"
        optimizer.tell(params, roof(params))
    assert tests


def test_the_result_says_what_came_out():
    result = run()
    values = [trial.value for trial in result.trials if close(trial, result.params)]
    assert result.test.value in values
    assert result.test.passed == (
        abs(result.test.value - result.test.expected) <= 1.96 * result.test.std
    )
    assert str(result.test) in repr(result)


def test_a_design_close_by_is_not_taken_for_the_design_itself():
    optimizer = meseta.Optimizer({"x": (0.0, 1.0)}, noise=meseta.Normal(0.05), verify=0)
    for x in (0.0, 0.1, 0.2, 0.35, 0.42, 0.58, 0.65, 0.8, 0.9, 1.0):
        optimizer.tell({"x": x}, -((x - 0.5) ** 2))
    best = optimizer.recommend().params["x"]
    optimizer.tell({"x": best + 0.01}, -((best + 0.01 - 0.5) ** 2))
    near = optimizer.recommend().test
    assert not near.itself
    assert "not evaluated itself, but a design within 2 % of the ranges was: " in str(near)
    for _ in range(5):  # the model moves a little at each value
        best = optimizer.recommend().params
        optimizer.tell(best, -((best["x"] - 0.5) ** 2))
    test = optimizer.recommend().test
    assert test.itself
    assert str(test).startswith(f"evaluated: {test.value:.5g}, ")


def test_what_was_expected_is_what_a_model_without_the_value_says():
    result = run(budget=20, kernel="se", noise_variance=1e-6)
    optimizer = result.optimizer
    nearest = min(result.trials, key=lambda t: abs(t.value - result.test.value))
    core = optimizer.fitted.core
    units = optimizer.posterior.units
    at = without_value(core, nearest.number).moments(core.X[[nearest.number]])
    assert result.test.expected == pytest.approx(float(units.y_to_raw(at.m_f)), abs=1e-6)
    std = float((at.v_f + core.noise_variance[0]).sqrt() * units.y_scale)
    assert result.test.std == pytest.approx(std, rel=1e-4)


@thorough
def test_nothing_is_tested_where_nobody_wants_it_or_without_a_model():
    for settings in ({"verify": 0}, {"method": "sobol"}):
        result = run(budget=12, **settings)
        assert "test" not in {trial.origin for trial in result.trials}


def test_the_sign_is_that_of_the_user():
    down = meseta.minimize(
        lambda p: 5 - roof(p), PLANE, noise=meseta.Normal(0.05), budget=12, progress=False
    )
    if down.test is not None:
        assert down.test.value > 4.9
        assert down.test.expected > 4


def test_a_design_that_was_not_evaluated_says_so():
    optimizer = meseta.Optimizer({"x": (0.0, 1.0)}, noise=meseta.Normal(0.05))
    for x in (0.0, 0.1, 0.2, 0.35, 0.65, 0.8, 0.9, 1.0):
        optimizer.tell({"x": x}, -((x - 0.5) ** 2))
    best = optimizer.recommend()
    assert 0.4 < best.params["x"] < 0.6
    assert best.test is None


def test_environment_variables_are_no_part_of_what_is_tested():
    noise = {"x": meseta.Normal(0.05), "t": meseta.Environment(meseta.Normal(0.2), observed=True)}
    optimizer = meseta.Optimizer({"x": (0.0, 1.0), "t": (-1.0, 1.0)}, noise=noise, seed=2)
    origins = []
    for number in range(15):
        params = optimizer.ask()
        assert set(params) == {"x"}
        told = {**params, "t": math.sin(number)}
        optimizer.tell(told, -((params["x"] - 0.4) ** 2) + 0.1 * told["t"], trial=number)
        origins.append(optimizer.trials[-1].origin)
    assert set(optimizer.recommend().params) == {"x"}


def test_a_failed_test_is_not_asked_for_again():
    optimizer = meseta.Optimizer(PLANE, noise=meseta.Normal(0.05), seed=1)
    failed = []
    for _ in range(20):
        params = optimizer.ask()
        if optimizer.trials[-1].origin == "test":
            assert params not in failed
            failed.append(params)
        optimizer.tell(params, None if optimizer.trials[-1].origin == "test" else roof(params))


@pytest.mark.parametrize("verify", [-1, 1.5, "often", None, True])
def test_silly_numbers_are_refused(verify):
    with pytest.raises((TypeError, ValueError), match="verify"):
        meseta.Settings(verify=verify)


def test_values_at_the_ends_of_the_interval():
    assert Test(1.0, 0.0, 0.6).passed
    assert not Test(1.0, 0.0, 0.5).passed
    assert "not as expected" in str(Test(1.0, 0.0, 0.5))
