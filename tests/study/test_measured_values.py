"""Which values of a study count as measured, whoever tells them and how."""

import csv
import io
import json
from pathlib import Path

import pytest

from command_line import typed
from meseta.integrations.optuna.attributes import EXECUTED, UNMEASURED
from meseta.study.answer import answer_of
from meseta.study.ledger import open_ledger
from meseta.study.toml.file import read_study

LAB = """
version = 1
[study]
method = "sobol"
[parameters.x]
low = 0.0
high = 2.0
noise = 0.05
[parameters.load]
low = 0.0
high = 1.0
noise = { law = "normal", std = 0.1, mean = 0.5, environment = true }
"""


@pytest.fixture
def asked(folder):
    """The trials of a study, as `ask --csv` prints them."""
    (folder / "lab.toml").write_text(LAB)
    return list(csv.DictReader(io.StringIO(typed("ask", "lab.toml", "-n", 4, "--csv").output)))


def pairs():
    answer = answer_of(open_ledger(read_study("lab.toml"), reading=True))
    table = answer.optimizer.deviations
    return dict(zip(table["parameter"], table["pairs"], strict=True))


def test_a_value_that_is_set_on_the_command_line_counts_also_where_it_equals_the_plan(asked):
    typed("tell", "lab.toml", 0, "1.0", "--set", f"x={asked[0]['x']}")
    typed("tell", "lab.toml", 1, "1.0")
    assert pairs() == {"x": 1}
    trials = open_ledger(read_study("lab.toml")).trials
    assert trials[0].user_attrs[EXECUTED] == {"x": float(asked[0]["x"])}
    typed("tell", "lab.toml", 2, "--failed", "cracked", "--set", "x=0.123")
    assert pairs() == {"x": 2}


@pytest.mark.parametrize(
    ("cell", "counts"),
    [
        (lambda x: x, False),  # as `ask` printed it
        (lambda x: "", False),
        (lambda x: f"{float(x):.3f}", False),  # as a spreadsheet rounds it
        (lambda x: f"{float(x):.2e}", False),
        (lambda x: f"{float(x) + 0.01:.4f}", True),
    ],
)
def test_a_cell_counts_if_it_was_changed(folder, asked, cell, counts):
    text = f"trial;x;load;value\n0;{cell(asked[0]['x'])};{asked[0]['load']};0.5\n"
    (folder / "results.csv").write_text(text)
    typed("tell", "lab.toml", "--csv", "results.csv")
    assert pairs() == {"x": int(counts)}
    assert "1 row had been told before" in typed("tell", "lab.toml", "--csv", "results.csv").stderr


def test_the_model_learns_from_a_rounded_cell_all_the_same(folder, asked):
    rounded = f"{float(asked[0]['x']):.2f}"
    (folder / "results.csv").write_text(f"trial,x,value\n0,{rounded},0.5\n")
    typed("tell", "lab.toml", "--csv", "results.csv")
    trial = open_ledger(read_study("lab.toml")).trials[0]
    assert trial.user_attrs[EXECUTED] == {"x": float(rounded)}
    assert trial.user_attrs[UNMEASURED] == ["x"]
    (learnt, *_) = answer_of(open_ledger(read_study("lab.toml"))).optimizer.trials
    assert learnt.params["x"] == float(rounded)
    assert learnt.measured == ()


def test_a_row_that_was_told_by_hand_before_is_the_same_row(folder, asked):
    typed("tell", "lab.toml", 0, "0.5", "--set", f"x={asked[0]['x']}")
    (folder / "results.csv").write_text(f"trial,x,value\n0,{asked[0]['x']},0.5\n")
    assert "1 row had been told before" in typed("tell", "lab.toml", "--csv", "results.csv").stderr
    assert pairs() == {"x": 1}


def test_imported_rows_have_no_plan(folder, asked):
    (folder / "old.csv").write_text("x,load,value\n2.5,0.5,0.1\n0.3,0.4,0.2\n")
    typed("import", "lab.toml", "old.csv")
    assert pairs() == {"x": 0}
    answer = answer_of(open_ledger(read_study("lab.toml")))
    imported = [t for t in answer.optimizer.trials if t.state == "complete"]
    assert [t.planned for t in imported] == [None, None]
    assert not any(t.asked for t in imported)


def test_an_outcome_of_a_trial_that_was_given_up_keeps_its_pair(folder, asked):
    typed("tell", "lab.toml", 0, "--spoilt", "power cut")
    typed("tell", "lab.toml", 0, "0.5", "--set", "x=0.25")
    assert pairs() == {"x": 1}


def test_corrections_and_withdrawals_are_followed(asked):
    (x, y) = (float(asked[i]["x"]) for i in (0, 1))
    Path("results.csv").write_text(f"trial,x,value\n0,{x:.2f},0.5\n1,{y + 0.01:.4f},0.5\n")
    typed("tell", "lab.toml", "--csv", "results.csv")
    assert pairs() == {"x": 1}
    typed("correct", "lab.toml", 0, "--set", f"x={x:.2f}1", "--why", "measured it")
    assert pairs() == {"x": 2}
    typed("correct", "lab.toml", 1, "--executed", "unseen", "--why", "nobody looked")
    assert pairs() == {"x": 1}
    typed("withdraw", "lab.toml", 0, "--why", "wrong sample")
    assert pairs() == {"x": 0}


def test_what_is_stated_of_a_new_parameter_was_not_measured(folder, asked):
    typed("tell", "lab.toml", 0, "0.5", "--set", "x=0.25")
    typed("tell", "lab.toml", 1, "--spoilt", "power cut")
    (folder / "lab.toml").write_text(f"{LAB}[parameters.speed]\nlow = 4\nhigh = 6\nnoise = 0.1\n")
    typed("change", "lab.toml", "--old", "speed=3.9", "--yes")
    typed("tell", "lab.toml", 1, "0.5", "--set", "x=0.25")
    typed("tell", "lab.toml", 2, "0.5")
    assert pairs() == {"x": 2, "speed": 0}
    typed("correct", "lab.toml", 0, "--set", "speed=3.8", "--why", "found the note")
    assert pairs() == {"x": 2, "speed": 0}
    (new,) = json.loads(typed("ask", "lab.toml", "--json").stdout)
    typed("tell", "lab.toml", new["trial"], "0.5", "--set", "speed=4.5")
    assert pairs() == {"x": 2, "speed": 1}


def test_where_the_noise_acts_unseen_a_cell_as_it_was_printed_says_nothing_else(folder, asked):
    (folder / "lab.toml").write_text(LAB.replace('"sobol"', '"sobol"\nexecuted = "unseen"'))
    x = float(asked[1]["x"]) + 0.01
    one, two = (f"{row['load']};0.5\n" for row in asked[:2])
    text = f"trial;x;load;value\n0;{asked[0]['x']};{one}1;{x};{two}"
    (folder / "results.csv").write_text(text)
    typed("tell", "lab.toml", "--csv", "results.csv")
    first, second, *_ = answer_of(open_ledger(read_study("lab.toml"))).optimizer.trials
    assert (first.unseen, first.measured) == (True, ())
    assert (second.unseen, second.measured) == (False, ("x",))
