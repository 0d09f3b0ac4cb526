"""Parameters that change in the middle of a study: taken over, or refused at once."""

import csv
import io
import json
import shutil

import optuna
import pytest

from command_line import typed
from examples import some
from meseta.integrations.optuna.attributes import CHANGE, DESIGNS, EXECUTED, VOID
from meseta.integrations.optuna.changed import changes_of
from meseta.study.ledger import FORMAT, open_ledger
from meseta.study.marks import WORKER
from meseta.study.toml.file import read_study
from meseta.study.workers import work
from meseta.study.workers.liveness import this_worker

LAB = """
[study]
method = "sobol"
[parameters.x]
low = 0.5
high = 2.0
noise = 0.05
[parameters.n]
type = "int"
low = 0
high = 8
step = 2
[parameters.oil]
choices = ["mineral", "synthetic"]
"""
SPEED = """
[parameters.speed]
low = 5.0
high = 9.0
"""
MODEL = "def f(p):\n    return p['x'] + len(p['oil'])\n"
RUN = '[objective]\npython = "model:f"\n[parameters.x]'


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    path = folder / "lab.toml"
    path.write_text(LAB)
    typed("ask", path, "-n", 4)
    typed("tell", path, 0, "1.5")
    typed("tell", path, 1, "2.5", "--set", "x=2.25")
    typed("tell", path, 2, "--failed", "cracked")
    return folder


@pytest.fixture
def lab(folder, prepared):
    """Four experiments, one of them in hand."""
    for path in prepared.iterdir():
        shutil.copy(path, folder)
    return folder


def trials():
    """All trials but those that stand for a change of the parameters."""
    stored = open_ledger(read_study("lab.toml"), reading=True).trials
    return [trial for trial in stored if CHANGE not in trial.user_attrs]


def rows():
    return list(csv.DictReader(io.StringIO(typed("status", "lab.toml", "--csv").stdout)))


TAKEN = {
    "wider": (LAB.replace("high = 2.0", "high = 3.0"), []),
    "narrower": (LAB.replace("low = 0.5", "low = 0.55"), []),
    "finer": (LAB.replace("step = 2", "step = 1"), []),
    "longer": (LAB.replace("high = 8", "high = 10"), []),
    "scale": (LAB.replace("low = 0.5", "log = true\nlow = 0.5"), []),
    "choices": (LAB.replace('["mineral"', '["olive", "mineral"'), []),
    "beyond": (LAB.replace("high = 2.0", "high = 2.0\nevaluate = [0.5, 2.5]"), []),
    "added": (LAB + SPEED, ["--old", "speed=6"]),
    "added outside": (LAB + SPEED, ["--old", "speed=-4.2"]),
    "added choice": (LAB + '[parameters.die]\nchoices = ["a", "b"]\n', ["--old", "die=b"]),
    "several": (
        SPEED + LAB.replace("high = 2.0", "high = 3.0").replace('"mineral"', '"olive", "mineral"'),
        ["--old", "speed=6"],
    ),
}


@pytest.mark.parametrize("change", some(TAKEN, 6))
def test_a_change_that_all_trials_bear_is_taken_over(lab, change):
    text, old = TAKEN[change]
    before, earlier = rows(), [trial.value for trial in trials()]
    (lab / "lab.toml").write_text(text)
    content = (lab / "lab.db").read_bytes()
    assert "`meseta change lab.toml`" in typed("ask", "lab.toml", code=1).stderr
    refused = typed("change", "lab.toml", *old, code=2)
    assert "nothing was changed; say --yes" in refused.stderr
    assert (lab / "lab.db").read_bytes() == content
    typed("change", "lab.toml", *old, "--yes")
    assert "nothing is changed" in typed("change", "lab.toml").output
    now = rows()
    assert [{name: row[name] for name in before[0]} for row in now] == before
    assert [trial.value for trial in trials()] == earlier
    for option in old[1:]:
        name, value = option.split("=")
        assert {row[name].removesuffix(".0") for row in now} == {value}
    assert "\nchanged: " in typed("status", "lab.toml").output
    (said,) = json.loads(typed("status", "lab.toml", "--json").stdout)["changes"]
    assert said["who"]
    assert said["trials"] == 4
    # and everything goes on
    typed("tell", "lab.toml", 3, "0.5")
    planned = json.loads(typed("ask", "lab.toml", "-n", 3, "--json").stdout)
    assert set(planned[0]["params"]) == set(read_study("lab.toml").parameters)
    for each in planned[:2]:
        typed("tell", "lab.toml", each["trial"], "1.25")
    best = json.loads(typed("recommend", "lab.toml", "--json").stdout)["recommendation"]
    assert set(best["robust"]["params"]) == set(read_study("lab.toml").parameters)
    assert not [note for note in best["notes"] if "repeat two or three" not in note]
    (lab / "all.csv").write_text(typed("status", "lab.toml", "--csv").stdout)
    assert "6 rows had been there already" in typed("import", "lab.toml", "all.csv").stderr
    typed("withdraw", "lab.toml", 0, "--why", "x")
    typed("correct", "lab.toml", 0, "1.75", "--why", "x")
    assert trials()[0].value == 1.75


