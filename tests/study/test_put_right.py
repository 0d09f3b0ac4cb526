"""A record that can be put right, from the command line."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import typed
from meseta.integrations.optuna.attributes import EXECUTED, OUTCOMES, amendments_of
from meseta.space.parameter import Categorical, Float, Int
from meseta.study.ledger import FORMAT, open_ledger
from meseta.study.progress import kind_of, progress
from meseta.study.toml.file import read_study
from meseta.study.unusual import Range, is_beyond, is_far

LAB = """
[study]
method = "sobol"
budget = 6
value = "strength"
[parameters.x]
low = 0.0
high = 2.0
[parameters.oil]
choices = ["mineral", "synthetic"]
[constraints.stress]
at_most = 250
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    path = folder / "lab.toml"
    path.write_text(LAB)
    typed("ask", path, "-n", 4)
    typed("tell", path, 0, "1e3", "stress=20")
    typed("tell", path, 1, "0.5", "stress=failed")
    typed("tell", path, 2, "--failed", "cracked")
    return folder


@pytest.fixture
def lab(folder, prepared):
    """Four experiments in hand, three of them told."""
    for path in prepared.iterdir():
        shutil.copy(path, folder)
    return folder


def trials(path="lab.toml"):
    return open_ledger(read_study(path), reading=True).trials


def status():
    return json.loads(typed("status", "lab.toml", "--json").stdout)


def rows():
    return list(csv.DictReader(io.StringIO(typed("status", "lab.toml", "--csv").stdout)))


def test_a_value_is_put_right_and_the_old_one_stays_on_record(lab):
    done = typed("correct", "lab.toml", 0, "0.79", "--why", "typed 1e3").output
    assert "trial 0: value 1000 -> 0.79: typed 1e3 (" in done
    assert trials()[0].value == 0.79
    shown = typed("status", "lab.toml").output
    assert "0 *  complete" in shown
    assert "* trial 0: value 1000 -> 0.79: typed 1e3 (" in shown
    row = status()["trials"][0]
    assert row["value"] == 0.79
    (amendment,) = row["amendments"]
    assert amendment["changes"] == [{"name": "value", "before": 1000.0, "now": 0.79}]
    assert amendment["who"]
    assert amendment["when"].endswith("+00:00")
    assert rows()[0]["comment"].startswith("value 1000 -> 0.79: typed 1e3 (")
    typed("correct", "lab.toml", 0, "strength=0.8", "--why", "and once more")
    assert trials()[0].value == 0.8
    assert len(status()["trials"][0]["amendments"]) == 2


