"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def removed_if_it_fails(file: IO[Any]) -> Iterator[None]:
    """Close a new file that the block has written; remove it if that fails, as on a full disk."""
    try:
        with file:
            yield
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes | str) -> None:
    """Write beside the target and move it there: nobody reads half of it, no power cut leaves it.

    Text that is not valid Unicode, such as half a surrogate pair, is written with a question mark.
    """
    data = content.encode("utf-8", errors="replace") if isinstance(content, str) else content
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # or the name could be on the disk without the content
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
