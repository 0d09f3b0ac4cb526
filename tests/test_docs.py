"""README and docs are executed, so that they can't rot; for the examples see test_examples.py."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import meseta

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_code_on_the_page_runs(page, capsys):
    for code in blocks(page):
        exec(compile(code, str(page), "exec"), {"__name__": "page"})
    assert "optimum" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_demo_runs_and_draws_its_picture(tmp_path, capsys):
    picture = tmp_path / "folder" / "picture.png"
    runpy.run_path(str(ROOT / "examples" / "needle_and_plateau.py"))["main"](picture)
    assert picture.stat().st_size > 10_000
    assert "robust optimum" in capsys.readouterr().out


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


def test_importing_the_package_does_not_import_torch():

    code = (
        "import sys, meseta; assert 'torch' not in sys.modules; meseta.Normal; print(dir(meseta))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "Uniform" in result.stdout


def test_versions_agree():

    for name in ("pyproject.toml", "CITATION.cff"):
        assert meseta.__version__ in (ROOT / name).read_text(encoding="utf-8")


def test_the_twin_is_short_enough_to_be_read():
    lines = (ROOT / "src" / "meseta" / "nes_plain.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 250
