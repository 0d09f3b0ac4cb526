"""The robust optimum that the data speak for, and the nominal one beside it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.ascent import ascend
from meseta.gp.robust import RobustPosterior
from meseta.sobol import sobol
from meseta.space import checked_bounds

SWEEP = 1024
STARTS = 8


@dataclass(frozen=True, eq=False)
class Optimum:
    """A design with what the model expects of it, in raw units."""

    x: Float[Tensor, " d"]
    mean: float  # of g(x) = E f(x + xi): what the design is worth once perturbed
    std: float  # posterior standard deviation of g(x)
    nominal_mean: float  # of f(x): what it is worth if nothing perturbs it
    nominal_std: float


def recommend(posterior: RobustPosterior, bounds: Tensor, *, seed: int = 0) -> Optimum:
    """The robust optimum: argmax of the posterior mean of g over the box."""
    return _optimum(posterior, bounds, seed, posterior.core.mean_g)


def nominal(posterior: RobustPosterior, bounds: Tensor, *, seed: int = 0) -> Optimum:
    """The tallest point: argmax of the posterior mean of f, which ignores the input noise."""
    return _optimum(posterior, bounds, seed, posterior.core.mean_f)


def _optimum(
    posterior: RobustPosterior, bounds: Tensor, seed: int, mean: Callable[[Tensor], Tensor]
) -> Optimum:
    units, bounds = posterior.units, checked_bounds(bounds, posterior.dimension)
    box = units.x_to_model(bounds)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        data = posterior.core.X.clamp(box[0], box[1])
        sweep = torch.cat([sobol(box, SWEEP, generator), data])
        best = mean(sweep).topk(STARTS).indices
    ascent = ascend(
        lambda _, x: mean(x),
        sweep[best],
        box,
        scale=posterior.core.kernel.kernel.lengthscale,
        gradient_tolerance=1e-10,
        value_tolerance=1e-15,
        max_iterations=100,
    )
    x = ascent.x[ascent.value.argmax()]
    raw = units.x_to_raw(x).clamp(bounds[0], bounds[1])
    moments = posterior.joint(raw[None])
    return Optimum(
        x=raw,
        mean=float(moments.m_g),
        std=float(moments.v_g.sqrt()),
        nominal_mean=float(moments.m_f),
        nominal_std=float(moments.v_f.sqrt()),
    )
