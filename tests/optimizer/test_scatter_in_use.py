"""Figures of the values in use count how single values scatter, against brute force."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch

import meseta
from meseta import (
    AtLeast,
    AtMost,
    Between,
    Categorical,
    CVaR,
    Environment,
    Int,
    MeanStd,
    Normal,
    OnTarget,
    Optimizer,
    Quantile,
    Uniform,
    WorstCase,
    Yield,
)
from meseta.gp.limited import limited
from meseta.optimizer.goals import goal_of_value
from meseta.report.views.capability import capability_of
from meseta.report.views.subject import Subject

MANY = 10**6  # measurements whose mean is told: f is known, and single values scatter
WIDTH, SCATTER, AT = 0.04, 0.1, 0.4
POINTS = np.linspace(0, 1, 41)


def wave(x):
    return np.sin(5 * x) + 0.3 * x


def known(f=wave, scatter=SCATTER, noise=None, points=POINTS, **settings):
    """An optimizer that knows f and how much single values of it scatter."""
    law = Normal(WIDTH) if noise is None else noise
    made = Optimizer({"x": (0.0, 1.0)}, noise=law, noise_variance=scatter**2, **settings)
    for x in points:
        made.tell({"x": float(x)}, float(f(x)), n=MANY)
    return made


def brute(f=wave, scatter=SCATTER, at=AT, noise=None, num=2_000_000):
    """Values of parts."""
    random = np.random.default_rng(5)
    xi = WIDTH * random.standard_normal(num) if noise is None else noise(random, num)
    return torch.from_numpy(f(at + xi) + scatter * random.standard_normal(num))


def alike(values):
    return torch.full_like(values, 1 / len(values))


def reached(values, share):
    """The value that this share is below."""
    return float(values.sort().values[int(share * len(values))])


PARTS = [("all", SCATTER), ("none", 0.0), (0.06, 0.08), (0.5, 0.0)]
MEASURES = [
    Quantile(0.02),
    CVaR(0.05),
    MeanStd(2),
    OnTarget(0.9),
    Yield(low=0.85),
    Yield(0.85, 1.15),
]


@pytest.mark.parametrize(("part", "scatter"), PARTS)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_measures(measure, part, scatter):
    found = known(measure=measure, scatter_in_use=part).promise({"x": AT})
    values = brute(scatter=scatter)
    expected = float(measure.exactly(values, alike(values)))
    expected = -expected if isinstance(measure, OnTarget) else expected
    assert found.mean == pytest.approx(expected, rel=0.02, abs=0.002)
    assert found.interval[0] - 0.002 <= expected <= found.interval[1] + 0.002


@pytest.mark.parametrize("measure", [Quantile(0.02), CVaR(0.05), MeanStd(2), Yield(high=1.15)])
def test_where_small_values_are_wanted(measure):
    found = known(measure=measure, direction="minimize").promise({"x": AT})
    values = brute() if isinstance(measure, Yield) else -brute()
    sign = 1 if isinstance(measure, Yield) else -1
    expected = sign * float(measure.exactly(values, alike(values)))
    assert found.mean == pytest.approx(expected, rel=0.02, abs=0.002)


def test_the_mean_is_as_without():
    scattered, still = (known(scatter_in_use=part).recommend() for part in ("all", "none"))
    assert scattered == still
    assert not scattered.scatter


@pytest.mark.parametrize("ppm", [50, 700, 5000])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_defects_and_indices(ppm, direction):
    made = known(direction=direction)
    values = brute(num=4_000_000)
    goal = AtLeast(reached(values, 1e-6 * ppm), 0.999)
    subject = Subject(made)
    x = subject.rows([{"x": AT}])
    found = capability_of(subject, made.promise({"x": AT}), x, goal, None)
    assert 1e6 * found.outside.value == pytest.approx(ppm, rel=0.12)
    assert found.std.value == pytest.approx(float(values.std()), rel=0.01)
    cpk = float((values.mean() - goal.low) / (3 * values.std()))
    assert found.cpk.value == pytest.approx(cpk, rel=0.01)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("which", [AtMost, AtLeast, Between])
def test_limits(which, direction):
    values = brute()
    low, high = reached(values, 0.01), reached(values, 0.99)
    limits = {AtMost: (high,), AtLeast: (low,), Between: (low, high)}[which]
    made = known(constraints={"value": which(*limits, probability=0.95)}, direction=direction)
    kept = made.promise({"x": AT}).kept["value"]
    assert 1 - kept.share == pytest.approx(0.02 if which is Between else 0.01, rel=0.1)
    assert kept.scatter == "with the scatter of single values, 0.1"
    assert "with the scatter of single values, 0.1" in str(kept)


def test_margins_to_first_order():
    values = brute()
    made = known()
    limit = limited(
        made.fitted.core,
        goal_of_value(made, AtMost(1.4, 0.99)).margin,
        4096,
        torch.Generator().manual_seed(0),
    )
    mean, _ = limit.moments(torch.tensor([[AT]], dtype=torch.double))
    expected = 1.4 - reached(values, 0.99)
    assert float(mean[0]) * made.user_units[1] == pytest.approx(expected, abs=0.01)


def two_hills(x):
    return np.exp(-(((x - 0.25) / 0.1) ** 2)) + 1.05 * np.exp(-(((x - 0.75) / 0.1) ** 2))


@pytest.mark.parametrize("measure", [Quantile(0.05), CVaR(0.2), Yield(low=0.8)], ids=str)
def test_a_design_whose_values_scatter_more_is_not_recommended(measure):
    """The right hill is higher, and values scatter there."""

    def scatter(x):
        return 0.01 + 0.4 / (1 + math.exp(-(x - 0.5) / 0.03))

    found = {}
    for part in ("all", "none"):
        made = Optimizer(
            {"x": (0.0, 1.0)},
            noise=Normal(0.02),
            measure=measure,
            noise_variance="varies",
            scatter_in_use=part,
        )
        for x in POINTS:
            made.tell({"x": float(x)}, float(two_hills(x)), std=scatter(x), n=MANY)
        found[part] = made.recommend().params["x"]
    assert found["all"] < 0.5 < found["none"] or isinstance(measure, Yield)
    assert found["all"] < 0.5


def test_scatter_that_varies_is_that_of_the_design():
    made = Optimizer(
        {"x": (0.0, 1.0)},
        noise=Normal(WIDTH),
        measure=CVaR(0.05),
        noise_variance="varies",
    )
    for x in POINTS:
        made.tell({"x": float(x)}, float(wave(x)), std=0.05 + 0.3 * float(x), n=MANY)
    for at in (0.3, 0.7):
        values = brute(scatter=0.05 + 0.3 * at, at=at)
        expected = float(CVaR(0.05).exactly(values, alike(values)))
        assert made.promise({"x": at}).mean == pytest.approx(expected, abs=0.02)


def test_the_worst_case_with_a_share_has_scatter_in_its_box():
    made = known(measure=WorstCase(0.99))
    each = 0.99**0.5
    far = float(torch.special.ndtri(torch.tensor((1 + each) / 2)))
    ends = wave(AT + WIDTH * far * np.linspace(-1, 1, 501))
    found = made.promise({"x": AT}).mean
    assert found == pytest.approx(ends.min() - SCATTER * far, abs=0.01)


def test_the_worst_case_of_all_is_without_scatter():
    law = {"x": Uniform(0.05)}
    found = [known(noise=law, measure=WorstCase(), scatter_in_use=p) for p in ("all", "none")]
    assert found[0].promise({"x": AT}).mean == found[1].promise({"x": AT}).mean
    assert "no limits" in found[0].promise({"x": AT}).scatter


def test_the_seed_plays_no_role():
    found = [known(measure=Yield(low=0.85), seed=seed).promise({"x": AT}) for seed in (0, 7)]
    assert found[0].mean == pytest.approx(found[1].mean, abs=0.003)


def test_noise_that_acts_unseen_and_what_is_left():
    """The scatter of the values beyond that of the input counts, once."""
    made = Optimizer(
        {"x": (0.0, 1.0)},
        noise=Normal(WIDTH),
        noise_variance=SCATTER**2,
        executed="unseen",
        measure=Yield(low=0.85),
    )
    nodes = torch.special.ndtri((torch.arange(2000).double() + 0.5) / 2000).numpy()
    for x in POINTS:
        made.tell({"x": float(x)}, float(wave(x + WIDTH * nodes).mean()), n=MANY)
    values = brute()
    assert made.promise({"x": AT}).scatter == "with the scatter of single values, 0.1"
    assert made.promise({"x": AT}).mean == pytest.approx(
        float((values >= 0.85).double().mean()), abs=0.05
    )


def test_what_can_be_told_from_none():
    random = np.random.default_rng(0)
    noisy = Optimizer({"x": (0.0, 1.0)}, noise=Normal(0.02), measure=Yield(low=8.0))
    exact = Optimizer({"x": (0.0, 1.0)}, noise=Normal(0.02), measure=Yield(low=0.5))
    for x in np.repeat(np.linspace(0, 1, 40), 3):
        noisy.tell({"x": x}, 8.3 + 0.5 * random.standard_normal())
    for x in np.linspace(0, 1, 12):
        exact.tell({"x": x}, math.sin(5 * x))
    share = 0.7257  # of a normal law above -0.6
    assert noisy.promise({"x": 0.5}).mean == pytest.approx(share, abs=0.1)
    assert noisy.recommend().scatter.startswith("with the scatter of single values, 0.")
    assert exact.recommend().scatter == (
        "without scatter of single values, which cannot be told from none"
    )
    assert exact.promise({"x": 0.3}).mean > 0.999


def test_told_noise_counts_however_small():
    made = known(scatter=1e-5, measure=Quantile(0.05))
    assert made.promise({"x": AT}).scatter == "with the scatter of single values, 1e-05"
    still = known(scatter=0.0, measure=Quantile(0.05))
    assert not still.promise({"x": AT}).scatter
    assert still.fitted.fit.scatter.told
    assert not still.fitted.core.scatters


def test_values_are_clamped_to_what_is_possible():
    made = known(measure=CVaR(0.3), possible=(0.9, math.inf), f=lambda x: 1.0 + 0.1 * x)
    values = brute(f=lambda x: 1.0 + 0.1 * x).clamp_min(0.9)
    expected = float(CVaR(0.3).exactly(values, alike(values)))
    assert made.promise({"x": AT}).mean == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_limit_that_no_possible_value_breaks(direction):
    made = Optimizer(
        {"x": (0.0, 1.0)},
        noise=Normal(WIDTH),
        noise_variance=0.01,
        possible=(0.0, math.inf),
        measure=Yield(0.0, 1.0) if direction == "maximize" else "mean",
        constraints={"value": Between(0, 1, 0.99)},
        direction=direction,
    )
    for x in POINTS:
        made.tell({"x": float(x)}, 0.05 * float(x), n=MANY)
    found = made.promise({"x": AT})
    assert found.kept["value"].share > 0.9999
    if direction == "maximize":
        assert found.mean > 0.9999


def test_each_outcome_has_its_own_scatter():
    made = Optimizer(
        {"x": (0.0, 1.0)},
        noise=Normal(WIDTH),
        objective="gain",
        measure=Quantile(0.1),
        noise_variance=0.04,
        constraints={"stress": AtMost(1.2, 0.9), "heat": AtMost(1.2, 0.9)},
        scatter_in_use={"stress": "none", "gain": 0.12},
    )
    random = np.random.default_rng(1)
    for x in np.repeat(POINTS, 3):
        values = wave(x) + SCATTER * random.standard_normal(2)
        made.tell({"x": float(x)}, {"gain": wave(x), "stress": values[0], "heat": values[1]}, n=1)
    found = made.promise({"x": AT})
    assert (
        found.scatter == "with the scatter of single values beyond that of the gauge, 0.16 of 0.2"
    )
    assert found.kept["stress"].scatter == (
        "without the scatter of single values, as error of the gauge"
    )
    assert found.kept["heat"].scatter.startswith("with the scatter of single values, 0.")
    assert found.kept["heat"].share < found.kept["stress"].share
    expected = float((brute(num=400_000) <= 1.2).double().mean())
    assert found.kept["heat"].share == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_play_no_role(unit):
    made = known(
        f=lambda x: unit * wave(x),
        scatter=unit * SCATTER,
        scatter_in_use=0.06 * unit,
        measure=Quantile(0.02),
    )
    values = brute(scatter=0.08)
    expected = float(Quantile(0.02).exactly(values, alike(values)))
    assert made.promise({"x": AT}).mean / unit == pytest.approx(expected, abs=0.005)


def test_whole_numbers_choices_and_environments():
    made = Optimizer(
        {"n": Int(0, 4), "oil": Categorical(["a", "b", "c"]), "t": (0.0, 1.0)},
        noise={"t": Environment(Normal(0.1, mean=0.5))},
        measure=Yield(low=1.0),
        noise_variance=0.04,
    )
    for n in range(5):
        for k, oil in enumerate("abc"):
            for t in np.linspace(0, 1, 4):
                value = 0.2 * n + 0.3 * k + 0.4 * t
                made.tell({"n": n, "oil": oil, "t": float(t)}, value, n=MANY)
    random = np.random.default_rng(0)
    values = 0.6 + 0.3 + 0.4 * (0.5 + 0.1 * random.standard_normal(10**6))
    values += 0.2 * random.standard_normal(10**6)
    found = made.promise({"n": 3, "oil": "b"})
    assert found.mean == pytest.approx((values >= 1).mean(), abs=0.01)
    assert made.recommend().params == {"n": 4, "oil": "c"}


def test_optimizers_are_copied_pickled_and_resumed():
    made = known(measure=Quantile(0.05), scatter_in_use=0.06, points=POINTS[::4])
    best = made.promise({"x": AT})
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.promise({"x": AT}) == best
    assert made.with_trials(made.trials).promise({"x": AT}) == best
    assert pickle.loads(pickle.dumps(made.settings)) == made.settings


@pytest.mark.parametrize(
    ("scatter", "words"),
    [
        ("some", "'some'"),
        (0, 'an exact gauge is "all"'),
        (-1, "positive"),
        (True, "scatter_in_use"),
        (math.nan, "scatter_in_use"),
        ({"stress": 0.1}, "stress"),
        ({"value": "much"}, "'much'"),
        (None, "scatter_in_use"),
    ],
)
def test_refusals(scatter, words):
    with pytest.raises((ValueError, TypeError), match="scatter_in_use") as refused:
        meseta.Settings(scatter_in_use=scatter)
    assert words in str(refused.value)


def test_runs_that_confirm_have_all_scatter():
    made = known(measure=Quantile(0.1), scatter_in_use="none", points=POINTS[::2])
    runs = [float(v) for v in brute(num=40)]
    found = made.confirm({"x": AT}, runs)
    assert found.held
    assert "the gauge included" in str(found)
    other = known(measure=Quantile(0.1), points=POINTS[::2]).confirm({"x": AT}, runs)
    assert found.expected == other.expected
    assert "gauge" not in str(other)


def test_printed_results_say_it():
    made = meseta.maximize(
        lambda p: {"value": float(wave(p["x"])), "std": 0.1},
        {"x": (0.0, 1.0)},
        noise=Normal(WIDTH),
        measure=Yield(low=0.5),
        budget=6,
        progress=False,
    )
    assert "(yield: at least 0.5: with the scatter of single values, 0.1.)" in repr(made)
    page = made.views(at_least=0.5)
    assert page.capability.scatter == "with the scatter of single values, 0.1"
