"""Capability in reports, against brute force with the true function."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import meseta
from examples import some
from meseta.report.page.capability_tab import capability_tab
from meseta.report.views.capability import capability
from meseta.report.views.outcomes import outcomes
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

DRAWS = 1_000_000


def told(f, space, noise, direction="maximize", num=24, **settings):
    optimizer = meseta.Optimizer(
        space, noise=noise, direction=direction, num_initial=num, **settings
    )
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, float(f(params)))
    return optimizer


def bent(p):
    return 3 - (p["a"] - 0.4) ** 2 - 0.5 * p["b"] + 0.3 * p["a"] * p["b"]


BOX = {"a": (-1.0, 1.0), "b": (0.5, 1.5)}
NOISES = {
    "normal": {"a": meseta.Normal(0.15), "b": meseta.Normal(0.05)},
    "mixed": {"a": meseta.Uniform(0.3), "b": meseta.StudentT(5, 0.03)},
    "relative": {"a": meseta.Triangular(0.3), "b": meseta.Normal(0.1, relative=True)},
}


def drawn(noise, params, rng):
    """What a design becomes, by NumPy alone."""
    made = {}
    for name, law in noise.items():
        x = params[name]
        if isinstance(law, meseta.Normal):
            std = float(law.standard_deviation) * (abs(x) if law.relative else 1.0)
            made[name] = x + std * rng.standard_normal(DRAWS)
        elif isinstance(law, meseta.Uniform):
            made[name] = x + rng.uniform(-1, 1, DRAWS) * float(law.half_widths)
        elif isinstance(law, meseta.Triangular):
            made[name] = x + rng.triangular(-0.3, 0.0, 0.3, DRAWS)
        else:
            made[name] = x + 0.03 * rng.standard_t(5, DRAWS)
    return made


@pytest.mark.parametrize(("kind", "direction"), some(product(NOISES, ["maximize", "minimize"]), 3))
def test_yield_ppm_and_indices_are_those_of_the_function(kind, direction):
    sign = 1.0 if direction == "maximize" else -1.0
    noise = NOISES[kind]
    optimizer = told(lambda p: sign * bent(p), BOX, noise, direction)
    subject = Subject(optimizer)
    rng = np.random.default_rng(5)
    values = sign * bent(drawn(noise, subject.robust.params, rng))
    spread = values.std()
    limits = np.quantile(values, [2e-4, 1 - 4e-3])  # some hundred ppm on one side
    terms = Terms(at_least=float(limits[0]), at_most=float(limits[1]), target=float(values.mean()))
    found = capability(subject, terms)
    best = found.robust
    assert best.outside.low <= 4.2e-3 <= best.outside.high
    assert best.outside.value == pytest.approx(4.2e-3, rel=0.3)
    assert best.inside.value == pytest.approx(1 - best.outside.value)
    assert best.below == pytest.approx(2e-4, rel=0.5)
    assert best.above == pytest.approx(4e-3, rel=0.3)
    assert best.std.value == pytest.approx(spread, rel=0.05)
    assert best.mean.value == pytest.approx(values.mean(), abs=0.05 * spread)
    assert best.cp.value == pytest.approx((limits[1] - limits[0]) / (6 * spread), rel=0.06)
    low, median, high = np.quantile(values, [0.00135, 0.5, 0.99865])
    ppk = min((median - limits[0]) / (median - low), (limits[1] - median) / (high - median))
    assert best.ppk.value == pytest.approx(ppk, rel=0.08)
    assert found.stack_up.statistical.low == pytest.approx(low, abs=0.15 * spread)
    assert found.stack_up.statistical.high == pytest.approx(high, abs=0.15 * spread)
    assert not found.stack_up.statistical.meets
    of_both = outcomes(subject, terms)
    assert of_both.robust.std == best.std
    assert of_both.robust.meets.value == pytest.approx(best.inside.value, abs=2e-3)
    for profile in found.profiles:
        at = profile.axis.values.index(subject.robust.params[profile.axis.name])
        assert profile.outside[at] == pytest.approx(best.outside.value, rel=0.5)
        for low_end, share, high_end in zip(
            profile.low, profile.outside, profile.high, strict=True
        ):
            assert 0 <= low_end <= share <= high_end <= 1


@pytest.mark.parametrize("ppm", [50, 500, 5000])
def test_few_parts_per_million_are_counted(ppm):
    noise = {"a": meseta.Normal(0.05), "b": meseta.Normal(0.04)}
    optimizer = told(lambda p: 2 * p["a"] + p["b"] - 0.2 * p["b"] ** 2, BOX, noise, num=20)
    subject = Subject(optimizer)
    params = subject.robust.params
    b = np.random.default_rng(0).normal(params["b"], 0.04, 200_000)
    rest = b - 0.2 * b**2 + 2 * params["a"]
    low, high = rest.min() - 1, rest.max() + 1
    for _ in range(40):  # the limit below which exactly so many are
        limit = (low + high) / 2
        share = stats.norm.cdf((limit - rest) / 0.1).mean()
        low, high = (limit, high) if share < 1e-6 * ppm else (low, limit)
    best = capability(subject, Terms(at_least=float(limit))).robust
    assert 1e6 * best.outside.value == pytest.approx(ppm, rel=0.15)
    assert 1e6 * best.outside.low <= ppm <= 1e6 * best.outside.high
    assert best.above is None
    assert best.cp is None


def test_the_stack_up_is_what_engineers_compute_by_hand():
    noise = {"a": meseta.Uniform(0.1), "b": meseta.Normal(0.02)}
    optimizer = told(lambda p: 2 * p["a"] - 3 * p["b"], BOX, noise, num=14)
    found = capability(Subject(optimizer), Terms(at_least=1.0)).stack_up
    x = Subject(optimizer).robust.params
    middle = 2 * x["a"] - 3 * x["b"]
    wide, rss = 2 * 0.1 + 3 * 0.06, np.hypot(2 * 0.1, 3 * 0.06)
    assert found.worst_case.low == pytest.approx(middle - wide, abs=2e-3)
    assert found.worst_case.high == pytest.approx(middle + wide, abs=2e-3)
    assert found.root_sum_square.low == pytest.approx(middle - rss, abs=2e-3)
    assert found.root_sum_square.high == pytest.approx(middle + rss, abs=2e-3)
    assert found.worst_case.meets == (middle - wide >= 1.0)
    assert found.left_out == ()


def test_the_stack_up_at_an_edge_has_two_sides():
    noise = {"a": meseta.Uniform(0.1), "b": meseta.Normal(0.02)}
    edge = {"a": "clip"}
    optimizer = told(lambda p: 2 * p["a"] - 3 * p["b"], BOX, noise, num=14, edge=edge)
    subject = Subject(optimizer)
    assert subject.robust.params["a"] == pytest.approx(1.0, abs=1e-3)
    found = capability(subject, Terms(at_least=1.0)).stack_up
    # half of the values of a are 1, the others are spread from 0.9 to 1: the mean is 0.975
    middle = 2 * 0.975 - 3 * subject.robust.params["b"]
    assert found.worst_case.high == pytest.approx(middle + 2 * 0.025 + 3 * 0.06, abs=5e-3)
    assert found.root_sum_square.high == pytest.approx(middle + np.hypot(0.05, 0.18), abs=5e-3)
    assert found.root_sum_square.low == pytest.approx(middle - np.hypot(0.15, 0.18), abs=5e-3)


def test_choices_environments_edges_and_shared_noise_have_a_capability():
    space = {
        "x": (0.0, 1.0),
        "k": meseta.Categorical(["one", "two"]),
        "n": meseta.Int(1, 9),
        "v": meseta.Float(1.0, 100.0, log=True),
        "heat": (15.0, 25.0),
    }
    noise = {
        "x": meseta.Normal(0.1),
        "k": meseta.Substitution(0.05),
        "v": meseta.Normal(0.05, relative=True),
        "heat": meseta.Environment(meseta.Normal(1.0, mean=20.0)),
    }
    known = {"two": 0.3, "one": 0.0}

    def f(p):
        return p["x"] + known[p["k"]] + 0.1 * np.log(p["v"]) + 0.02 * p["heat"] - 0.01 * p["n"]

    optimizer = told(f, space, noise, num=20, edge="clip")
    subject = Subject(optimizer)
    found = capability(subject, Terms(at_least=1.2))
    assert found.stack_up.left_out == ("k",)
    assert found.robust.std.value > 0.02
    assert [each.axis.name for each in found.profiles] == ["x", "k", "n", "v"]


def test_the_stack_up_names_all_choices_that_it_leaves_out():
    choices = {name: meseta.Categorical(["one", "two"]) for name in ("k", "m")}
    noise = {"x": meseta.Normal(0.1), **dict.fromkeys(choices, meseta.Substitution(0.05))}
    optimizer = told(lambda p: p["x"], {"x": (0.0, 1.0), **choices}, noise, num=6)
    terms = Terms(at_least=0.5)
    shown = capability_tab(capability(Subject(optimizer), terms), terms)
    assert "Choices have no slope: k, m are left out of them." in str(shown)


def test_without_limits_there_is_none_and_without_noise_it_is_certain():
    optimizer = told(bent, BOX, {}, num=12)
    assert capability(Subject(optimizer), Terms()) is None
    sure = capability(Subject(optimizer), Terms(at_least=1.0)).robust
    assert sure.outside.value == 0.0
    assert sure.cpk.value == sure.ppk.value == float("inf")
