"""Measured deviations from a CSV file."""

import math
from collections.abc import Sequence
from pathlib import Path

from meseta.study.spreadsheet import read_lines


def read_columns(path: Path, columns: Sequence[str] | None, num: int) -> list[list[float]]:
    """The rows of a CSV file: the named columns, or all `num` columns of the file.

    The first line names the columns; it may be missing where `columns` is None.
    """
    table = list(read_lines(path, columns or ()))
    if not table:
        raise ValueError(f"{path.name} is empty, but must have a row for each measurement")
    header = table[0].cells
    named = not all(_is_number(name) for name in header)
    places = _places(path, header if named else [], columns, num, len(header))
    return [_row(path, line, cells, places) for line, cells in table[named:]]


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


def _row(path: Path, line: int, row: list[str], places: list[int]) -> list[float]:
    for place in places:
        value = row[place] if place < len(row) else ""
        if not _is_number(value):
            comma = "; write decimals with a point" if "," in value else ""
            raise ValueError(
                f"{path.name}:{line} must have a finite number in column {place + 1}, got "
                f"{value!r}{comma}"
            )
    return [float(row[place]) for place in places]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
