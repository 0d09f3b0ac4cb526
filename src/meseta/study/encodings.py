"""The text of a file, as spreadsheets and people save it."""

import codecs
from pathlib import Path
from typing import NamedTuple

LARGEST = 64 * 2**20  # bytes of a file
PIECE = 2**16  # bytes that are read at once
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
        return read_regular(path, LARGEST)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None


def read_regular(path: Path, largest: int) -> bytes:
    """The bytes of a regular file; what a ValueError says follows the name of the file.

    Devices and pipes may never end, and what the system says about a size need not be true.
    """
    if path.is_dir():
        raise ValueError("is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise ValueError("is no regular file, but a device or a pipe; save it as a file")
    pieces, left = [], largest + 1
    with path.open("rb") as file:
        while left > 0 and (piece := file.read(min(left, PIECE))):
            pieces.append(piece)
            left -= len(piece)
    if left <= 0:
        raise ValueError(f"is larger than {largest >> 20} MiB, the most that is read")
    return b"".join(pieces)


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
