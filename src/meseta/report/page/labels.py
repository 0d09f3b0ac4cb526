"""Text of users in plots, escaped: plotly would read HTML and templates in it."""

import html

from meseta.report.page.numbers import setting
from meseta.report.views.wording import Terms
from meseta.space.parameter import Value

LONGEST = 32  # characters of a label; longer ones would leave no room for the plot


def label(text: str, longest: int = LONGEST) -> str:
    """A text that plotly shows literally: no tags, no entities, no %{templates}."""
    line = " ".join(text.split())
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    # plotly reads entities after templates, so that this brace starts none
    return html.escape(short, quote=False).replace("{", "&#123;")


def named(name: str, unit: str, longest: int = LONGEST) -> str:
    """The title of an axis."""
    return f"{label(name, longest)} ({label(unit, 12)})" if unit else label(name, longest)


def value_title(terms: Terms) -> str:
    return named(terms.value, terms.unit)


def parameter_title(name: str, terms: Terms) -> str:
    return named(name, terms.unit_of(name))


def set_to(name: str, value: Value, terms: Terms) -> str:
    """A parameter and its value, for hover texts."""
    return label(f"{name}: {setting(value, terms.unit_of(name))}", 80)


def lines(*texts: str) -> str:
    """Labels as lines, one below the other."""
    return "<br>".join(texts)
