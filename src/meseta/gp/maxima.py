"""Samples of the robust maximum g* = max g~(x) over the box."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.ascent import ascend
from meseta.gp.paths import SamplePaths
from meseta.sobol import sobol

# Points of the Sobol sweep, and the best of them that are refined, per path.
SWEEP = 512
STARTS = 2
# Points whose values of g correlate more than this are taken to lie on one hill.
SAME_HILL = 0.3


class Maxima(NamedTuple):
    """The maximum of each path of g and where it is."""

    value: Float[Tensor, " paths"]
    x: Float[Tensor, "paths d"]
    unfinished: int  # refinements that were still moving when they were stopped


def maximize_paths(
    paths: SamplePaths,
    bounds: Float[Tensor, "2 d"],
    generator: torch.Generator,
) -> Maxima:
    """Maximise all paths of g at once: a Sobol sweep, then ascent from its best points."""
    with torch.no_grad():
        sweep = torch.cat([sobol(bounds, SWEEP, generator), _inside(paths.X, bounds)])
        best = _distinct_tops(paths, sweep)
    num_paths = len(best)
    path = torch.arange(num_paths).repeat_interleave(STARTS)
    ascent = ascend(
        lambda problem, x: paths.g_of(path[problem], x),
        sweep[best.reshape(-1)],
        bounds,
        gradient_tolerance=1e-5,
        value_tolerance=1e-8,
    )
    value, x = ascent.value.view(num_paths, STARTS), ascent.x.view(num_paths, STARTS, -1)
    top = value.argmax(-1)
    every = torch.arange(num_paths)
    return Maxima(value[every, top], x[every, top], len(path) - ascent.converged)


def percentile_values(
    maxima: Float[Tensor, " paths"], num_values: int
) -> Float[Tensor, " num_values"]:
    """K values of g*: percentiles on a regular grid from 25 to 75, the median for K = 1."""
    if num_values < 1:
        raise ValueError(f"num_max_values must be at least 1, got {num_values}")
    grid = torch.linspace(0.25, 0.75, num_values, dtype=torch.double)
    return torch.quantile(maxima, grid if num_values > 1 else grid.new_tensor([0.5]))


def _distinct_tops(paths: SamplePaths, sweep: Float[Tensor, "m d"]) -> Int[Tensor, "paths starts"]:
    """The best point of each path, then the best that is not on the same hill, and so on."""
    values = paths.g(sweep)
    tops = [values.argmax(-1)]
    for _ in range(STARTS - 1):
        covariance = paths.kernel.k_g(sweep[tops[-1]], sweep)
        same_hill = covariance > SAME_HILL * paths.kernel.at_same_point[2]
        values = values.masked_fill(same_hill, -torch.inf)
        tops.append(values.argmax(-1))
    return torch.stack(tops, dim=-1)


def _inside(x: Tensor, bounds: Tensor) -> Tensor:
    return x[((x >= bounds[0]) & (x <= bounds[1])).all(-1)]
