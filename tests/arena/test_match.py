"""Runs in the arena: the same start for all, and every way to fail."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fake_entrants import entrant
from meseta.arena import guest, keeper, match
from meseta.arena.common_rule import common_rule
from meseta.arena.match import Rules, initial_design
from meseta.arena.record import ArenaRecord, Entry, checkpoints
from meseta.bench import one_run
from meseta.bench.job import Job
from meseta.problems import get

JOB = Entry("sin-linear", "fake", 0, 5)


@pytest.fixture(autouse=True)
def _quick_rule(monkeypatch):
    """The common rule takes most of the time, and has a test of its own."""
    monkeypatch.setattr(match, "common_rule", lambda problem, x, values, seed: x[0])


def gone(pid):
    """Whether a process has ended."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # dead, and nobody has asked for it
            return True
        time.sleep(0.05)
    return False


def play(folder, job=JOB, **limits):
    return Rules(folder, **limits).play(job)


def test_a_run_has_both_regrets_at_every_checkpoint(tmp_path):
    entrant(tmp_path)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert record.checkpoints == (3, 4, 5)
    problem = get("sin-linear")
    for rule, regrets in (("own", record.own), ("common", record.common)):
        x = [problem.row(params) for params in record.recommended[rule]]
        assert regrets == pytest.approx(problem.regret(x))
    assert len(record.x) == 5
    assert record.asked == 2
    assert len(record.elapsed()) == 3
    assert record.versions["python"]
    again = ArenaRecord.from_json(record.to_json())
    assert again.job == record.job
    assert again.regrets("own") == pytest.approx(record.own, rel=1e-8)


def test_one_that_recommends_by_the_common_rule_is_checked_at_the_end(tmp_path, monkeypatch):
    asked = []

    def rule(problem, x, values, seed):
        asked.append(len(x))
        return x[0]

    monkeypatch.setattr(match, "common_rule", rule)
    first = "def tell(self, params, values): self.first = getattr(self, 'first', params)\n"
    first += "def recommend(self): return self.first"
    entrant(tmp_path, method=first, by_common_rule=True)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert asked == [5]
    assert record.recommended["own"] == record.recommended["common"] == [record.x[0]] * 3
    entrant(tmp_path, by_common_rule=True)
    record = play(tmp_path)
    assert record.state == "failed"
    assert "leave by_common_rule out" in record.error
    assert record.regrets("common")[-1] == record.common[-1] != record.own[-1]


def test_our_entrants_recommend_by_the_common_rule(monkeypatch):
    """With the real rule: in a process of their own, and told one by one."""
    monkeypatch.setattr(match, "common_rule", common_rule)
    ours = Path(__file__).parents[2] / "benchmarks" / "arena"
    record = play(ours, Entry("borehole", "sobol", 0, get("borehole").num_initial))
    assert record.state == "complete", record.error
    assert record.recommended["own"] == record.recommended["common"]


