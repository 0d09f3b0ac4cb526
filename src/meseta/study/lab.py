"""Experiments that people carry out: asked for, and told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial, TrialState

from meseta.boundary import EVERY, are, cut, read_value, unknown
from meseta.integrations.optuna.attributes import (
    COMMENT,
    ERROR,
    EXECUTED,
    OUTCOMES,
    TOLD_BY,
    UNMEASURED,
    VOID,
    amendments_of,
    executed_of,
    is_void,
    is_withdrawn,
    outcomes_of,
    stated_of,
    versions,
)
from meseta.integrations.optuna.told import Tell
from meseta.optimizer.outcomes import EXECUTED as EXECUTED_COLUMN
from meseta.optimizer.outcomes import VALUE
from meseta.optimizer.record import Trial
from meseta.space.parameter import Categorical, Value
from meseta.study.decimals import notes_on, numeral
from meseta.study.digits import is_rounded, is_same, readable
from meseta.study.entries import read_text_number, read_values
from meseta.study.identity import identity, is_same_experiment
from meseta.study.ledger import Ledger
from meseta.study.marks import BY_HAND, CONFIRMS
from meseta.study.progress import is_given_up, keep_instead, kept_instead, kind_of
from meseta.study.quality import NONE as NO_QUALITY
from meseta.study.quality import Quality, agrees, quality_of, read_quality, tells_design, texts_in
from meseta.study.sampling import FileSampler
from meseta.study.spreadsheet import COMMENT as COMMENT_COLUMN
from meseta.study.spreadsheet import FAILED, STATE, TRIAL
from meseta.study.tables import Row, check_columns, read_table, study_columns
from meseta.study.telling import MOST_AT_ONCE, Told, begin_all, tell
from meseta.study.unusual import Said, unusual
from meseta.study.workers.liveness import GRACE
from meseta.study.workers.nearness import BESIDE, distance

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
TOLD_AS_FAILED = "told as failed"
ATTEMPTS = 5  # searches for designs that nobody else has


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial; value None: it failed."""

    number: int
    value: float | None
    executed: dict[str, Value]
    error: str = ""
    others: dict[str, float] = field(default_factory=dict)  # further outcomes, by name
    comment: str = ""
    unmeasured: tuple[str, ...] = ()  # names of executed values that nobody has measured
    quality: Quality = NO_QUALITY

    @property
    def said(self) -> dict[str, Any]:
        """The attributes of its trial."""
        return {
            EXECUTED: self.executed,
            UNMEASURED: list(self.unmeasured),
            ERROR: self.error,
            OUTCOMES: self.others,
            COMMENT: self.comment,
            **self.quality.said,
        }


class Outcomes(NamedTuple):
    """The outcomes in a file: the new ones, how many rows were told before, and notes."""

    new: list[Outcome]
    known: int
    outdated: int  # those of the known ones that were corrected or withdrawn since
    notes: list[str]


def check_num(num: int) -> None:
    """Refuse more experiments than anybody carries out at a time."""
    if not 1 <= num <= MOST_AT_ONCE:
        raise ValueError(
            f"-n must be from 1 to {MOST_AT_ONCE}, got {num}; ask for the next ones once these "
            "are told"
        )


def ask(ledger: Ledger, num: int) -> list[Trial]:
    """The next experiments to carry out; they are pending until they are told."""
    check_num(num)
    ledger.study.sampler = FileSampler(ledger)
    waiting = sum(trial.state == TrialState.WAITING for trial in ledger.trials)
    planned = [_queued(ledger) for _ in range(min(num, waiting))]
    designs = _new_designs(ledger, num - len(planned))
    numbers = begin_all(ledger, [(design, {BY_HAND: True}) for design in designs])
    return planned + list(map(partial(_pending_trial, ledger), numbers, designs))


def _queued(ledger: Ledger) -> Trial:
    """A trial that was enqueued; it is a person's only once its design is whole."""
    trial = ledger.ask()
    ledger.mark(trial.number, BY_HAND, True)
    return _pending_trial(ledger, trial.number, ledger.design_of(trial))


def _new_designs(ledger: Ledger, num: int, attempts: int = ATTEMPTS) -> list[dict[str, Any]]:
    """Designs that nobody else is at; nothing is stored.

    Somebody may begin trials while we search: at the same designs, or with a search of their own,
    which would end there. Then we search again, at most `attempts` times.
    """
    if not num:
        return []
    first = len(ledger.trials)
    exact = FileSampler(ledger).complete_designs(range(first, first + num))
    designs = [readable(ledger.file, ledger.parameters, each) for each in exact]
    if attempts and any(_in_the_way(ledger, each, designs) for each in ledger.trials[first:]):
        return _new_designs(ledger, num, attempts - 1)
    return designs


