"""The trials of an Optuna study as trials of ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from meseta.boundary import EVERY, read_value, unknown
from meseta.integrations.optuna.attributes import (
    ERROR,
    EXECUTED,
    EXECUTION,
    UNASKED,
    amendments_of,
    executed_of,
    is_void,
    precision_of,
    unmeasured_of,
)
from meseta.integrations.optuna.study_outcomes import read_others
from meseta.integrations.optuna.study_space import StudySpace
from meseta.optimizer.outcomes import ONE, VALUE, Outcomes
from meseta.optimizer.precision import (
    COUNT,
    STD,
    Execution,
    read_execution,
    read_n,
    read_std,
)
from meseta.optimizer.record import Origin, State, Trial
from meseta.space.parameter import Value


@dataclass(frozen=True)
class StudyTrials:
    """What a study holds, for a model of some of its parameters."""

    trials: tuple[Trial, ...]  # numbered anew
    numbers: tuple[int, ...]  # those that they have in the study
    awaited: tuple[FrozenTrial, ...]  # running ones whose design is not known, or not all of it
    left_out: tuple[str, ...]  # complete ones that the model can't learn from, and why


def read_trials(
    trials: Sequence[FrozenTrial],
    space: StudySpace,
    observed: Sequence[str] = (),
    possible: tuple[float, float] = EVERY,
    outcomes: Outcomes = ONE,
    execution: Execution = "known",
    environment: Sequence[str] = (),
) -> StudyTrials:
    """Complete trials, and as failed or pending what must not be proposed once more.

    A pruned trial has no value, but what it was stopped for would stop it again: it is avoided as
    a failed one is. So is a complete one whose value is not finite, or not possible. `observed` are
    parameters whose values are those of EXECUTED alone. `execution` holds for trials that do not
    say it, unless they tell what was carried out of the design: of what is no `environment`.
    """
    read: list[Trial] = []
    numbers: list[int] = []
    awaited: list[FrozenTrial] = []
    left_out: list[str] = []
    for trial in trials:
        if is_void(trial):
            continue
        state: State
        match trial.state:
            case TrialState.COMPLETE:
                state = "complete"
            case TrialState.FAIL | TrialState.PRUNED:
                state = "failed"
            case TrialState.RUNNING:
                state = "pending"
            case _:
                continue
        planned = known_params(trial, space)
        if len(planned) < space.space.dimension:
            if state == "pending":
                awaited.append(trial)
            continue
        params, value = planned, None
        measured: tuple[str, ...] = ()
        others, wrong = read_others(trial, outcomes) if state != "pending" else ({}, [])
        left_out += [f"an outcome of trial {trial.number} is left out: {each}" for each in wrong]
        if state != "pending":
            needed = observed if state == "complete" or others else ()
            try:
                params = _executed(trial, planned, space, needed)
                measured = _measured(trial, space)
            except (TypeError, ValueError) as error:
                if state == "complete" or others:
                    left_out.append(f"trial {trial.number} is left out of the model: {error}")
                state, others = "failed", {}
        if state == "complete":
            try:
                value = read_value(trial.value, "its value", "", possible)
            except (TypeError, ValueError) as error:
                left_out.append(f"trial {trial.number} is left out of the model: {error}")
                state = "failed"
        precision: dict[str, Any] = {}
        if state == "complete" or others:
            try:
                precision = _precision(trial, outcomes, value, others)
            except (TypeError, ValueError) as error:
                said = f"what trial {trial.number} says about its quality is left out: {error}"
                left_out.append(said)
            told = any(name not in environment for name in executed_of(trial))
            how: Execution = "known" if told else execution
            try:
                how = read_execution(trial.user_attrs.get(EXECUTION)) or how
            except ValueError as error:
                left_out.append(f"trial {trial.number} goes by what the study says: {error}")
            precision["unseen"] = how == "unseen"
        numbers.append(trial.number)
        asked = not trial.user_attrs.get(UNASKED)
        origin: Origin = "method" if asked else "told"
        read.append(
            Trial(
                len(read),
                params,
                value,
                state,
                origin,
                _error(trial) if state == "failed" else None,
                planned=planned if asked and params != planned else None,
                outcomes=others,
                amendments=amendments_of(trial),
                measured=measured if asked and not precision.get("unseen") else (),
                **precision,
            )
        )
    return StudyTrials(tuple(read), tuple(numbers), tuple(awaited), tuple(left_out))


def _precision(
    trial: FrozenTrial,
    outcomes: Outcomes,
    value: float | None,
    others: Mapping[str, float],
) -> dict[str, Any]:
    """How good its values are."""
    said = precision_of(trial)
    std = read_std(said.get(STD), outcomes)
    given = (*others, *(() if value is None else (VALUE,)))
    return {
        "std": {name: each for name, each in std.items() if name in given},
        "n": read_n(said.get(COUNT)),
    }


def _error(trial: FrozenTrial) -> str | None:
    """Why it failed, where it says so."""
    error = trial.user_attrs.get(ERROR)
    if error is None and trial.state == TrialState.PRUNED:
        return "pruned"
    return None if error is None else str(error)


def known_params(trial: FrozenTrial, space: StudySpace) -> dict[str, Value]:
    """What the trial has of the parameters of the space, in our terms."""
    common = {
        name: trial.params[name]
        for name, distribution in space.distributions.items()
        if trial.distributions.get(name) == distribution
    }
    return space.to_meseta(common)


def check_one_objective(study: Study) -> None:
    if len(study.directions) != 1:
        raise ValueError(
            f"one objective is supported, but the study has {len(study.directions)}; make one "
            "number of them, such as a weighted sum"
        )


def _measured(trial: FrozenTrial, space: StudySpace) -> tuple[str, ...]:
    """The parameters whose executed values were measured, in our terms."""
    others = unmeasured_of(trial)
    told = {name: value for name, value in executed_of(trial).items() if name not in others}
    return tuple(space.to_meseta(told))


def _executed(
    trial: FrozenTrial, planned: dict[str, Value], space: StudySpace, observed: Sequence[str]
) -> dict[str, Value]:
    executed: Any = trial.user_attrs.get(EXECUTED, {})
    if not isinstance(executed, Mapping):
        raise TypeError(
            f"its user attribute {EXECUTED!r} must be a dict of values by name, got {executed!r}"
        )
    for name in executed:
        if name not in trial.params:
            names = list(trial.params)
            raise ValueError(f"{EXECUTED!r}: {unknown('parameter', name, names)}")
    for name in observed:
        if name not in executed:
            raise ValueError(
                f"{name!r} is observed, but the trial does not say what it was; call "
                f"trial.set_user_attr({EXECUTED!r}, {{{name!r}: ...}}) in the objective"
            )
    return space.space.read({**planned, **space.to_meseta(executed)})
