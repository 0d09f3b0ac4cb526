"""Two people, or two workers, at one study at the same moment: one fact each, and true answers."""

import csv
import io
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import pytest
from optuna import delete_study
from optuna.exceptions import UpdateFinishedTrialError
from sqlalchemy import Engine, event

from command_line import typed
from examples import ASKED_FOR
from meseta.integrations.optuna.attributes import (
    CHANGE,
    COMMENT,
    ERROR,
    EXECUTED,
    OUTCOMES,
    PRECISION,
    TOLD,
    VOID,
)
from meseta.integrations.optuna.changed import as_stored, changes_of, store_change
from meseta.integrations.optuna.told import Tell
from meseta.study import amending, changing, confirming, history, lab
from meseta.study.ledger import StorageError, open_ledger
from meseta.study.marks import BY_HAND, CONFIRMS
from meseta.study.progress import keep_instead, kind_of, progress
from meseta.study.telling import begin_all, tell
from meseta.study.toml.file import read_study
from meseta.study.workers import work
from postgresql import server

PAIRS = int(ASKED_FOR or 2)
STUDY = """
[study]
name = "{name}"
storage = "{url}"
method = "sobol"
[parameters.x]
low = 0.0
high = 10.0
noise = 0.1
[parameters.y]
low = 0.0
high = 10.0
[constraints.stress]
at_most = 250
"""
ANNA = lab.Cells("10", None, {"x": "1.5", "y": "1.5"}, {"stress": "100"}, "A", {"std": "0.1"})
BEN = {
    "another value": lab.Cells("20", None, {"x": "2.5"}, {"stress": "200"}, "B", {"n": "3"}),
    "the same value": lab.Cells("10", None, {"x": "2.5"}, {"stress": "200"}, "B", {"n": "3"}),
    "a failure": lab.Cells(None, "broke", {"x": "2.5"}, {"stress": "200"}, "B"),
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, tmp_path_factory):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('two') / 'a.db'}"
        return
    with server() as running:
        yield running


@pytest.fixture
def path(folder, url, request):
    """A study file of its own in a database that several share, whose connections are closed."""
    path, engines = folder / "press.toml", set()
    path.write_text(STUDY.format(name=request.node.name, url=url))

    def remember(connection):
        engines.add(connection.engine)

    event.listen(Engine, "engine_connect", remember)
    yield path
    event.remove(Engine, "engine_connect", remember)
    for engine in engines:
        engine.dispose()


def opened(path):
    return open_ledger(read_study(path))


def at_once(*works):
    """What each of them returns; all begin at the same moment."""
    start = threading.Barrier(len(works))

    def begun(work):
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [each.result() for each in [pool.submit(begun, work) for work in works]]


def said(trial):
    """All that somebody told of a trial."""
    names = (EXECUTED, OUTCOMES, PRECISION, COMMENT, ERROR, VOID)
    return trial.value, {name: trial.user_attrs[name] for name in names if name in trial.user_attrs}


def of(outcome):
    return outcome.value, {name: each for name, each in outcome.said.items() if each}


@pytest.mark.parametrize("other", BEN)
def test_a_tell_is_one_fact_and_who_loses_is_told_so(path, other):
    ledgers = [opened(path) for _ in range(2)]
    lab.ask(ledgers[0], PAIRS)
    for number in range(PAIRS):
        cells = (ANNA, BEN[other])
        outcomes = [
            lab.read_outcome(ledger, number, each)
            for ledger, each in zip(ledgers, cells, strict=True)
        ]
        answers = at_once(
            *(
                lambda ledger=ledger, outcome=outcome: lab.store(ledger, [outcome])
                for ledger, outcome in zip(ledgers, outcomes, strict=True)
            )
        )
        trial = opened(path).trials[number]
        (won,) = [i for i in range(2) if said(trial) == of(outcomes[i])]
        assert [each.num for each in answers] == [int(i == won) for i in range(2)]
        (lost,) = answers[1 - won].lost
        assert f"trial {number} was told at this moment by somebody else" in lost
        what = "failed (broke)" if trial.value is None else f"has the value {trial.value}"
        assert what in lost