def _in_the_way(ledger: Ledger, other: FrozenTrial, designs: Sequence[dict[str, Any]]) -> bool:
    if is_void(other):
        return False
    return not other.params or any(distance(ledger, each, other) < BESIDE for each in designs)


def _pending_trial(ledger: Ledger, number: int, params: Mapping[str, Any]) -> Trial:
    return Trial(number, ledger.settable(params), None, "pending", "method")


class Cells(NamedTuple):
    """What a person says about a trial, as text."""

    value: str | None
    failed: str | None = None
    texts: Mapping[str, str] = {}  # values that were carried out, by name
    others: Mapping[str, str] = {}  # further outcomes, by name
    comment: str = ""
    quality: Mapping[str, str] = {}  # by column, see `meseta.study.quality`
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


def notes_on_typed(ledger: Ledger, cells: Cells) -> list[str]:
    """What has to be said about numbers that a person typed."""
    parameters, texts = ledger.parameters, cells.texts
    settings = (texts[name] for name in texts if not isinstance(parameters[name], Categorical))
    return notes_on(map(numeral, (cells.value or "", *cells.others.values(), *settings)))


def read_outcomes(
    ledger: Ledger,
    path: Path,
    sheet: str | None = None,
    names: Mapping[str, str] | None = None,
) -> Outcomes:
    """The outcomes in a table: columns trial and value, failed, comment, and executed values.

    Rows that were told before with the same outcome are left out, so that a file can be told again
    after an interruption. `names`: see `read_table`.
    """
    columns = study_columns(ledger.file, ledger.parameters)
    table = read_table(path, [each for each in columns if each.name != STATE], sheet, names)
    check_columns(table, (TRIAL,))
    check_columns(table, (ledger.file.outcomes.objective, *ledger.file.outcomes.names, FAILED))
    trials = ledger.trials
    new: list[Outcome] = []
    known, outdated, seen = 0, 0, set()
    for row in table.rows:
        try:
            outcome = _outcome_of(ledger, trials, row)
            if outcome is None:
                continue
            if outcome.number in seen:
                raise ValueError(f"trial {outcome.number} is told twice")
            seen.add(outcome.number)
            told = told_already(trials, outcome.number)
            if told is None:
                new.append(outcome)
            elif any(_is_same(ledger, each, outcome) for each in versions(told)):
                known += 1
                outdated += is_withdrawn(told) or not _is_same(ledger, told, outcome)
            else:
                raise ValueError(_told_sentence(trials, outcome.number, told))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{row.place}: {error}") from None
    return Outcomes(new, known, outdated, table.notes)


def unusual_outcomes(ledger: Ledger, outcomes: Sequence[Outcome]) -> list[str]:
    """What is unusual about outcomes that are not stored yet, a sentence each."""
    return unusual(ledger, [_said(outcome) for outcome in outcomes])


def _said(outcome: Outcome) -> Said:
    own = {} if outcome.value is None else {VALUE: outcome.value}
    values = {**own, **outcome.others}
    return Said(f"trial {outcome.number}", outcome.number, values, outcome.executed)


class Stored(NamedTuple):
    """What became of outcomes."""

    num: int  # the number of those that count
    known: int  # of those that somebody else told with the same words at the same moment
    notes: list[str]
    lost: list[str]  # of which somebody else told another outcome at the same moment


def store(ledger: Ledger, outcomes: Sequence[Outcome]) -> Stored:
    """Store the outcomes, each as one fact, and say what became of them."""
    trials = ledger.trials
    said = {each.number: Tell(each.value, each.said) for each in outcomes}
    found = tell(ledger, {n: each for n, each in said.items() if not is_given_up(trials[n])})
    stored = Stored(0, 0, [], [])
    for outcome in outcomes:
        number = outcome.number
        told = found.get(number, Told(False, trials[number]))
        if not told.counts and is_given_up(told.trial):
            told = keep_instead(ledger, told.trial, said[number])
            stored.notes.append(
                f"trial {number} had been given up; its outcome is kept as a trial of its own"
            )
        if told.counts:
            stored = stored._replace(num=stored.num + 1)
        elif len(outcomes) > 1 and _is_same(ledger, told.trial, outcome):
            stored = stored._replace(known=stored.known + 1)
        else:
            stored.lost.append(_lost_sentence(ledger, number, told.trial))
    return stored


