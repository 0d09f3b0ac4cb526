"""CSV files, as spreadsheets and people write them.

Python's `csv` knows the line of every row, which refusals name. pandas does not, and loading it
would make `meseta status` take a third longer.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from meseta.boundary import unknown
from meseta.optimizer.outcomes import VALUE

TRIAL, STATE, FAILED, COMMENT = "trial", "state", "failed", "comment"
COLUMNS = (TRIAL, STATE, VALUE, FAILED, COMMENT)  # that a CSV file may have besides the parameters
LARGEST = 64 * 2**20  # bytes of a CSV file
SEPARATORS = "\t;,"
# What spreadsheets take for a formula, behind any number of quotes.
_FORMULA = re.compile("'*[=+\\-@\t\r\n]")


class Line(NamedTuple):
    """A line of a CSV file that is not empty."""

    number: int
    cells: list[str]


class Row(NamedTuple):
    """A line of a CSV file with a header."""

    line: int
    cells: dict[str, str]


def written(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The text of a CSV file: numbers with all their digits, None empty, and no formulas."""
    text = io.StringIO()
    lines = [[quoted(cell) for cell in line] for line in (header, *rows)]
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def read_lines(path: Path, known: Sequence[str] = ()) -> Iterator[Line]:
    """The lines of a CSV file; separated by tabs, semicolons or commas.

    The separator is the one that finds most of the `known` columns in the first line, or else the
    first one that occurs in it.
    """
    text = _text(path)

    def by(separator: str) -> Iterator[Line]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield Line(reader.line_num, [unquoted(cell.strip()) for cell in cells])
        except csv.Error as error:
            raise ValueError(f"{path}:{reader.line_num}: {error}") from None

    def sense(separator: str) -> tuple[int, bool]:
        header = next((line.cells for line in by(separator)), [])
        return sum(name in known for name in header), len(header) > 1

    return by(max(SEPARATORS, key=sense))


def read_rows(path: Path, known: Sequence[str]) -> list[Row]:
    """The lines of a CSV file by the names in its first line, which must be among the `known`."""
    lines = read_lines(path, known)
    names = next((line.cells for line in lines), [])
    if not names:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    _check_columns(path, names, known)
    rows = []
    for number, cells in lines:
        if len(cells) != len(names):
            raise ValueError(
                f"{path}:{number}: there are {len(cells)} cells, but the first line names "
                f"{len(names)} columns"
            )
        rows.append(Row(number, dict(zip(names, cells, strict=True))))
    return rows


def column_names(path: Path, known: Sequence[str]) -> list[str]:
    """The names of the columns alone, known or not; empty where the file cannot be read."""
    try:
        return next((line.cells for line in read_lines(path, known)), [])
    except ValueError:
        return []


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} is larger than {LARGEST >> 20} MiB")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as CSV with the encoding UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None


def _check_columns(path: Path, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: there are two columns {name!r}; rename one of them")
        if name not in known:
            raise ValueError(
                f"{path} has a column that is not known: {unknown('column', name, known)}"
            )


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