def test_whatever_of_several_tells_is_written_before_the_trial_ends_one_of_them_counts_whole(path):
    """Two tells take two steps each, write and end: in every order, and with equal values."""
    ledger = opened(path)
    orders = sorted({"".join(order) for order in itertools.permutations("aAbB")})
    orders = [o for o in orders if o.index("a") < o.index("A") and o.index("b") < o.index("B")]
    for (number, order), value in zip(enumerate(orders * 2), [1.0, 2.0] * 6, strict=True):
        lab.ask(ledger, 1)
        tells = {"a": Tell(1.0, {COMMENT: "a"}), "b": Tell(value, {COMMENT: "b"})}
        for step in order:
            each = tells[step.lower()]
            with suppress(UpdateFinishedTrialError, ValueError):
                if step.islower():
                    ledger.mark(number, each.key, each.stored)
                else:
                    ledger.study.tell(number, each.value)
        trial = ledger.trials[number]
        assert said(trial) in [(each.value, dict(each.attributes)) for each in tells.values()]
        # what is told of a trial that has ended is what everybody reads, now and later
        both = [tell(opened(path), {number: each})[number].counts for each in tells.values()]
        assert sum(both) == 1
        assert said(opened(path).trials[number]) == said(trial)


def test_a_value_against_a_spoilt_trial_is_never_lost(path):
    ledgers = [opened(path) for _ in range(2)]
    lab.ask(ledgers[0], PAIRS)
    for number in range(PAIRS):
        outcome = lab.read_outcome(ledgers[0], number, ANNA)

        def spoil(number=number):
            try:
                lab.spoil(ledgers[1], number, "the power failed")
            except ValueError as error:
                return str(error)
            return "stored"

        stored, spoilt = at_once(lambda outcome=outcome: lab.store(ledgers[0], [outcome]), spoil)
        assert stored.num == 1
        trials = opened(path).trials
        kinds = [kind_of(trials[number]), *(kind_of(each) for each in trials[PAIRS:])]
        if spoilt == "stored":  # its value is a trial of its own
            assert kinds[0] == "void"
            assert "given up" in stored.notes[0]
            assert said(trials[-1]) == of(outcome)
        else:
            assert said(trials[number]) == of(outcome)
            assert "told at this moment by somebody else" in spoilt
    assert progress(opened(path).trials, None).complete == PAIRS


def test_a_worker_and_a_person_with_different_values_both_count(path):
    ledger, other = opened(path), opened(path)
    for number in range(0, 2 * PAIRS, 2):
        lab.ask(ledger, 1)
        outcome = lab.read_outcome(ledger, number, ANNA)
        at_once(
            lambda outcome=outcome: lab.store(ledger, [outcome]),
            lambda number=number: work._tell(other, number, Tell(7.0, {EXECUTED: {"x": 7.0}})),
        )
        trials = opened(path).trials
        if len(trials) == number + 1:  # the worker was first, and the person is told so
            assert said(trials[number]) == (7.0, {EXECUTED: {"x": 7.0}})
            lab.ask(ledger, 1)
            continue
        assert said(trials[number]) == of(outcome)
        assert said(trials[number + 1]) == (7.0, {EXECUTED: {"x": 7.0}})


def test_outcomes_of_a_trial_that_was_given_up_are_kept_once(path):
    ledgers = [opened(path) for _ in range(2)]
    lab.ask(ledgers[0], PAIRS)
    for number in range(PAIRS):
        lab.spoil(ledgers[0], number, "the power failed")
        outcomes = [
            lab.read_outcome(ledger, number, each)
            for ledger, each in zip(ledgers, (ANNA, BEN["another value"]), strict=True)
        ]
        answers = at_once(
            lambda a=outcomes[0]: lab.store(ledgers[0], [a]),
            lambda b=outcomes[1]: lab.store(ledgers[1], [b]),
        )
        assert sorted(each.num for each in answers) == [0, 1]
        (lost,) = [sentence for each in answers for sentence in each.lost]
        assert "kept as trial" in lost
    trials = opened(path).trials
    assert progress(trials, None).complete == PAIRS
    # a worker's attempt that seemed to fail, and its next one
    late = Tell(3.0, {})
    for _ in range(2):
        keep_instead(ledgers[0], trials[0], late, " by its worker, 3.0")
    assert progress(opened(path).trials, None).complete == PAIRS + 1


def test_two_imports_of_a_file_store_each_row_once(path, folder):
    rows = [f"{i},1,{i}.5,10" for i in range(5)]
    table = folder / "old.csv"
    table.write_text("\n".join(["x,y,value,stress", *rows, rows[0]]))  # one of them twice
    for times in range(1, 4):
        ledgers = [opened(path) for _ in range(2)]
        found = [history.read_history(ledger, table) for ledger in ledgers]
        stored = at_once(
            *(
                lambda ledger=ledger, new=each.new: history.add_history(ledger, new)
                for ledger, each in zip(ledgers, found, strict=True)
            )
        )
        assert sum(stored) == (6 if times == 1 else 0)
        assert progress(opened(path).trials, None).complete == 6
    assert "6 rows had been there already" in typed("import", path, table).stderr
    assert len(list(csv.DictReader(io.StringIO(typed("status", path, "--csv").stdout)))) == 6