REFUSED = {
    "removed": (LAB.split("[parameters.oil]")[0], [], "'oil' is not in the file any more"),
    "renamed": (LAB.replace("parameters.x", "parameters.z"), [], "'x' is not in the file any more"),
    "kind": (LAB.replace('type = "int"\n', ""), [], "'n' is a whole number"),
    "excluding": (LAB.replace("high = 2.0", "high = 1.0"), [], "'x' would be a number from 0.5 to"),
    "steps": (LAB.replace("high = 2.0", "high = 2.0\nstep = 0.5"), [], "in steps of 0.5, without"),
    "choices": (LAB.replace('"synthetic"', '"olive"'), [], "'oil' would be one of"),
    "direction": (
        LAB.replace("[study]", '[study]\ndirection = "minimize"'),
        [],
        "is one to maximize, but lab.toml says minimize",
    ),
    "no old": (LAB + SPEED, [], "'speed' is new: say which value the trials so far had"),
    "no olds": (
        LAB + SPEED + SPEED.replace("speed", "feed"),
        [],
        "'speed', 'feed' are new: say which value the trials so far had",
    ),
    "bad old": (LAB + SPEED, ["--old", "speed=fast"], "finite number"),
    "wrong old": (LAB + SPEED, ["--old", "sped=6"], "no new parameter 'sped' (did you mean"),
    "old of an old one": (LAB, ["--old", "x=6"], "'x' is a parameter of the study already"),
    "old twice": (LAB + SPEED, ["--old", "speed=6", "--old", "speed=7"], "has 'speed' twice"),
    "bad file": (LAB + SPEED + 'noise = "wide"\n', ["--old", "speed=6"], "parameters.speed.noise"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_change_that_cannot_be_is_refused_before_anything_changes(lab, change):
    text, old, message = REFUSED[change]
    (lab / "lab.toml").write_text(text)
    content = (lab / "lab.db").read_bytes()
    refused = typed("change", "lab.toml", *old, "--yes", code=2).stderr
    assert message in refused
    if change in ("removed", "kind", "excluding", "choices", "direction"):
        assert "Nothing was changed. `meseta status lab.toml --csv > trials.csv`" in refused
    assert (lab / "lab.db").read_bytes() == content


def test_a_question_is_asked_at_a_terminal(lab, monkeypatch):
    monkeypatch.setattr("meseta.cli.record.at_a_terminal", lambda: True)
    (lab / "lab.toml").write_text(TAKEN["wider"][0])
    asked = typed("change", "lab.toml", code=1, answer="n\n")
    assert "'x': a number from 0.5 to 2.0 -> a number from 0.5 to 3.0" in asked.stdout
    assert "nothing was changed" in asked.stderr
    typed("ask", "lab.toml", code=1)
    typed("change", "lab.toml", answer="y\n")
    typed("ask", "lab.toml")


def test_a_study_without_trials_follows_its_file(folder):
    (folder / "lab.toml").write_text(LAB)
    assert "no study 'lab' yet" in typed("change", "lab.toml", code=1).stderr
    open_ledger(read_study("lab.toml"))
    (folder / "lab.toml").write_text(LAB + SPEED)
    assert "nothing is changed" in typed("change", "lab.toml").output


def test_changes_follow_on_each_other_and_back_again(lab):
    oils = ['["mineral", "synthetic", "olive"]', '["olive", "synthetic", "mineral"]']
    for i, oil in enumerate([*oils, '["mineral", "synthetic"]']):
        (lab / "lab.toml").write_text(LAB.replace('["mineral", "synthetic"]', oil))
        typed("change", "lab.toml", "--yes")
        (lab / "new.csv").write_text(f"x,n,oil,value\n1.{i},2,mineral,1.5\n")
        typed("import", "lab.toml", "new.csv")
    assert [trial.params["oil"] for trial in trials()[4:]] == ["mineral"] * 3
    study = open_ledger(read_study("lab.toml"), reading=True).study
    assert len(changes_of(study)) == 3
    assert study.user_attrs[FORMAT] == 3
    assert {name for trial in trials() for name in trial.params} == {"x", "n", "oil"}
    assert len({str(trial.distributions["oil"]) for trial in trials()}) == 1


def test_a_change_that_was_interrupted_leaves_a_study_that_can_be_used(lab, monkeypatch):
    set_attr = optuna.Study.set_user_attr

    def interrupted(self, key, value):
        if key == DESIGNS:  # stored behind the change itself
            raise KeyboardInterrupt
        set_attr(self, key, value)

    text = TAKEN["beyond"][0]
    (lab / "lab.toml").write_text(text)
    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "set_user_attr", interrupted)
        typed("change", "lab.toml", "--yes", code=130)
    assert "nothing is changed" in typed("change", "lab.toml").output
    typed("ask", "lab.toml")


def test_workers_evaluate_by_the_new_parameters(folder):
    text = LAB.replace("[parameters.x]", RUN).replace("[study]", "[study]\nbudget = 3")
    (folder / "lab.toml").write_text(text)
    (folder / "model.py").write_text(MODEL)
    typed("run", "lab.toml", "--quiet")
    oils = '["mineral", "synthetic", "oleaginous"]'
    text = text.replace('["mineral", "synthetic"]', oils).replace("budget = 3", "budget = 9")
    (folder / "lab.toml").write_text(text)
    typed("change", "lab.toml", "--yes")
    typed("run", "lab.toml", "--quiet")
    done = trials()
    assert [trial.value for trial in done] == [
        trial.params["x"] + len(trial.params["oil"]) for trial in done
    ]
    assert "oleaginous" in {trial.params["oil"] for trial in done}


def test_a_worker_that_began_before_the_change_ends_and_says_so(folder, monkeypatch):
    text = LAB.replace("[parameters.x]", RUN).replace("[study]", "[study]\nbudget = 6")
    (folder / "lab.toml").write_text(text)
    (folder / "model.py").write_text(MODEL)
    ledger = open_ledger(read_study("lab.toml"))

    def change(now):
        if now.complete == 2:
            (folder / "lab.toml").write_text(text.replace("high = 2.0", "high = 3.0"))
            typed("change", "lab.toml", "--yes")
            (folder / "lab.toml").write_text(text)

    with pytest.raises(RuntimeError, match="were changed meanwhile"):
        work.work(ledger, watch=change)


def test_workers_at_work_are_not_disturbed(lab):
    ledger = open_ledger(read_study("lab.toml"))
    ledger.begin_trial({}, {WORKER: this_worker(ledger.database.now())})
    (lab / "lab.toml").write_text(TAKEN["wider"][0])
    refused = typed("change", "lab.toml", "--yes", code=2).stderr
    assert "workers evaluate trials now (4)" in refused


def test_an_outcome_of_a_trial_that_was_given_up_has_the_stated_value(lab):
    typed("tell", "lab.toml", 3, "--spoilt", "the power failed")
    (lab / "lab.toml").write_text(LAB + SPEED)
    typed("change", "lab.toml", "--old", "speed=4.2", "--yes")
    typed("tell", "lab.toml", 3, "0.5")
    assert VOID in trials()[3].user_attrs
    kept = trials()[4]
    assert (kept.value, kept.params["speed"]) == (0.5, 5.0)
    assert kept.user_attrs[EXECUTED] == {"speed": 4.2}


def test_a_file_that_was_told_before_the_change_is_known_after_it(lab):
    (lab / "told.csv").write_text("trial,x,value\n0,,1.5\n1,2.25,2.5\n")
    (lab / "lab.toml").write_text(LAB + SPEED)
    typed("change", "lab.toml", "--old", "speed=4.2", "--yes")
    assert "2 rows had been told before" in typed("tell", "lab.toml", "--csv", "told.csv").stderr
