"""The conda recipe says what pyproject.toml says, and rattler-build makes a package of it."""

import copy
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from pages import ROOT

PATH = ROOT / "contrib/conda/recipe/recipe.yaml"
RECIPE = yaml.safe_load(PATH.read_text(encoding="utf-8"))
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


def test_rattler_build_reads_it():
    rattler = pytest.importorskip("rattler_build", reason="it comes with the dev extra")
    (variant,) = rattler.Stage0Recipe.from_file(PATH).render()
    recipe = variant.recipe
    assert (str(recipe.package.name), str(recipe.package.version)) == ("meseta", PROJECT["version"])
    minimum = RECIPE["context"]["python_min"]
    run = [each.replace("${{ python_min }}", minimum) for each in RECIPE["requirements"]["run"]]
    assert list(map(str, recipe.requirements.run)) == run


def test_rattler_build_makes_a_package(tmp_path):
    """As the recipe says, but for conda's channels: with the sdist and the Python that are here."""
    rattler = pytest.importorskip("rattler_build", reason="it comes with the dev extra")
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    recipe = copy.deepcopy(RECIPE)
    recipe["source"] = {"path": str(sdist)}
    del recipe["requirements"]["host"], recipe["tests"]
    install = recipe["build"]["script"].replace("${{ PYTHON }}", sys.executable)
    recipe["build"]["script"] = f"{install} --prefix $PREFIX"
    (built,) = rattler.Stage0Recipe.from_dict(recipe).run_build(
        output_dir=tmp_path / "conda", channels=[]
    )
    package = rattler.Package.from_file(built.packages[0])
    assert (package.name, package.version, package.noarch) == (
        "meseta",
        PROJECT["version"],
        "python",
    )
    source = ROOT / "src"
    modules = {f"site-packages/{path.relative_to(source)}" for path in source.rglob("*.py")}
    assert modules | {"site-packages/meseta/py.typed"} <= set(package.files)
    assert not [name for name in package.files if not name.startswith(("site-packages/", "info/"))]
