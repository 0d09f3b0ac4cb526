"""Excel files, read and written; openpyxl comes with an extra and is loaded late."""

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from meseta.boundary import missing, unknown
from meseta.study.encodings import read_content
from meseta.study.spreadsheet import Cell, Cells, Line, Lines, Unreadable
from meseta.study.terminal import harmless

EXCEL = (".xlsx", ".xlsm")
OTHERS = (".xls", ".xlsb", ".ods", ".fods", ".numbers")  # tables that are not read
LARGEST = 2**30  # bytes of a file that is unpacked
EXACT = 2**53  # whole numbers up to here have no decimals
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


def read_sheet(path: Path, name: str | None = None) -> Lines:
    """The lines of a sheet: the one of that name, or the first."""
    library, content = openpyxl(), read_content(path)
    with _refusals(path):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB when it is unpacked")
        stored, typed = (
            library.load_workbook(io.BytesIO(content), read_only=True, data_only=data_only)
            for data_only in (True, False)
        )
    titles = [sheet.title for sheet in stored.worksheets]
    title = _title(path, titles, name)
    with _refusals(path):
        lines = list(_lines(path, stored[title], typed[title]))
    widest = max((len(line.cells) for line in lines), default=0)
    lines = [Line(n, [*cells, *[""] * (widest - len(cells))]) for n, cells in lines]
    notes = []
    if name is None and len(titles) > 1:
        notes.append(
            f"{path}: of {len(titles)} sheets the first is read, {title!r}; --sheet names another"
        )
    return Lines(f"{path}:{title}!", lines, False, notes)


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        with warnings.catch_warnings():  # what openpyxl leaves out is not what we read
            warnings.simplefilter("ignore")
            yield
    except zipfile.BadZipFile:
        raise ValueError(f"{path} is no Excel file, or is protected by a password") from None
    except Exception as error:  # whatever a damaged file makes openpyxl do
        raise ValueError(f"{path} cannot be read as an Excel file: {error}") from None


def _title(path: Path, titles: Sequence[str], name: str | None) -> str:
    if not titles:
        raise ValueError(f"{path} has no sheet with cells")
    if name is not None and name not in titles:
        raise ValueError(f"{path}: {unknown('sheet', name, titles)}")
    return titles[0] if name is None else name


def _lines(path: Path, stored: Any, typed: Any) -> Iterator[Line]:
    """Every line that is not empty: values as they are stored, beside what was typed."""
    for sheet in (stored, typed):
        sheet.reset_dimensions()  # some programs write wrong ones
    for values, formulas in zip(stored.iter_rows(), typed.iter_rows(), strict=True):
        cells: list[Cell] = []
        for value, formula in zip(values, formulas, strict=True):
            cells.append(_cell(f"{path}:{stored.title}!", value, formula))
        if any(cell != "" for cell in cells):
            yield Line(next(cell.row for cell in values if hasattr(cell, "row")), cells)


def _cell(place: str, stored: Any, typed: Any) -> Cell:
    value = stored.value
    if stored.data_type == "e":
        return Unreadable(f"{place}{stored.coordinate}", f"has the error {value}")
    if value is None:
        # a formula whose result is an empty text says that it is text
        if typed.data_type == "f" and stored.data_type != "str":
            return Unreadable(
                f"{place}{typed.coordinate}",
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
    try:
        with file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


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
