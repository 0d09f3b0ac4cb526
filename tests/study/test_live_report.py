"""A report that is kept current while a study runs, and never in the way of it."""

import re
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

import views_made_up as made_up
from command_line import typed
from examples import thorough
from meseta.report import page
from meseta.report.views.running import Running
from meseta.study import live
from meseta.study.ledger import open_ledger
from meseta.study.live import EVERY, FIRST, LiveReport, kept_current
from meseta.study.progress import Progress
from meseta.study.toml.file import read_study
from meseta.study.workers import watch
from processes import Command

STUDY = """
[study]
name = "s"
budget = {budget}
method = "{method}"
seed = 3

[objective]
python = "model:f"

[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
"""
RUNNING = Running(3, 12, datetime(2026, 5, 4, 13, 7, tzinfo=UTC), 30)

OF_A_FILE = SimpleNamespace(file=SimpleNamespace(path=Path("press.toml")))  # all of a ledger


def prepare(folder, model="def f(p):\n    return -p['x']\n", budget=4, method="sobol"):
    (folder / "s.toml").write_text(STUDY.format(budget=budget, method=method))
    (folder / "model.py").write_text(model)


def done(complete, failed=0, budget=12):
    return Progress(complete, failed, 1, 0, 0, 0, budget)


class Clock:
    """Time that passes when it is told to, and while reports are made."""

    def __init__(self, cost=1.0):
        self.time, self.cost, self.made = 0.0, cost, []

    def __call__(self):
        return self.time

    def report_of(self, ledger):
        self.time += self.cost
        self.made.append(self.time)
        return made_up.one_parameter()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(live, "report_of", clock.report_of)
    return clock


# ---- when it is written


def test_reports_take_a_tenth_of_the_time(folder, clock):
    report = LiveReport(OF_A_FILE, folder / "r.html", clock)
    spent = []
    clock.cost = 20.0
    for second in range(2000):
        clock.time += 1.0
        report.look(done(1 + second))
        spent.append(clock.cost * len(clock.made) / clock.time)
    assert len(clock.made) >= 5
    assert all(share <= 0.11 for share in spent[300:])
    assert min(b - a for a, b in zip(clock.made, clock.made[1:], strict=False)) >= EVERY


def test_it_waits_for_values_and_for_something_new(folder, clock):
    report = LiveReport(OF_A_FILE, folder / "r.html", clock)
    report.look(done(1))
    assert not clock.made  # too early
    clock.time = FIRST
    report.look(done(0, failed=3))
    assert not clock.made
    report.look(done(1, failed=3))
    assert len(clock.made) == 1
    clock.time += 100 * EVERY
    report.look(done(1, failed=3))
    assert len(clock.made) == 1
    report.look(done(2, failed=3))
    assert len(clock.made) == 2
    assert "±" in report.best
    assert "after" in report.best


def test_the_last_one_does_not_say_that_it_runs(folder, clock):
    path = folder / "r.html"
    with kept_current(OF_A_FILE, path) as report:
        report._begun = -FIRST
        report._clock = clock
        report.look(done(4))
        text = path.read_text("utf-8")
        assert re.search(r"Running: 4 of 12 trials\. Written at \d\d:\d\d", text)
        assert 'data-again="30"' in text
    assert 'id="running"' not in path.read_text("utf-8")


def test_after_an_interrupt_the_last_one_no_longer_says_that_it_runs(folder, clock):
    path = folder / "r.html"

    def interrupted():
        with kept_current(OF_A_FILE, path) as report:
            report._begun = -FIRST
            report._clock = clock
            report.look(done(4))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(clock.made) == 1  # nothing is computed any more
    assert 'id="running"' not in path.read_text("utf-8")
    assert page.is_report(path)


def test_a_report_that_fails_is_a_warning_once(folder, clock, capsys, monkeypatch):
    def fails(ledger):
        raise RuntimeError("no model\n\x1b[2J")

    monkeypatch.setattr(live, "report_of", fails)
    report = LiveReport(OF_A_FILE, folder / "r.html", clock)
    for complete in range(1, 5):
        clock.time += 1000.0
        report.look(done(complete))
    report.finish()
    said = capsys.readouterr().err
    assert said.count("could not be written: no model") == 1
    assert "\x1b" not in said
    assert not (folder / "r.html").exists()


