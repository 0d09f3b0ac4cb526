"""The package for OptunaHub's registry, loaded as the registry's users load it."""

import runpy
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
import yaml

import meseta
from meseta.integrations.optuna import RobustSampler
from pages import ROOT, blocks

REGISTRY = ROOT / "contrib" / "optunahub" / "package"
PACKAGE = REGISTRY / "samplers" / "meseta"
optunahub = pytest.importorskip("optunahub", reason="it comes with the dev extra")


@pytest.fixture
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def load():
    return optunahub.load_local_module("samplers/meseta", registry_root=str(REGISTRY))


def front_matter():
    _, header, body = (PACKAGE / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(header), body


def test_it_is_our_sampler_and_leaves_our_package_alone():
    module = load()
    assert module.RobustSampler is RobustSampler
    assert sys.modules["meseta"] is meseta
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_example_runs(quiet, capsys):
    runpy.run_path(str(PACKAGE / "example.py"))["main"](6, str(REGISTRY))
    assert "robust optimum" in capsys.readouterr().out


def test_the_example_of_the_readme_runs(quiet, capsys, monkeypatch):
    monkeypatch.setattr(optunahub, "load_module", lambda package: load())
    (code,) = [each.text for each in blocks(PACKAGE / "README.md") if each.kind == "python"]
    assert "n_trials=20" in code
    exec(compile(code.replace("n_trials=20", "n_trials=6"), "README.md", "exec"), {})
    assert "robust optimum" in capsys.readouterr().out


def test_without_meseta_it_says_what_to_install():
    code = f"import runpy; runpy.run_path({str(PACKAGE / '__init__.py')!r})"
    command = [sys.executable, "-I", "-S", "-c", code]  # without installed packages
    done = subprocess.run(command, capture_output=True, text=True)
    assert "ImportError: samplers/meseta needs the package meseta" in done.stderr
    assert "pip install meseta" in done.stderr


def test_the_header_is_as_the_registry_checks_it():
    header, body = front_matter()
    assert set(header) == {
        *("author", "title", "description", "tags", "optuna_versions", "license"),
    }
    for name in ("author", "title", "description", "license"):
        assert isinstance(header[name], str), name
    for name in ("tags", "optuna_versions"):
        assert all(isinstance(each, str) for each in header[name]), name
    assert "sampler" in header["tags"]
    assert header["license"] == "MIT License"
    for title in ("Abstract", "APIs", "Installation", "Example"):
        assert f"\n## {title}\n" in body


def test_the_versions_of_optuna_are_those_we_test():
    header, _ = front_matter()
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    tested = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(header["optuna_versions"]) == 2
    for version in header["optuna_versions"]:
        assert f"\noptuna=={version}\n" in pinned or f" optuna=={version}\n" in tested


def test_files_are_those_of_the_template():
    names = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert names == {"LICENSE", "README.md", "__init__.py", "example.py", "requirements.txt"}
    ours = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert Path(PACKAGE, "LICENSE").read_text(encoding="utf-8") == ours
    assert ours.startswith("MIT License")
