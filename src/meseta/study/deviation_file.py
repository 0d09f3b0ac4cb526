"""Tables of measured deviations: a column for each parameter, or planned and executed values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from meseta.boundary import unknown
from meseta.noise.families import Values
from meseta.study.entries import read_text_number
from meseta.study.spreadsheet import Line, read_lines

_COMMA = re.compile(r"[+\-\u2212]?\d*,\d+")  # a number with a decimal comma
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
    titles, lines, headed = _table(path, [*columns, *planned, *executed])
    named = [_named(title) for title in titles]

    def place(word: str) -> int:
        found = [i for i, title in enumerate(titles) if word in (title, named[i][0])]
        if len(found) != 1:
            raise ValueError(f"{path}: {unknown('column', word, titles)}")
        return found[0]

    if planned:
        pairs = [(place(plan), place(done)) for plan, done in zip(planned, executed, strict=True)]
        read = [
            MeasuredColumn(
                *named[done],
                _column(path, lines, titles, done),
                _column(path, lines, titles, plan),
                titles[done],
            )
            for plan, done in pairs
        ]
        return _checked(path, read, [], headed)
    notes = []
    read = []
    for i in [place(word) for word in columns] or range(len(titles)):
        if not columns and (why := _no_deviations(lines, i)):
            notes.append(f"column {titles[i]!r} {why}, and is left out")
            continue
        read.append(MeasuredColumn(*named[i], _column(path, lines, titles, i), title=titles[i]))
    return _checked(path, read, notes, headed)


def _checked(
    path: Path, columns: list[MeasuredColumn], notes: list[str], headed: bool
) -> DeviationFile:
    names = [each.name for each in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: there are two columns {name!r}; rename one of them")
    if not columns:
        raise ValueError(f"{path} has no column of numbers" + "".join(f"; {n}" for n in notes))
    for each in columns:
        if empty := int((~each.there).sum()):
            rows = f"{empty} rows" if empty > 1 else "1 row"
            notes.append(f"{rows} without {each.name!r}")
    return DeviationFile(path, tuple(columns), tuple(notes), headed)


def _table(path: Path, known: Sequence[str]) -> tuple[list[str], list[Line], bool]:
    """The titles of the columns, the lines with values, and whether the file has titles.

    A single column needs none: its name is that of the file.
    """
    table = list(read_lines(path, known))
    if not table:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    titles = table[0].cells
    if all(_is_number(title) for title in titles):
        if len(titles) > 1:
            raise ValueError(
                f"{path}:{table[0].number}: the first line must name the columns, such as "
                f"speed [m/s], got {', '.join(titles)}"
            )
        return [path.stem], table, False
    for number, cells in table[1:]:
        if len(cells) != len(titles):
            raise ValueError(
                f"{path}:{number}: there are {len(cells)} cells, but the first line names "
                f"{len(titles)} columns"
            )
    return titles, table[1:], True


def _named(title: str) -> tuple[str, str]:
    """The name of a parameter and its unit: "speed [m/s]"."""
    match = _UNIT.fullmatch(title.strip())
    return (match["name"].strip(), match["unit"].strip()) if match else (title.strip(), "")


def _column(path: Path, lines: Sequence[Line], titles: Sequence[str], place: int) -> Values:
    values = []
    for number, cells in lines:
        text = cells[place].strip()
        try:
            value = read_text_number(f"{titles[place]!r}", text) if text else np.nan
        except ValueError as error:
            raise ValueError(
                f"{path}:{number}: {error}; an empty cell is left out, and --column NAME says "
                "which columns to read"
            ) from None
        values.append(value)
    return np.array(values, dtype=float)


def _no_deviations(lines: Sequence[Line], place: int) -> str:
    """Why a column has no deviations; empty: it may have."""
    cells = [line.cells[place].strip() for line in lines]
    if not any(_is_number(cell) or _COMMA.fullmatch(cell) for cell in cells):
        return "has no numbers"
    first = cells[0]
    counted = [str(i + int(first)) for i in range(len(cells))] if first.isdecimal() else []
    return "counts the rows" if len(cells) > 2 and cells == counted else ""


def _is_number(text: str) -> bool:
    try:
        read_text_number("it", text)
    except ValueError:
        return False
    return True
