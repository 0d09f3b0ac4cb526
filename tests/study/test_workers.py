"""Workers in bad company: servers that restart, pipes that break, objectives that crash."""

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError, PendingRollbackError

from command_line import typed
from examples import some, thorough
from meseta.integrations.optuna.attributes import ERROR, EXECUTED, VOID
from meseta.integrations.optuna.told import Tell
from meseta.optimizer.evaluation import DEATHS
from meseta.study import database, lab
from meseta.study.database import open_database, trouble
from meseta.study.ledger import StorageError, open_ledger
from meseta.study.marks import BEAT, INSTEAD_OF, SEEN, WORKER
from meseta.study.progress import kind_of, progress, release_abandoned
from meseta.study.sampling import FileSampler
from meseta.study.toml.file import read_study
from meseta.study.workers import liveness, work
from meseta.study.workers.nearness import gives_way
from meseta.study.workers.output import lasting_output
from meseta.study.workers.team import run_team
from postgresql import restartable
from processes import Command

STUDY = """
[study]
name = "s"
budget = {budget}
method = "sobol"
{storage}
[objective]
python = "model:f"
{timeout}
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
"""
COUNTED = """
import os, time
def f(p):
    open("begun", "a").write("x\\n")
    time.sleep({seconds})
    open("ended", "a").write("x\\n")
    return -p["x"]
"""


def prepare(folder, model, *, budget=4, storage="", timeout=""):
    url = f'storage = "{storage}"' if storage else ""
    text = STUDY.format(budget=budget, storage=url, timeout=timeout)
    (folder / "s.toml").write_text(text)
    (folder / "model.py").write_text(model)
    return folder / "s.toml"


def opened(folder, **settings):
    return open_ledger(read_study(prepare(folder, "def f(p):\n    return p['x']\n", **settings)))


def start(folder, *words):
    return Command(folder, "run", "s.toml", *words)


