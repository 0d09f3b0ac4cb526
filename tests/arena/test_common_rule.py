"""The common rule, and tasks as entrants see them."""

import json

import numpy as np
import pytest

from meseta.arena.common_rule import common_rule
from meseta.arena.match import initial_design
from meseta.arena.posed import NUM_DRAWS, posed
from meseta.arena.task import Task
from meseta.problems import get, names


def test_the_common_rule_recommends_by_the_data_alone():
    problem = get("sin-linear")
    x = [{"x": value} for value in np.linspace(0, 1, 12)]
    values = [{"value": float(problem.f([[each["x"]]])[0])} for each in x]
    best = common_rule(problem, x, values, seed=0)
    assert problem.regret([problem.row(best)])[0] < 0.02


@pytest.mark.parametrize("name", names())
def test_every_problem_becomes_a_task_of_plain_data(name):
    problem = get(name)
    told = json.loads(json.dumps(posed(problem, 0, problem.budget), allow_nan=False))
    task = Task(**told)
    assert [each["name"] for each in task.parameters] == list(problem.names)
    assert [each["name"] for each in task.environment] == list(problem.environment)
    assert set(task.limits) == set(problem.constraints)
    rng = np.random.default_rng(0)
    for params in initial_design(problem, 0)[:2]:
        design = {each: params[each] for each in problem.names}
        points = task.in_use(design, task.draw(NUM_DRAWS, rng))
        ours = np.array([problem.row(point) for point in points])
        theirs = problem.in_use([problem.row(design)], 20_000, seed=1)[:, 0]
        scale = theirs.std(0) + 1e-9 * (1 + np.abs(theirs).max(0))
        # quasi-random against random: five standard errors of the latter
        assert np.abs(ours.mean(0) - theirs.mean(0)) / scale == pytest.approx(0, abs=0.05)
        assert (ours.std(0) + scale) / (theirs.std(0) + scale) == pytest.approx(1, abs=0.06)


def test_few_draws_are_spread_evenly():
    task = Task(**posed(get("sin-linear"), 0, 20))
    rng = np.random.default_rng(1)
    drawn = task.draw(64, rng)["x"]
    assert abs(drawn.mean()) < 0.05 * 0.06  # random ones: 0.125 of a standard deviation
    assert len(task.draw(5, rng)["x"]) == 5
    with pytest.raises(ValueError, match="there are 2048 draws, got n = 5000"):
        task.draw(5000, rng)
