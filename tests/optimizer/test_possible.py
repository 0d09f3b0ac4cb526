"""Values that cannot be: refused by every door, and not predicted."""

import json
import math

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meseta
from command_line import typed
from examples import examples
from meseta import Normal, Optimizer
from meseta.integrations.optuna import RobustSampler, recommend
from meseta.report import for_optimizer


@pytest.mark.parametrize(
    "possible", [3, "01", (0,), (1, 0), (0, 0), (math.nan, 1), ("0", 1), (None, 1), (True, 2)]
)
def test_nonsense_is_refused(possible):
    with pytest.raises((TypeError, ValueError), match="smallest, largest"):
        Optimizer({"x": (0, 1)}, possible=possible)


def test_a_value_that_cannot_be_is_not_told():
    optimizer = Optimizer({"x": (0, 1)}, possible=(0, 1))
    params = optimizer.ask()
    for value in (-1e-9, 1.5):
        with pytest.raises(ValueError, match="must lie between 0 and 1"):
            optimizer.tell(params, value)
    assert not optimizer.has_values
    optimizer.tell(params, 0.0)
    optimizer.tell({"x": 0.5}, 1.0)
    other = Optimizer({"x": (0, 1)})
    other.tell({"x": 0.5}, 2.0)
    with pytest.raises(ValueError, match="trial 0 must lie between 0 and 1"):
        optimizer.with_trials(other.trials)


@given(
    direction=st.sampled_from(["maximize", "minimize"]),
    kernel=st.sampled_from(["se", "matern52", "auto"]),
    ends=st.sampled_from([(0.0, 1.0), (0.0, math.inf), (-math.inf, 1.0)]),
    seed=st.integers(0, 10**6),
)
@examples(8)
def test_nothing_impossible_is_predicted(direction, kernel, ends, seed):
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(
        {"x": (0, 1)}, noise=Normal(0.1), possible=ends, direction=direction, kernel=kernel
    )
    free = Optimizer({"x": (0, 1)}, noise=Normal(0.1), direction=direction, kernel=kernel)
    for _ in range(6):  # close to one end or the other, so that a model overshoots
        x, value = rng.random(), float(rng.integers(0, 2)) * (0.95 + 0.05 * rng.random())
        for each in (optimizer, free):
            each.tell({"x": x}, value)
    low, high = ends
    for best, of_model in (
        (optimizer.recommend(), free.recommend()),
        (optimizer.nominal(), free.nominal()),
    ):
        assert best.params == of_model.params  # the search is what it was
        assert low <= best.interval[0] <= best.mean <= best.interval[1] <= high
        assert best.mean == min(max(of_model.mean, low), high)
        assert best.nominal_mean == min(max(of_model.nominal_mean, low), high)
        # a model that is wrong by so much cannot be surer
        assert best.std == pytest.approx(math.hypot(of_model.std, best.mean - of_model.mean))
        # what was possible before is so now
        assert best.interval[0] <= max(low, of_model.interval[0]) + 1e-12
        assert best.interval[1] >= min(high, of_model.interval[1]) - 1e-12


def test_a_run_counts_impossible_values_as_failures():
    with pytest.warns(RuntimeWarning, match="must lie between 0 and inf"):
        result = meseta.minimize(
            lambda p: p["x"] - 0.3,
            {"x": (0, 1)},
            noise=Normal(0.05),
            possible=(0, math.inf),
            budget=8,
            progress=False,
        )
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert failed
    assert "no other is possible" in failed[0].error
    assert result.interval[0] >= 0


def defects(p):
    return max(0.0, abs(p["x"] - 0.4) - 0.3) ** 2


def test_the_report_says_what_it_has_cut():
    optimizer = Optimizer(
        {"x": (0, 1)}, noise=Normal(0.1), possible=(0, math.inf), direction="minimize"
    )
    for x in (0.0, 0.15, 0.4, 0.9, 1.0):
        optimizer.tell({"x": x}, defects({"x": x}))
    views = for_optimizer(optimizer).report
    values = views.outcomes.robust.values
    assert min(values) >= 0
    (finding,) = [each for each in views.search.findings if each.topic == "values"]
    assert "are impossible (below 0 or above inf)" in finding.text


FILE = """
version = 1
[study]
budget = 6
direction = "minimize"
possible = [0, inf]
[objective]
python = "line:defects"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
"""


def test_a_study_file_refuses_them_before_anything_is_stored(folder):
    (folder / "line.toml").write_text(FILE)
    (asked,) = json.loads(typed("ask", "line.toml", "--json").stdout)
    refused = typed("tell", "line.toml", asked["trial"], "-0.2", code=2)
    assert "must lie between 0 and inf" in refused.stderr
    typed("tell", "line.toml", asked["trial"], "0.2")
    (folder / "rows.csv").write_text("x,value\n0.5,-1\n")
    assert "must lie between" in typed("import", "line.toml", "rows.csv", code=2).stderr
    (folder / "line.py").write_text("def defects(p):\n    return p['x'] - 0.5\n")
    typed("run", "line.toml", "--quiet") if False else typed("run", "line.toml")
    states = [
        row["state"] for row in json.loads(typed("status", "line.toml", "--json").stdout)["trials"]
    ]
    assert "failed" in states
    (folder / "line.toml").write_text(FILE.replace("[0, inf]", "[1, 0]"))
    assert "must be [smallest, largest]" in typed("status", "line.toml", code=2).stderr


def test_trials_of_a_study_that_cannot_be_are_left_out_with_a_note():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) - 0.6, n_trials=12)
    answer = recommend(study, noise={"x": Normal(0.05)}, possible=(0, math.inf))
    assert any("must lie between 0 and inf" in note for note in answer.notes)
    assert answer.interval[0] >= 0
    sampler = RobustSampler(noise=None, possible=(0, math.inf), seed=0, num_initial=2)
    study.sampler = sampler
    with pytest.warns(RuntimeWarning, match="no other is possible"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
