"""Widths of the noise that measured deviations make known."""

import math
from dataclasses import replace

import numpy as np
import optuna
import pytest
import torch
from scipy import stats

import meseta
from examples import thorough
from meseta import LearnedNormal, Normal, Optimizer, StudentT
from meseta.integrations.optuna import EXECUTED, recommend
from meseta.report.views.search import search
from meseta.report.views.subject import Subject

LINE = {"x": (0.0, 1.0)}


def needle(x):
    return math.exp(-(((x - 0.3) / 0.05) ** 2)) + 0.8 * math.exp(-(((x - 0.7) / 0.2) ** 2))


def told(noise, num=10, off=None, **settings):
    """An optimizer with some values; `off` are the deviations that were measured."""
    optimizer = Optimizer(LINE, noise=noise, seed=1, **settings)
    for i in range(num):
        planned = optimizer.ask()
        if off is None or i >= len(off):
            optimizer.tell(planned, needle(planned["x"]))
        else:
            x = planned["x"] + off[i]
            optimizer.tell(planned, needle(x), executed={"x": x})
    return optimizer


def test_the_update_is_that_of_the_scaled_inverse_chi_square_law():
    law = LearnedNormal(0.05, worth=10, mean=0.01)
    off = [0.07, -0.02, 0.11]
    now = law.given(off)
    squares = sum((each - 0.01) ** 2 for each in off)
    assert (now.worth, now.bias) == (13, 0.01)
    assert now.std == pytest.approx(math.sqrt((10 * 0.05**2 + squares) / 13))
    assert law.given(off[:1]).given(off[1:]).std == pytest.approx(now.std)
    assert law.given([]) == law
    assert now.predictive == StudentT(13, now.std, 0.01)
    # width^2 ~ worth std^2 / chi^2
    draws = now.std * np.sqrt(13 / stats.chi2(13).rvs(200_000, random_state=1))
    assert now.width_interval == pytest.approx(np.quantile(draws, [0.025, 0.975]), rel=0.01)
    assert law.given([1e200, 1e200]).std == pytest.approx(1e200 * math.sqrt(2 / 12))


def test_the_interval_of_the_width_holds_the_truth():
    """Widths of the prior, deviations of each: 95 % of the intervals hold their width."""
    random = np.random.default_rng(1)
    holds = []
    for _ in range(1500):
        width = 0.05 * math.sqrt(6 / random.chisquare(6))
        now = LearnedNormal(0.05, worth=6).given(random.normal(0, width, 8).tolist())
        low, high = now.width_interval
        holds.append(low <= width <= high)
    assert np.mean(holds) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("worth", [4, 10, 50])
def test_some_widths_stand_for_all(worth):
    law = LearnedNormal(0.2, worth=worth, mean=0.1)
    laws, weights = law.by_width()
    assert sum(weights) == pytest.approx(1)
    xi = torch.linspace(-0.6, 0.8, 15, dtype=torch.double)
    mixed = sum(w * each.cdf(xi) for w, each in zip(weights, laws, strict=True))
    assert mixed.numpy() == pytest.approx(law.cdf(xi).numpy(), abs=0.004)


def test_an_optimizer_learns_from_what_was_measured():
    optimizer = told({"x": LearnedNormal(0.05, worth=5)}, off=[0.1, -0.1, 0.1, -0.1, 0.1])
    now = optimizer.learned["x"]
    assert now.worth == 10
    assert now.std == pytest.approx(math.sqrt((5 * 0.05**2 + 5 * 0.1**2) / 10))
    assert optimizer.noise.marginals[0] == now
    assert optimizer.law.marginals[0] == now
    (row,) = optimizer.deviations.to_dict("records")  # beside what was stated
    assert row["assumed_std"] == pytest.approx(0.05)
    assert row["ratio"] == pytest.approx(2)
    again = Optimizer(LINE, noise={"x": LearnedNormal(0.05, worth=5)}, seed=1)
    again = again.with_trials(optimizer.trials)
    assert again.learned == optimizer.learned
    assert again.recommend() == optimizer.recommend()
    fresh = optimizer.with_trials([])
    assert fresh.learned["x"] == LearnedNormal(0.05, worth=5)
    assert optimizer.learned["x"] == now


def test_wider_noise_that_was_measured_moves_the_answer():
    """The needle is the best for a narrow width, the hill for a wide one."""
    grid = [{"x": x} for x in np.linspace(0, 1, 21).tolist()]
    noise = {"x": LearnedNormal(0.01, worth=3)}
    sure = Optimizer(LINE, noise=noise, seed=1)
    for params in grid:
        sure.tell(params, needle(params["x"]))
    assert sure.recommend().params["x"] == pytest.approx(0.3, abs=0.05)
    for i in range(20):  # failed, but measured
        sure.tell({"x": 0.5}, None, executed={"x": 0.5 + 0.1 * (-1) ** i})
    assert sure.learned["x"].worth == 23
    assert sure.recommend().params["x"] == pytest.approx(0.7, abs=0.1)


