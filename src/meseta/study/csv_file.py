"""CSV files, as spreadsheets and people write them.

Python's `csv` knows the line of every row, which refusals name. pandas does not, and loading it
would make `meseta status` take a third longer.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from meseta.study.decimals import numeral
from meseta.study.encodings import mended, read_text
from meseta.study.header_line import DEPTH, ColumnOf, find_header, likeliest
from meseta.study.spreadsheet import MOST, WIDEST, Line, Lines, unquoted

SEPARATORS = "\t;,"
LONGEST = 2**20  # letters of a line
# Excel's own first line, which names the separator.
_NAMED_SEPARATOR = re.compile('"?sep=([^"\r\n])"?\r?\n', re.IGNORECASE)
_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BREAK = re.compile("(?:\r\n|\r|\n)+")


def read_lines(path: Path, column_of: ColumnOf) -> Lines:
    """The lines of a CSV file; separated by tabs, semicolons or commas.

    The separator is the one that finds most of the known columns in the line that names them, or
    else the first one that occurs in it. Lines are gone through as they are asked for: to keep
    the cells of a long file would take many times its size.
    """
    text, note = read_text(path)
    told = _NAMED_SEPARATOR.match(text)
    begin, first = (told.end(), 2) if told else (0, 1)
    files = [_File(path, text, begin, first, each) for each in ([told[1]] if told else SEPARATORS)]
    file = max(files, key=lambda each: each.sense(column_of))
    place, heads = f"{path}:", list(islice(file.lines(), DEPTH))
    if not heads:
        raise ValueError(f"{path} is empty; a line must name the columns, with the rows below it")
    header, notes = find_header(place, heads, column_of)
    if file.check(header):
        notes.append(
            f"{path}: letters beyond A to Z were damaged, as by Excel opening a CSV file, and are "
            "mended"
        )
    return Lines(
        place,
        header,
        lambda: (line for line in file.lines() if line.number > header.number),
        file.separator == ";",
        [note, *notes] if note else notes,
    )


@dataclass(frozen=True)
class _File:
    """A text, and what separates its cells."""

    path: Path
    text: str
    begin: int  # where the table begins in the text
    first: int  # the number of the line there
    separator: str

    def sense(self, column_of: ColumnOf) -> tuple[int, bool]:
        """How many columns are known in the line that has most of them, and if it has several."""
        heads: list[Line] = []
        with suppress(ValueError):  # refused later, if no other separator fits better
            heads.extend(islice(self.lines(), DEPTH))
        if not heads:
            return 0, False
        index, count = likeliest(heads, column_of)
        return count, len(heads[index].cells) > 1

    def lines(self) -> Iterator[Line]:
        """Every line that is not empty; one whose cells have several lines has their first."""
        plain = self.text.isascii()
        for begin, _, raw in self._records():
            cells = raw if plain else [mended(cell) for cell in raw]
            yield Line(begin, [unquoted(cell.strip()) for cell in cells])

    def check(self, header: Line) -> bool:
        """Refuse quotes that are not closed; whether letters are damaged."""
        damaged, plain = False, self.text.isascii()
        for begin, end, cells in self._records():
            damaged = damaged or (not plain and any(mended(cell) != cell for cell in cells))
            if end > begin and self._swallows(cells, len(header.cells), begin > header.number):
                raise ValueError(self._unclosed(begin, end))
        return damaged

    def _records(self) -> Iterator[tuple[int, int, list[str]]]:
        """The first and the last line of every row that is not empty, and its cells."""
        reader = csv.reader(self._physical(), delimiter=self.separator, strict=True)
        while True:
            begin = self.first + reader.line_num
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                end = self.first + reader.line_num - 1
                raise ValueError(self._refusal(begin, end, str(error))) from None
            if len(cells) > WIDEST:
                says = f"there are {len(cells)} cells, but a table has {WIDEST} columns at most"
                raise ValueError(f"{self.path}:{begin}: {says}")
            if any(cell.strip() for cell in cells):
                yield begin, self.first + reader.line_num - 1, cells

    def _physical(self) -> Iterator[str]:
        """The lines of the text, each with its end; refused where there is no end to them."""
        for number, found in enumerate(_LINE.finditer(self.text, self.begin), start=self.first):
            if number > MOST:
                raise ValueError(f"{self.path} has more than {MOST} lines, the most that are read")
            line = found[0]
            if len(line) > LONGEST:
                raise ValueError(
                    f"{self.path}:{number}: the line has {len(line)} letters, but at most "
                    f"{LONGEST} are read; a table has a line for each row"
                )
            yield line

    def _refusal(self, begin: int, end: int, error: str) -> str:
        if end > begin or "end of data" in error:
            return self._unclosed(begin, end)
        if "expected after" in error:
            return (
                f"{self.path}:{begin}: something stands behind the quote that ends a cell; write "
                'a quote inside of a cell in quotes twice: "2"" pipe"'
            )
        return f"{self.path}:{begin}: {error}"

    def _unclosed(self, begin: int, end: int) -> str:
        """The refusal of a quote that swallows lines; `end`: the line of the next one."""
        return (
            f"{self.path}:{begin}: a cell begins with a quote that is not closed in this line, and "
            f"swallows what follows, up to line {end}; close it, or take it away. The text of one "
            "cell may have several lines, but none of them like a row"
        )

    def _swallows(self, cells: Sequence[str], width: int, below: bool) -> bool:
        """Whether a cell of several lines is made of rows: of as many cells, with a number."""
        filled = len(cells)
        while filled > width and not cells[filled - 1].strip():
            filled -= 1
        if below and filled != width:
            return True
        for place, cell in enumerate(cells):
            parts = [part.split(self.separator) for part in _BREAK.split(cell)]
            if len(parts) > 1 and width > 1 and self._are_rows(parts, place, len(cells), width):
                return True
        return False

    def _are_rows(self, parts: list[list[str]], place: int, count: int, width: int) -> bool:
        first, *others, last = parts
        if any(len(each) == width and _has_number(each) for each in (*others, last)):
            return True
        whole = place + len(first) == width and len(last) + count - 1 - place == width
        return whole and (len(first) > 1 or len(last) > 1) and _has_number([*first, *last])


def _has_number(cells: Sequence[str]) -> bool:
    return any(numeral(cell.strip(' "')) for cell in cells)
