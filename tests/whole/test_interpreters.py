"""`make package` tries the wheel with every Python that is here, and says which are not."""

import runpy
import subprocess
import sys
import tomllib

import pytest

from pages import ROOT

SCRIPT = ROOT / "tests" / "interpreters.py"
INTERPRETERS = runpy.run_path(str(SCRIPT))
VERSIONS = INTERPRETERS["VERSIONS"]


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A folder that is all of the PATH, and no pyenv."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def stand_in(path, text):
    """A program that prints that, or fails if there is nothing to print."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{f'echo {text}' if text else 'exit 127'}\n", encoding="utf-8")
    path.chmod(0o755)


def test_the_classifiers_are_the_versions_that_are_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    told = [each[len(prefix) - 2 :] for each in project["classifiers"] if each.startswith(prefix)]
    assert tuple(told) == VERSIONS
    assert project["requires-python"] == f">={VERSIONS[0]}"


def test_none_is_found_where_there_is_none(alone):
    assert [INTERPRETERS["found"](version) for version in VERSIONS] == [None] * len(VERSIONS)


def test_a_shim_that_does_not_answer_is_passed_over(alone):
    stand_in(alone / "python3.12", "")
    assert INTERPRETERS["found"]("3.12") is None
    stand_in(alone / "pyenv/versions/3.12.9/bin/python3.12", "3.12.9")
    assert INTERPRETERS["found"]("3.12") == str(alone / "pyenv/versions/3.12.9/bin/python3.12")
    stand_in(alone / "pyenv/versions/3.13.0/bin/python3.13", "3.12.9")  # another version
    assert INTERPRETERS["found"]("3.13") is None
    stand_in(alone / "uv", "nothing/there")
    assert INTERPRETERS["found"]("3.13") is None


def test_what_is_not_found_is_said(alone):
    done = run("wheel.whl")
    assert done.returncode == 1
    assert done.stdout.count("not found, not tried") == len(VERSIONS)
    assert "tried with no Python" in done.stderr


def test_what_fails_is_said(alone):
    # it answers, and makes no environment
    stand_in(alone / "python3.11", '3.11.9; test "$1" = -c')
    done = run("wheel.whl", "3.11", "3.13")
    assert done.returncode == 1
    assert "Python 3.11: failed (3.11.9)" in done.stdout
    assert "Python 3.13: not found, not tried" in done.stdout


def test_other_versions_are_refused(alone):
    done = run("wheel.whl", "3.8")
    assert done.returncode == 2
    assert "meseta is for Python 3.11, 3.12, 3.13, not 3.8" in done.stderr


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True)


def test_an_interpreter_is_found_by_its_version(alone):
    done = run("--find", "3.10")
    assert done.returncode == 1
    assert "no Python 3.10 was found" in done.stderr
    stand_in(alone / "pyenv/versions/3.10.4/bin/python3.10", "3.10.4")
    assert run("--find", "3.10").stdout.strip().endswith("3.10.4/bin/python3.10")
