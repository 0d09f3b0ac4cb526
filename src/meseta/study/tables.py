"""Tables as laboratories have them, CSV or Excel: rows of texts, by the names of their columns."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from meseta.optimizer.outcomes import VALUE
from meseta.space.parameter import Categorical, Parameter
from meseta.study.csv_file import read_lines
from meseta.study.decimals import Examples, Style, notes_on, styles
from meseta.study.excel import EXCEL, OTHERS, read_sheet
from meseta.study.headers import (
    Column,
    check_aliases,
    check_there,
    find_columns,
    named,
    with_aliases,
)
from meseta.study.quality import columns as quality_columns
from meseta.study.quality import unit_of
from meseta.study.spreadsheet import COLUMNS, COMMENT, Cell, Line, Lines, Unreadable

if TYPE_CHECKING:
    from meseta.study.toml.file import StudyFile

MOST_ROWS = 100_000  # of a study: they are stored at about 20 ms each
MOST_NAMED = 5  # lines in a note
MOST_TITLES = 20  # in a message


class Row(NamedTuple):
    """A row with some cells that are not empty; numbers have decimal points."""

    place: str  # results.csv:3, or results.xlsx:Sheet1!3
    cells: dict[str, str]


class Table(NamedTuple):
    """The rows of a file, to be gone through once."""

    rows: Iterator[Row]
    place: str  # of the line that names the columns
    header: list[str]  # its texts
    known: list[str]  # the columns that it may have
    names: list[str]  # those of them that it has
    left: list[str]  # the texts of the columns that are left out
    notes: list[str]  # for the user


def study_columns(
    file: "StudyFile", parameters: Mapping[str, Parameter], value: str | None = None
) -> list[Column]:
    """The columns that a table of a study may have; `value` is the one of the values.

    The values are in the column "value", or in what the study calls its value.
    """
    return with_aliases(own_columns(file, parameters, value), file.columns)


def own_columns(
    file: "StudyFile", parameters: Mapping[str, Parameter], value: str | None = None
) -> list[Column]:
    """The same columns, by the names of the study alone."""
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


def renamed(columns: Sequence[Column], names: Mapping[str, str]) -> list[Column]:
    """The columns, where those of a file have other names, as the user says of that file."""
    own = [column._replace(aliases=()) for column in columns]
    check_aliases(names, own)
    usual = {alias: column.name for column in columns for alias in column.aliases}
    return with_aliases(own, {**usual, **names})


def read_table(
    path: Path,
    columns: Sequence[Column],
    sheet: str | None = None,
    names: Mapping[str, str] | None = None,
) -> Table:
    """The rows of a CSV or Excel file, one of whose first lines names the columns.

    Columns that are not known are left out, with a note, unless they look like a slip. `names` are
    other names of columns in this file, each with the one that is known.
    """
    known = renamed(columns, names or {})
    lines = _read_file(path, known, sheet)
    header = [_text(cell) for cell in lines.header.cells]
    check_there(str(path), header, names or ())
    places, more = find_columns(str(path), header, known)
    numbers = [column for column in known if column.numbers and column.name in places]
    examples = {column.name: Examples(column.ends) for column in numbers}
    remarks = {column.name for column in known if column.remarks}
    told = [i for name, i in places.items() if name not in remarks]
    nameless, empty, count = set[int](), list[int](), 0
    for line in lines.rows():
        cells = _cells(lines, line)
        nameless |= {i for i, name in enumerate(header) if not name and cells[i] != ""}
        if all(cells[i] == "" for i in told):
            empty.append(line.number)
            continue
        count += 1
        for name, seen in examples.items():
            if isinstance(cell := cells[places[name]], str):
                seen.see(cell)
    if not count and not empty:
        place = f"{lines.place}{lines.header.number}"
        raise ValueError(f"{place} names the columns, and no row stands below it")
    if count > MOST_ROWS:
        raise ValueError(f"{path} has {count} rows, but a study takes {MOST_ROWS} at most")
    texts = [each.texts for each in examples.values()]
    found = styles(texts, lines.semicolons, [column.ends for column in numbers])
    read = dict(zip(examples, found, strict=True))
    said = notes_on(
        style.numeral(text) for style, some in zip(found, texts, strict=True) for text in some
    )
    notes = [*lines.notes, *more, *_left_out(path, nameless, empty)]
    return Table(
        _rows(lines, places, told, read),
        f"{lines.place}{lines.header.number}",
        header,
        [column.name for column in known],
        list(places),
        [text for i, text in enumerate(header) if i not in places.values()],
        [*notes, *(f"{path}: {each}" for each in said)],
    )


def check_columns(table: Table, wanted: Sequence[str]) -> None:
    """Refuse a table that has none of these columns."""
    if any(name in table.names for name in wanted):
        return
    there = [text for text in table.header if text]
    other = next((text for text in there if text in table.left), None)
    example = "" if other is None else f', or say which is which: --map "{other}={wanted[0]}"'
    more = f", and {len(there) - MOST_TITLES} more" if len(there) > MOST_TITLES else ""
    raise ValueError(
        f"{table.place} has no column {' or '.join(map(repr, wanted))}, but "
        f"{', '.join(map(repr, there[:MOST_TITLES])) or 'none with a name'}{more}; known are "
        f"{', '.join(map(repr, table.known))}; rename a column{example}"
    )


def _rows(
    lines: Lines, places: Mapping[str, int], told: Sequence[int], known: Mapping[str, Style]
) -> Iterator[Row]:
    """The rows as texts, their numbers with decimal points."""
    for line in lines.rows():
        cells = _cells(lines, line)
        if all(cells[i] == "" for i in told):
            continue
        place = f"{lines.place}{line.number}"
        row = {name: _text(cells[i]) for name, i in places.items()}
        for name, style in known.items():
            if isinstance(cells[places[name]], str):
                try:
                    row[name] = style.read(row[name])
                except ValueError as error:
                    raise ValueError(f"{place}: {name!r}: {error}") from None
        yield Row(place, row)


def _read_file(path: Path, known: Sequence[Column], sheet: str | None) -> Lines:
    kind = path.suffix.lower()
    if kind in OTHERS:
        raise ValueError(f"{path} is a table of a kind that is not read; save it as .xlsx or CSV")
    if kind in EXCEL:
        return read_sheet(path, lambda text: named(text, known), sheet)
    if sheet is not None:
        raise ValueError(f"{path} is no Excel file (.xlsx), and has no sheets; leave --sheet out")
    return read_lines(path, lambda text: named(text, known))


def _cells(lines: Lines, line: Line) -> Sequence[Cell]:
    """The cells below the header; empty ones behind it do not count."""
    width, filled = len(lines.header.cells), len(line.cells)
    while filled > width and line.cells[filled - 1] == "":
        filled -= 1
    if filled != width:
        hint = "; if its decimals have commas, separate the columns by semicolons"
        raise ValueError(
            f"{lines.place}{line.number}: there are {filled} cells, but line "
            f"{lines.header.number} names {width} columns{hint if filled > width else ''}"
        )
    return line.cells


def _left_out(path: Path, nameless: set[int], empty: Sequence[int]) -> Iterator[str]:
    """Notes on columns without a name that are not empty, and on rows without any value."""
    if nameless:
        what = "columns have" if len(nameless) > 1 else "column has"
        numbers = ", ".join(str(i + 1) for i in sorted(nameless))
        yield f"{path}: the {what} no name, and left out: number {numbers}"
    if empty:
        what = "row has" if len(empty) == 1 else "rows have"
        which = ", ".join(map(str, empty[:MOST_NAMED]))
        more = ", ..." if len(empty) > MOST_NAMED else ""
        yield (
            f"{path}: {len(empty)} {what} nothing in the columns that are read, and left out: line "
            f"{which}{more}"
        )


def _text(cell: Cell) -> str:
    if isinstance(cell, Unreadable):
        raise ValueError(f"{cell.place} {cell.reason}")
    return cell if isinstance(cell, str) else repr(cell)
