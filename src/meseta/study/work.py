"""A worker: takes trials of a study, evaluates them, and stores what came of them."""

import time
from collections.abc import Callable
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.integrations.attributes import ERROR, EXECUTED
from meseta.study.ledger import Ledger, StorageError, storage_failures
from meseta.study.liveness import beating
from meseta.study.nearness import is_beside_another
from meseta.study.objective import Evaluation, EvaluationFailed, load
from meseta.study.progress import Progress, progress, release_abandoned, void
from meseta.study.sampling import FileSampler

POLL = 1.0  # seconds between looks at trials of others
STORING = (0.5, 1, 2, 4, 8, 16)  # seconds until a value is tried to be stored again
ATTEMPTS = 5  # to find a design that nobody else is at

Watch = Callable[[Progress], None]


def work(ledger: Ledger, *, trials: int | None = None, watch: Watch = lambda _: None) -> int:
    """Evaluate trials until the budget is used up, or so many; how many were evaluated.

    Trials of other workers are waited for at the end: if such a worker is killed, its trial is
    begun anew.
    """
    file = ledger.file
    assert file.objective is not None
    with file.at(("objective",)):
        evaluate = load(file.objective, file.folder)
    ledger.study.sampler = FileSampler(ledger)
    done = 0
    while trials is None or done < trials:
        with storage_failures(file):
            release_abandoned(ledger)
            now = progress(ledger.trials, file.budget)
        watch(now)
        if now.left != 0:
            done += _one(ledger, evaluate)
        elif now.running:
            time.sleep(POLL)
        else:
            break
    watch(progress(ledger.trials, file.budget))
    return done


def _one(
    ledger: Ledger, evaluate: Callable[[dict[str, Any]], Evaluation], beside: int = ATTEMPTS
) -> int:
    """Take a trial and evaluate it; 0: others had taken the last ones.

    Two workers that look for a design at the same time may find the same one: who stores it
    later looks for another, so many times.
    """
    with storage_failures(ledger.file):
        trial = ledger.study.ask(ledger.distributions)
    try:
        if not _within_budget(ledger, trial.number):
            void(ledger, trial.number, "the budget was used up")
            return 0
        if beside and is_beside_another(ledger, trial):
            void(ledger, trial.number, "another worker was at the same point")
            return _one(ledger, evaluate, beside - 1)
        with beating(trial):
            params = ledger.settable(trial.params)
            try:
                result = evaluate(params)
                _check_executed(ledger, params, result)
            except EvaluationFailed as error:
                _store(ledger, trial, None, {ERROR: str(error)})
                return 1
        executed = {EXECUTED: result.executed} if result.executed else {}
        _store(ledger, trial, result.value, executed)
    except (KeyboardInterrupt, SystemExit):
        void(ledger, trial.number, "interrupted")
        raise
    return 1


def _within_budget(ledger: Ledger, number: int) -> bool:
    """Whether fewer trials than the budget were begun before this one.

    Numbers are given out one by one, so that of several workers who saw one place left only the
    first has it.
    """
    budget = ledger.file.budget
    before = [trial for trial in ledger.trials if trial.number < number]
    return budget is None or progress(before, budget).taken < budget


def _check_executed(ledger: Ledger, params: dict[str, Any], result: Evaluation) -> None:
    """Refuse what was carried out if the model could not learn from it."""
    for name in ledger.file.observed:
        if name not in result.executed:
            raise EvaluationFailed(
                f"{name!r} is observed, so that an evaluation must say what it was: "
                f'{{"value": ..., "executed": {{"{name}": ...}}}}'
            )
    try:
        ledger.space.read({**params, **result.executed})
    except (TypeError, ValueError) as error:
        raise EvaluationFailed(f"what was carried out can't be used: {error}") from None


def _store(
    ledger: Ledger, trial: optuna.Trial, value: float | None, attributes: dict[str, Any]
) -> None:
    """Keep the outcome, whatever the storage is up to."""
    for wait in (*STORING, None):
        try:
            _tell(ledger, trial, value, attributes)
            return
        except Exception as error:
            if wait is not None:
                time.sleep(wait)
                continue
            outcome = "failed" if value is None else f"gave {value!r}"
            raise StorageError(
                f"trial {trial.number} {outcome}, which could not be stored: {error}; once it can, "
                f"type: meseta tell {ledger.file.label} {trial.number} "
                f"{'--failed unknown' if value is None else repr(value)}"
            ) from error


def _tell(
    ledger: Ledger, trial: optuna.Trial, value: float | None, attributes: dict[str, Any]
) -> None:
    state = TrialState.FAIL if value is None else TrialState.COMPLETE
    try:
        for key, attribute in attributes.items():
            trial.set_user_attr(key, attribute)
        ledger.study.tell(trial, value, state=state)
    except (UpdateFinishedTrialError, ValueError):
        found = _trial(ledger, trial.number)
        if not found.state.is_finished():
            raise
        if value is None or (found.state == TrialState.COMPLETE and found.value == value):
            return
        # taken for dead, and ended by another worker: the value is kept as a trial of its own
        ledger.study.add_trial(
            create_trial(
                value=value,
                params=found.params,
                distributions=found.distributions,
                user_attrs=attributes,
            )
        )


def _trial(ledger: Ledger, number: int) -> FrozenTrial:
    return next(trial for trial in ledger.trials if trial.number == number)