def test_an_import_that_had_read_the_study_before_another_one_began_stores_nothing_twice(
    path, folder
):
    table = folder / "old.csv"
    table.write_text("x,y,value,stress\n1,1,1,1\n1,1,1,1\n2,1,1,1\n")
    late = history.read_history(opened(path), table)
    assert "3 stored" in typed("import", path, table).stdout
    assert history.add_history(opened(path), late.new) == 0
    # the same experiment once more is another one, if the file has it once more
    table.write_text(table.read_text() + "1,1,1,1\n")
    again = typed("import", path, table)
    assert again.stdout.startswith("stored")
    assert "3 rows had been there already" in again.stderr


def test_a_table_that_two_people_tell_is_stored_once(path, folder):
    ledgers = [opened(path) for _ in range(2)]
    lab.ask(ledgers[0], 6)
    table = folder / "told.csv"
    table.write_text("trial,value,stress\n" + "".join(f"{i},{i}.5,10\n" for i in range(6)))
    outcomes = [lab.read_outcomes(ledger, table).new for ledger in ledgers]
    answers = at_once(
        lambda: lab.store(ledgers[0], outcomes[0]), lambda: lab.store(ledgers[1], outcomes[1])
    )
    assert sum(each.num for each in answers) == 6
    assert sum(each.known for each in answers) == 6
    assert not any(each.lost for each in answers)
    assert [trial.value for trial in opened(path).trials] == [i + 0.5 for i in range(6)]


def test_a_table_is_stored_as_far_as_nobody_else_told_it(path, folder):
    lab.ask(opened(path), 3)
    table = folder / "told.csv"
    table.write_text("trial,value,stress\n" + "".join(f"{i},{i}.5,10\n" for i in range(3)))
    ledger = opened(path)
    read = lab.read_outcomes(ledger, table).new
    typed("tell", path, 1, "9", "stress=3")
    answer = lab.store(ledger, read)
    assert (answer.num, answer.known, len(answer.lost)) == (2, 0, 1)
    assert "already has the value 9.0, stress = 3.0" in answer.lost[0]


def test_a_correction_that_does_not_hold_is_said_so(path):
    ledgers = [opened(path) for _ in range(2)]
    lab.ask(ledgers[0], PAIRS)
    for number in range(PAIRS):
        typed("tell", path, number, "10", "stress=1")
        read = [
            amending.read_correction(ledger, number, lab.Cells(value), "typing error")
            for ledger, value in zip(ledgers, ("11", "12"), strict=True)
        ]

        def correct(i, read=read):
            try:
                return str(amending.store(ledgers[i], read[i]))
            except RuntimeError as error:
                return str(error)

        answers = at_once(lambda: correct(0), lambda: correct(1))
        holds = opened(path).trials[number].value
        won, lost = (0, 1) if holds == 11 else (1, 0)
        assert f"-> {holds:.0f}: typing error" in answers[won]
        if "by somebody else at the same moment, and that holds" not in answers[lost]:
            # it held for a moment, and the other one has seen it
            assert f"value {11 + lost} -> {holds:.0f}" in answers[won]


def test_a_correction_of_a_trial_that_is_withdrawn_meanwhile_is_said_so(path):
    ledger = opened(path)
    lab.ask(ledger, 1)
    typed("tell", path, 0, "10", "stress=1")
    read = amending.read_correction(ledger, 0, lab.Cells(None, texts={"x": "1"}), "typing error")
    typed("withdraw", path, 0, "--why", "the wrong sample")
    with pytest.raises(RuntimeError, match=r"that holds \(withdrawn.*the wrong sample"):
        amending.store(ledger, read)


NEW = "[parameters.{name}]\nlow = 0\nhigh = 1\n"


