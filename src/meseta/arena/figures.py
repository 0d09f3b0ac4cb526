"""Regret over evaluations and over seconds, one panel for each problem."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from meseta.arena.entrants import BOARDS
from meseta.arena.plan import ArenaPlan
from meseta.arena.record import ArenaRecord
from meseta.arena.standings import by_board, curves, timed_curves
from meseta.bench.figures import draw_curves, save
from meseta.bench.statistics import Curve
from meseta.bench.style import RC, styles_of
from meseta.problems import get
from meseta.problems.picture import PANEL_HEIGHT, WIDTH


def draw_figures(folder: Path, plan: ArenaPlan, records: Sequence[ArenaRecord]) -> list[Path]:
    """The figures of every board as SVG; the same records give the same files."""
    paths = []
    with matplotlib.rc_context({**RC, "svg.hashsalt": "meseta", "svg.fonttype": "none"}):
        of_boards = by_board(records)
        for board in BOARDS:
            mine = of_boards.get(board, [])
            if mine:
                over = {
                    "evaluations": curves(mine, "own"),
                    "evaluations-common": curves(mine, "common"),
                    "seconds": timed_curves(mine),
                }
                for what, found in over.items():
                    if found:
                        figure = convergence(plan, found, seconds=what == "seconds")
                        paths += save(figure, folder, f"{board}-{what}", ("svg",))
    return paths


def convergence(plan: ArenaPlan, found: dict[str, dict[str, Curve]], *, seconds: bool) -> Figure:
    problems = [name for name in plan.problems if name in found]
    labels = [e.name for e in plan.entrants if any(e.name in found[name] for name in problems)]
    columns = min(3, len(problems))
    rows = -(-len(problems) // columns)
    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    looks = styles_of(labels)
    for axis, name in zip(axes, problems, strict=False):
        draw_curves(axis, found[name], looks, logarithmic=True)
        axis.set_title(get(name).title)
        if seconds:
            axis.set_xscale("log")
            axis.set_xlabel("seconds of the entrant")
    for axis in axes[len(problems) :]:
        axis.remove()
    for axis in axes[: len(problems) : columns]:
        axis.set_ylabel("regret")
    handles = [Line2D([], [], **looks[label].line(), markersize=3) for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=3.5)
    return figure
