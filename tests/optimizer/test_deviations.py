"""Measured deviations: what counts as a pair, and how far the noise is known by them."""

import numpy as np
import pytest

from examples import some
from meseta import Environment, Float, Normal, Optimizer, Trial, maximize
from meseta.optimizer.deviations import deviations
from meseta.space.named_noise import read_noise
from meseta.space.space import Space

WIDE = Space({"x": Float(0.5, 3.0)})


def pairs_of(optimizer):
    return dict(zip(*optimizer.deviations[["parameter", "pairs"]].T.to_numpy(), strict=True))


def test_only_what_was_measured_is_a_pair():
    load = Environment(Normal(0.1, mean=0.5))
    wind = Environment(Normal(0.1, mean=0.5), observed=True)
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0), "load": (0.0, 1.0), "wind": (0.0, 1.0)}
    optimizer = Optimizer(space, noise={"x": Normal(0.05), "load": load, "wind": wind})
    assert pairs_of(optimizer) == {"x": 0, "y": 0}
    assert optimizer.deviations.drop(columns=["parameter", "pairs"]).isna().all(axis=None)
    first, second, third, fourth, fifth = optimizer.ask(5)
    optimizer.tell({**first, "wind": 0.4}, 1.0)  # as planned, and nobody has measured it
    optimizer.tell(second, None)  # failed
    optimizer.tell({**third, "x": third["x"] + 0.001, "wind": 0.4}, 1.0)
    optimizer.tell(fourth, 1.0, executed={"y": fourth["y"], "wind": 0.3})  # a measurement of 0
    optimizer.tell(fifth, None, executed={"x": fifth["x"] + 0.4})  # failed, but measured
    optimizer.tell({"x": 0.3, "y": 0.2, "load": 0.5, "wind": 0.5}, 0.1)  # nobody asked for it
    assert pairs_of(optimizer) == {"x": 2, "y": 1}
    assert [t.measured for t in optimizer.trials] == [
        (),
        (),
        ("x",),
        ("y",),
        ("x",),
        (),
    ]
    assert [t.state for t in optimizer.trials[:5]] == [
        "complete",
        "failed",
        "complete",
        "complete",
        "failed",
    ]
    assert optimizer.trials[3].planned["wind"] != 0.3
    assert optimizer.trials[4].planned["x"] == fifth["x"]
    assert pairs_of(optimizer.with_trials(optimizer.trials)) == {"x": 2, "y": 1}


def test_a_design_of_ones_own_has_a_pair_where_it_was_measured():
    optimizer = Optimizer({"x": (0.0, 1.0)}, noise={"x": Normal(0.05)})
    optimizer.tell({"x": 0.5}, 1.0, executed={"x": 0.52})
    assert pairs_of(optimizer) == {"x": 1}
    (trial,) = optimizer.trials
    assert (trial.params, trial.planned, trial.origin) == ({"x": 0.52}, {"x": 0.5}, "told")
    with pytest.raises(TypeError, match="executed must have the values that were measured by name"):
        optimizer.tell({"x": 0.5}, 1.0, executed=0.52)
    with pytest.raises(ValueError, match="there is no parameter 'y'"):
        optimizer.tell({"x": 0.5}, 1.0, executed={"y": 0.52})
    assert len(optimizer.trials) == 1


def test_a_run_counts_what_f_says_was_executed():
    calls = []

    def f(p):
        calls.append(p)
        executed = {"x": p["x"]} if len(calls) < 3 else {}
        return {"value": -p["x"], "executed": executed}

    noise = {"x": Normal(0.05), "y": Normal(0.05)}
    result = maximize(f, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, noise=noise, budget=4, progress=False)
    assert pairs_of(result.optimizer) == {"x": 2, "y": 0}
    row = result.optimizer.deviations.to_dict("records")[0]
    assert (row["std"], row["ratio"], row["ratio_low"], row["ratio_high"]) == (0, 0, 0, 0)


@pytest.mark.parametrize("pairs", some([2, 10], 2))
def test_the_interval_of_the_ratio_holds_the_truth(pairs):
    """In 95 % of the studies; by brute force."""
    random = np.random.default_rng(pairs)
    holds = []
    for _ in range(400):
        x = random.uniform(1, 2, pairs)
        away = x * (1 + random.normal(0, 0.03, pairs))
        told = {"value": 0.0, "state": "complete", "origin": "method", "measured": ("x",)}
        trials = [Trial(i, {"x": away[i]}, planned={"x": x[i]}, **told) for i in range(pairs)]
        law = read_noise({"x": Normal(0.02, relative=True)}, WIDE)
        (row,) = deviations(trials, WIDE, law, ["x"]).to_dict("records")
        holds.append(row["ratio_low"] <= 1.5 <= row["ratio_high"])
    assert np.mean(holds) == pytest.approx(0.95, abs=0.035)
