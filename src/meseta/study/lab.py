"""Experiments that people carry out: asked for, told, and imported from before."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.boundary import EVERY, read_value, unknown
from meseta.integrations.optuna.attributes import (
    ERROR,
    EXECUTED,
    OUTCOMES,
    UNASKED,
    UNMEASURED,
)
from meseta.optimizer.outcomes import VALUE
from meseta.optimizer.record import Trial
from meseta.space.parameter import Value
from meseta.study.entries import read_text_number, read_values
from meseta.study.ledger import Ledger
from meseta.study.marks import BY_HAND
from meseta.study.progress import is_given_up, keep_instead, kept_instead, kind_of, void
from meseta.study.sampling import FileSampler
from meseta.study.spreadsheet import (
    COLUMNS,
    FAILED,
    STATE,
    TRIAL,
    Row,
    column_names,
    read_rows,
)
from meseta.study.workers.liveness import GRACE

FAILURE = ("failed", "fail")  # in place of a value
NO_NUMBER = (
    "nan",
    "inf",
    "infinity",
    "none",
    "null",
    "na",
    "n/a",
)  # not taken for failures
UNFINISHED = ("running", "asked", "abandoned", "waiting")  # states that have no outcome
TOLD_AS_FAILED = "told as failed"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial; value None: it failed."""

    number: int
    value: float | None
    executed: dict[str, Value]
    error: str = ""
    others: dict[str, float] = field(default_factory=dict)  # further outcomes, by name
    unmeasured: tuple[str, ...] = ()  # names of executed values that nobody has measured

    @property
    def said(self) -> dict[str, Any]:
        """The attributes of its trial."""
        return {
            EXECUTED: self.executed,
            UNMEASURED: list(self.unmeasured),
            ERROR: self.error,
            OUTCOMES: self.others,
        }


class Outcomes(NamedTuple):
    """The outcomes in a file: the new ones, and how many rows were told before."""

    new: list[Outcome]
    known: int


class History(NamedTuple):
    """Finished trials of a file, and how many rows of it are not finished."""

    trials: list[FrozenTrial]
    unfinished: int


def ask(ledger: Ledger, num: int) -> list[Trial]:
    """The next experiments to carry out; they are pending until they are told.

    Trials begin before the search for their designs, so that others who ask meanwhile see them.
    """
    sampler = FileSampler(ledger, by_hand=True)
    ledger.study.sampler = sampler
    waiting = sum(trial.state == TrialState.WAITING for trial in ledger.trials)
    queued = [ledger.study.ask(ledger.distributions) for _ in range(min(num, waiting))]
    planned = [_pending_trial(ledger, trial.number, trial.params) for trial in queued]
    if len(planned) < num:
        numbers = [ledger.begin_trial(BY_HAND, True) for _ in range(num - len(planned))]
        try:
            designs = sampler.complete_designs(ledger.study, numbers)
            for number, params in zip(numbers, designs, strict=True):
                ledger.set_params(number, params)
                planned.append(_pending_trial(ledger, number, params))
        except BaseException:
            for number in numbers[len(planned) - len(queued) :]:
                void(ledger, number, "no design was found for it")
            raise
    return planned


def _pending_trial(ledger: Ledger, number: int, params: Mapping[str, Any]) -> Trial:
    return Trial(number, ledger.settable(params), None, "pending", "method")


class Cells(NamedTuple):
    """What a person says about a trial, as text."""

    value: str | None
    failed: str | None = None
    texts: Mapping[str, str] = {}  # values that were carried out, by name
    others: Mapping[str, str] = {}  # further outcomes, by name
    table: bool = False  # it is a row of a table, whose cells may be those that `ask` printed


