"""What a person says of a trial that was told before: corrections, withdrawals and comments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial

from meseta.integrations.optuna import amend
from meseta.integrations.optuna.amend import present_entry
from meseta.integrations.optuna.attributes import VOID, executed_of
from meseta.optimizer.amendment import Amendment, check_amendment, read_words
from meseta.optimizer.outcomes import EXECUTED, VALUE
from meseta.optimizer.precision import COUNT
from meseta.study.entries import read_values
from meseta.study.lab import (
    FAILURE,
    Cells,
    asked_for,
    check_constrained,
    check_observed,
    read_others,
    read_told,
)
from meseta.study.ledger import Ledger, raise_format
from meseta.study.progress import kept_instead, kind_of
from meseta.study.quality import read_quality, tells_design
from meseta.study.unusual import Said, unusual


class Amended(NamedTuple):
    """An amendment of a trial, checked and not stored yet."""

    trial: FrozenTrial
    amendment: Amendment


def read_correction(ledger: Ledger, number: int, cells: Cells, why: str) -> Amended:
    """What changes of a trial that was told; nothing is stored."""
    trial = _told(ledger, number)
    value, failed, texts, others, _, quality, _ = cells
    fails = failed is not None or (value or "").lower() in FAILURE
    if fails and value is not None and value.lower() not in FAILURE:
        raise ValueError(f"trial {number} is said to have failed, but has the value {value!r}")
    reason = read_words("--why", why)
    what, possible = f"the value of trial {number}", ledger.file.possible
    amendment = Amendment(
        "correct",
        reason,
        value=None if fails or value is None else read_told(what, value, possible),
        error=(failed or reason) if fails else None,
        params=read_values(ledger.parameters, texts),
        outcomes=read_others(others, f" of trial {number}"),
        **_read_quality(ledger, quality),
    )
    entry = present_entry(trial)
    if entry.unseen and amendment.unseen is None and tells_design(ledger.file, amendment.params):
        amendment = replace(amendment, unseen=False)
    check_amendment(number, entry, amendment, ledger.file.outcomes.objective)
    known = any(each is not None for each in amendment.outcomes.values())
    if entry.value is None and not entry.outcomes and (amendment.value is not None or known):
        # its first outcome
        check_constrained(ledger, others, number)
        check_observed(ledger, {**executed_of(trial), **amendment.params}, number)
    return Amended(trial, amendment)


def _read_quality(ledger: Ledger, texts: Mapping[str, str]) -> dict[str, Any]:
    """What changes of the quality of its values."""
    outcomes = ledger.file.outcomes
    said = read_quality(texts, ledger.file, (VALUE, *outcomes.names), ())
    changed: dict[str, Any] = {"std": said.std} if said.std else {}
    changed |= {"n": said.n} if COUNT in texts else {}
    return changed | ({"unseen": said.execution == "unseen"} if EXECUTED in texts else {})


def unusual_correction(ledger: Ledger, amended: Amended) -> list[str]:
    """What is unusual about what holds now, a sentence each."""
    trial, said = amended
    values = {name: each for name, each in said.outcomes.items() if each is not None}
    if said.value is not None:
        values[VALUE] = said.value
    return unusual(ledger, [Said(f"trial {trial.number}", trial.number, values, said.params)])


def read_withdrawal(ledger: Ledger, number: int, why: str) -> Amended:
    """A trial that is not to count any more; nothing is stored."""
    amended = Amended(_told(ledger, number), Amendment("withdraw", read_words("--why", why)))
    check_amendment(number, present_entry(amended.trial), amended.amendment)
    return amended


def read_comment(ledger: Ledger, number: int, text: str) -> Amended:
    """A remark about a trial; nothing is stored."""
    trial = _counted(ledger.trials, number)
    amendment = Amendment("comment", read_words("the comment", text))
    check_amendment(number, present_entry(trial), amendment)
    return Amended(trial, amendment)


def store(ledger: Ledger, amended: Amended) -> Amendment:
    """Store it; returns it with what was before."""
    ledger.check_there()
    raise_format(ledger.study)
    return amend.store(ledger.study, *amended)


def _told(ledger: Ledger, number: int) -> FrozenTrial:
    """A trial that has an outcome; refused while it has none yet."""
    trials = ledger.trials
    trial = asked_for(_there(trials, number), number)
    if not _counted(trials, number).state.is_finished():
        raise ValueError(
            f"trial {number} is pending, so that there is nothing to put right; `meseta tell "
            f"{ledger.file.label} {number} ...` stores its outcome, or, with --spoilt REASON, that "
            "it will have none and does not count"
        )
    return trial


def _counted(trials: Sequence[FrozenTrial], number: int) -> FrozenTrial:
    trial = _there(trials, number)[number]
    if kind_of(trial) == "void":
        kept = kept_instead(trials, number)
        instead = "" if kept is None else f"; its outcome is kept as trial {kept.number}"
        raise ValueError(f"trial {number} does not count ({trial.user_attrs[VOID]}){instead}")
    return trial


def _there(trials: Sequence[FrozenTrial], number: int) -> Sequence[FrozenTrial]:
    if not 0 <= number < len(trials):
        known = f"they are 0 to {len(trials) - 1}" if trials else "there is none yet"
        raise ValueError(f"there is no trial {number}; {known}")
    return trials
