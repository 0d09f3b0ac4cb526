"""The pictures of docs/method.md: `python docs/pictures/draw.py [OUTPUT_DIR]`.

Each picture has a function that computes what it shows, with Meseta's own API and fixed seeds, and
one that draws it. Without OUTPUT_DIR they are written beside this file.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

import meseta
from meseta.acquisition import methods
from meseta.gp.joint import JointMoments
from meseta.gp.maxima import maximize_paths
from meseta.gp.paths import sample_paths
from meseta.gp.surrogate import Surrogate
from meseta.integrations.botorch import (
    NoisyInputEntropySearch,
    RobustAcquisition,
    RobustPosterior,
    known_surrogate,
    recommend,
    suggest,
)
from meseta.kernels import StationaryKernel, smooth
from meseta.noise import NoiseLaw
from meseta.problems import get, within_model
from meseta.problems.gp_draw import LENGTHSCALE, OUTPUT_STD

F, G = "#1f77b4", "#d65014"
GREEN, PURPLE, GREY = "#2a7f3f", "#6a3d9a", "#777777"
DASHED: dict[str, Any] = {"color": F, "linestyle": "--"}
SOLID: dict[str, Any] = {"color": G, "linestyle": "-"}
WIDTH = 7.2  # inches, shown at about 700 pixels
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.alpha": 0.25,
    "legend.fontsize": 9,
    "legend.framealpha": 0.9,
    "lines.linewidth": 1.8,
    "savefig.facecolor": "white",  # legible on dark pages, too
    "svg.hashsalt": "meseta",
}
BOUNDS = torch.tensor([[0.0], [1.0]], dtype=torch.double)
GRID = torch.linspace(0, 1, 301, dtype=torch.double)[:, None]
X = GRID[:, 0].numpy()

# The example of most pictures: a function drawn from the model, seen at eight points.
SEED, NUM_DATA = 33, 8


class Example(NamedTuple):
    """Truth, data, and what the model makes of them; xi ~ Normal(0.05)."""

    f: np.ndarray
    g: np.ndarray
    x: np.ndarray
    y: np.ndarray
    model: Surrogate
    noise: NoiseLaw
    posterior: RobustPosterior


@cache
def example() -> Example:
    problem = within_model(SEED)
    jitter = np.random.default_rng(SEED).uniform(size=NUM_DATA)
    x = ((np.arange(NUM_DATA) + jitter) / NUM_DATA)[:, None]
    y = problem.f(x)
    model = _model(torch.tensor(x), torch.tensor(y), problem.noise_variance)
    posterior = RobustPosterior.from_model(model, problem.noise, BOUNDS)
    truth = problem.f(GRID.numpy()), problem.g(GRID.numpy())
    return Example(*truth, x[:, 0], y, model, problem.noise, posterior)


def _model(x: Tensor, y: Tensor, noise_variance: float) -> Surrogate:
    """The Gaussian process that the function was drawn from, given data."""
    return known_surrogate(
        x,
        y,
        BOUNDS,
        lengthscale=LENGTHSCALE,
        variance=OUTPUT_STD**2,
        noise_variance=noise_variance,
    )


class Needle(NamedTuple):
    """f and g on the grid, the nominal and the robust optimum, and the density of xi."""

    f: np.ndarray
    g: np.ndarray
    nominal: float
    robust: float
    at_nominal: tuple[float, float]  # f and g
    at_robust: tuple[float, float]
    std: float


def needle() -> Needle:
    problem = get("rkhs")
    fine = np.linspace(0, 1, 4001)[:, None]
    f, g = problem.f(fine), problem.g(fine)
    top, plateau = int(f.argmax()), int(g.argmax())
    return Needle(
        problem.f(GRID.numpy()),
        problem.g(GRID.numpy()),
        float(fine[top, 0]),
        float(fine[plateau, 0]),
        (float(f[top]), float(g[top])),
        (float(f[plateau]), float(g[plateau])),
        0.03,
    )


def draw_needle(figure: Figure) -> None:
    shown = needle()
    axis = figure.subplots()
    axis.plot(X, shown.f, **DASHED, label="f(x): what you evaluate")
    axis.plot(X, shown.g, **SOLID, label="g(x) = E f(x + ξ): what you get")
    floor = -4.6
    for x, colour in ((shown.nominal, F), (shown.robust, G)):
        density = 2.2 * np.exp(-0.5 * ((X - x) / shown.std) ** 2)
        axis.fill_between(X, floor, floor + density, color=colour, alpha=0.25, lw=0)
        axis.plot([x, x], [floor, floor + 2.2], color=colour, lw=1)
        axis.text(x, floor + 2.45, "x + ξ", color=colour, ha="center", fontsize=9)
    for x, values in ((shown.nominal, shown.at_nominal), (shown.robust, shown.at_robust)):
        for value, colour, above in zip(values, (F, G), (6, -16), strict=True):
            axis.plot([x], [value], "o", color=colour, ms=5)
            axis.annotate(
                f"{value:.2f}",
                (x, value),
                (0, above),
                textcoords="offset points",
                ha="center",
                color=colour,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
            )
    axis.set(xlabel="x", xlim=(0, 1), ylim=(floor, 8.2))
    axis.legend(loc="upper center", ncols=2)


class Kernels(NamedTuple):
    """Covariances by distance, under one law."""

    title: str
    k_f: np.ndarray
    k_gf: np.ndarray
    k_g: np.ndarray


DISTANCES = torch.linspace(-4, 4, 241, dtype=torch.double)[:, None]


def kernels() -> list[Kernels]:
    """A squared exponential with lengthscale and variance 1, smoothed by laws of one width."""
    one, zero = torch.ones(1, dtype=torch.double), torch.zeros(1, 1, dtype=torch.double)
    kernel = StationaryKernel(one[0], ("se",), one)
    laws: dict[str, NoiseLaw] = {
        "ξ ~ Normal(1)": meseta.Normal(1.0),
        "ξ ~ 90 % Normal(0.2), 10 % three too far": meseta.Mixture(
            [meseta.Normal(0.2), meseta.Normal(0.2, mean=3.0)], [0.9, 0.1]
        ),
    }
    box = torch.tensor([[-4.0], [4.0]], dtype=torch.double)
    shown = []
    for title, law in laws.items():
        smoothed = smooth(kernel, law.in_dimension(1), box)
        k_f, k_gf, k_g = (
            k(DISTANCES, zero)[:, 0].numpy() for k in (smoothed.k_f, smoothed.k_gf, smoothed.k_g)
        )
        shown.append(Kernels(title, k_f, k_gf, k_g))
    return shown


def draw_kernels(figure: Figure) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, shown in zip(axes, kernels(), strict=True):
        distance = DISTANCES[:, 0].numpy()
        axis.plot(distance, shown.k_f, **DASHED, label="k_f: f with f")
        axis.plot(distance, shown.k_gf, color=PURPLE, ls="-.", label="k_gf: g with f")
        axis.plot(distance, shown.k_g, **SOLID, label="k_g: g with g")
        axis.set(xlabel="distance x to x', in lengthscales", ylim=(0, 1.05))
        axis.set_title(shown.title, fontsize=9)
    axes[0].set_ylabel("covariance")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3)


def _band(axis: Axes, mean: Tensor, variance: Tensor, colour: str, alpha: float = 0.22) -> None:
    std = variance.clamp_min(0).sqrt()
    low, high = (mean - 2 * std).numpy(), (mean + 2 * std).numpy()
    axis.fill_between(X, low, high, color=colour, alpha=alpha, lw=0)


def draw_posterior(figure: Figure) -> None:
    shown = example()
    after = shown.posterior.joint(GRID)
    kernel = shown.posterior.core.kernel
    prior_f = kernel.k_f(GRID[:1], GRID[:1])[0, 0]
    prior_g = kernel.k_g(GRID[:1], GRID[:1])[0, 0]
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    rows = (
        (axes[0], after.m_f, after.v_f, prior_f, DASHED, shown.f, "f: evaluated at eight points"),
        (axes[1], after.m_g, after.v_g, prior_g, SOLID, shown.g, "g: never evaluated"),
    )
    for axis, mean, variance, prior, look, truth, title in rows:
        colour = str(look["color"])
        _band(axis, torch.zeros_like(mean), prior.expand_as(mean), GREY, 0.15)
        _band(axis, mean, variance, colour)
        axis.plot(X, mean, **look, label="mean, ± 2 standard deviations")
        axis.plot(X, truth, color="black", lw=0.9, ls=":", label="truth")
        axis.fill_between([], [], color=GREY, alpha=0.15, label="before any data")
        axis.set_title(title, color=colour)
    axes[0].plot(shown.x, shown.y, "o", color="black", ms=5, label="data")
    for axis in axes:
        axis.legend(loc="lower left", ncols=4, fontsize=8)
    axes[0].set(xlim=(0, 1), ylim=(-1.75, 1.45))
    axes[1].set_xlabel("x")


class Paths(NamedTuple):
    """Some sample paths of f and g, and the maxima of many of g."""

    f: np.ndarray
    g: np.ndarray
    tops: np.ndarray  # (paths, 2): where each path of g is highest, and how high
    maxima: np.ndarray
    g_star: float  # their median


def paths(num_shown: int = 3, num_paths: int = 1000) -> Paths:
    posterior = example().posterior
    random = torch.Generator().manual_seed(5)
    drawn = sample_paths(posterior.core, num_paths, 500, random)
    x = posterior.units.x_to_model(GRID)
    found = maximize_paths(drawn, posterior.units.x_to_model(BOUNDS), random)
    few = drawn.subset(torch.arange(num_shown))
    tops = torch.column_stack([posterior.units.x_to_raw(found.x), found.value])
    return Paths(
        few.f(x).numpy(),
        few.g(x).numpy(),
        tops[:num_shown].numpy(),
        found.value.numpy(),
        float(found.value.median()),
    )


def draw_paths(figure: Figure) -> None:
    shown, data = paths(), example()
    grid = figure.add_gridspec(2, 2, width_ratios=(4, 1))
    top = figure.add_subplot(grid[0, 0])
    bottom = figure.add_subplot(grid[1, 0], sharex=top)
    side = figure.add_subplot(grid[1, 1], sharey=bottom)
    for values, axis, look in ((shown.f, top, DASHED), (shown.g, bottom, SOLID)):
        for path, alpha in zip(values, (1.0, 0.6, 0.3), strict=True):
            axis.plot(X, path, **look, lw=1.5, alpha=alpha)
    top.plot(data.x, data.y, "o", color="black", ms=5, label="data")
    top.set_title("paths of f, through the data", color=F)
    bottom.plot(*shown.tops.T, "^", color="black", ms=6, label="maximum of a path")
    bottom.set_title("the same paths, smoothed: g", color=G)
    bottom.axhline(shown.g_star, color="black", lw=1, ls=":")
    side.hist(shown.maxima, bins=30, orientation="horizontal", color=G, alpha=0.6)
    side.axhline(shown.g_star, color="black", lw=1, ls=":")
    side.set_title("1000 samples of g*", fontsize=9)
    side.text(0.95, 0.35, f"median {shown.g_star:.2f}", ha="right", transform=side.transAxes)
    side.tick_params(labelleft=False)
    side.set_xticks([])
    top.tick_params(labelbottom=False)
    top.set_xlim(0, 1)
    bottom.set(xlabel="x", ylim=(-0.75, 1.0))
    top.legend(loc="lower left")
    bottom.legend(loc="lower left")


class Information(NamedTuple):
    """f before and after it is told g*, and what an observation of f tells about g*, in nats."""

    before: JointMoments
    m_f: Tensor
    v_f: Tensor
    m_g: Tensor
    v_g: Tensor
    g_star: float
    ep: np.ndarray
    rs: np.ndarray


@cache
def information(num_accepted: int = 4000) -> Information:
    shown = example()
    ep = NoisyInputEntropySearch(shown.model, shown.noise, BOUNDS, seed=SEED)
    prepare = methods.prepare("nes-rs", {"num_accepted": num_accepted})
    assert prepare is not None
    rs = RobustAcquisition(shown.model, shown.noise, BOUNDS, prepare, seed=SEED)
    with torch.no_grad():
        given = ep.conditioned(GRID)
        values = [acquisition(GRID[:, None]).numpy() for acquisition in (ep, rs)]
    # the same seed draws the same samples of g*
    assert torch.equal(ep.info.max_values, rs.info.max_values)
    moments = given.m_f[0], given.v_f[0], given.m_g[0], given.v_g[0]
    return Information(given.before, *moments, float(ep.info.max_values[0]), *values)


def draw_information(figure: Figure) -> None:
    shown, data = information(), example()
    axes = figure.subplots(3, 1, sharex=True, height_ratios=(3, 3, 2))
    before = shown.before
    rows = (
        (axes[0], before.m_g, before.v_g, shown.m_g, shown.v_g, SOLID, "g, below g*"),
        (axes[1], before.m_f, before.v_f, shown.m_f, shown.v_f, DASHED, "f, given that"),
    )
    for axis, mean, variance, new_mean, new_variance, look, title in rows:
        _band(axis, mean, variance, GREY, 0.25)
        _band(axis, new_mean, new_variance, str(look["color"]), 0.35)
        axis.fill_between([], [], color=GREY, alpha=0.25, label="given the data")
        axis.fill_between([], [], color=str(look["color"]), alpha=0.35, label="given g* as well")
        axis.plot(X, new_mean.numpy(), **look)
        axis.axhline(shown.g_star, color="black", lw=1, ls=":")
        axis.set_title(title, color=look["color"])
        axis.legend(loc="lower left", ncols=2)
    axes[0].annotate("g*", (0.965, shown.g_star), (0, 4), textcoords="offset points")
    axes[1].plot(data.x, data.y, "o", color="black", ms=5)
    axes[2].plot(X, shown.rs, color="black", lw=1, label="rejection sampling")
    axes[2].plot(X, shown.ep, color=PURPLE, label="expectation propagation")
    best = int(shown.ep.argmax())
    axes[2].plot(X[best], shown.ep[best], "v", color=PURPLE, ms=8)
    axes[2].set_title("what an observation of f(x) tells about g*, in nats")
    axes[2].legend(loc="upper right")
    axes[2].set(xlabel="x", xlim=(0, 1))


class Run(NamedTuple):
    """Where a method evaluated, and the regret of what it would have recommended."""

    x: np.ndarray
    regret: np.ndarray


LOOKS = {"uu-ei": (GREY, "s"), "nes-ep": (PURPLE, "D"), "rkg": (GREEN, "o")}
NUM_INITIAL = 3


@cache
def run(method: str, budget: int = 24) -> Run:
    """On the example, from three points that all methods share."""
    problem = within_model(SEED)
    x = torch.tensor([[0.1], [0.5], [0.9]], dtype=torch.double)
    regret = []
    while True:
        y = torch.as_tensor(problem.f(x.numpy()))
        model = _model(x, y, problem.noise_variance)
        posterior = RobustPosterior.from_model(model, problem.noise, BOUNDS)
        best = recommend(posterior, BOUNDS, method=method)
        regret.append(problem.g_star - problem.g(best.x[None].numpy())[0])
        if len(x) == budget:
            return Run(x[:, 0].numpy(), np.array(regret))
        point, _ = suggest(x, y, BOUNDS, problem.noise, method=method, seed=1, fitted=(model, None))
        x = torch.cat([x, point[None]])


def draw_run(figure: Figure) -> None:
    truth = within_model(SEED)
    grid = figure.add_gridspec(2, 4, width_ratios=(1.1, 2, 2, 2), height_ratios=(3, 2))
    side, bottom = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 1:])
    side.plot(truth.f(GRID.numpy()), X, **DASHED, lw=1.3, label="f")
    side.plot(truth.g(GRID.numpy()), X, **SOLID, lw=1.3, label="g")
    side.axhline(float(truth.x_star[0]), color=G, lw=1, ls=":")
    side.set(ylabel="x", ylim=(-0.03, 1.03))
    side.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, handlelength=1.2, frameon=False)
    for place, (method, (colour, marker)) in enumerate(LOOKS.items()):
        shown = run(method)
        number = np.arange(1, len(shown.x) + 1)
        axis = figure.add_subplot(grid[0, 1 + place], sharey=side)
        axis.axhline(float(truth.x_star[0]), color=G, lw=1, ls=":")
        axis.plot(number[:NUM_INITIAL], shown.x[:NUM_INITIAL], "x", color="black", ms=5)
        axis.plot(number[NUM_INITIAL:], shown.x[NUM_INITIAL:], marker, color=colour, ms=4)
        axis.tick_params(labelleft=False)
        axis.set_title(method, color=colour)
        after = number[NUM_INITIAL - 1 :]
        bottom.semilogy(after, shown.regret.clip(1e-12), f"{marker}-", color=colour, ms=3, lw=1.2)
    bottom.set(xlabel="evaluations", ylabel="regret")


PICTURES: dict[str, tuple[Callable[[Figure], None], float]] = {  # and the height in inches
    "needle": (draw_needle, 3.6),
    "kernels": (draw_kernels, 3.1),
    "posterior": (draw_posterior, 4.8),
    "paths": (draw_paths, 4.6),
    "information": (draw_information, 6.4),
    "run": (draw_run, 4.6),
}


def main(folder: Path = Path(__file__).parent, suffix: str = ".svg") -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (draw, height) in PICTURES.items():
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=(WIDTH, height), layout="constrained")
            draw(figure)
            path = (folder / name).with_suffix(suffix)
            # without a date, the same picture is the same file
            metadata = {"Date": None} if suffix == ".svg" else None
            figure.savefig(path, metadata=metadata, dpi=100)
        written.append(path)
        print(path)
    return written


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
