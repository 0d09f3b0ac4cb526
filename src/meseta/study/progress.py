"""The progress of a study: trials by their state, and how trials end."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.integrations.optuna.attributes import (
    ERROR,
    EXECUTED,
    UNMEASURED,
    VOID,
    is_void,
    is_withdrawn,
    stated_of,
)
from meseta.integrations.optuna.told import Tell, is_double
from meseta.optimizer.evaluation import DEATHS
from meseta.study.ledger import Ledger
from meseta.study.marks import BY_HAND, CONFIRMS, INSTEAD_OF, SEEN
from meseta.study.telling import Told, add_once, tell
from meseta.study.workers.liveness import is_abandoned, says_nothing
from meseta.study.workers.nearness import BESIDE, distance

GONE = "its worker is gone"

# "asked": a person carries it out. "void": it does not count. "withdrawn": it does not count any
# more.
Kind = Literal[
    "complete", "failed", "running", "asked", "abandoned", "waiting", "void", "withdrawn"
]


def kind_of(trial: FrozenTrial) -> Kind:
    if is_void(trial):
        return "withdrawn" if is_withdrawn(trial) else "void"
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
    """The number of trials in each state."""

    complete: int
    failed: int
    running: int
    asked: int
    abandoned: int
    waiting: int
    budget: int | None
    withdrawn: int = 0
    measured: tuple[float, float] | None = None  # the lowest and the highest value
    confirming: int = 0  # runs that confirm a design, pending or told: beside the search

    @property
    def taken(self) -> int:
        """The number of trials that use up the budget."""
        return self.complete + self.failed + self.running + self.asked

    @property
    def left(self) -> int | None:
        """The number of trials that may still begin; None: there is no budget."""
        return None if self.budget is None else max(0, self.budget - self.taken)


def progress(trials: Sequence[FrozenTrial], budget: int | None) -> Progress:
    # runs that confirm a design are beside the search
    searched = [(kind_of(each), each) for each in trials if CONFIRMS not in each.user_attrs]
    counts = Counter(kind for kind, _ in searched)
    values = [trial.value for kind, trial in searched if kind == "complete"]
    known = [value for value in values if value is not None]
    return Progress(
        counts["complete"],
        counts["failed"],
        counts["running"],
        counts["asked"],
        counts["abandoned"],
        counts["waiting"],
        budget,
        counts["withdrawn"],
        (min(known), max(known)) if known else None,
        sum(map(is_run, trials)),
    )


def is_run(trial: FrozenTrial) -> bool:
    """Whether it confirms a design, and counts."""
    return CONFIRMS in trial.user_attrs and kind_of(trial) in ("complete", "failed", "asked")


def gives_up(now: Progress, before: int, give_up: int) -> bool:
    """Whether no trial has a value, and `give_up` of them failed since there were `before`."""
    return 0 < give_up <= now.failed - before and not now.complete


def failed_reasons(ledger: Ledger) -> list[tuple[str, int]]:
    """The reasons of failed trials, the most frequent first, each with a trial that has it."""
    found: dict[str, list[int]] = {}
    for trial in ledger.trials:
        if kind_of(trial) == "failed":
            reason = str(trial.user_attrs.get(ERROR, "no reason is known"))
            found.setdefault(reason, []).append(trial.number)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [(reason, numbers[0]) for reason, numbers in ordered]


def release_abandoned(ledger: Ledger) -> list[int]:
    """End the trials whose workers are gone, so that others take their places.

    A design at which several workers died ends its workers: the trial has failed, and its design is
    not suggested any more.
    """
    released = []
    for trial in ledger.trials:
        if says_nothing(trial):
            with suppress(UpdateFinishedTrialError):
                ledger.mark(trial.number, SEEN, ledger.database.now())
        elif kind_of(trial) == "abandoned" and _release(ledger, trial):
            released.append(trial.number)
    return released


def _release(ledger: Ledger, trial: FrozenTrial) -> bool:
    deaths = 1 + sum(
        is_void(each)
        and each.user_attrs[VOID] == GONE
        and distance(ledger, trial.params, each) < BESIDE
        for each in ledger.trials
    )
    if deaths < DEATHS:
        return void(ledger, trial.number, GONE)
    why = f"{GONE}, as were {deaths - 1} before at this design, which ends them"
    return _end(ledger, trial.number, ERROR, why)


def void(ledger: Ledger, number: int, why: str) -> bool:
    """End a trial that does not count; False: it had ended before."""
    return _end(ledger, number, VOID, why)


def is_given_up(trial: FrozenTrial) -> bool:
    """Whether others ended the trial without an outcome, which may still come."""
    by_deaths = kind_of(trial) == "failed" and str(trial.user_attrs.get(ERROR)).startswith(GONE)
    return by_deaths or (kind_of(trial) == "void" and bool(trial.params) and not is_double(trial))


def kept_instead(trials: Sequence[FrozenTrial], number: int) -> FrozenTrial | None:
    """The trial with the outcome of one that was given up before; None: there is none."""
    return next(
        (
            each
            for each in trials
            if each.user_attrs.get(INSTEAD_OF) == number and not is_double(each)
        ),
        None,
    )


def keep_instead(ledger: Ledger, ended: FrozenTrial, said: Tell, what: str = "") -> Told:
    """Store the outcome of a trial that was given up before, as a trial of its own.

    Whoever tells the same at the same moment, which `what` may say, finds it told.
    """
    # what was stated of parameters that it is older than belongs to the new trial, too
    stated = {n: v for n, v in stated_of(ended).items() if ended.params.get(n) != v}
    executed = {**stated, **said.attributes.get(EXECUTED, {})}
    unmeasured = [*said.attributes.get(UNMEASURED, ()), *stated_of(ended)]
    attributes = {**said.attributes, EXECUTED: executed, UNMEASURED: unmeasured}
    kept = create_trial(
        state=said.state,
        value=said.value,
        params=ended.params,
        distributions=ended.distributions,
        user_attrs={
            INSTEAD_OF: ended.number,
            **{key: each for key, each in attributes.items() if each},
        },
    )
    (told,) = add_once(ledger, [(f"the outcome of trial {ended.number}{what}", kept)])
    return told


def _end(ledger: Ledger, number: int, key: str, why: str) -> bool:
    return tell(ledger, {number: Tell(None, {key: why})})[number].counts
