"""Pictures of f and g: where the nominal optimum lies, and where the robust one."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meseta.problems.problem import Problem

# Inches: two columns of the paper, and one row of panels.
WIDTH, PANEL_HEIGHT = 6.75, 2.1
BLACK, RED = "black", "#D55E00"


def draw(problem: Problem, resolution: int = 120) -> Figure:
    """Curves in one dimension, maps in two, slices through the robust optimum beyond."""
    drawing = {1: _draw_line, 2: _draw_maps}.get(problem.dimension, _draw_slices)
    return drawing(problem, resolution)


def _draw_line(problem: Problem, resolution: int) -> Figure:
    figure = Figure(figsize=(WIDTH / 2 + 0.5, PANEL_HEIGHT + 0.4), layout="constrained")
    axis = figure.subplots()
    _draw_slice(axis, problem, 0, 5 * resolution)
    axis.set_title(problem.title)
    axis.legend(frameon=False)
    return figure


def _draw_slices(problem: Problem, resolution: int) -> Figure:
    """Along each parameter, the others at the robust optimum."""
    d = problem.dimension
    rows = -(-d // 3)
    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT * rows), layout="constrained")
    axes = figure.subplots(rows, 3, squeeze=False, sharey=True).flatten().tolist()
    for j, axis in enumerate(axes[:d]):
        _draw_slice(axis, problem, j, resolution)
    axes[0].legend(frameon=False)
    figure.suptitle(f"{problem.title}: slices through the robust optimum")
    return figure


def _draw_slice(axis: Axes, problem: Problem, j: int, resolution: int) -> None:
    low, high = problem.bounds[:, j].tolist()
    t = np.linspace(low, high, resolution)
    points = np.tile(problem.x_star, (resolution, 1))
    points[:, j] = t
    axis.plot(t, problem.f(points), color=BLACK, label="f(x)")
    axis.plot(t, problem.g(points), color=RED, linestyle="--", label="g(x) = E f(x + ξ)")
    axis.plot([problem.x_star[j]], [problem.g_star], "X", color=RED, label="robust optimum")
    axis.set_xlabel(problem.names[j])


def _draw_maps(problem: Problem, resolution: int) -> Figure:
    """f and g side by side, with one scale of colours."""
    low, high = problem.bounds
    first, second = (np.linspace(low[j], high[j], resolution) for j in range(2))
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    values = [h(points).reshape(resolution, resolution) for h in (problem.f, problem.g)]
    best = np.argmax if problem.direction == "maximize" else np.argmin
    nominal = points[best(values[0])]
    span = {"vmin": float(min(v.min() for v in values)), "vmax": float(values[0].max())}
    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT + 0.9), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, image, title in zip(axes, values, ("f(x)", "g(x) = E f(x + ξ)"), strict=True):
        mesh = axis.pcolormesh(first, second, image, cmap="viridis", rasterized=True, **span)
        axis.plot(*nominal, "o", color="white", markeredgecolor="black", label="nominal optimum")
        axis.plot(*problem.x_star, "X", color=RED, markeredgecolor="black", label="robust optimum")
        axis.set(title=title, xlabel=problem.names[0])
    axes[0].set_ylabel(problem.names[1])
    axes[0].legend(loc="upper right", framealpha=0.8)
    figure.colorbar(mesh, ax=axes)
    figure.suptitle(f"{problem.title} ({problem.direction})")
    return figure
