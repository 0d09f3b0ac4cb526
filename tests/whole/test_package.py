"""The package: its version, its imports, and its wheel, which works from where it is unpacked."""

import email
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import meseta
from shared import made_once

ROOT = Path(__file__).parents[2]
EXTRAS = {"report", "plot", "bench", "dashboard", "dask", "postgresql", "excel", "docs", "dev"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("build", reason="python -m build comes with the dev extra")
    (path,) = made_once(tmp_path_factory, "wheel", build).glob("*.whl")
    return path


def build(folder):
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder), ROOT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_that_is_read_at_run_time_is_packed(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("meseta/")}
    source = ROOT / "src"
    files = {
        str(path.relative_to(source))
        for path in (source / "meseta").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == files
    assert "meseta/py.typed" in packed


def test_the_metadata_are_complete(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [n for n in archive.namelist() if n.endswith("METADATA")]
    told = email.message_from_bytes(archive.read(name))
    for field in ("Summary", "License-Expression", "Requires-Python", "Author", "Keywords"):
        assert told[field], field
    assert set(told.get_all("Provides-Extra")) == EXTRAS
    core = [r for r in told.get_all("Requires-Dist") if "extra ==" not in r]
    names = {re.split(r"[<>=\[; ]", requirement)[0].lower() for requirement in core}
    assert not names & {"plotly", "matplotlib", "joblib", "distributed", "psycopg", "openpyxl"}
    assert "Meseta" in told.get_payload()


def test_what_the_package_imports_it_asks_for(wheel):
    """Everything imported at the top of a module that is not behind an extra."""
    import tomllib

    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {re.split(r"[<>=\[]", d)[0].lower().replace("-", "_") for d in asked["dependencies"]}
    behind_extras = {"plotly", "matplotlib", "joblib", "filelock", "distributed", "dask"}
    behind_extras |= {"openpyxl", "optuna_dashboard", "psycopg"}
    imported = set()
    for path in (ROOT / "src" / "meseta").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        imported |= set(re.findall(r"^\s*(?:from|import) ([a-z_]\w*)", text, flags=re.MULTILINE))
    parts = {"meseta", "pydantic_core"}  # pydantic's documentation takes errors from the latter
    missing = imported - known - behind_extras - set(sys.stdlib_module_names) - parts
    # Words of docstrings that begin a line like an import do.
    assert not {name for name in missing if _is_module(name)}


def _is_module(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


def test_the_unpacked_wheel_works(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "tests" / "smoke.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fine" in done.stdout


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
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1].splitlines()[0]
    released = not newest.endswith("(unreleased)")
    assert meseta.__version__ == newest.split()[0] + ("" if released else ".dev0")
