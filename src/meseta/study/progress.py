"""How far a study is: its trials by what became of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.attributes import VOID
from meseta.integrations.study_trials import is_void
from meseta.study.attributes import BY_HAND
from meseta.study.ledger import Ledger
from meseta.study.liveness import is_abandoned

# "asked": a person has it in hand. "void": does not count.
Kind = Literal["complete", "failed", "running", "asked", "abandoned", "waiting", "void"]


def kind_of(trial: FrozenTrial) -> Kind:
    if is_void(trial):
        return "void"
    match trial.state:
        case TrialState.COMPLETE:
            return "complete"
        case TrialState.FAIL | TrialState.PRUNED:
            return "failed"
        case TrialState.WAITING:
            return "waiting"
    if trial.user_attrs.get(BY_HAND):
        return "asked"
    return "abandoned" if is_abandoned(trial) else "running"


@dataclass(frozen=True)
class Progress:
    """Counts of trials."""

    complete: int
    failed: int
    running: int
    asked: int
    abandoned: int
    waiting: int
    budget: int | None

    @property
    def taken(self) -> int:
        """Trials that use up the budget."""
        return self.complete + self.failed + self.running + self.asked

    @property
    def left(self) -> int | None:
        """How many more may be begun; None: there is no budget."""
        return None if self.budget is None else max(0, self.budget - self.taken)


def progress(trials: Sequence[FrozenTrial], budget: int | None) -> Progress:
    counts = Counter(kind_of(trial) for trial in trials)
    return Progress(
        counts["complete"],
        counts["failed"],
        counts["running"],
        counts["asked"],
        counts["abandoned"],
        counts["waiting"],
        budget,
    )


def release_abandoned(ledger: Ledger) -> list[int]:
    """End the trials whose workers are gone, so that others take their places."""
    return [
        trial.number
        for trial in ledger.trials
        if kind_of(trial) == "abandoned" and void(ledger, trial.number, "its worker is gone")
    ]


def void(ledger: Ledger, number: int, why: str) -> bool:
    """End a trial that does not count; False: it has been ended before."""
    try:
        ledger.mark(number, VOID, why)
        ledger.study.tell(number, state=TrialState.FAIL)
    except (UpdateFinishedTrialError, ValueError):
        return False
    return True
