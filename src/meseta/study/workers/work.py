"""A worker: takes trials of a study, evaluates them, and stores their outcomes."""

import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import optuna

from meseta.boundary import LONGEST_TEXT, cut, read_value
from meseta.integrations.optuna.attributes import (
    ERROR,
    EXECUTED,
    EXECUTION,
    OUTCOMES,
    PRECISION,
)
from meseta.integrations.optuna.told import Tell
from meseta.optimizer.precision import COUNT, STD
from meseta.study.database import PATIENCE
from meseta.study.interrupts import uninterrupted
from meseta.study.ledger import Ledger, StorageError, StudyGone
from meseta.study.progress import (
    Progress,
    gives_up,
    keep_instead,
    kept_instead,
    progress,
    release_abandoned,
    void,
)
from meseta.study.quality import Quality, usual_execution
from meseta.study.sampling import FileSampler
from meseta.study.telling import tell
from meseta.study.workers.hand_over import as_text
from meseta.study.workers.liveness import Listener, beating
from meseta.study.workers.nearness import BESIDE, distance, gives_way
from meseta.study.workers.objective import Evaluate, Evaluation, EvaluationFailed, load, unload

POLL = 1.0  # seconds between looks at trials of others
STORING = (0.5, 1, 2, 4, 8, 16)  # seconds between attempts to store a value
ATTEMPTS = 5  # searches for a design that no other worker has

Watch = Callable[[Progress], None]


class ObjectiveMistake(RuntimeError):
    """The objective can't give what the study needs, whatever the design is."""


def work(
    ledger: Ledger,
    *,
    trials: int | None = None,
    parent: int | None = None,
    failed: int | None = None,
    watch: Watch = lambda _: None,
) -> int:
    """Evaluate trials until the budget is used up; returns the number of evaluated trials.

    Where no trial has a value, and as many have failed as the file says by `give_up`, the rest of
    the budget is not spent. Every call tries as many again.

    The worker waits for the trials of others at the end: if one of these workers is killed, its
    trial begins anew. It also waits for a database that is away.

    Args:
        trials: The largest number of trials to evaluate; None: no limit but the budget.
        parent: The process that we work for. We end with it, after the current trial.
        failed: The number of trials that had failed before; None: those that have by now.
        watch: Called with the progress of the study before each trial, and at the end.
    """
    file = ledger.file
    assert file.objective is not None
    with file.at(("objective",)):
        evaluate = load(file.objective, file.folder, file.outcomes)
    ledger.study.sampler = FileSampler(ledger)
    ledger.database.patience, ledger.database.listener = PATIENCE, Listener()
    done = 0
    before = progress(ledger.trials, file.budget).failed if failed is None else failed
    try:
        while (trials is None or done < trials) and parent in (None, os.getppid()):
            ledger.check_unchanged()
            release_abandoned(ledger)
            now = progress(ledger.trials, file.budget)
            watch(now)
            if gives_up(now, before, file.chosen.give_up):
                break
            if now.left != 0:
                done += _one(ledger, evaluate)
            elif now.running:
                time.sleep(POLL)
            else:
                break
    finally:
        unload(evaluate)
    watch(progress(ledger.trials, file.budget))
    return done


def _one(ledger: Ledger, evaluate: Evaluate, attempts: int = ATTEMPTS) -> int:
    """Take a trial and evaluate it; 0: others had taken the last ones.

    Two workers that look for a design at the same time may find the same one: one of them looks
    for another, at most `attempts` times.
    """
    trial = ledger.ask()
    try:
        if not _within_budget(ledger, trial.number):
            void(ledger, trial.number, "the budget was used up")
            return 0
        crowded = attempts > 0 and gives_way(ledger, trial)
        if crowded:
            void(ledger, trial.number, "another worker was at the same point")
        else:
            value, attributes = _outcome(ledger, trial, evaluate)
    except BaseException as error:
        why = "interrupted" if isinstance(error, (KeyboardInterrupt, SystemExit)) else "not begun"
        ledger.database.patience = 0.0  # whoever interrupts does not want to wait
        # once we are gone, others see that we are
        with uninterrupted(), suppress(StorageError):
            void(ledger, trial.number, why)
        raise
    if crowded:
        return _one(ledger, evaluate, attempts - 1)
    _store(ledger, trial, value, attributes)
    return 1


def _outcome(
    ledger: Ledger, trial: optuna.Trial, evaluate: Evaluate
) -> tuple[float | None, dict[str, Any]]:
    """The value, None where the evaluation has failed, and attributes of the trial."""
    params = ledger.settable(ledger.design_of(trial))
    with beating(trial, ledger.trial_id(trial.number), ledger.database):
        try:
            result = evaluate(params)
            _check(ledger, params, result)
        except EvaluationFailed as error:
            return None, {ERROR: cut(str(error), 2 * LONGEST_TEXT)}
    execution = result.execution or usual_execution(ledger.file, result.executed)
    said = {
        EXECUTED: result.executed,
        OUTCOMES: result.others,
        ERROR: cut(result.wrong or "", 2 * LONGEST_TEXT),
        **Quality(result.std, result.n, execution).said,
    }
    return result.value, {key: each for key, each in said.items() if each}


def _within_budget(ledger: Ledger, number: int) -> bool:
    """Whether fewer trials than the budget were begun before this one.

    Numbers are given out one by one, so that only the first of several workers who saw one place
    left has it.
    """
    budget = ledger.file.budget
    before = [trial for trial in ledger.trials if trial.number < number]
    return budget is None or progress(before, budget).taken < budget


