"""A whole run: ask, have it evaluated, tell; by one worker or by many."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tqdm import tqdm

from meseta.boundary import described_error, warn_user
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.called import Called, failed
from meseta.optimizer.evaluation import Evaluation, EvaluationFailed
from meseta.optimizer.record import Trial
from meseta.optimizer.workers import Job, Workers

Callback = Callable[[Optimizer, Trial], object]
# Where a recommendation takes longer than a step, a run has this number of them.
RECOMMENDED = 4


class Ending(NamedTuple):
    interrupted: bool
    first_error: BaseException | None  # of f


def run_all(
    optimizer: Optimizer, workers: Workers, budget: int, progress: bool, callback: Callback | None
) -> Ending:
    """Evaluate as many designs as the budget has; fewer, where nothing but failures comes out.

    However it ends, nothing goes on that can be taken back. Evaluations that run already are
    waited for and told; a second interrupt leaves them.
    """
    method = optimizer.method
    with tqdm(total=budget, desc=method, unit="evaluation", disable=not progress) as bar:
        loop = _Loop(optimizer, workers, budget, bar, callback)
        complete = False
        try:
            workers.start()
            loop.run()
            complete = True
        except BaseException as error:
            complete = loop.wind_up()
            if not isinstance(error, KeyboardInterrupt) or not optimizer.has_values:
                raise
            return Ending(True, loop.first_error)
        finally:
            workers.close(wait=complete)
    return Ending(False, loop.first_error)


class _Loop:
    def __init__(
        self,
        optimizer: Optimizer,
        workers: Workers,
        budget: int,
        bar: "tqdm[None]",
        callback: Callback | None,
    ) -> None:
        self._optimizer, self._workers = optimizer, workers
        self._budget, self._bar, self._callback = budget, bar, callback
        self._asked = 0
        self.first_error: BaseException | None = None

    def run(self) -> None:
        ended = 0
        while ended < self._due:
            self._hand_out()
            told = [self._tell(job, called) for job, called in self._workers.ended()]
            ended += len(told)
            if self._workers.beside:  # they do not wait for a recommendation
                self._hand_out()
            self._show(told, ended)

    @property
    def _due(self) -> int:
        """The number of evaluations; where more are of no use, those that were asked for."""
        return self._asked if all_failed(self._optimizer) else self._budget

    def wind_up(self) -> bool:
        """Wait for what cannot be taken back, and tell it; False: it was left."""
        try:
            running = self._workers.stop()
            if running:
                tqdm.write(
                    f"evaluations that still run and are waited for: {running}. Press Ctrl-C "
                    "to leave them",
                    file=sys.stderr,
                )
            while self._workers.busy:
                for job, called in self._workers.ended():
                    pending = self._optimizer.trials[job.number].state == "pending"
                    if pending and not called.ends:
                        with suppress(Exception):  # the one that ends the run is to be seen
                            self._tell(job, called)
        except KeyboardInterrupt:
            return False
        return True

    def _hand_out(self) -> None:
        while self._asked < self._due and self._workers.free:
            params = self._optimizer.ask()
            self._asked += 1
            self._workers.begin(Job(self._optimizer.trials[-1].number, params))

    def _tell(self, job: Job, called: Called) -> int:
        """Tell the outcome; warn of the first failure. Returns the number of the trial."""
        if called.error is not None and called.ends:
            raise called.error
        if called.evaluation is not None:
            called = self._tell_found(job, called.evaluation)
        else:
            self._optimizer.tell(job.params, None, error=called.reason, trial=job.number)
        if called.error is not None:
            if self.first_error is None:
                warn_user(
                    f"an evaluation of f failed, at {job.params}, and is left out: "
                    f"{called.reason}; further failures are noted in the trials only"
                )
            self.first_error = self.first_error or called.error
        return job.number

    def _tell_found(self, job: Job, found: Evaluation) -> Called:
        """Tell what f returned; an error, if the evaluation has failed all the same."""
        optimizer, outcomes = self._optimizer, self._optimizer.outcomes
        if not optimizer.has_values:
            _check_complete(found, optimizer)
        value: object = found.value
        if outcomes.several and (found.value is not None or found.others):
            value = {outcomes.objective: found.value, **found.others}
        error = (found.wrong or "f returned None") if found.value is None else None
        try:
            optimizer.tell(
                job.params,
                value,
                error=error,
                trial=job.number,
                std=found.std,
                n=found.n,
                executed=found.execution or found.executed,
            )
        except Exception as wrong:  # what was carried out makes no sense, say
            optimizer.tell(job.params, None, error=described_error(wrong), trial=job.number)
            return failed(wrong)
        if found.wrong and found.value is None:
            return Called(None, EvaluationFailed(found.wrong), found.wrong)
        if found.wrong:  # Python shows each sentence once
            warn_user(f"an outcome is left out, the others count: {found.wrong}")
        return Called(found)

    def _show(self, told: list[int], ended: int) -> None:
        if not told:
            return
        optimizer = self._optimizer
        # recommends, so that the history has it: the next step needs the same fit anyway
        parts = self._budget if optimizer.recommends_quickly else RECOMMENDED
        due = parts * ended // self._budget > parts * (ended - len(told)) // self._budget
        if due and optimizer.has_values:
            best = optimizer.recommend(quick=True)
            self._bar.set_postfix_str(f"best {best.mean:.5g}", refresh=False)
        self._bar.update(len(told))
        if self._callback is not None:
            for number in told:
                self._callback(optimizer, optimizer.trials[number])


def all_failed(optimizer: Optimizer) -> bool:
    """Whether so many evaluations failed, and none did not, that more are of no use."""
    failed = sum(trial.state == "failed" for trial in optimizer.trials)
    return 0 < optimizer.settings.give_up <= failed and not optimizer.has_values


def _check_complete(found: Evaluation, optimizer: Optimizer) -> None:
    """Refuse a first result without what every result must have: the next will not have it."""
    environments, outcomes = optimizer.environments, optimizer.outcomes
    missing = [name for name in environments.observed if name not in found.executed]
    if found.value is not None and missing:
        name = missing[0]
        raise TypeError(
            f"{name!r} is observed, so that f must say what it was: return {{'value': "
            f"{found.value!r}, 'executed': {{{name!r}: ...}}}}, but the first evaluation did not; "
            "or evaluate by yourself, with Optimizer.ask and Optimizer.tell"
        )
    absent = [name for name in outcomes.needed if name in found.absent]
    if found.value is not None and absent:
        raise TypeError(
            f"there is a constraint on {absent[0]!r}, so that f must return it: "
            f"{outcomes.example()}, with None for what is not known, but the first evaluation did "
            "not"
        )
