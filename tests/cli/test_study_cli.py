"""The commands of a study: for people at a lab bench, for scripts, and for mistakes."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

from command_line import typed
from meseta.integrations.optuna import EXECUTED
from meseta.integrations.optuna.attributes import UNASKED
from meseta.study.ledger import FORMAT, NEWEST, open_ledger
from meseta.study.progress import progress
from meseta.study.show import table
from meseta.study.toml.file import read_study

LAB = """
version = 1
[study]
budget = 12
method = "sobol"
[parameters.x]
low = 0.0
high = 2.0
unit = "ml"
noise = "5 %"
[parameters.oil]
choices = ["mineral", "synthetic"]
"""
SIMULATED = """
version = 1
[study]
budget = 6
method = "sobol"
[objective]
python = "model:f"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
"""


def test_a_template_is_written_once(folder):
    assert "press.toml is written" in typed("init", "press.toml").output
    before = (folder / "press.toml").read_text()
    assert read_study(folder / "press.toml").name == "press"
    refused = typed("init", "press.toml", code=2)
    assert "left as it is" in refused.stderr
    assert (folder / "press.toml").read_text() == before
    typed("init", "other")
    assert (folder / "other.toml").exists()


@pytest.mark.parametrize("path", [".", "", "/"])
def test_a_template_needs_the_name_of_a_file(folder, path):
    assert "is a folder; name the file" in typed("init", path, code=2).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is full")
@pytest.mark.parametrize("words", [["status"], ["status", "--csv"], ["tell", "0", "0.5"]])
def test_output_that_cannot_be_written_is_said(folder, words):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    line = [sys.executable, "-m", "meseta.cli", words[0], "lab.toml", *words[1:]]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith("meseta: what this command says cannot be written: No space left")
    assert "what it stored is kept" in said
    state = json.loads(typed("status", "lab.toml", "--json").stdout)
    assert state["complete"] == (words[0] == "tell")


@pytest.mark.parametrize("command", ["ask", "status"])
def test_a_table_has_one_form_and_csv_is_printed(folder, command):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    both = typed(command, "lab.toml", "--csv", "--xlsx", "all.xlsx", code=2)
    assert "--csv and --xlsx do not go together" in both.stderr
    assert not (folder / "all.xlsx").exists()
    named = typed(command, "lab.toml", "--csv", "next.csv", code=2)
    assert f"{command} ... --csv > next.csv" in named.stderr
    assert json.loads(typed("status", "lab.toml", "--json").stdout)["asked"] == 1


def test_status_shows_how_good_values_are_where_there_is_room(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml", "-n", 2)
    typed("tell", "lab.toml", 0, "0.5", "--std", "0", "--n", 3)
    assert re.search(r"value +std +n\n.*0.5 +0 +3\n", typed("status", "lab.toml").stdout)
    assert ",std,n," in typed("status", "lab.toml", "--csv").stdout
    long = LAB.replace('"ml"', f'"{"m" * 40}"')
    (folder / "lab.toml").write_text(long)
    said = typed("status", "lab.toml").stdout
    assert "not shown: std, n; `meseta status lab.toml --csv` has them" in said
    assert "value\n" in said


def test_a_day_at_the_bench(folder):
    (folder / "lab.toml").write_text(LAB)
    table = typed("ask", "lab.toml", "-n", 4).output
    assert table.splitlines()[0].split() == ["trial", "x", "[ml]", "oil"]
    assert len(table.splitlines()) == 5
    assert all(len(line) <= 80 for line in table.splitlines())
    more = list(csv.DictReader(io.StringIO(typed("ask", "lab.toml", "--csv").output)))
    assert list(more[0]) == ["trial", "x [ml]", "oil", "value"]
    assert more[0]["trial"] == "4"

    assert "1 of 12 done, 4 pending" in typed("tell", "lab.toml", 0, "0.82").output
    typed("tell", "lab.toml", 1, "0.4", "--set", "x=1.25")
    typed("tell", "lab.toml", 2, "--failed", "spilled")
    (folder / "results.csv").write_text("trial;x;value\n3;0.5;0.9\n4;;\n")
    assert "stored" in typed("tell", "lab.toml", "--csv", "results.csv").output
    status = json.loads(typed("status", "lab.toml", "--json").output)
    assert (status["complete"], status["failed"], status["asked"], status["left"]) == (3, 1, 1, 7)
    by_number = {trial["trial"]: trial for trial in status["trials"]}
    assert by_number[1]["params"]["x"] == 1.25
    assert by_number[3]["params"]["x"] == 0.5
    assert by_number[2]["error"] == "spilled"
    assert by_number[4]["value"] is None
    text = typed("status", "lab.toml").output
    assert "trial 2 failed: spilled" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    rows = list(csv.DictReader(io.StringIO(typed("status", "lab.toml", "--csv").output)))
    assert rows[3]["value"] == "0.9"
    best = json.loads(typed("recommend", "lab.toml", "--json").output)
    assert set(best["recommendation"]["robust"]["params"]) == {"x", "oil"}
    assert "robust optimum" in typed("recommend", "lab.toml").output


def test_without_a_budget_only_what_is_done_is_said(folder):
    (folder / "lab.toml").write_text(LAB.replace("budget = 12\n", ""))
    typed("ask", "lab.toml")
    assert "lab: maximize, 1 done\n" in typed("tell", "lab.toml", 0, "0.8").output


def test_executed_values_are_what_the_model_gets(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    typed("tell", "lab.toml", 0, "1e3", "--set", "x=0.125", "--set", "oil=mineral")
    (trial,) = open_ledger(read_study("lab.toml")).trials
    assert trial.value == 1000
    assert trial.user_attrs[EXECUTED]["x"] == 0.125


def test_history_is_taken_over_once(folder):
    (folder / "lab.toml").write_text(LAB)
    text = (
        "x,oil,yield\n2.5,mineral,0.1\n0.3,synthetic,0.4\n0.3,synthetic,0.4\n0.7,mineral,failed\n"
    )
    (folder / "old.csv").write_text(text)
    command = ("import", "lab.toml", "old.csv", "--value", "yield")
    assert "4 stored" in typed(*command).output
    again = typed(*command)
    assert "0 stored" in again.output
    assert "4 rows had been there already" in again.stderr
    trials = open_ledger(read_study("lab.toml")).trials
    assert [trial.value for trial in trials] == [0.1, 0.4, 0.4, None]
    assert trials[0].params["x"] == 2.0  # the nearest design
    assert trials[0].user_attrs[EXECUTED] == {"x": 2.5}  # what was done
    assert EXECUTED not in trials[1].user_attrs
    assert trials[1].user_attrs[UNASKED]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tell", "lab.toml", 7, "1"], "there is no trial 7. Pending trials: 0, 1."),
        (["tell", "lab.toml", 0, "much"], "must be a finite number"),
        (["tell", "lab.toml", 0, "inf"], "must be a finite number"),
        (["tell", "lab.toml", 0], "has no value"),
        (["tell", "lab.toml", 0, "1", "--set", "y=2"], "there is no parameter 'y'"),
        (["tell", "lab.toml", 0, "1", "--set", "oil=olive"], "there is no choice 'olive'"),
        (["tell", "lab.toml", 0, "1", "--set", "x"], "NAME=VALUE"),
        (["tell", "lab.toml"], "by its number and value"),
        (["tell", "lab.toml", "--csv", "none.csv"], "cannot be read"),
        (["tell", "lab.toml", "--csv", "bad.csv"], "bad.csv:3: .* finite number"),
        (["tell", "lab.toml", "--csv", "twice.csv"], "twice.csv:3: trial 0 is told twice"),
        (["tell", "lab.toml", "--csv", "column.csv"], "there is no column 'valu'"),
        (
            ["import", "lab.toml", "bad.csv"],
            "bad.csv:1 has no column 'x' or 'oil', but 'trial', 'value'; known are",
        ),
        (["run", "lab.toml"], "has no .objective."),
        (["ask", "nowhere.toml"], "there is no such file"),
        (["ask", "broken.toml"], r"broken.toml:5: parameters.x.high must be greater than low"),
        (["ask", "law.toml"], r"law.toml:\d+: .*noise"),
    ],
)
def test_mistakes_are_refused_before_anything_is_stored(folder, words, message):
    (folder / "lab.toml").write_text(LAB)
    (folder / "broken.toml").write_text("version = 1\n\n[parameters.x]\nlow = 1.0\nhigh = 0.0\n")
    (folder / "law.toml").write_text('[parameters.x]\nlow = 0.0\nhigh = 1.0\nnoise = "wide"\n')
    (folder / "bad.csv").write_text("trial,value\n0,1.0\n1,high\n")
    (folder / "twice.csv").write_text("trial,value\n0,1.0\n0,2.0\n")
    (folder / "column.csv").write_text("trial,valu\n0,1.0\n")
    typed("ask", "lab.toml", "-n", 2)
    refused = typed(*words, code=2)
    assert refused.stderr.startswith("meseta: ")
    assert re.search(message, refused.stderr), refused.stderr
    now = progress(open_ledger(read_study("lab.toml")).trials, 12)
    assert (now.asked, now.complete, now.failed) == (2, 0, 0)


def test_trials_can_be_taken_over_from_another_study(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml", "-n", 3)
    typed("tell", "lab.toml", 0, "1.5", "--set", "x=0.25")
    typed("tell", "lab.toml", 1, "--failed", "spilled")
    (folder / "trials.csv").write_text(typed("status", "lab.toml", "--csv").output)
    (folder / "wider.toml").write_text(LAB.replace("high = 2.0", "high = 3.0"))
    assert "2 stored" in typed("import", "wider.toml", "trials.csv").output
    status = json.loads(typed("status", "wider.toml", "--json").output)
    assert [trial["value"] for trial in status["trials"]] == [1.5, None]
    assert status["trials"][0]["params"]["x"] == 0.25


OBSERVED = """
[parameters.wind]
low = 0.0
high = 10.0
noise = { law = "uniform", half_width = 2.0, mean = 5.0, observed = true }
"""


def test_what_is_observed_must_be_told(folder):
    (folder / "lab.toml").write_text(LAB + OBSERVED)
    assert "wind" not in typed("ask", "lab.toml").output
    refused = typed("tell", "lab.toml", 0, "1.0", code=2)
    assert "'wind' is observed" in refused.stderr
    typed("tell", "lab.toml", 0, "1.0", "--set", "wind=4.5")
    (folder / "sim.toml").write_text(SIMULATED + OBSERVED)
    (folder / "model.py").write_text(
        "def f(p):\n    executed = {'wind': 4.0} if p['x'] < 0.5 else {'wnid': 4.0}\n"
        "    return {'value': p['x'], 'executed': executed}\n"
    )
    typed("run", "sim.toml")
    status = json.loads(typed("status", "sim.toml", "--json").output)
    assert status["complete"] > 0
    assert status["failed"] > 0
    assert all("wind" in t["error"] for t in status["trials"] if t["state"] == "failed")
    assert (
        "wind"
        not in json.loads(typed("recommend", "sim.toml", "--json").output)["recommendation"][
            "robust"
        ]["params"]
    )


def test_a_trial_is_told_once(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    typed("tell", "lab.toml", 0, "1.5")
    refused = typed("tell", "lab.toml", 0, "2.5", code=2)
    assert "already has the value 1.5. No trial is pending." in refused.stderr


def test_nothing_to_recommend_yet_has_a_code_of_its_own(folder):
    (folder / "lab.toml").write_text(LAB)
    assert "no study 'lab' yet" in typed("recommend", "lab.toml", code=1).stderr
    typed("ask", "lab.toml")
    assert "no value yet" in typed("recommend", "lab.toml", code=3).stderr


def test_a_run_stops_at_the_budget_and_goes_on(folder):
    (folder / "sim.toml").write_text(SIMULATED)
    (folder / "model.py").write_text("def f(p):\n    return -(p['x'] - 0.3) ** 2\n")
    assert "2 of 6 done" in typed("run", "sim.toml", "--trials", 2).output
    assert "6 of 6 done" in typed("run", "sim.toml").output
    result = json.loads(typed("run", "sim.toml", "--json").output)
    assert result["complete"] == 6
    assert result["recommendation"]["robust"]["std"] > 0


def test_failed_evaluations_count_and_say_why(folder):
    (folder / "sim.toml").write_text(SIMULATED)
    (folder / "model.py").write_text("def f(p):\n    return 1 / (p['x'] > 0.5)\n")
    typed("run", "sim.toml")
    status = json.loads(typed("status", "sim.toml", "--json").output)
    assert status["complete"] + status["failed"] == 6
    assert status["failed"] > 0
    errors = [trial["error"] for trial in status["trials"] if trial["state"] == "failed"]
    assert all("ZeroDivisionError" in error for error in errors)


def test_a_command_is_an_objective(folder):
    program = folder / "simulate"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\np = json.load(sys.stdin)\n"
        'print(json.dumps({"value": -p["x"], "executed": {"x": p["x"] + 0.01}}))\n'
    )
    program.chmod(0o755)
    text = SIMULATED.replace(
        'python = "model:f"', 'command = ["./simulate"]\ninput = "json"\noutput = "json"'
    )
    (folder / "sim.toml").write_text(text)
    typed("run", "sim.toml", "--trials", 2)
    for trial in open_ledger(read_study("sim.toml")).trials:
        assert trial.user_attrs[EXECUTED]["x"] == pytest.approx(trial.params["x"] + 0.01)


def test_another_study_of_that_name_is_refused(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    before = (folder / "lab.db").read_bytes()
    (folder / "lab.toml").write_text(LAB.replace("high = 2.0", "high = 3.0"))
    for words in (["ask", "lab.toml"], ["status", "lab.toml"], ["recommend", "lab.toml"]):
        assert "has other parameters" in typed(*words, code=1).stderr
    (folder / "lab.toml").write_text(LAB.replace("budget", 'direction = "minimize"\nbudget'))
    assert "is one to maximize" in typed("ask", "lab.toml", code=1).stderr
    assert (folder / "lab.db").read_bytes() == before


def test_a_newer_database_is_refused(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    open_ledger(read_study("lab.toml")).study.set_user_attr(FORMAT, NEWEST + 1)
    assert "newer version of meseta" in typed("ask", "lab.toml", code=1).stderr


def test_a_file_that_is_no_database_is_left_alone(folder):
    (folder / "lab.toml").write_text(LAB)
    (folder / "lab.db").write_text("my notes, do not touch")
    assert "lab.db cannot be used" in typed("ask", "lab.toml", code=1).stderr
    assert (folder / "lab.db").read_text() == "my notes, do not touch"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(folder):
    (folder / "lab.toml").write_text(LAB)
    folder.chmod(0o555)
    try:
        assert "may be written to" in typed("ask", "lab.toml", code=1).stderr
    finally:
        folder.chmod(0o755)


def test_a_missing_folder_of_the_storage_is_refused(folder):
    (folder / "lab.toml").write_text(LAB.replace("budget", 'storage = "gone/lab.db"\nbudget'))
    assert "may be written to" in typed("ask", "lab.toml", code=1).stderr


def test_wide_tables_become_blocks(folder):
    many = "".join(f"[parameters.quite_a_long_name_{i}]\nlow = 0.0\nhigh = 1.0\n" for i in range(8))
    (folder / "wide.toml").write_text(f'[study]\nmethod = "sobol"\n{many}')
    lines = typed("ask", "wide.toml", "-n", 2).output.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert sum(line.startswith("trial ") for line in lines) == 2


def test_help_needs_no_torch():
    code = (
        "import sys\nfrom meseta.cli import app\n"
        "assert not {'torch', 'optuna', 'pandas', 'scipy'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_optuna_study_can_be_read_by_optuna(folder):
    """The storage is an ordinary one."""
    (folder / "sim.toml").write_text(SIMULATED)
    (folder / "model.py").write_text("def f(p):\n    return p['x']\n")
    typed("run", "sim.toml")
    study = optuna.load_study(study_name="sim", storage=f"sqlite:///{Path('sim.db').absolute()}")
    assert study.best_value == max(trial.value for trial in study.trials)


def test_a_spoilt_experiment_does_not_count_and_may_be_asked_for_again(folder):
    text = "[study]\nbudget = 3\n[parameters.x]\nlow = 0.0\nhigh = 1.0\n"
    Path("lab.toml").write_text(text, encoding="utf-8")
    (asked,) = json.loads(typed("ask", "lab.toml", "--json").stdout)
    typed("tell", "lab.toml", "0", "--spoilt", "the stirrer stopped")
    told = json.loads(typed("status", "lab.toml", "--json").stdout)
    assert (told["complete"], told["failed"]) == (0, 0)
    (again,) = json.loads(typed("ask", "lab.toml", "--json").stdout)
    assert (again["trial"], again["params"]) == (1, asked["params"])
    typed("tell", "lab.toml", "0", "--spoilt", "again", code=2)
    typed("tell", "lab.toml", "1", "0.5", "--spoilt", "no", code=2)


def test_status_and_tell_need_no_torch(folder):
    """Nobody waits seconds for libraries that a value is not stored by."""
    (folder / "lab.toml").write_text(LAB + OBSERVED)
    typed("ask", "lab.toml", "-n", 2)
    (folder / "told.csv").write_text("trial,value,wind\n1,0.5,4.0\n")
    code = (
        "import sys\nfrom meseta.cli import app\n"
        "for line in sys.argv[1:]:\n"
        "    app(line.split(), standalone_mode=False)\n"
        "    assert 'torch' not in sys.modules, line\n"
    )
    lines = (
        "status lab.toml",
        "tell lab.toml 0 0.8 --set wind=4.5",
        "tell lab.toml --csv told.csv",
        "status lab.toml --csv",
        "status lab.toml --json",
    )
    done = subprocess.run([sys.executable, "-c", code, *lines], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [trial.value for trial in open_ledger(read_study("lab.toml")).trials] == [0.8, 0.5]


GAUGED = """
[study]
measure = "yield 0.4 inf"
SCATTER
[parameters.x]
low = 0.0
high = 1.0
noise = 0.02
"""
UNTOLD = "scatter and structure cannot be told apart"


def told_by_table(places):
    rows = [f"{x},{0.5 + 0.1 * (-1) ** i}" for i, x in enumerate(places)]
    Path("told.csv").write_text("\n".join(["x,value", *rows]), encoding="utf-8")
    typed("import", "lab.toml", "told.csv")


def test_status_says_where_scatter_and_structure_cannot_be_told_apart(folder):
    """Quickly: without torch."""
    Path("lab.toml").write_text(GAUGED.replace("SCATTER", ""), encoding="utf-8")
    told_by_table([0.1, 0.3, 0.5, 0.7])
    assert UNTOLD not in typed("status", "lab.toml").output
    told_by_table([0.9])
    code = (
        "import sys\nfrom meseta.cli import app\n"
        "app(['status', 'lab.toml'], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert UNTOLD in done.stdout
    assert UNTOLD in typed("recommend", "lab.toml").output
    typed("report", "lab.toml", "-o", "lab.html")
    assert UNTOLD in Path("lab.html").read_text(encoding="utf-8")
    known = GAUGED.replace("SCATTER", "noise_variance = 0.0")
    Path("lab.toml").write_text(known, encoding="utf-8")
    assert UNTOLD not in typed("status", "lab.toml").output
    Path("lab.toml").write_text(GAUGED.replace("SCATTER", ""), encoding="utf-8")
    told_by_table([0.315])
    assert UNTOLD not in typed("status", "lab.toml").output


def test_a_study_says_which_scatter_its_parts_have(folder):
    """The trials know nothing of it: it may be said, and changed, at any time."""
    noise = "noise_variance = 0.01\n"
    Path("lab.toml").write_text(GAUGED.replace("SCATTER", noise), encoding="utf-8")
    told_by_table([0.1, 0.3, 0.5, 0.7, 0.9])
    found = {}
    for scatter in ("", '"all"', "0.06", '"none"', "{ value = 0.06 }"):
        said = noise + (f"scatter_in_use = {scatter}" if scatter else "")
        Path("lab.toml").write_text(GAUGED.replace("SCATTER", said), encoding="utf-8")
        told = json.loads(typed("recommend", "lab.toml", "--json").stdout)
        found[scatter] = told["recommendation"]
    assert found[""] == found['"all"']
    assert found[""]["scatter_in_use"] == "all"
    assert found[""]["robust"]["scatter"] == "with the scatter of single values, 0.1"
    assert found["0.06"]["robust"] == found["{ value = 0.06 }"]["robust"]
    assert found["0.06"]["scatter_in_use"] == 0.06
    assert "beyond that of the gauge, 0.08 of 0.1" in found["0.06"]["robust"]["scatter"]
    assert "error of the gauge" in found['"none"']["robust"]["scatter"]
    assert "0.08 of 0.1" in typed("recommend", "lab.toml").output


def test_asking_and_recommending_need_no_botorch():
    code = (
        "import sys, meseta\n"
        "o = meseta.Optimizer({'x': (0.0, 1.0)}, noise=meseta.Normal(0.1), num_initial=2)\n"
        "for _ in range(3):\n"
        "    p = o.ask()\n"
        "    o.tell(p, p['x'])\n"
        "o.recommend()\n"
        "assert not {'botorch', 'gpytorch', 'linear_operator', 'pandas'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_mistake_in_the_noise_does_not_keep_results_away(folder):
    """Status and tell need no model, so that they look at ranges and names only."""
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    (folder / "lab.toml").write_text(LAB.replace('"5 %"', '{ law = "normal", std = -1.0 }'))
    assert "std" in typed("ask", "lab.toml", code=2).stderr
    typed("tell", "lab.toml", 0, "0.8")
    assert "1 of 12 done" in typed("status", "lab.toml").output
    (folder / "lab.toml").write_text(LAB + "[parameters.failed]\nlow = 0.0\nhigh = 1.0\n")
    assert "named 'failed'" in typed("status", "lab.toml", code=2).stderr


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_table_fits_the_terminal_and_nothing_is_cut_off(monkeypatch):
    header, rows = ["trial", "[red]", "名前"], [[0, 0.1, "x" * 90], [1, None, "水"]]
    whole = table(header, rows)  # to a pipe: one block for each row
    assert "x" * 90 in whole
    assert whole.count("[red]") == 2
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "120")
    first, second, third = table(header, rows).splitlines()
    assert first.split() == header
    assert second.split() == ["0", "0.1", "x" * 90]
    assert third == f"    1{'':>9}{'':>88}水"  # which is two columns wide
    monkeypatch.setenv("COLUMNS", "20")
    assert table(["a", "b"], [["x" * 10, "y" * 10]]).splitlines() == [
        "a  " + "x" * 10,
        "b  " + "y" * 10,
    ]
    assert len(table(["a", "b"], [["x" * 9, "y" * 9]]).splitlines()) == 2
