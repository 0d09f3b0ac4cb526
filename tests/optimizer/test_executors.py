"""Runs by the workers of an executor: nothing is lost, nothing is doubled, whatever happens."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from concurrent.futures import ThreadPoolExecutor as Threads
from functools import partial
from importlib.util import find_spec

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evaluated
import meseta
from evaluated import hill
from examples import examples, thorough
from meseta import Environment, Normal, maximize
from meseta.optimizer import deserted, executors
from meseta.optimizer.called import arrived
from meseta.optimizer.evaluation import DEATHS
from meseta.problems import get

# where Python says so: whatever is forked here computes nothing that another thread could hold
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

LINE = {"x": (0.0, 1.0)}
NOISE = {"x": Normal(0.05)}


def processes(number, start="fork"):
    return ProcessPoolExecutor(number, mp_context=multiprocessing.get_context(start))


def quietly(f, space=LINE, **options):
    return maximize(
        f, space, **{"noise": NOISE, "progress": False, "method": "sobol", "seed": 0, **options}
    )


def check(result, budget, f=hill):
    """Exactly the budget, each trial told once, each value at its own design."""
    assert len(result.trials) == len(result.history) == budget
    assert {trial.state for trial in result.trials} <= {"complete", "failed"}
    for trial in result.trials:
        assert trial.state == "failed" or trial.value == f(trial.params)
    assert not result.interrupted


# What is the same with and without an executor


@pytest.mark.parametrize("workers", [1, 3, 30])
def test_a_run_of_failures_gives_up_and_leaves_nothing_in_hand(workers):
    with (
        pytest.warns(RuntimeWarning, match="failed"),
        pytest.raises(meseta.run.EvaluationsFailed) as caught,
        Threads(workers) as pool,
    ):
        quietly(lambda p: 1 / 0, executor=pool, workers=workers, budget=20, give_up=4)
    error = caught.value
    assert {trial.state for trial in error.trials} == {"failed"}
    assert 4 <= len(error.trials) <= min(20, 3 + workers)
    assert error.left == 20 - len(error.trials)


def test_what_is_in_hand_may_still_have_a_value_and_then_the_run_goes_on():
    failed = threading.Semaphore(0)

    def f(p):
        if p["x"] == 0.5:
            for _ in range(4):
                assert failed.acquire(timeout=30)
            return 1.0
        failed.release()
        return None

    initial = [{"x": x} for x in (0.5, 0.1, 0.2, 0.3, 0.4)]
    with Threads(2) as pool:
        result = quietly(f, executor=pool, workers=2, budget=8, give_up=4, initial=initial)
    assert [trial.state for trial in result.trials] == ["complete", *["failed"] * 7]


def test_one_worker_gives_what_no_executor_gives():
    options = {"budget": 6, "method": "rkg", "num_initial": 3}
    alone = quietly(hill, **options)
    with Threads(1) as pool:
        other = quietly(hill, executor=pool, workers=1, **options)
    assert other.trials == alone.trials
    pd.testing.assert_frame_equal(other.history, alone.history)
    assert (other.params, other.mean, other.std) == (alone.params, alone.mean, alone.std)


@pytest.mark.parametrize(("start", "f"), [("fork", hill), ("spawn", evaluated.says_what_is_loaded)])
def test_processes_evaluate_and_new_ones_do_so_without_torch(start, f):
    with processes(2, start) as pool:
        result = quietly(f, executor=pool, workers=2, budget=5)
        check(result, 5)
        assert pool.submit(abs, -1).result() == 1  # it is the user's, and goes on


def test_nor_do_processes_load_torch_for_constraints():
    limits = {"stress": meseta.AtMost(1.0)}
    with processes(2, "spawn") as pool, pytest.raises(TypeError, match="constraint on 'stress'"):
        quietly(
            evaluated.says_what_is_loaded, executor=pool, workers=2, budget=5, constraints=limits
        )


def test_minimize_has_workers_too_and_pending_designs_are_known():
    together = threading.Barrier(4, timeout=20)

    def f(params):
        together.wait()  # as many at a time as there are workers, or nobody gets on
        return params["x"]

    result = meseta.minimize(
        f, LINE, budget=8, executor=Threads, workers=4, progress=False, num_initial=2
    )
    check(result, 8, lambda params: params["x"])
    assert len({trial.params["x"] for trial in result.trials}) == 8


def test_a_slow_first_evaluation_holds_up_nobody():
    others_done = threading.Event()
    ended = []

    def f(params):
        if not ended and first.acquire(blocking=False):
            assert others_done.wait(20)
        return hill(params)

    def callback(optimizer, trial):
        ended.append(trial.number)
        if len(ended) == 5:
            others_done.set()

    first = threading.Lock()
    with Threads(2) as pool:
        result = quietly(f, executor=pool, workers=2, budget=6, callback=callback)
    check(result, 6)
    assert ended[-1] == 0
    assert sorted(ended) == list(range(6))


def test_work_is_handed_out_before_a_recommendation_is_made(monkeypatch):
    recommend = meseta.Optimizer.recommend
    in_hand = []

    def watched(self, **how):
        in_hand.append(sum(trial.state == "pending" for trial in self.trials))
        return recommend(self, **how)

    monkeypatch.setattr(meseta.Optimizer, "recommend", watched)
    with Threads(1) as pool:
        quietly(hill, executor=pool, workers=1, budget=4)
    assert in_hand == [1, 1, 1, 0, 0]  # the last: for the result


@pytest.mark.parametrize("how", ["awkward", "unpicklable", "result", "exit", "error"])
def test_whatever_f_does_fails_as_it_does_here_and_breaks_no_pool(how):
    f = partial(evaluated.fails, how)
    with pytest.warns(RuntimeWarning, match="an evaluation of f failed") as here:
        alone = quietly(f, budget=5)
    with processes(2) as pool, pytest.warns(RuntimeWarning) as there:
        result = quietly(f, executor=pool, workers=2, budget=5)
    assert len(here) == len(there) == 1
    assert there[0].filename == here[0].filename == __file__

    def plain(trials):  # the address of a function is not the same
        return [(t.params, t.state, (t.error or "").split(" at 0x")[0]) for t in trials]

    assert plain(result.trials) == plain(alone.trials)
    assert [t.state for t in result.trials if t.params["x"] > 0.5] == ["failed"] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize("pool", [None, processes])
def test_a_fork_of_f_is_no_second_run(pool, capfd):
    make = None if pool is None else partial(pool, 1)
    workers = None if pool is None else 1
    check(quietly(evaluated.forks, executor=make, workers=workers, budget=3), 3)
    assert capfd.readouterr().err.count("the fork returned: it is ended") == 3


def test_the_first_error_of_f_travels_with_its_traceback():
    with (
        processes(2) as pool,
        pytest.warns(RuntimeWarning),
        pytest.raises(meseta.run.EvaluationsFailed) as caught,
    ):
        quietly(partial(evaluated.fails, "error"), {"x": (0.6, 1.0)}, executor=pool, workers=2,
                budget=3)  # fmt: skip
    assert isinstance(caught.value.__cause__, OSError)
    assert "in fails" in caught.value.__cause__.__notes__[0]
    assert len(caught.value.trials) == 3


def test_a_loud_f_is_heard_and_no_more(capfd):
    with processes(2) as pool:
        check(quietly(evaluated.loud, executor=pool, workers=2, budget=4), 4)
    assert "louder" in capfd.readouterr().err


def test_an_observed_environment_and_several_outcomes():
    def f(params):
        assert "t" not in params
        return {"value": params["x"], "stress": 2.0, "executed": {"t": 19.0}}

    room = {"x": (0.0, 1.0), "t": (10.0, 30.0)}
    noise = {**NOISE, "t": Environment(Normal(2.0, mean=20.0), observed=True)}
    options = {"noise": noise, "constraints": {"stress": meseta.AtMost(3.0)}, "workers": 3}
    result = quietly(f, room, budget=5, executor=Threads, **options)
    assert [trial.params["t"] for trial in result.trials] == [19.0] * 5
    assert [trial.outcomes["stress"] for trial in result.trials] == [2.0] * 5
    with pytest.raises(TypeError, match="'t' is observed") as caught:
        quietly(hill, room, budget=5, executor=Threads, **options)
    assert caught.value.optimizer.history.empty


def test_the_bar_counts_all(capsys):
    with Threads(3) as pool:
        quietly(hill, executor=pool, workers=3, budget=7, progress=True)
    assert "7/7" in capsys.readouterr().err


# What is refused


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"workers": 3}, "workers=3 needs an executor"),
        ({"executor": Threads}, "workers is missing"),
        ({"executor": Threads, "workers": 0}, "workers must be at least 1"),
        ({"executor": Threads, "workers": 2.5}, "workers must be a whole number"),
        ({"executor": 8, "workers": 8}, r"must be a concurrent\.futures\.Executor.*get_executor"),
        ({"executor": dict, "workers": 8}, r"must return a concurrent\.futures\.Executor"),
        ({"f": get("rkhs"), "space": None, "executor": Threads, "workers": 2}, "evaluated here"),
    ],
)
def test_executors_that_make_no_sense_are_refused(options, expected):
    def f(params):
        raise AssertionError("f was called")

    options = {"f": f, "space": LINE, "budget": 4, **options}
    with pytest.raises((TypeError, ValueError), match=expected):
        maximize(options.pop("f"), options.pop("space"), progress=False, **options)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("f", "start", "expected"),
    [
        (lambda params: 1.0, "fork", "did not reach a worker.*ickle.*not a lambda"),
        (threading.Lock().acquire, "fork", "did not reach a worker.*pickle"),
        (evaluated.Unreachable(), "fork", "did not reach a worker.*a module that they can import"),
    ],
)
def test_an_f_that_does_not_reach_the_workers_costs_nothing(f, start, expected, own, capfd):
    pool = processes(2, start)
    executor = pool if own else partial(processes, 2, start)
    with pool, pytest.raises(RuntimeError, match=expected) as caught:
        quietly(f, executor=executor, workers=2, budget=5)
    assert caught.value.optimizer.trials == ()


def test_an_executor_that_was_shut_down():
    pool = Threads(2)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        quietly(hill, executor=pool, workers=2, budget=5)


def test_a_long_silence_is_said(monkeypatch):
    monkeypatch.setattr(executors, "PATIENCE", 0.1)
    monkeypatch.setattr(executors, "POLL", 0.05)
    with Threads(1) as pool:
        pool.submit(time.sleep, 0.5)
        with pytest.warns(RuntimeWarning, match=r"no worker .* has answered"):
            result = quietly(hill, executor=pool, workers=2, budget=3)
    check(result, 3)


# Lost workers


class Fated(Executor):
    """Evaluates in any order, loses workers, cancels and refuses as its fates say."""

    def __init__(self, fates, seed=0):
        self.fates, self.random = fates, random.Random(seed)
        self.lock, self.waiting, self.submitted = threading.Condition(), [], 0
        threading.Thread(target=self.work, daemon=True).start()

    def submit(self, function, *arguments):
        future = Future()
        with self.lock:
            self.submitted += function is not arrived
            if function is not arrived and self.submitted == self.fates.get("refuses"):
                raise RuntimeError("no more, thank you")
            self.waiting.append((future, function, arguments))
            self.lock.notify()
        return future

    def work(self):
        while True:
            with self.lock:
                self.lock.wait_for(lambda: self.waiting)
                if self.waiting == [None]:
                    return
                index = self.random.randrange(len(self.waiting))
                future, function, arguments = self.waiting.pop(index)
            if not future.set_running_or_notify_cancel():
                continue
            fate = "answer" if function is arrived else self.fate(arguments)
            if fate == "answer":
                future.set_result(function(*arguments))
            elif fate == "cancelled":
                future.set_exception(CancelledError())
            elif fate == "nonsense":
                future.set_result(None)
            else:
                future.set_exception(ConnectionError("no route to host"))

    def fate(self, arguments):
        return self.fates["of"](arguments[1]["x"])

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self.lock:
            self.waiting = [None]
            self.lock.notify()


@given(
    workers=st.integers(1, 5),
    budget=st.integers(1, 8),
    fates=st.lists(st.sampled_from(["answer", "answer", "lost", "cancelled", "nonsense"])),
    seed=st.integers(0, 5),
)
@examples(8)
@pytest.mark.filterwarnings("ignore:a worker was lost", "ignore:an evaluation of f failed")
def test_nothing_is_lost_or_doubled_in_any_order(workers, budget, fates, seed):
    seen = {}

    def f(params):
        seen[params["x"]] = seen.get(params["x"], 0) + 1
        return 1.0

    def fate(x):
        deaths[x] = deaths.get(x, 0)
        what = next(stream, "answer")
        deaths[x] += what != "answer"
        return what

    deaths, stream = {}, iter(fates)
    pool = Fated({"of": fate}, seed)
    try:
        result = quietly(f, executor=pool, workers=workers, budget=budget)
    except meseta.run.EvaluationsFailed as error:
        trials = error.trials
    else:
        check(result, budget, lambda params: 1.0)
        trials = result.trials
    finally:
        pool.shutdown()
    assert len(trials) == budget
    for trial in trials:
        died = deaths[trial.params["x"]]
        assert (trial.state == "failed") == (died >= DEATHS)
        assert seen.get(trial.params["x"], 0) == (died < DEATHS)
        if trial.state == "failed":
            assert trial.error.startswith(f"{DEATHS} workers were lost at this design; the last: ")


def test_the_same_design_is_given_out_again_and_the_user_is_told_once():
    lost = []

    def fate(x):
        if len(lost) < 4 and x not in lost:
            lost.append(x)
            return "lost"
        return "answer"

    with Fated({"of": fate}) as pool, pytest.warns(RuntimeWarning) as caught:
        result = quietly(hill, executor=pool, workers=2, budget=6)
    check(result, 6)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "no route to host" in str(caught[0].message)
    assert "given out again" in str(caught[0].message)
    assert set(lost) <= {trial.params["x"] for trial in result.trials}


def test_an_executor_that_takes_no_more_ends_the_run_with_everything_kept():
    def fate(x):
        seen.add(x)
        return "answer"

    seen, fates = set(), {"of": fate, "refuses": 5}
    with (
        Fated(fates) as pool,
        pytest.raises(RuntimeError, match=r"no more, thank you.*executor=lambda") as caught,
    ):
        quietly(hill, executor=pool, workers=2, budget=9)
    trials = caught.value.optimizer.trials
    done = [trial for trial in trials if trial.state == "complete"]
    assert len(trials) == 5  # the last one was asked for, and stays pending
    assert {trial.params["x"] for trial in done} == seen
    assert f"{len(done)} evaluations are kept" in caught.value.__notes__[0]


def test_a_process_that_dies_breaks_the_users_pool_and_loses_no_value(tmp_path):
    f = partial(evaluated.dies, tmp_path, 0.8, 1)
    with processes(2) as pool, pytest.raises(RuntimeError, match="takes no more work") as caught:
        quietly(f, executor=pool, workers=2, budget=20)
    assert isinstance(caught.value.__cause__, BrokenExecutor)
    trials = caught.value.optimizer.trials
    assert [t.value for t in trials if t.state == "complete"] == [
        hill(t.params) for t in trials if t.state == "complete"
    ]
    assert {trial.state for trial in trials} == {"complete", "pending"}


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_pool_of_our_own_is_made_anew(tmp_path, start):
    made = []

    def make():
        made.append(processes(3, start))
        return made[-1]

    f = partial(evaluated.dies, tmp_path, 0.7, 1)
    with pytest.warns(RuntimeWarning, match="a worker was lost"):
        result = quietly(f, executor=make, workers=3, budget=8)
    check(result, 8)
    assert [trial.state for trial in result.trials] == ["complete"] * 8
    assert len(made) > 1
    for pool in made:
        with pytest.raises(RuntimeError, match=r"shutdown|broken|terminated"):
            pool.submit(abs, 1)


def test_a_design_that_ends_every_worker_has_failed_and_takes_no_other_along(tmp_path):
    f = partial(evaluated.dies, tmp_path, 0.85, 99)
    with pytest.warns(RuntimeWarning) as caught:
        result = quietly(f, executor=partial(processes, 3), workers=3, budget=8)
    check(result, 8)
    for trial in result.trials:
        assert (trial.state == "failed") == (trial.params["x"] > 0.85)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert failed
    assert all(evaluated.calls(tmp_path)[trial.params["x"]] == DEATHS for trial in failed)
    assert len(caught) == 2  # a lost worker, a failed evaluation


def test_a_function_that_makes_one_broken_executor_after_the_other_ends():
    def make():
        pool = processes(1)
        pool.submit(os._exit, 3).exception()
        made.append(pool)
        return pool

    made = []
    with pytest.raises(RuntimeError, match="did not reach a worker"):
        quietly(hill, executor=make, workers=2, budget=4)
    assert len(made) == 1


# The end comes early


def test_an_interrupt_waits_for_what_runs_and_takes_back_the_rest(capsys):
    def f(params):
        seen.append(params["x"])
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C: the main thread has it
        time.sleep(0.3)
        return hill(params)

    seen = []
    with Threads(2) as pool:
        result = quietly(f, executor=pool, workers=6, budget=20)
        time.sleep(0.1)
        assert result.interrupted
        done = [trial.params["x"] for trial in result.trials if trial.state == "complete"]
        assert sorted(done) == sorted(seen)  # all that began, and nothing else has begun since
        assert {trial.state for trial in result.trials} == {"complete", "pending"}
        assert len(result.history) < 20
        assert pool.submit(abs, -1).result() == 1
    assert "Press Ctrl-C to leave them" in capsys.readouterr().err


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("executor", [None, Threads])
def test_a_value_is_told_once_wherever_the_interrupt_arrives(monkeypatch, moment, executor):
    """While it is told: it may be in the record already, or not."""
    tell, calls = meseta.Optimizer.tell, []

    def interrupted(self, *arguments, **options):
        calls.append(arguments)
        if len(calls) == 3 and moment == "before":
            raise KeyboardInterrupt
        tell(self, *arguments, **options)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(meseta.Optimizer, "tell", interrupted)
    seen = []

    def f(params):
        seen.append(params["x"])
        return hill(params)

    workers = None if executor is None else 2
    result = quietly(f, executor=executor, workers=workers, budget=9)
    assert result.interrupted
    assert sorted(result.history["x"]) == sorted(seen)
    assert len(seen) >= 3


@pytest.mark.parametrize("own", [True, False])
def test_a_second_interrupt_leaves_at_once_what_hangs(own, capsys):
    def f(params):
        if len(seen) == 2:
            for moment in (0.1, 0.6):
                threading.Timer(moment, os.kill, (os.getpid(), signal.SIGINT)).start()
            hangs.wait(30)
        seen.append(params)
        return hill(params)

    seen, hangs = [], threading.Event()
    pool = Threads(1)
    begun = time.monotonic()
    result = quietly(f, executor=pool if own else lambda: pool, workers=1, budget=9)
    assert time.monotonic() - begun < 20
    hangs.set()
    pool.shutdown()
    assert result.interrupted
    assert [trial.state for trial in result.trials] == ["complete"] * 2 + ["pending"]


def test_processes_that_we_made_are_ended_where_python_can():
    class Pool(Threads):
        def terminate_workers(self):  # as ProcessPoolExecutor has it from Python 3.14 on
            hangs.set()

    def f(params):
        for moment in (0.1, 0.5):
            threading.Timer(moment, os.kill, (os.getpid(), signal.SIGINT)).start()
        hangs.wait(30)

    hangs = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        quietly(f, executor=lambda: Pool(1), workers=1, budget=9)
    assert hangs.is_set()


def test_an_interrupt_in_a_worker_ends_the_run_as_it_does_here():
    with processes(1) as pool:
        result = quietly(evaluated.interrupts, executor=pool, workers=1, budget=9)
    alone = quietly(evaluated.interrupts, budget=9)
    assert result.interrupted
    assert alone.interrupted
    assert result.trials == alone.trials


def test_an_interrupt_before_any_value_is_passed_on_with_nothing_left_running():
    def f(params):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)

    with Threads(1) as pool, pytest.raises(KeyboardInterrupt):
        quietly(f, executor=pool, workers=1, budget=9)


def test_the_callback_may_end_the_run():
    def callback(optimizer, trial):
        raise KeyboardInterrupt

    with Threads(2) as pool:
        result = quietly(hill, executor=pool, workers=2, budget=9, callback=callback)
    assert result.interrupted
    assert 1 <= len(result.history) <= 4


def test_an_end_that_is_no_failure_and_an_error_of_ours_keep_what_still_ran(monkeypatch):
    def callback(optimizer, trial):
        raise ZeroDivisionError("not f")

    def f(params):
        time.sleep(0.2)
        return hill(params)

    with Threads(3) as pool, pytest.raises(ZeroDivisionError) as caught:
        quietly(f, executor=pool, workers=3, budget=9, callback=callback)
    states = [trial.state for trial in caught.value.optimizer.trials]
    assert states.count("complete") >= 3
    assert states.count("pending") == 0 or len(states) > 3

    class Cancelled(BaseException):
        pass

    def ends(params):
        if params["x"] > 0.7:
            raise Cancelled
        return hill(params)

    with Threads(2) as pool, pytest.raises(Cancelled):
        quietly(ends, executor=pool, workers=2, budget=9)


SCRIPT = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
import meseta

def f(params):
    print("begun", flush=True)
    time.sleep(0.01 if params["x"] < 0.5 else 60)
    return params["x"]

if __name__ == "__main__":
    make = partial(ProcessPoolExecutor, 2, mp_context=multiprocessing.get_context("spawn"))
    result = meseta.maximize(
        f, {"x": (0.0, 1.0)}, budget=20, executor=make, workers=2, method="sobol", progress=False
    )
    print("interrupted", result.interrupted, multiprocessing.active_children(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_ctrl_c_at_a_terminal_leaves_no_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, script], start_new_session=True, **pipes) as process:
        begun = 0
        while begun < 3:  # by two workers: one evaluation has ended
            begun += process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all
        said, _ = process.communicate(timeout=30)
    assert said.endswith("interrupted True []\n")


# Dask


class Client:
    """What is asked of the client of a cluster that answers nothing any more."""

    def __init__(self, workers, events):
        self.workers, self.events = iter(workers), events

    def nthreads(self):
        return dict.fromkeys(range(next(self.workers, 0)), 1)

    def get_events(self, topic):
        assert topic == "all"
        return [(0.0, event) for event in self.events]


def watched(monkeypatch, *, workers=(), events=(), gone=0.0):
    monkeypatch.setattr(deserted, "GONE", gone)
    executor = Fated({})
    executor._client = Client(workers, events)
    executor.shutdown()
    return deserted.Watched(executor)


DIED, LEFT = ({"action": "remove-worker", "expected": each} for each in (False, True))


def test_a_cluster_is_deserted_when_its_last_worker_died_long_ago(monkeypatch):
    cluster = watched(monkeypatch, workers=[1, 0], events=[LEFT, DIED, {"action": "other"}])
    assert [cluster.is_deserted() for _ in range(3)] == [False, True, True]
    assert not watched(monkeypatch, events=[DIED], gone=1e9).is_deserted()


@pytest.mark.parametrize("events", [(), [DIED, LEFT], [None]])
def test_a_cluster_that_is_empty_by_request_may_get_workers_again(monkeypatch, events):
    assert not watched(monkeypatch, events=events).is_deserted()


CLUSTER_MISSING = "distributed is not installed: meseta[dask]"


@thorough
@pytest.mark.skipif(find_spec("distributed") is None, reason=CLUSTER_MISSING)
def test_a_dask_cluster_of_which_a_worker_is_killed(tmp_path):
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    command = [sys.executable, script, str(tmp_path / "marks")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fine" in done.stdout


CLUSTER = """
import os, sys, time
from pathlib import Path
from distributed import Client, LocalCluster
import meseta

