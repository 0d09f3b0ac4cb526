"""The operating window, against brute force with the true function."""

import itertools

import numpy as np
import pytest
import torch
from scipy.stats import norm, qmc

import meseta
from examples import some
from meseta.gp.in_use import sampled_f
from meseta.optimizer.empty_box import Box, largest_box
from meseta.optimizer.goals import goals_of


def told(f, space, noise, num, **settings):
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=num, kernel="se", **settings)
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


def brute_force(f, names, goal, noise, center, num):
    """The volume of the largest box of a grid around a design in which the goal is met."""
    d, axis = len(names), np.linspace(-1, 1, num)
    xi = noise * norm.ppf(qmc.Sobol(d, seed=0).random(256))
    met = np.empty((num,) * d, dtype=bool)
    for index in np.ndindex(met.shape):
        z = axis[list(index)] + xi
        values = f(dict(zip(names, z.T, strict=True)))
        met[index] = ((values >= goal.low) & (values <= goal.high)).mean() >= goal.probability
    missed = np.pad((~met).astype(int), [(1, 0)] * d)
    for k in range(d):
        missed = missed.cumsum(k)
    at = [round((center[name] + 1) / 2 * (num - 1)) for name in names]
    best = 0.0
    for low in itertools.product(*(range(i + 1) for i in at)):
        for high in itertools.product(*(range(i, num) for i in at)):
            volume = np.prod([(h - a) / (num - 1) for a, h in zip(low, high, strict=True)])
            if volume <= best:
                continue
            corners = itertools.product((0, 1), repeat=d)
            count = sum(
                (-1) ** (d - sum(c))
                * missed[tuple(h + 1 if b else a for b, a, h in zip(c, low, high, strict=True))]
                for c in corners
            )
            best = max(best, volume) if count == 0 else best
    return best


@pytest.mark.parametrize(("d", "num", "grid"), some([(2, 22, 41), (3, 40, 13), (1, 12, 201)], 2))
def test_the_window_is_that_of_brute_force(monkeypatch, d, num, grid):
    names = "abc"[:d]

    def f(p):
        cross = 0.3 * p["a"] * p[names[-1]] if d > 1 else 0.2 * p["a"]
        return 1 - sum(p[name] ** 2 for name in names) + cross

    noise = {name: meseta.Normal(0.03) for name in names}
    optimizer = told(f, dict.fromkeys(names, (-1.0, 1.0)), noise, num)
    goal = meseta.AtLeast(0.6, 0.9)
    made = optimizer.window(goal)
    best = brute_force(f, names, goal, 0.03, made.params, grid)
    one = 2 / (grid - 1)  # the grid leaves out up to a step at each side
    most = np.prod([side.share + one for side in made.sides.values()])
    assert best <= most * 1.02
    assert made.share >= 0.93 * best
    assert made.sure >= 0.95
    # and the truth, all over the window
    random = np.random.default_rng(0)
    xi = 0.03 * norm.ppf(qmc.Sobol(d, seed=1).random(1024))
    for _ in range(200):
        x = [random.choice([s.low, s.high, random.uniform(s.low, s.high)])
             for s in made.sides.values()]  # fmt: skip
        values = f(dict(zip(names, (np.array(x) + xi).T, strict=True)))
        assert (values >= 0.6).mean() >= 0.9 - 0.012
    for name, side in made.sides.items():
        assert side.low <= made.params[name] <= side.high
    assert "the goal is met wherever these settings lie" in str(made)
    monkeypatch.setattr(type(made), "share", 1.0)
    assert "these settings lie, 100 % of the ranges" in made.verdict


def ridge(p):
    return 1 - 4 * (p["a"] - p["b"]) ** 2 - 0.5 * (p["a"] + p["b"] - 1) ** 2


def slope(p):
    return p["a"] + 0.5 * p["b"] + 0.3 * np.sin(3 * p["a"])


@pytest.mark.parametrize(
    ("f", "goal", "params"),
    [
        (ridge, meseta.AtLeast(0.6, 0.9), None),
        (slope, meseta.Between(0.5, 1.1, 0.9), {"a": 0.4, "b": 0.4}),
    ],
)
def test_every_place_in_the_window_is_as_sure_as_was_asked_for(f, goal, params):
    """By other draws of the noise and of f than those that found it."""
    random = np.random.default_rng(0)
    noise = {"a": meseta.Normal(0.04), "b": meseta.Uniform(0.05)}
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    optimizer = told(
        lambda p: f(p) + 0.03 * random.normal(), space, noise, 14, seed=3, scatter_in_use="none"
    )
    made = optimizer.window(goal, params=params, confidence=0.8)
    (one,) = goals_of(optimizer, goal)
    generator = torch.Generator().manual_seed(9)

    def sure(design):
        x = optimizer.environments.to_row(design)
        xi = torch.from_numpy(qmc.Sobol(2, seed=4).random(1024))
        z = torch.stack([0.04 * torch.special.ndtri(xi[:, 0]), 0.05 * (2 * xi[:, 1] - 1)], dim=1)
        values = sampled_f(one.fitted.mixture, x + z, 2000, generator)
        kept = (one.margin.worst(values) >= 0).double().mean(-1)
        return (kept >= goal.probability).double().mean().item()

    sides = made.sides.values()
    assert sure(made.worst) == pytest.approx(made.sure, abs=0.05)
    for at in itertools.product(*((side.low, side.high) for side in sides)):
        assert sure(dict(zip("ab", at, strict=True))) >= 0.8 - 0.05


