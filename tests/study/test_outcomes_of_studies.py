"""Several outcomes in study files, on the command line, and by programs."""

import csv
import io
import json
import sys

import pytest

from command_line import typed
from meseta.integrations.optuna.attributes import ERROR, OUTCOMES
from meseta.measures import AtLeast, AtMost, Between
from meseta.study.ledger import open_ledger
from meseta.study.toml.check import check
from meseta.study.toml.file import read_study
from meseta.study.toml.sentences import StudyError

PRESS = """
version = 1
[study]
budget = 20
direction = "maximize"
value = "strength"
outcomes = ["mass"]
num_initial = 6
kernel = "se"
[constraints.stress]
at_most = 1.0
probability = 0.9
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
"""


def press(folder, text=PRESS):
    (folder / "press.toml").write_text(text, encoding="utf-8")
    return folder / "press.toml"


def trials(path="press.toml"):
    return open_ledger(read_study(path), reading=True).trials


def test_a_file_says_its_constraints(folder):
    text = PRESS + (
        "[constraints.strain]\nat_least = 0.1\nat_most = 0.2\n"
        "[constraints.strength]\nat_least = 0.5\nprobability = 0.99\n"
    )
    settings = read_study(press(folder, text)).settings()
    assert settings.objective == "strength"
    assert settings.constraints == {
        "stress": AtMost(1.0, 0.9),
        "strain": Between(0.1, 0.2),
        "strength": AtLeast(0.5, 0.99),
    }
    assert settings.named_outcomes.names == ("stress", "strain", "mass")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("at_most = 1.0\n", ""), "constraints.stress must have at_most"),
        (("probability = 0.9", "probability = 90"), "write 0.9 for 90 %"),
        (("at_most = 1.0", 'at_most = "high"'), "constraints.stress.at_most"),
        (("at_most = 1.0", "at_most = 1.0\nat_least = 2.0"), "must run from low to high"),
        (("[constraints.stress]", "[constraints.x]"), "as is a parameter"),
        (("[constraints.stress]", "[constraints.trial]"), "a column of that name"),
        (("[constraints.stress]", '[constraints." a"]'), "must have a name such as 'stress'"),
        (('kernel = "se"', 'method = "nes-ep"'), "knows of one outcome only"),
        (('kernel = "se"', 'allowed = "y <= 1"'), "there is no number 'y'"),
        (('kernel = "se"', 'allowed = "x = 1"'), "must be an inequality"),
        (('kernel = "se"', 'allowed = "x <= -1"'), "no design is allowed"),
        (('kernel = "se"', "allowed = 3"), "study.allowed"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(folder, change, words):
    path = press(folder, PRESS.replace(*change))
    with pytest.raises(StudyError) as error:
        check(read_study(path))
    assert words in str(error.value)


def test_outcomes_are_told_by_name(folder):
    press(folder)
    typed("ask", "press.toml", "-n", "6")
    typed("tell", "press.toml", "0", "strength=0.8", "stress=0.5", "mass=2")
    typed("tell", "press.toml", "1", "0.9", "stress=-0.5")
    typed("tell", "press.toml", "2", "value=0.7", "stress=failed")
    typed("tell", "press.toml", "3", "stress=1.4", "--failed", "balance broken")
    told = [trial.user_attrs.get(OUTCOMES, {}) for trial in trials()]
    assert told[:4] == [{"stress": 0.5, "mass": 2.0}, {"stress": -0.5}, {}, {"stress": 1.4}]
    assert [trial.value for trial in trials()][:4] == [0.8, 0.9, 0.7, None]
    shown = typed("status", "press.toml").output
    assert "stress" in shown
    assert "mass" in shown
    rows = list(csv.DictReader(io.StringIO(typed("status", "press.toml", "--csv").output)))
    assert rows[0]["stress"] == "0.5"
    assert rows[3]["stress"] == "1.4"
    data = json.loads(typed("status", "press.toml", "--json").output)
    assert data["trials"][0]["outcomes"] == {"stress": 0.5, "mass": 2.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.8"], "trial 0 has no 'stress', which has a constraint; say stress=VALUE"),
        (["stress=1"], "trial 0 has no 'strength'; give one, or say --failed REASON"),
        (["0.8", "stres=1"], "there is no outcome 'stres' (did you mean 'stress'?)"),
        (["0.8", "stress=high"], "'stress' of trial 0 must be a finite number"),
        (["0.8", "stress=nan"], "'stress' of trial 0 must be a finite number"),
        (["0.8", "0.9", "stress=1"], "there are two values, '0.8' and '0.9'"),
        (["0.8", "stress=1", "stress=2"], "'stress' is told twice"),
        (["strength=failed", "stress=x"], "must be a finite number"),
    ],
)
def test_what_is_mistyped_is_refused_and_nothing_is_stored(folder, words, message):
    press(folder)
    typed("ask", "press.toml")
    refused = typed("tell", "press.toml", "0", *words, code=2)
    assert message in refused.stderr
    assert not trials()[0].state.is_finished()
    assert not trials()[0].user_attrs.get(OUTCOMES)


