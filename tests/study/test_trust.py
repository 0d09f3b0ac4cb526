"""Studies survive: processes that are killed at any moment, and many workers at once."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from optuna.trial import TrialState

from examples import thorough
from meseta.study.ledger import open_ledger
from meseta.study.progress import kind_of, progress
from meseta.study.toml.file import read_study
from postgresql import server
from processes import PARENT, Command

STUDY = """
version = 1
[study]
name = "trust"
budget = {budget}
method = "{method}"
{more}
{storage}
[objective]
python = "model:f"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
[parameters.y]
low = -1.0
high = 1.0
noise = "± 0.1"
"""
# Keeps a diary, so that the test knows what was evaluated whatever the storage says. Workers of a
# team wait for each other in their first evaluation, and after some until one of them was killed.
MODEL = """
import json, os, time
from pathlib import Path

DIARY = Path("diary.jsonl")

def until(condition):
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)

def f(p):
    begun = time.time()
    Path(str(os.getpid()) + ".here").touch()
    until(lambda: len([*Path().glob("*.here")]) >= {workers})
    time.sleep({seconds})
    if {kill_after} and DIARY.exists() and len(DIARY.read_text().splitlines()) >= {kill_after}:
        until(Path("killed").exists)
    value = -(p["x"] - 0.4) ** 2 - p["y"] ** 2
    entry = {{"pid": os.getpid(), **p, "value": value, "begun": begun, "done": time.time()}}
    line = json.dumps(entry) + "\\n"
    with DIARY.open("a") as diary:
        diary.write(line)
    return value
