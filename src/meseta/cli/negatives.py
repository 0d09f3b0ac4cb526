"""Commands that take numbers: -1.5 is a number, not an option."""

import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

_NEGATIVE = re.compile(r"-(\.?\d.*|,\d.*|inf|infinity|nan)", re.IGNORECASE)


class NumbersCommand(TyperCommand):
    """Reads negative numbers as arguments, wherever options stand."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" not in args and any(map(_is_negative, args)):
            options, arguments = self._apart(args)
            args = [*options, "--", *arguments]
        return super().parse_args(ctx, args)

    def _apart(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """The options with their values, and the arguments in their order."""
        takes_value = {
            name
            for each in self.params
            if each.param_type_name == "option" and not getattr(each, "is_flag", False)
            for name in each.opts
        }
        options: list[str] = []
        arguments: list[str] = []
        rest = iter(words)
        for word in rest:
            if not word.startswith("-") or word == "-" or _is_negative(word):
                arguments.append(word)
                continue
            options.append(word)
            if word in takes_value:
                options += [value for value in [next(rest, None)] if value is not None]
        return options, arguments


def _is_negative(word: str) -> bool:
    return _NEGATIVE.fullmatch(word) is not None