def test_all_entrants_start_from_the_same_experiments_as_in_bench(tmp_path):
    entrant(tmp_path, "one")
    entrant(tmp_path, "two", method="def value(self, each): return each['low']")
    one, two = (play(tmp_path, Entry("gmm", name, 3, 6)) for name in ("one", "two"))
    assert one.x[:5] == two.x[:5]
    assert one.values[:5] == two.values[:5]
    assert one.x[5] != two.x[5]
    # the same noise of the observation, of other experiments
    problem = get("gmm")
    noise = [run.values[5]["value"] - problem.f([problem.row(run.x[5])])[0] for run in (one, two)]
    assert noise[0] == pytest.approx(noise[1], abs=1e-12)
    job = Job("gmm", "rkg", (), 3, "default", 6)
    bench = one_run.initial_design(job, problem)
    assert np.array([problem.row(x) for x in initial_design(problem, 3)]) == pytest.approx(bench)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("def ask(self): raise KeyError('lost')", "KeyError: 'lost'"),
        ("def ask(self): return {'x': float('nan')}", "finite number, got nan"),
        ("def ask(self): return {'x': 2.0}", "from 0 to 1, got 2.0"),
        ("def ask(self): return {'y': 0.5}", "must return x and nothing else, got y"),
        ("def ask(self): return {}", "must return x"),
        ("def ask(self): return [0.5]", "must return a dict"),
        ("def ask(self): return {'x': '0,5'}", "finite number, got '0,5'"),
        ("def ask(self): return {'x': True}", "finite number, got True"),
        ("def ask(self): return {'x': object()}", "no plain number"),
        ("def ask(self):\n  import os, sys; sys.stderr.write('ouch'); os._exit(3)", "exit code 3"),
        ("def recommend(self): return {'x': -0.1}", "from 0 to 1, got -0.1"),
        ("def recommend(self): return None", "must return a dict, got None"),
        ("def __init__(self, task): 1 / 0", "ZeroDivisionError"),
        ("def tell(self, params, values): raise ValueError('no')", "ValueError: no"),
        ("import no_such_package", "No module named 'no_such_package'"),
        ("def ask(self): return {'x': 10**400}", "finite number, got 1000"),
        ("def ask(self): return {'\\ud800x': 0.5}", "nothing else, got \\ud800x"),
        ("def ask(self): return input()", "EOFError"),
    ],
)
def test_a_run_that_fails_says_why_and_counts(tmp_path, method, said):
    entrant(tmp_path, method=method)
    record = play(tmp_path)
    assert record.state == "failed"
    assert said in record.error
    assert record.reason
    told = record.own[-1] if len(record.own) else get("sin-linear").worst_regret
    assert record.regrets("own")[-1] == told
    assert record.regrets("own").shape == record.regrets("common").shape == (3,)
    assert np.isfinite(ArenaRecord.from_json(record.to_json()).regrets("own")).all()


@pytest.mark.parametrize("limits", [{"run_seconds": 0.5}, {"step_seconds": 0.5}])
@pytest.mark.parametrize("does", ["time.sleep(60)", "[0 for _ in iter(busy, True)]"])
def test_a_slow_entrant_is_ended(tmp_path, limits, does):
    """One that waits by the clock, one that computes by the processor."""
    busy = "busy = lambda: time.process_time() > began + 1"
    method = f"def ask(self):\n  import time; began = time.process_time(); {busy}; {does}"
    entrant(tmp_path, method=method)
    record = play(tmp_path, **limits)
    assert record.state == "failed"
    assert record.reason.startswith("too slow: ask")
    assert len(record.own) == 1  # after the initial design


def test_a_long_answer_is_not_kept_whole(tmp_path):
    entrant(tmp_path, method="def ask(self): return [0] * 3_000_000")
    assert len(play(tmp_path).error) < 1000
    entrant(tmp_path, method="def ask(self): raise ValueError('x' * 3_000_000)")
    assert len(play(tmp_path).error) < 7000


def test_the_reason_of_a_death_is_not_what_it_printed(tmp_path):
    entrant(tmp_path, method="def ask(self):\n  import os; os.write(1, b'all fine'); os._exit(3)")
    record = play(tmp_path)
    assert record.reason == "it died in ask, exit code 3"
    assert "all fine" in record.error


def test_only_the_end_of_what_it_printed_is_kept(tmp_path):
    """It may print more than a disk has room for, and through a program that it has started."""
    loud = """def ask(self):
  import os, sys
  for _ in range(20): sys.stderr.write("loud " * 200_000)
  os.system("echo at last")
  os._exit(3)"""
    entrant(tmp_path, method=loud)
    record = play(tmp_path)
    assert record.reason == "it died in ask, exit code 3"
    assert "loud at last" in record.error
    assert guest.TAIL <= len(record.error) < guest.TAIL + 100


