"""HTML from Python. Text is escaped unless it is Markup."""

import html
from collections.abc import Iterable

VOID = {"meta", "br", "hr", "col", "input"}  # elements without an end tag


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Iterable["Child"] | None
Attribute = str | int | bool | None


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """An HTML element.

    `class_` becomes class, and `aria_label` becomes aria-label. True gives an attribute without a
    value; None gives no attribute.
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{html.escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if tag in VOID else f"{start}{together(*children)}</{tag}>")


def together(*children: Child) -> Markup:
    """The children one after the other; everything but Markup is escaped."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(html.escape(child))
        elif child is not None:
            parts.append(together(*child))
    return Markup("".join(parts))
