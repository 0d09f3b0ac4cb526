"""Text of users in plots: plotly reads some of HTML, and templates, in all of them."""

import html

from meseta.report.page.numbers import setting
from meseta.report.views.terms import Terms
from meseta.space.parameter import Value

LONGEST = 32  # characters of a label, beyond which the plot would have no room


def label(text: str, longest: int = LONGEST) -> str:
    """Shown literally: no tags, no entities, no %{templates}."""
    line = " ".join(text.split())
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    # plotly fills in templates before it reads entities, so that this one is never a template
    return html.escape(short, quote=False).replace("{", "&#123;")


def named(name: str, unit: str, longest: int = LONGEST) -> str:
    """The title of an axis."""
    return f"{label(name, longest)} ({label(unit, 12)})" if unit else label(name, longest)


def value_title(terms: Terms) -> str:
    return named(terms.value, terms.unit)


def parameter_title(name: str, terms: Terms) -> str:
    return named(name, terms.unit_of(name))


def set_to(name: str, value: Value, terms: Terms) -> str:
    """A parameter and its value, for hovering."""
    return label(f"{name}: {setting(value, terms.unit_of(name))}", 80)


def lines(*texts: str) -> str:
    """Of labels, one below the other."""
    return "<br>".join(texts)
