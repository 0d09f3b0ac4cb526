"""What was told of a trial, as one fact, and trials that were stored twice.

Optuna ends a trial by its state and its value, and keeps all else as attributes, one by one: two
people who tell a trial at the same moment would mix theirs. So each tell is written whole, under a
key of its own, before the trial ends. Readers take the one that agrees with the state and the value
that the trial has; of several, the one with the smallest key. A trial that has ended takes no more
attributes, so that this cannot change any more.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.attributes import (
    COMMENT,
    DOUBLE_OF,
    ERROR,
    EXECUTED,
    EXECUTION,
    ONCE,
    OUTCOMES,
    PRECISION,
    TOLD,
    TOLD_BY,
    UNMEASURED,
    VOID,
)
from meseta.optimizer.amendment import user_name

# What a tell says, or says by silence.
_SAID = (EXECUTED, UNMEASURED, ERROR, OUTCOMES, COMMENT, PRECISION, EXECUTION, VOID)


@dataclass(frozen=True)
class Tell:
    """All that is told of a trial when it ends."""

    value: float | None  # None: it has failed, or does not count
    attributes: Mapping[str, Any]
    who: str = field(default_factory=user_name)
    key: str = field(default_factory=lambda: f"{TOLD}{uuid4().hex}")

    @property
    def state(self) -> TrialState:
        return TrialState.FAIL if self.value is None else TrialState.COMPLETE

    @property
    def stored(self) -> dict[str, Any]:
        """The attribute of the trial, under `key`."""
        said = {name: each for name, each in self.attributes.items() if each}
        return {"value": self.value, "attributes": said, "who": self.who}


@dataclass(frozen=True)
class Once:
    """What a trial that is added stands for, so that it counts once, whoever adds it."""

    what: str
    by: str = field(default_factory=lambda: uuid4().hex)

    def mark(self, trial: FrozenTrial) -> FrozenTrial:
        """Return the trial with an attribute that says so."""
        return _with(trial, {**trial.user_attrs, ONCE: asdict(self)})


def with_told(trial: FrozenTrial) -> FrozenTrial:
    """Return the trial with what was told of it; itself, if no tell was written whole."""
    told = {key: said for key, said in trial.user_attrs.items() if key.startswith(TOLD)}
    if not told:
        return trial
    attributes = {key: said for key, said in trial.user_attrs.items() if key not in told}
    agreeing = [key for key, said in told.items() if _agrees(trial, said)]
    if agreeing:
        key = min(agreeing)
        kept = {name: each for name, each in attributes.items() if name not in _SAID}
        attributes = {**kept, **told[key]["attributes"], TOLD_BY: (key, told[key]["who"])}
    return _with(trial, attributes)


def _agrees(trial: FrozenTrial, said: Mapping[str, Any]) -> bool:
    """Whether the trial has ended as a tell says."""
    if trial.state == TrialState.COMPLETE:
        return said["value"] == trial.value
    return trial.state == TrialState.FAIL and said["value"] is None


def without_doubles(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials; of those that stand for the same, only the first counts."""
    first: dict[str, int] = {}
    single = []
    for trial in trials:
        once = trial.user_attrs.get(ONCE)
        number = trial.number if once is None else first.setdefault(once["what"], trial.number)
        single.append(trial if number == trial.number else _double(trial, number))
    return single


def is_double(trial: FrozenTrial) -> bool:
    """Whether the trial was stored twice, and is the one that does not count."""
    return DOUBLE_OF in trial.user_attrs


def _double(trial: FrozenTrial, number: int) -> FrozenTrial:
    why = f"trial {number} is the same, stored a moment before"
    new = _with(trial, {**trial.user_attrs, VOID: why, DOUBLE_OF: number})
    new.state, new.values = TrialState.FAIL, None
    return new


def _with(trial: FrozenTrial, attributes: dict[str, Any]) -> FrozenTrial:
    new = copy(trial)
    new.user_attrs = attributes
    return new
