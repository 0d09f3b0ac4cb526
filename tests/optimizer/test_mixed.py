"""Runs over whole numbers, steps, choices and logarithmic scales."""

import math

import numpy as np
import pandas as pd
import pytest

import meseta.optimizer.ask_tell
from examples import thorough
from meseta import Categorical, Float, Int, Normal, Optimizer, maximize
from meseta.acquisition import methods
from meseta.space.space import Space

MIXED = {
    "x": (0.0, 1.0),
    "rate": Float(1e-5, 1e-1, log=True),
    "layers": Int(1, 8),
    "solvent": Categorical(["water", "ethanol", "acetone"]),
    "dose": Float(0, 2, step=0.1),
    "stirred": Categorical([True, False]),
}
FINITE = {"layers": Int(1, 3), "solvent": Categorical(["water", "ethanol", None])}
# as small as they can be and still be themselves
SMALL = {
    "nes-ep": {"num_paths": 10, "num_features": 64},
    "nes-rs": {"num_paths": 10, "num_features": 64, "num_accepted": 20},
    "rkg": {"num_paths": 10, "num_features": 64},
    "uu-mes": {"num_paths": 10, "num_features": 64},
}


def assert_admissible(params):
    assert list(params) == list(MIXED)
    assert 0 <= params["x"] <= 1
    assert 1e-5 <= params["rate"] <= 1e-1
    assert params["layers"] in range(1, 9)
    assert type(params["layers"]) is int
    assert params["solvent"] in ("water", "ethanol", "acetone")
    assert 0 <= params["dose"] <= 2
    assert params["dose"] == round(params["dose"], 1)
    assert type(params["stirred"]) is bool


def f(params):
    """The best: 0.3, 1e-4, 5, ethanol, 0.4, stirred."""
    return (
        -((params["x"] - 0.3) ** 2)
        - (math.log10(params["rate"]) + 4) ** 2 / 4
        - (params["layers"] - 5) ** 2 / 10
        + 0.3 * (params["solvent"] == "ethanol")
        - abs(params["dose"] - 0.4)
        + 0.2 * params["stirred"]
    )


@pytest.mark.parametrize("method", methods.names())
def test_every_method_asks_for_designs(method):
    options = {"method": method, "options": SMALL.get(method), "num_initial": 6, "seed": 3}
    first, again = (Optimizer(MIXED, noise={"x": Normal(0.05)}, **options) for _ in range(2))
    points = first.ask(6)
    assert points == again.ask(6)
    for params in points[:-2]:  # two are pending
        first.tell(params, f(params))
        again.tell(params, f(params))
    executed = {**points[0], "dose": 0.4321, "layers": 11}
    first.tell(executed, 0.5)
    again.tell(executed, 0.5)
    points.append(first.ask())
    assert points[-1] == again.ask()
    assert first.trials[-1].origin == "method"
    for params in [*points, first.ask(), first.recommend().params]:
        assert_admissible(params)


def test_initial_points_are_spread_over_all_values():
    for spread in ("sobol", "uniform"):
        points = Optimizer(MIXED, initial=spread, num_initial=40).ask(40)
        for params in points:
            assert_admissible(params)
        assert {params["layers"] for params in points} == set(range(1, 9))
        assert {params["solvent"] for params in points} == {"water", "ethanol", "acetone"}
        small = sum(params["rate"] < 1e-3 for params in points)
        assert 12 <= small <= 28  # half of the decades


@thorough
def test_a_mixed_problem_is_solved():
    """Robust in two floats: the needle at a = 0.8 is worth 1.3, once perturbed 0.5."""

    def needle(params):
        a, b = params["a"], params["b"]
        plateau = math.exp(-((a - 0.3) ** 2 + (b - 0.6) ** 2) / 0.18)
        needle = 1.3 * math.exp(-((a - 0.8) ** 2 + (b - 0.2) ** 2) / 0.005)
        lost = {"water": 0.4, "ethanol": 0.0, "acetone": 0.3}[params["solvent"]]
        return plateau + needle - 0.05 * (params["n"] - 4) ** 2 - lost

    space = {
        "a": (0.0, 1.0),
        "b": (0.0, 1.0),
        "n": Int(1, 6),
        "solvent": Categorical(["water", "ethanol", "acetone"]),
    }
    optimizer = Optimizer(space, noise={"a": Normal(0.1), "b": Normal(0.1)})
    for _ in range(20):
        params = optimizer.ask()
        optimizer.tell(params, needle(params))
    best = optimizer.recommend()
    assert (best.params["n"], best.params["solvent"]) == (4, "ethanol")
    assert best.params["a"] == pytest.approx(0.3, abs=0.05)
    assert best.params["b"] == pytest.approx(0.6, abs=0.05)
    # the plateau, smoothed: its variance 0.09 and that of the noise, 0.01, in two dimensions
    assert best.mean == pytest.approx(0.9, abs=0.03)


