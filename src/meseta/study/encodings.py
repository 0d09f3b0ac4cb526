"""The text of a file, as spreadsheets and people save it."""

import codecs
from pathlib import Path
from typing import NamedTuple

LARGEST = 64 * 2**20  # bytes of a file
# What files of other kinds begin with: archives such as .xlsx, and Excel files of before 2007.
_NO_TEXT = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


class Decoded(NamedTuple):
    """A text, and how it was read; empty: as UTF-8."""

    text: str
    note: str


def read_text(path: Path) -> Decoded:
    """UTF-8, UTF-16 with its mark, or Windows-1252, which older spreadsheets write."""
    content = read_content(path)
    if content.startswith(_NO_TEXT):
        raise ValueError(f"{path} is no text; the name of an Excel file must end in .xlsx")
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text, note = content.decode("utf-16" if wide else "utf-8-sig"), ""
    except UnicodeDecodeError:
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            text = "\0"
        note = f"{path} is not UTF-8; it is read as Windows-1252, as Excel writes it"
    if "\0" in text or (wide and note):
        raise ValueError(
            f"{path} is neither UTF-8 nor Windows-1252; save it as CSV with the encoding UTF-8"
        )
    return Decoded(text, note)


def read_content(path: Path) -> bytes:
    """The bytes of a file that is not too large."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} is larger than {LARGEST >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None


def mended(cell: str) -> str:
    """A text whose UTF-8 was taken for Windows-1252, as it was: °C in place of \\u00c2°C.

    Excel takes a CSV file without a mark for Windows-1252, and saves what it shows.
    """
    if cell.isascii():
        return cell
    try:
        return cell.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return cell
