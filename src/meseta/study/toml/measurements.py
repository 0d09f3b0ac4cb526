"""Measured deviations from a CSV file."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path


def read_columns(path: Path, columns: Sequence[str] | None, num: int) -> list[list[float]]:
    """The rows of a CSV file, of the named columns or of all `num` there are.

    Columns are named in the first line, which may be missing where none is asked for by name. They
    are separated by commas, semicolons or tabs; empty lines are left out.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            sample = file.readline()
            file.seek(0)
            mark = next((mark for mark in "\t;" if mark in sample), ",")
            reader = csv.reader(file, delimiter=mark)
            table = [(reader.line_num, row) for row in reader if any(row)]
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not UTF-8; save it with that encoding") from None
    except (OSError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{path} cannot be read: {reason}") from None
    if not table:
        raise ValueError(f"{path.name} is empty, but must have a row for each measurement")
    header = [name.strip() for name in table[0][1]]
    named = not all(_is_number(name) for name in header)
    places = _places(path, header if named else [], columns, num, len(header))
    return [_row(path, line, row, places) for line, row in table[named:]]


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
        value = row[place].strip() if place < len(row) else ""
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
