"""Commands that print a table: `--csv` goes to standard output, and not to a file."""

from itertools import pairwise
from typing import Any

from typer.core import TyperCommand

from meseta.cli.endings import WRONG_USE, stop


class TableCommand(TyperCommand):
    """Says how to write a file where somebody names one after `--csv`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option, word in pairwise(args):
            if option == "--csv" and word.lower().endswith((".csv", ".tsv", ".txt")):
                stop(
                    f"--csv prints the table and takes no file, got {word!r}; "
                    f"write it with: {ctx.command_path} ... --csv > {word}",
                    WRONG_USE,
                )
        return super().parse_args(ctx, args)
