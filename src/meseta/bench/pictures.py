"""The pictures of an experiment, and a gallery of all problems."""

from pathlib import Path

import matplotlib

from meseta.bench.campaign import progress
from meseta.bench.figures import draw_figures, save
from meseta.bench.one_run import problem_of
from meseta.bench.plan import Plan
from meseta.bench.schematic import draw_schematic
from meseta.bench.style import RC
from meseta.problems import of_paper


def draw(folder: Path, plan: Plan) -> list[Path]:
    """Draw and save the pictures; returns their files."""
    if plan.experiment == "schematic":
        return draw_schematic(folder)
    if plan.experiment == "gallery":
        return draw_gallery(folder)
    if plan.of.kind == "timing":
        return []
    return draw_figures(folder, plan, progress(folder, plan).complete)


def draw_gallery(folder: Path, resolution: int = 120, which: list[str] | None = None) -> list[Path]:
    """Draw f and g of every problem, one figure each; returns their files."""
    drawn = []
    with matplotlib.rc_context(RC):
        for name in which or ["within-model", *of_paper()]:
            figure = problem_of(name, 0).plot(resolution)
            drawn += save(figure, folder, f"gallery-{name}")
    return drawn
