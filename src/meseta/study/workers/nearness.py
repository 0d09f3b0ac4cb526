"""Whether two workers are at the same point, and which of them stays there."""

import time
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.attributes import VOID
from meseta.study.ledger import Ledger
from meseta.study.marks import BEAT, BY_HAND
from meseta.study.workers.liveness import is_abandoned

# Running trials closer than this, in shares of the ranges, would tell much the same.
BESIDE = 2e-3
POLL = 0.1  # seconds between looks at a worker that has not decided yet
LONGEST = 30.0  # seconds to wait for its decision


def gives_way(ledger: Ledger, trial: optuna.Trial) -> bool:
    """Whether another worker stays at the point of this trial, whose design is stored already.

    The lower number of two trials at one point stays, unless the other one had begun before it
    could see this one. A trial that has begun has given a sign of life. Exactly one
    stays: the higher one gives way as soon as it sees the lower one, and the lower one waits until
    the higher one has either done so or begun.
    """
    until = time.monotonic() + LONGEST
    while True:
        others = _beside(ledger, trial)
        if any(_stays(each, trial.number) for each in others):
            return True
        if not others:
            return False
        if time.monotonic() > until:  # a worker of another version, or one that was stopped
            return True
        time.sleep(POLL)


def _beside(ledger: Ledger, trial: optuna.Trial) -> list[FrozenTrial]:
    """The other running trials at the same point, as far as their designs are known."""
    return [
        each
        for each in ledger.trials
        if each.number != trial.number
        and each.state == TrialState.RUNNING
        and VOID not in each.user_attrs
        and distance(ledger, ledger.design_of(trial), each) < BESIDE
        and not is_abandoned(each)
    ]


def _stays(other: FrozenTrial, number: int) -> bool:
    begun = BEAT in other.user_attrs or bool(other.user_attrs.get(BY_HAND))
    return other.number < number or begun


def distance(ledger: Ledger, params: dict[str, Any], other: FrozenTrial) -> float:
    """The largest difference, see `Space.apart`; infinite where one has no whole design yet.

    A worker that dies while it stores a design leaves a part of it.
    """
    space = ledger.space
    if any(set(space.names) - set(each) for each in (params, other.params)):
        return float("inf")
    x, z = (space.to_cube(space.read(each)) for each in (params, other.params))
    return float(space.apart(x, z).max())
