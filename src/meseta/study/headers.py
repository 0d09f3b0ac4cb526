"""The columns of a table, recognised by their names: `temperature [°C]`, `Temperature / °C`."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from meseta.boundary import closest, unknown

# What is spelled so much like a column that is missing is a slip, not a column of its own.
SLIP = 0.76
_BRACKETS = re.compile(r"(.*?)\s*(?:\[([^\[\]]*)\]|\(([^()]*)\))")


class Column(NamedTuple):
    """A column that a table may have."""

    name: str
    numbers: bool = False  # whether its cells are numbers
    unit: str | None = None
    also: str | None = None  # another name of it
    ends: tuple[float, float] | None = None  # the range of its numbers
    remarks: bool = False  # for people: whoever calls it otherwise makes no mistake
    aliases: tuple[str, ...] = ()  # its names in files, as the user says

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of it."""
        return (self.name, *((self.also,) if self.also else ()), *self.aliases)

    @property
    def heading(self) -> str:
        """The name as tables show it."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


class Found(NamedTuple):
    """The places of the columns that are known, by name, and notes for the user."""

    places: dict[str, int]
    notes: list[str]


class _Heading(NamedTuple):
    """A cell of the first line that names a column."""

    place: int
    text: str
    name: str  # as it is written
    unit: str | None


def headings(columns: Sequence[Column]) -> list[str]:
    """The first line of a table that is read back: units are left out where they would confuse."""
    shown = [column.heading for column in columns]
    names = {name for column in columns for name in (column.name, column.also)}
    return [
        column.name if heading in names or shown.count(heading) > 1 else heading
        for column, heading in zip(columns, shown, strict=True)
    ]


def named(text: str, known: Sequence[Column]) -> Column | None:
    """The column that a text names, with or without a unit; None: it names none."""
    return next((column for column, _, _ in _readings(text, known)), None)


def with_aliases(columns: Sequence[Column], aliases: Mapping[str, str]) -> list[Column]:
    """The columns with further names, each given with the name of its column.

    A name of a column that is not among them is left out.
    """
    meant = {alias: _by_name(name, columns) for alias, name in aliases.items()}
    return [
        column._replace(aliases=tuple(alias for alias, each in meant.items() if each is column))
        for column in columns
    ]


def check_alias(alias: str, name: str, columns: Sequence[Column]) -> Column:
    """The column that gets a further name; refused if that name, or the column, is not clear."""
    every = [column.name for column in columns]
    column = _by_name(name, columns)
    if column is None:
        raise ValueError(f"{alias!r} is said to be {name!r}, but {unknown('column', name, every)}")
    own = named(alias, columns)
    if own is not None or not alias.strip():
        what = "is empty" if own is None else f"is itself the name of {own.name!r}"
        raise ValueError(
            f"{alias!r} is said to be {name!r}, but {what}; known are {', '.join(map(repr, every))}"
        )
    return column


def check_aliases(aliases: Mapping[str, str], columns: Sequence[Column]) -> None:
    """Refuse what is said about one file, if it is not clear."""
    taken: dict[str, str] = {}
    for alias, name in aliases.items():
        column = check_alias(alias, name, columns)
        if column.name in taken:
            raise ValueError(
                f"{taken[column.name]!r} and {alias!r} are both said to be {column.name!r}; name "
                f"one of them; known are {', '.join(repr(each.name) for each in columns)}"
            )
        taken[column.name] = alias


def check_there(label: str, header: Sequence[str], aliases: Iterable[str]) -> None:
    """Refuse names of columns that the file does not have."""
    written = {_folded(name) for text in header for name, _, _ in _splits(text)}
    for alias in aliases:
        if _folded(alias) not in written:
            raise ValueError(f"{label}: {unknown('column', alias, filter(None, header))}")


def find_columns(label: str, header: Sequence[str], known: Sequence[Column]) -> Found:
    """The columns of a table; others are left out, unless they look like a slip.

    A column without a name is nobody's.
    """
    found: dict[Column, list[_Heading]] = {}
    strange: list[tuple[int, str]] = []
    for place, text in enumerate(header):
        reading = next(_readings(text, known), None)
        if reading is not None:
            column, name, unit = reading
            found.setdefault(column, []).append(_Heading(place, text, name, unit))
        elif text:
            strange.append((place, text))
    places, notes = {}, []
    for column, several in found.items():
        taken = _chosen(label, column, several)
        places[column.name] = taken.place
        strange += [(each.place, each.text) for each in several if each is not taken]
        if taken.unit and not column.unit and column.numbers:
            notes.append(
                f"{label}: {taken.name!r} is given in {taken.unit!r}; the study file names no unit "
                "for it, and the numbers are taken as they are"
            )
    missing = [each for each in known if each.name not in places and not each.remarks]
    left = [text for _, text in sorted(strange)]
    _check_slips(label, left, missing, known)
    if left:
        what = "columns are" if len(left) > 1 else "column is"
        notes.append(f"{label}: the {what} left out: {', '.join(map(repr, left))}")
    return Found(places, notes)


def _readings(text: str, known: Sequence[Column]) -> Iterator[tuple[Column, str, str | None]]:
    """Every way to read a heading: its column, the name as it is written, and the unit."""
    for name, unit, only_same in _splits(text):
        column = _by_name(name, known)
        if column is not None and (not only_same or _same_unit(unit, column.unit)):
            yield column, name, unit


def _splits(text: str) -> Iterator[tuple[str, str | None, bool]]:
    """A name, a unit, and whether it counts only if the unit is that of the column."""
    yield text, None, False
    brackets = _BRACKETS.fullmatch(text)
    if brackets:
        unit = (brackets[2] or brackets[3] or "").strip()
        yield brackets[1], unit or None, False
    for slash in re.finditer("/", text):
        before, after = text[: slash.start()], text[slash.end() :]
        apart = before.endswith((" ", "\u00a0")) and after.startswith((" ", "\u00a0"))
        if before.strip() and after.strip():  # w/o, with no blanks, is a word
            yield before.strip(), after.strip(), not apart


def _by_name(name: str, known: Sequence[Column]) -> Column | None:
    """The column of that name; upper and lower case may differ if no other is meant."""
    exact = [column for column in known if name in column.names]
    wanted = _folded(name)
    alike = exact or [column for column in known if wanted in map(_folded, column.names)]
    return alike[0] if len(alike) == 1 else None


@lru_cache(maxsize=4096)
def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _same_unit(one: str | None, other: str | None) -> bool:
    """Units are the same letter by letter: mW is not MW."""
    spelled = [unicodedata.normalize("NFKC", unit or "").replace(" ", "") for unit in (one, other)]
    return spelled[0] == spelled[1]


def _chosen(label: str, column: Column, several: Sequence[_Heading]) -> _Heading:
    """The one that is meant; refused where that is not clear, or the unit is another."""
    plain = [each for each in several if not each.unit]
    fitting = [each for each in several if each.unit and _same_unit(each.unit, column.unit)]
    if not column.unit and not plain:
        fitting = list(several)
    fitting += plain
    if not fitting:
        first = several[0]
        raise ValueError(
            f"{label}: {first.text!r} is in {first.unit!r}, but the unit of {column.name!r} is "
            f"{column.unit!r} in the study file; convert the numbers, and name it "
            f"{column.heading!r}"
        )
    if len(fitting) == 1:
        return fitting[0]
    one, two = (each.text for each in fitting[:2])
    if one == two:
        raise ValueError(f"{label}: there are two columns {one!r}; rename one of them")
    first, second = sorted(fitting[:2], key=lambda each: each.name != column.also)
    if first.name == column.also and second.name != column.also:
        raise ValueError(
            f"{label} has a column {first.text!r} and a column {second.text!r}, which is what the "
            "study calls its value; rename or remove the one that is not meant"
        )
    raise ValueError(
        f"{label}: the columns {one!r} and {two!r} are both taken for {column.name!r}; rename or "
        "remove the one that is not meant"
    )


def _check_slips(
    label: str, left: Sequence[str], missing: Sequence[Column], known: Sequence[Column]
) -> None:
    names = [name for column in missing for name in (column.name, column.also) if name]
    for text in left:
        for name in [split for split, _, only_same in _splits(text) if not only_same]:
            if closest(name, names, SLIP) is not None:
                every = [column.name for column in known]
                raise ValueError(
                    f"{label} has a column that is not known: {unknown('column', name, every)}; "
                    "rename it"
                )