def until(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def asked(ledger):
    ledger.study.sampler = FileSampler(ledger)
    return ledger.study.ask(ledger.distributions)


# --- what objectives write ---


TALKING = """
import os, subprocess, time
print("loaded", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
def f(p):
    subprocess.run(["echo", "by a program"], check=True)
    print("by Python", flush=True)
    os.write(1, b"by its number\\n")
    return p["x"]
"""


@thorough
def test_output_that_nobody_reads_fails_no_trial(tmp_path):
    path = prepare(tmp_path, TALKING)
    command = [sys.executable, "-m", "meseta.cli", "run", "s.toml"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, **pipes) as process:
        assert process.stdout.readline() == "loaded\n"
        process.stdout.close()  # as `| head -n 1` does
        (tmp_path / "go").touch()
        err = process.stderr.read()
        assert process.wait(60) == 0, err
    assert err.count("standard output is lost") == 1
    assert [kind_of(trial) for trial in open_ledger(read_study(path)).trials] == ["complete"] * 4


@pytest.mark.parametrize(
    ("looks", "why"), [(False, "[Errno 32] Broken pipe"), (True, "nobody reads it any more")]
)
def test_output_that_gets_lost_is_dropped(monkeypatch, capsys, looks, why):
    reader, writer = os.pipe()
    with open(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with lasting_output(answer_alone=False) as (answer, look):
            look()
            print("read", flush=True)
            assert os.read(reader, 100) == b"read\n"
            os.close(reader)
            if looks:
                look()
                subprocess.run(["echo", "nor this"], check=True, stdout=pipe)
            for _ in range(3):
                print("not read \u2764", flush=True)
            os.write(pipe.fileno(), b"nor this")
            print("the answer", file=answer)
        assert sys.stdout is pipe
    said = capsys.readouterr().err
    assert said.count(f"standard output is lost ({why}); trials go on") == 1


def test_what_an_objective_prints_is_not_mixed_into_json(tmp_path):
    prepare(tmp_path, TALKING, budget=2)
    (tmp_path / "go").touch()
    process = start(tmp_path, "--json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["complete"] == 2
    assert err.count("by Python") == err.count("by its number") == err.count("by a program") == 2


def test_long_messages_are_cut(folder):
    prepare(folder, "def f(p):\n    raise ValueError('x' * 10_000_000)\n", budget=2)
    typed("run", "s.toml", code=1)
    assert Path("s.db").stat().st_size < 1e6
    (first, _) = open_ledger(read_study("s.toml")).trials
    assert first.user_attrs[ERROR].startswith("ValueError: xxx")
    assert "cut: 10000000 letters in all" in first.user_attrs[ERROR]


HOPELESS = "def f(p):\n    raise RuntimeError('no licence')\n"


@pytest.mark.parametrize("workers", some([1, 2], 2))
def test_a_run_of_failures_gives_up_and_tries_again_when_it_is_started_again(folder, workers):
    prepare(folder, HOPELESS, budget=40)
    path = folder / "s.toml"
    path.write_text(path.read_text().replace("budget", "give_up = 4\nbudget", 1))
    for expected in (4, 8) if workers == 1 else (4,):
        ended = typed("run", "s.toml", "--workers", workers, "--quiet", code=1).stderr
        now = progress(open_ledger(read_study("s.toml")).trials, 40)
        assert expected <= now.failed < expected + workers  # others may be at one
        assert f"and all {now.failed} that were evaluated failed" in ended
        assert "no licence" in ended
        assert f"and {now.left} of the budget are left" in ended
        assert "evaluates up to 4 more" in ended


def test_a_value_ends_the_counting_of_failures(folder):
    model = "seen = []\ndef f(p):\n    seen.append(p)\n    return 1 / (len(seen) == 3)\n"
    prepare(folder, model, budget=9)
    path = folder / "s.toml"
    path.write_text(path.read_text().replace("budget", "give_up = 4\nbudget", 1))
    typed("run", "s.toml", "--quiet")
    now = progress(open_ledger(read_study("s.toml")).trials, 9)
    assert (now.complete, now.failed) == (1, 8)


def test_a_run_that_never_gives_up_and_one_with_a_small_budget_use_it_up(folder):
    prepare(folder, HOPELESS, budget=12)
    path = folder / "s.toml"
    path.write_text(path.read_text().replace("budget", "give_up = 0\nbudget", 1))
    ended = typed("run", "s.toml", "--quiet", code=1).stderr
    assert "and all 12 that were evaluated failed" in ended
    assert "Started again" not in ended
    path.write_text(path.read_text().replace('name = "s"', 'name = "t"').replace("= 12", "= 3"))
    assert "all 3 that were evaluated" in typed("run", "s.toml", "--quiet", code=1).stderr


def test_a_run_whose_trials_all_failed_has_failed_and_says_why(folder):
    prepare(folder, "def f(p):\n    return {}[p['x'] > 2]\n", budget=3)
    said = typed("run", "s.toml", code=1)
    assert "all 3 that were evaluated failed: KeyError: False (trial 0)" in said.stderr
    assert "3 of 3 done, 3 failed" in said.output
    again = typed("run", "s.toml", "--json", code=1)
    assert json.loads(again.stdout)["recommendation"] is None
    assert "KeyError" in again.stderr


# --- observed quantities ---

OBSERVED = """
[parameters.wind]
low = 0.0
high = 10.0
noise = { law = "uniform", half_width = 2.0, mean = 5.0, observed = true }
"""


def test_an_objective_that_never_says_what_was_observed_ends_the_run_at_once(folder):
    path = prepare(folder, "def f(p):\n    return -0.5\n", budget=6)
    path.write_text(path.read_text() + OBSERVED)
    said = typed("run", "s.toml", code=1)
    assert '{"value": -0.5, "executed": {"wind": ...}}' in said.stderr
    assert [kind_of(trial) for trial in open_ledger(read_study(path)).trials] == ["void"]


# --- a timeout, and functions that crash ---


def test_a_function_with_a_timeout_is_ended(folder):
    model = """
import os, signal, time
calls = []
def f(p):
    calls.append(p)
    print("some words")
    if p["x"] == 0.25:
        time.sleep(60)
    if p["x"] == 0.5:
        os.kill(os.getpid(), signal.SIGSEGV)
    if p["x"] == 0.75:
        raise ValueError("too hot")
    return {"value": len(calls), "executed": {"x": p["x"] + 0.01}}
"""
    from meseta.study.toml.keys import PythonObjective
    from meseta.study.workers.objective import EvaluationFailed, load

    (folder / "model.py").write_text(model)
    evaluate = load(PythonObjective(python="model:f", timeout=1.0), folder)
    try:
        assert evaluate({"x": 0.0}).value == 1
        assert evaluate({"x": 0.0}).value == 2  # by the same process
        for x, reason in (
            (0.25, "model:f took longer than 1 s and was ended"),
            (0.5, "model:f ended its process with signal SIGSEGV"),
            (0.75, "ValueError: too hot"),
        ):
            with pytest.raises(EvaluationFailed) as caught:
                evaluate({"x": x})
            assert caught.value.reason == reason
        again = evaluate({"x": 0.125})
        assert (again.value, again.executed) == (2, {"x": 0.135})
    finally:
        evaluate.stop()
    with pytest.raises(ValueError, match="no such function"):
        load(PythonObjective(python="model:g", timeout=1.0), folder)


def test_a_function_with_a_timeout_ends_with_its_worker(tmp_path):
    model = "import os, time\ndef f(p):\n    open('pid', 'w').write(str(os.getpid()))\n"
    prepare(tmp_path, model + "    time.sleep(60)\n", timeout="timeout = 50")
    worker = start(tmp_path)
    until(lambda: lines_of(tmp_path / "pid"))
    pid = int((tmp_path / "pid").read_text())
    assert pid != worker.pid
    worker.kill()
    worker.communicate()
    until(lambda: not liveness._lives(pid, liveness._started(pid)))


def dead():
    """A process that was."""
    process = subprocess.Popen(["true"])
    process.wait()
    return {**liveness.this_worker(time.time()), "pid": process.pid, "started": "1"}


def test_a_design_that_ends_its_workers_has_failed(tmp_path):
    ledger = opened(tmp_path, budget=6)
    designs = []
    for _ in range(DEATHS):
        trial = asked(ledger)
        designs.append(trial.params["x"])
        ledger.mark(trial.number, WORKER, dead())
        assert release_abandoned(ledger) == [trial.number]
    assert len(set(designs)) == 1
    assert [kind_of(trial) for trial in ledger.trials] == ["void"] * (DEATHS - 1) + ["failed"]
    assert "as were 2 before at this design" in ledger.trials[-1].user_attrs[ERROR]
    assert asked(ledger).params["x"] != designs[0]
    # its worker may have come far enough to have the value all the same
    late = lab.read_outcome(ledger, DEATHS - 1, lab.Cells("1.5"))
    assert "given up" in lab.store(ledger, [late]).notes[0]
    assert (ledger.trials[-1].value, ledger.trials[-1].params["x"]) == (1.5, designs[0])


def test_workers_that_die_while_they_store_a_design(tmp_path):
    path = prepare(tmp_path, "def f(p):\n    return p['x'] + p['y']\n", budget=4)
    path.write_text(path.read_text() + "[parameters.y]\nlow = 0.0\nhigh = 1.0\n")
    ledger = open_ledger(read_study(path))
    asked(ledger)
    ledger.mark(0, WORKER, dead())
    assert release_abandoned(ledger) == [0]
    for number in (1, 2):
        assert ledger.begin_trial({}, {WORKER: dead()}) == number
        name, distribution = list(ledger.distributions.items())[number - 1]
        storage = ledger.database.storage
        storage.set_trial_param(ledger.trial_id(number), name, 0.5, distribution)
        assert release_abandoned(ledger) == [number]
    assert [kind_of(trial) for trial in ledger.trials] == ["void"] * 3
    assert set(asked(ledger).params) == {"x", "y"}


# --- who is there ---


def test_processes_are_looked_at_within_one_namespace_only(tmp_path, monkeypatch):
    ledger = opened(tmp_path)
    trial = asked(ledger)
    mine = ledger.trials[0].user_attrs[WORKER]
    # a process of that number is not here, but it may be in the other container
    elsewhere = {**dead(), "place": "another", "host": mine["host"]}
    ledger.mark(trial.number, WORKER, elsewhere)
    assert kind_of(ledger.trials[0]) == "running"
    later = time.time() + liveness.GRACE + 5
    monkeypatch.setattr(database, "database_time", lambda engine: later)
    assert kind_of(ledger.trials[0]) == "abandoned"
    ledger.mark(trial.number, BEAT, later)
    assert kind_of(ledger.trials[0]) == "running"
    ledger.mark(trial.number, WORKER, {**elsewhere, "place": mine["place"]})
    assert kind_of(ledger.trials[0]) == "abandoned"


def test_time_zones_do_not_matter(tmp_path, monkeypatch):
    """datetime_start is a local time, of whichever zone the worker was in."""
    ledger = opened(tmp_path)
    ledger.study.sampler = optuna.samplers.RandomSampler(0)  # which marks nothing
    ledger.study.ask(ledger.distributions)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        assert release_abandoned(ledger) == []
        assert kind_of(ledger.trials[0]) == "running"
        assert abs(ledger.trials[0].user_attrs[SEEN] - time.time()) < 60
    finally:
        monkeypatch.undo()
        time.tzset()
    later = time.time() + liveness.GRACE + 5
    monkeypatch.setattr(database, "database_time", lambda engine: later)
    assert release_abandoned(ledger) == [0]


class Clocks:
    """Those of the database, of a worker elsewhere, and one of ours that nobody sets."""

    def __init__(self, folder, monkeypatch, ahead=0.0):
        self.ledger, self.now, self.jumped, self.ahead = opened(folder), 0.0, 0.0, ahead
        monkeypatch.setattr(database, "database_time", lambda engine: self.ours)
        self.trial = asked(self.ledger).number
        elsewhere = {**dead(), "place": "another", "since": self.ours + ahead}
        self.ledger.mark(self.trial, WORKER, elsewhere)
        self.ledger.database.listener = liveness.Listener(lambda: self.now)

    @property
    def ours(self):
        return 1.8e9 + self.now + self.jumped

    def passes(self, seconds, *, alive=True):
        """Whether the trial was given away meanwhile."""
        end, given_away = self.now + seconds, []
        while self.now < end:
            if alive:
                self.ledger.mark(self.trial, BEAT, self.ours + self.ahead)
            self.now += liveness.INTERVAL
            given_away += release_abandoned(self.ledger)
        return bool(given_away)


@pytest.mark.parametrize("ahead", [-3600.0, 0.0, 3600.0])
@pytest.mark.parametrize("jump", [-3600.0, 0.0, 3600.0])
def test_clocks_give_no_live_trial_away_and_keep_no_dead_one(tmp_path, monkeypatch, ahead, jump):
    clocks = Clocks(tmp_path, monkeypatch, ahead)
    assert not clocks.passes(300)
    clocks.jumped = jump
    assert release_abandoned(clocks.ledger) == []
    assert progress(clocks.ledger.trials, 1).left == 0  # nor is its place
    assert not clocks.passes(300)
    assert clocks.passes(liveness.GRACE + 2 * liveness.INTERVAL, alive=False)


def test_a_worker_elsewhere_that_is_dead_for_long_is_seen_soon(tmp_path, monkeypatch):
    clocks = Clocks(tmp_path, monkeypatch)
    clocks.jumped = 3600.0
    assert not clocks.passes(liveness.SURE, alive=False)
    assert clocks.passes(liveness.INTERVAL, alive=False)


def test_a_person_who_asks_gives_no_trial_of_another_machine_away(tmp_path, monkeypatch):
    clocks = Clocks(tmp_path, monkeypatch)
    clocks.jumped = 3600.0
    typed("ask", str(tmp_path / "s.toml"), "--json")
    assert clocks.ledger.trials[clocks.trial].state == optuna.trial.TrialState.RUNNING


@thorough
def test_a_worker_in_a_container_of_the_same_host_name_is_left_alone(tmp_path):
    apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        pytest.skip("processes can't have a namespace of their own here")
    path = prepare(tmp_path, COUNTED.format(seconds=3), budget=1)
    code = "from meseta.cli.app import start; start()"
    process = subprocess.Popen(
        [*apart, sys.executable, "-c", code, "run", "s.toml", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    until(lambda: lines_of(tmp_path / "begun"))
    ledger = open_ledger(read_study(path))
    assert release_abandoned(ledger) == []
    assert progress(ledger.trials, 1).running == 1
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["complete"] == 1
    assert len(lines_of(tmp_path / "begun")) == 1


def test_workers_end_with_their_parent_and_tell_what_they_are_at(tmp_path):
    path = prepare(tmp_path, COUNTED.format(seconds=1.5), budget=40)
    parent = start(tmp_path, "--workers", "2")
    until(lambda: len(lines_of(tmp_path / "begun")) >= 2)
    parent.kill()
    parent.communicate()
    ledger = open_ledger(read_study(path))
    until(lambda: not progress(ledger.trials, None).running)
    kinds = [kind_of(trial) for trial in ledger.trials if trial.params]
    assert kinds.count("complete") == len(lines_of(tmp_path / "begun")) < 10
    assert set(kinds) <= {"complete", "void"}


def test_a_second_signal_does_not_keep_a_worker_from_ending_in_good_order(folder, monkeypatch):
    """Ctrl-C reaches it from the terminal, and then from the command that started it."""
    prepare(folder, "def f(p):\n    raise KeyboardInterrupt\n")
    ledger = open_ledger(read_study("s.toml"))
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    void = work.void

    def interrupted(*arguments):
        for each in before:
            os.kill(os.getpid(), each)
        return void(*arguments)

    monkeypatch.setattr(work, "void", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work.work(ledger)
    assert [trial.user_attrs[VOID] for trial in ledger.trials] == ["interrupted"]
    assert {each: signal.getsignal(each) for each in before} == before


def test_an_interrupt_does_not_leave_a_read_of_sqlite_half_done(tmp_path):
    """Writers would wait for it: workers of a team that was interrupted were killed by that."""
    ledger = opened(tmp_path)
    seen = []

    def read():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)  # where Python looks at signals
        seen.append("whole")

    with pytest.raises(KeyboardInterrupt):
        ledger.database.call(read)
    assert seen == ["whole"]

    def fails():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError

    with pytest.raises(KeyboardInterrupt):  # the request to end is not lost with it
        ledger.database.call(fails)


def test_an_interrupt_ends_a_team_in_good_order(tmp_path):
    path = prepare(tmp_path, COUNTED.format(seconds=100), budget=9)
    parent = start(tmp_path, "--workers", "2")
    until(lambda: len(lines_of(tmp_path / "begun")) >= 2)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
    _, err = parent.communicate(timeout=60)
    assert parent.returncode == 130
    assert err == "meseta: interrupted; finished work is kept, start the same command to go on\n"
    trials = open_ledger(read_study(path)).trials
    assert [trial.user_attrs[VOID] for trial in trials] == ["interrupted"] * 2


def test_tables_of_another_version_are_refused_after_those_of_this_one(tmp_path):
    """Those of this version are known by then, and are not looked at again."""
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    for each in (open_database(url), open_database(url), database.kept_database(url)):
        each.engine.dispose()
    with sqlite3.connect(tmp_path / "trials.db") as changed:
        changed.execute("UPDATE alembic_version SET version_num = 'v0.9.0.a'")
    changed.close()
    for opening in (open_database, database.kept_database):
        with pytest.raises(RuntimeError, match="optuna storage upgrade"):
            opening(url)


# --- two workers at one point ---


def at_the_same_point(tmp_path, begun=()):
    ledger = opened(tmp_path)
    trials = []
    for number in range(2):
        ledger.study.enqueue_trial({"x": 0.5})
        trials.append(asked(ledger))
        if number in begun:
            trials[-1].set_user_attr(BEAT, time.time())
    assert [trial.params["x"] for trial in trials] == [0.5, 0.5]
    return ledger, trials


def test_of_two_workers_at_one_point_the_later_one_gives_way(tmp_path):
    ledger, (first, second) = at_the_same_point(tmp_path, begun=(0,))
    assert gives_way(ledger, second)
    ledger.mark(second.number, VOID, "another worker was at the same point")
    assert not gives_way(ledger, first)


def test_a_worker_gives_way_to_a_later_one_that_has_begun(tmp_path):
    ledger, (first, _) = at_the_same_point(tmp_path, begun=(1,))
    assert gives_way(ledger, first)


def test_exactly_one_of_two_workers_stays_at_a_point(tmp_path):
    ledger, trials = at_the_same_point(tmp_path)
    both = threading.Barrier(2)

    def decide(trial):
        both.wait()
        gives = gives_way(ledger, trial)
        ledger.mark(trial.number, *((VOID, "gives way") if gives else (BEAT, time.time())))
        return gives

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(decide, trials)) == [False, True]


# --- databases in trouble ---


def sqlite_trouble(path, statement, *, before="", readonly=False):
    connection = sqlite3.connect(f"file:{path}?mode={'ro' if readonly else 'rwc'}", uri=True)
    try:
        connection.executescript(before)
        connection.execute(statement)
    except sqlite3.Error as error:
        return trouble(OperationalError(statement, {}, error))
    finally:
        connection.close()


def test_trouble_is_told_by_codes_and_not_by_words(tmp_path):
    path = tmp_path / "a.db"
    sqlite3.connect(path).executescript("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
    assert sqlite_trouble(path, "INSERT INTO t VALUES (2)", readonly=True) == "read-only"
    small = "PRAGMA max_page_count = 3"
    many = "INSERT INTO t SELECT randomblob(90000)"
    assert sqlite_trouble(path, many, before=small) == "full"
    assert sqlite_trouble(path, "INSERT INTO t VALUES (1)") == "raced"
    assert sqlite_trouble(path, "nonsense") == "other"
    (tmp_path / "notes").write_text("my notes, do not touch them, they are long enough" * 20)
    assert sqlite_trouble(tmp_path / "notes", "SELECT * FROM t") == "no database"
    error = StorageInternalError("An exception is raised during the commit.")
    error.__cause__ = PendingRollbackError("Please rollback() fully before proceeding")
    assert trouble(error) == "away"
    assert trouble(OSError(28, "No space left on device")) == "full"
    assert trouble(RuntimeError("the disk is full")) == "other"


def test_a_database_that_is_locked_for_long_is_waited_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(database, "SQLITE_PATIENCE", 0.1)
    monkeypatch.setattr(database, "PAUSES", (0.05, 0.05))
    ledger = opened(tmp_path)
    trial = asked(ledger)
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match=r"locked; another process is holding it"):
        ledger.mark(trial.number, BEAT, 1.0)
    assert capsys.readouterr().err == ""
    ledger.database.patience = 60.0
    release = threading.Timer(0.8, lambda: other.execute("ROLLBACK"))
    release.start()
    ledger.mark(trial.number, BEAT, 2.0)
    release.join()
    other.close()
    assert ledger.trials[0].user_attrs[BEAT] == 2.0
    said = capsys.readouterr().err
    assert said.count("the database is busy; waiting for up to 60 s") == 1
    assert said.count("the database is back") == 1


@pytest.mark.parametrize("value", [-1.5, 2e-7, None])
def test_a_value_that_cannot_be_stored_is_said_with_a_command_that_works(
    folder, monkeypatch, value
):
    monkeypatch.setattr(work, "STORING", (0.01,))
    ledger = opened(folder)
    ledger.file.__dict__["label"] = "s.toml"
    trial = asked(ledger)
    attributes = {EXECUTED: {"x": 0.25}} if value is not None else {ERROR: "it's broken\nat 3"}

    def full(*_):
        raise StorageError("s.db cannot be used: database or disk is full")

    monkeypatch.setattr(work, "_tell", full)
    with pytest.raises(StorageError) as caught:
        work._store(ledger, trial, value, attributes)
    said = str(caught.value)
    assert "disk is full" in said
    ledger.mark(trial.number, WORKER, dead())  # as we are, once that was said
    words = shlex.split(said.partition("type: ")[2])
    assert words[:4] == ["meseta", "tell", "s.toml", "0"]
    typed(*words[1:])
    (told,) = ledger.trials
    assert told.value == value
    if value is None:
        assert told.user_attrs[ERROR] == "it's broken"
    else:
        assert told.user_attrs[EXECUTED] == {"x": 0.25}


def test_a_value_may_be_told_after_its_trial_was_begun_anew(folder):
    ledger = opened(folder)
    trial = asked(ledger)
    ledger.mark(trial.number, WORKER, dead())
    assert release_abandoned(ledger) == [0]
    typed("tell", "s.toml", 0, "--set", "x=0.25", "-1.5")
    assert [kind_of(each) for each in ledger.trials] == ["void", "complete"]
    assert (ledger.trials[1].value, ledger.trials[1].params) == (-1.5, trial.params)
    assert ledger.trials[1].user_attrs[EXECUTED] == {"x": 0.25}
    assert ledger.trials[1].user_attrs[INSTEAD_OF] == 0
    # the worker lives after all, and has the same value
    work._tell(ledger, 0, Tell(-1.5, {EXECUTED: {"x": 0.25}}))
    assert len(ledger.trials) == 2
    work._tell(ledger, 0, Tell(-2.5, {}))
    assert [each.value for each in ledger.trials] == [None, -1.5, -2.5]


def test_an_interrupt_while_a_value_is_stored_does_not_lose_it(folder, monkeypatch):
    ledger = opened(folder)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "_tell", interrupted)
    with pytest.raises(
        StorageError, match=r"trial 0 at x = .* gave -0\.5, .*interrupted.* 0 -0\.5"
    ):
        work._store(ledger, asked(ledger), -0.5, {})


def test_all_that_workers_could_not_store_is_said(tmp_path):
    code = (
        "import sys; print('noise', file=sys.stderr); "
        "print('meseta: trial', sys.argv[-1], 'gave 1', file=sys.stderr); print('more', "
        "file=sys.stderr); sys.exit(1)"
    )
    ledger = opened(tmp_path)
    lost = run_team(ledger, [sys.executable, "-c", code], 3, 3 * 4 + 2, quiet=True)
    assert lost == ["trial 5 gave 1", "trial 4 gave 1"]  # their shares stand for what they said


def begin_at_once(url):
    """Several that begin the same study at the same moment."""
    all_of_them = threading.Barrier(6)

    def begin(_):
        all_of_them.wait()
        storage = open_database(url)
        study = optuna.create_study(storage=storage, study_name="many", load_if_exists=True)
        storage.engine.dispose()
        return study.study_name

    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(begin, range(6)))


def test_many_may_begin_a_study_at_once(tmp_path):
    for turn in range(2):
        assert begin_at_once(f"sqlite:///{tmp_path / str(turn)}.db") == ["many"] * 6


@thorough
def test_a_server_that_restarts_costs_nothing(tmp_path):
    with restartable() as server:
        assert begin_at_once(server.url) == ["many"] * 6
        path = prepare(tmp_path, COUNTED.format(seconds=0.3), budget=12, storage=server.url)
        team = start(tmp_path, "--workers", "4")
        until(lambda: len(lines_of(tmp_path / "begun")) >= 5)
        server.stop()
        time.sleep(2)
        assert team.poll() is None
        server.start()
        _, err = team.communicate(timeout=120)
        assert team.returncode == 0, err
        assert err.count("the database is away") == 1, err
        ledger = open_ledger(read_study(path))
        now = progress(ledger.trials, 12)
        assert (now.complete, now.failed, now.running) == (12, 0, 0)
        assert len(lines_of(tmp_path / "begun")) == 12  # nothing was evaluated twice
        assert abs(ledger.database.now() - time.time()) < 60
        ledger.database.database.engine.dispose()
