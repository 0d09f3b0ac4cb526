"""The pictures of an experiment, whatever it is."""

from pathlib import Path

from meseta.bench.campaign import progress
from meseta.bench.figures import draw_figures
from meseta.bench.gallery import draw_gallery
from meseta.bench.plan import Plan
from meseta.bench.schematic import draw_schematic


def draw(folder: Path, plan: Plan) -> list[Path]:
    """Draw and save them; their files."""
    if plan.experiment == "schematic":
        return draw_schematic(folder)
    if plan.experiment == "gallery":
        return draw_gallery(folder)
    if plan.of.kind == "timing":
        return []
    return draw_figures(folder, plan, progress(folder, plan).complete)
