"""The entrants of the repository, the one of the documentation, and files that are none."""

import re
import sys

import pytest

from examples import thorough
from fake_entrants import GOOD, entrant
from meseta.arena.entrants import all_entrants, chosen_entrants, read_entrant
from meseta.arena.match import Rules
from meseta.arena.posed import posed
from meseta.arena.record import Entry
from meseta.problems import get, names
from pages import ROOT

FOLDER = ROOT / "benchmarks" / "arena"
PAGE = ROOT / "docs" / "arena" / "enter.md"


def test_the_entrants_of_the_repository_say_what_they_are():
    known = all_entrants(FOLDER)
    assert {"meseta-rkg", "sobol", "optuna-gp", "golem-tpe", "botorch-qlognei-16"} <= set(known)
    assert all(each.boards and len(each.settings) > 20 for each in known.values())


def test_the_example_of_the_documentation_plays(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.splitlines()) <= 25
    (tmp_path / "random.py").write_text(code, encoding="utf-8")
    record = Rules(tmp_path).play(Entry("sin-linear", "random", 0, 4))
    assert record.state == "complete", record.error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class Other: pass", "must have a class Entrant"),
        ("def", "no Python file"),
        ("class Entrant:\n    def ask(self): pass", "lacks tell, recommend"),
        (GOOD.replace('title = "Fake"', ""), "needs a text 'title'"),
        (GOOD.replace('"none"', '" "'), "needs a text 'settings'"),
        (GOOD.replace('"risk"', '"best"'), "needs 'boards'"),
        (GOOD.replace('"Fake"', "str(1)"), "must be a plain value"),
        (GOOD.replace('"Fake"', "{[1]}"), "must be a plain value"),
        (GOOD.replace('"Fake"', "-" * 100_000 + "1"), "no Python file"),
        (GOOD + "    python = 3\n", "must be the path of an interpreter"),
        (GOOD.replace('"risk"', '["risk"]'), "needs 'boards'"),
        ("\0", "no Python file"),
    ],
)
def test_files_that_are_no_entrants_are_refused(tmp_path, text, said):
    (tmp_path / "bad.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        read_entrant(tmp_path / "bad.py")


def test_other_ways_to_write_the_same(tmp_path):
    text = GOOD.replace("title =", "title: str =") + "    why_not = None\n"
    (tmp_path / "fake.py").write_text("\ufeff" + text, encoding="utf-8")
    assert read_entrant(tmp_path / "fake.py").title == "Fake"
    assert read_entrant(tmp_path / "fake.py").why_not == ""


def test_a_file_may_name_its_encoding(tmp_path):
    text = "# -*- coding: latin-1 -*-" + GOOD.replace("Fake", "Größer")
    (tmp_path / "fake.py").write_bytes(text.encode("latin-1"))
    assert read_entrant(tmp_path / "fake.py").title == "Größer"


def test_other_files_do_not_matter(tmp_path):
    entrant(tmp_path, "good")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / ".#good.py").symlink_to("nowhere")  # somebody is editing it
    assert list(all_entrants(tmp_path)) == ["good"]
    (tmp_path / "bad.py").write_text("def")
    assert list(chosen_entrants(tmp_path, ("good",))) == ["good"]


def test_a_folder_without_entrants(tmp_path):
    with pytest.raises(ValueError, match="has no entrants"):
        all_entrants(tmp_path)


def test_an_environment_of_its_own_is_relative_to_the_file(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    entrant(tmp_path, python="bin/python")
    assert read_entrant(tmp_path / "fake.py").why_not == ""
    entrant(tmp_path, python="bin/python", why_not="it is broken")
    assert read_entrant(tmp_path / "fake.py").why_not == "it is broken"


def test_the_page_has_words_for_everything_that_a_task_says():
    text = PAGE.read_text(encoding="utf-8")
    tasks = [posed(get(name), 0, get(name).budget) for name in names()]
    for task in tasks:
        assert f'{{"name": "{task["measure"]["name"]}"' in text
        assert all(f"`{key}`" in text for key in task if key != "noise")
    said = {key for task in tasks for law in task["noise"].values() for key in law}
    assert all(key in text for key in said)
    assert all(f'"{each["how"]}"' in text for task in tasks for each in task["sample"].values())


@pytest.mark.parametrize("name", ["optuna-tpe", "optuna-gp"])
def test_values_in_another_environment_are_not_taken_for_those_of_a_design(name):
    """The first experiments have any environment: one of them may have been lucky."""
    problem = get("branin-williams")
    record = Rules(FOLDER).play(Entry(problem.name, name, 0, problem.num_initial + 2))
    assert record.state == "complete", record.error
    first = [{each: x[each] for each in problem.names} for x in record.x[: problem.num_initial]]
    assert record.recommended["own"][0] in first  # there are no others yet
    assert record.recommended["own"][-1] not in first


def first_problems():
    """A problem of each board for each entrant that plays there, and one with an environment."""
    for name, each in all_entrants(FOLDER).items():
        for board in each.boards:
            some = names(board=board)
            with_environment = [problem for problem in some if get(problem).environment]
            if not each.why_not:
                yield from ((name, problem) for problem in (some[0], *with_environment[:1]))


@thorough
@pytest.mark.parametrize(("name", "problem"), list(first_problems()))
def test_every_entrant_plays(name, problem):
    evaluations = get(problem).num_initial + 3
    record = Rules(FOLDER).play(Entry(problem, name, 0, evaluations))
    assert record.state == "complete", record.error
    assert not record.messages
