"""Experiments beyond the ranges of the designs, and noise where nothing was evaluated."""

import json
import math

import numpy as np
import optuna
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import meseta
from command_line import typed
from examples import examples, thorough
from meseta import (
    Categorical,
    Environment,
    Float,
    Int,
    LogNormal,
    Normal,
    Optimizer,
    Shared,
    StudentT,
    Triangular,
    Uniform,
)
from meseta.integrations.optuna import DESIGNS, RobustSampler, recommend
from meseta.noise.perturbed import perturbed
from meseta.optimizer.comparison import comparison
from meseta.optimizer.fitted import in_cube
from meseta.report.views.health import findings
from meseta.report.views.subject import Subject


def slope(params):
    """Rises up to a cliff beyond the range of x."""
    x = params["x"]
    return x if x < 1.1 else -5.0


def told(optimizer, f, num):
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


@thorough
def test_experiments_go_beyond_and_recommendations_do_not():
    wide = Float(0.0, 1.0, evaluate=(-0.3, 1.3))
    optimizer = told(Optimizer({"x": wide, "y": (0, 1)}, noise={"x": Normal(0.1)}), slope, 18)
    x = np.array([trial.params["x"] for trial in optimizer.trials])
    assert x.max() > 1.0
    assert x.min() >= -0.3
    assert x.max() <= 1.3
    initial = [t.params["x"] for t in optimizer.trials if t.origin == "space-filling"]
    assert all(0 <= each <= 1 for each in initial)
    best = optimizer.recommend()
    assert 0 <= best.params["x"] <= 1
    truth = np.mean([slope({"x": best.params["x"] + xi}) for xi in 0.1 * normal_draws()])
    assert abs(best.mean - truth) < 0.2
    blind = told(Optimizer({"x": (0, 1), "y": (0, 1)}, noise={"x": Normal(0.1)}), slope, 18)
    other = blind.recommend()
    assert other.params["x"] > 0.95  # it cannot know of the cliff ...
    assert other.beyond > 0.3  # ... and says so
    assert "% of the noise at the robust optimum falls beyond" in str(
        meseta.maximize(slope, {"x": (0, 1)}, noise=Normal(0.1), budget=6, progress=False)
    )
    assert best.beyond < other.beyond


@pytest.mark.parametrize("edge", ["allow", "clip"])
@pytest.mark.parametrize(
    ("places", "top", "outside", "advice"),
    [
        ((0.4, 0.5, 0.6), 0.5, False, "Few values so far: more trials there"),
        ((0.7, 0.85, 1.0), 1.0, True, "Allow experiments there (evaluate), or narrow the ranges"),
    ],
)
def test_the_advice_fits_where_the_noise_falls(places, top, outside, advice, edge):
    """Normal noise of 0.2 around 0.5, or around the upper end: by its distribution function."""
    optimizer = Optimizer({"x": (0, 1)}, noise={"x": Normal(0.2)}, kernel="se", edge=edge)
    for x in places:
        optimizer.tell({"x": x}, -((x - top) ** 2))
    best = optimizer.recommend()
    x = best.params["x"]
    below, above = normal_cdf((min(places) - 0.02 - x) / 0.2), normal_cdf((0.0 - x) / 0.2)
    over = normal_cdf((x - max(places) - 0.02) / 0.2)
    ends = (over if outside else normal_cdf((x - 1.0) / 0.2)) + above
    if edge == "clip":  # nothing leaves the range, and what is put at its end may be evaluated
        over, ends = (0.0 if outside else over), 0.0
        advice = "Few values so far"
    assert best.beyond == pytest.approx(below + over, abs=0.02)
    assert best.outside == pytest.approx(ends, abs=0.02)
    if best.beyond >= 0.2:
        result = comparison(["a run"], best, optimizer.nominal(), optimizer.measure)
        said = " ".join(each.text for each in findings(Subject(optimizer), None))
        assert advice in result
        assert advice in said


