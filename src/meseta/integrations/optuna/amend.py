"""Put the record of a study right: corrections, withdrawals and comments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from meseta.boundary import cut, read_count, read_number, read_value, read_whole, shown, unknown
from meseta.integrations.optuna.amended import amended_trials, as_attribute, entry_of
from meseta.integrations.optuna.attributes import (
    AMENDMENT,
    amendments_of,
    earlier,
    is_void,
    is_withdrawn,
)
from meseta.optimizer.amendment import (
    UNCHANGED,
    Amendment,
    Entry,
    applied,
    check_amendment,
    read_who,
    read_words,
)
from meseta.optimizer.outcomes import VALUE, Outcomes
from meseta.optimizer.precision import Execution, read_execution, read_n, read_new_std


def correct(
    study: Study,
    number: int,
    value: object = UNCHANGED,
    *,
    why: str,
    params: Mapping[str, Any] | None = None,
    error: str | None = None,
    std: float | Mapping[str, float | None] | None = None,
    n: int | None = None,
    executed: Execution | None = None,
    who: str | None = None,
) -> Amendment:
    """Put right what a finished trial says: `RobustSampler`, `recommend` and `report` follow.

    Optuna's own trial stays as it is, as do plots of its own. The correction is kept as an
    attribute of the study. A trial that was withdrawn counts again.

    Args:
        study: An Optuna study.
        number: The trial.
        value: The value in fact; None: the trial failed. A dict: those of the outcomes that change,
            {"stress": 231.0}, where "value" is what is optimised, and None stands for what is not
            known. Left out: as it is.
        why: For those who read the record later.
        params: What was carried out in fact; only those that change.
        error: Why it failed in fact; None: as `why` says.
        std: The standard deviation of a measurement of the value; of several outcomes a dict, in
            which None stands for one that is not known in fact. None: as it is.
        n: The number of measurements whose mean the value is; None: as it is.
        executed: "known" (what is told was carried out) or "unseen" (the noise acted on it, and
            nobody saw how); None: as it is.
        who: None: the name of the user.
    """
    trial = _finished(study, number)
    outcomes = _read_outcomes(value)
    entry, execution = present_entry(trial), read_execution(executed)
    changed = {} if params is None else _read_params(trial, params)
    if entry.unseen and changed and execution is None:
        raise ValueError(
            f"the noise acted on trial {number} unseen: say executed='known' if params were "
            "carried out in fact, or executed='unseen' if they are what was planned"
        )
    known = (*entry.outcomes, *(name for name in outcomes if name != VALUE))
    failed = VALUE in outcomes and outcomes[VALUE] is None
    new = outcomes.pop(VALUE, None)
    if error is not None and not failed:
        raise ValueError(f"error={error!r} is for trials that failed: pass None as the value")
    reason = read_words("why", why)
    amendment = Amendment(
        "correct",
        reason,
        read_who(who),
        value=new,
        error=(reason if error is None else cut(str(error))) if failed else None,
        params=changed,
        outcomes=outcomes,
        std=read_new_std(std, Outcomes(names=tuple(dict.fromkeys(known)))),
        n=None if n is None else read_n(n),
        unseen=None if execution is None else execution == "unseen",
    )
    return store(study, trial, amendment)


def withdraw(study: Study, number: int, *, why: str, who: str | None = None) -> Amendment:
    """Let a finished trial count no more; its design may be suggested again.

    Args:
        study: An Optuna study.
        number: The trial.
        why: For those who read the record later.
        who: None: the name of the user.
    """
    trial = _finished(study, number)
    return store(study, trial, Amendment("withdraw", read_words("why", why), read_who(who)))


def comment(study: Study, number: int, text: str, *, who: str | None = None) -> Amendment:
    """Add a remark for people to a trial, also to one that runs.

    Args:
        study: An Optuna study.
        number: The trial.
        text: The remark.
        who: None: the name of the user.
    """
    trial = _counted(study, number)
    return store(study, trial, Amendment("comment", read_words("text", text), read_who(who)))


def store(study: Study, trial: FrozenTrial, amendment: Amendment) -> Amendment:
    """Store an amendment of a trial of `amended_trials`, and return it with what was before.

    A RuntimeError says where somebody else amended the trial at the same moment, and that holds.
    """
    check_amendment(trial.number, present_entry(trial), amendment)
    key = f"{AMENDMENT}{trial.number}:{uuid4().hex}"
    order = len(amendments_of(trial))
    study.set_user_attr(key, as_attribute(trial.number, order, amendment))
    now = next(each for each in amended_trials(study) if each.number == trial.number)
    known = amendments_of(now)
    at = max(n for n, each in enumerate(known) if replace(each, before=None) == amendment)
    later = [each for each in known[at + 1 :] if each.what != "comment"]
    if amendment.what == "correct" and is_withdrawn(now):
        later = [each for each in known if each.what == "withdraw"][-1:]
    if amendment.what != "comment" and later:
        raise RuntimeError(
            f"trial {trial.number} was put right by somebody else at the same moment, and that "
            f"holds ({later[-1]}); what you said is on record before it. Look at the trial, and "
            "correct it again if that is wrong"
        )
    return known[at]


def present_entry(trial: FrozenTrial) -> Entry:
    """What the record has of a trial of `amended_trials`."""
    first, known = (earlier(trial) or (trial,))[0], amendments_of(trial)
    if not trial.state.is_finished():
        return Entry(None)
    steps = applied(entry_of(first), known)
    return steps[-1][0] if steps else entry_of(first)


def _counted(study: Study, number: object) -> FrozenTrial:
    """The trial of that number; refused if there is none, or if it was given up."""
    trials, wanted = amended_trials(study), read_count("number", number, least=0)
    trial = next((each for each in trials if each.number == wanted), None)
    if trial is None:
        raise ValueError(f"there is no trial {number}; there are {len(trials)}, counted from 0")
    if is_void(trial) and not is_withdrawn(trial):
        raise ValueError(f"trial {number} was given up, and does not count")
    return trial


def _finished(study: Study, number: object) -> FrozenTrial:
    if len(study.directions) != 1:
        raise ValueError(f"one objective is supported, but the study has {len(study.directions)}")
    trial = _counted(study, number)
    if not trial.state.is_finished():
        raise ValueError(
            f"trial {number} is not finished, so that there is nothing to put right; tell its "
            "value instead"
        )
    return trial


def _read_outcomes(value: object) -> dict[str, float | None]:
    """The outcomes that change by name; that of what is optimised is VALUE."""
    if value is UNCHANGED:
        return {}
    said = value if isinstance(value, Mapping) else {VALUE: value}
    remedy = "pass None if it is not known"
    return {
        str(name): None if each is None else read_value(each, repr(name), remedy)
        for name, each in said.items()
    }


def _read_params(trial: FrozenTrial, params: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict of those that change, got {shown(params)}")
    read: dict[str, Any] = {}
    for name, value in params.items():
        if name not in trial.params:
            raise ValueError(unknown("parameter", name, trial.params))
        distribution = trial.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            read[name] = _read_choice(name, value, distribution.choices)
        elif isinstance(distribution, IntDistribution):
            read[name] = read_whole(repr(name), value)
        else:
            read[name] = read_number(repr(name), value)
    return read


def _read_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """A choice as it stands among them; 1 is not True."""
    plain = value.item() if isinstance(value, np.generic) else value
    for choice in choices:
        alike = isinstance(plain, bool) == isinstance(choice, bool)
        if alike and isinstance(plain, str | int | float | None) and plain == choice:
            return choice
    raise ValueError(f"{name!r}: {unknown('choice', value, choices)}")
