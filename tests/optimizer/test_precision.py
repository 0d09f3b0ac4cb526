"""Values of different quality, and experiments that the noise acted on unseen."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

import meseta
from examples import examples
from meseta import AtMost, Categorical, Environment, Int, Normal, Optimizer, Substitution, Uniform
from meseta.report.views.report import report
from meseta.report.views.wording import read_terms


def f(x):
    return math.sin(5 * x["x"]) - (x["x"] - 0.6) ** 2


def told(optimizer, n=6, seed=0, **how):
    random = np.random.default_rng(seed)
    for x in random.random(n):
        params = {"x": float(x)}
        optimizer.tell(params, f(params) + 0.1 * random.normal(), **how)
    return optimizer


def line(**settings):
    return Optimizer({"x": (0.0, 1.0)}, noise=Normal(0.05), **settings)


def test_trials_keep_what_was_told_about_their_quality():
    optimizer = line(outcomes=("mass",))
    optimizer.tell({"x": 0.2}, {"value": 1.0, "mass": 3.0}, std={"mass": 0.1}, n=4)
    optimizer.tell({"x": 0.3}, {"value": 1.2, "mass": 3.1}, std=0.5)
    optimizer.tell({"x": 0.4}, {"value": 1.3, "mass": 3.3}, executed="unseen")
    kept = [(dict(trial.std), trial.n, trial.unseen) for trial in optimizer.trials]
    assert kept == [({"mass": 0.1}, 4, False), ({"value": 0.5}, 1, False), ({}, 1, True)]
    again = line(outcomes=("mass",)).with_trials(optimizer.trials)
    assert again.trials == optimizer.trials
    assert again.recommend() == optimizer.recommend()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"std": -0.1}, "std must not be negative, got -0.1"),
        ({"std": "much"}, "std must be a number"),
        ({"std": math.nan}, "std must be finite"),
        ({"std": 1e160}, "std must be within ±1e.100, which the model can hold"),
        ({"n": 10**400}, "n must be at most 9007199254740992"),
        ({"std": {"weight": 0.1}}, "there is no outcome 'weight'"),
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"executed": "blind"}, "executed must be 'known'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_kept(how, says):
    optimizer = line()
    with pytest.raises((TypeError, ValueError), match=says):
        optimizer.tell({"x": 0.2}, 1.0, **how)
    assert optimizer.trials == ()


def test_a_standard_deviation_of_what_has_no_value_is_refused():
    optimizer = line(outcomes=("mass",))
    with pytest.raises(ValueError, match="a std of 'mass', but no value of it"):
        optimizer.tell({"x": 0.2}, {"value": 1.0, "mass": None}, std={"mass": 0.1})
    with pytest.raises(ValueError, match="a std of 'value', but no value of it"):
        line().tell({"x": 0.2}, None, std=0.1)


def test_unseen_noise_needs_noise_and_a_method_that_knows_of_it():
    with pytest.raises(ValueError, match="nothing perturbs a design"):
        Optimizer({"x": (0.0, 1.0)}, executed="unseen")
    with pytest.raises(ValueError, match="nothing perturbs a design"):
        Optimizer({"x": (0.0, 1.0)}).tell({"x": 0.3}, 1.0, executed="unseen")
    with pytest.raises(ValueError, match="'rkg', 'sobol'"):
        line(executed="unseen", method="nes-ep")
    with pytest.raises(ValueError, match="there is no value of executed"):
        line(executed="seen")
    only = {"x": Environment(Normal(0.1)), "y": 0.0}
    with pytest.raises(ValueError, match="nothing perturbs a design"):
        Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, noise={"x": only["x"]}, executed="unseen")


def test_all_methods_go_on_from_values_that_the_noise_perturbed_unseen():
    for method in ("nes-ep", "uu-ei", "uu-mes", "ei", "unscented-ei", "uu-ucb"):
        optimizer = told(line(method=method, num_initial=3), executed="unseen")
        assert 0 <= optimizer.ask()["x"] <= 1


def test_values_that_are_said_to_be_rough_count_less():
    exact, rough = line(kernel="se"), line(kernel="se")
    for optimizer, std in ((exact, 0.01), (rough, 5.0)):
        told(optimizer, 12, std=0.05)
        optimizer.tell({"x": 0.9}, 3.0, std=std)
    at = torch.tensor([[0.9]], dtype=torch.double)
    assert float(exact.posterior.joint(at).m_f) > 1.5
    assert float(rough.posterior.joint(at).m_f) < 1.0


@pytest.mark.parametrize("typed", [0.0, 5e-5])  # as they were carried out, or typed
def test_noise_that_varies_is_used_and_without_repeats_said_not_to_be(typed):
    optimizer = told(line(noise_variance="varies", kernel="se"))
    assert "one variance holds for all" in " ".join(optimizer.fitted.info.messages)
    random = np.random.default_rng(1)
    for x in np.repeat(np.linspace(0, 1, 6), 5):
        params = {"x": float(x) + typed * random.uniform(-1, 1)}
        optimizer.tell(params, f(params) + (0.02 + 0.6 * x) * random.normal())
    assert optimizer.fitted.info.messages == ()
    core = optimizer.fitted.core
    ends = torch.tensor([[0.0], [1.0]], dtype=torch.double)
    low, high = core.observation_variance(ends).sqrt().tolist()
    assert high > 4 * low
    assert 0 <= optimizer.ask()["x"] <= 1


def test_a_function_says_how_good_its_value_is():
    def measured(x):
        return {"value": f(x), "std": 0.1, "n": 3, "executed": {"x": x["x"] + 0.001}}

    result = meseta.maximize(
        measured, {"x": (0.0, 1.0)}, noise=Normal(0.05), budget=4, progress=False
    )
    assert [(dict(t.std), t.n, t.unseen) for t in result.trials] == [({"value": 0.1}, 3, False)] * 4
    result = meseta.maximize(
        lambda x: {"value": f(x), "executed": "unseen"},
        {"x": (0.0, 1.0)},
        noise=Normal(0.05),
        budget=4,
        progress=False,
    )
    assert all(trial.unseen for trial in result.trials)


def test_in_a_study_of_unseen_noise_what_is_told_to_be_executed_is_known():
    result = meseta.maximize(
        lambda x: {"value": f(x), "executed": {"x": x["x"] + 0.01} if x["x"] > 0.5 else {}},
        {"x": (0.0, 1.0)},
        noise=Normal(0.05),
        budget=6,
        executed="unseen",
        progress=False,
    )
    for trial in result.trials:
        assert trial.unseen == (trial.planned is None)


def test_an_outcome_may_be_called_n():
    result = meseta.maximize(
        lambda x: {"value": f(x), "n": 7.5},
        {"x": (0.0, 1.0)},
        outcomes=("n",),
        budget=3,
        progress=False,
    )
    assert [trial.outcomes["n"] for trial in result.trials] == [7.5] * 3
    assert [trial.n for trial in result.trials] == [1] * 3


def test_the_robust_optimum_is_found_although_nobody_saw_what_was_evaluated():
    """The first problem of AIRBO: the peak at 0.35 is higher, and the noise goes to one side."""
    random = np.random.default_rng(0)

    def value(x):
        return float(
            np.sinc(2 * np.pi * x)
            + 7.2 * np.exp(-((37 * (x - 0.25)) ** 2))
            + 8.9 * np.exp(-((39 * (x - 0.35)) ** 2))
        )

    optimizer = Optimizer(
        {"x": (0.0, 1.0)},
        noise={"x": scipy.stats.beta(0.4, 0.2, scale=0.1)},
        executed="unseen",
        kernel="se",
    )
    for x in np.linspace(0, 1, 101):
        optimizer.tell({"x": float(x)}, value(x + 0.1 * random.beta(0.4, 0.2)))
    assert optimizer.recommend().params["x"] == pytest.approx(0.2525, abs=0.015)


LAWS = {
    "normal": {"x": Normal(0.05), "y": Uniform(0.3)},
    "joint": {("x", "y"): Normal(covariance=[[0.01, 0.0], [0.0, 0.1]])},
    "one": {"x": Normal(0.05)},
    "environment": {"x": Normal(0.05), "y": Environment(Normal(1.0, 0.3))},
    "observed": {"x": Normal(0.05), "y": Environment(Normal(1.0, 0.3), observed=True)},
    "choice": {"x": Normal(0.05), "c": Substitution(0.1)},
}


@given(
    law=st.sampled_from(sorted(LAWS)),
    edge=st.sampled_from(["allow", "clip", "truncate"]),
    measure=st.sampled_from(["mean", "mean", "quantile 0.1", "cvar 0.2", "yield 0 inf"]),
    constrained=st.sampled_from([False, False, True]),
    variance=st.sampled_from([None, 0.01, "varies"]),
    default=st.sampled_from(["known", "unseen"]),
    seed=st.integers(0, 1000),
)
@examples(1)
def test_everything_may_be_combined(law, edge, measure, constrained, variance, default, seed):
    random = np.random.default_rng(seed)
    space = {"x": (0.0, 1.0), "y": (0.0, 2.0), "k": Int(1, 3), "c": Categorical(("a", "b"))}
    if law == "joint":
        edge = "allow"
    optimizer = Optimizer(
        space,
        noise=LAWS[law],
        edge=edge,
        measure=measure,
        constraints={"mass": AtMost(2.0, probability=0.8)} if constrained else {},
        outcomes=("mass",),
        noise_variance=variance,
        executed=default,
        num_initial=3,
        seed=seed,
    )
    for _ in range(7):
        params = {
            "x": random.random(),
            "y": 2 * random.random(),
            "k": int(random.integers(1, 4)),
            "c": str(random.choice(["a", "b"])),
        }
        for _ in range(int(random.integers(1, 3))):
            value = math.sin(4 * params["x"]) + params["y"] / 4 + 0.05 * random.normal()
            optimizer.tell(
                params,
                {"value": value, "mass": 1 + params["x"]},
                std=None if random.random() < 0.5 else {"value": 0.05, "mass": 0.01},
                n=int(random.integers(1, 4)),
                executed=str(random.choice(["known", "unseen"])),
            )
    best = optimizer.recommend()
    assert math.isfinite(best.mean)
    assert best.std >= 0
    low, high = best.interval
    assert low <= best.mean <= high
    assert set(optimizer.ask()) <= set(space)


def test_the_report_of_unseen_experiments(tmp_path):
    random = np.random.default_rng(0)
    result = meseta.maximize(
        lambda x: f({"x": x["x"] + 0.05 * random.normal()}),
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        noise={"x": Normal(0.05)},
        budget=8,
        executed="unseen",
        progress=False,
    )
    assert result.report(tmp_path / "report.html").exists()


def test_reports_say_what_is_known_about_the_values():
    optimizer = line(noise_variance="varies", kernel="se", num_initial=3)
    random = np.random.default_rng(1)
    for x in np.repeat(np.linspace(0, 1, 5), 3):
        optimizer.tell({"x": float(x)}, f({"x": x}) + (0.02 + 0.6 * x) * random.normal())
    optimizer.tell({"x": 0.4}, 1.0, executed="unseen")
    said = " ".join(
        finding.text for finding in report(optimizer, read_terms({}, ["x"])).search.findings
    )
    assert "the noise of f varies: its standard deviation is" in said
    assert "1 of the 16 values are of experiments that the noise perturbed unseen" in said
