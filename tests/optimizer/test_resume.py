"""An optimizer that goes on from trials kept elsewhere."""

from dataclasses import replace

import pytest

from meseta import Categorical, Environment, Normal, Optimizer
from meseta.optimizer.record import Trial

SPACE = {"x": (0.0, 1.0), "solvent": Categorical(["water", "ethanol", "acetone"])}
NOISE = {"x": Normal(0.05)}
POINT = {"x": 0.4, "solvent": "water"}


def interrupted(num=3, **options):
    """A run with complete, failed and pending trials."""
    optimizer = Optimizer(SPACE, noise=NOISE, seed=3, num_initial=3, **options)
    for number in range(num):
        params = optimizer.ask()
        optimizer.tell(params, None if number == 1 else params["x"] - number, error=None)
    optimizer.ask()
    return optimizer


def fresh(**options):
    return Optimizer(SPACE, noise=NOISE, seed=3, num_initial=3, **options)


def complete(number=0, value=1.0, **changes):
    """Also one that a type checker would refuse."""
    trial = Trial(number, dict(POINT), 1.0, "complete", "told")
    for name, change in {"value": value, **changes}.items():
        object.__setattr__(trial, name, change)
    return trial


def test_it_goes_on_as_if_it_had_not_been_interrupted():
    # The first point of the model starts from the same hyper-parameters in both.
    before = interrupted()
    after = fresh().with_trials(before.trials)
    assert after.trials == before.trials
    assert after.history.equals(before.history)
    assert after.ask() == before.ask()
    assert after.recommend() == before.recommend()


def test_the_original_keeps_its_own_trials():
    before = interrupted()
    trials = before.trials
    other = before.with_trials([])
    other.ask()
    assert before.trials == trials
    assert other.seed == before.seed
    assert len(other.trials) == 1


def test_a_model_of_the_same_values_is_not_fitted_again(monkeypatch):
    before = interrupted()
    before.recommend()
    monkeypatch.setattr("meseta.optimizer.fitting.fit_surrogates", None)
    again = before.with_trials(before.trials[:-1])  # without the pending one
    assert again.recommend() == before.recommend()


def test_other_values_are_fitted_anew():
    before = interrupted()
    trials = [replace(t, value=-t.value) if t.value else t for t in before.trials]
    other = before.with_trials(trials)
    assert other.recommend() != before.recommend()


def test_a_seed_of_its_own():
    before = fresh(method="sobol")
    assert before.with_trials([], seed=3).ask() == fresh(method="sobol").ask()
    assert before.with_trials([], seed=4).ask() != fresh(method="sobol").ask()
    with pytest.raises(ValueError, match="seed must be at least 0"):
        before.with_trials([], seed=-1)


def test_what_was_planned_is_kept():
    planned = {"x": 0.5, "solvent": "water"}
    trial = complete(origin="method", planned=planned, measured=("x",))
    optimizer = fresh().with_trials([trial])
    assert optimizer.trials == (trial,)
    assert optimizer.deviations["mean"].tolist() == pytest.approx([-0.1])


def test_pending_trials_need_no_observed_variables():
    space = {"x": (0.0, 1.0), "wind": (0.0, 10.0)}
    noise = {"wind": Environment(Normal(1.0, mean=4.0), observed=True)}
    optimizer = Optimizer(space, noise=noise).with_trials(
        [Trial(0, {"x": 0.5}, None, "pending", "method")]
    )
    assert optimizer.trials[0].params == {"x": 0.5, "wind": 4.0}
    with pytest.raises(ValueError, match=r"trial 0: .*wind is missing"):
        optimizer.with_trials([Trial(0, {"x": 0.5}, 1.0, "complete", "method")])


REFUSED = {
    "no list": (3, "list of meseta.optimizer.record.Trial, got 3"),
    "no trials": ([{"x": 1.0}], "got {'x': 1.0} among them"),
    "numbers with gaps": ([complete(1)], "got 1 where 0 is due"),
    "an unknown state": ([complete(state="done")], "no state 'done'"),
    "an unknown origin": ([complete(origin="model")], "no origin 'model'"),
    "no value": ([complete(value=None)], "the value of trial 0 must be a number"),
    "an infinite value": ([complete(value=float("inf"))], "the value of trial 0 must be finite"),
    "a huge value": ([complete(value=1e101)], "within"),
    "a pending value": ([complete(state="pending")], "is pending but has a value, 1.0"),
    "a failed value": ([complete(state="failed")], "is failed but has a value, 1.0"),
    "an error with a value": ([complete(error="oh")], "is complete but has an error, 'oh'"),
    "an unknown measured name": ([complete(measured=("y",))], "trial 0: there is no parameter 'y'"),
    "a pending measurement": (
        [Trial(0, {"x": 0.5, "solvent": "water"}, None, "pending", "method", measured=("x",))],
        "trial 0 is pending but has measured",
    ),
    "an unknown choice": (
        [complete(params={"x": 0.1, "solvent": "oil"})],
        "trial 0: .* 'oil'",
    ),
    "a missing parameter": ([complete(params={"x": 0.1})], "trial 0: .*solvent is missing"),
    "a plan of something else": ([complete(planned={"y": 0.1})], "trial 0: there is no parameter"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_trials_are_refused(name):
    trials, expected = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=expected):
        fresh().with_trials(trials)
