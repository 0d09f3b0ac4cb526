"""What people type or paste: values of parameters and results, on a line or in a CSV file."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meseta.boundary import read_number, unknown
from meseta.parameters import Category, Value
from meseta.space import Space

LARGEST = 64 * 2**20  # bytes of a CSV file


@dataclass(frozen=True)
class Row:
    """One line of a CSV file."""

    line: int
    cells: dict[str, str]


def read_rows(path: Path) -> list[Row]:
    """The lines of a CSV file with a header; separated by commas, semicolons or tabs."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} is larger than {LARGEST >> 20} MiB")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as CSV with the encoding UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise ValueError(f"{path} is empty; its first line must name the columns")
    header = next(line for line in lines if line.strip())
    separator = max(",;\t", key=header.count)
    reader = csv.reader(lines, delimiter=separator)
    names: list[str] = []
    rows: list[Row] = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if not names:
            names = [cell.strip() for cell in cells]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{path}:{reader.line_num}: the column {twice.pop()!r} is twice")
            continue
        if len(cells) != len(names):
            raise ValueError(
                f"{path}:{reader.line_num}: there are {len(cells)} cells, but the first line names "
                f"{len(names)} columns"
            )
        filled = zip(names, (cell.strip() for cell in cells), strict=True)
        rows.append(Row(reader.line_num, dict(filled)))
    return rows


def check_columns(path: Path, rows: Sequence[Row], known: Sequence[str]) -> None:
    for name in rows[0].cells if rows else ():
        if name not in known:
            raise ValueError(f"{path}: {unknown('column', name, known)}")


def read_text_number(what: str, text: str, decimal_comma: bool = False) -> float:
    """A number that a person typed."""
    plain = text.strip().replace("\u2212", "-")
    try:
        return read_number(what, float(plain.replace(",", ".") if decimal_comma else plain))
    except ValueError:
        raise ValueError(f"{what} must be a finite number such as 0.82, got {text!r}") from None


def read_values(space: Space, texts: Mapping[str, str]) -> dict[str, Value]:
    """Values of some parameters from texts."""
    values: dict[str, Value] = {}
    for name, text in texts.items():
        if name not in space.names:
            raise ValueError(unknown("parameter", name, space.names))
        parameter = space.parameters[space.names.index(name)]
        if isinstance(parameter, Category):
            values[name] = _choice(name, parameter, text)
        else:
            values[name] = parameter.read(f"{name!r}", read_text_number(f"{name!r}", text))
    return values


def _choice(name: str, parameter: Category, text: str) -> Any:
    by_text = {_spelled(choice): choice for choice in parameter.choices}
    if text not in by_text:
        raise ValueError(f"{name!r}: {unknown('choice', text, list(by_text))}")
    return by_text[text]


def _spelled(choice: object) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)
