"""CSV files, as spreadsheets and people write them.

Python's `csv` knows the line of every row, which refusals name. pandas does not, and loading it
would make `meseta status` take a third longer.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from meseta.optimizer.outcomes import VALUE
from meseta.study.encodings import mended, read_text

TRIAL, STATE, FAILED, COMMENT = "trial", "state", "failed", "comment"
# Columns that a table may have besides the parameters, and whether they are numbers.
COLUMNS = {TRIAL: False, STATE: False, VALUE: True, FAILED: False, COMMENT: False}
SEPARATORS = "\t;,"
# What spreadsheets take for a formula, behind any number of quotes.
_FORMULA = re.compile("'*[=+\\-@\t\r\n]")
# Excel's own first line, which names the separator.
_NAMED_SEPARATOR = re.compile('"?sep=(.)"?\r?\n', re.IGNORECASE)


class Unreadable(NamedTuple):
    """A cell without a value: where it is, and why."""

    place: str
    reason: str


Cell = str | int | float | Unreadable


class Line(NamedTuple):
    """A line of a table that is not empty."""

    number: int
    cells: Sequence[Cell]


class Lines(NamedTuple):
    """The lines of a table, and what has to be said about them."""

    place: str  # the place of a line, without its number
    lines: list[Line]
    semicolons: bool  # whether they separate the columns
    notes: list[str]


class Cells(NamedTuple):
    """A table to be written; None is an empty cell."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def written(cells: Cells) -> str:
    """The text of a CSV file: numbers with all their digits, and no formulas."""
    text = io.StringIO()
    lines = [[quoted(cell) for cell in line] for line in (cells.header, *cells.rows)]
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def read_lines(path: Path, is_known: Callable[[str], bool]) -> Lines:
    """The lines of a CSV file; separated by tabs, semicolons or commas.

    The separator is the one that finds most of the known columns in the first line, or else the
    first one that occurs in it.
    """
    text, note = read_text(path)
    told = _NAMED_SEPARATOR.match(text)
    begin = told.end() if told else 0
    damaged = False

    def by(separator: str) -> Iterator[Line]:
        nonlocal damaged
        reader = csv.reader(io.StringIO(text[begin:], newline=""), delimiter=separator)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    whole = [mended(cell) for cell in cells]
                    damaged = damaged or whole != cells
                    number = reader.line_num + (1 if told else 0)
                    yield Line(number, [unquoted(cell.strip()) for cell in whole])
        except csv.Error as error:
            raise ValueError(f"{path}:{reader.line_num}: {error}") from None

    def sense(separator: str) -> tuple[int, bool]:
        header = next((line.cells for line in by(separator)), [])
        return sum(map(is_known, map(str, header))), len(header) > 1

    separator = told[1] if told else max(SEPARATORS, key=sense)
    lines = list(by(separator))
    notes = [note] if note else []
    if damaged:
        notes.append(
            f"{path}: letters beyond A to Z were damaged, as by Excel opening a CSV file, and are "
            "mended"
        )
    return Lines(f"{path}:", lines, separator == ";", notes)


def quoted(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula: '=1+1 in place of =1+1."""
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def unquoted(cell: str) -> str:
    """The text that `quoted` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
