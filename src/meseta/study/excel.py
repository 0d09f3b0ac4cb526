"""Excel files, read and written; openpyxl comes with an extra and is loaded late."""

import datetime
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from meseta.boundary import missing, unknown
from meseta.study.encodings import read_content
from meseta.study.header_line import DEPTH, ColumnOf, find_header
from meseta.study.spreadsheet import Cell, Cells, Line, Lines, Unreadable
from meseta.study.terminal import harmless
from meseta.study.workbook import Layout, Package, Sheet, read_layout
from meseta.whole_file import removed_if_it_fails

EXCEL = (".xlsx", ".xlsm")
OTHERS = (".xls", ".xlsb", ".ods", ".fods", ".numbers")  # tables that are not read
EXACT = 2**53  # whole numbers up to here have no decimals
MOST_NAMED = 5  # rows, columns or cells in a note
WIDEST = 40  # letters, to which a column is widened
# Characters that XML cannot hold.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def openpyxl() -> Any:
    """The library; a RuntimeError says what to install."""
    try:
        import openpyxl
    except ImportError:
        raise missing("Excel files need openpyxl", "excel") from None
    return openpyxl


def read_sheet(path: Path, column_of: ColumnOf, name: str | None = None) -> Lines:
    """The lines of a sheet: the one of that name, or the first."""
    library, content = openpyxl(), read_content(path)
    with _refusals(path):
        package = Package(content)
    sheet = _sheet(path, package.sheets, name)
    with _refusals(path):
        layout = read_layout(package.part(sheet.part))
        one = package.with_one(sheet)
        book = library.load_workbook(one, read_only=True, data_only=True, keep_links=False)
        lines = list(_lines(path, book[sheet.title], layout))
    if not lines:
        raise ValueError(f"{path} is empty; a line must name the columns, with the rows below it")
    place, widest = f"{path}:{sheet.title}!", max(len(line.cells) for line in lines)
    heads = [_padded(line, widest) for line in lines[:DEPTH]]
    header, notes = find_header(place, heads, column_of)
    below = [line for line in lines if line.number > header.number]
    if name is None and len(package.sheets) > 1:
        notes.append(
            f"{path}: of {len(package.sheets)} sheets the first is read, {sheet.title!r}; --sheet "
            "names another"
        )
    if sheet.hidden:
        notes.append(f"{path}: the sheet {sheet.title!r} is hidden, and read")
    table = [header, *below]
    notes += [f"{path}:{sheet.title}: {each}" for each in _notes(layout, table, widest)]
    return Lines(place, header, lambda: (_padded(line, widest) for line in below), False, notes)


def _padded(line: Line, width: int) -> Line:
    return line._replace(cells=[*line.cells, *[""] * (width - len(line.cells))])


def _notes(layout: Layout, table: Sequence[Line], width: int) -> Iterator[str]:
    """What people do not see, or see otherwise, and what is read there."""
    library = openpyxl()
    rows = [line.number for line in table if line.number in layout.hidden_rows]
    if rows:
        why = " (a filter is set)" if layout.filtered else ""
        yield f"hidden rows are read, too: {in_ranges(rows)}{why}"
    columns = [i for i in range(1, width + 1) if i in layout.hidden_columns]
    if columns:
        letters = ", ".join(map(library.utils.get_column_letter, columns[:MOST_NAMED]))
        more = ", ..." if len(columns) > MOST_NAMED else ""
        yield f"hidden columns are read, too: {letters}{more}"
    merged = [
        each
        for each in layout.merged
        if each.last_row >= table[0].number and each.first_column <= width
    ]
    if merged:
        cells = ", ".join(each.text for each in merged[:MOST_NAMED])
        more = ", ..." if len(merged) > MOST_NAMED else ""
        yield (
            f"of merged cells the first one has the value, and the others are read as empty: "
            f"{cells}{more}"
        )