def test_an_interpreter_that_talks_fails_its_own_run_only(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho Loading environment\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    entrant(tmp_path, python="python")
    record = play(tmp_path)
    assert record.state == "failed"
    assert "wrote where only answers are expected: b'Loading environment" in record.reason


def test_a_file_that_was_broken_meanwhile_fails_its_own_run_only(tmp_path):
    (tmp_path / "fake.py").write_text("def")
    assert "no Python file" in play(tmp_path).reason


def test_names_of_files_hide_no_packages(tmp_path):
    for name in ("queue", "optuna", "numpy"):
        entrant(tmp_path, name)
    imports = "import optuna.distributions, queue; queue.Queue()"
    entrant(tmp_path, method=f"def recommend(self):\n  {imports}; return {{'x': 0.5}}")
    record = play(tmp_path)
    assert record.state == "complete", record.error


def test_what_a_dead_entrant_started_is_ended(tmp_path):
    """It holds the pipe of the answers open, so the death is not seen by that."""
    method = """
def ask(self):
    import os, subprocess, sys
    sleeper = subprocess.Popen(["sleep", "77"], close_fds=False)
    open("PID", "w").write(str(sleeper.pid))
    os._exit(3)
"""
    entrant(tmp_path, method=method.replace("PID", str(tmp_path / "pid")))
    started = time.monotonic()
    assert play(tmp_path).reason == "it died in ask, exit code 3"
    assert time.monotonic() - started < 40
    assert gone(int((tmp_path / "pid").read_text()))


def test_an_interpreter_that_hangs_is_given_up(tmp_path, monkeypatch):
    """Also where it does not read the task, which is longer than the pipe holds."""
    monkeypatch.setattr(guest, "IMPORTS", 0.0)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    entrant(tmp_path, python="python")
    record = play(tmp_path, Entry("hartmann6", "fake", 0, 12), run_seconds=0.2)
    assert record.reason.startswith("too slow: enter had not ended after 1 s on the clock")


def test_work_between_calls_counts(tmp_path, monkeypatch):
    method = """
def __init__(self, task):
    import threading, time
    self.task, self.told = task, []
    self.rng = np.random.default_rng(task.seed)
    def busy():
        while time.process_time() < 30: pass
    threading.Thread(target=busy, daemon=True).start()
"""
    monkeypatch.setattr(match, "common_rule", lambda problem, x, *_: time.sleep(0.4) or x[0])
    entrant(tmp_path, method=method)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert record.duration > 0.4  # three times 0.4 s on a clock, on a machine that has other work


def test_what_tell_returns_does_not_matter(tmp_path):
    entrant(
        tmp_path,
        method="def tell(self, params, values): self.told.append((0, params)); return self",
    )
    assert play(tmp_path).state == "complete"


def test_a_loud_entrant_disturbs_nothing(tmp_path):
    loud = """
def recommend(self):
    import os, sys
    print('{"result": {"x": 0.9}, "seconds": 0}' * 5000)
    os.write(1, b'{"result": 1}\\n')
    sys.__stdout__.write("é\\n")
    os.system("echo from a child")
    return {"x": np.float64(0.5)}
"""
    entrant(tmp_path, method=loud)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert record.recommended["own"] == [{"x": 0.5}] * 3


def test_seconds_are_those_of_the_processor_and_of_what_it_started(tmp_path):
    """So a machine that has other work to do makes nobody slow, and nobody hides work."""
    method = """
def ask(self):
    import time
    time.sleep(0.5)
    return {"x": 0.5}
def recommend(self):
    import subprocess, sys
    busy = "import time\\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-I", "-c", busy], check=True)
    return {"x": 0.5}
"""
    entrant(tmp_path, method=method)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert max(record.seconds["ask"]) < 0.25
    assert min(record.seconds["recommend"]) >= 0.3


SERVER = """
def served(self, seconds):
    import subprocess, sys
    if not hasattr(self, "server"):
        code = (
            "import sys, time\\n"
            "for line in sys.stdin:\\n"
            "    end = time.process_time() + float(line)\\n"
            "    while time.process_time() < end: pass\\n"
            "    print(flush=True)\\n"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, "-I", "-c", code]
        self.server = subprocess.Popen(command, **pipes, start_new_session=True, env={})
    self.server.stdin.write(f"{seconds}\\n")
    self.server.stdin.flush()
    self.server.stdout.readline()
"""
ONLY_LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="other systems do not tell who started a process"
)


