"""Samples of the robust maximum g* = max g~(x) over the box."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.gp.joint import JointPosterior
from meseta.gp.paths import SamplePaths, Sampler, sample_paths
from meseta.kernels import SmoothedKernel
from meseta.space.ascent import Ascent
from meseta.space.domain import Box, Domain, as_domain

# Points of the Sobol sweep.
SWEEP = 512
# Points whose values of g correlate more than this are taken to lie on one hill.
SAME_HILL = 0.3
# Paths whose climbs tell how far a climb leads.
PROBES = 100
# A refinement ends when a step gains less than this share of the spread between the maxima.
PRECISION = 1e-4


# Points at which a path is looked at before the whole sweep.
FIRST_LOOK = 64


@dataclass(frozen=True)
class MaximaOptions:
    """How to sample g*; the paper's settings (Sec. 4): 500 features, quantiles of 100 maxima."""

    num_paths: int = 100
    num_features: int = 500  # M
    sampler: Sampler = "pathwise"

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.startswith("num_") and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")


class Maxima(NamedTuple):
    """The maximum of each path of g and where it is."""

    value: Float[Tensor, " paths"]
    x: Float[Tensor, "paths d"]
    unfinished: int  # refinements that were still moving when they were stopped
    jitter: float  # added to the diagonal of the covariance behind the paths


def sample_maxima(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: MaximaOptions,
) -> Maxima:
    """Maxima of sample paths of g."""
    paths = sample_paths(
        posterior, options.num_paths, options.num_features, generator, options.sampler
    )
    return maximize_paths(paths, bounds, generator)


@runtime_checkable
class Paths(Protocol):
    """Functions that are maximised: paths of g, or of another measure of f(x + xi)."""

    @property
    def kernel(self) -> SmoothedKernel: ...
    @property
    def X(self) -> Float[Tensor, "n d"]: ...
    @property
    def jitter(self) -> float: ...
    def g(self, x: Tensor) -> Tensor: ...
    def g_of(self, path: Tensor, x: Tensor) -> Tensor: ...


def maximize_paths(
    paths: Paths,
    bounds: Box,
    generator: torch.Generator,
    num_sweep: int = SWEEP,
) -> Maxima:
    """Maximise all paths of g at once: a Sobol sweep, then ascent from its best points.

    Each path climbs from its best point, and again from its best point on another hill if that
    could catch up: if it lies no deeper below than the largest gain of all the first climbs.
    """
    domain = as_domain(bounds)
    with torch.no_grad():
        sweep = _sweep(paths, domain, generator, num_sweep)
        values = in_blocks(paths.g, sweep, len(paths.X), dim=1)
        first, second = _distinct_tops(paths, sweep, values)
    every = torch.arange(len(values))
    precision = _precision(values[every, first], values)
    best = _climb(paths, every, sweep[first], domain, precision)
    reach = (best.value - values[every, first]).max()
    rivals = (values[every, second] > best.value - reach).nonzero().flatten()
    other = _climb(paths, rivals, sweep[second[rivals]], domain, precision)
    better = other.value > best.value[rivals]
    won = rivals[better]
    best.value[won], best.x[won] = other.value[better], other.x[better]
    unfinished = len(every) - best.converged + len(rivals) - other.converged
    return Maxima(best.value, best.x, unfinished, paths.jitter)


@torch.no_grad()
def maxima_below(
    paths: SamplePaths,
    g_star: Float[Tensor, " k"],
    bounds: Box,
    generator: torch.Generator,
) -> Bool[Tensor, "k paths"]:
    """Which paths of g stay below each g*.

    A Sobol sweep settles most of them; only tops that a climb could lift above g* are climbed.
    """
    domain = as_domain(bounds)
    sweep = _sweep(paths, domain, generator)
    top, best = paths.g(sweep[:FIRST_LOOK]).max(-1)
    # most paths that rise above g* do so at one of a few points already
    low = (top <= g_star.max()).nonzero().flatten()
    low_paths = paths.subset(low)
    top[low], best[low] = in_blocks(low_paths.g, sweep, len(paths.X), dim=1).max(-1)
    precision = _precision(top, top)

    def climb(of_low: Tensor) -> Tensor:
        start = sweep[best[low[of_low]]]
        return _climb(low_paths, of_low, start, domain, precision).value

    probe = torch.arange(min(PROBES, len(low)))
    climbed = climb(probe)
    reach = (climbed - top[low[probe]]).max() if len(probe) else 0.0
    top[low[probe]] = climbed
    close = (top[low] <= g_star.max()) & (top[low] + reach > g_star.min())
    close[probe] = False
    undecided = close.nonzero().flatten()
    top[low[undecided]] = climb(undecided)
    return top <= g_star[:, None]


def percentile_values(
    maxima: Float[Tensor, " paths"], num_values: int
) -> Float[Tensor, " num_values"]:
    """K values of g*: percentiles on a regular grid from 25 to 75, the median for K = 1."""
    if num_values < 1:
        raise ValueError(f"num_max_values must be at least 1, got {num_values}")
    grid = torch.linspace(0.25, 0.75, num_values, dtype=torch.double)
    return torch.quantile(maxima, grid if num_values > 1 else grid.new_tensor([0.5]))


def _sweep(
    paths: Paths, domain: Domain, generator: torch.Generator, num: int = SWEEP
) -> Float[Tensor, "m d"]:
    """Sobol points, and the data inside the box."""
    low, high = domain.bounds
    inside = ((low <= paths.X) & (high >= paths.X)).all(-1)
    return torch.cat([domain.sobol(num, generator), domain.snap(paths.X[inside])])


def _climb(
    paths: Paths,
    path: Int[Tensor, " b"],
    start: Float[Tensor, "b d"],
    domain: Domain,
    precision: float,
) -> Ascent:
    return domain.ascend(
        lambda problem, x: paths.g_of(path[problem], x),
        start,
        scale=_scale(paths),
        stragglers=0.03,  # a few unfinished paths hardly move the quantiles of g*
        gradient_tolerance=0.0,
        value_tolerance=precision,
    )


def _precision(tops: Tensor, values: Tensor) -> float:
    """PRECISION of the spread of the tops, relative to the size of the values."""
    spread = float(tops.std(correction=0)) / max(float(values.abs().max()), 1e-300)
    return max(PRECISION * spread, 1e-15)


def _distinct_tops(
    paths: Paths, sweep: Float[Tensor, "m d"], values: Float[Tensor, "paths m"]
) -> tuple[Int[Tensor, " paths"], Int[Tensor, " paths"]]:
    """The best point of each path, and the best that does not lie on the same hill."""
    first = values.argmax(-1)
    covariance = paths.kernel.k_g(sweep[first], sweep)
    same_hill = covariance > SAME_HILL * paths.kernel.at_same_point(sweep[first])[1][:, None]
    return first, values.masked_fill(same_hill, -torch.inf).argmax(-1)


def _scale(paths: Paths) -> Float[Tensor, " d"]:
    """The lengthscales of g: those of f, widened by the noise."""
    variance = paths.kernel.law.covariance_matrix.diagonal()
    return (paths.kernel.kernel.lengthscale**2 + 2 * variance).sqrt()
