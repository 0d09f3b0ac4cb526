"""What a study is told is kept as it was told, shown as it is kept, and can be taken away."""

import csv
import io
import json
import os
import shutil
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import optuna
import pytest
from sqlalchemy import create_engine, inspect

import meseta
from command_line import typed
from examples import some
from meseta.integrations.optuna.attributes import AMENDMENT, ERROR, EXECUTED, VOID
from meseta.study import confirming
from meseta.study import lab as by_hand
from meseta.study.ledger import VERSION, StorageError, open_ledger
from meseta.study.marks import BY_HAND, WORKER
from meseta.study.progress import kind_of, progress
from meseta.study.sampling import FileSampler
from meseta.study.spreadsheet import quoted, unquoted
from meseta.study.terminal import harmless, one_line
from meseta.study.toml.file import read_study
from meseta.study.workers.liveness import this_worker
from postgresql import server

LAB = """
[study]
method = "sobol"
value = "yield"
[parameters.x]
low = 0.0
high = 2.0
[parameters.oil]
choices = ["mineral", "synthetic"]
"""
OBSERVED = """
[parameters.wind]
low = 0.0
high = 10.0
noise = { law = "uniform", half_width = 2.0, mean = 5.0, observed = true }
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "lab.toml").write_text(LAB)
    typed("ask", folder / "lab.toml", "-n", 3)
    return folder


@pytest.fixture
def lab(folder, prepared):
    """A study with three experiments in hand."""
    for path in prepared.iterdir():
        shutil.copy(path, folder)
    return folder


def trials(path="lab.toml"):
    return open_ledger(read_study(path), reading=True).trials


def rows(*words):
    return list(csv.DictReader(io.StringIO(typed("status", *words, "--csv").stdout)))


# --- numbers on the command line ---


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["lab.toml", 0, "-1.5"], -1.5),
        (["lab.toml", "0", "-1e-3"], -1e-3),
        (["lab.toml", "0", "-.5"], -0.5),
        (["lab.toml", "0", ".5"], 0.5),
        (["lab.toml", "0", "+.5"], 0.5),
        (["lab.toml", "0", "\u22122"], -2.0),
        (["--set", "x=-0.25", "lab.toml", "0", "-7"], -7.0),
        (["lab.toml", "0", "-7", "--set", "x=-0.25", "--json"], -7.0),
        (["--json", "lab.toml", "--set=x=-0.25", "0", "-7"], -7.0),
        (["lab.toml", "--", "0", "-1.5"], -1.5),
        (["lab.toml", "0", "-1,5"], -1.5),
        (["lab.toml", "0", "-,5"], -0.5),
        (["lab.toml", "0", "-7", "--set", "x=-0,25"], -7.0),
    ],
)
def test_negative_numbers_are_numbers(lab, words, value):
    typed("tell", *words)
    told = trials()[0]
    assert told.value == value
    assert told.user_attrs.get(EXECUTED, {}) == ({"x": -0.25} if value == -7 else {})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lab.toml", "-1", "2.5"], "there is no trial -1"),
        (["lab.toml", "0", "-1,234"], "'-1,234' may be -1.234 or -1234; write one of these"),
        (["lab.toml", "0", "1.2.3"], "finite number such as 0.82, got '1.2.3'"),
        (["lab.toml", "0", "1", "--set", "x=1,234"], "'x' is not clear: '1,234' may be"),
        (["lab.toml", "0", "1_5"], "finite number such as 0.82, got '1_5'"),
        (["lab.toml", "0", "--faild", "-1"], "No such option"),
        (["lab.toml", "0", "-1.5", "-x"], "No such option"),
    ],
)
def test_what_is_neither_number_nor_option_is_refused(lab, words, message):
    assert message in typed("tell", *words, code=2).stderr
    assert not any(trial.state.is_finished() for trial in trials())


# --- values that a model cannot hold ---


@pytest.mark.parametrize("value", ["NaN", "-inf", "none", "1e400"])
def test_no_number_is_not_taken_for_a_failure(lab, value):
    refused = typed("tell", "lab.toml", 0, value, code=2).stderr
    assert "must be a finite number" in refused or "must be finite" in refused
    assert "--failed" in refused or "1e400" in refused
    Path("told.csv").write_text(f"trial,value\n0,{value}\n")
    typed("tell", "lab.toml", "--csv", "told.csv", code=2)
    Path("old.csv").write_text(f"x,oil,value\n1,mineral,{value}\n")
    typed("import", "lab.toml", "old.csv", code=2)
    assert len(trials()) == 3
    assert not any(trial.state.is_finished() for trial in trials())


@pytest.mark.parametrize("value", ["1e200", "-1e101"])
def test_a_value_that_is_too_large_is_refused_by_every_door(lab, value):
    Path("told.csv").write_text(f"trial,value\n0,{value}\n")
    Path("old.csv").write_text(f"x,oil,value\n1,mineral,{value}\n")
    for words in (
        ["tell", "lab.toml", 0, value],
        ["tell", "lab.toml", "--csv", "told.csv"],
        ["import", "lab.toml", "old.csv"],
    ):
        assert "within ±1e+100" in typed(*words, code=2).stderr
    assert not any(trial.state.is_finished() for trial in trials())


def test_an_objective_whose_value_is_too_large_has_failed_and_says_so(folder):
    Path("model.py").write_text("def f(p):\n    return 1e200\n")
    Path("s.toml").write_text(
        '[study]\nmethod = "sobol"\nbudget = 1\n[objective]\npython = "model:f"\n'
        "[parameters.x]\nlow = 0.0\nhigh = 1.0\n"
    )
    typed("run", "s.toml", code=1)
    (row,) = rows("s.toml")
    assert (row["state"], row["value"]) == ("failed", "")
    assert "within ±1e+100" in row["failed"]


def test_failed_with_a_value_is_a_contradiction(lab):
    assert "has the value" in typed("tell", "lab.toml", 0, "1.5", "--failed", "no", code=2).stderr
    Path("old.csv").write_text("x,oil,value,state\n1,mineral,0.5,failed\n")
    assert "has the value" in typed("import", "lab.toml", "old.csv", code=2).stderr
    typed("tell", "lab.toml", 0, "failed")
    assert kind_of(trials()[0]) == "failed"


# --- a study file that changes ---

CHANGES = {
    "added": LAB + "[parameters.y]\nlow = 0.0\nhigh = 1.0\n",
    "removed": LAB.split("[parameters.oil]")[0],
    "renamed": LAB.replace("parameters.x", "parameters.z"),
    "type": LAB.replace("low = 0.0", 'type = "int"\nlow = 0'),
    "range": LAB.replace("high = 2.0", "high = 3.0"),
    "steps": LAB.replace("high = 2.0", "high = 2.0\nstep = 0.5"),
    "scale": LAB.replace("low = 0.0", "log = true\nlow = 0.5"),
    "choices": LAB.replace('"synthetic"', '"olive"'),
    "direction": LAB.replace('method = "sobol"', 'method = "sobol"\ndirection = "minimize"'),
}


@pytest.mark.parametrize("change", some(CHANGES, 2))
def test_a_change_that_the_study_cannot_take_is_refused_and_its_trials_can_be_had(lab, change):
    if change != "added":  # the first trials may be in hand still
        typed("tell", "lab.toml", 0, "0.5", "--set", "x=0.25")
    before = typed("status", "lab.toml", "--csv").stdout
    content = (lab / "lab.db").read_bytes()
    (lab / "lab.toml").write_text(CHANGES[change])
    Path("old.csv").write_text("x,oil,value\n1,mineral,0.5\n")
    every = [
        ["ask", "lab.toml"],
        ["status", "lab.toml"],
        ["tell", "lab.toml", 1, "0.5"],
        ["import", "lab.toml", "old.csv"],
        ["recommend", "lab.toml"],
        ["report", "lab.toml"],
    ]
    for words in every if change == "added" else every[:1]:
        refused = typed(*words, code=1).stderr
        assert "Nothing was changed" in refused
        assert "meseta status lab.toml --csv" in refused
    assert (lab / "lab.db").read_bytes() == content
    exported = typed("status", "lab.toml", "--csv")
    assert "has other parameters" in exported.stderr or "is one to maximize" in exported.stderr
    expected = list(csv.DictReader(io.StringIO(before)))
    found = list(csv.DictReader(io.StringIO(exported.stdout)))
    assert [{name: row[name] for name in expected[0]} for row in found] == expected
    if change == "added":
        shown = json.loads(typed("status", "lab.toml", "--json").stdout)
        assert [trial["trial"] for trial in shown["trials"]] == [0, 1, 2]
        (lab / "lab.toml").write_text(LAB)
        assert "pending" in typed("status", "lab.toml").output


def test_a_file_that_is_wrong_still_gives_its_trials(lab):
    before = typed("status", "lab.toml", "--csv").stdout
    (lab / "lab.toml").write_text(LAB.replace("high = 2.0", "high = -1.0"))
    typed("status", "lab.toml", code=2)
    exported = typed("status", "lab.toml", "--csv")
    assert exported.stdout == before
    assert "lab.toml:7" in exported.stderr
    (lab / "lab.toml").write_text("[study")
    assert "not valid TOML" in typed("status", "lab.toml", "--csv", code=2).stderr


def test_a_study_that_was_harmed_by_an_added_parameter_gives_its_trials(lab):
    """Trials as an earlier version let them in: some have a parameter that others do not."""
    typed("tell", "lab.toml", 0, "0.5")
    study = optuna.load_study(study_name="lab", storage=f"sqlite:///{lab / 'lab.db'}")
    study.set_user_attr("meseta:parameters", None)
    more = {
        **trials()[0].distributions,
        "y": optuna.distributions.FloatDistribution(0.0, 1.0),
    }
    study.ask(more)
    for text in (LAB, CHANGES["added"]):
        (lab / "lab.toml").write_text(text)
        assert "has other parameters" in typed("status", "lab.toml", code=1).stderr
        found = rows("lab.toml")
        assert [row["trial"] for row in found] == ["0", "1", "2", "3"]
        assert found[0]["value"] == "0.5"
        assert found[0]["y"] == ""


def test_a_study_without_trials_follows_its_file(folder):
    (folder / "lab.toml").write_text(LAB)
    (folder / "old.csv").write_text("x,oil,value\n1,mineral,much\n")
    typed("import", "lab.toml", "old.csv", code=2)
    (folder / "lab.toml").write_text(CHANGES["range"])
    typed("ask", "lab.toml")
    (folder / "lab.toml").write_text(LAB)
    assert "has other parameters" in typed("ask", "lab.toml", code=1).stderr


# --- tables in and out ---


def test_the_column_of_the_values_may_have_the_name_of_the_value(lab):
    Path("old.csv").write_text("x,oil,yield\n1,mineral,0.5\n")
    typed("import", "lab.toml", "old.csv")
    assert trials()[3].value == 0.5
    Path("told.csv").write_text("trial,yield\n0,0.75\n")
    typed("tell", "lab.toml", "--csv", "told.csv")
    assert trials()[0].value == 0.75
    Path("both.csv").write_text("x,oil,yield,value\n1,mineral,0.5,0.6\n")
    assert "and a column 'yield'" in typed("import", "lab.toml", "both.csv", code=2).stderr
    Path("typo.csv").write_text("x,oil,yeild\n1,mineral,0.5\n")
    refused = typed("import", "lab.toml", "typo.csv", code=2).stderr
    assert "has a column that is not known: there is no column 'yeild'" in refused
    assert "(did you mean 'yield'?)" in refused


def test_telling_a_file_goes_on_where_it_was_interrupted(lab, monkeypatch):
    Path("told.csv").write_text("trial,x,value,failed\n0,0.25,1.5,\n1,,,spilled\n2,,-2.5,\n")
    tell = optuna.Study.tell
    told = []

    def interrupted(self, *args, **kwargs):
        if len(told) == 2:
            raise KeyboardInterrupt
        told.append(args)
        return tell(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "tell", interrupted)
        typed("tell", "lab.toml", "--csv", "told.csv", code=130)
    again = typed("tell", "lab.toml", "--csv", "told.csv")
    assert "2 rows had been told before" in again.stderr
    assert again.stdout.startswith("stored; ")
    assert [trial.value for trial in trials()] == [1.5, None, -2.5]
    assert json.loads(typed("tell", "lab.toml", "--csv", "told.csv", "--json").stdout)["known"] == 3
    for line in ("0,0.25,1.25,", "0,0.5,1.5,", "1,,1.0,", "2,,,spilled"):
        Path("other.csv").write_text(f"trial,x,value,failed\n{line}\n")
        assert (
            "other.csv:2: trial" in typed("tell", "lab.toml", "--csv", "other.csv", code=2).stderr
        )


def test_a_table_without_rows_is_refused(lab):
    Path("empty.csv").write_text("trial,x,oil,value\n\n")
    for words in (["tell", "lab.toml", "--table"], ["import", "lab.toml"]):
        refused = typed(*words, "empty.csv", code=2).stderr
        assert "empty.csv:1 names the columns, and no row stands below it" in refused


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[study]\nname = "a\\u0000b"\n', "study.name must be a name without the character NUL"),
        (f'[study]\nname = "{"n" * 513}"\n', "study.name must be a name of at most 512 letters"),
        (f'[study]\nvalue = "{"n" * 513}"\n', "value must be a name of at most 512 letters"),
        (f'[study]\noutcomes = ["{"n" * 513}"]\n', "outcomes must be a name of at most 512"),
        (
            '[parameters."x\\u0000"]\nlow = 0\nhigh = 1\n',
            "must be a name without the character NUL",
        ),
        (f"[parameters.{'x' * 513}]\nlow = 0\nhigh = 1\n", "must be a name of at most 512 letters"),
        (f"[constraints.{'c' * 513}]\nat_most = 1\n", "must be a name of at most 512 letters"),
    ],
)
def test_names_that_a_database_cannot_keep_are_refused(folder, text, says):
    Path("lab.toml").write_text(text + "[parameters.speed]\nlow = 0\nhigh = 1\n")
    assert says in typed("ask", "lab.toml", code=2).stderr
    assert not Path("lab.db").exists()


@pytest.mark.parametrize(
    "table",
    [
        "".join(f"[parameters.x{i}]\nlow = 0\nhigh = 1\n" for i in range(1001)),
        f"[parameters.x]\nchoices = {[f'c{i}' for i in range(1001)]}\n",
    ],
)
def test_what_is_too_large_for_a_model_is_refused_early(folder, table):
    Path("lab.toml").write_text(table)
    refused = typed("ask", "lab.toml", code=2).stderr
    assert "must have 1000 numbers and choices at most" in refused
    assert "got 1001 together" in refused
    assert not Path("lab.db").exists()


def test_a_name_of_512_letters_is_kept(folder):
    name = "ü" * 512
    Path("lab.toml").write_text(f'[study]\nname = "{name}"\n[parameters."{name}"]\nlow=0\nhigh=1\n')
    typed("ask", "lab.toml")
    (trial,) = trials()
    assert set(trial.params) == {name}


def test_a_study_says_which_version_began_it(folder, monkeypatch):
    Path("lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    begun = meseta.__version__
    monkeypatch.setattr("meseta.__version__", "99.0")
    typed("ask", "lab.toml")
    study = open_ledger(read_study("lab.toml"), reading=True).study
    assert study.user_attrs[VERSION] == begun


def test_a_study_of_an_earlier_version_says_once_that_figures_follow_other_rules(lab, monkeypatch):
    typed("tell", "lab.toml", 0, "10")
    assert "earlier version" not in typed("recommend", "lab.toml").stderr
    monkeypatch.setattr("meseta.study.ledger.VERSION", "meseta:nobody-recorded-it")
    assert "begun with an earlier version" in typed("recommend", "lab.toml").stderr
    assert "earlier version" not in typed("recommend", "lab.toml").stderr


def test_an_interrupted_attempt_leaves_nothing_behind(lab):
    ledger = open_ledger(read_study("lab.toml"))
    ledger.mark(0, EXECUTED, {"x": 1.75})
    ledger.mark(0, ERROR, "spilled")
    typed("tell", "lab.toml", 0, "0.5")
    assert not {EXECUTED, ERROR} & set(trials()[0].user_attrs)
    (row, *_) = rows("lab.toml")
    assert float(row["x"]) == trials()[0].params["x"]
    assert "failed" not in typed("status", "lab.toml").output


HARMFUL = [
    "=1+1",
    "+cmd",
    "-2+3",
    "@sum",
    "\tx",
    "'=x",
    "''",
    "-1.5",
    "a,b;c\td",
    'say "x"',
    "é\n=",
]


def test_an_export_is_no_program_and_comes_back_as_it_was(folder):
    choices = json.dumps(HARMFUL)
    text = '[study]\nmethod = "sobol"\n[parameters.x]\nlow = 0.0\nhigh = 1.0\n'
    text += f'[parameters."=n;m,o"]\nchoices = {choices}\n'
    for name in ("one.toml", "two.toml"):
        (folder / name).write_text(text + OBSERVED, encoding="utf-8")
    ledger = open_ledger(read_study("one.toml"))
    for i, choice in enumerate(HARMFUL):
        params = {"x": 0.1 * i / 3, "=n;m,o": choice, "wind": 4.0}
        said = {EXECUTED: {"wind": 4.5}} if i else {ERROR: "=evil()"}
        state = optuna.trial.TrialState.COMPLETE if i else optuna.trial.TrialState.FAIL
        ledger.study.add_trial(
            optuna.trial.create_trial(
                state=state,
                value=i - 5.0 if i else None,
                params=params,
                distributions=ledger.distributions,
                user_attrs=said,
            )
        )
    written = typed("status", "one.toml", "--csv").stdout
    for cell in (cell for row in csv.reader(io.StringIO(written)) for cell in row):
        assert cell[:1] not in set("=+-@\t\r\n") or float(cell) <= 0
    (folder / "out.csv").write_text(written, encoding="utf-8")
    assert f"{len(HARMFUL)} stored" in typed("import", "two.toml", "out.csv").output
    kept = open_ledger(read_study("two.toml"), reading=True).trials
    assert [trial.params["=n;m,o"] for trial in kept] == HARMFUL
    assert [trial.value for trial in kept] == [t.value for t in ledger.trials]
    assert kept[0].user_attrs[ERROR] == "=evil()"
    assert typed("status", "two.toml", "--csv").stdout == written
    assert "0 stored" in typed("import", "one.toml", "out.csv").output


@pytest.mark.parametrize("text", [*HARMFUL, "plain", "", "'", "'''=", "-inf", "--1"])
def test_quotes_come_off_again(text):
    assert unquoted(str(quoted(text))) == text


def test_rows_without_an_outcome_are_counted_and_unknown_states_refused(lab):
    typed("tell", "lab.toml", 0, "0.5")
    Path("out.csv").write_text(typed("status", "lab.toml", "--csv").stdout)
    Path("two.toml").write_text(LAB)
    assert "2 rows without an outcome yet" in typed("import", "two.toml", "out.csv").stderr
    Path("bad.csv").write_text("x,oil,value,state\n1,mineral,0.5,Complete\n")
    assert "there is no state 'Complete'" in typed("import", "two.toml", "bad.csv", code=2).stderr


def test_choices_that_are_spelled_alike_are_not_guessed(folder):
    (folder / "s.toml").write_text(
        '[parameters.x]\nlow = 0\nhigh = 1\n[parameters.n]\nchoices = ["1", 1]\n'
    )
    (folder / "old.csv").write_text("x,n,value\n0.5,1,2.0\n")
    assert "several choices" in typed("import", "s.toml", "old.csv", code=2).stderr


@pytest.mark.parametrize("name", ["trial", "failed"])
def test_a_parameter_must_not_have_the_name_of_a_column(folder, name):
    (folder / "s.toml").write_text(f"[parameters.{name}]\nlow = 0.0\nhigh = 1.0\n")
    assert f"named {name!r}" in typed("ask", "s.toml", code=2).stderr


# --- what steers a terminal ---

EVIL = "a\x1b[2Jb\x9bc\u202ed\u2066e\x07\nf"


def test_names_do_not_steer_the_terminal(folder):
    spelled = json.dumps(EVIL)
    (folder / "s.toml").write_text(
        f"[study]\nname = {spelled}\nmethod = 'sobol'\n[parameters.{spelled}]\nlow = 0.0\n"
        f"high = 1.0\nunit = {spelled}\n[parameters.kind]\nchoices = [{spelled}, 'b']\n"
    )
    shown = [typed("ask", "s.toml"), typed("tell", "s.toml", 0, "--failed", EVIL)]
    shown += [typed("status", "s.toml"), typed("status", "s.toml", "--json")]
    shown += [
        typed("tell", "s.toml", 9, "1", code=2),
        typed("report", "s.toml", "-o", "r\x1b.html"),
    ]
    shown += [typed("tell", "s.toml", 0, "1", "--set", f"{EVIL}=1", code=2)]
    (folder / "bad.toml").write_text(f"[parameters.{spelled}]\nlow = 1.0\nhigh = 0.0\n")
    shown += [typed("ask", "bad.toml", code=2)]
    for each in shown:
        text = each.stdout + each.stderr
        assert text == harmless(text)
    told = json.loads(shown[3].stdout)["trials"][0]
    assert told["error"] == EVIL
    assert EVIL in told["params"]


def test_steering_characters_are_spelled_as_json_does():
    assert harmless("a\x1b\nb\u202e") == "a\\u001b\nb\\u202e"
    assert one_line("a\nb") == "a\\nb"
    assert json.loads(harmless(json.dumps(EVIL, ensure_ascii=False))) == EVIL


# --- reading does not write ---


def test_reading_commands_do_not_make_a_database(folder):
    (folder / "lab.toml").write_text(LAB)
    for words in (
        ["status", "lab.toml"],
        ["status", "lab.toml", "--csv"],
        ["status", "lab.toml", "--json"],
        ["recommend", "lab.toml"],
        ["report", "lab.toml"],
        ["tell", "lab.toml", 0, "0.5"],
    ):
        assert "no study 'lab' yet" in typed(*words, code=1).stderr
    assert [path.name for path in folder.iterdir()] == ["lab.toml"]
    (folder / "lab.db").touch()
    assert "no study 'lab' yet" in typed("status", "lab.toml", code=1).stderr
    assert (folder / "lab.db").stat().st_size == 0


def test_reading_commands_make_no_tables_on_a_server(folder):
    with server() as url:
        (folder / "s.toml").write_text(LAB.replace("value =", f'storage = "{url}"\nvalue ='))
        for words in (["status", "s.toml"], ["status", "s.toml", "--csv"], ["recommend", "s.toml"]):
            assert "no study 's' yet" in typed(*words, code=1).stderr
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
        assert inspect(engine).get_table_names() == []
        engine.dispose()


def test_reading_commands_leave_the_database_as_it_is(lab):
    typed("tell", "lab.toml", 0, "0.5")
    content = (lab / "lab.db").read_bytes()
    for words in (
        ["status", "lab.toml"],
        ["status", "lab.toml", "--csv"],
        ["recommend", "lab.toml"],
        ["report", "lab.toml"],
    ):
        typed(*words)
    assert (lab / "lab.db").read_bytes() == content


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_study_can_be_read(lab):
    typed("tell", "lab.toml", 0, "0.5")
    (lab / "lab.db").chmod(stat.S_IRUSR)
    lab.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert "0.5" in typed("status", "lab.toml").output
        assert rows("lab.toml")[0]["value"] == "0.5"
        typed("recommend", "lab.toml")
    finally:
        lab.chmod(stat.S_IRWXU)


# --- reports ---


def test_a_report_overwrites_nothing_but_a_report(lab):
    typed("tell", "lab.toml", 0, "--failed", "spilled")
    (lab / "notes.html").write_text("<html>my notes</html>")
    os.link(lab / "lab.db", lab / "link.html")
    content = {name: (lab / name).read_bytes() for name in ("lab.db", "lab.toml", "notes.html")}
    for name in ("lab.db", "lab.toml", "link.html"):
        for force in ([], ["--force"]):
            refused = typed("report", "lab.toml", "-o", name, *force, code=2).stderr
            assert "never overwritten" in refused
    assert "is no report" in typed("report", "lab.toml", "-o", "notes.html", code=2).stderr
    assert {name: (lab / name).read_bytes() for name in content} == content
    typed("report", "lab.toml")
    typed("report", "lab.toml")
    typed("report", "lab.toml", "-o", "notes.html", "--force")
    assert b"my notes" not in (lab / "notes.html").read_bytes()
    assert "no regular file" in typed("report", "lab.toml", "-o", "/dev/null", code=2).stderr


# --- nothing is lost ---


def test_a_trial_that_a_worker_evaluates_is_not_told_by_hand(lab):
    ledger = open_ledger(read_study("lab.toml"))
    ledger.mark(0, BY_HAND, False)
    ledger.mark(0, WORKER, this_worker(time.time()))
    for words in (["0", "1.5"], ["0", "--failed", "no"], ["0", "--spoilt", "no"]):
        assert "a worker evaluates trial 0" in typed("tell", "lab.toml", *words, code=2).stderr
    ledger.mark(0, WORKER, {**this_worker(time.time()), "pid": 2**30})
    typed("tell", "lab.toml", 0, "1.5")  # that worker is gone
    assert trials()[0].value == 1.5


def test_the_value_of_a_trial_that_was_given_up_is_kept(lab):
    params = trials()[1].params
    typed("tell", "lab.toml", 1, "--spoilt", "its worker is gone")
    told = typed("tell", "lab.toml", 1, "-1.5", "--set", "x=0.25")
    assert "trial 1 had been given up" in told.stderr
    kept = trials()[3]
    assert (kept.value, kept.params) == (-1.5, params)
    assert kept.user_attrs[EXECUTED] == {"x": 0.25}
    refused = typed("tell", "lab.toml", 1, "-1.5", code=2).stderr
    assert "trial 1 already has the value -1.5" in refused
    assert "kept as trial 3" in refused
    Path("told.csv").write_text("trial,x,value\n1,0.25,-1.5\n")
    assert "1 row had been told before" in typed("tell", "lab.toml", "--csv", "told.csv").stderr
    assert len(trials()) == 4


def test_a_value_counts_also_if_its_trial_was_being_given_up(lab):
    """Another worker marks the trial, then its own stores the value, then the mark is followed."""
    ledger = open_ledger(read_study("lab.toml"))
    ledger.mark(0, VOID, "its worker is gone")
    ledger.study.tell(0, 0.75)
    assert progress(ledger.trials, None).complete == 1
    assert rows("lab.toml")[0]["value"] == "0.75"
    best = json.loads(typed("recommend", "lab.toml", "--json").stdout)["recommendation"]
    assert best["robust"]["mean"] == pytest.approx(0.75, abs=1e-3)


def test_two_people_who_tell_at_once_are_both_answered(lab):
    """The second one is refused, although the trial was pending when it was looked at."""
    ledger = open_ledger(read_study("lab.toml"))
    outcome = by_hand.read_outcome(ledger, 0, by_hand.Cells("2.5"))
    typed("tell", "lab.toml", 0, "1.5")
    stored = by_hand.store(ledger, [outcome])
    assert (stored.num, len(stored.lost)) == (0, 1)
    assert "by somebody else" in stored.lost[0]
    assert "already has the value 1.5" in stored.lost[0]
    with pytest.raises(ValueError, match="by somebody else"):
        by_hand.spoil(ledger, 0, "the stirrer stopped")
    assert trials()[0].value == 1.5


# --- growth ---


def test_a_file_is_told_without_reading_all_trials_for_each_row(lab, monkeypatch):
    read = []
    get_trials = optuna.Study.get_trials

    def counted(self, *args, **kwargs):
        read.append(self)
        return get_trials(self, *args, **kwargs)

    monkeypatch.setattr(optuna.Study, "get_trials", counted)
    counts = []
    for number in (1, 3):
        Path("told.csv").write_text("trial,value\n" + "".join(f"{i},1\n" for i in range(number)))
        read.clear()
        typed("tell", "lab.toml", "--csv", "told.csv")
        counts.append(len(read))
    assert counts[0] == counts[1]


def test_designs_are_asked_for_without_reading_all_trials_for_each_one(folder, monkeypatch):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    ledger = open_ledger(read_study("lab.toml"))
    get_all, read = ledger.database.database.get_all_trials, []
    counted = lambda *args, **kwargs: read.append(args) or get_all(*args, **kwargs)  # noqa: E731
    monkeypatch.setattr(ledger.database.database, "get_all_trials", counted)
    counts = []
    for number in (2, 20):
        read.clear()
        planned = by_hand.ask(ledger, number)
        assert len({tuple(each.params.items()) for each in planned}) == number
        counts.append(len(read))
    assert counts[0] == counts[1]
    assert [trial.number for trial in ledger.trials] == list(range(22))
    assert all(kind_of(trial) == "asked" for trial in ledger.trials)


def test_trials_for_which_no_design_was_found_do_not_stay_in_hand(folder, monkeypatch):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    ledger = open_ledger(read_study("lab.toml"))
    monkeypatch.setattr("meseta.optimizer.ask_tell.Optimizer.ask", lambda self, n: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        by_hand.ask(ledger, 3)
    assert ledger.trials == []


@pytest.mark.parametrize("num", [0, 1001, 10**8])
def test_more_experiments_than_anybody_carries_out_are_refused(folder, num):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    for command in ("ask", "confirm"):
        refused = typed(command, "lab.toml", "-n", num or 1001, code=2)
        assert "-n must be from 1 to 1000, got" in refused.stderr
    assert not Path("lab.db").exists()
    ledger = open_ledger(read_study("lab.toml"))
    for refuse in (
        by_hand.ask,
        lambda ledger, num: confirming.plan_runs(ledger, num, "on-purpose"),
    ):
        with pytest.raises(ValueError, match=f"-n must be from 1 to 1000, got {num}"):
            refuse(ledger, num)
    assert ledger.trials == []


@pytest.mark.parametrize("plan", ["ask", "confirm"])
@pytest.mark.parametrize("killed", [False, True])
def test_whenever_it_is_interrupted_no_trial_is_pending_without_its_design(
    folder, monkeypatch, plan, killed
):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    ledger = open_ledger(read_study("lab.toml"))
    by_hand.ask(ledger, 4)
    for number in range(4):
        typed("tell", "lab.toml", number, number)
    storage, writes, fatal = ledger.database.storage, [], set()

    def counted(write):
        def call(*args, **kwargs):
            writes.append(write)
            if len(writes) in fatal:
                raise KeyboardInterrupt
            return write(*args, **kwargs)

        return call

    for name in dir(storage):
        if name.startswith(("create_", "set_")):
            monkeypatch.setattr(storage, name, counted(getattr(storage, name)), raising=False)
    for first in range(1, 30):
        fatal.clear()
        if plan == "ask":
            ledger.study.enqueue_trial({"x": 0.125, "oil": "mineral"})
        writes.clear()
        fatal |= {*range(first, 100)} if killed else {first}
        before = [trial.number for trial in ledger.trials if kind_of(trial) == "asked"]
        try:
            if plan == "ask":
                by_hand.ask(ledger, 3)
            else:
                confirming.plan_runs(ledger, 3, "on-purpose")
        except KeyboardInterrupt:
            pending = [trial for trial in ledger.trials if kind_of(trial) == "asked"]
            assert all(set(trial.params) == {"x", "oil"} for trial in pending)
            assert killed or plan == "ask" or [each.number for each in pending] == before
        else:
            break
    assert 3 < first < 29


def test_a_full_disk_is_said_with_what_stays_pending(folder, monkeypatch):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    ledger = open_ledger(read_study("lab.toml"))
    storage, begun = ledger.database.storage, []
    create = storage.create_new_trial

    def full(*args, **kwargs):
        raise StorageError("the disk is full")

    def first_two(*args):
        begun.append(args)
        return full() if len(begun) > 2 else create(*args)

    monkeypatch.setattr(storage, "create_new_trial", first_two, raising=False)
    for name in ("set_trial_user_attr", "set_study_user_attr"):
        monkeypatch.setattr(storage, name, full, raising=False)
    with pytest.raises(StorageError, match=r"full\. Trials 0 to 1 had begun and may stay pending"):
        by_hand.ask(ledger, 4)
    assert [kind_of(trial) for trial in ledger.trials] == ["asked"] * 2


def test_who_asks_while_somebody_else_does_is_given_another_design(folder, monkeypatch):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    ledgers = [open_ledger(read_study("lab.toml")) for _ in range(2)]
    search, others = FileSampler.complete_designs, []

    def slow(self, numbers):
        found = search(self, numbers)
        if not others:
            others.append(())  # the search of the other one is quick
            others[:] = by_hand.ask(ledgers[1], 2)
        return found

    monkeypatch.setattr(FileSampler, "complete_designs", slow)
    own = by_hand.ask(ledgers[0], 3)
    assert len({tuple(each.params.values()) for each in (*own, *others)}) == 5
    assert [each.number for each in others] == [0, 1]
    assert [each.number for each in own] == [2, 3, 4]


def test_a_pending_trial_without_a_design_is_shown_and_can_be_ended(lab):
    ledger = open_ledger(read_study("lab.toml"))
    number = ledger.begin_trial({}, {BY_HAND: True})
    partly = ledger.begin_trial({"x": 0.5}, {BY_HAND: True})
    shown = typed("status", "lab.toml").stdout.splitlines()
    assert shown[0].endswith("5 pending")
    assert [line.split() for line in shown[5:]] == [["3", "asked"], ["4", "asked", "0.5"]]
    assert len(rows("lab.toml")) == 5
    for each, missing in (number, "x, oil are missing"), (partly, "oil is missing"):
        refused = typed("tell", "lab.toml", each, "0.5", "--set", "x=1", code=2).stderr
        assert f"trial {each} was interrupted before it had a design: {missing}" in refused
        assert f"`meseta tell lab.toml {each} --spoilt REASON` ends it" in refused
        typed("tell", "lab.toml", each, "--spoilt", "it has no design")
    assert "`meseta import` takes" in typed("tell", "lab.toml", partly, "1", code=2).stderr
    assert typed("status", "lab.toml").stdout.splitlines()[0].endswith("3 pending")


DAMAGE = {
    "a trial is lost": ("DELETE FROM trials WHERE number = 1", "trial 1 is missing"),
    "a number is there twice": ("UPDATE trials SET number = 0 WHERE number = 1", "there twice"),
    "no number": ("UPDATE trial_params SET param_value = 'abc' WHERE param_name = 'x'", "'x' of"),
    "no value": ("UPDATE trial_values SET value = 'abc'", "the value of trial 0 is 'abc'"),
    "no JSON": ("UPDATE trial_user_attributes SET value_json = '{'", "JSONDecodeError"),
    "another kind": ("UPDATE trial_user_attributes SET value_json = '5'", "TypeError"),
    "no direction": ("DELETE FROM study_directions", "IndexError"),
    "no state": ("UPDATE trials SET state = 'GONE'", "LookupError"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_study_is_refused_as_one(lab, damage):
    statement, says = DAMAGE[damage]
    typed("tell", "lab.toml", 0, "0.5", "--set", "x=1.25")
    with closing(sqlite3.connect("lab.db")) as connection:
        connection.execute(statement)
        connection.commit()
    content = Path("lab.db").read_bytes()
    for words in (["status"], ["window"], ["tolerances"], ["tell", 2, "0.5"], ["ask"]):
        refused = typed(words[0], "lab.toml", *words[1:], code=1).stderr
        assert "what is stored of the study 'lab' is damaged: " in refused
        assert says in refused
    assert Path("lab.db").read_bytes() == content


@pytest.mark.parametrize("stored", ['{"who": "A"}', '{"value": 0.5, "attributes": 5}', "5"])
def test_the_export_of_a_study_that_cannot_be_read_is_refused_as_that(lab, stored):
    typed("tell", "lab.toml", 0, "0.5", "--set", "x=1.25")
    with closing(sqlite3.connect("lab.db")) as connection:
        statement = "UPDATE trial_user_attributes SET value_json = ? WHERE key LIKE 'meseta:told:%'"
        connection.execute(statement, [stored])
        connection.commit()
    refused = typed("status", "lab.toml", "--csv", code=1).stderr
    assert "what is stored of the study 'lab' is damaged: " in refused


@pytest.mark.parametrize("part", ["who", "when"])
def test_a_correction_by_somebody_who_is_no_text_is_refused(lab, part):
    typed("tell", "lab.toml", 0, "0.5")
    typed("comment", "lab.toml", 0, "a remark")
    study = open_ledger(read_study("lab.toml")).study
    (key,) = (key for key in study.user_attrs if key.startswith(AMENDMENT))
    study.set_user_attr(key, {**study.user_attrs[key], part: {"a": 1}})
    assert "no amendment that is known here" in typed("status", "lab.toml", code=1).stderr


def test_designs_that_others_have_queued_come_first(folder):
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    ledger = open_ledger(read_study("lab.toml"))
    ledger.study.enqueue_trial({"x": 0.125, "oil": "mineral"})
    planned = by_hand.ask(ledger, 3)
    assert planned[0].params == {"x": 0.125, "oil": "mineral"}
    assert [each.number for each in planned] == [0, 1, 2]


def test_observed_parameters_are_not_asked_for_in_a_batch_either(folder):
    Path("lab.toml").write_text(LAB + OBSERVED, encoding="utf-8")
    ledger = open_ledger(read_study("lab.toml"))
    assert all(set(each.params) == {"x", "oil"} for each in by_hand.ask(ledger, 2))
    assert all(set(trial.params) == {"x", "oil", "wind"} for trial in ledger.trials)
