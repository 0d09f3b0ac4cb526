"""Samples of the robust maximum g* = max g~(x) over the box."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.ascent import Ascent, ascend
from meseta.gp.paths import SamplePaths
from meseta.sobol import sobol

# Points of the Sobol sweep.
SWEEP = 512
# Points whose values of g correlate more than this are taken to lie on one hill.
SAME_HILL = 0.3
# A refinement ends when a step gains less than this share of the spread between the maxima.
PRECISION = 1e-4


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
    """Maximise all paths of g at once: a Sobol sweep, then ascent from its best points.

    Each path climbs from its best point, and again from its best point on another hill if that
    could catch up: if it lies no deeper below than the largest gain of all the first climbs.
    """
    with torch.no_grad():
        sweep = torch.cat([sobol(bounds, SWEEP, generator), _inside(paths.X, bounds)])
        values = paths.g(sweep)
        first, second = _distinct_tops(paths, sweep, values)
    every = torch.arange(len(values))
    size = max(float(values.abs().max()), 1e-300)
    spread = float(values[every, first].std(correction=0)) / size

    def climb(path: Tensor, start: Tensor) -> Ascent:
        return ascend(
            lambda problem, x: paths.g_of(path[problem], x),
            start,
            bounds,
            scale=_scale(paths),
            stragglers=0.03,  # a few unfinished paths hardly move the quantiles of g*
            gradient_tolerance=0.0,
            value_tolerance=max(PRECISION * spread, 1e-15),
        )

    best = climb(every, sweep[first])
    reach = (best.value - values[every, first]).max()
    rivals = (values[every, second] > best.value - reach).nonzero().flatten()
    other = climb(rivals, sweep[second[rivals]])
    better = other.value > best.value[rivals]
    won = rivals[better]
    best.value[won], best.x[won] = other.value[better], other.x[better]
    unfinished = len(every) - best.converged + len(rivals) - other.converged
    return Maxima(best.value, best.x, unfinished)


def percentile_values(
    maxima: Float[Tensor, " paths"], num_values: int
) -> Float[Tensor, " num_values"]:
    """K values of g*: percentiles on a regular grid from 25 to 75, the median for K = 1."""
    if num_values < 1:
        raise ValueError(f"num_max_values must be at least 1, got {num_values}")
    grid = torch.linspace(0.25, 0.75, num_values, dtype=torch.double)
    return torch.quantile(maxima, grid if num_values > 1 else grid.new_tensor([0.5]))


def _distinct_tops(
    paths: SamplePaths, sweep: Float[Tensor, "m d"], values: Float[Tensor, "paths m"]
) -> tuple[Int[Tensor, " paths"], Int[Tensor, " paths"]]:
    """The best point of each path, and the best that does not lie on the same hill."""
    first = values.argmax(-1)
    covariance = paths.kernel.k_g(sweep[first], sweep)
    same_hill = covariance > SAME_HILL * paths.kernel.at_same_point[2]
    return first, values.masked_fill(same_hill, -torch.inf).argmax(-1)


def _scale(paths: SamplePaths) -> Float[Tensor, " d"]:
    """The lengthscales of g: those of f, widened by the noise."""
    variance = paths.kernel.law.covariance_matrix.diagonal()
    return (paths.kernel.kernel.lengthscale**2 + 2 * variance).sqrt()


def _inside(x: Tensor, bounds: Tensor) -> Tensor:
    return x[((x >= bounds[0]) & (x <= bounds[1])).all(-1)]
