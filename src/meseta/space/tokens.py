"""Rules and formulas that users write, cut into numbers, names and signs."""

import re
from collections.abc import Sequence

from meseta.boundary import unknown

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?![\d.])")


def tokens(text: str, names: Sequence[str], signs: Sequence[str], what: str) -> list[str | float]:
    """Signs as they are, numbers as numbers, and names with an apostrophe in front.

    `what` is what a name stands for, in messages.
    """
    longest, signs = (sorted(each, key=len, reverse=True) for each in (names, signs))
    found: list[str | float] = []
    rest = text.strip()
    while rest:
        name = next((each for each in longest if _begins(rest, each)), None)
        number = _NUMBER.match(rest)
        sign = next((each for each in signs if rest.startswith(each)), None)
        if name is not None:
            found.append(f"'{name}")
            rest = rest[len(name) :]
        elif sign is not None:
            found.append(sign)
            rest = rest[len(sign) :]
        elif number is not None:
            found.append(float(number[0]))
            rest = rest[number.end() :]
        else:
            word = re.split(r"[-+*/^()<>=\s]", rest)[0] or rest
            raise ValueError(f"has a word that is not known: {unknown(what, word, names)}")
        rest = rest.strip()
    return found


def is_name(token: str | float) -> bool:
    return isinstance(token, str) and token.startswith("'")


def _begins(text: str, name: str) -> bool:
    """Whether a text begins with a name, and not with a longer word."""
    return text.startswith(name) and not re.match(r"\w", text[len(name) : len(name) + 1])
