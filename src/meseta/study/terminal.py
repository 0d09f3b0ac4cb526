"""Texts of others on a terminal: control characters are shown, not obeyed."""

import re
import sys

OURS = "meseta: "  # what our own messages begin with
# Control characters but the end of a line, marks that turn the direction of writing around, and
# halves of pairs, which no terminal can be sent.
_STEERING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)


def harmless(text: str) -> str:
    """The text with such characters spelled out, as in \\u001b; lines stay lines.

    The spelling is that of JSON, so that JSON stays the same to programs.
    """
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """The harmless text on one line, for a name or a cell of a table."""
    return harmless(text).replace("\n", "\\n")


def say(message: str) -> None:
    """Print a sentence to standard error, beside the output."""
    print(harmless(OURS + message), file=sys.stderr, flush=True)
