"""Designs by other measures than the mean, end to end, by every door."""

import json
import math

import numpy as np
import optuna
import pytest
from scipy.stats import norm, qmc

import meseta
from command_line import typed
from examples import some, thorough
from meseta import (
    CVaR,
    Discrete,
    Float,
    MeanStd,
    Normal,
    OnTarget,
    Optimizer,
    Quantile,
    Shared,
    Uniform,
    WorstCase,
    Yield,
)
from meseta.integrations.optuna import RobustSampler, recommend
from meseta.measures import Mean, read_measure

GRID = np.linspace(0, 1, 401)
WIDTH = 0.07


def lopsided(x):
    """A steep side and a long one: which tail counts makes another design."""
    return np.where(x < 0.4, 1 - 14 * (x - 0.4) ** 2, 1 - 1.5 * (x - 0.4) ** 2) + 0.3 * np.sin(
        9 * x
    )


def draws(law):
    u = qmc.Sobol(1, seed=0).random_base2(12)[:, 0]
    return WIDTH * (norm.ppf(u) if law == "normal" else np.concatenate([2 * u - 1, [-1, 1]]))


def truth(measure, law, sign=1):
    """rho at every point of the grid, to be maximised."""
    values = sign * lopsided(GRID[:, None] + draws(law))
    ranked, n = np.sort(values, -1), values.shape[-1]
    match measure:
        case Quantile(share=share):
            return ranked[:, math.ceil(share * n) - 1]
        case CVaR(share=share):
            return ranked[:, : int(share * n)].mean(-1)
        case MeanStd(k=k):
            return values.mean(-1) - k * values.std(-1)
        case WorstCase():
            return ranked[:, 0]
        case OnTarget(target=target):
            return -((sign * values - target) ** 2).mean(-1)
        case Yield(low=low, high=high):
            return ((sign * values >= low) & (sign * values <= high)).mean(-1)
    return values.mean(-1)


CASES = [
    (Quantile(0.05), "normal"),
    (CVaR(0.1), "normal"),
    (MeanStd(2), "normal"),
    (WorstCase(), "uniform"),
    (OnTarget(0.9), "normal"),
    (Yield(low=0.9), "normal"),
    (Yield(0.9, 1.05), "uniform"),
]


@pytest.mark.parametrize(
    ("measure", "law", "direction"),
    some(
        (
            (measure, law, direction)
            for measure, law in CASES
            for direction in (
                [measure.direction] if measure.direction else ["maximize", "minimize"]
            )
        ),
        5,
    ),
    ids=str,
)
def test_the_design_is_the_best_by_its_measure(measure, law, direction):
    sign = 1 if direction == "maximize" or measure.direction else -1
    rho = truth(measure, law, sign)
    noise = Normal(WIDTH) if law == "normal" else Uniform(WIDTH)
    optimizer = Optimizer(
        {"x": Float(0, 1, evaluate=(-0.2, 1.2))},
        noise=noise,
        measure=measure,
        direction=direction,
        kernel="se",
        verify=0,
        options={"num_features": 200, "num_draws": 32},
    )
    for _ in range(12):
        params = optimizer.ask()
        optimizer.tell(params, float(lopsided(np.array(params["x"]))))
    best = optimizer.recommend()
    found = rho[np.abs(GRID - best.params["x"]).argmin()]
    assert found > rho.max() - 0.03 * (rho.max() - rho.min())
    value = sign * found if measure.direction is None else abs(found)
    assert abs(best.mean - value) < max(4 * best.std, 0.02 * (rho.max() - rho.min()))
    assert best.interval[0] <= best.mean <= best.interval[1]


def test_the_wrong_tail_would_be_another_design():
    """The test above can tell: the best designs of both tails differ, and so do their values."""
    low, high = truth(CVaR(0.1), "normal"), -truth(CVaR(0.1), "normal", -1)
    assert abs(GRID[low.argmax()] - GRID[high.argmax()]) > 0.02
    assert high.max() - low.max() > 0.02


def square(params):
    return (params["x"] - 0.3) ** 2 * 4