def normal_cdf(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_draws():
    return np.random.default_rng(0).standard_normal(20000)


laws = {
    "narrow": Normal(0.05),
    "wide": Uniform(0.4),
    "lopsided": Triangular(low=-0.3, high=0.1),
    "heavy": StudentT(3, 0.05),
    "relative": Normal(0.1, relative=True),
    "shifted": Normal(0.02, mean=0.2),
}


@given(
    law=st.sampled_from(sorted(laws)),
    other=st.sampled_from(["none", "environment", "shared", "choice", "whole", "log", "steps"]),
    edge=st.sampled_from(["allow", "clip", "reflect", "truncate"]),
    seed=st.integers(0, 1000),
)
@examples(8)
def test_the_share_beyond_is_that_of_perturbed_designs(law, other, edge, seed):
    space = {"x": (0.5, 1.5), "y": (0.0, 1.0)}
    noise = {"x": laws[law]}
    if other == "environment":
        noise["y"] = Environment(Normal(0.3, mean=0.5))
    elif other == "shared":
        noise = {("x", "y"): Shared(Normal(0.1))}
    elif other == "choice":
        space["y"] = Categorical(["a", "b", "c"])
        noise["y"] = meseta.Substitution(0.3)
    elif other == "whole":
        space["y"] = Int(0, 5)
        noise["y"] = Normal(1.0)
    elif other == "log":
        space["y"] = Float(0.1, 10.0, log=True)
        noise["y"] = LogNormal(0.5)
    elif other == "steps":
        space["y"] = Float(0.0, 1.0, step=0.25, evaluate=(-0.5, 1.5))
        noise["y"] = Normal(0.2)
    if other in ("shared", "steps") or (law == "shifted" and edge == "truncate"):
        edge = "allow"
    optimizer = Optimizer(
        space, noise=noise, edge={"x": edge} if edge != "allow" else "allow", seed=seed
    )
    rng = np.random.default_rng(seed)
    for _ in range(4):
        params = optimizer.ask()
        optimizer.tell(params, float(rng.standard_normal()))
    best = optimizer.recommend()
    draws = optimizer.perturbed(best.params, 2000, seed=seed + 1)
    rows = torch.stack([optimizer.space.to_tensor(trial.params) for trial in optimizer.trials])
    z = torch.tensor([optimizer.space.to_columns(each) for each in draws], dtype=torch.double)
    low, high = optimizer.space.bounds
    room = 0.02 * (high - low)
    outside = ((z < rows.amin(0) - room) | (z > rows.amax(0) + room)).any(-1)
    share = float(outside.double().mean())
    assert abs(best.beyond - share) < 4 * math.sqrt(0.25 / 2000 + 0.25 / 8192)


@given(
    law=st.sampled_from(["narrow", "wide", "lopsided", "heavy", "relative"]),
    kind=st.sampled_from(["plain", "log", "steps"]),
    kernel=st.sampled_from(["se", "matern52", "auto"]),
    seed=st.integers(0, 1000),
)
@examples(5)
def test_covariances_with_experiments_beyond_the_range_are_averages(law, kind, kernel, seed):
    """What rkg weighs there: the covariance of g at designs and f beyond."""
    x = {
        "plain": Float(0.5, 1.5, evaluate=(0.1, 2.2)),
        "log": Float(0.5, 1.5, log=True, evaluate=(0.35, 1.9)),
        "steps": Float(0.5, 1.5, step=0.25, evaluate=(0.0, 2.25)),
    }[kind]
    # on a logarithmic scale errors are in proportion
    noise = {"x": LogNormal(0.1) if kind == "log" else laws[law]}
    optimizer = Optimizer({"x": x, "y": (0, 1)}, noise=noise, kernel=kernel, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        params = optimizer.ask()
        optimizer.tell(params, math.sin(5 * params["x"]) + float(rng.standard_normal()))
    mixture, space = optimizer.fitted.mixture, optimizer.space
    design = space.cube.sobol(1, torch.Generator().manual_seed(seed))
    beyond = space.experiments.bounds.clone()
    beyond[:, 1] = design[0, 1]
    for part in mixture.parts:
        exact = part.kernel.k_gf(design, beyond)
        law, generator = in_cube(optimizer.law, space), torch.Generator().manual_seed(seed)
        z = perturbed(law, design.expand(10000, -1), generator)
        values = part.kernel.k_f(z, beyond)
        error = values.std(0) / math.sqrt(len(z)) + 1e-5 * part.kernel.prior_variance
        assert torch.all((exact[0] - values.mean(0)).abs() < 5 * error)


@pytest.mark.parametrize(
    ("space", "settings", "expected"),
    [
        ({}, {"method": "nes-ep"}, "'nes-ep' weighs designs only; take one of 'rkg', 'sobol'"),
        ({}, {"method": "uu-ei"}, "'uu-ei' weighs designs only"),
        ({}, {"edge": "clip"}, "edge='clip' keeps it in its range"),
        ({}, {"edge": {"x": "truncate"}}, "edge='truncate' keeps it in its range"),
        (
            {"t": Float(0, 1, evaluate=(-1, 2))},
            {"noise": {"x": Normal(0.1), "t": Environment(Normal(1.0))}},
            "'t': an Environment is no part of the design",
        ),
        ({}, {"initial": [{"x": 1.4}]}, r"'x' is 1.4 and its range \(-0.3, 1.3\)"),
    ],
)
def test_what_would_tell_nothing_is_refused(space, settings, expected):
    wide = Float(0.0, 1.0, evaluate=(-0.3, 1.3))
    with pytest.raises(ValueError, match=expected):
        Optimizer({"x": wide, **space}, **{"noise": {"x": Normal(0.1)}, **settings})


def test_initial_points_may_be_experiments():
    wide = Float(0.0, 1.0, evaluate=(-0.3, 1.3))
    optimizer = Optimizer({"x": wide}, noise=Normal(0.1), initial=[{"x": 1.2}, {"x": -0.3}])
    assert [optimizer.ask()["x"] for _ in range(2)] == [1.2, -0.3]


def test_sobol_points_fill_what_may_be_evaluated():
    wide = Float(0.0, 1.0, evaluate=(-1.0, 2.0))
    optimizer = Optimizer({"x": wide}, noise=Normal(0.1), method="sobol", num_initial=1)
    x = [params["x"] for params in told(optimizer, slope, 20).history.to_dict("records")]
    assert min(x) < -0.5
    assert max(x) > 1.5


FILE = """
version = 1
[study]
budget = 8
[parameters.x]
low = 0.0
high = 1.0
evaluate = [-0.3, 1.3]
noise = 0.1
"""


@thorough
def test_a_study_file_allows_experiments_beyond(folder):
    (folder / "edge.toml").write_text(FILE)
    seen = []
    for _ in range(8):
        (asked,) = json.loads(typed("ask", "edge.toml", "--json").stdout)
        seen.append(asked["params"]["x"])
        typed("tell", "edge.toml", asked["trial"], slope(asked["params"]))
    assert all(-0.3 <= x <= 1.3 for x in seen)
    assert max(seen) > 1.0
    answer = json.loads(typed("recommend", "edge.toml", "--json").stdout)["recommendation"]
    assert 0 <= answer["robust"]["params"]["x"] <= 1
    assert 0 <= answer["robust"]["beyond"] <= 1
    typed("report", "edge.toml")
    page = (folder / "edge.html").read_text()
    assert "noise beyond all evaluations" in page
    (folder / "edge.toml").write_text(FILE.replace("high = 1.0", "high = 0.9"))
    refused = typed("recommend", "edge.toml", code=1)
    assert "its designs have the ranges {'x': [0.0, 1.0]}" in refused.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evaluate = [0.5, 1.3]", "must hold the range of the designs"),
        ("evaluate = [-1.0]", "evaluate"),
        ('evaluate = "wide"', "evaluate"),
        ('evaluate = [-1.0, 2.0]\ntype = "int"', "whole numbers have no evaluate"),
    ],
)
def test_a_study_file_with_a_wrong_range_is_refused(folder, line, expected):
    (folder / "edge.toml").write_text(FILE.replace("evaluate = [-0.3, 1.3]", line))
    assert expected in typed("ask", "edge.toml", code=2).stderr
    assert not (folder / "edge.db").exists()


