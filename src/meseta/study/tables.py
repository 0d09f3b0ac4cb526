"""Tables as laboratories have them, CSV or Excel: rows of texts, by the names of their columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from meseta.optimizer.outcomes import VALUE
from meseta.space.parameter import Categorical, Parameter
from meseta.study.decimals import notes_on, styles
from meseta.study.excel import EXCEL, OTHERS, read_sheet
from meseta.study.headers import Column, find_columns, named
from meseta.study.quality import columns as quality_columns
from meseta.study.quality import unit_of
from meseta.study.spreadsheet import COLUMNS, COMMENT, Cell, Line, Lines, Unreadable, read_lines

if TYPE_CHECKING:
    from meseta.study.toml.file import StudyFile


class Row(NamedTuple):
    """A row with some cells that are not empty; numbers have decimal points."""

    place: str  # results.csv:3, or results.xlsx:Sheet1!3
    cells: dict[str, str]


class Table(NamedTuple):
    """The rows of a file."""

    rows: list[Row]
    names: list[str]  # the columns that it has, of those that are known
    notes: list[str]  # for the user


def study_columns(
    file: "StudyFile", parameters: Mapping[str, Parameter], value: str | None = None
) -> list[Column]:
    """The columns that a table of a study may have; `value` is the one of the values.

    The values are in the column "value", or in what the study calls its value.
    """
    outcomes, limits = file.outcomes, file.constraints
    objective = outcomes.objective if value is None else value
    also = VALUE if value is None and objective != VALUE else None
    settings = [
        Column(name, _has_numbers(parameter), file.parameters[name].unit, ends=_ends(parameter))
        for name, parameter in parameters.items()
    ]
    others = [
        Column(name, True, limits[name].unit if name in limits else None)
        for name in outcomes.names
        if name != objective
    ]
    own = Column(objective, True, file.unit, also)
    fixed = [
        Column(name, numbers, remarks=name == COMMENT)
        for name, numbers in COLUMNS.items()
        if name != VALUE
    ]
    quality = [
        Column(name, numbers, unit_of(file, name))
        for name, numbers in quality_columns(file).items()
    ]
    return [*settings, own, *others, *quality, *fixed]


def _has_numbers(parameter: Parameter) -> bool:
    if not isinstance(parameter, Categorical):
        return True
    return not any(isinstance(choice, str | bool) for choice in parameter.choices)


def _ends(parameter: Parameter) -> tuple[float, float] | None:
    if isinstance(parameter, Categorical):
        return None
    return parameter.experiments.low, parameter.experiments.high


def read_table(path: Path, known: Sequence[Column], sheet: str | None = None) -> Table:
    """The rows of a CSV or Excel file, whose first line names the columns.

    Columns that are not known are left out, with a note, unless they look like a slip.
    """
    place, lines, semicolons, notes = _read_file(path, known, sheet)
    if not lines:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    header = [_text(cell) for cell in lines[0].cells]
    places, more = find_columns(str(path), header, known)
    rows = [(f"{place}{line.number}", _cells(place, header, line)) for line in lines[1:]]
    notes = [*notes, *more, *_nameless(path, header, rows)]
    taken = [(at, {name: cells[i] for name, i in places.items()}) for at, cells in rows]
    remarks = {column.name for column in known if column.remarks}
    filled = [
        (at, cells)
        for at, cells in taken
        if any(cell != "" for name, cell in cells.items() if name not in remarks)
    ]
    if len(filled) < len(rows):
        left = len(rows) - len(filled)
        what = "row has" if left == 1 else "rows have"
        notes.append(f"{path}: {left} {what} nothing in the columns that are read, and left out")
    numbers = [column for column in known if column.numbers and column.name in places]
    read, said = _with_points(filled, numbers, semicolons)
    return Table(read, list(places), [*notes, *(f"{path}: {each}" for each in said)])


def _read_file(path: Path, known: Sequence[Column], sheet: str | None) -> Lines:
    kind = path.suffix.lower()
    if kind in OTHERS:
        raise ValueError(f"{path} is a table of a kind that is not read; save it as .xlsx or CSV")
    if kind in EXCEL:
        return read_sheet(path, sheet)
    if sheet is not None:
        raise ValueError(f"{path} is no Excel file (.xlsx), and has no sheets; leave --sheet out")
    return read_lines(path, lambda text: named(text, known) is not None)


def _cells(place: str, header: Sequence[str], line: Line) -> list[Cell]:
    """The cells below the header; empty ones behind it do not count."""
    cells = list(line.cells)
    while len(cells) > len(header) and cells[-1] == "":
        cells.pop()
    if len(cells) != len(header):
        hint = "; if its decimals have commas, separate the columns by semicolons"
        raise ValueError(
            f"{place}{line.number}: there are {len(cells)} cells, but the first line names "
            f"{len(header)} columns{hint if len(cells) > len(header) else ''}"
        )
    return cells


def _nameless(
    path: Path, header: Sequence[str], rows: Sequence[tuple[str, list[Cell]]]
) -> list[str]:
    """A note on columns without a name that are not empty."""
    found = [
        str(i + 1)
        for i, name in enumerate(header)
        if not name and any(cells[i] != "" for _, cells in rows)
    ]
    what = "columns have" if len(found) > 1 else "column has"
    numbers = f"number {', '.join(found)}"
    return [f"{path}: the {what} no name, and left out: {numbers}"] if found else []


def _with_points(
    rows: Sequence[tuple[str, dict[str, Cell]]], columns: Sequence[Column], semicolons: bool
) -> tuple[list[Row], list[str]]:
    """The rows as texts, their numbers with decimal points; and what has to be said about it."""
    texts = [
        [cell for _, cells in rows if isinstance(cell := cells[column.name], str)]
        for column in columns
    ]
    found = styles(texts, semicolons, [column.ends for column in columns])
    known = {column.name: style for column, style in zip(columns, found, strict=True)}
    read = []
    for place, cells in rows:
        row = {name: _text(cell) for name, cell in cells.items()}
        for name, style in known.items():
            if isinstance(cells[name], str):
                try:
                    row[name] = style.read(row[name])
                except ValueError as error:
                    raise ValueError(f"{place}: {name!r}: {error}") from None
        read.append(Row(place, row))
    numerals = (
        style.numeral(text) for style, column in zip(found, texts, strict=True) for text in column
    )
    return read, notes_on(numerals)


def _text(cell: Cell) -> str:
    if isinstance(cell, Unreadable):
        raise ValueError(f"{cell.place} {cell.reason}")
    return cell if isinstance(cell, str) else repr(cell)