def read_words(ledger: Ledger, words: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The value, and further outcomes by name: "0.82", or "strength=0.82" and "stress=231"."""
    outcomes = ledger.file.outcomes
    value: str | None = None
    others: dict[str, str] = {}
    for word in words:
        name, sign, text = (part.strip() for part in word.rpartition("="))
        if not sign or name in (outcomes.objective, VALUE):
            if value is not None:
                raise ValueError(f"there are two values, {value!r} and {text!r}; give one of them")
            value = text
        elif name not in outcomes.names:
            raise ValueError(unknown("outcome", name, (outcomes.objective, *outcomes.names)))
        elif name in others:
            raise ValueError(f"{name!r} is told twice; give it once")
        else:
            others[name] = text
    return value, others


def read_outcome(ledger: Ledger, number: int, cells: Cells) -> Outcome:
    """The outcome of a trial as a person tells it, checked; nothing is stored."""
    trials = ledger.trials
    outcome = _read_outcome(ledger, trials, number, cells)
    told = told_already(trials, number)
    if told is not None:
        raise ValueError(_told_sentence(trials, number, told))
    return outcome


def read_outcomes(ledger: Ledger, path: Path) -> Outcomes:
    """The outcomes in a CSV file: columns trial and value, failed, and executed values by name.

    Rows that were told before with the same outcome are left out, so that a file can be told again
    after an interruption.
    """
    names, column = list(ledger.file.parameters), value_column(ledger, path)
    trials, others = ledger.trials, ledger.file.outcomes.names
    new: list[Outcome] = []
    known, seen = 0, set()
    for row in read_rows(path, [TRIAL, column, *others, FAILED, *names]):
        try:
            outcome = _outcome_of(ledger, trials, row, names, column)
            if outcome is None:
                continue
            if outcome.number in seen:
                raise ValueError(f"trial {outcome.number} is told twice")
            seen.add(outcome.number)
            told = told_already(trials, outcome.number)
            if told is None:
                new.append(outcome)
            elif _is_same(told, outcome):
                known += 1
            else:
                raise ValueError(_told_sentence(trials, outcome.number, told))
        except ValueError as error:
            raise ValueError(f"{path}:{row.line}: {error}") from None
    return Outcomes(new, known)


def store(ledger: Ledger, outcomes: Sequence[Outcome]) -> list[str]:
    """Store the outcomes; returns notes for the user."""
    trials, notes = ledger.trials, []
    for outcome in outcomes:
        trial = trials[outcome.number]
        said = outcome.said
        if is_given_up(trial):
            new = {key: each for key, each in said.items() if each}
            keep_instead(ledger, trial, outcome.value, new)
            notes.append(
                f"trial {trial.number} had been given up; its outcome is kept as a trial of its own"
            )
        elif not _store(ledger, trial, outcome.value, said):
            raise ValueError(
                f"trial {trial.number} was told by somebody else at this moment; look at it "
                f"with `meseta status {ledger.file.label}`"
            )
    return notes


def _store(
    ledger: Ledger, trial: FrozenTrial, value: float | None, attributes: Mapping[str, Any]
) -> bool:
    """Store an outcome; False: somebody else has ended the trial."""
    state = TrialState.FAIL if value is None else TrialState.COMPLETE
    try:
        # also without any: an interrupted attempt may have left some
        for key, said in attributes.items():
            if said or trial.user_attrs.get(key):
                ledger.mark(trial.number, key, said)
        ledger.study.tell(trial.number, value, state=state)
    except (UpdateFinishedTrialError, ValueError):
        return False
    return True


def spoil(ledger: Ledger, number: int, why: str) -> None:
    """Make a trial void that went wrong by chance: its design may be asked for again."""
    if not void(ledger, number, why):
        raise ValueError(f"trial {number} was told by somebody else at this moment")


def value_column(ledger: Ledger, path: Path) -> str:
    """The column of the values: "value", or what the study calls its value."""
    own, names = ledger.file.value, ledger.parameters
    if own is None or own in (*names, *COLUMNS):
        return VALUE
    header = column_names(path, [*names, *COLUMNS, own])
    if own in header and VALUE in header:
        raise ValueError(
            f"{path} has a column {VALUE!r} and a column {own!r}, which is what the study calls "
            "its value; rename or remove the one that is not meant"
        )
    return VALUE if VALUE in header else own


def read_history(ledger: Ledger, path: Path, value: str | None = None) -> History:
    """Finished trials from a CSV file with a column for each parameter and one for the value.

    Points may lie outside of the ranges or off the steps: what was carried out is what counts. The
    columns trial, state and failed, which `meseta status --csv` has, may be there; trials that are
    not finished are left out. `value` is the column of the values, see `value_column`.
    """
    names, column = ledger.parameters, value_column(ledger, path) if value is None else value
    if column in (*names, TRIAL, STATE, FAILED):
        raise ValueError(f"the column of the values cannot be {column!r}; name another by --value")
    usual = _usual(ledger)
    found: list[FrozenTrial] = []
    unfinished = 0
    others = ledger.file.outcomes.names
    for row in read_rows(path, [*names, column, *others, TRIAL, STATE, FAILED]):
        try:
            cells = row.cells
            state = cells.get(STATE) or _state(cells, column)
            if state not in ("complete", FAILED, *UNFINISHED):
                known = ("complete", FAILED, *UNFINISHED)
                raise ValueError(unknown("state", state, known))
            if state in UNFINISHED:
                unfinished += 1
                continue
            found.append(_historic(ledger, cells, column, state == FAILED, usual))
        except ValueError as error:
            raise ValueError(f"{path}:{row.line}: {error}") from None
    return History(found, unfinished)


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
    others = _read_others({name: cells[name] for name in names if cells.get(name)}, "")
    if failed:
        return _finished(ledger, executed, None, usual, cells.get(FAILED, ""), others)
    value = _read_told(repr(column), given, ledger.file.possible)
    return _finished(ledger, executed, value, usual, "", others)


def add_history(ledger: Ledger, trials: Sequence[FrozenTrial]) -> int:
    """Add the trials that are not there yet; returns their number."""
    observed = ledger.file.observed
    kept = (trial for trial in ledger.trials if kind_of(trial) != "void")
    known = Counter(_identity(trial, observed) for trial in kept)
    new = []
    for trial in trials:
        identity = _identity(trial, observed)
        if known[identity]:
            known[identity] -= 1  # a repeated experiment counts as often as it was done
        else:
            new.append(trial)
    ledger.study.add_trials(new)
    return len(new)


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
    error: str,
    others: Mapping[str, float],
) -> FrozenTrial:
    nearest: dict[str, Any] = {
        name: parameter.nearest(executed[name]) if name in executed else usual[name]
        for name, parameter in ledger.parameters.items()
    }
    observed = ledger.file.observed
    changed = {n: v for n, v in executed.items() if n in observed or _differs(nearest[n], v)}
    said = {EXECUTED: changed, ERROR: error, OUTCOMES: dict(others), UNASKED: True}
    return create_trial(
        state=TrialState.FAIL if value is None else TrialState.COMPLETE,
        value=value,
        params=nearest,
        distributions=ledger.distributions,
        user_attrs={key: each for key, each in said.items() if each},
    )


def _read_outcome(
    ledger: Ledger,
    trials: Sequence[FrozenTrial],
    number: int,
    cells: Cells,
) -> Outcome:
    trial, (value, failed, texts, others, table) = _asked_for(trials, number), cells
    executed = read_values(ledger.parameters, texts)
    planned = {n: v for n, v in trial.params.items() if n not in ledger.file.observed}
    kept = {
        name: v
        for name, v in executed.items()
        if not table or name not in planned or _differs(planned[name], v)
    }
    rounded = (n for n in kept if table and n in planned and _is_rounded(planned[n], texts[n]))
    read = _read_others(others, f" of trial {number}")
    outcome = Outcome(number, None, kept, "", read, tuple(rounded))
    if value is not None or others:
        _check_constrained(ledger, others, number)
    if read:
        _check_observed(ledger, executed, number)
    if failed is not None or (value or "").lower() in FAILURE:
        if value is not None and value.lower() not in FAILURE:
            raise ValueError(f"trial {number} is said to have failed, but has the value {value!r}")
        return replace(outcome, error=failed or TOLD_AS_FAILED)
    if value is None:
        objective = ledger.file.outcomes.objective
        what = "value" if objective == VALUE else repr(objective)
        raise ValueError(f"trial {number} has no {what}; give one, or say --failed REASON")
    _check_observed(ledger, executed, number)
    what, possible = f"the value of trial {number}", ledger.file.possible
    return replace(outcome, value=_read_told(what, value, possible))


def _read_others(texts: Mapping[str, str], of: str) -> dict[str, float]:
    """Further outcomes that people typed; what failed is not known."""
    remedy = "say failed in its place if it is not known"
    return {
        name: _read_told(f"{name!r}{of}", text, EVERY, remedy)
        for name, text in texts.items()
        if text.lower() not in FAILURE
    }


NO_VALUE = "an experiment without a value has failed: say --failed REASON, in a file: failed"


def _read_told(
    what: str, text: str, possible: tuple[float, float], remedy: str = NO_VALUE
) -> float:
    """A value that a person typed."""
    if text.lower().lstrip("+-\u2212") in NO_NUMBER:
        raise ValueError(f"{what} must be a finite number, got {text!r}; {remedy}")
    return read_value(read_text_number(what, text), what, remedy, possible)


def _outcome_of(
    ledger: Ledger, trials: Sequence[FrozenTrial], row: Row, names: Sequence[str], column: str
) -> Outcome | None:
    number = row.cells.get(TRIAL, "")
    if not number.isdecimal():
        raise ValueError(f"the trial must be a number of one that was asked for, got {number!r}")
    value, failed = row.cells.get(column) or None, row.cells.get(FAILED) or None
    texts = {name: row.cells[name] for name in names if row.cells.get(name)}
    further = ledger.file.outcomes.names
    others = {name: row.cells[name] for name in further if row.cells.get(name)}
    if value is None and failed is None and not others:
        return None  # not done yet
    cells = Cells(value, failed, texts, others, table=True)
    return _read_outcome(ledger, trials, int(number), cells)


def check_running(ledger: Ledger, number: int) -> None:
    """Refuse a trial that is not pending."""
    trials = ledger.trials
    trial = _asked_for(trials, number)
    if trial.state.is_finished():
        raise ValueError(_told_sentence(trials, number, trial))


def told_already(trials: Sequence[FrozenTrial], number: int) -> FrozenTrial | None:
    """The trial that has the outcome; None: it was not told yet.

    The outcome of a trial that was given up is in another trial, if there is one.
    """
    trial = trials[number]
    if not is_given_up(trial):
        return trial if trial.state.is_finished() else None
    return kept_instead(trials, number)


def _asked_for(trials: Sequence[FrozenTrial], number: int) -> FrozenTrial:
    """The trial of that number; refused if there is none, or while a worker evaluates it."""
    if not 0 <= number < len(trials):
        raise ValueError(
            f"there is no trial {number}. {_pending(trials)} `meseta import` takes experiments "
            "that nobody asked for"
        )
    trial = trials[number]
    if kind_of(trial) == "running":
        raise ValueError(
            f"a worker evaluates trial {number} now, and stores its value. If that worker is gone, "
            f"it can be told {GRACE:.0f} seconds after its last sign of life"
        )
    return trial


def _told_sentence(trials: Sequence[FrozenTrial], number: int, told: FrozenTrial) -> str:
    where = "" if told.number == number else f", kept as trial {told.number}"
    if told.state != TrialState.COMPLETE:
        reason = told.user_attrs.get(ERROR)
        said = "does not count" if kind_of(told) == "void" else "failed"
        return f"trial {number} {said}{f' ({reason})' if reason else ''}{where}. {_pending(trials)}"
    executed = told.user_attrs.get(EXECUTED) or {}
    settings = ", ".join(f"{name} = {value}" for name, value in executed.items())
    carried_out = f", carried out with {settings}" if settings else ""
    others = told.user_attrs.get(OUTCOMES) or {}
    carried_out += "".join(f", {name} = {value}" for name, value in others.items())
    return (
        f"trial {number} already has the value {told.value}{carried_out}{where}. {_pending(trials)}"
    )


def _pending(trials: Sequence[FrozenTrial]) -> str:
    numbers = [trial.number for trial in trials if kind_of(trial) in ("asked", "running")]
    if not numbers:
        return "No trial is pending."
    return f"Pending {'trials' if len(numbers) > 1 else 'trial'}: {', '.join(map(str, numbers))}."


def _is_same(told: FrozenTrial, outcome: Outcome) -> bool:
    """Whether the same outcome was told before."""
    executed, others = (told.user_attrs.get(key) or {} for key in (EXECUTED, OUTCOMES))
    carried_out = {**told.params, **executed} == {**told.params, **outcome.executed}
    same = carried_out and others == outcome.others
    if outcome.value is None:
        return told.state == TrialState.FAIL and same
    return told.value == outcome.value and same


def _check_constrained(ledger: Ledger, others: Mapping[str, str], number: int) -> None:
    """What has a constraint is told, or is said not to be known."""
    for name in ledger.file.needed:
        if name not in others:
            raise ValueError(
                f"trial {number} has no {name!r}, which has a constraint; say {name}=VALUE, or "
                f"{name}=failed if it is not known, in a file: failed"
            )


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


def _is_rounded(planned: Any, text: str) -> bool:
    """Whether a cell is the planned value, rounded to the digits of the cell."""
    if not isinstance(planned, float):
        return False
    try:
        cell = Decimal(text.strip().replace("\u2212", "-").replace(",", "."))
        step = Decimal(1).scaleb(int(cell.as_tuple().exponent))
        return abs(Decimal(repr(planned)) - cell) <= step / 2
    except (ArithmeticError, TypeError, ValueError):  # a text that a number is written by otherwise
        return False


def _identity(trial: FrozenTrial, observed: Sequence[str]) -> tuple[Any, ...]:
    """The values that were carried out, without unobserved ones, and the outcome."""
    planned = {name: value for name, value in trial.params.items() if name not in observed}
    executed = {**planned, **trial.user_attrs.get(EXECUTED, {})}
    others = tuple(sorted(trial.user_attrs.get(OUTCOMES, {}).items()))
    carried_out = tuple(sorted(executed.items(), key=lambda item: item[0]))
    return carried_out, trial.value, others, trial.state
