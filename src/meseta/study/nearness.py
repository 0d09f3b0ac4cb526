"""Whether two workers are at the same point."""

from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.attributes import VOID
from meseta.parameters import Category, Int
from meseta.study.ledger import Ledger

# Running trials closer than this, in shares of the ranges, would tell much the same.
BESIDE = 2e-3


def is_beside_another(ledger: Ledger, trial: optuna.Trial) -> bool:
    """Whether another running trial is at the same point, as far as that is known by now."""
    return any(
        each.number != trial.number and distance(ledger, trial.params, each) < BESIDE
        for each in ledger.trials
        if each.state == TrialState.RUNNING and VOID not in each.user_attrs
    )


def distance(ledger: Ledger, params: dict[str, Any], other: FrozenTrial) -> float:
    """The largest difference in shares of the ranges; other choices and whole numbers are 1 apart.

    A trial whose design is not known yet is infinitely far.
    """
    space = ledger.space
    if set(space.names) - set(other.params):
        return float("inf")
    largest = 0.0
    for name, parameter in space.items():
        a, b = params[name], other.params[name]
        if isinstance(parameter, Category | Int):
            largest = max(largest, float(a != b))
            continue
        ends = [parameter.to_columns(end)[0] for end in (parameter.low, parameter.high)]
        (x,), (y,) = parameter.to_columns(a), parameter.to_columns(b)
        largest = max(largest, abs(x - y) / (ends[1] - ends[0]))
    return largest
