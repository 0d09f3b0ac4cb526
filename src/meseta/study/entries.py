"""What people type or paste: values of parameters and results, on a line or in a CSV file."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meseta.boundary import read_number, unknown
from meseta.space.parameter import Categorical, Parameter, Value

TRIAL, STATE, VALUE, FAILED = "trial", "state", "value", "failed"
COLUMNS = (TRIAL, STATE, VALUE, FAILED)  # that a CSV file may have besides the parameters
LARGEST = 64 * 2**20  # bytes of a CSV file


@dataclass(frozen=True)
class Row:
    """One line of a CSV file."""

    line: int
    cells: dict[str, str]


def read_rows(path: Path, known: Sequence[str]) -> list[Row]:
    """The lines of a CSV file with a header; separated by commas, semicolons or tabs.

    Columns must be among the `known` ones.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} is larger than {LARGEST >> 20} MiB")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as CSV with the encoding UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    names: list[str] = []
    rows: list[Row] = []
    for line, cells in _lines(path, text, known):
        if not names:
            names = cells
            _check_columns(path, names, known)
            continue
        if len(cells) != len(names):
            raise ValueError(
                f"{path}:{line}: there are {len(cells)} cells, but the first line names "
                f"{len(names)} columns"
            )
        rows.append(Row(line, dict(zip(names, cells, strict=True))))
    if not names:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    return rows


def column_names(path: Path, known: Sequence[str]) -> list[str]:
    """The names of the columns alone, known or not; empty where the file cannot be read."""
    try:
        text = path.read_bytes()[:LARGEST].decode("utf-8-sig", errors="replace")
    except OSError:
        return []
    return next((cells for _, cells in _lines(path, text, known)), [])


def _lines(path: Path, text: str, known: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, by the separator that makes most sense of the first one."""

    def by(separator: str) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield reader.line_num, [unquoted(cell.strip()) for cell in cells]
        except csv.Error as error:
            raise ValueError(f"{path}:{reader.line_num}: {error}") from None

    def sense(separator: str) -> tuple[int, int]:
        _, header = next(by(separator), (0, []))
        return sum(name in known for name in header), len(header)

    return by(max(",;\t", key=sense))


def _check_columns(path: Path, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: there are two columns {name!r}; rename one of them")
        if name not in known:
            raise ValueError(
                f"{path} has a column that is not known: {unknown('column', name, known)}"
            )


# What spreadsheets take for a formula, behind any number of quotes.
_FORMULA = re.compile("'*[=+\\-@\t\r\n]")


def quoted(cell: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula: '=1+1 in place of =1+1."""
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


def read_text_number(what: str, text: str) -> float:
    """A number that a person typed."""
    plain = text.strip().replace("\u2212", "-")
    try:
        if "_" in plain:  # 1_5 is 15 to Python, and a slip to people
            raise ValueError
        return read_number(what, float(plain))
    except ValueError:
        raise ValueError(f"{what} must be a finite number such as 0.82, got {text!r}") from None


def read_values(parameters: Mapping[str, Parameter], texts: Mapping[str, str]) -> dict[str, Value]:
    """Values of some parameters from texts."""
    values: dict[str, Value] = {}
    for name, text in texts.items():
        if name not in parameters:
            raise ValueError(unknown("parameter", name, parameters))
        parameter = parameters[name]
        if isinstance(parameter, Categorical):
            values[name] = _choice(name, parameter, text)
        else:
            values[name] = parameter.read(f"{name!r}", read_text_number(f"{name!r}", text))
    return values


def _choice(name: str, parameter: Categorical, text: str) -> Any:
    text, spelled = text.strip(), [_spelled(choice).strip() for choice in parameter.choices]
    if spelled.count(text) > 1:
        raise ValueError(f"{name!r} has several choices that are spelled {text!r}; rename one")
    if text not in spelled:
        raise ValueError(f"{name!r}: {unknown('choice', text, spelled)}")
    return parameter.choices[spelled.index(text)]


def _spelled(choice: object) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)
