"""The gravity assist maneuver: the cost of every launch, and where some of them lead."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meseta.problems import get
from meseta.problems.flight import MASSES, PLANETS, trajectory

PLANET_NAMES = "ABCD"


class Launch(NamedTuple):
    """A launch worth looking at."""

    title: str
    angle: float
    speed: float
    colour: str
    marker: str


def cost_map(
    resolution: int,
) -> tuple[Float64[np.ndarray, " a"], Float64[np.ndarray, " s"], Float64[np.ndarray, "s a"]]:
    """Angles, speeds, and f at every pair of them."""
    problem = get("gravity")
    low, high = problem.bounds
    angles, speeds = (np.linspace(low[j], high[j], resolution) for j in range(2))
    pairs = np.stack(np.meshgrid(angles, speeds), axis=-1)
    return angles, speeds, problem.f(pairs.reshape(-1, 2)).reshape(resolution, resolution)


def examples(resolution: int) -> list[Launch]:
    """The lowest cost there is, the robust optimum, and both with the angle one sigma off."""
    problem = get("gravity")
    angles, speeds, cost = cost_map(resolution)
    row, column = np.unravel_index(np.argmin(cost), cost.shape)
    nominal = float(angles[column]), float(speeds[row])
    robust = float(problem.x_star[0]), float(problem.x_star[1])
    off = float(problem.law.covariance_matrix[0, 0].sqrt())
    return [
        Launch("lowest cost", *nominal, "#D55E00", "o"),
        Launch("one sd off", nominal[0] + off, nominal[1], "#E69F00", "v"),
        Launch("robust optimum", *robust, "#0072B2", "s"),
        Launch("one sd off", robust[0] + off, robust[1], "#56B4E9", "^"),
    ]


def draw_cost_map(figure: Figure, axis: Axes, launches: list[Launch], resolution: int) -> None:
    angles, speeds, cost = cost_map(resolution)
    image = axis.pcolormesh(angles, speeds, cost, cmap="Greys", shading="nearest", rasterized=True)
    figure.colorbar(image, ax=axis, location="top", shrink=0.9, label="cost, log10(d + 2 v)")
    for launch in launches:
        axis.plot(
            [launch.angle],
            [launch.speed],
            marker=launch.marker,
            color=launch.colour,
            markeredgecolor="white",
            markersize=6,
        )
    axis.set(xlabel="initial angle (degrees)", ylabel="initial speed")


def draw_trajectories(axis: Axes, launches: list[Launch]) -> None:
    for launch, dashes in zip(launches, ("-", "--", "-", "--"), strict=False):
        _, path = trajectory(launch.angle, launch.speed)
        axis.plot(path[:, 0], path[:, 1], dashes, color=launch.colour, lw=1, label=launch.title)
        axis.plot(*path[-1], marker=launch.marker, color=launch.colour, markersize=4, clip_on=True)
    for name, place, mass in zip(PLANET_NAMES, PLANETS, MASSES, strict=True):
        axis.plot([place.real], [place.imag], "o", color="black", markersize=2 + mass**0.5)
        axis.annotate(name, (place.real, place.imag), xytext=(3, 4), textcoords="offset points")
    axis.set(xlim=(-0.5, 10.5), ylim=(-3, 3), xlabel="x-position", ylabel="y-position")
    axis.legend(
        loc="lower left", fontsize=6, frameon=False, ncols=2, columnspacing=0.8, handlelength=1.2
    )
