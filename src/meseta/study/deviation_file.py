"""Tables of measured deviations: a column for each parameter, or planned and executed values."""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from meseta.boundary import unknown
from meseta.noise.families import Values
from meseta.study.csv_file import read_lines
from meseta.study.decimals import Examples, Style, notes_on, numeral, styles
from meseta.study.entries import read_text_number
from meseta.study.headers import Column
from meseta.study.spreadsheet import Lines

_UNIT = re.compile(r"(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]*)\]")


@dataclass(frozen=True)
class MeasuredColumn:
    """The measured values of one parameter, a value for each row; NaN: an empty cell."""

    name: str
    unit: str
    executed: Values  # deviations, unless there are planned values
    planned: Values | None = None
    title: str = ""  # of the column, as the file has it

    @property
    def there(self) -> np.ndarray:
        """The rows that have a value."""
        known = np.isfinite(self.executed)
        return known if self.planned is None else known & np.isfinite(self.planned)

    @property
    def deviations(self) -> Values:
        """One for each row; NaN: not known."""
        return self.executed if self.planned is None else self.executed - self.planned


@dataclass(frozen=True)
class DeviationFile:
    """The columns of a file, and what was left out of it."""

    path: Path
    columns: tuple[MeasuredColumn, ...]
    notes: tuple[str, ...]
    headed: bool  # its first line names the columns


def read_deviations(
    path: Path,
    columns: Sequence[str] = (),
    planned: Sequence[str] = (),
    executed: Sequence[str] = (),
) -> DeviationFile:
    """The measured deviations in a CSV file.

    Args:
        path: The file. Its first line names the columns, with units in brackets: speed [m/s].
        columns: Columns of deviations; none: all that have numbers.
        planned: Columns of planned values.
        executed: Columns of executed values, one for each of those.
    """
    if len(planned) != len(executed):
        raise ValueError(
            f"planned and executed values come in pairs, got {len(planned)} columns of planned "
            f"values and {len(executed)} of executed ones; give --planned and --executed as often"
        )
    if columns and planned:
        raise ValueError("--column names deviations; leave it out beside --planned and --executed")
    table = _read_table(path, [*columns, *planned, *executed])
    titles = [column.title for column in table.columns]
    if planned:
        pairs = [
            (table.place(plan), table.place(done))
            for plan, done in zip(planned, executed, strict=True)
        ]
        values, notes = _values(table, [place for pair in pairs for place in pair])
        read = [
            MeasuredColumn(*_named(titles[done]), values[done], values[plan], titles[done])
            for plan, done in pairs
        ]
        return _checked(table, read, notes)
    places, left_out = [table.place(word) for word in columns], []
    for place, column in enumerate(table.columns) if not columns else ():
        if column.why_not:
            left_out.append(f"column {column.title!r} {column.why_not}, and is left out")
        else:
            places.append(place)
    values, notes = _values(table, places)
    read = [MeasuredColumn(*_named(titles[i]), values[i], title=titles[i]) for i in places]
    return _checked(table, read, [*left_out, *notes])


class _Column(NamedTuple):
    """A column as far as it must be known before its numbers are read."""

    title: str
    examples: Examples
    why_not: str  # why it has no deviations; empty: it may have


class _Table(NamedTuple):
    """A file whose cells are texts."""

    path: Path
    lines: Lines
    columns: list[_Column]
    headed: bool  # a single column needs no title: its name is that of the file

    def place(self, word: str) -> int:
        """The place of the column that has this title, with or without its unit."""
        titles = [column.title for column in self.columns]
        found = [i for i, title in enumerate(titles) if word in (title, _named(title)[0])]
        if len(found) != 1:
            raise ValueError(f"{self.path}: {unknown('column', word, titles)}")
        return found[0]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        return _rows(self.path, self.lines, self.headed)


