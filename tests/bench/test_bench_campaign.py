"""Campaigns: the same start for all methods, each run once, failures on record."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from bench_records import made_up
from meseta.acquisition import methods
from meseta.bench import one_run as runs
from meseta.bench.campaign import campaign, progress
from meseta.bench.experiments import EXPERIMENTS
from meseta.bench.job import Job
from meseta.bench.one_run import problem_of, run
from meseta.bench.pace import Pace, spoken
from meseta.bench.plan import keep_plan, kept_plans, make_plan
from meseta.bench.records import path_of, read_lines
from meseta.bench.workers import processes
from meseta.cli import app
from meseta.noise import Normal
from meseta.problems import get, within_model


def job(problem="sin-linear", method="ei", seed=0, evaluations=5, prior="default", options=()):
    return Job(problem, method, options, seed, prior, evaluations)


def small_plan(**choices):
    return make_plan(
        "quick", **{"problems": ("sin-linear",), "evaluations": 4, "runs": 2, **choices}
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_name_what_exists(name):
    plan = make_plan(name, runs=1)
    assert plan.problems == EXPERIMENTS[name].problems
    jobs = plan.jobs()
    assert len(set(jobs)) == len(jobs) == len(plan.problems) * len(plan.methods)
    for each in jobs:
        assert each.evaluations == problem_of(each.problem, 0).budget
        assert each.prior == ("known" if each.problem == "within-model" else "default")


def test_the_prior_is_for_hyperparameters_that_are_learned():
    plan = make_plan("max-values", prior="paper", runs=1)
    assert {job.problem: job.prior for job in plan.jobs()} == {
        "within-model": "known",
        **dict.fromkeys(EXPERIMENTS["synthetic"].problems, "paper"),
    }


def test_the_paper_says_how_many_runs():
    assert {name: e.runs for name, e in EXPERIMENTS.items() if e.problems} == {
        "within-model": 50,
        "synthetic": 100,
        "gravity": 100,
        "hartmann6": 20,
        "max-values": 50,
        "kappa": 50,
        "timing": 50,
        "quick": 3,
    }
    assert set(EXPERIMENTS["synthetic"].methods) <= set(methods.names())


def test_a_record_holds_the_run():
    record = run(job(evaluations=6))
    problem = get("sin-linear")
    assert record.state == "complete", record.error
    assert record.x.shape == (6, 1)
    assert record.recommended.shape == (4, 1)  # after 3, 4, 5, 6 evaluations
    np.testing.assert_allclose(record.y, problem.f(record.x), atol=5e-3)  # noise of 1e-3
    assert (record.y != problem.f(record.x)).all()
    np.testing.assert_allclose(record.regret, problem.regret(record.recommended))
    np.testing.assert_allclose(record.value, problem.g(record.recommended))
    away = np.abs(record.recommended[:, 0] - problem.x_star[0])
    np.testing.assert_allclose(record.distance, away)
    counts = {part: len(seconds) for part, seconds in record.seconds.items()}
    assert counts == {"fit": 4, "suggest": 3, "recommend": 4, "evaluate": 6}
    assert 0 < record.duration < 60
    assert {"meseta", "torch", "botorch", "gpytorch", "numpy", "python"} <= set(record.versions)
    assert record.settings["noise_variance"] == 1e-6


def test_a_run_depends_on_its_job_alone():
    torch.manual_seed(1)
    first = run(job(method="nes-ep"))
    torch.manual_seed(2)
    second = run(job(method="nes-ep"))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_array_equal(first.recommended, second.recommended)


def test_all_methods_start_from_the_same_observations():
    starts = {
        (record.x[:3].tobytes(), record.y[:3].tobytes())
        for record in (run(job(method=name, evaluations=3)) for name in methods.names())
    }
    assert len(starts) == 1
    others = [run(job(seed=1, evaluations=3)), run(job("rkhs", evaluations=3))]
    assert all((o.x[:3].tobytes(), o.y[:3].tobytes()) not in starts for o in others)


def test_initial_points_are_uniform():
    """Kolmogorov-Smirnov distance of 600 points: 1 % of uniform samples exceed 1.63 / sqrt(600)."""
    points = np.concatenate(
        [runs.initial_design(job(seed=s), get("sin-linear")) for s in range(200)]
    )
    ordered = np.sort(points[:, 0])
    assert np.abs(ordered - (np.arange(600) + 0.5) / 600).max() < 1.63 / 600**0.5


def test_minimisation_is_flipped_inside_and_recorded_as_it_is(monkeypatch):
    high = get("sin-linear")
    low = replace(
        high,
        f=lambda x: -high.f(x / 10),
        g=lambda x: -high.g(x / 10),
        bounds=10 * high.bounds,
        noise=Normal(0.5),
        x_star=10 * high.x_star,
        g_star=-high.g_star,
        direction="minimize",
        noise_variance=0.0,
    )
    monkeypatch.setattr(runs, "get", lambda name: low)
    record = run(job(method="nes-ep", evaluations=5))
    monkeypatch.setattr(runs, "get", lambda name: replace(high, noise_variance=0.0))
    mirrored = run(job(method="nes-ep", evaluations=5))
    np.testing.assert_allclose(record.y, low.f(record.x))
    np.testing.assert_allclose(record.y, -mirrored.y, rtol=1e-6)
    np.testing.assert_allclose(record.regret, mirrored.regret, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(record.distance, 10 * record.distance_in_box)


def test_within_model_each_seed_has_its_function_and_nothing_is_fitted(monkeypatch):
    monkeypatch.setattr(runs, "fit_surrogate", None)
    record = run(job("within-model", "nes-ep", seed=3, evaluations=4, prior="known"))
    assert record.state == "complete", record.error
    np.testing.assert_allclose(record.y, within_model(3).f(record.x), atol=5e-3)


def test_hyperparameters_are_fitted_anew_for_each_recommendation(monkeypatch):
    sizes, fit = [], runs.fit_surrogate

    def spy(X, *arguments, **options):
        sizes.append(len(X))
        return fit(X, *arguments, **options)

    monkeypatch.setattr(runs, "fit_surrogate", spy)
    run(job(evaluations=5))
    assert sizes == [3, 4, 5]


def broken(*arguments, **options):
    raise ZeroDivisionError("numerics of sorts")


def test_a_failed_run_is_recorded_and_retried_only_if_asked(tmp_path, monkeypatch):
    plan = small_plan(methods=("ei", "uu-ei"))
    with monkeypatch.context() as patch:
        patch.setattr(runs, "suggest", broken)
        records = list(campaign(tmp_path, plan, processes(1, runs.run)))
    assert [record.state for record in records] == ["failed"] * 4
    assert all("numerics of sorts" in record.error for record in records)
    assert all(len(record.x) == 3 and len(record.regret) == 1 for record in records)
    assert list(campaign(tmp_path, plan, processes(1, runs.run))) == []
    assert len(progress(tmp_path, plan).failed) == 4
    again = list(campaign(tmp_path, plan, processes(1, runs.run), retry_failed=True))
    assert [record.state for record in again] == ["complete"] * 4
    assert list(campaign(tmp_path, plan, processes(1, runs.run), retry_failed=True)) == []
    assert len(progress(tmp_path, plan).complete) == 4


def test_a_broken_problem_is_a_failure_too(monkeypatch):
    monkeypatch.setattr(runs, "get", broken)
    record = run(job())
    assert record.state == "failed"
    assert "numerics of sorts" in record.error
    nowhere = replace(get("sin-linear"), g=lambda x: np.full(len(x), np.nan))
    monkeypatch.setattr(runs, "get", lambda name: nowhere)
    record = run(job(evaluations=3))
    assert record.state == "failed"
    assert "not finite" in record.error
    record.to_json()


def test_warnings_of_a_run_are_counted_not_raised(monkeypatch):
    import warnings

    recommend = runs.recommend

    def noisy(*arguments, **options):
        warnings.warn("hm", RuntimeWarning, stacklevel=2)
        return recommend(*arguments, **options)

    monkeypatch.setattr(runs, "recommend", noisy)
    record = run(job(evaluations=5))
    assert record.state == "complete"
    assert record.warnings == 3
    assert record.messages == ("RuntimeWarning: hm",)


def test_two_processes_do_every_run_once(tmp_path):
    plan = small_plan(methods=("ei", "sobol"), runs=3)
    records = list(campaign(tmp_path, plan, processes(2, runs.run)))
    assert sorted(r.job.seed for r in records) == [0, 0, 1, 1, 2, 2]
    assert {r.state for r in records} == {"complete"}
    (by_hand,) = (r for r in records if r.job == plan.jobs()[0])
    np.testing.assert_array_equal(by_hand.x, run(plan.jobs()[0]).x)
    assert list(campaign(tmp_path, plan, processes(2, runs.run))) == []


def test_a_run_that_comes_back_twice_counts_once(tmp_path):
    plan = small_plan(methods=("ei",), runs=1)

    def eager(jobs):
        for each in [*jobs] * 2:
            yield replace(made_up(), job=each)

    assert len(list(campaign(tmp_path, plan, eager))) == 1


SEEDS = 6
COMMAND = [
    *("bench", "run", "quick", "--no-figures", "--problems", "sin-linear", "--methods", "ei"),
    *("--evaluations", "5", "--runs", str(SEEDS), "--output"),
]


def test_a_killed_campaign_goes_on_where_it_was(tmp_path):
    path = path_of(tmp_path, "sin-linear", "ei")
    first = subprocess.Popen(
        [sys.executable, "-m", "meseta.cli", *COMMAND, tmp_path], stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    done = [line["seed"] for line in read_lines(path)]
    assert 0 < len(done) < SEEDS
    again = CliRunner().invoke(app, [*COMMAND, str(tmp_path)])
    assert again.exit_code == 0, again.output
    assert [line["seed"] for line in read_lines(path)] == list(range(SEEDS))


def test_plans_of_a_folder_add_up(tmp_path):
    keep_plan(tmp_path, make_plan("quick", methods=("ei",), runs=2))
    keep_plan(tmp_path, make_plan("quick", methods=("rkg",), runs=1, problems=("rkhs",)))
    keep_plan(tmp_path, make_plan("quick", prior="paper"))
    keep_plan(tmp_path, make_plan("within-model"))
    names = [plan.name for plan in kept_plans(tmp_path)]
    assert names == ["within-model", "quick", "quick,prior=paper"]
    both = kept_plans(tmp_path)[1]
    assert both.methods == ("ei", "rkg")
    assert both.problems == ("sin-linear", "gmm", "rkhs")
    assert both.runs == 2


@pytest.mark.parametrize(
    ("choices", "hint"),
    [
        ({"experiment": "syntetic"}, "did you mean 'synthetic'"),
        ({"problems": ("gnm",)}, "did you mean 'gmm'"),
        ({"methods": ("rgk",)}, "did you mean 'rkg'"),
        ({"prior": "papers"}, "did you mean 'paper'"),
        ({"runs": 0}, "at least 1"),
        ({"evaluations": 4, "problems": ("gmm",)}, "start with 5 points"),
    ],
)
def test_plans_that_make_no_sense_are_refused(choices, hint):
    with pytest.raises(ValueError, match=hint):
        make_plan(**{"experiment": "quick", **choices})


def test_the_pace_knows_slow_methods():
    """made_up: 2 evaluations after 2 initial: 0.4 + 0.1 + 0.1 + 0.003 s for 3 evaluations."""
    pace = Pace()
    assert pace.seconds([job()]) is None
    assert spoken(None) == "?"
    pace.add(made_up(method="rkg"))
    pace.add(made_up(method="rkg", state="failed", regret=[1.0] * 50))
    slow = made_up(method="nes-rs")
    pace.add(replace(slow, seconds={"fit": np.array([60.3])}))
    assert pace.seconds([job("gmm", "rkg", evaluations=30)]) == pytest.approx(6.03)
    assert pace.seconds([job("gmm", "nes-rs", evaluations=30)]) == pytest.approx(603)
    assert pace.seconds([job("gmm", "ei", evaluations=30)]) == pytest.approx((6.03 + 603) / 2)
    assert [spoken(s) for s in (6.03, 603.0, 6030.0)] == ["6 s", "10 min", "1.7 h"]
