"""The outcomes of trials besides their value: by an attribute of ours, and by Optuna's constraints.

A constraint of Optuna is a number that is to be at or below 0: an outcome like any other, with that
limit.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from optuna.trial import FrozenTrial

from meseta.boundary import read_value, shown
from meseta.integrations.optuna.attributes import OUTCOMES, constraints_of
from meseta.measures import AtMost
from meseta.optimizer.outcomes import Outcomes
from meseta.optimizer.settings import Settings

LIMIT = AtMost(0.0)


def with_constraints(settings: Settings, trials: Sequence[FrozenTrial]) -> Settings:
    """The settings, with Optuna's limit for constraints of the trials that they do not name."""
    names = dict.fromkeys(name for trial in trials for name in constraints_of(trial))
    if settings.objective in names:
        raise ValueError(
            f"the study has a constraint {settings.objective!r}, which is also the name of what is "
            "optimised; leave objective out, or call it otherwise"
        )
    stored = {name: LIMIT for name in names if name not in settings.constraints}
    if not stored:
        return settings
    return replace(settings, constraints={**settings.constraints, **stored})


def unnamed(trials: Sequence[FrozenTrial], outcomes: Outcomes) -> list[str]:
    """Says which outcomes trials have that nobody asks for."""
    said = [trial.user_attrs.get(OUTCOMES, {}) for trial in trials]
    names = Counter(name for each in said if isinstance(each, Mapping) for name in each)
    return [
        f"{times} trials have an outcome {name!r}, which is neither named nor constrained"
        for name, times in names.items()
        if name not in outcomes.names and name != outcomes.objective
    ]


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