@pytest.fixture
def _any_time_on_the_clock(monkeypatch):
    """Only seconds of the processor decide: the machine may have any other work to do."""
    monkeypatch.setattr(guest, "SHARED", 1000.0)


@ONLY_LINUX
@pytest.mark.usefixtures("_any_time_on_the_clock")
def test_what_a_helper_process_computes_counts_and_is_limited(tmp_path):
    """One that is never waited for, in a session of its own."""
    method = SERVER + "def ask(self):\n    self.served(0.5)\n    return {'x': 0.5}"
    entrant(tmp_path, method=method)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert min(record.seconds["ask"]) >= 0.45  # clock ticks
    assert max(record.seconds["ask"]) < 0.9
    assert play(tmp_path, step_seconds=0.3).reason.startswith("too slow: ask took 0.")


@ONLY_LINUX
def test_a_script_that_starts_the_interpreter_is_no_helper(tmp_path):
    """Its seconds would count twice."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n{sys.executable} "$@"\n')
    python.chmod(0o755)
    busy = "import time; end = time.process_time() + 0.4\n  while time.process_time() < end: pass"
    entrant(tmp_path, python="python", method=f"def ask(self):\n  {busy}\n  return {{'x': 0.5}}")
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert max(record.seconds["ask"]) < 0.7


@ONLY_LINUX
def test_what_is_in_a_session_of_its_own_ends_with_the_run(tmp_path):
    method = SERVER + "def ask(self):\n    self.served(0.0)\n    open('PID', 'w').write("
    method += "str(self.server.pid))\n    return {'x': 0.5}"
    entrant(tmp_path, method=method.replace("PID", str(tmp_path / "pid")))
    assert play(tmp_path).state == "complete"
    assert gone(int((tmp_path / "pid").read_text()))


# The number of a process that has lost its parent, in a session and an environment of its own.
ORPHAN = """
def orphan(self):
    import os, subprocess, sys
    code = (
        "import subprocess, sys\\n"
        "own = {'env': {}, 'start_new_session': True, 'stdout': subprocess.DEVNULL}\\n"
        "print(subprocess.Popen(['sleep', '1000'], **own).pid)"
    )
    command = [sys.executable, "-I", "-c", code]
    pid = subprocess.run(command, env={}, stdout=subprocess.PIPE).stdout
    open("PID.new", "wb").write(pid)
    os.rename("PID.new", "PID")
def ask(self):
    import os, signal, time
    self.orphan()
    END
    return {"x": 0.5}
"""


def leaves_an_orphan(folder, end="pass"):
    method = ORPHAN.replace("PID", str(folder / "pid")).replace("END", end)
    entrant(folder, method=method)


@ONLY_LINUX
@pytest.mark.parametrize(
    "end", ["pass", "os._exit(3)", "os.killpg(0, signal.SIGKILL)", "time.sleep(100)"]
)
def test_an_orphan_that_hides_ends_with_the_run(tmp_path, end):
    leaves_an_orphan(tmp_path, end)
    record = play(tmp_path, step_seconds=1.0)
    assert (record.state == "complete") == (end == "pass")
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


@ONLY_LINUX
def test_a_hidden_orphan_ends_with_a_campaign_that_is_killed(tmp_path):
    leaves_an_orphan(tmp_path, "time.sleep(1000)")
    code = "from meseta.arena.match import *; from pathlib import Path; "
    code += f"Rules(Path({str(tmp_path)!r})).play(Entry('sin-linear', 'fake', 0, 5))"
    with subprocess.Popen([sys.executable, "-c", code]) as campaign:
        while not (tmp_path / "pid").exists():
            assert campaign.poll() is None
            time.sleep(0.05)
        campaign.kill()
    assert gone(int((tmp_path / "pid").read_text()))


@ONLY_LINUX
@pytest.mark.usefixtures("_any_time_on_the_clock")
def test_what_an_orphan_has_computed_counts_when_it_has_ended(tmp_path):
    busy = "while __import__('time').process_time() < 0.4: pass"
    code = f'import subprocess, sys; subprocess.Popen([sys.executable, "-I", "-c", "{busy}"])'
    method = f"""
