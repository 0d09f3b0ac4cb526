"""Pictures of f and g: where the nominal optimum lies, and where the robust one."""

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meseta.measures import Mean
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
    axis.plot(t, _nominal(problem, points), color=BLACK, label="f(x)")
    axis.plot(t, problem.g(points), color=RED, linestyle="--", label=_robust(problem))
    axis.plot([problem.x_star[j]], [problem.g_star], "X", color=RED, label="robust optimum")
    axis.set_xlabel(problem.names[j])


def _draw_maps(problem: Problem, resolution: int) -> Figure:
    """f and g side by side, with one scale of colours."""
    low, high = problem.bounds
    first, second = (np.linspace(low[j], high[j], resolution) for j in range(2))
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    both = (_nominal(problem, points), problem.g(points))
    values = [each.reshape(resolution, resolution) for each in both]
    best = np.argmax if problem.direction == "maximize" else np.argmin
    nominal = points[best(values[0])]
    span = {"vmin": float(min(v.min() for v in values)), "vmax": float(values[0].max())}
    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT + 0.9), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, image, title in zip(axes, values, ("f(x)", _robust(problem)), strict=True):
        mesh = axis.pcolormesh(first, second, image, cmap="viridis", rasterized=True, **span)
        axis.plot(*nominal, "o", color="white", markeredgecolor="black", label="nominal optimum")
        axis.plot(*problem.x_star, "X", color=RED, markeredgecolor="black", label="robust optimum")
        axis.set(title=title, xlabel=problem.names[0])
    axes[0].set_ylabel(problem.names[1])
    axes[0].legend(loc="upper right", framealpha=0.8)
    figure.colorbar(mesh, ax=axes)
    figure.suptitle(f"{problem.title} ({problem.direction})")
    return figure


def _nominal(problem: Problem, x: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, " m"]:
    """f with the environment where it is on average."""
    usual = [float(law.mean) for law in problem.environment.values()]
    return problem.f(np.hstack([x, np.tile(usual, (len(x), 1))]))


def _robust(problem: Problem) -> str:
    """What g is."""
    if problem.measure == Mean():
        return "g(x) = E f(x, e)" if problem.environment else "g(x) = E f(x + ξ)"
    return f"g(x), {problem.measure.in_words()}"
