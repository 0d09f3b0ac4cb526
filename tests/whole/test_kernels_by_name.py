"""Each kernel through every door: runs, ask and tell, Optuna, study files, reports."""

import json
import math

import optuna
import pytest

import meseta
from command_line import typed
from examples import some
from gp_models import uniform, unit_box
from meseta.gp.fit import AUTO, KernelName
from meseta.integrations.botorch import suggest
from meseta.integrations.dashboard import show_robust
from meseta.integrations.optuna import RobustSampler, recommend, report
from meseta.report import for_optimizer

KERNELS = ("se", "matern52", "matern32")
LINE = {"x": (0.0, 1.0)}
SPACE = {"x": (0.0, 1.0), "n": meseta.Int(0, 3), "oil": meseta.Categorical(["a", "b"])}
NOISE = {"x": meseta.Normal(0.05), "n": meseta.Discrete([-1, 0, 1], [0.1, 0.8, 0.1])}
SMALL = {"num_initial": 4, "seed": 1, "method": "uu-ei"}
every_kernel = pytest.mark.parametrize("kernel", some(KERNELS[::-1], 3))


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def f(params):
    bend = abs(params["x"] - 0.6)
    return math.sin(5 * params["x"]) - bend - 0.1 * params["n"] + 0.2 * (params["oil"] == "a")


def shapes(optimizer):
    return set(optimizer.fitted.surrogate.kernel.shapes)


def test_these_are_all():
    assert set(KernelName.__args__) == {*KERNELS, "auto"} == {*AUTO, "auto"}


@every_kernel
def test_a_run_over_parameters_of_every_kind(kernel):
    result = meseta.maximize(
        f, SPACE, noise=NOISE, budget=6, kernel=kernel, num_initial=4, progress=False
    )
    assert shapes(result.optimizer) == {kernel}
    assert math.isfinite(result.mean)
    assert result.std > 0


@pytest.mark.parametrize("method", meseta.methods.names())
def test_every_method_takes_another_kernel(method):
    options = {"num_accepted": 50} if method == "nes-rs" else None
    result = meseta.minimize(
        lambda params: abs(params["x"] - 0.6),
        LINE,
        noise=meseta.Uniform(0.1),
        budget=5,
        kernel="matern32",
        method=method,
        options=options,
        progress=False,
    )
    assert shapes(result.optimizer) == {"matern32"}
    assert math.isfinite(result.mean)


@every_kernel
def test_ask_and_tell_and_report(kernel):
    settings = meseta.Settings(noise=meseta.Normal(0.05), kernel=kernel, prior="paper", **SMALL)
    optimizer = meseta.Optimizer(LINE, settings=settings)
    for _ in range(6):
        params = optimizer.ask()
        optimizer.tell(params, math.sin(5 * params["x"]))
    assert shapes(optimizer) == {kernel}
    again = optimizer.with_trials(optimizer.trials)
    assert shapes(again) == {kernel}
    page = for_optimizer(optimizer)
    assert page.report.kernel == kernel
    words = {"se": "squared exponential", "matern52": "Matérn 5/2", "matern32": "Matérn 3/2"}
    assert f"<dt>Kernel</dt><dd>{words[kernel]}</dd>" in page.html


@every_kernel
def test_one_step(kernel):
    X = uniform(8, 2, seed=0)
    x, info = suggest(X, X.sum(-1), unit_box(2), meseta.Normal(0.1), kernel=kernel)
    assert set(info.model.kernel.shapes) == {kernel}
    assert ((x >= 0) & (x <= 1)).all()


@every_kernel
def test_optuna(kernel):
    settings = meseta.Settings(noise={"x": meseta.Normal(0.05)}, kernel=kernel, **SMALL)
    study = optuna.create_study(direction="maximize", sampler=RobustSampler(settings=settings))
    empty = report(study, settings=settings)
    assert empty.report.kernel == kernel
    study.optimize(lambda trial: math.sin(5 * trial.suggest_float("x", 0, 1)), n_trials=6)
    best = recommend(study, settings=settings)
    assert shapes(best.optimizer) == {kernel}
    keywords = {"noise": settings.noise, "kernel": kernel, **SMALL}
    assert best.mean == recommend(study, **keywords).mean
    assert report(study, settings=settings, unit="N").report.kernel == kernel
    assert shapes(show_robust(study, settings=settings, most=2).optimizer) == {kernel}


@every_kernel
def test_a_study_file(folder, kernel):
    (folder / "model.py").write_text("def f(p):\n    return -abs(p['x'] - 0.4) - 0.1 * p['n']\n")
    (folder / "press.toml").write_text(f"""
[study]
budget = 7
kernel = "{kernel}"
prior = "paper"
method = "uu-ei"
initial = [{{ x = 0.25, n = 2 }}, {{ x = 0.75, n = 1 }}]
num_initial = 4
[objective]
python = "model:f"
[parameters.x]
low = 0
high = 1
noise = 0.05
[parameters.n]
type = "int"
low = 0
high = 3
""")
    typed("run", "press.toml", "--quiet")
    rows = json.loads(typed("status", "press.toml", "--json").stdout)["trials"]
    assert [row["params"] for row in rows[:2]] == [{"x": 0.25, "n": 2}, {"x": 0.75, "n": 1}]
    assert len({tuple(row["params"].values()) for row in rows}) == 7
    typed("recommend", "press.toml")
    told = json.loads(typed("report", "press.toml", "--json").stdout)
    assert (told["kernel"], told["method"]) == (kernel, "uu-ei")
