"""Several outcomes of one experiment: told, kept, refused; and designs that keep constraints."""

import math
import warnings

import numpy as np
import pytest
import torch

import meseta
from examples import some, thorough
from meseta.optimizer.comparison import verdict
from meseta.optimizer.record import Trial

SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
STRESS = {"stress": meseta.AtMost(1.0, probability=0.95)}


def cost(params):
    """Cheaper where a + b is small; the stress is large there."""
    a, b = params["a"], params["b"]
    return {"cost": a + b, "stress": 2.2 - 1.5 * a - b}


def optimizer(**settings):
    chosen = {
        "noise": meseta.Normal(0.05),
        "direction": "minimize",
        "objective": "cost",
        "constraints": STRESS,
        "kernel": "se",
    }
    return meseta.Optimizer(SPACE, **{**chosen, **settings})


def told(num=12, **settings):
    made = optimizer(num_initial=num, **settings)
    for _ in range(num):
        params = made.ask()
        made.tell(params, cost(params))
    return made


def test_the_best_design_keeps_its_constraint():
    """1.5 a + b >= 1.2 + 1.645 s with s = 0.05 sqrt(3.25): a as large as it takes, b = 0."""
    best = told(20).recommend()
    a = (1.2 + 1.6449 * 0.05 * math.sqrt(3.25)) / 1.5
    assert best.feasible
    assert best.sure >= 0.95
    assert best.params["a"] == pytest.approx(a, abs=0.01)
    assert best.params["b"] == pytest.approx(0.0, abs=0.01)
    kept = best.kept["stress"]
    assert kept.share == pytest.approx(0.95, abs=0.01)
    assert kept.interval[0] <= kept.share <= kept.interval[1]
    assert "at most 1: kept in 95" in str(kept)


def test_a_limit_of_the_value_itself():
    limits = {"cost": meseta.AtLeast(0.9, probability=0.9)}
    made = told(constraints=limits, outcomes=["stress"])
    best = made.recommend()
    least = 0.9 + 1.2816 * 0.05 * math.sqrt(2)
    assert sum(best.params.values()) == pytest.approx(least, abs=0.01)


def test_constraints_that_no_design_keeps():
    """The most promising design, and no word of it being feasible."""
    best = told(constraints={"stress": meseta.AtMost(-2.0)}).recommend()
    assert not best.feasible
    assert best.sure < 0.01
    assert best.params["a"] == pytest.approx(1.0, abs=0.02)
    assert best.params["b"] == pytest.approx(1.0, abs=0.02)


def test_a_few_data_do_not_make_a_design_feasible():
    """Noisy outcomes: a point estimate would say yes."""
    made = optimizer()
    random = np.random.default_rng(0)
    for a, b in ((0.1, 0.2), (0.9, 0.8), (0.5, 0.4)):
        params = {"a": a, "b": b}
        noisy = cost(params)["stress"] + 0.5 * random.normal()
        made.tell(params, {"cost": a + b, "stress": noisy})
    best = made.recommend()
    assert best.sure < 0.999
    assert best.kept["stress"].interval[0] < 0.95 < best.kept["stress"].interval[1] + 0.06


def test_without_any_value_of_an_outcome_nothing_is_known_of_it():
    made = optimizer()
    for a in (0.1, 0.5, 0.9):
        made.tell({"a": a, "b": 0.5}, {"cost": a, "stress": None})
    best = made.recommend()
    assert best.kept["stress"].share is None
    assert not best.feasible
    assert "not known yet, by 0 values" in str(best.kept["stress"])
    assert verdict(best).startswith("Too few values to say")
    made.ask()
    with pytest.raises(RuntimeError, match="no value of 'stress' yet"):
        made.outcome("stress")