def test_tables_have_a_column_for_each_outcome(folder):
    press(folder)
    table = typed("ask", "press.toml", "-n", "3", "--csv").output
    assert table.splitlines()[0] == "trial,x,strength,stress,mass"
    header, *filled = [line.rstrip(",") for line in table.splitlines()]
    cells = ("0.5,0.8,1", "0.6,failed,", "0.7,failed,3")
    lines = [f"{line},{each}" for line, each in zip(filled, cells, strict=True)]
    told = "\n".join([header, *lines])
    (folder / "told.csv").write_text(told)
    assert "3 stored" in typed("tell", "press.toml", "--csv", "told.csv").output
    assert [t.user_attrs.get(OUTCOMES, {}) for t in trials()] == [
        {"stress": 0.8, "mass": 1.0},
        {},
        {"mass": 3.0},
    ]
    again = typed("tell", "press.toml", "--csv", "told.csv")
    assert "3 rows had been told before" in again.stderr
    (folder / "told.csv").write_text(told.replace("0.5,0.8,1", "0.5,0.9,1"))
    refused = typed("tell", "press.toml", "--csv", "told.csv", code=2)
    assert "already has the value 0.5, stress = 0.8, mass = 1.0" in refused.stderr


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,0.7,", "trial 0 has no 'stress', which has a constraint"),
        ("0,,0.44", "trial 0 has no 'strength'; give one, or say --failed REASON"),
        ("0,0.7,nan", "say failed in its place if it is not known"),
    ],
)
def test_a_row_that_lacks_an_outcome_is_refused_as_on_the_command_line(folder, row, message):
    press(folder)
    typed("ask", "press.toml")
    (folder / "told.csv").write_text(f"trial,value,stress\n{row}\n")
    assert message in typed("tell", "press.toml", "--csv", "told.csv", code=2).stderr


def test_outcomes_that_the_file_does_not_name_any_more_are_told_about(folder):
    press(folder)
    typed("ask", "press.toml", "-n", "3")
    for number in range(3):
        typed("tell", "press.toml", number, f"0.{number}", "stress=0.5")
    press(folder, PRESS.replace("[constraints.stress]", "[constraints.sigma]"))
    shown = typed("recommend", "press.toml").output
    assert "3 trials have an outcome 'stress', which is neither named nor constrained" in shown


def test_an_export_is_imported_as_it_was(folder):
    press(folder)
    typed("ask", "press.toml", "-n", "3")
    typed("tell", "press.toml", "0", "0.8", "stress=0.5")
    typed("tell", "press.toml", "1", "stress=0.4", "--failed", "cracked")
    (folder / "all.csv").write_text(typed("status", "press.toml", "--csv").output)
    (folder / "other.toml").write_text(PRESS, encoding="utf-8")
    typed("import", "other.toml", "all.csv")
    assert [t.user_attrs.get(OUTCOMES) for t in trials("other.toml")] == [
        {"stress": 0.5},
        {"stress": 0.4},
    ]
    assert "had been there already" in typed("import", "other.toml", "all.csv").stderr


OBJECTIVE = """
def f(p):
    x = p["x"]
    if 0.4 < x < 0.6:
        return {"strength": None, "stress": 2 * x, "mass": 1.0}
    return {"strength": x, "stress": 2 * x, "mass": None, "colour": "red"}
"""