def _check(ledger: Ledger, params: dict[str, Any], result: Evaluation) -> None:
    """Refuse what the model could not learn from."""
    observed = ledger.file.observed
    missing = [name for name in observed if name not in result.executed]
    # where it never worked before, it will not the next time
    if missing and not progress(ledger.trials, None).complete:
        raise ObjectiveMistake(
            f"{missing[0]!r} is observed, so that every evaluation must say what it was: "
            f'{{"value": {result.value!r}, "executed": {{"{missing[0]}": ...}}}}; but the '
            "objective did not. Nothing more is evaluated, and the trial does not count"
        )
    if missing:
        raise EvaluationFailed(
            f"{missing[0]!r} is observed, so that an evaluation must say what it was: "
            f'{{"value": ..., "executed": {{"{missing[0]}": ...}}}}'
        )
    needed = [name for name in ledger.file.needed if name in result.absent]
    if needed and not progress(ledger.trials, None).complete:
        example = ledger.file.outcomes.example()
        raise ObjectiveMistake(
            f"there is a constraint on {needed[0]!r}, so that every evaluation must have it: "
            f"{example}, with null or None for what is not known; but the objective did not. "
            "Nothing more is evaluated, and the trial does not count"
        )
    try:
        if result.value is not None:
            read_value(result.value, "the value", "", ledger.file.possible)
    except ValueError as error:
        raise EvaluationFailed(str(error)) from None
    try:
        ledger.space.read({**params, **result.executed})
    except (TypeError, ValueError) as error:
        raise EvaluationFailed(f"what was carried out can't be used: {error}") from None


def _store(
    ledger: Ledger, trial: optuna.Trial, value: float | None, attributes: dict[str, Any]
) -> None:
    """Store the outcome, or say what it was, so that it is not lost.

    Every call waits for a database that is away. Other failures, such as a full disk, are tried
    again for half a minute.
    """
    begun, said = time.monotonic(), Tell(value, attributes)
    try:
        for wait in (*STORING, None):
            try:
                _check_ours(ledger, trial)
                _tell(ledger, trial.number, said)
                return
            except StudyGone:
                raise
            except Exception:
                if wait is None or time.monotonic() - begun > PATIENCE:
                    raise
                time.sleep(wait)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        outcome = _in_words(ledger.design_of(trial), said)
        why = "we were interrupted" if isinstance(error, KeyboardInterrupt) else error
        typed = f"once it can, type: {_by_hand(ledger, trial.number, value, attributes)}"
        # a trial of that number may be another one by now
        remedy = "`meseta import` takes it" if isinstance(error, StudyGone) else typed
        raise StorageError(
            f"trial {trial.number} {outcome}, which could not be stored: {why}; {remedy}"
        ) from error


def _in_words(design: dict[str, Any], said: Tell) -> str:
    """The outcome, and of which experiment."""
    carried_out = {**design, **said.attributes.get(EXECUTED, {})}
    at = ", ".join(f"{name} = {as_text(each)}" for name, each in carried_out.items())
    outcome = "failed" if said.value is None else f"gave {said.value!r}"
    others = said.attributes.get(OUTCOMES, {}).items()
    return "".join([f"at {at} {outcome}", *(f", {name} = {each!r}" for name, each in others)])


def _by_hand(ledger: Ledger, number: int, value: float | None, attributes: dict[str, Any]) -> str:
    """The command that stores an outcome."""
    words = ["meseta", "tell", ledger.file.label, str(number)]
    for name, executed in attributes.get(EXECUTED, {}).items():
        words += ["--set", f"{name}={as_text(executed)}"]
    words += _quality_words(attributes)
    others = [f"{name}={each!r}" for name, each in attributes.get(OUTCOMES, {}).items()]
    for name in ledger.file.needed if others or value is not None else ():
        if name not in attributes.get(OUTCOMES, {}):
            others.append(f"{name}=failed")
    if value is None:
        reason = str(attributes.get(ERROR, "unknown")).splitlines()[0]
        return shlex.join([*words, *others, "--failed", cut(reason, 200), "--yes"])
    return shlex.join([*words, repr(value), *others, "--yes"])


def _quality_words(attributes: dict[str, Any]) -> list[str]:
    precision = attributes.get(PRECISION, {})
    said = [("--std", f"{name}={each!r}") for name, each in precision.get(STD, {}).items()]
    said += [("--n", str(precision[COUNT]))] if COUNT in precision else []
    said += [("--executed", attributes[EXECUTION])] if EXECUTION in attributes else []
    return [word for pair in said for word in pair]


def _check_ours(ledger: Ledger, trial: optuna.Trial) -> None:
    """Refuse a trial that is not ours: an older copy of the database may have been put back."""
    design = ledger.design_of(trial)
    there = ledger.trials[trial.number : trial.number + 1]
    if not any(distance(ledger, design, each) < BESIDE for each in there):
        raise StudyGone(ledger.file)


def _tell(ledger: Ledger, number: int, said: Tell) -> None:
    """Tell a trial; a value counts, too, where others have ended the trial without it."""
    told = tell(ledger, {number: said})[number]
    if told.counts or said.value is None or told.trial.value == said.value:
        return
    kept = kept_instead(ledger.trials, number)
    # another value was told by hand, or the same one by an attempt that had no answer
    if kept is None or kept.value != said.value:
        keep_instead(ledger, told.trial, said, f" by its worker, {said.value!r}")