def test_settings_that_do_not_take_any_value_stay_and_rules_hold():
    space = {
        "a": (0.0, 1.0),
        "b": meseta.Float(0.1, 10.0, log=True),
        "n": meseta.Int(1, 3),
        "t": (0.0, 1.0),
    }
    noise = {"a": meseta.Normal(0.02), "t": meseta.Environment(meseta.Uniform(0.2, mean=0.5))}
    optimizer = told(
        lambda p: p["a"] + 0.1 * np.log(p["b"]) + 0.01 * p["n"] + 0.1 * p["t"],
        space,
        noise,
        25,
        allowed="a + 0.05 * b <= 1",
        constraints={"value": meseta.AtLeast(0.4, 0.9)},
    )
    made = optimizer.window()
    assert set(made.sides) == {"a", "b"}
    assert set(made.fixed) == {"n"}
    high = {name: side.high for name, side in made.sides.items()}
    assert high["a"] + 0.05 * high["b"] <= 1 + 1e-6
    assert made.share > 0


def test_where_there_is_none_it_says_why():
    noise = {"x": meseta.Normal(0.05)}
    known = told(lambda p: -(p["x"] ** 2), {"x": (-1.0, 1.0)}, noise, 12)
    never = known.window(meseta.AtLeast(0.5, 0.9))
    assert not never.found
    assert "not met even at the design" in str(never)
    few = told(lambda p: np.sin(9 * p["x"]), {"x": (-1.0, 1.0)}, noise, 4)
    unsure = few.window(meseta.AtLeast(0.0, 0.9), confidence=0.999)
    assert not unsure.found
    assert set(unsure.experiment) == {"x"}
    for goal, settings, says in (
        (None, {}, "no goal"),
        (meseta.AtLeast(0.0), {"confidence": 1.0}, "confidence"),
        (meseta.AtLeast(0.0), {"params": {"y": 1.0}}, "y"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            known.window(goal, **settings)


def test_the_largest_empty_box_is_that_of_all_sides():
    """In two dimensions every side is that of a point, or of the whole."""
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        points = torch.rand(8, 2, generator=generator, dtype=torch.double)
        center = torch.tensor([0.4, 0.6], dtype=torch.double)
        whole = Box(torch.zeros(2).double(), torch.ones(2).double())
        found = largest_box(center, points, whole)
        ends = [[0.0, 1.0, *points[:, i].tolist()] for i in range(2)]
        best = 0.0
        for low in itertools.product(*ends):
            for high in itertools.product(*ends):
                box = torch.tensor([low, high], dtype=torch.double)
                if (box[0] <= center).all() and (center <= box[1]).all():
                    inside = ((points > box[0]) & (points < box[1])).all(-1).any()
                    best = max(best, 0.0 if inside else float((box[1] - box[0]).prod()))
        assert found.volume == pytest.approx(best)


def test_a_box_around_a_center_at_the_end_of_a_range_is_cut_there_as_well():
    """A point beside the center on that end lies in every box that no other side cuts off."""
    center = torch.tensor([0.5, 1.0], dtype=torch.double)
    points = torch.tensor([[0.7, 1.0], [0.4, 0.2]], dtype=torch.double)
    whole = Box(torch.zeros(2).double(), torch.ones(2).double())
    found = largest_box(center, points, whole)
    assert found.high.tolist() == [0.7, 1.0]
    assert found.volume == pytest.approx(0.7 * 0.8)


def test_a_design_at_the_end_of_a_range_has_a_window():
    noise = {"x": meseta.Normal(0.03), "y": meseta.Normal(0.03)}
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    optimizer = told(lambda p: p["y"] - 4 * (p["x"] - 0.4) ** 2, space, noise, 20)
    made = optimizer.window(meseta.AtLeast(0.7, 0.95), params={"x": 0.4, "y": 1.0})
    assert made.found
    assert made.sides["y"].high == 1.0
    assert made.sides["x"].high < 0.75  # 1 - 4 * 0.27^2 = 0.7


def test_a_design_on_the_border_of_what_is_allowed_has_a_window_on_its_other_sides():
    """Where a constraint sets the best design, it is a corner of the window."""

    def f(p):
        value = -((p["x"] - 0.7) ** 2) - (p["y"] - 0.6) ** 2
        return {"value": value, "stress": p["x"] + p["y"]}

    noise = {"x": meseta.Normal(0.03), "y": meseta.Normal(0.03)}
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    limits = {"stress": meseta.AtMost(1.0, probability=0.9)}
    optimizer = told(f, space, noise, 16, objective="value", constraints=limits)
    made = optimizer.window(None)
    x, y = (made.params[name] for name in "xy")
    assert norm.cdf((1 - x - y) / (0.03 * 2**0.5)) == pytest.approx(0.9, abs=0.01)
    assert made.found
    assert made.share > 0.95 * x * y
    corner = sum(side.high for side in made.sides.values())
    assert norm.cdf((1 - corner) / (0.03 * 2**0.5)) > 0.89


def test_a_box_around_a_point_that_it_must_not_hold_is_none():
    center = torch.tensor([0.4], dtype=torch.double)
    whole = Box(torch.zeros(1).double(), torch.ones(1).double())
    assert largest_box(center, torch.tensor([[0.7], [0.4]], dtype=torch.double), whole).volume == 0
