"""The conda recipe says what pyproject.toml says."""

import re
import tomllib

import yaml

from pages import ROOT

RECIPE = yaml.safe_load((ROOT / "contrib/conda/recipe/recipe.yaml").read_text(encoding="utf-8"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
CONDA_NAMES = {"torch": "pytorch"}  # where conda-forge has another name


def as_conda(requirement):
    """`torch>=2.3` as conda-forge writes it."""
    name, version = re.fullmatch(r"([\w.-]+)(>=[\d.]+)", requirement).groups()
    return f"{CONDA_NAMES.get(name, name)} {version}"


def test_names_and_versions_agree():
    context = RECIPE["context"]
    assert context["name"] == PROJECT["name"]
    assert context["version"] == PROJECT["version"]
    assert f">={context['python_min']}" == PROJECT["requires-python"]


def test_dependencies_agree():
    python, *run = RECIPE["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert run == [as_conda(each) for each in PROJECT["dependencies"]]
    python, *host = RECIPE["requirements"]["host"]
    assert python == "python ${{ python_min }}.*"
    assert set(host) == {"pip", *map(as_conda, PYPROJECT["build-system"]["requires"])}


def test_commands_and_licence_agree():
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == scripts
    about = RECIPE["about"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert [about["license_file"]] == PROJECT["license-files"]
    assert (ROOT / about["license_file"]).is_file()


def test_modules_that_conda_imports_are_there():
    imports = RECIPE["tests"][0]["python"]["imports"]
    for name in imports:
        folder = (ROOT / "src").joinpath(*name.split("."))
        assert (folder / "__init__.py").is_file(), name
    assert RECIPE["build"]["noarch"] == "python"