def test_a_logarithmic_scale_finds_small_numbers():
    result = maximize(
        lambda x: -((math.log10(x["rate"]) + 4) ** 2),
        {"rate": Float(1e-8, 1.0, log=True)},
        budget=10,
        progress=False,
    )
    assert math.log10(result.params["rate"]) == pytest.approx(-4, abs=0.05)


def test_choices_alone_are_tried_and_the_best_is_found():
    worth = {"a": 0.1, "b": 0.9, "c": 0.4, "d": 0.2, "e": 0.3}
    space = {"first": Categorical(list("abcde")), "second": Categorical([None, 1, 2.5])}

    def value(params):
        return worth[params["first"]] + {None: 0.0, 1: 0.5, 2.5: 0.3}[params["second"]]

    result = maximize(value, space, budget=13, progress=False)
    assert result.params == {"first": "b", "second": 1}
    assert ["first", "b", "b"] in [line.split() for line in repr(result).splitlines()]
    tried = {tuple(trial.params.values()) for trial in result.trials}
    assert len(tried) >= 9


def test_whole_numbers_alone():
    result = maximize(
        lambda x: -((x["n"] - 37) ** 2) - (math.log2(x["m"]) - 5) ** 2,
        {"n": Int(0, 100), "m": Int(1, 1000, log=True)},
        budget=16,
        progress=False,
    )
    assert abs(result.params["n"] - 37) <= 1
    assert abs(math.log2(result.params["m"]) - 5) < 0.3
    assert all(type(value) is int for trial in result.trials for value in trial.params.values())


def test_steps():
    result = maximize(
        lambda x: -((x["dose"] - 0.72) ** 2) - (x["time"] - 33) ** 2 / 400,
        {"dose": Float(0, 1, step=0.1), "time": Int(0, 60, step=5)},
        noise={"dose": Normal(0.05)},
        budget=10,
        progress=False,
    )
    assert result.params == {"dose": 0.7, "time": 35}
    assert [line.split()[:2] for line in repr(result).splitlines()[2:4]] == [
        ["dose", "0.7"],
        ["time", "35"],
    ]
    for trial in result.trials:
        assert trial.params["dose"] in [i / 10 for i in range(11)]
        assert trial.params["time"] % 5 == 0


# When there is nothing new to ask for


@pytest.mark.parametrize("method", ["rkg", "ei", "sobol"])
def test_a_space_of_few_designs_can_be_asked_for_ever(method):
    optimizer = Optimizer(FINITE, method=method, options=SMALL.get(method))
    assert optimizer.initial.num == 5
    for number in range(12):
        params = optimizer.ask()
        optimizer.tell(params, params["layers"] + (params["solvent"] == "ethanol"))
        if number == 4:  # initial points are not wasted on what is known
            assert len({tuple(t.params.values()) for t in optimizer.trials}) == 5
    assert optimizer.recommend().params == {"layers": 3, "solvent": "ethanol"}


def test_pending_designs_are_not_asked_for_again_while_there_are_others():
    optimizer = Optimizer(FINITE)
    points = optimizer.ask(9)
    assert len({tuple(params.values()) for params in points}) == 9
    optimizer.ask(2)  # all are pending, so some are asked for twice
    for params in points:
        optimizer.tell(params, float(params["layers"]))
    assert optimizer.ask()["layers"] in (1, 2, 3)


