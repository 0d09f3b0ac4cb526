"""Amendments: what is said about a trial after it was told. What was told before stays known."""

import getpass
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, get_args

from meseta.boundary import LONGEST_TEXT, cut, shown
from meseta.optimizer.outcomes import VALUE
from meseta.optimizer.precision import COUNT, STD, Execution, check_of_values
from meseta.space.parameter import Design

What = Literal["correct", "withdraw", "comment"]
UNCHANGED: Final = object()  # in place of a value that stays as it is
NOBODY = "unknown"  # a user whose name the system does not know


def user_name() -> str:
    """The name of the user on this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # in a container, users may have no name
        return NOBODY


def read_who(who: str | None) -> str:
    """Who says so; None: the user."""
    return user_name() if who is None else read_words("who", who)


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Entry:
    """What the record has of a finished trial."""

    value: float | None  # None: it failed
    error: str | None = None
    params: Design = field(default_factory=dict)  # as they were carried out
    outcomes: Mapping[str, float] = field(default_factory=dict)  # others, as far as known
    std: Mapping[str, float] = field(default_factory=dict)  # this and the next as in `Trial`
    n: int = 1
    unseen: bool | None = False  # None: it does not say so, and goes by the study
    measured: tuple[str, ...] = ()
    withdrawn: bool = False  # it does not count


class Change(NamedTuple):
    """One thing that a correction changed; None: there was, or is, none."""

    name: str
    before: Any
    now: Any


@dataclass(frozen=True)
class Amendment:
    """A correction, a withdrawal or a comment: what, why, by whom and when.

    A correction says what changes, and leaves the rest as it is.
    """

    what: What
    why: str  # of a comment: its text
    who: str = field(default_factory=user_name)  # empty: not known
    when: str = field(default_factory=utc_now)  # UTC, ISO 8601; empty: not known
    value: float | None = None  # the corrected one
    error: str | None = None  # why the trial failed in fact
    params: Design = field(default_factory=dict)  # corrected ones, as they were carried out
    outcomes: Mapping[str, float | None] = field(default_factory=dict)  # None: not known in fact
    std: Mapping[str, float | None] = field(default_factory=dict)  # None: not known in fact
    n: int | None = None  # the corrected number of measurements
    unseen: bool | None = None  # whether the noise acted on it in fact, and nobody saw how
    before: Entry | None = None  # what the record had before

    @property
    def counts(self) -> bool:
        """Whether a trial that was withdrawn counts again."""
        return self.what == "correct" and (self.value is not None or self.error is not None)

    @property
    def changes(self) -> list[Change]:
        """What a correction changed, one by one."""
        return [] if self.what != "correct" else [*self._changes(self.before or Entry(None))]

    def _changes(self, before: Entry) -> Iterator[Change]:
        if self.value is not None:
            yield Change(VALUE, before.value, self.value)
        elif self.error is not None and before.value is not None:
            yield Change(VALUE, before.value, None)
        if self.error is not None or (before.error is not None and self.value is not None):
            yield Change("failed", before.error, self.error)
        for name, outcome in self.outcomes.items():
            yield Change(name, before.outcomes.get(name), outcome)
        for name, executed in self.params.items():
            yield Change(name, before.params.get(name), executed)
        for name, std in self.std.items():
            what = STD if name == VALUE else f"{STD} of {name}"
            yield Change(what, before.std.get(name), std)
        if self.n is not None:
            yield Change(COUNT, before.n, self.n)
        if self.unseen is not None:
            yield Change("executed", _execution(before.unseen), _execution(self.unseen))

    def __str__(self) -> str:
        by = ", ".join(part for part in (self.who, local_time(self.when)) if part)
        done = "" if self.what == "comment" else f"{self.in_words()}: "
        return f"{done}{self.why}{f' ({by})' if by else ''}"

    def in_words(self) -> str:
        """What was done, without why, by whom and when."""
        match self.what:
            case "comment":
                return "comment"
            case "withdraw":
                value = None if self.before is None else self.before.value
                return "withdrawn" if value is None else f"withdrawn, value {_word(value)}"
        return ", ".join(
            f"{name} {_word(before)} -> {_word(now)}" for name, before, now in self.changes
        )


def _execution(unseen: bool | None) -> Execution | None:
    return None if unseen is None else "unseen" if unseen else "known"


def _word(said: object) -> str:
    return "none" if said is None else f"{said:.10g}" if isinstance(said, float) else str(said)


def local_time(when: str) -> str:
    """In the time zone of this machine, with its offset."""
    try:
        return datetime.fromisoformat(when).astimezone().isoformat(" ", "minutes")
    except (ValueError, OverflowError):
        return when


def applied(entry: Entry, amendments: Sequence[Amendment]) -> list[tuple[Entry, Amendment]]:
    """What the record has after each of the amendments, which get to know what was before."""
    steps: list[tuple[Entry, Amendment]] = []
    for amendment in amendments:
        known = replace(amendment, before=entry)
        if amendment.what == "withdraw":
            entry = replace(entry, withdrawn=True)
        elif amendment.what == "correct":
            entry = _corrected(entry, amendment)
        steps.append((entry, known))
    return steps


def _corrected(entry: Entry, amendment: Amendment) -> Entry:
    outcomes = _known({**entry.outcomes, **amendment.outcomes})
    value, error = entry.value, entry.error
    if amendment.counts:
        value, error = amendment.value, amendment.error
    elif value is not None and any(each is not None for each in amendment.outcomes.values()):
        error = None  # it said which outcome was missing
    std = _known({**entry.std, **amendment.std})
    others = {*entry.outcomes, *amendment.outcomes}  # any other name is that of the value
    unseen = entry.unseen if amendment.unseen is None else amendment.unseen
    return Entry(
        value,
        error,
        {**entry.params, **amendment.params},
        outcomes,
        # what has no value any more has no standard deviation either
        {
            name: each
            for name, each in std.items()
            if name in outcomes or (name not in others and value is not None)
        },
        entry.n if amendment.n is None else amendment.n,
        unseen,
        () if unseen else tuple(dict.fromkeys((*entry.measured, *amendment.params))),
        entry.withdrawn and not amendment.counts,
    )


def _known(said: Mapping[str, float | None]) -> dict[str, float]:
    return {name: each for name, each in said.items() if each is not None}


def check_amendment(
    number: int, entry: Entry, amendment: Amendment, objective: str = VALUE
) -> None:
    """Refuse an amendment that says nothing new of a trial, or a std of what has no value."""
    if not amendment.why.strip():
        what = "text" if amendment.what == "comment" else "why"
        raise ValueError(f"{what} must be a text for those who read the record later, got none")
    if entry.withdrawn and amendment.what == "withdraw":
        raise ValueError(
            f"trial {number} was withdrawn before; correct its value, and it counts again"
        )
    if amendment.what != "correct":
        return
    if entry.withdrawn and not amendment.counts:
        raise ValueError(
            f"trial {number} was withdrawn; give its value, or say why it failed, and it counts "
            "again"
        )
    now = _corrected(entry, amendment)
    known = (*now.outcomes, *(() if now.value is None else (VALUE,)))
    check_of_values(_known(amendment.std), known, objective)
    if not amendment.changes:
        raise ValueError(
            f"there is nothing to correct of trial {number}: give its value, another outcome, or "
            "what was carried out"
        )
    if now == entry:
        raise ValueError(f"trial {number} already has all of that; nothing is corrected")


def read_amendment(said: object) -> Amendment:
    """An amendment, or what `dataclasses.asdict` made of one."""
    if isinstance(said, Amendment):
        return said
    expected = "an amendment must be a meseta.optimizer.amendment.Amendment, or its dict"
    if not isinstance(said, Mapping):
        raise TypeError(f"{expected}, got {shown(said)}")
    given = {str(key): each for key, each in said.items()}
    before = given.pop("before", None)
    if given.get("what") not in get_args(What) or not isinstance(given.get("why"), str):
        raise ValueError(f"{expected}, got {shown(said)}")
    known = {each.name for each in fields(Amendment)}
    if not set(given) <= known or not all(isinstance(given.get(n), str) for n in ("who", "when")):
        raise ValueError(f"{expected}, got {shown(said)}")
    if isinstance(before, Mapping):
        entry = Entry(**before)
        before = replace(entry, measured=tuple(entry.measured))  # a list, in JSON
    return Amendment(**given, before=before)


def read_words(what: str, text: object) -> str:
    """A text for people, not too long to be kept."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text, got {shown(text)}")
    return cut(text.strip(), LONGEST_TEXT)