def test_of_two_changes_one_holds_and_the_other_one_is_refused(path, folder):
    for number in range(2):
        name = f"{path.parent.name} {number}"
        text = path.read_text().replace(read_study(path).name, name, 1)
        files = [folder / f"{each}.toml" for each in "pq"]
        for file in files:
            file.write_text(text + NEW.format(name=file.stem))
        (folder / "first.toml").write_text(text)
        lab.ask(opened(folder / "first.toml"), 2)
        typed("tell", folder / "first.toml", 0, "10", "stress=1")
        read = [read_study(file) for file in files]
        old = [{file.stem: "0.5"} for file in files]
        planned = [changing.plan_change(*each)[1] for each in zip(read, old, strict=True)]

        def change(i, read=read, old=old, planned=planned):
            try:
                changing.store(read[i], old[i], planned[i])
            except ValueError as error:
                return str(error)
            return "changed"

        answers = at_once(lambda: change(0), lambda: change(1))
        won = answers.index("changed")
        assert f"were changed meanwhile: '{files[won].stem}' is new" in answers[1 - won]
        typed("ask", files[won])
        assert "has other parameters" in typed("ask", files[1 - won], code=1).stderr
        for file in files:  # an export works with either file
            rows = list(csv.DictReader(io.StringIO(typed("status", file, "--csv").stdout)))
            assert [row[files[won].stem] for row in rows[:2]] == ["0.5", "0.5"]


def test_a_change_is_checked_again_when_it_is_stored(path, folder):
    ledger = opened(path)
    lab.ask(ledger, 2)
    first = ledger.trials[0].params["x"]
    narrow = folder / "narrow.toml"
    # the planned trials are within, what is told meanwhile is not
    low = min(trial.params["x"] for trial in ledger.trials) / 2
    narrow.write_text(path.read_text().replace("low = 0.0", f"low = {low}", 1))
    file = read_study(narrow)
    _, planned = changing.plan_change(file, {})
    (folder / "old.csv").write_text(f"x,y,value,stress\n{low / 2},1,5,1\n")
    typed("import", path, folder / "old.csv")
    with pytest.raises(ValueError, match=f"without {low / 2}, which trial 2 has. Nothing was"):
        changing.store(file, {}, planned)
    assert not changes_of(ledger.study)
    # what is told in the last moment lies outside, and is there all the same
    assert store_change(ledger.study, planned)
    assert opened(narrow).trials[0].params["x"] == first
    assert "5" in typed("status", narrow).stdout
    typed("tell", narrow, 0, "4", "stress=1")
    assert typed("recommend", narrow).stdout
    (new,) = json.loads(typed("ask", narrow, "--json").stdout)
    assert new["params"]["x"] >= low


def test_reading_bears_any_pair_of_changes(path, folder):
    """Also as an earlier version stored them, and one that somebody planned on another."""
    ledger = opened(path)
    lab.ask(ledger, 1)
    typed("tell", path, 0, "10", "stress=1")
    planned = {}
    for name in "pq":
        file = folder / f"{name}.toml"
        file.write_text(path.read_text() + NEW.format(name=name))
        _, planned[name] = changing.plan_change(read_study(file), {name: "0.5"})
    for name, change in planned.items():
        stored = {**as_stored(change), "trials": 1, "when": change.when}
        ledger.study.set_user_attr(f"{CHANGE}{name}", stored)
        ledger.study.set_user_attr(f"{CHANGE}{name} too", stored)
    assert [list(change.stated) for change in changes_of(ledger.study)] == [["p"]]
    (asked,) = json.loads(typed("ask", folder / "p.toml", "--json").stdout)
    typed("tell", folder / "p.toml", asked["trial"], "3", "stress=1")
    rows = list(csv.DictReader(io.StringIO(typed("status", folder / "q.toml", "--csv").stdout)))
    assert [row["value"] for row in rows] == ["10.0", "3.0"]
    assert rows[0]["p"] == "0.5"


