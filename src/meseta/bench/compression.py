"""Records made small, to be kept with a paper or in a repository.

A campaign goes on in a packed folder: it appends to a plain file beside the packed one, and packing
again merges the two.
"""

import gzip
import io
import os
from pathlib import Path
from typing import NamedTuple

from meseta.bench.records import Writing, packed_path, repair, whole_lines
from meseta.whole_file import write_whole

LEVEL = 9  # packed once, read often


class Packed(NamedTuple):
    """A packed file, with the bytes of its records before and after."""

    path: Path
    before: int
    after: int


def pack(folder: Path) -> list[Packed]:
    """Pack every file of records that has grown since the last time."""
    with Writing(folder):
        paths = [*sorted((folder / "runs").glob("*/*.jsonl")), folder / "timing.jsonl"]
        return [pack_file(path) for path in paths if path.exists()]


def pack_file(path: Path) -> Packed:
    """The plain file goes only when the packed one is on the disk, so a kill loses nothing."""
    repair(path)
    # a kill between the last two steps left the same lines in both files
    lines = dict.fromkeys(line.text for line in whole_lines(path))
    content = b"".join(text + b"\n" for text in lines)
    target = packed_path(path)
    write_whole(target, squeezed(content))
    _sync(target.parent)
    path.unlink()
    return Packed(target, len(content), target.stat().st_size)


def squeezed(content: bytes) -> bytes:
    """The same bytes for the same content: no date, no name."""
    whole = io.BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, whole, mtime=0) as file:
        file.write(content)
    return whole.getvalue()


def _sync(folder: Path) -> None:
    """Put the new name on the disk; only POSIX opens folders."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