@pytest.mark.parametrize(("direction", "best"), [("maximize", "7.5"), ("minimize", "-2")])
def test_the_bar_names_the_best_that_was_measured(folder, direction, best):
    prepare(folder)
    text = (
        (folder / "s.toml").read_text().replace("seed = 3", f'seed = 3\ndirection = "{direction}"')
    )
    (folder / "s.toml").write_text(text)
    ledger = open_ledger(read_study("s.toml"))
    assert "best measured" not in watch._said(ledger, done(0), None)
    now = replace(done(3), measured=(-2.0, 7.5))
    assert watch._said(ledger, now, None)["best measured"] == best
    report = LiveReport(ledger, folder / "r.html")
    report.best = "7.1 ± 0.2 after 3"
    said = watch._said(ledger, now, report)
    assert said["robust value"] == report.best
    assert "best measured" not in said


# ---- the page


def test_the_same_report_is_the_same_text():
    report = replace(made_up.two_parameters(), running=RUNNING)
    text = page.html(report)
    assert text == page.html(report)
    assert "Running: 3 of 12 trials. Written at 13:07, 2026-05-04." in text
    assert "Running: 3 trials." in page.html(replace(report, running=replace(RUNNING, budget=None)))
    assert "http-equiv=refresh" not in page.html(made_up.two_parameters())
    assert 'id="running"' not in page.html(made_up.two_parameters())


# ---- the command


def test_a_run_writes_its_report_at_the_end(folder):
    prepare(folder)
    typed("run", "s.toml", "--report", "--quiet")
    assert "4 complete" in (folder / "s.html").read_text("utf-8")
    typed("run", "--report", "s.toml", "--quiet")  # nothing is left to do


@pytest.mark.parametrize("words", [["--report", "other.html"], ["--report=other.html"]])
def test_the_report_of_a_run_has_a_name(folder, words):
    prepare(folder, budget=2)
    typed("run", *words, "s.toml", "--quiet")
    assert page.is_report(folder / "other.html")
    assert not (folder / "s.html").exists()


def test_it_overwrites_nothing_else(folder):
    prepare(folder)
    (folder / "s.html").write_text("mine")
    assert "is no report" in typed("run", "s.toml", "--report", code=2).stderr
    for name in ("s.toml", "nowhere/r.html"):
        typed("run", "s.toml", f"--report={name}", code=2 if name == "s.toml" else 1)
    assert (folder / "s.html").read_text() == "mine"
    assert not (folder / "begun").exists()


def test_a_report_that_cannot_be_written_does_not_fail_the_run(folder, monkeypatch):
    prepare(folder)

    def full(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(page, "write", full)
    ended = typed("run", "s.toml", "--report", "--quiet")
    assert "4 of 4 done" in ended.output
    assert "the report s.html could not be written: no space left" in ended.stderr


@thorough
def test_designs_do_not_depend_on_reports(folder, monkeypatch):
    monkeypatch.setattr(live, "FIRST", 0.0)
    monkeypatch.setattr(live, "EVERY", 0.0)
    monkeypatch.setattr(live, "SHARE", 1e9)
    values = []
    for place, words in (("with", ["--report"]), ("without", [])):
        inner = folder / place
        inner.mkdir()
        prepare(inner, budget=5, method="ei")
        monkeypatch.chdir(inner)
        typed("run", "s.toml", "--quiet", *words)
        table = typed("status", "s.toml", "--csv").output
        values.append([line.split(",")[:3] for line in table.splitlines()])
    assert values[0] == values[1]


@thorough
def test_several_workers_have_one_report(folder):
    prepare(folder)
    typed("run", "s.toml", "--report", "--quiet", "--workers", "2")
    assert "4 complete" in (folder / "s.html").read_text("utf-8")
    assert [path.name for path in folder.glob(".s.html*")] == []


@thorough
def test_an_interrupted_run_leaves_a_whole_report_or_none(folder):
    prepare(folder, "import time\ndef f(p):\n    time.sleep(0.3)\n    return p['x']\n", budget=900)
    command = Command(folder, "run", "s.toml", "--report", "--quiet")
    end = time.monotonic() + 120
    while not (folder / "s.html").exists() and time.monotonic() < end:
        time.sleep(0.2)
    command.send_signal(signal.SIGINT)
    assert "interrupted" in command.communicate(60)[1]
    assert (folder / "s.html").exists()
    text = (folder / "s.html").read_text("utf-8")
    assert text.endswith("</html>\n")
    assert 'id="running"' not in text
