"""Writes the noise laws of the catalogue into docs/: `python tests/support/law_pages.py`."""

from collections.abc import Mapping
from pathlib import Path

from meseta.noise.catalogue import LAWS, Kind

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- written by tests/support/law_pages.py -->\n", "<!-- until here -->\n"


def by_knowledge() -> str:
    """Which law to take: docs/noise.md."""
    rows = [f"| {law.known} | `{law.example}` |\n" for law in LAWS]
    return "| you know | write |\n| --- | --- |\n" + "".join(rows)


def by_keys() -> str:
    """The keys of each law: docs/study-files.md."""
    rows = [
        f'| `law = "{law.name}"` | {_keys(law.required)} | {_keys(law.optional)} |\n'
        for law in LAWS
    ]
    return "| law | must have | may have |\n| --- | --- | --- |\n" + "".join(rows)


def by_name() -> str:
    """The classes with their docstrings: docs/reference/noise.md."""
    each = "::: meseta.noise.{}\n    options:\n      members: false\n"
    return "\n".join(each.format(law.python) for law in LAWS)


PAGES = {"noise.md": by_knowledge, "study-files.md": by_keys, "reference/noise.md": by_name}


def page(name: str) -> str:
    """The page as it should be."""
    before, rest = (DOCS / name).read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{PAGES[name]()}\n{END}{rest.split(END)[1]}"


def _keys(keys: Mapping[str, Kind]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(page(name), encoding="utf-8")