def test_missing_outcomes_are_no_obstacle_to_others():
    """Half of the costs, and other half of the stresses."""
    made = optimizer(num_initial=24)
    for number in range(24):
        params = made.ask()
        known = cost(params)
        known["stress" if number % 2 else "cost"] = None
        made.tell(params, known)
    states = [trial.state for trial in made.trials]
    assert states.count("failed") == states.count("complete") == 12
    best = made.recommend()
    assert best.feasible
    assert best.params["a"] == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3.0, r"must be told as a dict, such as \{'cost': ..., 'stress': ...\}"),
        ({"cost": 1.0, "strss": 2.0}, "there is no outcome 'strss' .did you mean 'stress'"),
        ({"cost": 1.0, "stress": "high"}, "'stress' must be a number, got 'high'"),
        ({"cost": 1.0, "stress": math.nan}, "'stress' must be finite"),
        ({"cost": "x", "stress": 1.0}, "'cost' must be a number"),
        ({"cost": 1.0, "value": 1.0, "stress": 1.0}, "which are the same outcome"),
    ],
)
def test_what_cannot_be_an_outcome_is_refused_and_nothing_is_stored(value, words):
    made = optimizer()
    with pytest.raises((TypeError, ValueError), match=words):
        made.tell({"a": 0.5, "b": 0.5}, value)
    assert made.trials == ()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"constraints": {"stress": 250}}, "the constraint on 'stress' must be meseta.AtMost"),
        ({"constraints": [meseta.AtMost(1)]}, "constraints must be a dict"),
        ({"constraints": {"a": meseta.AtMost(1)}}, "an outcome cannot be named 'a'"),
        ({"constraints": {"executed": meseta.AtMost(1)}}, "cannot be named 'executed'"),
        ({"constraints": {" x": meseta.AtMost(1)}}, "must be a name such as 'stress', got ' x'"),
        ({"objective": "a"}, "objective is 'a', which is a parameter"),
        ({"constraints": STRESS, "method": "nes-ep"}, "the method 'nes-ep' knows of one outcome"),
        (
            {"constraints": {"cost": meseta.AtMost(-1)}, "possible": (0, math.inf)},
            "can never be kept",
        ),
        ({"outcomes": "stress"}, "outcomes must be a list of names"),
        ({"objective": 3}, "objective must be a name"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(settings, words):
    with pytest.raises((TypeError, ValueError), match=words):
        optimizer(**settings)


def test_outcomes_without_limits_are_kept_and_modelled():
    made = optimizer(constraints={}, outcomes=["stress"])
    for a in (0.1, 0.4, 0.9):
        made.tell({"a": a, "b": 0.5}, cost({"a": a, "b": 0.5}))
    assert made.trials[1].outcomes == {"stress": pytest.approx(1.1)}
    assert list(made.history["stress"]) == pytest.approx([1.55, 1.1, 0.35])
    mean = made.outcome("stress").joint(torch.tensor([[0.4, 0.5]]).double()).m_f
    assert float(mean) == pytest.approx(1.1, abs=0.05)
    with pytest.raises(ValueError, match="there is no outcome 'cost'"):
        made.outcome("cost")
    assert made.recommend().kept == {}


def test_the_history_has_outcomes_and_how_sure_the_recommendation_was():
    made = told(6)
    made.recommend()
    history = made.history
    assert list(history.columns[:4]) == ["a", "b", "value", "stress"]
    assert history["best_sure"].iloc[-1] == made.recommend().sure
    assert history["stress"].dtype == float


def test_going_on_from_trials():
    made = told(8)
    other = optimizer().with_trials(made.trials)
    assert other.recommend() == made.recommend()
    assert other.ask() == made.ask()
    with pytest.raises(ValueError, match="trial 0: there is no outcome 'stress'"):
        meseta.Optimizer(SPACE).with_trials(made.trials)
    pending = Trial(0, {"a": 0.1, "b": 0.2}, None, "pending", "told", outcomes={"stress": 1.0})
    with pytest.raises(ValueError, match="is pending but has outcomes"):
        optimizer().with_trials([pending])


def test_the_same_seed_gives_the_same_designs():
    one, other = told(6), told(6)
    assert [one.ask() for _ in range(2)] == [other.ask() for _ in range(2)]
    assert one.recommend() == other.recommend()


@pytest.mark.parametrize("direction", some(["minimize", "maximize"], 2))
@pytest.mark.parametrize("measure", ["mean", "quantile 0.1"])
def test_directions_and_measures(direction, measure):
    """The constraint is the user's, whatever the sign of what is optimised."""
    sign = 1 if direction == "minimize" else -1
    made = optimizer(direction=direction, measure=measure, num_initial=12)
    for _ in range(12):
        params = made.ask()
        known = cost(params)
        made.tell(params, {**known, "cost": sign * known["cost"]})
    best = made.recommend()
    assert best.feasible
    assert best.params["a"] == pytest.approx(0.9, abs=0.03)
    assert best.params["b"] == pytest.approx(0.0, abs=0.03)


@thorough
def test_a_whole_run_with_loud_objects():
    """f misbehaves now and then; every outcome that it gives is kept."""
    calls = []

    def f(params):
        calls.append(params)
        known = cost(params)
        match len(calls):
            case 3:
                return {**known, "stress": None}
            case 4:
                return {**known, "stress": "high"}
            case 5:
                return {**known, "cost": math.nan}
            case 6:
                raise RuntimeError("the press is on fire")
            case 7:
                return {**known, "time": 3.2}
        return {name: np.float64(value) for name, value in known.items()}

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = meseta.minimize(
            f,
            SPACE,
            noise=meseta.Normal(0.05),
            objective="cost",
            constraints=STRESS,
            budget=9,
            progress=False,
        )
    said = [str(each.message) for each in caught]
    left_out = "an outcome is left out, the others count: 'stress' of the result of f must be"
    assert any(each.startswith(left_out) for each in said)
    assert any("an evaluation of f failed" in each for each in said)
    trials = result.trials
    assert [t.state for t in trials].count("failed") == 2
    assert trials[2].outcomes == trials[3].outcomes == {}
    assert trials[2].value is not None
    assert trials[4].value is None
    assert "stress" in trials[4].outcomes
    assert result.kept["stress"].share is not None
    shown = repr(result)
    assert "stress at most 1: kept in" in shown
    assert "the nominal optimum" in shown


@pytest.mark.parametrize("answer", [1.0, {"cost": 1.0}, {"value": 1.0, "strain": 2.0}])
def test_a_constraint_on_an_outcome_that_never_comes(answer):
    """It is noticed at once, and the budget is not spent."""
    calls = []

    def f(params):
        calls.append(params)
        return answer

    with pytest.raises(TypeError, match="there is a constraint on 'stress', so that f must return"):
        meseta.minimize(f, SPACE, objective="cost", constraints=STRESS, budget=5, progress=False)
    assert len(calls) == 1


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("num", [1, 2, 3])
def test_a_few_equal_values_say_nothing_in_any_unit(unit, num):
    made = optimizer(constraints={"stress": meseta.AtMost(250 * unit, 0.99)})
    for number, params in enumerate(made.ask(6)):
        stress = 231 * unit if number < num else None
        made.tell(params, {"cost": params["a"], "stress": stress})
    best = made.recommend()
    assert not best.feasible
    assert best.kept["stress"].share is None


@pytest.mark.parametrize("stresses", [[1.9, 1.5], [1.9] * 9])
def test_a_limit_counts_for_all_answers_or_for_none(stresses):
    """With one value more it counts for all of them."""

    def told_so(many, limits):
        made = optimizer(num_initial=10, constraints=limits, outcomes=["stress"], method="rkg")
        for number, params in enumerate(made.ask(10)):
            stress = many[number] if number < len(many) else None
            made.tell(params, {"cost": cost(params)["cost"], "stress": stress})
        return made.recommend().params, made.nominal().params, made.ask()

    assert told_so(stresses, STRESS) == told_so(stresses, {})
    more = [*stresses, 1.2 if len(stresses) < 3 else 1.9]
    for limited, free in zip(told_so(more, STRESS), told_so(more, {}), strict=True):
        assert limited != free


def test_missing_values_are_counted():
    made = optimizer(num_initial=8)
    for number in range(8):
        params = made.ask()
        made.tell(params, {**cost(params), **({"stress": None} if number > 4 else {})})
    kept = made.recommend().kept["stress"]
    assert kept.counted == (5, 8)
    assert str(kept).endswith("; 5 values in 8 evaluations")


def test_the_value_itself_has_the_same_noise_as_a_constraint():
    limits = {"cost": meseta.AtLeast(0.9)}
    made = told(8, constraints=limits, outcomes=["stress"], noise_variance=0.04)
    scale = float(made.model_of("cost").posterior.units.y_scale)
    noise = float(made.model_of("cost").core.new_noise_variance) * scale**2
    assert noise == pytest.approx(0.04)


def test_another_seed_draws_anew():
    made = told(8)
    made.recommend()
    other = made.with_trials(made.trials, seed=11)
    assert (
        other.recommend() == optimizer(seed=11, num_initial=8).with_trials(made.trials).recommend()
    )


@pytest.mark.parametrize("probability", [0.99, 0.9999, 0.99999])
@pytest.mark.parametrize(
    ("law", "std"),
    [
        (meseta.Normal(covariance=[[0.0025, 0.002], [0.002, 0.0025]]), 0.009**0.5),
        (meseta.Shared(meseta.Normal(0.05)), 0.1),
        (meseta.Normal([0.05, 0.03]), 0.0034**0.5),
    ],
    ids=["joint", "shared", "own"],
)
def test_small_tails_of_all_laws(probability, law, std):
    """The sum of both is to stay below 1: by the normal distribution."""
    made = meseta.Optimizer(
        SPACE,
        noise={("a", "b"): law},
        kernel="se",
        constraints={"sum": meseta.AtMost(1.0, probability)},
    )
    for params in made.ask(15):
        total = params["a"] + params["b"]
        made.tell(params, {"value": total, "sum": total})
    best = made.recommend()
    beyond = 0.5 * math.erfc((1 - sum(best.params.values())) / std / 2**0.5)
    assert best.feasible
    assert beyond <= 1.05 * (1 - probability)
    assert beyond >= 0.7 * (1 - probability)
    low, high = best.kept["sum"].interval
    assert 1 - high - 1e-9 <= beyond <= 1 - low + 1e-9


def test_what_draws_cannot_tell_is_not_sure():
    """A cloud of points has no tail that could be drawn more often."""
    cloud = np.random.default_rng(0).normal(0, 0.02, size=(500, 2)).tolist()
    made = meseta.Optimizer(
        SPACE,
        noise={("a", "b"): meseta.Empirical(cloud)},
        kernel="se",
        constraints={"sum": meseta.AtMost(1.0, 0.99999)},
    )
    for params in made.ask(12):
        total = params["a"] + params["b"]
        made.tell(params, {"value": total, "sum": total})
    best = made.recommend()
    assert best.kept["sum"].sure <= 0.5
    assert best.kept["sum"].interval[0] < 0.9999
