"""Measured deviations from a CSV file."""

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from meseta.study.csv_file import read_lines
from meseta.study.decimals import Examples, Style, notes_on, numeral, styles
from meseta.study.headers import Column
from meseta.study.spreadsheet import Cell, Lines
from meseta.study.terminal import say


def read_columns(path: Path, columns: Sequence[str] | None, num: int) -> np.ndarray:
    """The rows of a CSV file: the named columns, or all `num` columns of the file.

    One of the first lines names the columns; it may be missing where `columns` is None.
    """
    wanted = columns or ()
    table = read_lines(path, lambda name: Column(name, True) if name in wanted else None)
    header = list(map(str, table.header.cells))
    named = not all(numeral(name) for name in header)
    places = _places(path, header if named else [], columns, num, len(header))
    examples = [Examples() for _ in places]
    for _, row in _rows(table, places, named):
        for seen, text in zip(examples, row, strict=True):
            seen.see(text)
    texts = [each.texts for each in examples]
    known = styles(texts, table.semicolons)
    read = array("d")
    for line, row in _rows(table, places, named):
        read.extend(_row(path, line, row, places, known))
    said = notes_on(numeral(text) for column in texts for text in column)
    for note in (*table.notes, *(f"{path.name}: {each}" for each in said)):
        _say_once(note)
    return np.array(read).reshape(-1, num)


def _rows(table: Lines, places: Sequence[int], named: bool) -> Iterator[tuple[int, list[str]]]:
    """The numbers of the rows, and their cells in these places."""
    first = [] if named else [table.header]
    for line, cells in chain(first, table.rows()):
        yield line, [_cell(cells, place) for place in places]


@cache
def _say_once(note: str) -> None:
    """A study builds its laws more than once."""
    say(note)


def _cell(cells: Sequence[Cell], place: int) -> str:
    return str(cells[place]) if place < len(cells) else ""


def _places(
    path: Path, header: list[str], columns: Sequence[str] | None, num: int, width: int
) -> list[int]:
    if columns is None and width == num:
        return list(range(num))
    there = ", ".join(map(repr, header)) or f"{width} without names in the first line"
    if columns is None:
        raise ValueError(
            f"{path.name} has {width} columns ({there}), but {num} must be read; say which"
        )
    for name in columns:
        if header.count(name) != 1:
            raise ValueError(f"{path.name} must have one column {name!r}, but it has {there}")
    return [header.index(name) for name in columns]


def _row(
    path: Path, line: int, row: Sequence[str], places: Sequence[int], known: Sequence[Style]
) -> list[float]:
    read = []
    for place, text, style in zip(places, row, known, strict=True):
        where = f"{path.name}:{line} must have a finite number in column {place + 1}"
        try:
            plain = style.read(text)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if not _is_number(plain):
            raise ValueError(f"{where}, got {text!r}")
        read.append(float(plain))
    return read


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
