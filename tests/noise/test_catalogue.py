"""A noise law that is in the catalogue is known everywhere."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import law_pages
import meseta
import meseta.noise
from declared_laws import as_table, examples
from meseta.noise import NoiseLaw, OneDimensional
from meseta.noise.catalogue import LAWS
from meseta.study.toml.check import check
from meseta.study.toml.file import read_study

every_law = pytest.mark.parametrize("law", LAWS, ids=[law.name for law in LAWS])


@every_law
def test_every_declared_law_is_a_law_of_one_number(law):
    example = examples()[law.name]
    assert type(example) is law.load()
    assert isinstance(example, NoiseLaw)
    assert isinstance(example, OneDimensional)


@every_law
def test_keys_are_arguments_of_the_law(law):
    arguments = inspect.signature(law.load()).parameters
    assert {*law.required, *law.optional} <= set(arguments)
    needed = {name for name, each in arguments.items() if each.default is each.empty}
    assert needed <= set(law.required)


@every_law
def test_every_declared_law_can_stand_in_a_study_file(law, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(f"[parameters.x]\nlow = 1\nhigh = 9\nnoise = {as_table(law.example)}\n")
    study = read_study(path)
    check(study)
    assert study.noise() == {"x": examples()[law.name]}


@pytest.mark.parametrize("module", ["__init__.py", "noise/names.py"])
def test_editors_see_every_declared_law(module):
    """Type checkers read imports, not the catalogue: these two lists are written by hand."""
    source = (Path(meseta.__file__).parent / module).read_text(encoding="utf-8")
    seen = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    missing = {law.python for law in LAWS} - seen
    assert not missing, f"import {missing} in src/meseta/{module}"


@every_law
def test_every_declared_law_is_exported(law):
    assert getattr(meseta, law.python) is getattr(meseta.noise, law.python) is law.load()
    assert law.python in meseta.__all__
    assert law.python in dir(meseta.noise)


@pytest.mark.parametrize("page", law_pages.PAGES)
def test_pages_have_the_laws_of_the_catalogue(page):
    """After a change: python tests/support/law_pages.py."""
    assert (law_pages.DOCS / page).read_text(encoding="utf-8") == law_pages.page(page)


TOY = """
from dataclasses import dataclass
from meseta.noise.normal import Normal
from meseta.noise.scalar import ScalarLaw

@dataclass(frozen=True)
class Wobble(ScalarLaw):
    size: float
    steps: tuple = ()
    loose: bool = False

    def in_words(self, unit):
        return f"a wobble of {self.size:g} {unit}"

    moments = property(lambda self: (0.0, self.size**2))
    breaks = property(lambda self: ())
    def scaled(self, scale): return Wobble(self.size * float(scale))
    def interval(self, tail): return Normal(self.size).interval(tail)
    def sample(self, num, generator): return Normal(self.size).sample(num, generator)
    def characteristic(self, omega): return Normal(self.size).characteristic(omega)
    def pdf(self, xi): return Normal(self.size).pdf(xi)
    def cdf(self, xi): return Normal(self.size).cdf(xi)
"""
USE = """
from meseta.noise import catalogue
catalogue.LAWS += (catalogue.Declared(
    name="wobble", home="toy:Wobble", known="that it wobbles", example="Wobble(0.2)",
    required={"size": "number"}, optional={"steps": "numbers", "loose": "flag"},
),)
import sys
import law_pages
from meseta.study.toml.file import StudyError, read_study
good, bad = read_study("good.toml"), []
for name in ("bad1.toml", "bad2.toml", "bad3.toml"):
    try:
        read_study(name)
    except StudyError as error:
        bad.append(str(error))
assert "torch" not in sys.modules
assert "no key 'sise' (did you mean 'size'?)" in bad[0], bad
assert "noise.size is missing" in bad[1], bad
assert "did you mean 'wobble'" in bad[2], bad

from toy import Wobble
from meseta.noise.words import law_in_words
from meseta.study.toml.check import check
check(good)
x, y = good.noise().values()
assert x == Wobble(0.2, (1.0, 2.0), True)
assert y.laws[1] == Wobble(3.0)
assert law_in_words(x, "mm") == "a wobble of 0.2 mm"
assert "| that it wobbles | `Wobble(0.2)` |" in law_pages.by_knowledge()
assert '| `law = "wobble"` | `size` | `steps`, `loose` |' in law_pages.by_keys()
"""


def test_one_declaration_makes_a_law_known_everywhere(tmp_path):
    """Study files with their refusals, words of reports, tables of the documentation."""
    start = "[parameters.x]\nlow = 1\nhigh = 9\nnoise = "
    files = {
        "toy.py": TOY,
        "good.toml": start
        + '{ law = "wobble", size = 0.2, steps = [1, 2], loose = true }\n'
        + start.replace("x]", "y]")
        + '{ law = "mixture", laws = [{ law = "normal", std = 1 }, { law = "wobble", size = 3 }] }',
        "bad1.toml": start + '{ law = "wobble", sise = 0.2 }',
        "bad2.toml": start + '{ law = "wobble" }',
        "bad3.toml": start + '{ law = "wobbel", size = 0.2 }',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    support = Path(law_pages.__file__).parent
    code = f"import sys; sys.path[:0] = ['.', {str(support)!r}]\n{USE}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