def spoil(ledger: Ledger, number: int, why: str) -> None:
    """Make a trial void that went wrong by chance: its design may be asked for again."""
    told = tell(ledger, {number: Tell(None, {VOID: why})})[number]
    if not told.counts:
        raise ValueError(_lost_sentence(ledger, number, told.trial))


def _lost_sentence(ledger: Ledger, number: int, told: FrozenTrial) -> str:
    _, who = told.user_attrs.get(TOLD_BY, (None, ""))
    return (
        f"trial {number} was told at this moment by somebody else{f', {who}' if who else ''}, and "
        f"what you said was not stored: {_told_sentence(ledger.trials, number, told)}"
    )


def _read_outcome(
    ledger: Ledger,
    trials: Sequence[FrozenTrial],
    number: int,
    cells: Cells,
) -> Outcome:
    trial = asked_for(trials, number)
    _check_designed(ledger, trial)
    value, failed, texts, others, comment, quality, table = cells
    confirms = trial.user_attrs.get(CONFIRMS, {})
    place = confirms.get("place", {})
    executed = read_values(ledger.parameters, texts)
    observed, settings = ledger.file.observed, {**trial.params, **place}
    plan = {n: v for n, v in settings.items() if table and n not in observed}
    kept = {
        name: v
        for name, v in executed.items()
        if name not in plan or not is_same(plan[name], v, ledger.parameters[name])
    }
    rounded = tuple(n for n in kept if n in plan and is_rounded(plan[n], texts[n]))
    measured = [name for name in kept if name not in rounded]
    if confirms.get("how") == "as-it-comes" and not tells_design(ledger.file, measured):
        quality = {EXECUTED_COLUMN: "unseen", **quality}
    read = known_others(others, f" of trial {number}")
    # what was set on purpose was carried out, unless it is told otherwise; nobody measured it
    purposed = {name: v for name, v in place.items() if name not in kept}
    unmeasured = (*rounded, *purposed)
    outcome = Outcome(number, None, {**purposed, **kept}, "", read, cut(comment), unmeasured)
    if value is not None or others:
        check_constrained(ledger, others, number)
    if read:
        check_observed(ledger, executed, number)
    outcomes = ledger.file.outcomes
    if failed is not None or (value or "").lower() in FAILURE:
        if value is not None and value.lower() not in FAILURE:
            raise ValueError(f"trial {number} is said to have failed, but has the value {value!r}")
        said = read_quality(quality, ledger.file, [*read], [*measured, *purposed])
        return replace(outcome, error=failed or TOLD_AS_FAILED, quality=said)
    if value is None:
        what = "value" if outcomes.objective == VALUE else repr(outcomes.objective)
        raise ValueError(f"trial {number} has no {what}; give one, or say --failed REASON")
    check_observed(ledger, executed, number)
    what, possible = f"the value of trial {number}", ledger.file.possible
    said = read_quality(quality, ledger.file, [VALUE, *read], [*measured, *purposed])
    return replace(outcome, value=read_told(what, value, possible), quality=said)


def known_others(texts: Mapping[str, str], of: str) -> dict[str, float]:
    """Further outcomes that people typed and that are known."""
    read = read_others(texts, of)
    return {name: each for name, each in read.items() if each is not None}


def read_others(texts: Mapping[str, str], of: str) -> dict[str, float | None]:
    """Further outcomes that people typed; what failed is not known."""
    remedy = "say failed in its place if it is not known"
    return {
        name: None if text.lower() in FAILURE else read_told(f"{name!r}{of}", text, EVERY, remedy)
        for name, text in texts.items()
    }


NO_VALUE = "an experiment without a value has failed: say --failed REASON, in a file: failed"


def read_told(what: str, text: str, possible: tuple[float, float], remedy: str = NO_VALUE) -> float:
    """A value that a person typed."""
    if text.lower().lstrip("+-\u2212") in NO_NUMBER:
        raise ValueError(f"{what} must be a finite number, got {text!r}; {remedy}")
    return read_value(read_text_number(what, text), what, remedy, possible)


def _outcome_of(ledger: Ledger, trials: Sequence[FrozenTrial], row: Row) -> Outcome | None:
    cells, outcomes = row.cells, ledger.file.outcomes
    number = cells.get(TRIAL, "")
    if not (number.isascii() and number.isdecimal()):
        raise ValueError(f"the trial must be a number of one that was asked for, got {number!r}")
    value, failed = cells.get(outcomes.objective) or None, cells.get(FAILED) or None
    texts, others = (
        {name: cells[name] for name in names if cells.get(name)}
        for names in (ledger.parameters, outcomes.names)
    )
    comment = cells.get(COMMENT_COLUMN, "")
    if value is None and failed is None and not others:
        return None  # not done yet
    quality = texts_in(ledger.file, cells)
    said = Cells(value, failed, texts, others, comment, quality, table=True)
    return _read_outcome(ledger, trials, int(number), said)


