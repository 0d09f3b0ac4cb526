"""The paper's Fig. 1: f and g as the model sees them, before and after it is told g*."""

from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
import torch
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meseta.bench.figures import save
from meseta.bench.style import RC
from meseta.gp.known import known_surrogate
from meseta.integrations.botorch.acquisition import NoisyInputEntropySearch
from meseta.problems import Problem, within_model
from meseta.problems.gp_draw import LENGTHSCALE, OUTPUT_STD
from meseta.problems.picture import PANEL_HEIGHT, WIDTH

BLUE, GREEN, RED = "#0072B2", "#009E73", "#D55E00"
# A function whose nominal and robust optima lie apart, with data that leave room for both.
SEED, NUM_DATA = 33, 8


class Predictive(NamedTuple):
    """Mean and standard deviation on a grid."""

    mean: Float64[np.ndarray, " m"]
    std: Float64[np.ndarray, " m"]


class Schematic(NamedTuple):
    """What the figure shows; each pair is before and after conditioning."""

    problem: Problem
    grid: Float64[np.ndarray, " m"]
    x: Float64[np.ndarray, " n"]
    y: Float64[np.ndarray, " n"]
    g_star: float  # as sampled from the posterior
    f: tuple[Predictive, Predictive]
    g: tuple[Predictive, Predictive]


def schematic(seed: int = SEED, num_data: int = NUM_DATA, resolution: int = 400) -> Schematic:
    problem = within_model(seed)
    jitter = np.random.default_rng(seed).uniform(size=num_data)
    x = ((np.arange(num_data) + jitter) / num_data)[:, None]
    y = problem.f(x)
    bounds = torch.as_tensor(problem.bounds)
    model = known_surrogate(
        torch.tensor(x),
        torch.tensor(y),
        bounds,
        lengthscale=LENGTHSCALE,
        variance=OUTPUT_STD**2,
        noise_variance=problem.noise_variance,
    )
    nes = NoisyInputEntropySearch(model, problem.law, bounds, seed=seed)
    grid = torch.linspace(0, 1, resolution, dtype=torch.double)[:, None]
    with torch.no_grad():
        after = nes.conditioned(grid)
    before = after.before
    return Schematic(
        problem,
        grid[:, 0].numpy(),
        x[:, 0],
        y,
        float(nes.info.max_values[0]),
        f=(_predictive(before.m_f, before.v_f), _predictive(after.m_f[0], after.v_f[0])),
        g=(_predictive(before.m_g, before.v_g), _predictive(after.m_g[0], after.v_g[0])),
    )


def draw_schematic(folder: Path) -> list[Path]:
    shown = schematic()
    problem, points = shown.problem, shown.grid[:, None]
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, PANEL_HEIGHT + 0.9), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _draw(left, shown, shown.f, problem.f(points), "black", "f(x)")
        _draw(right, shown, shown.g, problem.g(points), RED, "g(x) = E f(x + ξ)")
        left.plot(shown.x, shown.y, "o", color="black", markersize=4, label="data")
        top = int(problem.f(points).argmax())
        left.plot([shown.grid[top]], [problem.f(points)[top]], "x", color="black", label="optimum")
        right.plot(*problem.x_star, problem.g_star, "P", color=RED, label="robust optimum")
        for axis in (left, right):
            axis.set_xlabel("x")
            axis.legend(frameon=False, fontsize=6, ncols=2, loc="lower center")
        low, high = left.get_ylim()
        left.set_ylim(low - 0.35 * (high - low), high)  # room for the legend
        return save(figure, folder, "schematic")


def _draw(
    axis: Axes,
    shown: Schematic,
    pair: tuple[Predictive, Predictive],
    truth: Float64[np.ndarray, " m"],
    colour: str,
    title: str,
) -> None:
    for given, look, dashes, label in zip(
        pair, (BLUE, GREEN), ("-", "--"), ("before", "given g*"), strict=True
    ):
        low, high = given.mean - 2 * given.std, given.mean + 2 * given.std
        axis.fill_between(shown.grid, low, high, color=look, alpha=0.2, lw=0)
        axis.plot(shown.grid, given.mean, color=look, linestyle=dashes, label=f"{label}, ± 2 sd")
    axis.plot(shown.grid, truth, color=colour, linewidth=0.9, label="truth")
    axis.axhline(shown.g_star, color=RED, linestyle=":", label="sampled g*")
    axis.set_title(title)


def _predictive(mean: torch.Tensor, variance: torch.Tensor) -> Predictive:
    return Predictive(mean.numpy(), variance.clamp_min(0).sqrt().numpy())
