"""The trials of a study as they were put right: through this everything reads them.

Optuna keeps a finished trial as it is. What is said later stands beside it, in attributes of the
study, and is applied here, to copies.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.attributes import (
    AMENDED,
    AMENDMENT,
    COMMENT,
    EARLIER,
    ERROR,
    EXECUTED,
    EXECUTION,
    OUTCOMES,
    PRECISION,
    UNMEASURED,
    VOID,
    constraints_of,
    executed_of,
    outcomes_of,
    precision_of,
    stated_of,
    stds_of,
    unmeasured_of,
)
from meseta.integrations.optuna.changed import changed, changes_in
from meseta.integrations.optuna.told import with_told, without_doubles
from meseta.optimizer.amendment import Amendment, Entry, applied, read_amendment
from meseta.optimizer.precision import COUNT, STD


def amended_trials(study: Study, states: Sequence[TrialState] | None = None) -> list[FrozenTrial]:
    """All trials, or those in these states, with what was said of them and the study later."""
    # first: what is amended has finished before
    attributes = attributes_of(study)
    said, stored = amendments_in(attributes), study.get_trials(deepcopy=False)
    changes = changes_in(attributes, stored)
    trials = [changed(trial, changes) for trial in without_doubles(map(with_told, stored))]
    read = [amended(trial, said.get(trial.number, ())) for trial in trials]
    return [trial for trial in read if states is None or trial.state in states]


def attributes_of(study: Study) -> Mapping[str, Any]:
    """The user attributes of a study."""
    # a HyperbandPruner shows samplers a study without attributes
    attributes: Mapping[str, Any] = getattr(study, "user_attrs", {})
    return attributes


def amendments_in(attributes: Mapping[str, Any]) -> dict[int, list[Amendment]]:
    """The amendments that a study holds, by trial, in the order in which they were made."""
    found: dict[int, list[tuple[Any, Amendment]]] = {}
    for key, stored in attributes.items():
        if key.startswith(AMENDMENT):
            number, order, amendment = _read(key, stored)
            # each knows how many were before; those of the same moment go by clock, then by name
            found.setdefault(number, []).append(((order, amendment.when, key), amendment))
    return {number: [each for _, each in sorted(pairs)] for number, pairs in found.items()}


def as_attribute(number: int, order: int, amendment: Amendment) -> dict[str, Any]:
    """An amendment as it is stored; `order` is the number of those before."""
    parts = {
        "value": amendment.value,
        "error": amendment.error,
        "params": dict(amendment.params),
        "outcomes": dict(amendment.outcomes),
        "std": dict(amendment.std),
        "n": amendment.n,
        "unseen": amendment.unseen,
    }
    return {
        "trial": number,
        "order": order,
        "what": amendment.what,
        **{name: part for name, part in parts.items() if part not in (None, {})},
        "why": amendment.why,
        "who": amendment.who,
        "when": amendment.when,
    }


def _read(key: str, stored: Any) -> tuple[int, int, Amendment]:
    try:
        said = dict(stored)
        number, order = said.pop("trial"), said.pop("order", 0)
        if not isinstance(number, int) or not isinstance(order, int):
            raise TypeError
        return number, order, read_amendment(said)
    except (TypeError, ValueError, KeyError):
        raise ValueError(
            f"the attribute {key!r} of the study is no amendment that is known here, but "
            f"{stored!r}; a newer version of meseta may have made it: pip install -U meseta"
        ) from None


def amended(trial: FrozenTrial, amendments: Sequence[Amendment]) -> FrozenTrial:
    """The trial with what was said of it later; itself, if that is nothing."""
    remark = trial.user_attrs.get(COMMENT)
    first = [Amendment("comment", str(remark), "", "")] if remark else []
    if not first and not amendments:
        return trial
    if not trial.state.is_finished():
        known = [each for each in amendments if each.what == "comment"]
        return _with(trial, {**trial.user_attrs, AMENDED: (*first, *known)})
    steps = applied(entry_of(trial), [*first, *amendments])
    now, known, before = trial, [], []
    for entry, amendment in steps:
        before.append(now)
        known.append(amendment)
        said = {AMENDED: tuple(known), EARLIER: tuple(before)}
        if amendment.what == "comment":
            now = _with(now, {**now.user_attrs, **said})
        else:
            now = _rewritten(trial, entry, known, said)
    return now


def entry_of(trial: FrozenTrial) -> Entry:
    """What the record has of a finished trial."""
    complete = trial.state == TrialState.COMPLETE
    error = trial.user_attrs.get(ERROR)
    if error is None and trial.state == TrialState.PRUNED:
        error = "pruned"
    known = {**constraints_of(trial), **outcomes_of(trial)}
    said = trial.user_attrs.get(OUTCOMES)
    unknown = [n for n, each in said.items() if each is None] if isinstance(said, Mapping) else []
    return Entry(
        trial.value if complete else None,
        str(error) if error else None,
        {**trial.params, **executed_of(trial)},
        {name: each for name, each in known.items() if name not in unknown},
        stds_of(trial),
        precision_of(trial).get(COUNT, 1),
        {"unseen": True, "known": False}.get(str(trial.user_attrs.get(EXECUTION))),
    )


def _rewritten(
    trial: FrozenTrial, entry: Entry, amendments: Sequence[Amendment], said: Mapping[str, Any]
) -> FrozenTrial:
    """A copy of the trial as it was told, that has what the entry has."""
    if entry.withdrawn:
        entry = Entry(None, None, entry.params, unseen=None, withdrawn=True)
    given = dict.fromkeys((*executed_of(trial), *(n for each in amendments for n in each.params)))
    # what is not known any more stays there as None: Optuna's own constraints have it still
    gone = dict.fromkeys([*constraints_of(trial), *outcomes_of(trial)])
    attributes = {
        EXECUTED: {name: entry.params[name] for name in given},
        # what was corrected was measured; of what is stated there was no plan
        UNMEASURED: [
            name
            for name in unmeasured_of(trial)
            if name in stated_of(trial) or not any(name in each.params for each in amendments)
        ],
        OUTCOMES: {**gone, **entry.outcomes},
        ERROR: entry.error,
        PRECISION: {
            **({STD: dict(entry.std)} if entry.std else {}),
            **({COUNT: entry.n} if entry.n != 1 else {}),
        },
        EXECUTION: trial.user_attrs.get(EXECUTION)
        if entry.unseen is None
        else ("unseen" if entry.unseen else "known"),
    }
    kept = {key: each for key, each in trial.user_attrs.items() if key not in (*attributes, VOID)}
    new = _with(trial, {**kept, **{key: each for key, each in attributes.items() if each}, **said})
    new.state = TrialState.FAIL if entry.value is None else TrialState.COMPLETE
    new.values = None if entry.value is None else [entry.value]
    if entry.withdrawn:
        why = next(each.why for each in reversed(amendments) if each.what == "withdraw")
        new.user_attrs = {**new.user_attrs, VOID: f"withdrawn: {why}"}
    return new


def _with(trial: FrozenTrial, attributes: dict[str, Any]) -> FrozenTrial:
    new = copy(trial)
    new.user_attrs = attributes
    return new
