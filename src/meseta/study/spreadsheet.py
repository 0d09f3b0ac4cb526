"""Tables as spreadsheets have them: their lines as they are read, and as they are written."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from meseta.optimizer.outcomes import VALUE

TRIAL, STATE, FAILED, COMMENT = "trial", "state", "failed", "comment"
# Columns that a table may have besides the parameters, and whether they are numbers.
COLUMNS = {TRIAL: False, STATE: False, VALUE: True, FAILED: False, COMMENT: False}
MOST, WIDEST = 2**20, 2**14  # lines and columns of a table, as in Excel
# What spreadsheets take for a formula, behind any number of quotes.
_FORMULA = re.compile("'*[=+\\-@\t\r\n]")


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
    header: Line  # which names the columns
    rows: Callable[[], Iterator[Line]]  # those below it, as often as they are asked for
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
