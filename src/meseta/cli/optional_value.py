"""`--report` with or without the name of a file."""

from typing import Any

from typer.core import TyperCommand

OPTION, DEFAULT = "--report", ""
ENDINGS = (".html", ".htm")


class ReportCommand(TyperCommand):
    """Reads `--report`, `--report page.html` and `--report=page.html`.

    What stands behind it is its value only if it looks like a page: the study file may stand there.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words: list[str] = []
        for word, after in zip(args, [*args[1:], DEFAULT], strict=True):
            words.append(word)
            if word == OPTION and not after.lower().endswith(ENDINGS):
                words.append(DEFAULT)
        return super().parse_args(ctx, words)
