"""The line of a table that names its columns: above it there may be titles."""

from collections.abc import Callable, Sequence

from meseta.study.decimals import numeral
from meseta.study.headers import Column
from meseta.study.spreadsheet import TRIAL, Cell, Line

DEPTH = 50  # lines among which it is looked for; those that are empty do not count
LONGEST = 40  # letters of a title in a note

ColumnOf = Callable[[str], Column | None]  # the column that a title names


def find_header(place: str, lines: Sequence[Line], column_of: ColumnOf) -> tuple[Line, list[str]]:
    """The line among these that names the columns, and what has to be said about it.

    Lines above it are titles; a ValueError refuses what may as well be a row, or name columns.
    """
    index, count = likeliest(lines, column_of)
    header, above = lines[index], lines[:index]
    numbers = [i for i, cell in enumerate(header.cells) if _has_numbers(cell, column_of, count)]
    for line in above:
        if len(_known(line, column_of)) > 1:
            raise ValueError(
                f"{place}{line.number} names columns, and so does line {header.number}; a table "
                "has one such line: remove the other, or make two files"
            )
        if _is_row(line, numbers):
            raise ValueError(
                f"{place}{line.number} looks like a row, but stands above line {header.number}, "
                "which is taken for the one that names the columns; move it below, or remove it"
            )
    return header, [_note(place, header, above)] if above else []


def likeliest(lines: Sequence[Line], column_of: ColumnOf) -> tuple[int, int]:
    """The place of the first line that names most of the known columns, and how many it names.

    Where none is known, it is the first one with most texts, unless the file begins with numbers.
    """
    counts = [len(_known(line, column_of)) for line in lines]
    if any(counts):
        return counts.index(max(counts)), max(counts)
    texts = [len(_texts(line)) for line in lines]
    return (texts.index(max(texts)) if texts[0] else 0), 0


def _known(line: Line, column_of: ColumnOf) -> set[str]:
    found = [column_of(title) for title in map(_title, line.cells) if title]
    return {column.name for column in found if column is not None}


def _has_numbers(title: Cell, column_of: ColumnOf, known: int) -> bool:
    """Whether there must be numbers below a title; below any, where none is known."""
    column = column_of(_title(title))
    return not known or (column is not None and (column.numbers or column.name == TRIAL))


def _title(cell: Cell) -> str:
    return cell if isinstance(cell, str) else repr(cell) if isinstance(cell, int | float) else ""


def _texts(line: Line) -> list[str]:
    """Its cells that are neither empty nor numbers."""
    return [cell for cell in line.cells if isinstance(cell, str) and cell and not numeral(cell)]


def _is_row(line: Line, places: Sequence[int]) -> bool:
    """Whether all that it has in these places are numbers, more than one where there are several.

    A title may be a number that happens to stand above a column of numbers.
    """
    there = [line.cells[i] for i in places if i < len(line.cells)]
    filled = [cell for cell in there if cell != ""]
    enough = len(filled) >= min(2, len(places)) > 0
    return enough and all(not isinstance(cell, str) or numeral(cell) for cell in filled)


def _note(place: str, header: Line, above: Sequence[Line]) -> str:
    first = next((title for title in map(_title, above[0].cells) if title), "")
    title = first if len(first) <= LONGEST else f"{first[:LONGEST]}..."
    what = "what stands above it is no part of the table"
    return f"{place}{header.number} is taken for the line that names the columns; {what}: {title!r}"
