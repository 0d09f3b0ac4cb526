"""The paper's figures, from records alone: medians over runs with their quartiles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from meseta.bench.experiments import Metric
from meseta.bench.gravity_picture import draw_cost_map, draw_trajectories, examples
from meseta.bench.one_run import problem_of
from meseta.bench.plan import Plan
from meseta.bench.records import RunRecord
from meseta.bench.statistics import FLOOR, Curve, curve, groups
from meseta.bench.style import RC, Style, styles_of, title_of
from meseta.problems.picture import PANEL_HEIGHT, WIDTH

AXIS_TITLES: dict[Metric, str] = {
    "regret": "inference regret",
    "distance": "distance to optimum",
    "value": "g of the recommended design",
}
FORMATS = ("png", "pdf")
MARKERS = 6  # on each line


def draw_figures(
    folder: Path, plan: Plan, records: Sequence[RunRecord], resolution: int = 150
) -> list[Path]:
    """All figures of an experiment, saved below the folder; none without complete runs."""
    found = groups(records)
    if not found:
        return []
    with matplotlib.rc_context(RC):
        paths = [
            path
            for metric in plan.of.metrics
            for path in save(convergence(plan, records, metric), folder, f"{plan.name}-{metric}")
        ]
        if plan.experiment == "gravity":
            figure = gravity_figure(plan, found["gravity"], resolution)
            paths += save(figure, folder, f"{plan.name}-maneuver")
    return paths


def convergence(plan: Plan, records: Sequence[RunRecord], metric: Metric) -> Figure:
    """One panel per problem, one line per method, one legend for all."""
    found = groups(records)
    problems = [problem for problem in plan.problems if problem in found]
    labels = [m for m in plan.methods if any(m in found[problem] for problem in problems)]
    columns = min(3, len(problems))
    rows = -(-len(problems) // columns)
    figure = Figure(
        figsize=(WIDTH if columns > 1 else WIDTH / 2 + 0.5, PANEL_HEIGHT * rows + 0.7),
        layout="constrained",
    )
    axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    looks = styles_of(labels)
    for axis, problem in zip(axes, problems, strict=False):
        curves = {m: curve(found[problem][m], metric) for m in labels if m in found[problem]}
        draw_curves(axis, curves, looks, logarithmic=metric != "value")
        known = problem_of(problem, 0)
        axis.set_title(f"{known.title.partition(' (')[0]} ({known.dimension}-dim.)")
        if metric == "value":
            axis.axhline(known.g_star, color="black", linewidth=0.6, linestyle=(0, (8, 4)))
    for axis in axes[len(problems) :]:
        axis.remove()
    for axis in axes[: len(problems) : columns]:
        axis.set_ylabel(AXIS_TITLES[metric])
    _legend(figure, labels, looks, columns=4 if columns > 1 else 2)
    return figure


def draw_curves(
    axis: Axes, curves: dict[str, Curve], looks: dict[str, Style], *, logarithmic: bool
) -> None:
    """Medians as lines, from the 25th to the 75th percentile as bands."""
    for number, (label, found) in enumerate(curves.items()):
        lower, median, upper = (
            values.clip(FLOOR) if logarithmic else values
            for values in (found.lower, found.median, found.upper)
        )
        look = looks[label]
        every = max(1, len(median) // MARKERS)
        axis.fill_between(found.evaluations, lower, upper, color=look.colour, alpha=0.13, lw=0)
        axis.plot(
            found.evaluations,
            median,
            **look.line(),
            markersize=3,
            markevery=(number % every, every),
        )
    if logarithmic:
        axis.set_yscale("log")
    axis.set_xlabel("# function evaluations")
    axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axis.grid(alpha=0.25, linewidth=0.4)


def gravity_figure(plan: Plan, found: dict[str, list[RunRecord]], resolution: int = 150) -> Figure:
    """The cost map with example launches, where they lead, and the regret."""
    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT + 0.9), layout="constrained")
    cost, paths, regret = figure.subplots(1, 3)
    launches = examples(resolution)
    draw_cost_map(figure, cost, launches, resolution)
    draw_trajectories(paths, launches)
    labels = [label for label in plan.methods if label in found]
    looks = styles_of(labels)
    draw_curves(regret, {m: curve(found[m]) for m in labels}, looks, logarithmic=True)
    regret.set_ylabel(AXIS_TITLES["regret"])
    _legend(figure, labels, looks, columns=5)
    return figure


def save(figure: Figure, folder: Path, name: str, formats: tuple[str, ...] = FORMATS) -> list[Path]:
    """Save a figure as a picture for the screen and a drawing for print."""
    paths = [folder / "figures" / f"{name}.{kind}" for kind in formats]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    for path in paths:
        # no date: the same records give the same file
        dates = {".pdf": "CreationDate", ".svg": "Date"}
        metadata: dict[str, Any] = {key: None for end, key in dates.items() if end == path.suffix}
        figure.savefig(path, metadata=metadata)
    return paths


def _legend(figure: Figure, labels: list[str], looks: dict[str, Style], columns: int) -> None:
    handles = [Line2D([], [], **looks[label].line(), markersize=3) for label in labels]
    titles = [title_of(label, labels) for label in labels]
    figure.legend(handles, titles, loc="outside lower center", ncols=columns, handlelength=3.5)
