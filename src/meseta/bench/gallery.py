"""Pictures of f and g for every problem."""

from pathlib import Path

import matplotlib

from meseta.bench.figures import save
from meseta.bench.one_run import problem_of
from meseta.bench.style import RC
from meseta.problems import names


def draw_gallery(folder: Path, resolution: int = 120, which: list[str] | None = None) -> list[Path]:
    """One figure per problem, saved below the folder."""
    drawn = []
    with matplotlib.rc_context(RC):
        for name in which or ["within-model", *names()]:
            figure = problem_of(name, 0).plot(resolution)
            drawn += save(figure, folder, f"gallery-{name}")
    return drawn