def check_spoilt(ledger: Ledger, number: int, why: str) -> None:
    """Refuse a trial that is not pending, and no reason: it would stand there as failed."""
    if not why.strip():
        raise ValueError(f"say why trial {number} went wrong, for those who read it later")
    trials = ledger.trials
    trial = asked_for(trials, number)
    if trial.state.is_finished():
        raise ValueError(_told_sentence(trials, number, trial))


def _check_designed(ledger: Ledger, trial: FrozenTrial) -> None:
    """Refuse a trial that was interrupted before it had its whole design: nobody has seen it."""
    missing = [name for name in ledger.parameters if name not in trial.params]
    if missing and (trial.params or not trial.state.is_finished()):
        end = f"`meseta tell {ledger.file.label} {trial.number} --spoilt REASON` ends it, and "
        raise ValueError(
            f"trial {trial.number} was interrupted before it had a design: {are(missing)} missing. "
            f"{'' if trial.state.is_finished() else end}`meseta import` takes experiments that "
            "nobody asked for"
        )


def told_already(trials: Sequence[FrozenTrial], number: int) -> FrozenTrial | None:
    """The trial that has the outcome; None: it was not told yet.

    The outcome of a trial that was given up is in another trial, if there is one.
    """
    trial = trials[number]
    if not is_given_up(trial):
        return trial if trial.state.is_finished() else None
    return kept_instead(trials, number)


def asked_for(trials: Sequence[FrozenTrial], number: int) -> FrozenTrial:
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
    if is_withdrawn(told):
        why = [each.why for each in amendments_of(told) if each.what == "withdraw"][-1]
        return (
            f"trial {number} was withdrawn ({why}); `meseta correct` lets it count again. "
            f"{_pending(trials)}"
        )
    if told.state != TrialState.COMPLETE:
        reason = told.user_attrs.get(ERROR) or told.user_attrs.get(VOID)
        said = "does not count" if kind_of(told) == "void" else "failed"
        return f"trial {number} {said}{f' ({reason})' if reason else ''}{where}. {_pending(trials)}"
    settings = ", ".join(f"{name} = {value}" for name, value in executed_of(told).items())
    carried_out = f", carried out with {settings}" if settings else ""
    others = outcomes_of(told)
    carried_out += "".join(f", {name} = {value}" for name, value in others.items())
    carried_out += "".join(f", {name} = {value}" for name, value in quality_of(told).items())
    return (
        f"trial {number} already has the value {told.value}{carried_out}{where}. "
        f"{_pending(trials)} `meseta correct` puts a value right"
    )


def _pending(trials: Sequence[FrozenTrial]) -> str:
    numbers = [trial.number for trial in trials if kind_of(trial) in ("asked", "running")]
    if not numbers:
        return "No trial is pending."
    return f"Pending {'trials' if len(numbers) > 1 else 'trial'}: {', '.join(map(str, numbers))}."


def _is_same(ledger: Ledger, told: FrozenTrial, outcome: Outcome) -> bool:
    """Whether the same outcome was told before."""
    kept = identity(told)
    given = kept._replace(
        # what was stated is in place of what nobody could tell at the time
        carried_out={**told.params, **stated_of(told), **outcome.executed},
        value=outcome.value,
        others=outcome.others,
        failed=outcome.value is None,
    )
    if not is_same_experiment(kept, given, ledger.parameters):
        return False
    return agrees(outcome.quality, told, ledger.file, outcome.executed)


def check_constrained(ledger: Ledger, others: Mapping[str, str], number: int) -> None:
    """What has a constraint is told, or is said not to be known."""
    for name in ledger.file.needed:
        if name not in others:
            raise ValueError(
                f"trial {number} has no {name!r}, which has a constraint; say {name}=VALUE, or "
                f"{name}=failed if it is not known, in a file: failed"
            )


def check_observed(ledger: Ledger, executed: Mapping[str, Value], number: int) -> None:
    for name in ledger.file.observed:
        if name not in executed:
            raise ValueError(
                f"{name!r} is observed, so trial {number} needs what it was: --set {name}=..., or "
                f"a column {name!r}"
            )