@thorough
def test_the_interval_has_the_width_in_it():
    """The law of total variance, by many draws of the width."""
    optimizer = told({"x": LearnedNormal(0.08, worth=4)}, num=14)
    best = optimizer.recommend()
    x = torch.tensor([[best.params["x"]]], dtype=torch.double)
    random = np.random.default_rng(1)
    means, variances = [], []
    for width in 0.08 * np.sqrt(4 / random.chisquare(4, 400)):
        known = Optimizer(LINE, noise={"x": Normal(float(width))}, seed=1)
        g = replace(optimizer.fitted, law=known.law).posterior.joint(x)
        means.append(float(g.m_g))
        variances.append(float(g.v_g))
    assert best.std == pytest.approx(math.sqrt(np.mean(variances) + np.var(means)), rel=0.15)
    plain = optimizer.posterior.joint(x)
    assert best.std > 1.2 * math.sqrt(float(plain.v_g))
    assert best.mean == pytest.approx(float(plain.m_g))
    assert best.mean == pytest.approx(np.mean(means), abs=0.2 * best.std)


def test_pairs_make_the_interval_narrower():
    random = np.random.default_rng(2)
    few = told({"x": LearnedNormal(0.05, worth=4)}, num=12)
    planned = few.recommend()
    for each in random.normal(0, 0.05, 60):
        few.tell({"x": 0.5}, None, executed={"x": 0.5 + each})
    assert few.promise({"x": planned.params["x"]}).std < planned.std
    assert few.learned["x"].worth == 64


@thorough
def test_other_measures_have_it_too():
    answers = []
    for law in (LearnedNormal(0.08, worth=4), StudentT(4, 0.08)):
        optimizer = Optimizer(LINE, noise={"x": law}, seed=1, measure="quantile 0.1")
        for x in np.linspace(0, 1, 9).tolist():
            optimizer.tell({"x": x}, needle(x))
        answers.append(optimizer.recommend())
    rough, sure = answers
    assert (rough.params, rough.mean) == (sure.params, sure.mean)
    assert rough.std > sure.std


def test_one_law_for_all_is_learned_for_each():
    optimizer = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, noise=LearnedNormal(0.1, worth=3))
    optimizer.tell({"x": 0.5, "y": 0.5}, 1.0, executed={"y": 0.9})
    assert optimizer.learned["x"] == LearnedNormal(0.1, worth=3)
    assert optimizer.learned["y"].worth == 4


def test_where_it_cannot_be_learned():
    law = LearnedNormal(0.1, worth=3)
    with pytest.raises(ValueError, match="What is measured is the sum of both"):
        Optimizer(
            {"x": (0.0, 1.0), "y": (0.0, 1.0)},
            noise={"x": law, ("x", "y"): meseta.Shared(Normal(0.1))},
        )
    with pytest.raises(ValueError, match="worth must be greater than 2, got 2"):
        LearnedNormal(0.1, worth=2)
    with pytest.raises(ValueError, match="the scale is logarithmic"):
        Optimizer({"x": meseta.Float(0.1, 1.0, log=True)}, noise={"x": law})


def test_edges_go_with_it():
    optimizer = told({"x": LearnedNormal(0.1, worth=3)}, off=[0.02, 0.01], num=6, edge="clip")
    assert optimizer.learned["x"].worth == 5
    assert math.isfinite(optimizer.recommend().std)


def test_reports_say_what_was_learned():
    optimizer = told({"x": LearnedNormal(0.05, worth=5)}, off=[0.1, -0.1, 0.1], num=8)
    texts = [each.text for each in search(Subject(optimizer)).findings if each.topic == "noise"]
    assert any("the width of the noise of x is learned: 0.0729" in text for text in texts)


def test_studies_learn_too():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize")
    for i in range(8):
        x = (i + 0.5) / 8
        trial = optuna.trial.create_trial(
            params={"x": x},
            distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
            value=needle(x + 0.1),
            user_attrs={EXECUTED: {"x": x + 0.1}},
        )
        study.add_trial(trial)
    answer = recommend(study, noise={"x": LearnedNormal(0.05, worth=4)})
    assert answer.optimizer.learned["x"].worth == 12
    assert answer.optimizer.learned["x"].std == pytest.approx(
        LearnedNormal(0.05, worth=4).given([0.1] * 8).std
    )
