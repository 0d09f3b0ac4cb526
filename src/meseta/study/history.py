"""Experiments from before, or that nobody asked for: read from a file, and added once."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.boundary import cut, unknown
from meseta.integrations.optuna.attributes import (
    COMMENT,
    ERROR,
    EXECUTED,
    ONCE,
    OUTCOMES,
    UNASKED,
)
from meseta.optimizer.outcomes import VALUE
from meseta.space.parameter import Value
from meseta.study.digits import is_same
from meseta.study.entries import read_values
from meseta.study.identity import Experiments, identity
from meseta.study.lab import FAILURE, known_others, read_told
from meseta.study.ledger import Ledger
from meseta.study.progress import kind_of
from meseta.study.quality import read_quality, texts_in
from meseta.study.spreadsheet import COMMENT as COMMENT_COLUMN
from meseta.study.spreadsheet import FAILED, STATE, TRIAL
from meseta.study.tables import check_columns, read_table, study_columns
from meseta.study.telling import add_once

WITHDRAWN = "withdrawn"  # the state of a trial that does not count any more
UNFINISHED = ("running", "asked", "abandoned", "waiting")  # states that have no outcome


class Found(NamedTuple):
    """A finished trial of a file, where it stands, and what it stands for, see `add_once`."""

    place: str
    trial: FrozenTrial
    what: str = ""


class History(NamedTuple):
    """The finished trials of a file: the new ones, and how many rows are left out."""

    new: list[Found]
    known: int  # rows that are there already
    outdated: int  # those of them that were corrected or withdrawn since
    unfinished: int
    withdrawn: int
    notes: list[str]


def read_history(
    ledger: Ledger,
    path: Path,
    value: str | None = None,
    sheet: str | None = None,
    names: Mapping[str, str] | None = None,
) -> History:
    """Finished trials from a table with a column for each parameter and one for the value.

    Points may lie outside of the ranges or off the steps: what was carried out is what counts. The
    columns trial, state, failed and comment, which `meseta status --csv` has, may be there; trials
    that are not finished, were withdrawn, or are there already are left out. `value` is the column
    of the values; None: see `study_columns`. `names`: see `read_table`.
    """
    column = ledger.file.outcomes.objective if value is None else value
    if column in (*ledger.parameters, TRIAL, STATE, FAILED, COMMENT_COLUMN):
        raise ValueError(f"the column of the values cannot be {column!r}; name another by --value")
    usual = _usual(ledger)
    found: list[Found] = []
    unfinished = withdrawn = 0
    states = ("complete", FAILED, WITHDRAWN, *UNFINISHED)
    table = read_table(path, study_columns(ledger.file, ledger.parameters, value), sheet, names)
    check_columns(table, tuple(ledger.parameters))
    for row in table.rows:
        try:
            cells = row.cells
            state = cells.get(STATE) or _state(cells, column)
            if state not in states:
                raise ValueError(unknown("state", state, states))
            if state in UNFINISHED:
                unfinished += 1
                continue
            if state == WITHDRAWN:
                withdrawn += 1
                continue
            read = _historic(ledger, cells, column, state == FAILED, usual)
            found.append(Found(row.place, read))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{row.place}: {error}") from None
    new, outdated = _unknown(ledger, found)
    known = len(found) - len(new)
    return History(new, known, outdated, unfinished, withdrawn, table.notes)


def _state(cells: Mapping[str, str], column: str) -> str:
    """The state of a row that does not name it."""
    failed = cells.get(FAILED) or cells.get(column, "").lower() in FAILURE
    return FAILED if failed else "complete"


def _historic(
    ledger: Ledger, cells: Mapping[str, str], column: str, failed: bool, usual: Mapping[str, Value]
) -> FrozenTrial:
    given = cells.get(column, "")
    if failed and given and given.lower() not in FAILURE:
        raise ValueError(f"the trial is said to have failed, but has the value {given!r}")
    needed = [name for name in ledger.parameters if not (failed and name in usual)]
    for name in needed if failed else [*needed, column]:
        if not cells.get(name):
            raise ValueError(f"there is no {name!r}; it must have {[*ledger.parameters, column]}")
    texts = {name: cells[name] for name in ledger.parameters if cells.get(name)}
    executed = read_values(ledger.parameters, texts)
    names = [name for name in ledger.file.outcomes.names if name != column]
    others = known_others({name: cells[name] for name in names if cells.get(name)}, "")
    value = None if failed else read_told(repr(column), given, ledger.file.possible)
    said = {
        ERROR: cells.get(FAILED, "") if failed else "",
        OUTCOMES: others,
        COMMENT: cut(cells.get(COMMENT_COLUMN, "")),
        **read_quality(
            texts_in(ledger.file, cells),
            ledger.file,
            [*others, *(() if value is None else (VALUE,))],
            (),
        ).said,
    }
    return _finished(ledger, executed, value, usual, said)


def add_history(ledger: Ledger, found: Sequence[Found]) -> int:
    """Add the trials; returns how many count, without those that others have added meanwhile."""
    told = add_once(ledger, [(each.what, each.trial) for each in found])
    return sum(each.counts for each in told)


def _unknown(ledger: Ledger, found: Sequence[Found]) -> tuple[list[Found], int]:
    """Those that are not there yet, and how many are there as they were before a correction."""
    observed, trials = ledger.file.observed, ledger.trials
    finished = [t for t in trials if kind_of(t) in ("complete", FAILED, WITHDRAWN)]
    kept = Experiments(finished, ledger.parameters, observed)
    new, outdated = kept.without(found, lambda each: identity(each.trial, observed))
    # The same row has the same name for all who read the same trials, its repeats one of their own.
    taken = {once["what"] for trial in trials if (once := trial.user_attrs.get(ONCE))}
    named = []
    for each in new:
        own = identity(each.trial, observed)
        said = [sorted(own.carried_out.items()), own.value, sorted(own.others.items()), own.failed]
        row = sha256(repr(said).encode()).hexdigest()
        what = next(name for n in count() if (name := f"row {row} {n}") not in taken)
        taken.add(what)
        named.append(each._replace(what=what))
    return named, outdated


def _usual(ledger: Ledger) -> dict[str, Value]:
    """The usual values of observed parameters, for failed trials that do not say."""
    if not ledger.file.observed:
        return {}
    from meseta.space.environments import Environments
    from meseta.space.named_noise import read_environment

    variables = read_environment(ledger.file.noise(), ledger.space)
    usual = Environments(ledger.space, variables).complete({})
    return {name: usual[name] for name in ledger.file.observed}


def _finished(
    ledger: Ledger,
    executed: dict[str, Value],
    value: float | None,
    usual: Mapping[str, Value],
    attributes: Mapping[str, Any],
) -> FrozenTrial:
    nearest: dict[str, Any] = {
        name: parameter.nearest(executed[name]) if name in executed else usual[name]
        for name, parameter in ledger.parameters.items()
    }
    observed = ledger.file.observed
    changed = {
        name: value
        for name, value in executed.items()
        if name in observed or not is_same(nearest[name], value, ledger.parameters[name])
    }
    said = {EXECUTED: changed, UNASKED: True, **attributes}
    return create_trial(
        state=TrialState.FAIL if value is None else TrialState.COMPLETE,
        value=value,
        params=nearest,
        distributions=ledger.distributions,
        user_attrs={key: each for key, each in said.items() if each},
    )
