"""Measured deviations from a CSV file."""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from meseta.study.decimals import Style, notes_on, numeral, styles
from meseta.study.spreadsheet import read_lines
from meseta.study.terminal import say


def read_columns(path: Path, columns: Sequence[str] | None, num: int) -> list[list[float]]:
    """The rows of a CSV file: the named columns, or all `num` columns of the file.

    The first line names the columns; it may be missing where `columns` is None.
    """
    _, table, semicolons, notes = read_lines(path, lambda name: name in (columns or ()))
    if not table:
        raise ValueError(f"{path.name} is empty, but must have a row for each measurement")
    header = list(map(str, table[0].cells))
    named = not all(numeral(name) for name in header)
    places = _places(path, header if named else [], columns, num, len(header))
    rows = [(line, [_cell(cells, place) for place in places]) for line, cells in table[named:]]
    texts = [[row[i] for _, row in rows] for i in range(len(places))]
    known = styles(texts, semicolons)
    read = [_row(path, line, row, places, known) for line, row in rows]
    said = notes_on(numeral(text) for column in texts for text in column)
    for note in (*notes, *(f"{path.name}: {each}" for each in said)):
        _say_once(note)
    return read


@cache
def _say_once(note: str) -> None:
    """A study builds its laws more than once."""
    say(note)


def _cell(cells: Sequence[object], place: int) -> str:
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