"""
KILL_AFTER = 6  # evaluations


def prepare(
    folder, *, budget, method, storage="", seconds=0.05, num_initial=None, workers=1, kill_after=0
):
    url = f'storage = "{storage}"' if storage else ""
    more = "" if num_initial is None else f"num_initial = {num_initial}"
    text = STUDY.format(budget=budget, method=method, storage=url, more=more)
    (folder / "trust.toml").write_text(text)
    (folder / "model.py").write_text(
        MODEL.format(seconds=seconds, workers=workers, kill_after=kill_after)
    )
    return folder / "trust.toml"


def start(folder, *words):
    return Command(folder, "run", "trust.toml", "--quiet", *words)


def finish(process, seconds=240):
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return json.loads(out)


def values(ledger):
    return {t.number: t.value for t in ledger.trials if t.state == TrialState.COMPLETE}


def diary(folder):
    path = folder / "diary.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def pairs_at_once(folder):
    """How far apart points were that were evaluated at the same time, in shares of the ranges."""
    entries = diary(folder)
    return [
        max(abs(a["x"] - b["x"]), abs(a["y"] - b["y"]) / 2)
        for i, a in enumerate(entries)
        for b in entries[:i]
        if a["begun"] < b["done"] and b["begun"] < a["done"]
    ]


@thorough
def test_a_run_that_is_killed_again_and_again(tmp_path):
    budget, kills = 12, 3
    path = prepare(tmp_path, budget=budget, method="sobol", seconds=0.15)
    randomness = random.Random(1)
    ledger = open_ledger(read_study(path))
    told, moments = {}, 0
    for _ in range(kills):
        process = start(tmp_path)
        before = len(ledger.trials)
        while len(ledger.trials) == before and process.poll() is None:
            time.sleep(0.02)  # until it has begun
        time.sleep(randomness.uniform(0, 0.5))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            moments += 1
        process.communicate()
        found = values(ledger)
        assert {number: found[number] for number in told} == told  # nothing told is lost
        told = found
    result = finish(start(tmp_path, "--json"))
    assert moments == kills
    assert (result["complete"], result["failed"], result["left"]) == (budget, 0, 0)
    final = values(ledger)
    assert len(final) == budget
    assert {number: final[number] for number in told} == told
    kinds = [kind_of(trial) for trial in ledger.trials]
    assert set(kinds) <= {"complete", "void"}
    assert kinds.count("void") <= kills  # at most one trial begun anew for each kill
    evaluated = [entry["value"] for entry in diary(tmp_path)]
    assert all(value in evaluated for value in final.values())
    assert len(evaluated) <= budget + kills


def team_of(folder, workers):
    """Workers started by hand, one of them killed in the midst of its work."""
    ledger = open_ledger(read_study(folder / "trust.toml"))
    team = [start(folder, "--worker", PARENT) for _ in range(workers)]
    try:
        victim = None
        while victim is None:
            time.sleep(0.1)
            assert any(worker.poll() is None for worker in team)
            if progress(ledger.trials, None).complete >= KILL_AFTER:
                running = [t for t in ledger.trials if kind_of(t) == "running" and t.params]
                pids = [t.user_attrs["meseta:worker"]["pid"] for t in running]
                victim = next((worker for worker in team if worker.pid in pids), None)
        os.killpg(victim.pid, signal.SIGKILL)
        (folder / "killed").touch()
        for worker in team:
            if worker is not victim:
                _, err = worker.communicate(timeout=240)
                assert worker.returncode == 0, err
    finally:
        for worker in team:
            worker.kill()
            worker.communicate()
    return ledger


def check_team(folder, ledger, budget):
    now = progress(ledger.trials, budget)
    assert (now.complete, now.failed, now.running) == (budget, 0, 0)
    complete = [trial for trial in ledger.trials if kind_of(trial) == "complete"]
    assert len({trial.number for trial in complete}) == budget
    entries = diary(folder)
    evaluated = Counter((entry["x"], entry["y"], entry["value"]) for entry in entries)
    kept = Counter((trial.params["x"], trial.params["y"], trial.value) for trial in complete)
    assert not kept - evaluated  # nothing is kept that was not evaluated
    assert (evaluated - kept).total() <= 1  # nothing is evaluated twice, but for who was killed
    assert len({entry["pid"] for entry in entries}) > 1  # they did share the work


def test_two_workers_on_sqlite(tmp_path):
    budget = 12
    prepare(tmp_path, budget=budget, method="rkg", workers=2, kill_after=KILL_AFTER)
    ledger = team_of(tmp_path, 2)
    check_team(tmp_path, ledger, budget)
    pairs = pairs_at_once(tmp_path)
    assert pairs
    assert min(pairs) > 1e-3


def test_eight_workers_on_postgresql(tmp_path):
    budget = 32
    settings = {"budget": budget, "method": "rkg", "num_initial": 24}
    with server() as url:
        prepare(tmp_path, storage=url, workers=8, kill_after=KILL_AFTER, **settings)
        ledger = team_of(tmp_path, 8)
        check_team(tmp_path, ledger, budget)
        ledger.database.database.engine.dispose()
    pairs = pairs_at_once(tmp_path)
    assert len(pairs) > budget / 2
    assert min(pairs) > 1e-3


@thorough
def test_workers_of_one_command(tmp_path):
    prepare(tmp_path, budget=6, method="sobol")
    model = tmp_path / "model.py"
    # more than a pipe holds: somebody has to read it
    loud = '    print("x" * 300_000, file=__import__("sys").stderr)\n    return value'
    model.write_text(model.read_text().replace("    return value", loud))
    result = finish(start(tmp_path, "--json", "--workers", "2"))
    assert result["complete"] == 6
    assert len(diary(tmp_path)) == 6


def test_an_interrupted_run_leaves_nothing_behind(tmp_path):
    path = prepare(tmp_path, budget=6, method="sobol", seconds=30)
    process = start(tmp_path)
    ledger = open_ledger(read_study(path))
    while not progress(ledger.trials, None).running:
        time.sleep(0.1)
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert [kind_of(trial) for trial in ledger.trials] == ["void"]


def test_a_value_that_comes_too_late_is_kept(tmp_path):
    """A worker that was taken for dead, and was not."""
    from meseta.study.progress import void
    from meseta.study.sampling import FileSampler
    from meseta.study.workers.work import _store

    ledger = open_ledger(read_study(prepare(tmp_path, budget=6, method="sobol")))
    ledger.study.sampler = FileSampler(ledger)
    trial = ledger.study.ask(ledger.distributions)
    assert void(ledger, trial.number, "its worker is gone")
    _store(ledger, trial, 0.25, {})
    assert [kind_of(each) for each in ledger.trials] == ["void", "complete"]
    assert ledger.trials[1].value == 0.25
    assert ledger.trials[1].params == trial.params


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file system that can be full")
def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path):
    """A tiny file system in memory, filled to the brim; only root may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)], capture_output=True
    )
    if mount.returncode != 0:
        pytest.skip("a small file system can't be mounted here")
    try:
        prepare(place, budget=6, method="sobol")
        finish(start(place, "--json", "--trials", "2"))
        with pytest.raises(OSError, match="space"):
            (place / "ballast").write_bytes(b"x" * 2**20)
        ledger = open_ledger(read_study(place / "trust.toml"))
        before = values(ledger)
        process = start(place)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "full" in err or "space" in err or "I/O" in err
        assert values(ledger) == before
        (place / "ballast").unlink()
        assert finish(start(place, "--json"))["complete"] == 6
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
