"""Experiments done by hand: asked for, told, and taken over from before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.integrations.attributes import ERROR, EXECUTED, VOID
from meseta.parameters import Value
from meseta.study.entries import Row, check_columns, read_rows, read_text_number, read_values
from meseta.study.ledger import Ledger, storage_failures
from meseta.study.progress import GONE, keep_late, kind_of, void
from meseta.study.sampling import FileSampler

TRIAL, VALUE, FAILED, STATE = "trial", "value", "failed", "state"
FAILURE = ("failed", "fail", "nan", "none")  # in place of a value


@dataclass(frozen=True)
class Planned:
    """An experiment to carry out."""

    number: int
    params: dict[str, Value]


@dataclass(frozen=True)
class Outcome:
    """What came of a trial; value None: it failed."""

    number: int
    value: float | None
    executed: dict[str, Value]
    error: str = ""


def ask(ledger: Ledger, num: int) -> list[Planned]:
    """The next experiments; they are in hand until they are told."""
    ledger.study.sampler = FileSampler(ledger, by_hand=True)
    planned = []
    for _ in range(num):
        with storage_failures(ledger.file):
            trial = ledger.study.ask(ledger.distributions)
        planned.append(Planned(trial.number, ledger.settable(trial.params)))
    return planned


def read_outcome(
    ledger: Ledger, number: int, value: str | None, failed: str | None, texts: Mapping[str, str]
) -> Outcome:
    """What a person tells of a trial, checked; nothing is stored."""
    trial = check_running(ledger, number)
    executed = read_values(ledger.space, texts)
    if failed is not None or (value or "").lower() in FAILURE:
        return Outcome(number, None, executed, failed or "told as failed")
    if value is None:
        raise ValueError(f"trial {number} has no value; give one, or say --failed REASON")
    _check_observed(ledger, executed, number)
    read = read_text_number(f"the value of trial {number}", value)
    changed = {name: v for name, v in executed.items() if _differs(trial.params.get(name), v)}
    observed = {name: v for name, v in executed.items() if name in ledger.file.observed}
    return Outcome(number, read, {**changed, **observed})


def read_outcomes(ledger: Ledger, path: Path) -> list[Outcome]:
    """The outcomes in a CSV file: columns trial and value, failed, and executed values by name."""
    rows = read_rows(path)
    names = list(ledger.file.parameters)
    check_columns(path, rows, [TRIAL, VALUE, FAILED, *names])
    outcomes, seen = [], set()
    for row in rows:
        try:
            outcome = _outcome_of(ledger, row, names)
        except ValueError as error:
            raise ValueError(f"{path}:{row.line}: {error}") from None
        if outcome is None:
            continue
        if outcome.number in seen:
            raise ValueError(f"{path}:{row.line}: trial {outcome.number} is told twice")
        seen.add(outcome.number)
        outcomes.append(outcome)
    return outcomes


def store(ledger: Ledger, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        state = TrialState.FAIL if outcome.value is None else TrialState.COMPLETE
        ended = ledger.trials[outcome.number]
        if outcome.value is not None and ended.user_attrs.get(VOID) == GONE:
            executed = {EXECUTED: outcome.executed} if outcome.executed else {}
            keep_late(ledger, ended, outcome.value, executed)
            continue
        with storage_failures(ledger.file):
            if outcome.executed:
                ledger.mark(outcome.number, EXECUTED, outcome.executed)
            if outcome.error:
                ledger.mark(outcome.number, ERROR, outcome.error)
            ledger.study.tell(outcome.number, outcome.value, state=state)


def spoil(ledger: Ledger, number: int, why: str) -> None:
    """A trial went wrong by chance: it does not count, and its design may be asked for again."""
    with storage_failures(ledger.file):
        void(ledger, number, why)


def read_history(ledger: Ledger, path: Path, value: str = VALUE) -> list[FrozenTrial]:
    """Complete trials from a CSV file with a column for each parameter and one for the value.

    Points may lie outside of the ranges or off the steps: what was carried out is what counts. The
    columns trial and state, which `meseta status --csv` has, may be there; trials that are not
    finished are left out.
    """
    space, rows = ledger.space, read_rows(path)
    check_columns(path, rows, [*space.names, value, TRIAL, STATE])
    found = []
    for row in rows:
        if row.cells.get(STATE, "complete") not in ("", "complete", FAILED):
            continue
        if row.cells.get(STATE) == FAILED:
            row.cells[value] = FAILED
        try:
            missing = [name for name in (*space.names, value) if not row.cells.get(name)]
            if missing:
                raise ValueError(
                    f"there is no {missing[0]!r}; it must have {[*space.names, value]}"
                )
            texts = {name: row.cells[name] for name in space.names}
            executed = read_values(space, texts)
            failed = row.cells[value].lower() in FAILURE
            number = None if failed else read_text_number(f"{value!r}", row.cells[value])
            found.append(_finished(ledger, executed, number))
        except ValueError as error:
            raise ValueError(f"{path}:{row.line}: {error}") from None
    return found


def add_history(ledger: Ledger, trials: Sequence[FrozenTrial]) -> int:
    """Add those that are not there yet; how many these are."""
    known = [_identity(trial) for trial in ledger.trials]
    added = 0
    for trial in trials:
        identity = _identity(trial)
        if identity in known:
            known.remove(identity)  # a repeated experiment counts as often as it was done
            continue
        with storage_failures(ledger.file):
            ledger.study.add_trial(trial)
        added += 1
    return added


def _finished(ledger: Ledger, executed: dict[str, Value], value: float | None) -> FrozenTrial:
    space = ledger.space
    nearest: dict[str, Any] = {
        name: parameter.nearest(executed[name]) for name, parameter in space.items()
    }
    observed = ledger.file.observed
    changed = {n: v for n, v in executed.items() if n in observed or _differs(nearest[n], v)}
    return create_trial(
        state=TrialState.FAIL if value is None else TrialState.COMPLETE,
        value=value,
        params=nearest,
        distributions=ledger.distributions,
        user_attrs={EXECUTED: changed} if changed else {},
    )


def _outcome_of(ledger: Ledger, row: Row, names: Sequence[str]) -> Outcome | None:
    number = row.cells.get(TRIAL, "")
    if not number.isdigit():
        raise ValueError(f"the trial must be a number of one that was asked for, got {number!r}")
    value, failed = row.cells.get(VALUE) or None, row.cells.get(FAILED) or None
    if value is None and failed is None:
        return None  # not done yet
    texts = {name: row.cells[name] for name in names if row.cells.get(name)}
    return read_outcome(ledger, int(number), value, failed, texts)


def check_running(ledger: Ledger, number: int) -> FrozenTrial:
    trials = ledger.trials
    asked = [trial.number for trial in trials if kind_of(trial) in ("asked", "running")]
    if not 0 <= number < len(trials):
        raise ValueError(
            f"there is no trial {number}; those that are waited for: {_listed(asked)}. "
            "`meseta import` takes experiments that nobody asked for"
        )
    trial = trials[number]
    # the value of a worker that could not store it may come after its trial was given up
    if trial.state.is_finished() and trial.user_attrs.get(VOID) != GONE:
        raise ValueError(
            f"trial {number} is told already ({_described(trial)}); those that are waited for: "
            f"{_listed(asked)}"
        )
    return trial


def _described(trial: FrozenTrial) -> str:
    return f"value {trial.value}" if trial.state == TrialState.COMPLETE else "failed"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _check_observed(ledger: Ledger, executed: Mapping[str, Value], number: int) -> None:
    for name in ledger.file.observed:
        if name not in executed:
            raise ValueError(
                f"{name!r} is observed, so trial {number} needs what it was: --set {name}=..., or "
                f"a column {name!r}"
            )


def _differs(planned: Any, executed: Any) -> bool:
    if isinstance(planned, float) and isinstance(executed, (int, float)):
        return abs(planned - executed) > 1e-12 * max(abs(planned), abs(executed))
    return bool(planned != executed)


def _identity(trial: FrozenTrial) -> tuple[Any, ...]:
    executed = {**trial.params, **trial.user_attrs.get(EXECUTED, {})}
    return tuple(sorted(executed.items(), key=lambda item: item[0])), trial.value, trial.state