LINE = {"x": meseta.Int(1, 3)}  # so few designs that they are evaluated again
OPTIONS = {"method": "sobol", "seed": 0, "progress": False, "workers": 2}

def main(folder):
    def f(params):  # a function in a function: Dask takes it
        Path(folder, f"{params['x']}-{time.time_ns()}-{os.getpid()}").touch()
        time.sleep(0.15)
        return float(params["x"])

    def kills(params):
        if params["x"] == 2:
            time.sleep(0.1)
            os._exit(3)
        return float(params["x"])

    def callback(optimizer, trial):
        if trial.number == 3:
            os.kill(next(iter(cluster.workers.values())).process.pid, 9)

    Path(folder).mkdir()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        executor = client.get_executor()  # calls are "pure" by default: equal ones are one
        options = {**OPTIONS, "executor": executor}
        result = meseta.maximize(f, LINE, budget=10, callback=callback, **options)
        assert [t.state for t in result.trials] == ["complete"] * 10, result.trials
        assert all(t.value == t.params["x"] for t in result.trials)
        assert len(os.listdir(folder)) in (10, 11), os.listdir(folder)  # the killed one again
        cluster.scheduler.allowed_failures = 0  # Dask itself gives nothing out again
        result = meseta.maximize(kills, LINE, budget=3, **options)
        assert sorted(t.params["x"] for t in result.trials) == [1, 2, 3]
        for trial in result.trials:
            assert (trial.state == "failed") == (trial.params["x"] == 2), result.trials
            if trial.state == "failed":
                assert trial.error.startswith("3 workers were lost"), trial.error
                assert "KilledWorker" in trial.error
        assert executor.submit(abs, -1).result() == 1
    print("fine", flush=True)

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.skipif(find_spec("distributed") is None, reason=CLUSTER_MISSING)
def test_a_dask_cluster_whose_last_worker_f_ends(tmp_path):
    script = tmp_path / "deserted.py"
    script.write_text(DESERTED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ended: the last worker of the cluster has died, and for 1 s" in done.stdout
    assert "pending 1" in done.stdout


DESERTED = """
import os, subprocess, sys
from distributed import Client, LocalCluster
import meseta
from meseta.optimizer import deserted, executors

def main():
    deserted.GONE = executors.GONE = 1.0
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        words = ["worker", cluster.scheduler_address, "--no-nanny", "--nthreads", "1"]
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        with subprocess.Popen(command):
            try:
                meseta.maximize(
                    lambda params: os._exit(3), {"x": (0.0, 1.0)}, budget=4, workers=1,
                    method="sobol", progress=False, executor=client.get_executor(),
                )
            except RuntimeError as error:
                states = [trial.state for trial in error.optimizer.trials]
                print(f"ended: {error}", "pending", states.count("pending"), flush=True)

if __name__ == "__main__":
    main()
"""
