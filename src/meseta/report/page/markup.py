"""HTML from Python, safe by construction: text is escaped unless it is markup already."""

import html
from collections.abc import Iterable

VOID = {"meta", "br", "hr", "col"}  # elements without an end


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Iterable["Child"] | None
Attribute = str | int | bool | None


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """`class_` is class, `aria_label` is aria-label; True is a bare attribute, None is none."""
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{html.escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if tag in VOID else f"{start}{together(*children)}</{tag}>")


def together(*children: Child) -> Markup:
    """One after the other: markup as it is, everything else as text."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(html.escape(child))
        elif child is not None:
            parts.append(together(*child))
    return Markup("".join(parts))
