"""How far tolerances may be loosened, against brute force with the true function."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm, qmc

import meseta
from examples import some
from meseta.gp.limited import sure_of, surplus
from meseta.noise.widened import widened
from meseta.optimizer.allocation import search_of
from meseta.optimizer.goals import SUREST, goals_of
from meseta.optimizer.loosened import CLOSE, GRID, MOST, Asked, Loosening

Z = norm.ppf(qmc.Sobol(2, seed=0).random(2**14))
CORRELATED = [[0.01, 0.008], [0.008, 0.01]]


def told(f, space, noise, num, **settings):
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=num, kernel="se", **settings)
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


def loosening(optimizer, goal, confidence):
    return Loosening(search_of(optimizer, goals_of(optimizer, goal)), confidence)


def brute_force(kept, probability):
    """The widest factor from today on upwards, or below; None: nothing is met."""
    t = np.linspace(-MOST, MOST, 1001)
    good = np.array([kept(math.exp(each)).mean() >= probability for each in t])
    today = len(t) // 2
    if not good[: today + 1].any():
        return None
    if good[today]:
        end = today + int((~good[today:]).argmax()) - 1 if not good[today:].all() else len(t) - 1
    else:
        end = int(good[:today].nonzero()[0][-1])
    return math.exp(t[end])


def parabola(p):
    return 1 - p["a"] ** 2 - 0.3 * (p["b"] - 0.2) ** 2


def difference(p):
    return 1 - (p["a"] - p["b"] - 0.1) ** 2 - 0.1 * p["a"]


def pressed(p):
    value = (p["a"] - 0.7) ** 2 + (p["b"] - 0.6) ** 2
    return {"value": value, "stress": p["a"] + p["b"] + 0.3 * p["a"] * p["b"]}


def alone(t):
    return 0.1 * t[0] * Z[:, 0], 0.2 * t[1] * (2 * norm.cdf(Z[:, 1]) - 1)


def together(t):
    return 0.1 * t[0] * Z[:, 0], 0.1 * t[1] * (0.8 * Z[:, 0] + 0.6 * Z[:, 1])


def narrow(t):
    return 0.03 * t[0] * Z[:, 0], 0.03 * t[1] * Z[:, 1]


STRESS = meseta.AtMost(1.2, 0.9)
MINIMISED = {"direction": "minimize", "objective": "value", "constraints": {"stress": STRESS}}
# function, box, noise by name and drawn, settings, a goal that is met and one that is not
CASES = {
    "alone": (
        parabola,
        (-1.0, 1.0),
        ({"a": meseta.Normal(0.1), "b": meseta.Uniform(0.2)}, alone),
        {},
        (meseta.AtLeast(0.8, 0.95), meseta.AtLeast(0.97, 0.95)),
    ),
    "correlated": (
        difference,
        (-1.0, 1.0),
        ({("a", "b"): meseta.Normal(covariance=CORRELATED)}, together),
        {},
        (meseta.AtLeast(0.9, 0.9), meseta.AtLeast(1.0765, 0.9)),
    ),
    "minimised": (
        pressed,
        (0.0, 1.0),
        ({"a": meseta.Normal(0.03), "b": meseta.Normal(0.03)}, narrow),
        MINIMISED,
        (meseta.AtMost(0.2, 0.95), meseta.AtMost(0.0435, 0.9)),
    ),
}


@pytest.mark.parametrize("case", some(list(CASES), 2))
@pytest.mark.parametrize("tight", [False, True])
def test_factors_are_those_of_brute_force(case, tight):
    f, box, (noise, xi), settings, goals = CASES[case]
    space, goal = dict.fromkeys("ab", box), goals[tight]
    optimizer = told(f, space, noise, 40, **settings)
    at = optimizer.recommend().params
    constraint = settings.get("constraints", {}).get("stress")

    def kept(column, factor):
        each = [1.0, 1.0]
        each[column] = factor
        moved = xi(each)
        values = f({"a": at["a"] + moved[0], "b": at["b"] + moved[1]})
        both = values if isinstance(values, dict) else {"value": values}
        return [
            (both[name] >= limit.low) & (both[name] <= limit.high)
            for name, limit in (("value", goal), ("stress", constraint))
            if limit is not None
        ]

    limits = [limit for limit in (goal, constraint) if limit is not None]
    checked = 0
    for column, name in enumerate("ab"):
        each = [
            brute_force(lambda t, i=i, c=column: kept(c, t)[i], limit.probability)
            for i, limit in enumerate(limits)
        ]
        if None in each:
            continue
        checked += 1
        for confidence in (None, 0.9):
            found = loosening(optimizer, goal, confidence).of(name, column)
            assert found.kept == pytest.approx(min(each), rel=0.1)
            assert found.chosen >= found.kept
            assert tight is (found.kept < 1)
    assert checked


@pytest.fixture(scope="module")
def limited():
    """Noisy values of an objective and of two outcomes with limits."""
    random = np.random.default_rng(0)
    space = {"a": (0.1, 1.37), "b": (-0.3, 1.13)}
    noise = {"a": meseta.Normal(0.05), "b": meseta.Uniform(0.1)}
    limits = {"stress": meseta.AtMost(1.0, 0.9), "heat": meseta.Between(-0.3, 0.6, 0.9)}

    def f(p):
        value = -((p["a"] - 0.7) ** 2) - (p["b"] - 0.6) ** 2
        each = {"value": value, "stress": p["a"] + p["b"], "heat": p["a"] - p["b"] ** 2}
        return {name: one + 0.02 * random.normal() for name, one in each.items()}

    return told(f, space, noise, 16, objective="value", constraints=limits, seed=1)


def test_all_say_the_same_of_the_recommended_design(limited):
    best = limited.recommend()
    search = search_of(limited, goals_of(limited, None))
    assert sure_of(search.assessed(search.first[0], (), {})) == best.sure
    assert limited.promise(best.params).kept == best.kept
    assert limited.window().kept == best.kept
    assert limited.allocate(None, {"a": "1 / width"}).today_kept == best.kept
    # the least confidence that is not reached, and the most that is
    for confidence, met in ((best.sure, True), (min(0.999, best.sure + 0.002), False)):
        asked = Loosening(search, confidence)
        assert (asked.today >= 0) is met
        kept = asked.of("a", 0).kept
        assert (kept is not None and kept >= 1) is met


def test_the_surest_that_may_be_asked_for_can_be_told():
    optimizer = told(parabola, {"a": (0.0, 1.0), "b": (0.0, 1.0)}, meseta.Normal(0.01), 12)
    asked = loosening(optimizer, meseta.AtLeast(-100, 0.9), SUREST)
    assert asked.today > 0


def test_surplus_is_reached_where_it_is_sure_enough(limited):
    search = search_of(limited, goals_of(limited, meseta.AtLeast(-0.2, 0.9)))
    for x in torch.rand(8, 2, dtype=torch.double, generator=torch.Generator().manual_seed(0)):
        each = search.assessed(x, (), {})
        for confidence in (0.5, 0.7, 0.9, 0.95, 0.999, 0.9999):
            assert (surplus(each, confidence) >= 0) is (sure_of(each) >= confidence)


@pytest.mark.parametrize(
    "law",
    [
        meseta.Normal(0.1),
        meseta.Normal(0.05, relative=True),
        meseta.Uniform(0.1, mean=0.02),
        meseta.LogNormal(0.1),
        meseta.StudentT(5, 0.05),
        meseta.Environment(meseta.Uniform(0.2, mean=0.6)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_wider_draws_are_those_of_the_wider_law(law):
    space = {"a": (0.2, 1.0), "b": (0.2, 1.0)}
    optimizer = told(parabola, space, {"a": law, "b": meseta.Normal(0.05)}, 12)
    (goal,) = goals_of(optimizer, meseta.AtLeast(0.5, 0.9))
    x = torch.tensor([0.4, 0.5], dtype=torch.double)
    times = torch.tensor([[1.7, 1.0]], dtype=torch.double)
    by_factor = goal.assessment.at(x, times)
    by_law = goal.assessed(x, widened(optimizer.law, 0, 1.7))
    assert by_factor.share == pytest.approx(by_law.share, abs=1e-4)
    assert by_factor.margin.mean == pytest.approx(by_law.margin.mean, abs=1e-4)


@pytest.mark.parametrize("end", [-2.0, -0.4, -0.003, 0.0, 0.7, 2.2])
@pytest.mark.parametrize("guide", ["right", "off", "flat", "up and down"])
def test_the_end_is_found_wherever_the_guide_leads(end, guide):
    asked = []

    def room(t):
        asked.append(t)
        return end - t if t < end + 0.5 else -math.inf

    guides = {
        "right": end - GRID,
        "off": np.exp(end + 0.5) - np.exp(GRID),
        "flat": np.zeros_like(GRID),
        "up and down": np.sin(5 * GRID),
    }
    found = Asked(room, guides[guide]).widest(0.0)
    assert asked[0] == 0.0
    assert found is not None
    assert end - 3 * CLOSE <= found <= end
    assert len(asked) <= (4 if guide == "right" else 20)


def test_nothing_or_all_may_be_wide_enough():
    for guide in (np.zeros_like(GRID), 1 - GRID, -1 - GRID):
        assert Asked(lambda t: 1.0 - 0.1 * t, guide).widest(0.0) == MOST
        assert Asked(lambda t: -4.0 - t, guide).widest(0.0) is None
        assert Asked(lambda t: -math.inf, guide).widest(0.0) is None
