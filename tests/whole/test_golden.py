"""`tests/golden.py`: what it takes for moved, what its cases cover, and a run."""

import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import pytest

import golden_names
from golden_cases import CASES
from golden_compare import TIE, compared, lines, summary
from golden_play import page_of
from meseta.acquisition import methods
from meseta.gp.fit import KernelName
from meseta.noise.catalogue import LAWS
from pages import ROOT

SCRIPT = ROOT / "tests" / "golden.py"
MEASURES = ("mean", "quantile", "cvar", "mean-std", "worst-case", "on-target", "yield")
KINDS = ["added", "relative", "placed", "joint", "environment", "substitution", "learned", "none"]
WAYS = (
    *("executed unseen", "std", "noise_variance", "scatter_in_use", "repeats", "pairs", "limits"),
    *("step", "log", "whole numbers", "choices", "conditional", "batch", "pending", "failed"),
    *("evaluate", "allowed", "possible", "prior", "edge clip", "edge reflect", "edge truncate"),
    *("direction minimize", "python noise", "cost", "commands"),
)


@dataclass
class Asked:
    """As much of a case as a comparison needs."""

    spread: float = 1.0
    widths: dict[str, float] = field(default_factory=lambda: {"x": 2.0})


def design(x, worth=1.0, **figures):
    return {"params": {"x": x}, "worth": worth, "figures": figures}


def between(old, new, part="given"):
    return compared({part: old}, {part: new}, Asked())


def moved(*pair, part="given"):
    return [each.figure for each in between(*pair, part=part).moved]


def test_figures_at_given_designs_agree_to_a_billionth_of_the_spread():
    assert moved({"mean": 0.5}, {"mean": 0.5 + 9e-10}) == []
    assert moved({"mean": 0.5}, {"mean": 0.5 + 2e-9}) == ["given.mean"]
    wide = compared({"given": {"mean": 0.5}}, {"given": {"mean": 0.5 + 2e-9}}, Asked(spread=10))
    assert wide.moved == []


def test_what_commands_say_agrees_to_what_designs_are_found_to():
    assert moved({"mean": 50.0}, {"mean": 50.0004}, part="printed") == []
    assert moved({"mean": 50.0}, {"mean": 50.0006}, part="printed") == ["printed.mean"]


def test_a_figure_that_is_gone_or_new_has_moved():
    found = between({"mean": 0.5}, {"median": 0.5}).moved
    assert [str(each) for each in found] == [
        "given.mean: 0.5 -> missing",
        "given.median: missing -> 0.5",
    ]
    assert moved({"kept": [1.0]}, {"kept": [1.0, 2.0]}) == ["given.kept, how many"]
    assert moved({"test": None}, {"test": 0.0}) == ["given.test"]
    assert moved({"sure": True}, {"sure": 1}) == ["given.sure"]


def test_a_part_or_a_design_that_is_gone_has_moved():
    gone = compared({"designs": {"recommend": design(0.3)}, "given": {}}, {}, Asked())
    assert [each.figure for each in gone.moved] == ["recommend"]
    gone = compared({"printed": {"status": "done"}}, {}, Asked())
    assert [each.figure for each in gone.moved] == ["printed.status"]


def test_of_many_numbers_the_furthest_speaks():
    found = between({"curve": [0.0, 0.0, 0.0]}, {"curve": [0.0, 0.1, -0.3]}).moved
    assert [str(each) for each in found] == ["given.curve[2] (and 1 more): 0 -> -0.3  by -0.3"]


def test_the_effort_of_a_search_is_no_answer():
    assert moved({"fit": {"evaluations": 150}}, {"fit": {"evaluations": 152}}) == []


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("0.95 ± 0.21 N", "0.95 ± 0.22 N", True),
        ("0.95 ± 0.21 N", "0.95 ± 0.23 N", False),
        ("at least 0.4 N", "at most 0.4 N", False),
        ("8 complete", "9 complete", False),  # a count is not rounded
        ("1.25e-07", "1.26e-07", True),
        ("1.25e-07", "1.35e-07", False),
        ("99.9 %", "100 %", True),
        ("99.8 %", "100 %", False),
    ],
)
def test_texts_may_differ_by_one_in_the_last_digit_of_a_number(old, new, same):
    assert (moved({"said": old}, {"said": new}) == []) is same


