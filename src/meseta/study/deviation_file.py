"""Tables of measured deviations: a column for each parameter, or planned and executed values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from meseta.boundary import unknown
from meseta.noise.families import Values
from meseta.study.decimals import notes_on, numeral, styles
from meseta.study.entries import read_text_number
from meseta.study.spreadsheet import read_lines

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
    if planned:
        pairs = [
            (table.place(plan), table.place(done))
            for plan, done in zip(planned, executed, strict=True)
        ]
        values, notes = _values(table, [place for pair in pairs for place in pair])
        read = [
            MeasuredColumn(
                *_named(table.titles[done]), values[done], values[plan], table.titles[done]
            )
            for plan, done in pairs
        ]
        return _checked(table, read, notes)
    places, left_out = [table.place(word) for word in columns], []
    for place, title in enumerate(table.titles) if not columns else ():
        if why := _no_deviations(table.column(place)):
            left_out.append(f"column {title!r} {why}, and is left out")
        else:
            places.append(place)
    values, notes = _values(table, places)
    read = [
        MeasuredColumn(*_named(table.titles[i]), values[i], title=table.titles[i]) for i in places
    ]
    return _checked(table, read, [*left_out, *notes])


class _Table(NamedTuple):
    """A file whose cells are texts."""

    path: Path
    titles: list[str]
    lines: list[tuple[int, list[str]]]  # with values, and their numbers
    headed: bool  # a single column needs no title: its name is that of the file
    semicolons: bool
    notes: list[str]

    def place(self, word: str) -> int:
        """The place of the column that has this title, with or without its unit."""
        found = [i for i, title in enumerate(self.titles) if word in (title, _named(title)[0])]
        if len(found) != 1:
            raise ValueError(f"{self.path}: {unknown('column', word, self.titles)}")
        return found[0]

    def column(self, place: int) -> list[str]:
        return [cells[place] for _, cells in self.lines]


def _checked(table: _Table, columns: list[MeasuredColumn], notes: list[str]) -> DeviationFile:
    path = table.path
    names = [each.name for each in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: there are two columns {name!r}; rename one of them")
    if not columns:
        raise ValueError(f"{path} has no column of numbers" + "".join(f"; {n}" for n in notes))
    said = [*table.notes, *notes]
    for each in columns:
        if empty := int((~each.there).sum()):
            rows = f"{empty} rows" if empty > 1 else "1 row"
            said.append(f"{rows} without {each.name!r}")
    return DeviationFile(path, tuple(columns), tuple(said), table.headed)


def _read_table(path: Path, known: Sequence[str]) -> _Table:
    _, lines, semicolons, notes = read_lines(path, lambda title: title in known)
    if not lines:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    rows = [(line.number, [str(cell).strip() for cell in line.cells]) for line in lines]
    number, titles = rows[0]
    if all(numeral(title) for title in titles):
        if len(titles) > 1:
            raise ValueError(
                f"{path}:{number}: the first line must name the columns, such as "
                f"speed [m/s], got {', '.join(titles)}"
            )
        return _Table(path, [path.stem], rows, False, semicolons, notes)
    for number, cells in rows[1:]:
        if len(cells) != len(titles):
            raise ValueError(
                f"{path}:{number}: there are {len(cells)} cells, but the first line names "
                f"{len(titles)} columns"
            )
    return _Table(path, titles, rows[1:], True, semicolons, notes)


def _named(title: str) -> tuple[str, str]:
    """The name of a parameter and its unit: "speed [m/s]"."""
    match = _UNIT.fullmatch(title.strip())
    return (match["name"].strip(), match["unit"].strip()) if match else (title.strip(), "")


def _values(table: _Table, places: Sequence[int]) -> tuple[dict[int, Values], list[str]]:
    """The numbers of these columns, and what has to be said about them."""
    texts = [table.column(place) for place in places]
    read: dict[int, Values] = {}
    for place, column, style in zip(places, texts, styles(texts, table.semicolons), strict=True):
        title, values = table.titles[place], []
        for (number, _), text in zip(table.lines, column, strict=True):
            where = f"{table.path}:{number}"
            try:
                plain = style.read(text)
            except ValueError as error:
                raise ValueError(f"{where}: {title!r}: {error}") from None
            try:
                values.append(read_text_number(repr(title), plain) if plain else np.nan)
            except ValueError as error:
                raise ValueError(
                    f"{where}: {error}; an empty cell is left out, and --column NAME says which "
                    "columns to read"
                ) from None
        read[place] = np.array(values, dtype=float)
    return read, notes_on(numeral(text) for column in texts for text in column)


def _no_deviations(cells: Sequence[str]) -> str:
    """Why a column has no deviations; empty: it may have."""
    if not any(map(numeral, cells)):
        return "has no numbers"
    first = cells[0]
    counted = [str(i + int(first)) for i in range(len(cells))] if first.isdecimal() else []
    return "counts the rows" if len(cells) > 2 and list(cells) == counted else ""
