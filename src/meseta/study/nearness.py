"""Whether two workers are at the same point."""

from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.attributes import VOID
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
    """The largest difference, see `Space.apart`; infinite where the other is not known yet."""
    space = ledger.space
    if set(space.names) - set(other.params):
        return float("inf")
    x, z = space.to_tensor(params), space.to_tensor(other.params)
    return float(space.apart(x, z).max())