def test_designs_agree_to_a_millionth_of_the_range():
    found = compared(
        {"designs": {"ask 1": design(0.3)}}, {"designs": {"ask 1": design(0.3 + 1e-6)}}, Asked()
    )
    assert found.moved == []
    assert found.aside == []


def test_a_design_elsewhere_has_moved_unless_it_is_equally_good():
    old = {"designs": {"ask 1": design(0.3, std=0.1), "ask 2": design(0.9)}}
    tie = {"designs": {"ask 1": design(1.7, std=0.4), "ask 2": design(0.5)}}
    found = compared(old, tie, Asked())
    assert found.moved == []
    assert found.aside == [f"ask 1: {TIE}", "ask 2: follows another design"]
    worse = {"designs": {"ask 1": design(1.7, worth=1.0 - 1e-6, std=0.4)}}
    found = compared({"designs": {"ask 1": old["designs"]["ask 1"]}}, worse, Asked())
    assert [each.figure for each in found.moved] == ["ask 1.x", "ask 1.worth"]


def test_a_design_that_nothing_is_known_of_is_not_equally_good():
    old, new = ({"designs": {"ask 1": design(x, worth=None)}} for x in (0.3, 0.5))
    assert [each.figure for each in compared(old, new, Asked()).moved] == ["ask 1.x"]


def test_choices_are_the_same_or_not():
    old, new = ({"designs": {"ask 1": design(x, worth=None)}} for x in ("water", "ethanol"))
    found = compared(old, new, Asked(widths={}))
    assert [str(each) for each in found.moved] == ["ask 1.x: water -> ethanol"]


def test_the_same_design_with_other_figures_has_moved():
    old, new = ({"designs": {"recommend": design(0.3, std=std)}} for std in (0.1, 0.11))
    assert [each.figure for each in compared(old, new, Asked()).moved] == ["recommend.std"]


def test_what_commands_say_is_left_out_where_they_recommend_another_design():
    old, new = ({"designs": {"recommend": design(x)}, "printed": {"std": x}} for x in (0.3, 0.9))
    found = compared(old, new, Asked())
    assert found.moved == []
    assert found.aside[-1] == "what commands say, since they also recommend"


def test_a_refusal_is_a_figure():
    old = {"given": {"refused": "ValueError: no"}}
    found = compared(old, {"given": {"mean": 1.0}, "designs": {"ask 1": design(0.3)}}, Asked())
    assert [each.figure for each in found.moved] == ["given.refused", "given.mean", "ask 1"]


def test_a_case_that_both_refuse_is_named():
    old = {"given": {"refused": "ValueError: no"}}
    assert compared(old, old, Asked()).aside == ["both refuse it: ValueError: no"]


def test_the_summary_names_the_cases_that_moved():
    results = {"one": between({"a": 1.0}, {"a": 2.0}), "two": between({"a": 1.0}, {"a": 1.0})}
    assert list(lines("one", results["one"])) == ["one", "  given.a: 1 -> 2  by +1"]
    assert list(lines("two", results["two"])) == []
    assert list(summary(results)) == [
        "moved  one: 1 figure of 1",
        "1 of 2 cases did not move, 2 figures were compared",
    ]


def test_of_a_page_what_people_see_counts():
    page = (
        "<html><head><title>no</title></head><body><p>Mean &amp; all</p><script>no</script>"
        "<dt>Written</dt><dd>today</dd><dt>Trials</dt><dd>8</dd></body></html>"
    )
    assert page_of(page) == {"text": ["Mean & all", "Trials", "8"], "plots": []}