def ask(self):
    import subprocess, sys  # the output ends when the last process that holds it has
    subprocess.run([sys.executable, "-I", "-c", {code!r}], stdout=subprocess.PIPE, env={{}})
    return {{"x": 0.5}}
"""
    entrant(tmp_path, method=method)
    record = play(tmp_path)
    assert record.state == "complete", record.error
    assert min(record.seconds["ask"]) >= 0.35  # clock ticks


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_a_system_without_adoption_ends_the_group_of_an_entrant(tmp_path, monkeypatch):
    monkeypatch.setattr(keeper, "can_adopt", lambda: False)
    test_what_a_dead_entrant_started_is_ended(tmp_path)


def test_a_run_has_five_times_its_seconds_on_the_clock(tmp_path):
    """However many calls share them."""
    slow = "import time; time.sleep(0.3); self.told.append((0, params))"
    entrant(tmp_path, method=f"def tell(self, params, values):\n  {slow}")
    record = play(tmp_path, Entry("sin-linear", "fake", 0, 20), run_seconds=0.3)
    assert record.state == "failed"
    assert "on the clock" in record.reason
    assert 3 <= len(record.x) <= 6


@pytest.mark.usefixtures("_any_time_on_the_clock")
def test_the_limit_of_a_run_is_said_as_it_was(tmp_path):
    busy = "import time; end = time.process_time() + 0.5\n  while time.process_time() < end: pass"
    entrant(tmp_path, method=f"def ask(self):\n  {busy}\n  return {{'x': 0.5}}")
    record = play(tmp_path, run_seconds=0.8)
    assert "(what was left of the 0.8 s of a run)" in record.reason


@pytest.mark.parametrize(
    "answer",
    [
        '{"result": null, "seconds": NaN}',
        '{"result": null, "seconds": -1e9}',
        '{"result": null, "seconds": 1e999}',
        "[" * 200_000,
    ],
)
def test_an_answer_that_is_none_fails_its_own_run_only(tmp_path, answer):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nread line\ncat {tmp_path}/answer\nread line\n")
    python.chmod(0o755)
    (tmp_path / "answer").write_text(answer + "\n")
    entrant(tmp_path, python="python")
    record = play(tmp_path)
    assert record.state == "failed"
    assert "wrote where only answers are expected" in record.reason


@ONLY_LINUX
def test_memory_has_a_limit(tmp_path):
    entrant(tmp_path, method="def ask(self): return {'x': float(bytearray(2**31)[0])}")
    assert play(tmp_path).state == "complete"
    assert play(tmp_path, memory=2.0**30).reason == "MemoryError"


def test_a_little_beyond_the_end_is_rounding(tmp_path):
    entrant(tmp_path, method="def ask(self): return {'x': 1 + 1e-9}")
    assert play(tmp_path).x[-1] == {"x": 1.0}


def test_an_interpreter_that_is_not_there(tmp_path):
    entrant(tmp_path, python="nowhere/bin/python")
    assert "does not start" in play(tmp_path).error


def test_where_the_common_rule_fails_the_run_does_not(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("singular")

    monkeypatch.setattr(match, "common_rule", broken)
    entrant(tmp_path)
    record = play(tmp_path)
    assert record.state == "complete"
    assert len(record.messages) == 3
    assert "singular" in record.messages[0]


def test_checkpoints_are_few_and_end_with_the_budget():
    assert checkpoints(5, 70) == (5, 13, 21, 29, 38, 46, 54, 62, 70)
    assert checkpoints(3, 5) == (3, 4, 5)
    assert checkpoints(3, 3) == (3,)
