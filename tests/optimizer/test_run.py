"""maximize and minimize: whole runs, also those that go wrong."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import meseta
import meseta.acquisition.methods
from examples import some
from meseta import AtLeast, Environment, Normal, maximize, minimize
from meseta.problems import get
from meseta.run import EvaluationsFailed

LINE = {"x": (0.0, 1.0)}
NOISE = {"x": Normal(0.05)}


def sin_linear(params):
    return math.sin(5 * math.pi * params["x"] ** 2) + 0.5 * params["x"]


def quietly(f, space=LINE, *, call=maximize, **options):
    return call(f, space, **{"noise": NOISE, "progress": False, **options})


def every_third_fails(reason):
    """An f, and the list of params that it saw; `reason()` is its result at every third call."""
    seen = []

    def f(params):
        seen.append(params)
        return reason() if len(seen) % 3 == 2 else sin_linear(params)

    return f, seen


def crash():
    raise OSError("the sensor fell off")


def test_a_run_finds_the_plateau_and_not_the_needle():
    """Sin + Linear: the tallest point is at 0.95, the robust optimum at 0.311 (g = 1.0421)."""
    result = quietly(sin_linear, budget=15)
    assert result.params["x"] == pytest.approx(0.3111, abs=1e-2)
    assert result.mean == pytest.approx(1.0421, abs=1e-2)
    assert result.interval[0] < 1.0421 < result.interval[1]
    assert result.nominal.nominal_mean > result.nominal_mean
    assert result.nominal.mean < result.mean
    assert not result.interrupted
    table = result.history
    assert isinstance(table, pd.DataFrame)
    assert len(table) == len(result.trials) == 15
    assert table["value"].tolist() == [sin_linear(t.params) for t in result.trials]
    assert table.notna().all(axis=None)
    last = table.iloc[-1]
    assert (last["best_x"], last["best_mean"], last["best_std"]) == (
        result.params["x"],
        result.mean,
        result.std,
    )
    assert result.optimizer.recommend().params == result.params


def test_minimising_f_is_maximising_its_mirror_image():
    low = quietly(sin_linear, call=minimize, budget=5)
    high = quietly(lambda params: -sin_linear(params), budget=5)
    assert low.params == high.params
    assert (low.mean, low.nominal_mean, low.nominal.mean) == (
        -high.mean,
        -high.nominal_mean,
        -high.nominal.mean,
    )
    signs = {"value": -1, "best_mean": -1}
    columns = ["x", "value", "best_x", "best_mean", "best_std"]
    for column in columns:
        pd.testing.assert_series_equal(
            low.history[column], signs.get(column, 1) * high.history[column]
        )


def test_a_run_equals_asking_and_telling_by_hand_and_can_go_on():
    result = quietly(sin_linear, budget=5, seed=3)
    optimizer = meseta.Optimizer(LINE, noise=NOISE, seed=3)
    for _ in range(5):
        params = optimizer.ask()
        optimizer.tell(params, sin_linear(params))
    assert result.trials == optimizer.trials
    assert result.params == optimizer.recommend().params
    assert result.optimizer.ask() == optimizer.ask()


def test_f_receives_a_dict_of_floats_of_its_own():
    def f(params):
        assert type(params) is dict
        assert all(type(value) is float for value in params.values())
        return np.float64(params.pop("b") + params.pop("a"))

    result = quietly(f, {"a": (0, 1), "b": (0, 1)}, noise=None, budget=3)
    assert [trial.state for trial in result.trials] == ["complete"] * 3


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        (crash, "OSError: the sensor fell off"),
        (lambda: math.nan, "ValueError: the value of f must be finite, got nan"),
        (lambda: "good", "TypeError: the value of f must be a number, got 'good'"),
    ],
)
def test_failed_evaluations_are_recorded_and_warned_of_once(reason, error):
    f, seen = every_third_fails(reason)
    with pytest.warns(RuntimeWarning) as caught:
        result = quietly(f, budget=6)
    assert len(caught) == 1
    assert error in str(caught[0].message)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert [trial.number for trial in failed] == [1, 4]
    assert {trial.error for trial in failed} == {error}
    assert result.history["value"].isna().tolist() == [t.state == "failed" for t in result.trials]
    assert len(seen) == len({params["x"] for params in seen}) == 6
    assert "6 evaluations, 2 failed" in repr(result)


def test_an_array_with_one_number_is_a_value():
    single = quietly(lambda x: np.array([[sin_linear(x)]]), budget=4)
    named = quietly(lambda x: {"value": np.array([sin_linear(x)])}, budget=4)
    assert [trial.value for trial in single.trials] == [trial.value for trial in named.trials]
    assert [trial.state for trial in single.trials] == ["complete"] * 4


@pytest.mark.parametrize(("most", "tried"), [({}, 10), ({"give_up": 3}, 3), ({"give_up": 0}, 12)])
def test_a_run_of_failures_gives_up(most, tried):
    with pytest.warns(RuntimeWarning, match="failed"), pytest.raises(EvaluationsFailed) as caught:
        minimize(lambda p: 1 / 0, {"x": (0.0, 1.0)}, budget=12, progress=False, **most)
    assert len(caught.value.trials) == tried
    assert caught.value.left == 12 - tried
    assert ("give_up=0" in str(caught.value)) == (tried < 12)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_one_value_is_enough_to_go_on():
    values = iter([None, None, 1.0, *[None] * 7])
    result = maximize(
        lambda p: next(values), {"x": (0.0, 1.0)}, budget=10, progress=False, give_up=3
    )
    assert len(result.trials) == 10


def test_returning_none_is_a_failure_without_a_warning():
    f, _ = every_third_fails(lambda: None)
    result = quietly(f, budget=3)
    assert [trial.error for trial in result.trials] == [None, "f returned None", None]


def test_a_run_without_any_value_raises_with_its_trials():
    with (
        pytest.warns(RuntimeWarning, match="the sensor fell off"),
        pytest.raises(
            RuntimeError, match=r"all 4 evaluations failed.*the sensor fell off"
        ) as caught,
    ):
        quietly(lambda _: crash(), budget=4)
    assert isinstance(caught.value, EvaluationsFailed)
    assert [trial.state for trial in caught.value.trials] == ["failed"] * 4
    assert isinstance(caught.value.__cause__, OSError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.trials, str(again)) == (caught.value.trials, str(caught.value))
    with pytest.raises(RuntimeError, match="f returned None"):
        quietly(lambda _: None, budget=1)


def test_an_interrupt_in_f_returns_what_was_found():
    def f(params):
        if len(seen) == 4:
            raise KeyboardInterrupt
        seen.append(params)
        return sin_linear(params)

    seen = []
    result = quietly(f, budget=10)
    assert result.interrupted
    assert "interrupted" in repr(result)
    assert len(result.history) == 4
    assert [trial.state for trial in result.trials] == ["complete"] * 4 + ["pending"]
    assert result.optimizer.recommend().params == result.params


def test_an_interrupt_before_any_value_is_passed_on():
    def f(params):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly(f, budget=3)


def test_the_callback_sees_every_evaluation_and_may_end_the_run():
    seen = []

    def callback(optimizer, trial):
        seen.append((trial, optimizer.history["best_mean"].iloc[-1]))
        if len(seen) == 3:
            raise KeyboardInterrupt

    result = quietly(sin_linear, budget=9, callback=callback)
    assert result.interrupted
    assert tuple(trial for trial, _ in seen) == result.trials
    assert [best for _, best in seen] == result.history["best_mean"].tolist()


def test_the_bar_shows_the_best_mean_and_can_be_silenced(capsys):
    result = quietly(sin_linear, budget=2, progress=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert f"best {result.mean:.5g}" in shown
    quietly(sin_linear, budget=2)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_result_shows_the_robust_optimum_beside_the_nominal_one():
    result = quietly(sin_linear, {"x": (0, 1)}, budget=3)
    title, header, x, robust, nominal, *notes = repr(result).splitlines()
    intervals, test, *beyond, remark = notes
    assert intervals == "(± is half the width of a 95 % interval.)"
    assert len(beyond) == (result.beyond >= 0.2)
    assert test.startswith("(The robust optimum was ")
    assert remark == "(The nominal optimum ignores the noise. It was not the target of the search.)"
    assert title == f"maximize by {meseta.acquisition.methods.DEFAULT_METHOD}, 3 evaluations"
    assert header.split() == ["robust", "optimum", "nominal", "optimum"]
    values = (result.params["x"], result.nominal.params["x"])
    assert x.split() == ["x", *(f"{value:.5g}" for value in values)]
    assert f"{result.mean:.5g} ± {1.959964 * result.std:.2g}" in robust
    shown = result._repr_html_()
    assert f"<td>{result.mean:.5g} ± {1.959964 * result.std:.2g}</td>" in shown
    assert all(f"<div>{note}</div>" in shown for note in notes)
    assert f"{result.nominal.nominal_mean:.5g}" in nominal


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"budget": 0}, "budget must be at least 1, got 0"),
        ({"budget": 2.5}, "budget"),
        ({"budget": True}, "budget must be a whole number"),
        ({"f": 3.0}, r"function|[Cc]allable"),
        ({"space": {}}, "one range per parameter"),
        ({"method": "nes-pe"}, "nes-ep"),
    ],
)
def test_runs_that_make_no_sense_are_refused_before_f_is_called(options, expected):
    def f(params):
        raise AssertionError("f was called")

    arguments = {"f": f, "space": LINE, "budget": 3, "progress": False, **options}
    with pytest.raises((TypeError, ValueError), match=expected):
        maximize(arguments.pop("f"), arguments.pop("space"), **arguments)


def test_importing_meseta_is_light():
    code = "import sys, meseta; print({'torch', 'pandas', 'tqdm'} & set(sys.modules), dir(meseta))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("set()")
    assert all(name in shown.stdout for name in ("Optimizer", "maximize", "minimize"))


def test_a_crash_of_the_optimizer_itself_loses_no_evaluation(monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("numerics")

    monkeypatch.setattr("meseta.optimizer.ask_tell.suggest", broken)
    with pytest.raises(ZeroDivisionError) as caught:
        meseta.maximize(lambda x: x["x"], {"x": (0, 1)}, budget=9, progress=False)
    assert len(caught.value.optimizer.history) == 3
    assert "error.optimizer" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", meseta.acquisition.methods.names())
def test_every_method_runs_behind_the_api(method):
    options = {"num_accepted": 100} if method == "nes-rs" else None
    result = quietly(sin_linear, budget=6, method=method, options=options)
    assert len(result.history) == 6
    assert result.history["best_x"].notna().all()
    assert 0 <= result.params["x"] <= 1


def test_a_problem_brings_its_box_noise_and_budget():
    problem = get("sin-linear")
    result = maximize(problem, progress=False, method="sobol")
    assert len(result.history) == problem.budget == 20
    optimizer = result.optimizer
    assert dict(optimizer.space.ranges) == problem.space
    assert optimizer.noise.in_dimension(1).covariance_matrix.item() == pytest.approx(0.05**2)
    assert optimizer.initial.num == problem.num_initial
    points = result.history[list(problem.names)].to_numpy()
    eps = result.history["value"].to_numpy() - problem.f(points)
    # observation noise of variance 1e-6: that of 20 values is within a factor of 3
    assert 1e-6 / 3 < eps.var() < 3e-6


def test_runs_on_a_problem_repeat_themselves_and_may_be_shortened():
    first, second = (maximize(get("sin-linear"), budget=4, progress=False) for _ in range(2))
    pd.testing.assert_frame_equal(first.history, second.history)
    assert len(first.history) == 4
    assert maximize(get("rkhs"), budget=4, num_initial=2, progress=False).optimizer.initial.num == 2


def test_problems_are_optimised_in_their_direction():
    with pytest.raises(ValueError, match=r"'gravity' is to be minimized; call meseta.minimize"):
        maximize(get("gravity"))
    with pytest.raises(ValueError, match=r"call meseta.maximize"):
        minimize(get("gmm"))
    result = minimize(get("gravity"), budget=6, method="sobol", progress=False)
    assert result.optimizer.direction == "minimize"


@pytest.mark.parametrize("name", some(["piston", "disc-brake", "ring", "branin-williams-cvar"], 2))
def test_a_problem_brings_environment_measure_and_constraints(name):
    problem = get(name)
    run = minimize if problem.direction == "minimize" else maximize
    optimizer = run(problem, budget=3, num_initial=3, method="sobol", progress=False).optimizer
    assert optimizer.settings.measure == problem.measure
    assert optimizer.settings.constraints == dict(problem.constraints)
    assert set(optimizer.trials[0].params) == {*problem.names, *problem.environment}
    assert set(optimizer.recommend().params) == set(problem.names)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: maximize(get("rkhs"), {"x": (0, 1)}), "brings its own space"),
        (lambda: maximize(get("rkhs"), noise={"x": Normal(0.1)}), "brings its own noise"),
        (lambda: maximize(get("sin-linear-cvar"), measure="quantile 0.1"), "its own measure"),
        (lambda: minimize(get("youn-choi"), constraints={"g1": AtLeast(1)}), "its own constraints"),
        (lambda: maximize(sin_linear, LINE), "budget is missing"),
        (lambda: maximize(sin_linear, budget=3), "space is missing"),
    ],
)
def test_what_a_problem_brings_is_neither_doubled_nor_missing(call, expected):
    with pytest.raises(TypeError, match=expected):
        call()


def test_an_interrupt_while_the_result_is_made_loses_no_evaluation(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("meseta.optimizer.ask_tell.Optimizer.nominal", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        quietly(sin_linear, budget=4)
    assert len(caught.value.optimizer.history) == 4


def test_a_penalty_as_large_as_floats_go_is_a_failure():
    with pytest.warns(RuntimeWarning, match="within ±1e\\+100"):
        result = quietly(lambda x: -1.7e308 if x["x"] > 0.7 else sin_linear(x), budget=6)
    assert math.isfinite(result.mean)
    assert (result.history["state"] == "failed").any()


OBSERVED = {"x": Normal(0.05), "t": Environment(Normal(2.0, mean=20.0), observed=True)}
ROOM = {"x": (0.0, 1.0), "t": (10.0, 30.0)}


def test_what_is_observed_comes_with_the_value():
    def f(params):
        assert "t" not in params
        t = 18.0 + len(seen)
        seen.append(t)
        executed = {"t": t, "x": 0.5} if len(seen) == 2 else {"t": t}
        return {"value": -((params["x"] - 0.3) ** 2) - 0.01 * t, "executed": executed}

    seen = []
    result = quietly(f, ROOM, noise=OBSERVED, budget=4)
    assert [trial.state for trial in result.trials] == ["complete"] * 4
    assert [trial.params["t"] for trial in result.trials] == seen
    assert result.trials[1].params["x"] == 0.5
    assert set(result.params) == {"x"}


@pytest.mark.parametrize("answer", [0.25, {"value": 0.25, "executed": {"T": 20.0}}])
def test_what_is_observed_and_never_said_ends_the_run_at_the_first_evaluation(answer):
    def f(params):
        seen.append(params)
        return answer

    seen = []
    with pytest.raises(TypeError, match=r"'t' is observed.*'value': 0\.25.*Optimizer\.ask"):
        quietly(f, ROOM, noise=OBSERVED, budget=6)
    assert len(seen) == 1


class Unshowable(Exception):
    def __str__(self):
        raise TypeError


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        (lambda: sys.exit(3), "f called sys.exit(3)"),
        (lambda: (_ for _ in ()).throw(Unshowable), "Unshowable: with a message that cannot"),
        (lambda: "x" * 10**6, "must be a number, got 'xxx"),
        (lambda: {"valeu": 1.0}, "EvaluationFailed: the result of f must have a 'value'"),
        (lambda: {"value": 1.0, "executed": {"y": 1.0}}, "ValueError"),
        (lambda: 10**5000, "ValueError"),
    ],
)
def test_whatever_f_does_earlier_evaluations_are_kept(reason, error):
    f, _ = every_third_fails(reason)
    with pytest.warns(RuntimeWarning):
        result = quietly(f, budget=3)
    assert [trial.state for trial in result.trials] == ["complete", "failed", "complete"]
    assert error in result.trials[1].error
    assert len(result.trials[1].error) < 3000


@pytest.mark.parametrize("end", [GeneratorExit, type("Cancelled", (BaseException,), {})])
def test_an_end_that_is_no_failure_takes_the_evaluations_along(end):
    def f(params):
        if seen:
            raise end
        seen.append(params)
        return 1.0

    seen = []
    with pytest.raises(end) as caught:
        quietly(f, budget=3)
    assert len(caught.value.optimizer.history) == 1
