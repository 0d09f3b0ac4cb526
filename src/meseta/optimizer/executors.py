"""Workers behind an executor of `concurrent.futures`: threads, processes, clusters.

An executor is the user's, and stays as it is; or a function makes it. What is made here is shut
down here, and made anew when it breaks.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import replace
from uuid import uuid4

from meseta.boundary import described_error, read_count, shown, warn_user
from meseta.optimizer.called import Called, Objective, arrived, called
from meseta.optimizer.deserted import GONE, Watched
from meseta.optimizer.evaluation import DEATHS, EvaluationFailed
from meseta.optimizer.outcomes import Outcomes
from meseta.optimizer.workers import Job

MakeExecutor = Callable[[], Executor]

POLL = 1.0  # seconds in which Ctrl-C is noticed also where waiting cannot be interrupted
PATIENCE = 30.0  # seconds without a worker, after which we say so


class Executors:
    """The evaluations that an executor has in hand, at most `workers` at a time.

    Whatever f does comes back as a result (`called`). So an exception of the executor means that
    the worker was lost, and the same design is given out again.

    A pool of processes breaks as a whole, and a worker of a cluster takes along what is queued for
    it: nobody knows whose fault it was. The last attempt of a design is therefore made alone.
    """

    beside = True

    def __init__(
        self, executor: Executor | MakeExecutor, workers: int, f: Objective, outcomes: Outcomes
    ) -> None:
        self._executor = executor if isinstance(executor, Executor) else None
        self._make = None if isinstance(executor, Executor) else executor
        self._workers = workers
        # constraints would load torch in every worker, which only reads the outcomes
        self._f, self._outcomes = f, replace(outcomes, constraints=())
        self._run = uuid4().hex
        self._handed_out = 0
        self._running: dict[Future[Called], tuple[Job, Executor]] = {}
        self._waiting: list[Job] = []
        self._stopped = False
        self._warned = False

    @property
    def free(self) -> int:
        if any(job.alone for job in self._in_hand()):
            return 0
        return self._workers - len(self._in_hand())

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def start(self) -> None:
        """See whether f reaches a worker, so that nothing else is taken for a failure of f."""
        self._executor = self._started()

    def begin(self, job: Job) -> None:
        self._waiting.append(job)
        self._hand_out()

    def ended(self) -> Iterator[tuple[Job, Called]]:
        self._hand_out()
        done = self._done()
        lost = []
        for future in sorted(done, key=lambda each: self._running[each][0].number):
            outcome = _outcome(future)
            if isinstance(outcome, Called):
                yield self._running[future][0], outcome
                del self._running[future]
            else:
                lost.append((future, outcome))
        for future, error in lost:
            job, executor = self._running.pop(future)
            if not self._stopped:
                yield from self._given_again(job, error, executor)

    def stop(self) -> int:
        self._stopped = True
        self._waiting.clear()
        for future in list(self._running):
            if future.cancel():
                del self._running[future]
        return sum(not future.done() for future in self._running)

    def close(self, *, wait: bool) -> None:
        if self._make is not None and self._executor is not None:
            # from Python 3.14 on, processes can be ended while they work
            end = None if wait else getattr(self._executor, "terminate_workers", None)
            if end is not None:
                end()
            self._executor.shutdown(wait=wait)

    def _done(self) -> set[Future[Called]]:
        """Those that have ended, at least one of those that run."""
        assert self._executor is not None
        cluster = Watched(self._executor)
        done: set[Future[Called]] = set()
        while self._running and not done:
            done = wait(self._running, timeout=POLL, return_when=FIRST_COMPLETED).done
            if not done and cluster.is_deserted():
                raise RuntimeError(
                    f"the last worker of the cluster has died, and for {GONE:.0f} s no other came; "
                    "if f ends its process, the output of the workers says why. What was "
                    "evaluated is kept, designs that it had in hand are pending"
                )
        return done

    def _hand_out(self) -> None:
        self._waiting.sort(key=lambda job: not job.alone)
        while self._waiting and self._may_begin():
            job, executor = self._waiting[0], self._executor
            assert executor is not None
            try:
                future = executor.submit(
                    called, self._f, job.params, self._outcomes, self._new_key()
                )
            except Exception as error:
                self._replace(error)
            else:
                self._running[future] = self._waiting.pop(0), executor

    def _in_hand(self) -> list[Job]:
        return [*self._waiting, *(job for job, _ in self._running.values())]

    def _may_begin(self) -> bool:
        return not self._running or not any(each.alone for each in self._in_hand())

    def _given_again(
        self, job: Job, error: BaseException, executor: Executor
    ) -> Iterator[tuple[Job, Called]]:
        """Nothing, unless too many workers were lost at this design: then it has failed."""
        if isinstance(error, BrokenExecutor) and executor is self._executor:
            self._replace(error)
        lost, why = job.lost + 1, described_error(error)
        if lost == DEATHS:
            reason = f"{DEATHS} workers were lost at this design; the last: {why}"
            yield job, Called(None, EvaluationFailed(reason), reason)
            return
        self._waiting.append(job._replace(lost=lost, alone=lost == DEATHS - 1))
        if not self._warned:
            self._warned = True
            warn_user(
                f"a worker was lost ({why}); its design is given out again: {job.params}. A design "
                f"at which {DEATHS} workers are lost has failed. Further losses are not shown"
            )

    def _replace(self, error: BaseException) -> None:
        """Go on with another executor, or say that there is none."""
        assert self._executor is not None
        if self._make is None:
            raise RuntimeError(
                f"the executor takes no more work: {_sentence(error)}. What was evaluated is "
                "kept, designs that it had in hand are pending. To go on after a worker was "
                "killed, pass a function that makes executors, such as "
                "executor=lambda: ProcessPoolExecutor(8)"
            ) from error
        self._executor.shutdown(wait=True)
        self._executor = self._started(attempts=DEATHS)

    def _started(self, attempts: int = 1) -> Executor:
        """An executor of which one worker has got f."""
        executor = self._made() if self._make is not None else self._executor
        assert executor is not None
        try:
            future = executor.submit(arrived, self._f, self._outcomes, self._new_key())
            self._wait_for_worker(future)
        except BaseException as error:
            if self._make is not None:
                executor.shutdown(wait=isinstance(error, Exception))
            if isinstance(error, BrokenExecutor) and attempts > 1:
                return self._started(attempts - 1)
            if not isinstance(error, Exception):
                raise
            raise RuntimeError(
                f"f did not reach a worker of the executor: {_sentence(error)}. {_hint(error)}"
            ) from error
        return executor

    def _made(self) -> Executor:
        assert self._make is not None
        executor: object = self._make()
        if not isinstance(executor, Executor):
            raise TypeError(
                "executor is a function, so that it must return a concurrent.futures.Executor, "
                f"but it returned {shown(executor)}"
            )
        return executor

    def _wait_for_worker(self, future: object) -> None:
        if not isinstance(future, Future):
            raise TypeError(
                f"its submit must return a concurrent.futures.Future, got {shown(future)}"
            )
        begun, patient = time.monotonic(), True
        while not wait([future], timeout=POLL).done:
            if patient and time.monotonic() - begun > PATIENCE:
                patient = False
                warn_user(
                    f"no worker of the executor has answered for {PATIENCE:.0f} s, we go on "
                    "waiting. If workers end and start again, their output says why: the module "
                    "of f, and meseta, must be installed where they run"
                )
        future.result()

    def _new_key(self) -> str:
        self._handed_out += 1
        return f"{self._run}-{self._handed_out}"


def read_workers(executor: object, workers: object) -> int:
    """The number of workers of an executor; both are refused if they make no sense."""
    if not isinstance(executor, Executor) and not callable(executor):
        raise TypeError(
            "executor must be a concurrent.futures.Executor, or a function without arguments that "
            f"makes one, got {shown(executor)}; a Dask client has one: client.get_executor()"
        )
    if workers is None:
        raise TypeError(
            "workers is missing: how many evaluations the executor can do at a time, workers=8"
        )
    return read_count("workers", workers)


def _outcome(future: Future[Called]) -> Called | BaseException:
    """What came back, or why nothing did."""
    if future.cancelled():
        return CancelledError("it was cancelled, but not by us")
    error = future.exception()
    if error is not None:
        return error
    result: object = future.result()
    if isinstance(result, Called):
        return result
    return TypeError(f"the executor gave {shown(result)} in place of what f gave")


def _sentence(error: BaseException) -> str:
    """An error within a sentence of ours, which ends it."""
    return described_error(error).rstrip(".")


def _hint(error: BaseException) -> str:
    if isinstance(error, BrokenExecutor):
        return (
            "What it wrote to the terminal says why. In a script, start processes below "
            "`if __name__ == '__main__':`; f must be in a module that they can import"
        )
    return (
        "If f cannot be pickled: processes need a function at the top of a module, not a lambda or "
        "a function in a function; threads take any f"
    )
