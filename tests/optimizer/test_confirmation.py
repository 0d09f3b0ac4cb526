"""Whether a promise held: often enough where it does, and not where it does not."""

import math
from itertools import product

import numpy as np
import pytest

from examples import some
from meseta import AtMost, Environment, Normal, Optimizer, Uniform


def f(x):
    return math.sin(5 * x["x"]) + 0.3 * x["y"]


def searched(seed=0, n=25, noise=None, scatter=0.02, **settings):
    random = np.random.default_rng(seed)
    optimizer = Optimizer(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        noise=noise or {"x": Normal(0.08), "y": Uniform(0.1)},
        kernel="se",
        seed=seed,
        **settings,
    )
    for x, y in random.random((n, 2)):
        params = {"x": float(x), "y": float(y)}
        optimizer.tell(params, outcomes_of(optimizer, params, random, scatter))
    return optimizer


def outcomes_of(optimizer, params, random, scatter=0.02):
    value = f(params) + scatter * random.normal()
    return {"value": value, "mass": 1 + params["x"]} if optimizer.outcomes.several else value


@pytest.mark.parametrize(
    ("measure", "on_purpose"),
    some(product(["mean", "quantile 0.1", "yield 0.9 inf"], [True, False]), 3),
)
def test_a_promise_that_is_true_holds_nearly_always(measure, on_purpose):
    verdicts = []
    for seed in range(4):
        optimizer = searched(seed, measure=measure)
        design = optimizer.recommend().params
        places = optimizer.perturbed(design, 10, seed=seed)
        random = np.random.default_rng(100 + seed)
        values = [outcomes_of(optimizer, place, random) for place in places]
        found = optimizer.confirm(design, values, executed=places if on_purpose else None)
        assert found.expected[0] <= found.expected[1]
        verdicts.append(found.verdict)
    assert verdicts.count("worse") <= 1


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_promise_that_is_false_is_seen_to_be(direction):
    optimizer = searched(1, direction=direction)
    design = optimizer.recommend().params
    random = np.random.default_rng(0)
    # the noise is four times as wide as was said
    places = [
        {"x": design["x"] + 0.32 * random.normal(), "y": design["y"] + random.uniform(-0.1, 0.1)}
        for _ in range(12)
    ]
    found = optimizer.confirm(design, [f(place) for place in places])
    assert found.verdict == "worse"
    assert not found.held
    assert "the promise did not hold: 12 runs" in str(found)
    assert "worse than promised" in str(found)
    better = [f(design) + (2.0 if direction == "maximize" else -2.0)] * 5
    assert optimizer.confirm(design, better).verdict == "better"
    assert optimizer.confirm(design, better).held


def test_limits_are_counted():
    limits = {"mass": AtMost(1.6, probability=0.9)}
    optimizer = searched(2, constraints=limits)
    design = optimizer.recommend().params
    good = [{"value": f(design), "mass": 1.3}] * 9 + [{"value": f(design), "mass": 1.7}]
    kept = optimizer.confirm(design, good).constraints["mass"]
    assert (kept.kept, kept.runs, kept.verdict) == (9, 10, "held")
    assert kept.least == pytest.approx(0.606, abs=1e-3)  # Clopper and Pearson
    bad = [{"value": f(design), "mass": 1.7}] * 8 + [{"value": f(design), "mass": 1.3}] * 2
    found = optimizer.confirm(design, bad)
    assert found.constraints["mass"].verdict == "worse"
    assert not found.held
    assert "mass: kept in 2 of 10 runs (asked: 90 %)" in str(found)


def test_failed_runs_are_counted_and_too_few_values_refused():
    optimizer = searched(3)
    design = optimizer.recommend().params
    found = optimizer.confirm(design, [f(design), None, f(design), f(design)])
    assert (found.runs, found.failed) == (3, 1)
    with pytest.raises(ValueError, match="1 of the runs gave a value, which says nothing"):
        optimizer.confirm(design, [1.0, None])
    with pytest.raises(ValueError, match="3 results, but 2 designs"):
        optimizer.confirm(design, [1.0] * 3, executed=[design, design])


def test_environments_are_part_of_what_is_used():
    noise = {"x": Normal(0.05), "y": Environment(Uniform(0.4, 0.5))}
    optimizer = searched(4, noise=noise)
    design = optimizer.recommend().params
    assert list(design) == ["x"]
    places = optimizer.perturbed(design, 8, seed=1)
    values = [f(place) for place in places]
    assert optimizer.confirm(design, values).held
    assert optimizer.confirm(design, values, executed=places).held


def test_nothing_is_told_and_the_same_is_said_again():
    optimizer = searched(5)
    design, trials = optimizer.recommend().params, optimizer.trials
    first = optimizer.confirm(design, [1.0, 1.1, 0.9])
    assert optimizer.confirm(design, [1.0, 1.1, 0.9]) == first
    assert optimizer.trials == trials
