"""The attributes by which a study says more than Optuna asks for."""

from collections.abc import Mapping
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from meseta.optimizer.amendment import Amendment
from meseta.optimizer.outcomes import EXECUTED as EXECUTED_KEY
from meseta.optimizer.outcomes import VALUE
from meseta.optimizer.precision import STD

# A dict with the values that were carried out, by name. The model learns from these. They count as
# measured, also where they equal the suggested ones.
EXECUTED = "meseta:executed"
# A list of names: values of EXECUTED that nobody has measured, such as a suggested value that a
# spreadsheet has rounded.
UNMEASURED = "meseta:unmeasured"
# True: nobody asked for the trial, so that its suggested values are no plan.
UNASKED = "meseta:unasked"
# "unseen": the noise acted on the trial, and nobody saw how; "known": it did not. Without it the
# setting `executed` holds.
EXECUTION = "meseta:execution"
# A dict with how good the values of a trial are: "std", of one measurement (a number, or a dict by
# outcome), and "n", the number of measurements whose mean was told.
PRECISION = "meseta:precision"
# A dict with further outcomes of a trial, by name; a failed trial may have some, too.
OUTCOMES = "meseta:outcomes"
# A dict of a study with the ranges of designs by name, [low, high], where trials may go further:
# only such designs are recommended.
DESIGNS = "meseta:designs"
# The reason why a failed trial says nothing about its design, such as a worker that was stopped.
# The design may be suggested again.
VOID = "meseta:void"
# The reason why a trial failed, in a sentence.
ERROR = "meseta:error"
# A remark for people that came with the outcome.
COMMENT = "meseta:comment"
# Attributes of a trial begin with this, then an identity of their own: all that somebody told of
# it, see `told`.
TOLD = "meseta:told:"
# The key of the tell that counts, and who told it. Readers of the trials compute it; it is never
# stored.
TOLD_BY = "meseta:told-by"
# What a trial stands for that was added, and an identity of who added it: of several that stand for
# the same, the first one counts.
ONCE = "meseta:once"
# The number of that first one. Readers of the trials compute it; it is never stored.
DOUBLE_OF = "meseta:double-of"
# Attributes of a study begin with this, then the number of a trial and an identity of their own: an
# amendment each, since a finished trial cannot be changed, and nobody overwrites what others wrote.
AMENDMENT = "meseta:amend:"
# The amendments of a trial, and what it was before each of them. Readers of the trials compute
# both, see `amended_trials`; they are never stored.
AMENDED = "meseta:amended"
EARLIER = "meseta:earlier"
# The parameters of a study from some moment on, see `changed`: an attribute of a trial that does
# not count and stands for the change. Attributes of the study began with it before.
CHANGE = "meseta:changes:"
# The values of parameters that a trial is older than. Readers of the trials compute it; it is never
# stored.
STATED = "meseta:stated"


def is_void(trial: FrozenTrial) -> bool:
    """Whether the trial says nothing about its design.

    A value counts, also of a trial that was given up while its worker was about to store it.
    """
    return VOID in trial.user_attrs and trial.state != TrialState.COMPLETE


def amendments_of(trial: FrozenTrial) -> tuple[Amendment, ...]:
    """What was said of a trial after it was told."""
    return tuple(trial.user_attrs.get(AMENDED, ()))


def earlier(trial: FrozenTrial) -> tuple[FrozenTrial, ...]:
    """The trial as it was before each of its amendments."""
    return tuple(trial.user_attrs.get(EARLIER, ()))


def versions(trial: FrozenTrial) -> tuple[FrozenTrial, ...]:
    """The trial as it ever counted, its present state last."""
    return tuple(each for each in (*earlier(trial), trial) if not is_withdrawn(each))


def is_withdrawn(trial: FrozenTrial) -> bool:
    """Whether the trial was told, and does not count any more."""
    return is_void(trial) and any(each.what == "withdraw" for each in amendments_of(trial))


def outcomes_of(trial: FrozenTrial) -> dict[str, Any]:
    """The further outcomes that a trial has by the attribute OUTCOMES, without unknown ones."""
    said = trial.user_attrs.get(OUTCOMES)
    if not isinstance(said, Mapping):
        return {}
    return {str(name): each for name, each in said.items() if each is not None}


def executed_of(trial: FrozenTrial) -> dict[str, Any]:
    """The values that were carried out by the attribute EXECUTED."""
    said = trial.user_attrs.get(EXECUTED)
    return {str(name): each for name, each in said.items()} if isinstance(said, Mapping) else {}


def unmeasured_of(trial: FrozenTrial) -> tuple[str, ...]:
    """The names of executed values that nobody has measured."""
    said = trial.user_attrs.get(UNMEASURED)
    return tuple(map(str, said)) if isinstance(said, list | tuple) else ()


def stated_of(trial: FrozenTrial) -> dict[str, Any]:
    """The values of parameters that the trial is older than."""
    return dict(trial.user_attrs.get(STATED, {}))


def precision_of(trial: FrozenTrial) -> dict[str, Any]:
    """What is said about the quality of its values."""
    said = trial.user_attrs.get(PRECISION)
    return dict(said) if isinstance(said, Mapping) else {}


def stds_of(trial: FrozenTrial) -> dict[str, Any]:
    """The standard deviations of measurements that it says, by outcome."""
    said = precision_of(trial).get(STD) or {}
    return dict(said) if isinstance(said, Mapping) else {VALUE: said}


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints that Optuna keeps for a trial, by name."""
    stored: Any = getattr(trial, "constraints", None)
    if not isinstance(stored, Mapping):  # before Optuna 5 they had no names
        stored = dict(enumerate(trial.system_attrs.get("constraints") or ()))
    return {_called(str(name), trial): stored[name] for name in stored}


def _called(name: str, trial: FrozenTrial) -> str:
    """The name of a constraint, longer where it is a number or that of something else."""
    taken = (VALUE, EXECUTED_KEY, "state", "best_mean", "best_std", "best_sure", *trial.params)
    if name.strip() and not name.isdecimal() and name not in taken and not name.startswith("best_"):
        return name
    return f"constraint {name}"
