"""Writes the table of problems into docs/: `python tests/support/problem_page.py`."""

from pathlib import Path

from meseta.noise import Environment, NoiseLaw, Substitution
from meseta.problems import Problem, get, names

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "problems.md"
BEGIN, END = "<!-- written by tests/support/problem_page.py -->\n", "<!-- until here -->\n"
COLUMNS = ("name", "title", "dimension", "noise", "board", "measure", "budget", "source", "differs")


def table() -> str:
    """A row for each problem."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS)]
    return "\n".join([*lines, *(_row(get(name)) for name in names())]) + "\n"


def page() -> str:
    """The page as it should be."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _row(p: Problem) -> str:
    extra = f" + {len(p.environment)} environment" if p.environment else ""
    cells = (
        f"`{p.name}`",
        p.title,
        f"{p.dimension}{extra}",
        ", ".join(dict.fromkeys(_kind(law) for law in p.noise_by_name.values())),
        p.board,
        p.measure.in_words(),
        str(p.budget),
        p.source,
        p.differs,
    )
    return f"| {' | '.join(cells)} |"


def _kind(law: NoiseLaw | Substitution | Environment) -> str:
    """The family of a law."""
    inner = law.law if isinstance(law, Environment) else law
    words = type(inner).__name__.replace("ScipyLaw", "Beta")
    words = f"relative {words}" if getattr(inner, "relative", False) else words
    return f"environment {words}" if isinstance(law, Environment) else words


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
