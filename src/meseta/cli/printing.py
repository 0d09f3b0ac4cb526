"""What commands print: harmless to terminals, and whole to files and programs."""

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

import typer

from meseta.study.terminal import harmless

if TYPE_CHECKING:
    from pathlib import Path

    from meseta.study.spreadsheet import Cells


def print_json(data: Any, file: TextIO | None = None) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(harmless(text), file=file)


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
    typer.echo(harmless(text) if sys.stdout.isatty() else text, nl=False)


def echo(text: str, nl: bool = True) -> None:
    typer.echo(harmless(text), nl=nl)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