@pytest.mark.parametrize(
    ("words", "value", "attributes"),
    [
        (["0", "-3.2"], -3.2, {}),
        (["0", "-.5", "--set", "x=-1"], -0.5, {EXECUTED: {"x": -1.0}}),
        (["--set=x=-1", "0", "-1e-3"], -1e-3, {EXECUTED: {"x": -1.0}}),
        (["0", "--set", "oil=mineral"], 1000.0, {EXECUTED: {"oil": "mineral"}}),
        (["0", "stress=-231"], 1000.0, {OUTCOMES: {"stress": -231.0}}),
        (["0", "stress=failed"], 1000.0, {OUTCOMES: {"stress": None}}),
        (["1", "stress=231"], 0.5, {OUTCOMES: {"stress": 231.0}}),
        (["0", "--failed", "broken"], None, {OUTCOMES: {"stress": 20.0}}),
        (["0", "failed"], None, {}),
        (["2", "0.5", "stress=2"], 0.5, {OUTCOMES: {"stress": 2.0}}),
        (["2", "--failed", "the clamp broke"], None, {}),
        (["2", "stress=3"], None, {OUTCOMES: {"stress": 3.0}}),
    ],
)
def test_everything_that_was_told_can_be_put_right(lab, words, value, attributes):
    typed("correct", "lab.toml", *words, "--why", "-3 was typed")
    number = int(next(word for word in words if word.isdecimal()))
    trial = trials()[number]
    assert trial.value == value
    for key, said in attributes.items():
        assert trial.user_attrs[key] == said
    assert "* trial" in typed("status", "lab.toml").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["correct", 3, "1", "stress=1", "--why", "x"], "trial 3 is pending"),
        (["correct", 9, "1", "--why", "x"], "there is no trial 9; they are 0 to 3"),
        (["correct", -1, "1", "--why", "x"], "there is no trial -1"),
        (["correct", 0, "1e3", "--why", "x"], "already has all of that"),
        (["correct", 0, "--why", "x"], "there is nothing to correct of trial 0"),
        (["correct", 0, "much", "--why", "x"], "finite number"),
        (["correct", 0, "1,234", "--why", "x"], "'1,234' may be 1.234 or 1234"),
        (["correct", 0, "nan", "--why", "x"], "finite number"),
        (["correct", 0, "1e101", "--why", "x"], "within"),
        (["correct", 0, "1", "--failed", "y", "--why", "x"], "but has the value '1'"),
        (["correct", 0, "1", "--why", "  "], "must be a text"),
        (["correct", 0, "1"], "Missing option '--why'"),
        (["correct", 0, "1", "--set", "y=2", "--why", "x"], "there is no parameter 'y'"),
        (["correct", 0, "--set", "x=1", "--set", "x=2", "--why", "x"], "has 'x' twice"),
        (["correct", 0, "mass=2", "--why", "x"], "there is no outcome 'mass'"),
        (["correct", 2, "0.5", "--why", "x"], "has no 'stress', which has a constraint"),
        (["withdraw", 3, "--why", "x"], "trial 3 is pending"),
        (["withdraw", 3, "--why", "no time"], "with --spoilt REASON"),
        (["withdraw", 7, "--why", "x"], "there is no trial 7"),
        (["withdraw", 0], "Missing option '--why'"),
        (["comment", 8, "x"], "there is no trial 8"),
        (["comment", 0, " "], "must be a text"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_stored(lab, words, message):
    before = (lab / "lab.db").read_bytes()
    command, *rest = words
    refused = typed(command, "lab.toml", *rest, code=2).stderr
    assert message in " ".join(refused.replace("│", "").split())
    assert (lab / "lab.db").read_bytes() == before


def test_a_withdrawn_trial_does_not_count_and_can_be_had_back(lab):
    typed("withdraw", "lab.toml", 0, "--why", "wrong sample")
    assert kind_of(trials()[0]) == "withdrawn"
    now = progress(trials(), 6)
    assert (now.complete, now.withdrawn, now.left) == (1, 1, 3)
    shown = typed("status", "lab.toml").output
    assert "1 withdrawn" in shown
    assert "* trial 0: withdrawn, value 1000: wrong sample (" in shown
    assert (rows()[0]["state"], rows()[0]["value"]) == ("withdrawn", "")
    before = (lab / "lab.db").read_bytes()
    assert "withdrawn before" in typed("withdraw", "lab.toml", 0, "--why", "x", code=2).stderr
    refused = typed("tell", "lab.toml", 0, "1", "stress=2", code=2).stderr
    assert "trial 0 was withdrawn (wrong sample); `meseta correct` lets it count" in refused
    refused = typed("correct", "lab.toml", 0, "stress=2", "--why", "x", code=2).stderr
    assert "trial 0 was withdrawn; give its value" in refused
    assert (lab / "lab.db").read_bytes() == before
    assert json.loads(typed("ask", "lab.toml", "-n", 3, "--json").stdout)  # in the budget
    typed("correct", "lab.toml", 0, "0.8", "--why", "the right one after all")
    assert (trials()[0].value, kind_of(trials()[0])) == (0.8, "complete")
    assert trials()[0].user_attrs[OUTCOMES] == {"stress": 20.0}


def test_comments_go_from_study_to_study_and_withdrawn_trials_do_not(lab):
    typed("comment", "lab.toml", 3, "new batch\nof resin, 5 €")
    typed("comment", "lab.toml", 2, "-5 degrees outside")
    typed("correct", "lab.toml", 1, "0.6", "--why", "=typed")
    typed("withdraw", "lab.toml", 0, "--why", "wrong sample")
    assert r"* trial 3: new batch\nof resin, 5 € (" in typed("status", "lab.toml").output
    (lab / "all.csv").write_text(typed("status", "lab.toml", "--csv").stdout)
    (lab / "other.toml").write_text(LAB)
    done = typed("import", "other.toml", "all.csv")
    assert "1 row withdrawn, left out" in done.stderr
    assert "1 row without an outcome yet, left out" in done.stderr
    assert "2 stored" in done.stdout
    shown = typed("status", "other.toml").output
    assert "* trial 0: value 0.5 -> 0.6: =typed (" in shown
    assert "* trial 1: -5 degrees outside (" in shown
    (lab / "told.csv").write_text("trial;value;stress;comment\n3;0.5;2;humid\n")
    typed("tell", "lab.toml", "--csv", "told.csv")
    assert [each["why"] for each in status()["trials"][3]["amendments"]] == [
        "humid",
        "new batch\nof resin, 5 €",
    ]


def test_corrections_take_decimal_commas_as_all_else_does(lab):
    said = typed("correct", "lab.toml", 0, "0,79", "--set", "x=1,5", "--why", "typed 1e3")
    assert "numbers are read with decimal commas: 0,79 is 0.79" in said.stderr
    assert trials()[0].value == 0.79
    assert trials()[0].user_attrs[EXECUTED] == {"x": 1.5}


def test_comments_come_with_tables_of_every_shape(lab):
    Path("told.csv").write_text(
        "operator;Trial;strength / MPa;stress;Comment;Comments\n"
        "Ada;3;0,5;20;neues Harz, 2. Charge;x\n;;;;seen by Bob;\n",
        encoding="utf-8",
    )
    said = typed("tell", "lab.toml", "--table", "told.csv")
    assert "left out: 'operator', 'Comments'" in said.stderr
    assert "1 row has nothing in the columns that are read, and left out" in said.stderr
    assert [each.why for each in amendments_of(trials()[3])] == ["neues Harz, 2. Charge"]
    typed("withdraw", "lab.toml", 1, "--why", "wrong sample")
    typed("correct", "lab.toml", 0, "0.123456789", "--why", "typed")
    typed("status", "lab.toml", "--xlsx", "all.xlsx")
    again = typed("import", "lab.toml", "all.xlsx").stderr
    assert "3 rows had been there already" in again
    assert "corrected or withdrawn since" not in again
    assert "1 row withdrawn, left out" in again
    shutil.copy("lab.toml", "other.toml")
    typed("import", "other.toml", "all.xlsx")
    kept = [[each.why for each in amendments_of(trial)] for trial in trials("other.toml")]
    assert "value 1000 -> 0.123456789: typed" in kept[0][0]
    assert kept[1:] == [[], ["neues Harz, 2. Charge"]]


def test_a_corrected_row_is_known_also_where_a_spreadsheet_has_rounded_it(lab):
    typed("tell", "lab.toml", 3, "0.123456789", "stress=20")
    text = typed("status", "lab.toml", "--csv").stdout
    typed("correct", "lab.toml", 3, "0.987654321", "--why", "typed")
    for old, outdated in (("0.123456789", True), ("0.987654321", False)):
        rounded = text.replace("0.123456789", f"{float(old):.6g}")
        Path("all.csv").write_text(rounded, encoding="utf-8")
        said = typed("import", "lab.toml", "all.csv").stderr
        assert "4 rows had been there already" in said
        assert ("1 of them corrected or withdrawn since" in said) == outdated
        Path("one.csv").write_text(f"trial,value,stress\n3,{float(old):.6g},20\n")
        said = typed("tell", "lab.toml", "--table", "one.csv").stderr
        assert "1 row had been told before" in said
        assert ("corrected or withdrawn since" in said) == outdated


def test_a_file_that_grows_can_be_told_and_imported_again_after_a_correction(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml", "-n", 2)
    text = "trial,value,stress\n0,1000,20\n1,0.5,30\n"
    Path("told.csv").write_text(text)
    typed("tell", "lab.toml", "--csv", "told.csv")
    text = "x,oil,value,stress\n1,mineral,2000,40\n1.5,mineral,0.7,50\n1.5,mineral,0.7,50\n"
    Path("old.csv").write_text(text)
    typed("import", "lab.toml", "old.csv")
    typed("correct", "lab.toml", 0, "1", "--why", "typed")
    typed("correct", "lab.toml", 0, "2", "--why", "typed again")
    typed("withdraw", "lab.toml", 1, "--why", "wrong sample")
    typed("correct", "lab.toml", 2, "2", "--why", "typed")
    typed("withdraw", "lab.toml", 3, "--why", "wrong sample")
    again = typed("tell", "lab.toml", "--csv", "told.csv")
    assert "2 rows had been told before, 2 of them corrected or withdrawn since" in again.stderr
    again = typed("import", "lab.toml", "old.csv")
    assert "3 rows had been there already, 2 of them corrected or withdrawn since" in again.stderr
    assert "0 stored" in again.stdout
    assert [trial.value for trial in trials()] == [2, None, 2, None, 0.7]
    # a failure is no withdrawn value
    Path("failed.csv").write_text("x,oil,value\n1.5,mineral,failed\n")
    assert typed("import", "lab.toml", "failed.csv").stdout.startswith("stored")


def test_an_older_meseta_would_refuse_a_study_that_was_put_right(lab):
    def kept():
        return open_ledger(read_study("lab.toml"), reading=True).study.user_attrs[FORMAT]

    assert kept() == 3  # it was told
    typed("comment", "lab.toml", 0, "x")
    typed("ask", "lab.toml")
    assert kept() == 3


def test_what_was_given_up_is_not_put_right(lab):
    typed("tell", "lab.toml", 3, "--spoilt", "the power failed")
    refused = typed("comment", "lab.toml", 3, "x", code=2).stderr
    assert "trial 3 does not count (the power failed)" in refused
    typed("tell", "lab.toml", 3, "0.5", "stress=1")
    refused = typed("correct", "lab.toml", 3, "0.6", "--why", "x", code=2).stderr
    assert "its outcome is kept as trial 4" in refused
    typed("correct", "lab.toml", 4, "0.6", "--why", "x")


def test_the_report_and_the_recommendation_follow(lab):
    typed("tell", "lab.toml", 3, "0.4", "stress=2")
    typed("correct", "lab.toml", 0, "0.6", "--why", "<b>typed</b> 1e3")
    typed("withdraw", "lab.toml", 1, "--why", "wrong sample")
    best = json.loads(typed("recommend", "lab.toml", "--json").stdout)["recommendation"]
    assert best["robust"]["mean"] < 10
    typed("report", "lab.toml")
    page = (lab / "lab.html").read_text(encoding="utf-8")
    assert "Corrections and comments" in page
    assert "&lt;b&gt;typed&lt;/b&gt; 1e3" in page
    numbers = json.loads(typed("report", "lab.toml", "--json").stdout)["search"]["trials"]
    assert [trial["state"] for trial in numbers] == ["complete", "withdrawn", "failed", "complete"]


def test_a_study_whose_values_are_all_withdrawn_reports_that(lab):
    for number in (0, 1):
        typed("withdraw", "lab.toml", number, "--why", "x")
    typed("report", "lab.toml")
    assert "Corrections and comments" in (lab / "lab.html").read_text(encoding="utf-8")
    typed("recommend", "lab.toml", code=3)


# --- what is probably a slip ---


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A study with values around 1, and two experiments in hand."""
    folder = tmp_path_factory.mktemp("usual")
    (folder / "lab.toml").write_text(LAB)
    values = ["0.9", "1.0", "1.1", "1.0", "0.8", "1.2"]
    lines = [f"{i / 4},mineral,{value},{100 + i}\n" for i, value in enumerate(values)]
    (folder / "old.csv").write_text("x,oil,value,stress\n" + "".join(lines))
    typed("import", folder / "lab.toml", folder / "old.csv")
    typed("ask", folder / "lab.toml", "-n", 2)
    return folder


@pytest.fixture
def slips(folder, usual):
    for path in usual.iterdir():
        shutil.copy(path, folder)
    (folder / "told.csv").write_text("trial,value,stress\n6,1000,100\n7,1.1,-9999\n")
    (folder / "new.csv").write_text(
        "x,oil,value,stress\n0.3,mineral,1000,100\n0.4,mineral,1.1,100\n45,mineral,1.1,100\n"
    )
    return folder


SLIPS = [
    (["tell", "lab.toml", 6, "1000", "stress=100"], ["trial 6: the value 1000 is far from all 6"]),
    (["tell", "lab.toml", 6, "1", "stress=1e5"], ["trial 6: 'stress' 100000 is far from all 6"]),
    (
        ["tell", "lab.toml", 6, "1", "stress=100", "--set", "x=45"],
        ["trial 6: 'x' = 45 is far beyond its range, 0 to 2"],
    ),
    (["tell", "lab.toml", 6, "--failed", "cracked", "--set", "x=-2.1"], ["trial 6: 'x' = -2.1"]),
    (
        ["tell", "lab.toml", "--csv", "told.csv"],
        ["trial 6: the value 1000 is", "trial 7: 'stress' -9999 is"],
    ),
    (
        ["import", "lab.toml", "new.csv"],
        ["new.csv:2: the value 1000 is", "new.csv:4: 'x' = 45 is far beyond"],
    ),
    (["correct", "lab.toml", 0, "90", "--why", "x"], ["trial 0: the value 90 is far from all 5"]),
    (["correct", "lab.toml", 0, "--set", "x=9", "--why", "x"], ["trial 0: 'x' = 9 is far beyond"]),
]


@pytest.mark.parametrize(("words", "messages"), SLIPS)
def test_what_is_far_from_all_else_is_asked_about(slips, words, messages, monkeypatch):
    before = (slips / "lab.db").read_bytes()
    for more in ([], ["--json"]):
        refused = typed(*words, *more, code=2).stderr
        assert all(message in refused for message in messages)
        assert "Nothing was stored; if that is right, say --yes" in refused
    monkeypatch.setattr("meseta.cli.asking.at_a_terminal", lambda: True)
    asked = typed(*words, code=1, answer="n\n")
    assert all(message in asked.stderr for message in messages)
    assert "Is that right? [y/N]" in asked.stderr
    assert "nothing was stored" in asked.stderr
    typed(*words, code=1, answer="")  # Ctrl-D
    assert (slips / "lab.db").read_bytes() == before
    assert "Is that" not in typed(*words, answer="y\n").stdout
    monkeypatch.undo()


@pytest.mark.parametrize(("words", "messages"), SLIPS)
def test_yes_takes_it_as_it_is(slips, words, messages):
    typed(*words, "--yes", "--json")


def test_rows_that_were_taken_before_are_not_asked_about_again(slips):
    typed("import", "lab.toml", "new.csv", "--yes")
    assert "3 rows had been there already" in typed("import", "lab.toml", "new.csv").stderr
    typed("tell", "lab.toml", "--csv", "told.csv", "--yes")
    assert "2 rows had been told before" in typed("tell", "lab.toml", "--csv", "told.csv").stderr


def test_few_values_do_not_say_what_is_usual(lab):
    typed("tell", "lab.toml", 3, "-1e9", "stress=1e9")


@pytest.mark.parametrize(
    ("value", "known", "far"),
    [
        (1000.0, (1.0, 1.0, 5), True),
        (5.0, (1.0, 1.0, 5), False),
        (-10.0, (1.0, 1.0, 5), True),
        (1e9, (0.0, 0.0, 5), False),  # there is nothing to compare with
        (1e9, (0.0, 1.0, 4), False),
        (11.1, (0.0, 1.0, 5), True),
        (10.9, (0.0, 1.0, 5), False),
        (1e100, (-1e100, 1e100, 5), False),
    ],
)
def test_far_is_measured_by_the_spread_of_the_others(value, known, far):
    assert is_far(value, Range(*known)) is far


@pytest.mark.parametrize(
    ("setting", "parameter", "beyond"),
    [
        (3.9, Float(0.0, 2.0), False),
        (4.1, Float(0.0, 2.0), True),
        (-2.1, Float(0.0, 2.0), True),
        (5.0, Float(0.0, 2.0, evaluate=(-1.0, 3.0)), False),
        (1e3, Float(1.0, 100.0, log=True), False),
        (1.1e4, Float(1.0, 100.0, log=True), True),
        (9, Int(1, 4), True),
        ("a", Categorical(["a", "b"]), False),
    ],
)
def test_beyond_is_measured_by_the_width_of_the_range(setting, parameter, beyond):
    assert is_beyond(setting, parameter) is beyond


def test_putting_right_does_not_load_torch(lab):
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom meseta.cli import app\n"
        "for words in (['correct', 'lab.toml', '0', '2', '--why', 'x'],\n"
        "              ['withdraw', 'lab.toml', '1', '--why', 'x'], ['status', 'lab.toml'],\n"
        "              ['comment', 'lab.toml', '0', 'x']):\n"
        "    done = CliRunner().invoke(app, words)\n"
        "    assert done.exit_code == 0, done.output\n"
        "assert 'torch' not in sys.modules and 'pandas' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
