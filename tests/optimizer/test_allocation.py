"""The cheapest tolerances, against brute force with the true function, and against Monte Carlo."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm, qmc

import meseta
from examples import some, thorough
from meseta.noise.perturbed import perturbed
from meseta.noise.widened import widened
from meseta.noise.width import width_of

DRAWS = qmc.Sobol(2, seed=0).random(2048)


def told(f, space, noise, num=25, **settings):
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=num, kernel="se", **settings)
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


def product(p):
    return p["a"] + 0.5 * p["b"] + 0.5 * (p["a"] - 1) * (p["b"] - 1)


SPACE = {"a": (0.0, 2.0), "b": (0.0, 2.0)}
NOISE = {"a": meseta.Normal(0.05), "b": meseta.Uniform(0.1)}


def share(f, goal, a, b, wa, wb):
    z = norm.ppf(DRAWS[:, 0]), 2 * DRAWS[:, 1] - 1
    values = f({"a": a + wa * z[0], "b": b + wb * z[1]})
    return float(((values >= goal.low) & (values <= goal.high)).mean())


def brute_force(f, goal, cost, widths_a, widths_b=None):
    """The cheapest of a dense grid of designs and widths; the widest b by bisection."""
    best = math.inf
    for a in np.linspace(0, 2, 21):
        for b in np.linspace(0, 2, 21):
            if share(f, goal, a, b, min(widths_a), 0.01) < goal.probability:
                continue
            for wa in widths_a:
                low, high = 0.01, 1.0
                if share(f, goal, a, b, wa, low) < goal.probability:
                    continue
                if share(f, goal, a, b, wa, high) >= goal.probability:
                    low = high
                for _ in range(10):
                    middle = math.sqrt(low * high)
                    good = share(f, goal, a, b, wa, middle) >= goal.probability
                    low, high = (middle, high) if good else (low, middle)
                best = min(best, cost(wa, low))
    return best


@pytest.fixture(scope="module")
def optimizer():
    return told(product, SPACE, NOISE, seed=1)


GOAL = meseta.Between(1.3, 1.7, 0.95)


def check_true(made, goal, f=product):
    widths = [made.tolerances[n].width if n in made.tolerances else w
              for n, w in (("a", 0.05), ("b", 0.1))]  # fmt: skip
    assert share(f, goal, made.params["a"], made.params["b"], *widths) >= goal.probability - 0.006


def test_the_cheapest_is_that_of_brute_force(optimizer):
    made = optimizer.allocate(GOAL, {"a": "0.1 / width", "b": "0.3 / width"})
    best = brute_force(
        product, GOAL, lambda wa, wb: 0.1 / wa + 0.3 / wb, np.geomspace(0.02, 0.2, 16)
    )
    assert made.met == "sure"
    assert made.sure >= 0.95
    assert made.cost == pytest.approx(best, rel=0.03)
    assert made.today_cost == pytest.approx(0.1 / 0.05 + 0.3 / 0.1)
    check_true(made, GOAL)
    assert made.experiment is None
    assert "cheapest tolerances that meet the goal" in str(made)


@thorough
def test_grades_are_chosen_among_those_there_are(optimizer):
    grades = {0.02: 5.0, 0.05: 2.0, 0.1: 1.0, 0.2: 0.5}
    made = optimizer.allocate(GOAL, {"a": grades, "b": "0.3 / width"})
    best = brute_force(product, GOAL, lambda wa, wb: grades[wa] + 0.3 / wb, list(grades))
    assert made.tolerances["a"].width == pytest.approx(0.1)
    assert made.cost == pytest.approx(best, rel=0.03)
    check_true(made, GOAL)


def test_widths_stay_in_their_ranges_and_others_as_they_are(optimizer):
    made = optimizer.allocate(GOAL, {"a": "1 / width"}, widths={"a": (0.01, 0.06)})
    assert set(made.tolerances) == {"a"}
    assert made.tolerances["a"].width == pytest.approx(0.06, rel=1e-2)
    check_true(made, GOAL)


def test_what_cannot_be_met_is_said(optimizer):
    made = optimizer.allocate(
        meseta.Between(1.45, 1.55, 0.99), {"a": "1 / width"}, widths={"a": (0.2, 0.5)}
    )
    assert made.met == "not met"
    assert "no tolerances in these ranges" in str(made)
    assert set(made.experiment) == {"a", "b"}


def test_where_little_is_known_it_is_a_best_guess():
    few = told(lambda p: math.sin(5 * p["x"]), {"x": (0.0, 2.0)}, {"x": meseta.Normal(0.05)}, 4)
    made = few.allocate(meseta.AtLeast(0.5, 0.95), {"x": "1 / width"}, confidence=0.99)
    assert made.met in ("best guess", "not met")
    assert made.sure < 0.99
    assert 0 <= made.experiment["x"] <= 2


@pytest.mark.parametrize(
    ("goal", "costs", "settings", "says"),
    [
        (None, {"a": "1/width"}, {}, "no goal"),
        (GOAL, {}, {}, "no tolerance has a price"),
        (GOAL, {"c": "1/width"}, {}, "'c'"),
        (GOAL, {"a": "1/width"}, {"confidence": 95}, "write 0.95"),
        (GOAL, {"a": "1/width"}, {"confidence": 0.9999}, "surest that can be told; got 0.9999$"),
        (0.8, {"a": "1/width"}, {}, "AtLeast"),
    ],
)
def test_what_makes_no_sense_is_refused(optimizer, goal, costs, settings, says):
    with pytest.raises((TypeError, ValueError), match=says):
        optimizer.allocate(goal, costs, **settings)


def test_noise_without_a_width_of_its_own_has_no_price():
    shared = told(product, SPACE, {("a", "b"): meseta.Shared(meseta.Normal(0.1))}, 5)
    with pytest.raises(ValueError, match="shares noise"):
        shared.allocate(GOAL, {"a": "1/width"})
    none = told(product, SPACE, {"a": meseta.Normal(0.1)}, 5)
    with pytest.raises(ValueError, match="has no noise"):
        none.allocate(GOAL, {"b": "1/width"})


LAWS = [
    meseta.Normal(0.05),
    meseta.Uniform(0.1, mean=0.02),
    meseta.Triangular(0.1),
    meseta.LogNormal(0.08),
    meseta.Normal(0.05, relative=True),
    meseta.StudentT(5, 0.04),
]
CASES = [
    (law, edge, direction, kind)
    for law in LAWS
    for edge in ("allow", "clip", "reflect", "truncate")
    for direction in ("maximize", "minimize")
    for kind in ("float", "log", "int", "environment", "constraint", "unseen")
]


@pytest.mark.parametrize(("law", "edge", "direction", "kind"), some(CASES, 97))
def test_the_answer_holds_by_monte_carlo_with_the_true_function(law, edge, direction, kind):
    """Of any law, edge, scale, and with other parameters: the true share is the one asked for."""

    def f(p):
        other = p.get("n", 1.0) * 0.05 + p.get("t", 0.0) * 0.02
        return 0.8 * p["x"] - 0.12 * p["x"] ** 2 - 0.7 + 0.3 * p["y"] + other

    space = {"x": meseta.Float(0.5, 3.0, log=kind == "log"), "y": (0.0, 1.0)}
    noise = {"x": law, "y": meseta.Normal(0.05)}
    settings = {"edge": {"x": edge}, "direction": direction, "seed": 3}
    if kind == "int":
        space["n"] = meseta.Int(1, 3)
    if kind == "environment":
        space["t"] = (-1.0, 1.0)
        noise["t"] = meseta.Environment(meseta.Normal(0.4))
    if kind == "unseen":
        settings["executed"] = "unseen"
    if kind == "constraint":
        settings |= {"constraints": {"g": meseta.AtMost(3.0, 0.9)}}
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=30, kernel="se", **settings)
    for number in range(30):
        p = optimizer.ask()
        value = f(optimizer.perturbed(p, 1, seed=number)[0] if kind == "unseen" else p)
        optimizer.tell(p, {"value": value, "g": p["x"] + p["y"]} if kind == "constraint" else value)
    goal = meseta.AtLeast(0.2, 0.9) if direction == "maximize" else meseta.AtMost(0.45, 0.9)
    width = width_of(law)
    between = {"x": (width / 4, 2 * width), "y": (0.01, 0.1)}
    costs = {"x": "0.1 / width", "y": "0.1 / width"}
    made = optimizer.allocate(goal, costs, widths=between)
    if kind == "unseen":  # the noise is in the values: it may be a best guess
        assert made.met in ("sure", "best guess")
        return
    assert made.met == "sure"
    inner, space = optimizer.law, optimizer.space
    for name, each in made.tolerances.items():
        inner = widened(inner, space.columns_of(name).start, each.factor)
    variables = tuple(optimizer.environments.variables)
    x = space.to_tensor(optimizer.environments.complete(made.params, variables))
    z = perturbed(inner, x.expand(20000, -1), torch.Generator().manual_seed(5))
    used = [space.to_values(row) for row in z]
    kept = np.mean([goal.low <= f(p) <= goal.high for p in used])
    assert kept >= 0.9 - 0.012
    if kind == "constraint":
        assert np.mean([p["x"] + p["y"] <= 3.0 for p in used]) >= 0.9 - 0.012