@pytest.mark.parametrize("timeout", ["", "timeout = 30\n"])
def test_a_function_gives_all_outcomes(folder, timeout):
    (folder / "model.py").write_text(OBJECTIVE)
    press(folder, PRESS + f'[objective]\npython = "model:f"\n{timeout}')
    typed("run", "press.toml", "--trials", "9", "--quiet")
    for trial in trials():
        x = trial.params["x"]
        said = trial.user_attrs[OUTCOMES]
        assert said["stress"] == pytest.approx(2 * x)
        assert (trial.value is None) == (0.4 < x < 0.6)
        assert ("mass" in said) == (0.4 < x < 0.6)
    answer = json.loads(typed("recommend", "press.toml", "--json").output)["recommendation"]
    robust = answer["robust"]
    assert robust["params"]["x"] == pytest.approx(0.5 - 1.2816 * 0.05, abs=0.02)
    assert robust["feasible"]
    assert robust["constraints"]["stress"]["probability"] == 0.9
    shown = typed("recommend", "press.toml").output
    assert "stress at most 1: kept in" in shown
    if not timeout:
        typed("report", "press.toml")
        page = (folder / "press.html").read_text(encoding="utf-8")
        assert "How often constraints are kept in use" in page


def test_a_program_gives_all_outcomes(folder):
    program = folder / "simulate.py"
    program.write_text(
        "import json, sys\nx = float(sys.argv[1])\n"
        'print(json.dumps({"strength": x, "stress": 2 * x, "mass": None}))\n'
    )
    command = json.dumps([sys.executable, "simulate.py", "{x}"])
    press(folder, PRESS + f"[objective]\ncommand = {command}\n")
    typed("run", "press.toml", "--trials", "3", "--quiet")
    assert all(t.user_attrs[OUTCOMES] == {"stress": 2 * t.value} for t in trials())


@pytest.mark.parametrize("body", ["return 1.0", 'return {"value": 1.0, "strain": 2.0}'])
def test_an_outcome_that_never_comes_stops_the_study(folder, body):
    (folder / "model.py").write_text(f"def f(p):\n    {body}\n")
    press(folder, PRESS + '[objective]\npython = "model:f"\n')
    refused = typed("run", "press.toml", "--quiet", code=1)
    assert "there is a constraint on 'stress'" in refused.stderr
    assert not any(trial.value for trial in trials())


def test_an_outcome_that_is_text_is_left_out_and_told_about(folder):
    (folder / "model.py").write_text(
        'def f(p):\n    return {"strength": p["x"], "stress": "high", "mass": 1}\n'
    )
    press(folder, PRESS + '[objective]\npython = "model:f"\n')
    typed("run", "press.toml", "--trials", "2", "--quiet")
    for trial in trials():
        assert trial.value == trial.params["x"]
        assert trial.user_attrs[OUTCOMES] == {"mass": 1.0}
        assert "'stress' of the result of model:f must be a number" in trial.user_attrs[ERROR]
    assert "trial 0 lacks an outcome: 'stress' of" in typed("status", "press.toml").output
    rows = list(csv.DictReader(io.StringIO(typed("status", "press.toml", "--csv").output)))
    assert [row["failed"] for row in rows] == ["", ""]


def test_a_function_of_an_older_study_may_return_its_value_twice(folder):
    (folder / "model.py").write_text('def f(p):\n    return {"value": p["x"], "strength": 1}\n')
    old = PRESS.replace("[constraints.stress]\nat_most = 1.0\nprobability = 0.9\n", "")
    press(folder, old + '[objective]\npython = "model:f"\n')
    typed("run", "press.toml", "--trials", "2", "--quiet")
    assert all(trial.value == trial.params["x"] for trial in trials())


def test_rules_of_a_file_are_kept(folder):
    text = PRESS.replace('kernel = "se"', 'kernel = "se"\nallowed = ["x + y <= 0.6"]')
    press(folder, text + "[parameters.y]\nlow = 0.0\nhigh = 1.0\n")
    rows = list(csv.DictReader(io.StringIO(typed("ask", "press.toml", "-n", "6", "--csv").output)))
    assert all(float(row["x"]) + float(row["y"]) <= 0.6 + 1e-9 for row in rows)