def test_an_optuna_study_says_which_of_its_trials_are_designs():
    study = optuna.create_study(
        direction="maximize", sampler=RobustSampler(noise={"x": Normal(0.1)}, seed=0)
    )
    study.set_user_attr(DESIGNS, {"x": [0.0, 1.0]})
    study.optimize(lambda trial: slope({"x": trial.suggest_float("x", -0.3, 1.3)}), n_trials=10)
    best = recommend(study, noise={"x": Normal(0.1)})
    assert 0 <= best.params["x"] <= 1
    for wrong, expected in (
        ({"x": [-1.0, 1.0]}, "must hold the range"),
        ([1], "must be a dict of ranges by name"),
        ({"y": [0.0, 1.0]}, "designs of a parameter that no complete trial has"),
        ({"x": 3}, "must be"),
    ):
        study.set_user_attr(DESIGNS, wrong)
        with pytest.raises((TypeError, ValueError), match=expected):
            recommend(study, noise={"x": Normal(0.1)})


def test_only_numbers_have_designs_of_their_own():
    study = optuna.create_study(sampler=RobustSampler(noise=None, seed=0))
    study.optimize(lambda trial: trial.suggest_int("n", 0, 3), n_trials=2)
    study.set_user_attr(DESIGNS, {"n": [0, 1]})
    with pytest.raises(ValueError, match="no FloatDistribution"):
        recommend(study, noise=None)