def test_the_cases_cover_all_of_everything_twice():
    covered = Counter(word for case in CASES.values() for word in case.features)
    wanted = [
        *(f"law {law.name}" for law in LAWS),
        *(f"method {name}" for name in methods.names()),
        *(f"kernel {name}" for name in KernelName.__args__),
        *(f"measure {name}" for name in MEASURES),
        *(f"kind {name}" for name in KINDS),
    ]
    assert {word: covered[word] for word in wanted if covered[word] < 2} == {}
    assert [word for word in WAYS if not covered[word]] == []
    assert len(CASES) >= 60
    assert 10 <= covered["quick"] <= 15


@pytest.mark.parametrize("case", CASES.values(), ids=str)
def test_told_values_have_a_spread_of_about_one(case):
    assert 0.3 <= case.spread <= 3  # so that shares are held to the same as values
    assert 6 <= len(case.history) <= 12


def test_a_name_that_has_changed_is_found_by_an_earlier_one(monkeypatch):
    with pytest.raises(ImportError, match="a line in CHANGED"):
        golden_names.public("meseta:Optimiser")
    changed = {"meseta:Optimiser": ("meseta:Optimizers", "meseta:Optimizer")}
    monkeypatch.setattr(golden_names, "CHANGED", changed)
    assert golden_names.public("meseta:Optimiser").__name__ == "Optimizer"


def golden(*words, folder):
    """The script, with a place of its own for what is temporary."""
    return subprocess.run(
        [sys.executable, SCRIPT, *words],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )


PLAYER = """
import json, pathlib, sys
names = [word for word in sys.argv[4:] if word != "--make"]
with pathlib.Path(sys.argv[2]).open("w") as file:
    for name in names:
        if name == "dies":
            file.close()
            sys.exit(3)
        file.write(json.dumps([name, {"given": {"by": sys.argv[1]}}]) + chr(10))
"""


def test_a_case_at_which_a_process_dies_has_its_exit_code_and_the_others_are_played(tmp_path):
    (tmp_path / "golden_play.py").write_text(PLAYER, encoding="utf-8")
    script = runpy.run_path(str(SCRIPT))
    figures = script["figures"]
    figures.__globals__["SUPPORT"] = tmp_path
    names = ("one", "dies", "two")
    found = figures(tmp_path, names, tmp_path / "old", tmp_path, "--make")
    by = {"given": {"by": str(tmp_path / "src")}}
    assert found == {"one": by, "dies": {"given": {"exit code": 3}}, "two": by}


def test_what_cannot_be_begun_is_said(tmp_path, capsys):
    (tmp_path / "golden_play.py").write_text("raise SystemExit('no torch')", encoding="utf-8")
    figures = runpy.run_path(str(SCRIPT))["figures"]
    figures.__globals__["SUPPORT"] = tmp_path
    with pytest.raises(SystemExit) as ended:
        figures(tmp_path, ["one"], tmp_path / "old", tmp_path)
    assert ended.value.code == 2
    assert "cannot be played: no torch" in capsys.readouterr().err


@pytest.fixture
def history():
    """The test needs the revisions, which an unpacked release does not have."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True)
    if found.returncode:
        pytest.skip("there is no git history here")


def test_a_revision_does_not_differ_from_itself(history, tmp_path):
    names = ("conditional", "empirical-sobol")
    cases = [word for name in names for word in ("--case", name)]
    done = golden("HEAD", "--with", "HEAD", *cases, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.fullmatch(r"2 of 2 cases did not move, (\d+) figures were compared\n", done.stdout)
    assert said, done.stdout
    assert int(said[1]) > 50
    left = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True)
    assert str(tmp_path) not in left.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-such-revision"], "'no-such-revision' is no revision that git knows here"),
        (["HEAD", "--case", "nothing"], "there is no case 'nothing'; there are normal,"),
    ],
)
def test_what_cannot_be_played_is_refused(history, tmp_path, words, says):
    done = golden(*words, folder=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
