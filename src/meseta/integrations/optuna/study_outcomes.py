"""The outcomes of trials besides their value: by an attribute of ours, and by Optuna's constraints.

A constraint of Optuna is a number that is to be at or below 0: an outcome like any other, with that
limit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from optuna.trial import FrozenTrial

from meseta.boundary import read_value, shown
from meseta.integrations.optuna.attributes import OUTCOMES
from meseta.measures import AtMost
from meseta.optimizer.outcomes import Outcomes
from meseta.optimizer.settings import Settings

LIMIT = AtMost(0.0)


def with_constraints(settings: Settings, trials: Sequence[FrozenTrial]) -> Settings:
    """The settings, with Optuna's limit for constraints of the trials that they do not name."""
    names = dict.fromkeys(name for trial in trials for name in constraints_of(trial))
    stored = {name: LIMIT for name in names if name not in settings.constraints}
    if not stored:
        return settings
    return replace(settings, constraints={**settings.constraints, **stored})


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints that Optuna keeps for a trial, by name; numbered ones have numbers."""
    stored: Any = getattr(trial, "constraints", None)
    if not isinstance(stored, Mapping):  # before Optuna 5 they had no names
        stored = dict(enumerate(trial.system_attrs.get("constraints") or ()))
    return {f"constraint {name}" if _numbered(name) else str(name): stored[name] for name in stored}


def _numbered(name: object) -> bool:
    return str(name).isdecimal()


def read_others(trial: FrozenTrial, outcomes: Outcomes) -> tuple[dict[str, float], list[str]]:
    """The outcomes of a trial that are known, and what is wrong with others."""
    said = trial.user_attrs.get(OUTCOMES, {})
    wrong = []
    if not isinstance(said, Mapping):
        wrong.append(f"its user attribute {OUTCOMES!r} must be a dict, got {shown(said)}")
        said = {}
    both = {**constraints_of(trial), **said}
    others: dict[str, float] = {}
    for name in outcomes.names:
        if both.get(name) is not None:
            try:
                others[name] = read_value(both[name], repr(name), "")
            except (TypeError, ValueError) as error:
                wrong.append(str(error))
    return others, wrong
