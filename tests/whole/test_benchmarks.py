"""The benchmarks of speed run, on small cases."""

import runpy
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from examples import thorough
from meseta.problems import get
from pages import ROOT


def test_the_benchmark_of_laws_runs_on_a_small_case():
    laws = runpy.run_path(str(ROOT / "benchmarks" / "noise.py"))
    for name in [*laws["LAWS"]][3:]:
        del laws["LAWS"][name]
    assert {"Normal", "Uniform", "common shift"} < set(laws["step_times"](6, 3, 0))
    laws = runpy.run_path(str(ROOT / "benchmarks" / "noise.py"))
    assert laws["smoothing_error"]("Triangular") < 1e-10
    assert laws["joint_smoothing_error"]("common shift") < 1e-8
    assert laws["sampling_deviation"]("Laplace") < 4


def test_the_benchmark_runs_on_a_small_case(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["step.py", "--sizes", "6,1", "--repeats", "1"])
    step = runpy.run_path(str(ROOT / "benchmarks" / "step.py"))
    clock = step["Stopwatch"]()
    X, y = step["problem"](6, 1)
    bounds = X.new_tensor([[0.0], [1.0]])
    model, _ = step["fit_surrogate"](X, y, bounds)
    step["nes_step"](clock, model, bounds, 0)
    assert set(step["PARTS"]) <= set(clock.seconds)


def test_the_benchmark_of_the_sampler_runs_on_a_small_case(capsys):
    sampler = runpy.run_path(str(ROOT / "benchmarks" / "sampler.py"))
    sampler["main"](["--trials", "3", "--dimensions", "1", "--repeats", "1", "--methods", "sobol"])
    assert "( 1.00 x)" in capsys.readouterr().out


def test_the_benchmark_of_fits_runs_on_a_small_case(capsys):
    fits = runpy.run_path(str(ROOT / "benchmarks" / "fit.py"))
    X, y = fits["smooth_problem"](12, 2)
    bounds = X.new_tensor([[0.0, 0.0], [1.0, 1.0]])
    for kernel in fits["KERNELS"]:
        _, info = fits["fit_surrogate"](X, y, bounds, kernel=kernel)
        # the same posterior: one start of BoTorch's ends on the same hill, or on a lower one
        assert fits["botorch_fit"](X, y, kernel) < info.log_posterior + 1e-3
    fits["count_lower"](2, 2)
    assert "of 2 fits" in capsys.readouterr().out


@thorough
@pytest.mark.skipif(
    find_spec("distributed") is None, reason="distributed is not installed: meseta[dask]"
)
def test_the_benchmark_of_executors_runs_on_a_small_case():
    script = ROOT / "benchmarks" / "executors.py"  # a process of its own: workers load it again
    small = ["--seconds", "0.1", "--workers", "2", "--evaluations", "6", "--method", "sobol"]
    command = [sys.executable, script, *small]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert "6 told of 6" in done.stdout, done.stderr
    assert "lost: 0, doubled: 0" in done.stdout


def test_the_benchmark_of_unseen_noise_runs_on_a_small_case():
    unseen = runpy.run_path(str(ROOT / "benchmarks" / "unseen.py"))
    assert get("needles").g_star == pytest.approx(6.414, abs=1e-3)
    assert get("ring").g_star == pytest.approx(-0.0089, abs=1e-3)
    half, whole, _ = unseen["run"](get(unseen["PROBLEMS"][1]), "averages", 20, 0)
    assert 0 <= half <= get("ring").worst_regret
    assert 0 <= whole <= get("ring").worst_regret


def test_the_benchmark_of_varying_noise_runs_on_a_small_case():
    varying = runpy.run_path(str(ROOT / "benchmarks" / "varying_noise.py"))
    assert len(varying["run"]("varies", 4, 0)) == 4
    assert varying["needed"]([0.5, 0.01, 0.3, 0.01, 0.01]) == 4


def test_the_benchmark_of_laboratories_runs_on_a_small_case(capsys, tmp_path):
    laboratory = runpy.run_path(str(ROOT / "benchmarks" / "laboratory.py"))
    file = tmp_path / "results.jsonl"
    small = [str(file), "--only", "line flat", "--runs"]
    for runs in ("1", "2", "2"):  # what is in the file is not run again
        laboratory["main"]([*small, runs])
        assert len(file.read_text().splitlines()) == int(runs)
    assert "line flat 0.2" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no such cell"):
        laboratory["main"](["--only", "circle"])


def test_the_truth_of_a_laboratory_is_the_mean_of_its_values():
    laboratory = runpy.run_path(str(ROOT / "benchmarks" / "laboratory.py"))
    rng = np.random.default_rng(0)
    for dimension in (1, 3):
        truth = laboratory["Truth"](dimension, "curved", rng)
        x = rng.random((1, dimension))
        drawn = truth.f(x + 0.05 * rng.standard_normal((100_000, dimension)))
        error = drawn.std() / 100_000**0.5
        assert truth.f(x, 0.05)[0] == pytest.approx(drawn.mean(), abs=4 * error)
        assert 0.9 < np.ptp(truth.f(rng.random((5000, dimension)))) < 1.05