def test_failed_designs_are_avoided_by_the_method_too(monkeypatch):
    optimizer = Optimizer({"a": Categorical([0, 1])}, num_initial=1)
    optimizer.tell({"a": 1}, None)
    optimizer.tell({"a": 0}, 1.0)
    real = meseta.optimizer.ask_tell.suggest

    def insist(*args, **options):
        x, *behind = real(*args, **options)
        return 0 * x + 1, *behind

    monkeypatch.setattr(meseta.optimizer.ask_tell, "suggest", insist)
    assert optimizer.ask() == {"a": 0}


def test_no_more_initial_points_than_designs():
    assert Optimizer({"a": Categorical([0, 1]), "b": Int(1, 2)}).initial.num == 4
    assert Optimizer({"a": Categorical([0, 1]), "b": (1, 2)}).initial.num == 5


# Telling, and the history


def test_choices_and_whole_numbers_must_agree_to_be_recognised():
    optimizer = Optimizer(MIXED)
    params = optimizer.ask()
    other = "water" if params["solvent"] != "water" else "acetone"
    optimizer.tell({**params, "solvent": other}, 1.0)
    optimizer.tell({**params, "layers": params["layers"] + 1}, 1.0)
    assert [trial.state for trial in optimizer.trials] == ["pending", "complete", "complete"]
    executed = {**params, "dose": params["dose"] + 0.012, "rate": params["rate"] * 1.05}
    optimizer.tell(executed, 2.0)  # 0.6 % and 0.5 % of the ranges away
    assert optimizer.trials[0].params == executed
    assert len(optimizer.trials) == 3


def test_far_whole_numbers_are_apart_however_wide_the_range():
    optimizer = Optimizer({"n": Int(0, 10**6)}, initial=[{"n": 5}, {"n": 6}])
    optimizer.ask(2)
    optimizer.tell({"n": 6.0}, 1.0)
    assert [trial.state for trial in optimizer.trials] == ["pending", "complete"]


def test_given_points_are_designs():
    optimizer = Optimizer({"dose": Float(0, 1, step=0.1)}, initial=[{"dose": 0.1 + 0.2}])
    assert optimizer.ask() == {"dose": 0.3}
    assert optimizer.ask() != {"dose": 0.3}
    rate = Optimizer({"rate": Float(1e-5, 1, log=True)}, initial=[{"rate": 1e-3}])
    assert rate.ask() == {"rate": 1e-3}
    for space, point, expected in (
        ({"dose": Float(0, 1, step=0.1)}, {"dose": 0.34}, "'dose' is 0.34, and the next step 0.3"),
        ({"n": Int(0, 10, step=5)}, {"n": 6}, "'n' is 6, and the next step 5"),
        ({"n": Int(0, 10)}, {"n": 11}, "must lie in the box"),
        ({"a": Categorical(["u", "v"])}, {"a": "w"}, "no choice 'w'"),
    ):
        with pytest.raises(ValueError, match=expected):
            Optimizer(space, initial=[point])


def test_the_history_has_a_type_for_each_parameter():
    optimizer = Optimizer({**MIXED, "other": Categorical([None, 1, "a"])})
    assert optimizer.history["layers"].dtype == "int64"
    for _ in range(3):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    best = optimizer.recommend()
    optimizer.tell(optimizer.ask(), None)
    table = optimizer.history
    kinds = {
        "x": "float64",
        "rate": "float64",
        "layers": "int64",
        "solvent": str(pd.Series(["a"]).astype("str").dtype),  # object before pandas 3
        "dose": "float64",
        "stirred": "object",
        "other": "object",
        "value": "float64",
        "best_layers": "Int64",
        "best_solvent": "object",
        "best_other": "object",
    }
    assert {name: str(table[name].dtype) for name in kinds} == kinds
    assert table["layers"].tolist() == [trial.params["layers"] for trial in optimizer.trials]
    assert table["best_layers"].tolist()[2] == best.params["layers"]
    assert table["best_solvent"].tolist()[2] == best.params["solvent"]
    for name in ("best_layers", "best_solvent", "best_other"):
        assert table[name].isna().tolist() == [True, True, False, True]
    assert np.isnan(table["value"][3])
    pd.testing.assert_frame_equal(table, optimizer.history)


def test_a_space_of_its_own_may_be_passed():
    optimizer = Optimizer(Space(MIXED))
    assert optimizer.space.num_columns == 8
    assert optimizer.noise.in_dimension(8).covariance_matrix.abs().sum() == 0