def _checked(table: _Table, columns: list[MeasuredColumn], notes: list[str]) -> DeviationFile:
    path = table.path
    names = [each.name for each in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: there are two columns {name!r}; rename one of them")
    if not columns:
        raise ValueError(f"{path} has no column of numbers" + "".join(f"; {n}" for n in notes))
    said = [*table.lines.notes, *notes]
    for each in columns:
        if empty := int((~each.there).sum()):
            rows = f"{empty} rows" if empty > 1 else "1 row"
            said.append(f"{rows} without {each.name!r}")
    return DeviationFile(path, tuple(columns), tuple(said), table.headed)


def _read_table(path: Path, known: Sequence[str]) -> _Table:
    def column_of(title: str) -> Column | None:
        return Column(title, True) if {title, _named(title)[0]} & set(known) else None

    lines = read_lines(path, column_of)
    number, titles = lines.header.number, [str(cell).strip() for cell in lines.header.cells]
    headed = not all(numeral(title) for title in titles)
    if not headed and len(titles) > 1:
        raise ValueError(
            f"{path}:{number}: a line must name the columns, such as speed [m/s], but the first "
            f"one is {', '.join(titles)}"
        )
    guesses = [_Guess() for _ in titles]
    for count, (_, cells) in enumerate(_rows(path, lines, headed)):
        for guess, text in zip(guesses, cells, strict=True):
            guess.see(text, count)
    names = titles if headed else [path.stem]
    columns = [
        _Column(title, guess.examples, guess.why_not)
        for title, guess in zip(names, guesses, strict=True)
    ]
    return _Table(path, lines, columns, headed)


def _rows(path: Path, lines: Lines, headed: bool) -> Iterator[tuple[int, list[str]]]:
    """The numbers of the lines with values, and their cells."""
    titles = lines.header.cells
    for number, cells in chain([] if headed else [lines.header], lines.rows()):
        if len(cells) != len(titles):
            raise ValueError(
                f"{path}:{number}: there are {len(cells)} cells, but line {lines.header.number} "
                f"names {len(titles)} columns"
            )
        yield number, [str(cell).strip() for cell in cells]


class _Guess:
    """What the cells of a column tell, one after the other."""

    def __init__(self) -> None:
        self.examples = Examples()
        self._numbers, self._counts, self._first, self._rows = False, True, "", 0

    def see(self, text: str, row: int) -> None:
        self.examples.see(text)
        self._numbers = self._numbers or numeral(text) is not None
        self._first = text if row == 0 else self._first
        self._rows = row + 1
        counts = self._counts and self._first.isdecimal()
        self._counts = counts and text == str(row + int(self._first))

    @property
    def why_not(self) -> str:
        """Why the column has no deviations; empty: it may have."""
        if not self._numbers:
            return "has no numbers"
        return "counts the rows" if self._rows > 2 and self._counts else ""


def _named(title: str) -> tuple[str, str]:
    """The name of a parameter and its unit: "speed [m/s]"."""
    match = _UNIT.fullmatch(title.strip())
    return (match["name"].strip(), match["unit"].strip()) if match else (title.strip(), "")


def _values(table: _Table, places: Sequence[int]) -> tuple[dict[int, Values], list[str]]:
    """The numbers of these columns, and what has to be said about them."""
    texts = [table.columns[place].examples.texts for place in places]
    known = dict(zip(places, styles(texts, table.lines.semicolons), strict=True))
    read = {place: array("d") for place in places}
    for number, cells in table.rows():
        for place, style in known.items():
            where = f"{table.path}:{number}"
            read[place].append(_value(where, table.columns[place].title, style, cells[place]))
    said = notes_on(numeral(text) for column in texts for text in column)
    return {place: np.array(values) for place, values in read.items()}, said


def _value(where: str, title: str, style: Style, text: str) -> float:
    try:
        plain = style.read(text)
    except ValueError as error:
        raise ValueError(f"{where}: {title!r}: {error}") from None
    try:
        return read_text_number(repr(title), plain) if plain else np.nan
    except ValueError as error:
        raise ValueError(
            f"{where}: {error}; an empty cell is left out, and --column NAME says which columns "
            "to read"
        ) from None