@pytest.mark.parametrize("anew", [False, True], ids=["deleted", "and begun anew"])
def test_nothing_is_stored_in_place_of_a_study_that_was_deleted(path, folder, anew):
    ledger = opened(path)
    lab.ask(ledger, 3)
    typed("tell", path, 0, "10", "stress=1")
    outcome = lab.read_outcome(ledger, 1, ANNA)
    correction = amending.read_correction(ledger, 0, lab.Cells("11"), "typing error")
    (folder / "old.csv").write_text("x,y,value,stress\n1,1,1,1\n")
    found = history.read_history(ledger, folder / "old.csv")
    evaluated = ledger.ask()
    delete_study(study_name=ledger.file.name, storage=ledger.database.database)
    if anew:
        other = path.read_text().replace("high = 10.0", "high = 9.0")
        (folder / "anew.toml").write_text(other)
        lab.ask(opened(folder / "anew.toml"), 5)
    acts = {
        "ask": lambda: lab.ask(ledger, 1),
        "tell": lambda: lab.store(ledger, [outcome]),
        "spoil": lambda: lab.spoil(ledger, 2, "the power failed"),
        "correct": lambda: amending.store(ledger, correction),
        "import": lambda: history.add_history(ledger, found.new),
        "work": lambda: work._store(ledger, evaluated, 7.25, {OUTCOMES: {"stress": 3.0}}),
    }
    for act in acts.values():
        with pytest.raises(StorageError, match="somebody has deleted or replaced it") as refused:
            act()
    x = evaluated.params["x"]
    assert f"trial 3 at x = {x!r}, y = " in str(refused.value)
    assert " gave 7.25, stress = 3.0, which could not be stored" in str(refused.value)
    assert str(refused.value).endswith("`meseta import` takes it")
    if anew:
        trials = opened(folder / "anew.toml").trials
        assert [kind_of(trial) for trial in trials] == ["asked"] * 5
        assert not any(key.startswith(TOLD) for trial in trials for key in trial.user_attrs)


def test_a_worker_stores_nothing_with_another_design_of_the_same_number(path):
    """As when somebody puts back an older copy of the database."""
    ledger = opened(path)
    lab.ask(ledger, 1)
    evaluated = SimpleNamespace(number=0, params=ledger.ask().params)
    with pytest.raises(StorageError, match="has deleted or replaced it"):
        work._store(ledger, evaluated, 7.25, {})
    assert kind_of(opened(path).trials[0]) == "asked"


def test_a_trial_that_was_spoilt_needs_a_reason(path):
    """Without one it would be stored as failed, and count."""
    typed("ask", path)
    refused = typed("tell", path, 0, "--spoilt", " ", code=2).stderr
    assert "say why trial 0 went wrong" in refused
    assert kind_of(opened(path).trials[0]) == "asked"


def test_runs_are_judged_that_were_planned_before_a_change_of_the_parameters(path):
    typed("ask", path, "-n", 6)
    for number in range(6):
        typed("tell", path, number, number / 4, "stress=1")
    planned = json.loads(typed("confirm", path, "-n", 3, "--json").stdout)["runs"]
    for each in planned:
        typed("tell", path, each["trial"], "1", "stress=1")
    before = json.loads(typed("confirm", path, "--json").stdout)
    path.write_text(path.read_text() + NEW.format(name="p"))
    typed("change", path, "--old", "p=0.5", "--yes")
    after = json.loads(typed("confirm", path, "--json").stdout)
    assert after["design"] == {**before["design"], "p": 0.5}
    assert after["found"] == before["found"]
    # a plan that nobody was told of hides no other one
    ledger = opened(path)
    begin_all(ledger, [({"x": 1.0, "y": 1.0, "p": 0.5}, {CONFIRMS: {"plan": "b"}, BY_HAND: True})])
    lab.spoil(ledger, len(ledger.trials) - 1, "nobody was told")
    assert json.loads(typed("confirm", path, "--json").stdout) == after


def test_runs_are_not_planned_by_parameters_that_somebody_changes_meanwhile(path, monkeypatch):
    typed("ask", path, "-n", 4)
    for number in range(4):
        typed("tell", path, number, number / 4, "stress=1")
    ledger, search = opened(path), confirming.answer_of

    def long_search(ledger):
        path.write_text(path.read_text() + NEW.format(name="p"))
        typed("change", path, "--old", "p=0.5", "--yes")
        return search(ledger)

    monkeypatch.setattr(confirming, "answer_of", long_search)
    with pytest.raises(RuntimeError):
        confirming.plan_runs(ledger, 2, "as-it-comes")
    assert progress(opened(path).trials, None).confirming == 0


def test_choices_of_a_parameter_with_the_longest_name_may_change(path):
    """What its trials are stored by is no longer: PostgreSQL would refuse them."""
    name = "c" * 512
    path.write_text(path.read_text() + f'[parameters.{name}]\nchoices = ["a", "b"]\n')
    typed("ask", path)
    for choices in ('["a", "b", "c"]', '["a", "b", "c", "d"]'):
        before, _, _ = path.read_text().rpartition("choices")
        path.write_text(f"{before}choices = {choices}\n")
        typed("change", path, "--yes")
        typed("ask", path)
    ledger = opened(path)
    assert all(name in trial.params for trial in ledger.trials if trial.params)
    assert progress(ledger.trials, None).asked == 3
