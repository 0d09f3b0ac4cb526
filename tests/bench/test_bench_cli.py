"""The command line: quick to answer, clear when wrong."""

import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import meseta
from meseta.bench import one_run as runs
from meseta.bench import workers
from meseta.bench.experiments import EXPERIMENTS
from meseta.bench.records import Writing
from meseta.cli import app

SMALL = ("--problems", "sin-linear", "--evaluations", "4", "--runs", "2", "--methods", "ei,sobol")

TINY = SMALL[2:]


def call(*arguments):
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_help_needs_no_torch():
    heavy = {"torch", "scipy", "matplotlib", "pandas", "joblib", "numpy"}
    code = f"import sys, meseta.cli.app; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_page_of_somebody_else_is_left_as_it_is(tmp_path):
    (tmp_path / "results.md").write_text("# My thesis\n")
    refused = call("run", "quick", *SMALL, "--output", tmp_path)
    assert refused.exit_code == 2
    assert "is no results page" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["results.md"]
    assert (tmp_path / "results.md").read_text() == "# My thesis\n"


def test_listing_experiments_needs_no_torch_either():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom meseta.cli import app\n"
        "result = CliRunner().invoke(app, ['bench', 'list'])\n"
        "print(result.output, 'torch' in sys.modules)"
    )
    start = time.perf_counter()
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert time.perf_counter() - start < 10
    assert shown.stdout.strip().endswith("False")
    assert all(name in shown.stdout for name in EXPERIMENTS)


def test_the_version():
    assert meseta.__version__ in CliRunner().invoke(app, ["--version"]).output


def test_a_small_experiment_from_one_command(tmp_path):
    result = call("run", "within-model", *TINY, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "results.md").read_text().count("4 of 4 runs are complete") == 1
    assert (tmp_path / "figures" / "within-model,evaluations=4-regret.png").stat().st_size > 5000
    status = call("status", "--output", tmp_path)
    assert "4 of 4 complete, 0 failed, 0 missing" in status.output
    table = call("table", "within-model", "--reference", "ei", "--output", tmp_path)
    assert "Which differences are real" in table.output
    assert "sobol" in table.output
    # one more method joins, and nothing is done twice
    before = (tmp_path / "runs" / "within-model" / "ei.jsonl").read_bytes()
    more = (*TINY[:-1], "uu-ei")
    picture = tmp_path / "figures" / "within-model,evaluations=4-regret.png"
    picture.unlink()
    assert call("run", "within-model", *more, "--output", tmp_path).exit_code == 0
    assert picture.exists()
    assert (tmp_path / "runs" / "within-model" / "ei.jsonl").read_bytes() == before
    assert "6 of 6 complete" in call("status", "--output", tmp_path).output
    for method in ("ei", "sobol", "uu-ei"):
        assert f"| {method}" in (tmp_path / "results.md").read_text()
    assert call("figures", "--output", tmp_path).output.count("regret.png") == 1
    (tmp_path / "results.md").unlink()
    assert "results.md" in call("page", "--output", tmp_path).output
    assert "| uu-ei" in (tmp_path / "results.md").read_text()


def test_records_are_packed_and_nothing_is_done_again(tmp_path):
    command = ("run", "quick", *SMALL, "--no-figures", "--output", tmp_path)
    assert call(*command).exit_code == 0
    packed = call("pack", "--output", tmp_path)
    assert packed.exit_code == 0, packed.output
    assert packed.output.count("kB ->") == 2
    files = sorted(path.name for path in (tmp_path / "runs" / "sin-linear").iterdir())
    assert files == ["ei.jsonl.gz", "sobol.jsonl.gz"]
    assert "nothing has been added" in call("pack", "--output", tmp_path).output
    assert call(*command).exit_code == 0
    assert "4 of 4 complete" in call("status", "--output", tmp_path).output
    assert sorted(p.name for p in (tmp_path / "runs" / "sin-linear").iterdir()) == files


def test_pictures_need_no_runs(tmp_path):
    result = call("run", "schematic", "--output", tmp_path)
    assert result.exit_code == 0
    assert (tmp_path / "figures" / "schematic.pdf").exists()


def test_failed_runs_are_told_and_retried_on_demand(tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("numerics of sorts")

    command = ("run", "quick", *SMALL, "--no-figures", "--output", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "suggest", broken)
        result = call(*command)
    assert result.exit_code == 1
    assert "4 runs failed" in result.output
    assert "--retry-failed" in result.output
    status = call("status", "--output", tmp_path).output
    assert "failed: ei on sin-linear, 2 x ZeroDivisionError: numerics of sorts" in status
    assert call(*command).exit_code == 1  # not hidden the second time
    assert call(*command, "--retry-failed").exit_code == 0
    assert "4 of 4 complete, 0 failed" in call("status", "--output", tmp_path).output


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["run", "syntetic"], "did you mean 'synthetic'"),
        (["run", "quick", "--methods", "rgk"], "did you mean 'rkg'"),
        (["run", "quick", "--problems", "hartman3"], "did you mean 'hartmann3'"),
        (["run", "quick", "--prior", "papr"], "did you mean 'paper'"),
        (["run", "quick", "--evaluations", "2"], "start with 3 points"),
        (["run", "quick", "--runs", "0"], "runs"),
        (["run", "quick", "--workers", "0"], "workers"),
        (["figures", "sinthetic"], "did you mean 'synthetic'"),
        (["table"], "has no experiments"),
        (["page"], "has no experiments"),
        (["pack"], "has no experiments"),
        (["table", "gravity"], "no runs of 'gravity'"),
        (["wun"], "No such command"),
    ],
)
def test_wrong_use_is_explained(arguments, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2
    assert hint in result.output


def test_an_empty_folder_has_no_experiments(tmp_path):
    result = call("status", "--output", tmp_path)
    assert result.exit_code == 0
    assert "no experiments yet" in result.output


def test_a_folder_in_use_is_a_failure(tmp_path):
    with Writing(tmp_path):
        result = call("run", "quick", *SMALL, "--output", tmp_path)
    assert result.exit_code == 1
    assert "another process writes" in result.output


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_there(tmp_path, monkeypatch, kind):
    def stopped(number, run, jobs):
        yield run(next(jobs))
        signal.raise_signal(kind)
        yield run(next(jobs))

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(workers, "_by_joblib", stopped)
    result = call("run", "quick", *SMALL, "--output", tmp_path)
    assert result.exit_code == 130
    assert "finished work is kept" in result.output
    assert signal.getsignal(signal.SIGTERM) is before
    assert "1 of 4 complete" in call("status", "--output", tmp_path).output


@pytest.mark.parametrize(("package", "extra"), [("joblib", "bench"), ("distributed", "dask")])
def test_missing_extras_are_named(tmp_path, monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    cluster = ("--dask", "tcp://127.0.0.1:1") if package == "distributed" else ()
    result = call("run", "quick", *SMALL, *cluster, "--output", tmp_path)
    assert result.exit_code == 1
    assert f"meseta[{extra}]" in result.output