def in_ranges(numbers: Sequence[int]) -> str:
    """Numbers in their order, in words: 3, 5 to 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    said = [" to ".join(map(str, run)) for run in runs[:MOST_NAMED]]
    return ", ".join([*said, *(["..."] if len(runs) > MOST_NAMED else [])])


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        with warnings.catch_warnings():  # what openpyxl leaves out is not what we read
            warnings.simplefilter("ignore")
            yield
    except zipfile.BadZipFile:
        says = "is no Excel file, is damaged, or is protected by a password"
        raise ValueError(f"{path} {says}") from None
    except Exception as error:  # whatever a damaged file makes openpyxl do
        raise ValueError(f"{path} cannot be read as an Excel file: {error}") from None


def _sheet(path: Path, sheets: Sequence[Sheet], name: str | None) -> Sheet:
    if not sheets:
        raise ValueError(f"{path} has no sheet with cells")
    titles = [sheet.title for sheet in sheets]
    if name is not None and name not in titles:
        raise ValueError(f"{path}: {unknown('sheet', name, titles)}")
    return sheets[0 if name is None else titles.index(name)]


def _lines(path: Path, sheet: Any, layout: Layout) -> Iterator[Line]:
    """Every line that is not empty, up to its last cell that is not."""
    sheet.reset_dimensions()  # some programs write wrong ones
    place = f"{path}:{sheet.title}!"
    for number, row in enumerate(sheet.iter_rows(), start=1):
        cells = [
            _cell(place, cell, (number, column) in layout.open_formulas)
            for column, cell in enumerate(row, start=1)
        ]
        while cells and cells[-1] == "":
            cells.pop()
        if cells:
            yield Line(number, cells)


def _cell(place: str, stored: Any, is_open: bool) -> Cell:
    value = stored.value
    if stored.data_type == "e":
        return Unreadable(f"{place}{stored.coordinate}", f"has the error {value}")
    if value is None:
        if is_open:
            return Unreadable(
                f"{place}{stored.coordinate}",
                "has a formula without its result; open the file in a spreadsheet, and save it",
            )
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and "%" in stored.number_format:
        return Unreadable(
            f"{place}{stored.coordinate}",
            f"is formatted as a percentage, and may be {value:g} or {100 * value:g}; format it as "
            "a number",
        )
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return str(value).strip()


@contextmanager
def new_file(path: Path | None) -> Iterator[BinaryIO | None]:
    """A file for a sheet, begun before the work for it, and removed if that fails; None: none."""
    if path is None:
        yield None
        return
    openpyxl()
    if path.suffix.lower() != ".xlsx":
        raise ValueError(f"the name of an Excel file must end in .xlsx, got {path}")
    try:
        file = path.open("xb")
    except FileExistsError:
        raise ValueError(f"{path} exists and is left as it is; name another file") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror or error}") from None
    with removed_if_it_fails(file):
        yield file


def write_sheet(file: BinaryIO, cells: Cells) -> None:
    """Write a file with one sheet: numbers as numbers, texts as texts, and no formulas."""
    library = openpyxl()
    book = library.Workbook()
    sheet = book.active
    sheet.title = "trials"
    bold = library.styles.Font(bold=True)
    widths = [0] * len(cells.header)
    for number, line in enumerate((cells.header, *cells.rows), start=1):
        for place, value in enumerate(line):
            if value is None:
                continue
            cell = sheet.cell(number, place + 1)
            if isinstance(value, str):
                value = _ILLEGAL.sub(lambda found: harmless(found[0]), value)
            cell.value = value
            if isinstance(value, str):
                cell.data_type = "s"  # not a formula, nor an error, whatever it begins with
            if number == 1:
                cell.font = bold
            widths[place] = max(widths[place], len(str(value)))
    for place, width in enumerate(widths, start=1):
        letter = library.utils.get_column_letter(place)
        sheet.column_dimensions[letter].width = min(width, WIDEST) + 2
    sheet.freeze_panes = "A2"
    book.save(file)