def test_maximize_and_minimize_refuse_the_other_direction():
    with pytest.raises(ValueError, match=r"call meseta\.minimize instead"):
        meseta.maximize(square, {"x": (0, 1)}, measure=OnTarget(0.5), budget=3)
    with pytest.raises(ValueError, match=r"call meseta\.maximize instead"):
        meseta.minimize(square, {"x": (0, 1)}, measure=Yield(high=0.5), budget=3)
    result = meseta.maximize(
        square,
        {"x": (0, 1)},
        noise=Normal(0.1),
        measure="yield -inf 0.2",
        budget=7,
        progress=False,
    )
    assert result.optimizer.direction == "maximize"
    assert abs(result.params["x"] - 0.3) < 0.15
    assert 0.8 < result.mean <= 1
    assert "yield: at most 0.2" in repr(result)
    assert 0 <= result.interval[0] <= result.interval[1] <= 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"measure": "cvar 0.1", "method": "nes-ep"}, "'nes-ep' looks for the best mean"),
        ({"measure": WorstCase()}, "'x' has no limits.*WorstCase\\(0.99\\)"),
        (
            {"measure": WorstCase(0.9), "noise": {("x", "y"): Shared(Uniform(0.1))}},
            "moves several parameters together",
        ),
        ({"measure": 0.05}, "must be meseta.Quantile"),
        ({"measure": "qantile 0.05"}, "did you mean 'quantile'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(settings, expected):
    noise = {"noise": {"x": Normal(0.1)}}
    with pytest.raises((TypeError, ValueError), match=expected):
        Optimizer({"x": (0, 1), "y": (0, 1)}, **{**noise, **settings})


def test_a_run_recommends_four_times_where_that_takes_long():
    """And the report shows these; with the mean there is one after every evaluation."""
    made = {
        measure: meseta.minimize(
            square, {"x": (-1.0, 1.0)}, noise=Normal(0.1), measure=measure, budget=9, progress=False
        )
        for measure in ("mean", CVaR(0.2))
    }
    known = {measure: each.history["best_mean"].notna() for measure, each in made.items()}
    assert known["mean"].all()
    result, last = made[CVaR(0.2)], made[CVaR(0.2)].history.iloc[-1]
    assert (known[CVaR(0.2)].to_numpy().nonzero()[0] + 1).tolist() == [3, 5, 7, 9]
    assert (last["best_x"], last["best_mean"]) == (result.params["x"], result.mean)
    progress = result.views().search.progress
    assert progress.evaluations == (3, 5, 7, 9)


def test_one_optimum_for_test_and_recommendation():
    optimizer = Optimizer({"x": (0, 1)}, noise=Normal(0.05), measure=CVaR(0.1))
    for x in (0.1, 0.4, 0.8):
        optimizer.tell({"x": x}, square({"x": x}))
    first, again = optimizer.recommend(), optimizer.recommend()
    assert first == again
    optimizer.tell({"x": 0.9}, 3.0)
    assert optimizer.recommend() != first


def told(noise, measure, f, points, space=None, **settings):
    optimizer = Optimizer(space or {"x": (0.0, 1.0)}, noise=noise, measure=measure, **settings)
    for params in points:
        optimizer.tell(params, f(params))
    return optimizer


LINE = [{"x": float(x)} for x in np.linspace(-0.6, 1.6, 40)]


@pytest.mark.parametrize("atom", some([-0.3, -0.298, -0.2, -0.15, -0.1, 0.026], 3))
def test_the_worst_case_of_atoms_is_one_of_them(atom):
    optimizer = told(Discrete([atom, 0.3]), WorstCase(0.9), lambda p: 10 * p["x"], LINE)
    best = optimizer.recommend()
    assert best.mean == pytest.approx(10 * (best.params["x"] + atom), abs=0.01)


def hills(p):
    x = p["x"]
    return 8 * math.exp(-(((x - 0.3) / 0.12) ** 2)) + 6.5 * math.exp(-(((x - 0.7) / 0.3) ** 2))


def test_the_worst_case_does_not_lie_where_the_noise_never_is():
    law = meseta.Mixture([Uniform(0.02), Discrete([0.3])], [0.9, 0.1])
    best = told(law, WorstCase(), hills, LINE).recommend()
    places = [*np.linspace(-0.02, 0.02, 41), 0.3]
    worst = [min(hills({"x": x + t}) for t in places) for x in GRID]
    mine = min(hills({"x": best.params["x"] + t}) for t in places)
    assert mine > max(worst) - 0.1
    assert best.mean == pytest.approx(mine, abs=0.1)


def test_the_worst_case_of_what_is_sorted_out_lies_at_the_end_of_the_range():
    rng, names = np.random.default_rng(0), "abcd"
    space = dict.fromkeys(names, (0.0, 1.0))
    points = [dict(zip(names, rng.uniform(0, 1, 4).tolist(), strict=True)) for _ in range(25)]
    optimizer = told(
        {name: Uniform(0.5) for name in names},
        WorstCase(),
        lambda p: -sum(p.values()),
        points,
        space,
        edge="truncate",
        kernel="se",
    )
    best = optimizer.recommend()
    assert best.mean == pytest.approx(-sum(min(1, v + 0.5) for v in best.params.values()), abs=0.02)
    assert best.mean > -2.05


@pytest.mark.parametrize("rare", [1e-4, 0.1])
@pytest.mark.parametrize("seed", some([0, 1], 2))
def test_the_worst_case_has_every_choice_that_can_be(rare, seed):
    height = {"a": 3.0, "b": 2.0, "bad": -10.0}
    optimizer = told(
        {
            "x": Uniform(0.1),
            "c": meseta.Substitution([[1 - rare, 0, rare], [0, 1, 0], [0, 0, 1]]),
        },
        WorstCase(),
        lambda p: height[p["c"]] * math.exp(-(((p["x"] - 0.5) / 0.3) ** 2)),
        [{"x": float(x), "c": c} for c in height for x in np.linspace(-0.3, 1.3, 12)],
        {"x": (0.0, 1.0), "c": meseta.Categorical(list(height))},
        seed=seed,
        kernel="se",
    )
    best = optimizer.recommend()
    assert best.params["c"] == "b"
    assert best.mean == pytest.approx(2 * math.exp(-1 / 9), abs=0.05)


def wave(p):
    return 60 + 20 * math.sin(6 * p["x"])


@thorough
@pytest.mark.parametrize("measure", some([OnTarget(70), Yield(65, 75), Yield(high=45)], 3), ids=str)
def test_without_noise_the_nominal_optimum_serves_the_measure_too(measure):
    optimizer = told(None, measure, wave, LINE)
    robust, nominal = optimizer.recommend(), optimizer.nominal()
    assert nominal.mean == pytest.approx(robust.mean, abs=1e-3)
    assert robust.mean == pytest.approx(0 if isinstance(measure, OnTarget) else 1, abs=1e-3)
    page = meseta.report.for_optimizer(optimizer).html
    assert measure.in_words() in page
    assert "not clearly better" not in page
    assert "minimize f" not in page


def test_intervals_of_a_measure_end_where_it_ends():
    optimizer = told(Normal(0.1), Yield(low=70), wave, LINE[::4], possible=(30, 100))
    best = optimizer.recommend()
    assert 0 <= best.interval[0] <= best.mean <= best.interval[1] <= 1
    below = told(
        Normal(0.3), MeanStd(2), lambda p: max(0, math.sin(9 * p["x"])), LINE, possible=(0, 9)
    )
    assert below.recommend().mean < -0.2  # of values of which none is negative


def test_impossible_values_count_as_the_nearest_possible_one():
    def defects(p):
        return 40 * max(0.0, abs(p["x"] - 0.4) - 0.2) ** 2

    points = [{"x": float(x)} for x in np.linspace(0, 1, 14)]
    optimizer = told(Normal(0.03), Yield(0.0, 0.2), defects, points, possible=(0, math.inf))
    best = optimizer.recommend()
    assert best.mean > 0.97
    assert 0.2 < best.params["x"] < 0.6


@pytest.mark.parametrize("seed", some([0, 1], 2))
def test_what_draws_leave_open_is_part_of_the_interval(seed):
    rng = np.random.default_rng(0)
    covariance = np.array([[0.01, 0.008], [0.008, 0.01]])
    xi = rng.multivariate_normal([0, 0], covariance, 400000)

    def f(p):
        return math.exp(-(((p["x"] - 0.5) / 0.4) ** 2) - ((p["y"] - 0.5) / 0.2) ** 2)

    grid = np.linspace(-0.3, 1.3, 9).tolist()
    optimizer = told(
        {("x", "y"): Normal(covariance=covariance)},
        Quantile(0.05),
        f,
        [{"x": a, "y": b} for a in grid for b in grid],
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        seed=seed,
    )
    best = optimizer.recommend()
    x, y = (best.params[name] + xi[:, i] for i, name in enumerate("xy"))
    values = np.exp(-(((x - 0.5) / 0.4) ** 2) - ((y - 0.5) / 0.2) ** 2)
    assert abs(best.mean - np.quantile(values, 0.05)) < 4 * best.std


def test_another_measure_of_a_study_with_another_method(folder):
    (folder / "c.toml").write_text(
        FILE.replace('measure = "quantile 0.1"', 'method = "nes-ep"\nnum_initial = 3')
    )
    for _ in range(3):
        (asked,) = json.loads(typed("ask", "c.toml", "--json").stdout)
        typed("tell", "c.toml", asked["trial"], square(asked["params"]))
    assert "mean of the worst 10 %" in typed("recommend", "c.toml", "--measure", "cvar 0.1").output


def test_a_sampler_refuses_what_its_method_cannot_serve():
    with pytest.raises(ValueError, match="'nes-ep' looks for the best mean"):
        RobustSampler(noise=None, measure="cvar 0.1", method="nes-ep")


FILE = """
version = 1
[study]
budget = 8
direction = "minimize"
measure = "quantile 0.1"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.1
"""


@thorough
def test_a_study_file_has_a_measure(folder):
    (folder / "part.toml").write_text(FILE)
    for _ in range(7):
        (asked,) = json.loads(typed("ask", "part.toml", "--json").stdout)
        typed("tell", "part.toml", asked["trial"], square(asked["params"]))
    answer = json.loads(typed("recommend", "part.toml", "--json").stdout)["recommendation"]
    assert answer["measure"] == "value that 90 % reach"
    assert abs(answer["robust"]["params"]["x"] - 0.3) < 0.12
    # the worst tenth of a quadratic of Normal noise: 4 (1.645 s)^2
    assert answer["robust"]["mean"] == pytest.approx(4 * (1.645 * 0.1) ** 2, abs=0.05)
    other = typed("recommend", "part.toml", "--measure", "yield -inf 0.2").output
    assert "yield: at most 0.2" in other
    assert "takes one number" in typed("recommend", "part.toml", "--measure", "cvar", code=2).stderr
    typed("report", "part.toml")
    page = (folder / "part.html").read_text()
    assert "value that 90 % reach" in page
    assert "chosen by another measure than the mean" in page
    for wrong, expected in (
        ("quantile 0.95", "looks at the others"),
        ("median", "measure"),
        ("worst-case", "has no limits"),
    ):
        (folder / "part.toml").write_text(FILE.replace("quantile 0.1", wrong))
        assert expected in typed("recommend", "part.toml", code=2).stderr
    (folder / "part.toml").write_text(FILE.replace('"quantile 0.1"', "0.1"))
    assert "must be words" in typed("recommend", "part.toml", code=2).stderr


def test_a_study_file_does_not_say_the_other_direction(folder):
    for measure, wrong in (("on-target 0.5", "maximize"), ("yield -inf 0.5", "minimize")):
        other = FILE.replace("quantile 0.1", measure)
        for direction in ("maximize", "minimize"):
            text = other.replace('direction = "minimize"', f'direction = "{direction}"')
            (folder / f"{direction}.toml").write_text(text)
            code = 2 if direction == wrong else 0
            said = typed("ask", f"{direction}.toml", code=code)
            assert (code == 2) == ("leave direction out" in said.stderr)
            (folder / f"{direction}.toml").unlink()
        (folder / "silent.toml").write_text(other.replace('direction = "minimize"\n', ""))
        typed("ask", "silent.toml")
        for each in folder.glob("*.db"):
            each.unlink()


def test_an_optuna_study_has_one():
    noise = {"x": Normal(0.1)}
    sampler = RobustSampler(noise=noise, measure=OnTarget(0.5), seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: 2 * trial.suggest_float("x", 0, 1), n_trials=8)
    best = recommend(study, noise=noise, measure="on-target 0.5")
    assert best.params["x"] == pytest.approx(0.25, abs=0.03)
    # the scatter remains: 4 s^2
    assert best.mean == pytest.approx(0.04, abs=0.01)
    assert "mean squared distance from 0.5" in repr(best)


def test_the_mean_by_its_word_is_the_default():
    assert read_measure("mean") == Mean() == Optimizer({"x": (0, 1)}).measure
