"""What commands print: harmless to terminals, and whole to files and programs."""

import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

import typer

from meseta.cli.endings import FAILURE, stop
from meseta.study.terminal import harmless

if TYPE_CHECKING:
    from pathlib import Path

    from meseta.study.spreadsheet import Cells


def print_json(data: Any, file: TextIO | None = None) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)
    _print(harmless(text), file=file)


def check_form(csv: bool, as_json: bool, xlsx: "Path | None") -> None:
    """Refuse more than one form of the same table."""
    given = {"--csv": csv, "--xlsx": xlsx is not None, "--json": as_json}
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise ValueError(f"{' and '.join(names)} do not go together; take one of them")


def print_csv(cells: "Cells") -> None:
    """A terminal gets control characters spelled out; a file gets the text itself."""
    from meseta.study.spreadsheet import written

    text = written(cells)
    _print(harmless(text) if sys.stdout.isatty() else text, nl=False)


def echo(text: str, nl: bool = True) -> None:
    _print(harmless(text), nl=nl)


def _print(text: str, nl: bool = True, file: TextIO | None = None) -> None:
    """Print it; where that fails, as on a full disk, say that what was stored is kept."""
    try:
        typer.echo(text, nl=nl, file=file)
    except OSError as error:
        if error.errno == errno.EPIPE:  # its reader has enough
            raise
        # what is left to be written would fail once more at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), (file or sys.stdout).fileno())
        stop(
            f"what this command says cannot be written: {error.strerror}; what it stored is kept, "
            "and `meseta status` shows it",
            FAILURE,
        )


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
