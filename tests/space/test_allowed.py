"""Known constraints of designs: read, kept by all that is asked for, and climbed along."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import meseta
from examples import examples, some, thorough
from meseta.space.allowed import read_linear
from meseta.space.space import Space

NAMES = ["water", "acid", "flow rate", "acid 2"]


@pytest.mark.parametrize(
    ("text", "weights", "limit"),
    [
        ("water + acid <= 1", {"water": 1, "acid": 1}, 1),
        ("2*water - 0.5 acid<=1e-1", {"water": 2, "acid": -0.5}, 0.1),
        ("water >= acid", {"water": -1, "acid": 1}, 0),
        ("1 ≥ flow rate + 3 * acid 2", {"flow rate": 1, "acid 2": 3}, 1),
        ("water + 1 <= 2 * acid + 3", {"water": 1, "acid": -2}, 2),
        ("-water <= -.25", {"water": -1}, -0.25),
        ("water + water < 1", {"water": 2}, 1),
        ("water <= 3 * -acid + 3.5", {"water": 1, "acid": 3}, 3.5),
        ("acid * 2 - -water <= 2 * -1", {"acid": 2, "water": 1}, -2),
    ],
)
def test_inequalities_are_read(text, weights, limit):
    rule = read_linear(text, NAMES)
    assert dict(rule.weights) == weights
    assert rule.limit == pytest.approx(limit)
    assert str(rule) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("water + acid", "must be one inequality"),
        ("water + acid = 1", "leave out the parameter that follows"),
        ("water + acids <= 1", "there is no number 'acids' \\(did you mean 'acid'\\?\\)"),
        ("water acid <= 1", "must have \\+ or - between"),
        ("1 <= 2", "must name a parameter"),
        ("water - water <= 2", "must name a parameter"),
        ("0 <= water <= 1", "must be one inequality"),
        ("water <=", "must have something on both sides"),
        ("water * acid <= 1", "must be linear"),
        ("2 * <= acid", "nothing behind it"),
        ("1.2.3 * acid <= 1", "there is no number '1.2.3'"),
    ],
)
def test_what_is_no_inequality_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        read_linear(text, NAMES)


SPACE = {
    "a": (0.0, 1.0),
    "b": (2.0, 6.0),
    "n": meseta.Int(1, 9),
    "kind": meseta.Categorical(list("xyz")),
}


def half(design):
    return design["a"] + design["b"] / 6 <= 0.9 and (design["kind"] != "y" or design["n"] < 5)


def test_every_point_of_the_sequences_is_allowed():
    space = Space(SPACE).restricted(["a + 0.1 * n <= 0.9", half])
    cube = space.cube
    for rows in (
        cube.sobol(100, torch.Generator().manual_seed(0)),
        cube.sobol_sequence(3, 50, 1),
        cube.snap(torch.rand(60, cube.dimension, dtype=torch.double)),
    ):
        assert all(space.allows(space.from_cube(row)) for row in rows)
    whole, later = cube.sobol_sequence(0, 30, 5), cube.sobol_sequence(10, 20, 5)
    assert torch.equal(whole[10:], later)
    assert len({tuple(row.tolist()) for row in whole}) > 25


@examples(25)
@given(st.integers(0, 10**6), st.floats(0.05, 1.9))
def test_a_row_is_brought_back_next_to_where_it_was(seed, limit):
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}).restricted(f"a + b <= {limit}")
    x = torch.rand(20, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    back = space.cube.snap(x)
    inside = x.sum(-1) <= limit
    assert torch.equal(back[inside], x[inside])
    assert (back.sum(-1) <= limit + 1e-6).all()
    # the way back is not much longer than straight to the border
    straight = (x.sum(-1) - limit).clamp_min(0) / 2**0.5
    assert ((back - x).norm(dim=-1) <= 2.5 * straight + 0.06).all()


def test_a_climb_goes_along_the_border():
    """The highest point within a disc, by a function that says no more than yes or no."""
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}).restricted(
        lambda p: (p["a"] - 0.4) ** 2 + (p["b"] - 0.4) ** 2 <= 0.09
    )
    start = space.cube.sobol(4, torch.Generator().manual_seed(1))
    ascent = space.cube.ascend(lambda _, x: x[:, 0] + 2 * x[:, 1], start)
    best = ascent.x[ascent.value.argmax()]
    exact = 0.4 + 0.3 * np.array([1.0, 2.0]) / 5**0.5
    assert best.tolist() == pytest.approx(exact.tolist(), abs=5e-3)
    assert space.allows(space.from_cube(best))


def test_rules_that_allow_nothing_or_fail_are_refused():
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    with pytest.raises(ValueError, match="no design is allowed by 'a \\+ b <= -1'"):
        meseta.Optimizer(space, allowed="a + b <= -1")
    with pytest.raises(ValueError, match=r"fails at .*ZeroDivisionError"):
        meseta.Optimizer(space, allowed=lambda p: 1 / 0 > 1)
    with pytest.raises(TypeError, match="must return True or False, got"):
        meseta.Optimizer(space, allowed=lambda p: p["a"])
    with pytest.raises(TypeError, match="allowed must be an inequality such as"):
        meseta.Optimizer(space, allowed=3)
    with pytest.raises(ValueError, match="initial points must be allowed"):
        meseta.Optimizer(space, allowed="a <= 0.5", initial=[{"a": 0.9, "b": 0.1}])


@pytest.mark.parametrize("method", some(["rkg", "nes-ep", "sobol", "uu-ei"], 2))
def test_whatever_is_asked_for_and_recommended_is_allowed(method):
    space = {"a": (0.0, 1.0), "b": meseta.Float(0.1, 10.0, log=True), "n": meseta.Int(0, 4)}
    rules = ["a + 0.2 * n <= 1", lambda p: p["b"] <= 5 or p["a"] > 0.5]
    noise = {"a": meseta.Normal(0.02)}
    optimizer = meseta.Optimizer(space, noise=noise, allowed=rules, method=method)
    for _ in range(9):
        params = optimizer.ask()
        assert params["a"] + 0.2 * params["n"] <= 1 + 1e-9
        assert params["b"] <= 5 or params["a"] > 0.5
        optimizer.tell(params, params["a"] + params["n"] / 4 + params["b"] / 10)
    best = optimizer.recommend().params
    assert best["a"] + 0.2 * best["n"] <= 1 + 1e-9
    assert best["b"] <= 5 or best["a"] > 0.5


@thorough
def test_a_mixture_whose_optimum_is_on_the_border():
    """-(a - 0.8)^2 - 2 (b - 0.9)^2 with a + b <= 1 is highest at (1/3, 2/3)."""
    result = meseta.maximize(
        lambda p: -((p["a"] - 0.8) ** 2) - 2 * (p["b"] - 0.9) ** 2,
        {"a": (0.0, 1.0), "b": (0.0, 1.0)},
        noise=meseta.Normal(0.01),
        allowed="a + b <= 1",
        budget=12,
        progress=False,
    )
    assert list(result.params.values()) == pytest.approx([1 / 3, 2 / 3], abs=0.02)
    assert all(t.params["a"] + t.params["b"] <= 1 + 1e-9 for t in result.trials)


def test_points_that_are_told_need_not_be_allowed():
    optimizer = meseta.Optimizer({"a": (0.0, 1.0)}, allowed="a <= 0.5")
    optimizer.tell({"a": 0.9}, 1.0)
    optimizer.tell({"a": 0.2}, 0.5)
    assert optimizer.recommend().params["a"] <= 0.5 + 1e-9


def test_a_mixture_of_eight_parts():
    """One of forty thousand points keeps it; the middle is found by linear programming."""
    space = dict.fromkeys("abcdefgh", (0.0, 1.0))
    rule = " + ".join(space) + " <= 1"
    optimizer = meseta.Optimizer(space, noise={"a": meseta.Normal(0.01)}, allowed=rule)
    designs = optimizer.ask(20)
    assert all(sum(each.values()) <= 1 + 1e-6 for each in designs)
    assert len({tuple(each.values()) for each in designs}) == 20


@pytest.mark.parametrize("rule", ["a <= m", lambda p: p["a"] <= p["m"]])
def test_rules_are_not_about_environments(rule):
    space = {"a": (0.0, 1.0), "m": (0.0, 1.0)}
    noise = {"m": meseta.Environment(meseta.Normal(0.1, mean=0.3))}
    with pytest.raises(ValueError, match="allowed"):
        meseta.Optimizer(space, noise=noise, allowed=rule)


def test_a_rule_that_allows_little_is_not_asked_for_ever():
    calls = []

    def rule(params):
        calls.append(params)
        return abs(params["a"] - 0.5) < 0.002

    optimizer = meseta.Optimizer({"a": (0.0, 1.0), "b": (0.0, 1.0)}, allowed=rule)
    for _ in range(6):
        params = optimizer.ask()
        assert abs(params["a"] - 0.5) < 0.002
        optimizer.tell(params, params["b"])
    assert len(calls) < 200_000
