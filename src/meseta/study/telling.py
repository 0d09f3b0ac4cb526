"""Begin and tell trials: a design or an outcome is stored whole, and what came of it read back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial

from meseta.integrations.optuna.attributes import ONCE, TOLD_BY, VOID
from meseta.integrations.optuna.told import Once, Tell
from meseta.study.ledger import Ledger, StorageError, raise_format

MOST_AT_ONCE = 1000  # trials that somebody asks for: a mistyped number must not fill a study


def begin_all(
    ledger: Ledger, designs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> list[int]:
    """Begin trials with their designs and attributes; interrupted, none of them counts.

    Returns their numbers.
    """
    if designs:
        ledger.check_unchanged()
    numbers: list[int] = []
    try:
        for params, attributes in designs:
            numbers.append(ledger.begin_trial(params, attributes))
    except BaseException as error:
        _unasked(ledger, numbers, error)
        raise
    return numbers


def _unasked(ledger: Ledger, numbers: Sequence[int], why: BaseException) -> None:
    """End trials that were begun, and that nobody was told of."""
    void = {
        number: Tell(None, {VOID: "it was asked for, and nobody was told"}) for number in numbers
    }
    try:
        if void:
            tell(ledger, void)
    except StorageError as error:
        raise StorageError(
            f"{error}. Trials {numbers[0]} to {numbers[-1]} had begun and may stay pending: "
            f"`meseta status {ledger.file.label}` shows their designs"
        ) from why


class Told(NamedTuple):
    """What came of a tell."""

    counts: bool  # False: somebody else has told the trial
    trial: FrozenTrial  # as everybody reads it


def tell(ledger: Ledger, said: Mapping[int, Tell]) -> dict[int, Told]:
    """End trials by their numbers, unless somebody else has ended them.

    Told again, the same tell counts once.
    """
    ledger.check_there()
    raise_format(ledger.study)
    troubles: dict[int, Exception] = {}
    for number, each in said.items():
        try:
            ledger.mark(number, each.key, each.stored)
            ledger.study.tell(number, each.value, state=each.state)
        except (UpdateFinishedTrialError, ValueError) as error:
            troubles[number] = error
    trials = ledger.trials
    for number, trouble in troubles.items():
        if not trials[number].state.is_finished():
            raise trouble
    found = {number: trials[number] for number in said}
    keys = {number: trial.user_attrs.get(TOLD_BY, ("", ""))[0] for number, trial in found.items()}
    return {n: Told(keys[n] == each.key, found[n]) for n, each in said.items()}


def add_once(ledger: Ledger, several: Sequence[tuple[str, FrozenTrial]]) -> list[Told]:
    """Add trials by what each stands for; what somebody else has just added counts once."""
    ledger.check_there()
    raise_format(ledger.study)
    every = [Once(what) for what, _ in several]
    ledger.add_trials([each.mark(trial) for each, (_, trial) in zip(every, several, strict=True)])
    first: dict[str, FrozenTrial] = {}
    for trial in ledger.trials:
        if ONCE in trial.user_attrs:
            first.setdefault(trial.user_attrs[ONCE]["what"], trial)
    found = [first[each.what] for each in every]
    return [
        Told(trial.user_attrs[ONCE]["by"] == each.by, trial)
        for each, trial in zip(every, found, strict=True)
    ]
