"""What an Excel file is packed into: its parts, unpacked up to a limit, and what a sheet hides.

openpyxl reads the cells. It neither limits what it unpacks, nor knows of hidden rows and merged
cells where it does not keep the whole sheet in memory.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Mapping
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from meseta.study.spreadsheet import MOST, WIDEST

LARGEST = 64 * 2**20  # bytes of the parts that are read, unpacked
MOST_CELLS = 2**24  # of a sheet, with the empty ones in between
PIECE = 2**20  # bytes that are unpacked at once
MOST_MERGED = 1000  # places with merged cells that are kept
TRUE = ("1", "true")  # in XML
SAVE = "open the file in a spreadsheet, and save it"
TYPES, STYLES = "[Content_Types].xml", "xl/styles.xml"
_EMPTY = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/>'
    b"</worksheet>"
)
_COLUMN = re.compile("[A-Z]{1,3}")


class Sheet(NamedTuple):
    """A sheet of a workbook."""

    title: str
    part: str  # its name in the archive
    hidden: bool


class Merged(NamedTuple):
    """Cells that are merged into the first of them."""

    text: str  # B3:B5
    first_column: int
    last_row: int


class Layout(NamedTuple):
    """What a sheet has besides the values of its cells."""

    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]
    filtered: bool
    merged: tuple[Merged, ...]  # not all, if they are very many
    open_formulas: frozenset[tuple[int, int]]  # rows and columns of those without a result


class Package:
    """An archive that is read up to a limit, whatever its headers say about sizes."""

    def __init__(self, content: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._names = set(self._archive.namelist())
        self._left = LARGEST
        self._parts: dict[str, bytes] = {}
        self._book = next(iter(self._related("", "officeDocument").values()), "xl/workbook.xml")
        self.sheets = self._sheets()

    def part(self, name: str) -> bytes:
        """A part, unpacked once."""
        if name not in self._parts:
            pieces = []
            with self._archive.open(name) as file:
                while piece := file.read(min(PIECE, self._left + 1)):
                    pieces.append(piece)
                    self._left -= len(piece)
                    if self._left < 0:
                        raise ValueError(
                            f"it has more than {LARGEST >> 20} MiB when it is unpacked, the most "
                            "that is read"
                        )
            self._parts[name] = b"".join(pieces)
        return self._parts[name]

    def with_one(self, sheet: Sheet) -> io.BytesIO:
        """The archive with what the cells of one sheet need; the others are empty."""
        if [each.part for each in self.sheets].count(sheet.part) > 1:
            raise ValueError(f"two of its sheets are the same, {sheet.part}")
        types = ElementTree.fromstring(self.part(TYPES))
        texts = [
            each.get("PartName", "").lstrip("/")
            for each in types
            if each.get("ContentType", "").endswith("sharedStrings+xml")
        ]
        names = [TYPES, self._book, _relations(self._book), STYLES, *texts]
        slim = io.BytesIO()
        with zipfile.ZipFile(slim, "w") as archive:
            for name in dict.fromkeys(each for each in names if each in self._names):
                archive.writestr(name, self.part(name))
            for part in dict.fromkeys(each.part for each in self.sheets):
                archive.writestr(part, self.part(part) if part == sheet.part else _EMPTY)
        return slim

    def _sheets(self) -> list[Sheet]:
        parts = self._related(self._book, "worksheet")
        found = []
        for each in ElementTree.fromstring(self.part(self._book)).iter():
            key = next((v for k, v in each.attrib.items() if k.endswith("}id")), "")
            if _local(each.tag) == "sheet" and parts.get(key) in self._names:
                state = each.get("state", "visible")
                found.append(Sheet(each.get("name", ""), parts[key], state != "visible"))
        return found

    def _related(self, source: str, kind: str) -> dict[str, str]:
        """The parts of a kind that a part names, by the key that it has for them."""
        name = _relations(source)
        if name not in self._names:
            return {}
        folder = posixpath.dirname(source)
        return {
            each.get("Id", ""): posixpath.normpath(
                posixpath.join("/", folder, each.get("Target", ""))
            ).lstrip("/")
            for each in ElementTree.fromstring(self.part(name))
            if each.get("Type", "").endswith(f"/{kind}")
        }


def _relations(part: str) -> str:
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def read_layout(content: bytes) -> Layout:
    """The layout of a sheet, from its XML; refused if it is not in order, or too large."""
    reader = _LayoutReader()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.Parse(content, True)
    return Layout(
        frozenset(reader.hidden_rows),
        frozenset(reader.hidden_columns),
        reader.filtered,
        tuple(reader.merged),
        frozenset(reader.open_formulas),
    )


class _LayoutReader:
    """Goes through the XML of a sheet, element by element; keeps no cells."""

    def __init__(self) -> None:
        self.hidden_rows: set[int] = set()
        self.hidden_columns: set[int] = set()
        self.filtered = False
        self.merged: list[Merged] = []
        self.open_formulas: set[tuple[int, int]] = set()
        self._row = self._column = self._cells = 0
        self._type, self._formula, self._result, self._inside = "", False, False, False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _local(tag)
        if name == "c":
            self._begin_cell(attributes)
        elif name == "v":
            self._inside = True
        elif name == "f":
            self._formula = True
        elif name == "row":
            self._begin_row(attributes)
        elif name == "col" and attributes.get("hidden") in TRUE:
            low, high = int(attributes["min"]), min(int(attributes["max"]), WIDEST)
            self.hidden_columns |= set(range(low, high + 1))
        elif name == "filterColumn":
            self.filtered = True
        elif name == "mergeCell" and len(self.merged) < MOST_MERGED:
            self.merged.append(_merged(attributes.get("ref", "")))

    def end(self, tag: str) -> None:
        name = _local(tag)
        if name == "v":
            self._inside = False
        elif name == "c" and self._formula and not self._result and self._type != "str":
            # a formula whose result is an empty text says that it is text
            self.open_formulas.add((self._row, self._column))
        elif name == "row":
            self._cells += self._column
            if self._cells > MOST_CELLS:
                raise ValueError(f"the sheet spans more than {MOST_CELLS} cells")

    def text(self, _: str) -> None:
        self._result = self._result or self._inside

    def _begin_row(self, attributes: Mapping[str, str]) -> None:
        row = int(float(attributes.get("r", self._row + 1)))
        if row <= self._row:
            raise ValueError(f"row {row} stands below row {self._row}; {SAVE}")
        if row > MOST:
            raise ValueError(f"there is a row {row}, but a sheet has {MOST} at most; {SAVE}")
        self._row, self._column = row, 0
        if attributes.get("hidden") in TRUE:
            self.hidden_rows.add(row)

    def _begin_cell(self, attributes: Mapping[str, str]) -> None:
        column = _number(attributes["r"]) if "r" in attributes else self._column + 1
        if not self._column < column <= WIDEST:
            raise ValueError(f"the cells of row {self._row} are not in order; {SAVE}")
        self._column, self._type = column, attributes.get("t", "n")
        self._formula = self._result = False


def _number(cell: str) -> int:
    """The number of a column by its letters: 28 for AB3."""
    letters = _COLUMN.match(cell)
    number = 0
    for letter in letters[0] if letters else "":
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _merged(text: str) -> Merged:
    first, _, last = text.partition(":")
    return Merged(text, _number(first), int((last or first).lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")))
