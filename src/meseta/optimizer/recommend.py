"""The robust optimum that the data speak for, and the nominal one beside it."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.gp.incumbent import Mean, maximize_mean
from meseta.gp.robust import RobustPosterior
from meseta.gp.surrogate import Units
from meseta.space.domain import Domain, Held, checked_domain


@dataclass(frozen=True, eq=False)
class Optimum:
    """A design with what the model expects of it, in raw units."""

    x: Float[Tensor, " d"]
    mean: float  # of g(x) = E f(x + xi): what the design is worth once perturbed
    std: float  # posterior standard deviation of g(x)
    nominal_mean: float  # of f(x): what it is worth if nothing perturbs it
    nominal_std: float


def recommend(
    posterior: RobustPosterior,
    bounds: Tensor | Domain,
    *,
    method: str = methods.DEFAULT_METHOD,
    options: object = None,
    seed: int = 0,
    held: Held | None = None,
) -> Optimum:
    """Where the method believes the robust optimum to be.

    For most it is the argmax of the posterior mean of g over the box; for "ei", which knows of no
    input noise, of f; for "unscented-ei" of the mean of f over sigma points. `held` columns, in raw
    units, are no part of the design: there f(x) is looked at.
    """
    settings = methods.checked_options(method, options)
    belief = methods.get(method).belief(posterior.core, settings)
    return _optimum(posterior, bounds, seed, belief, held)


def nominal(
    posterior: RobustPosterior,
    bounds: Tensor | Domain,
    *,
    seed: int = 0,
    held: Held | None = None,
) -> Optimum:
    """The tallest point: argmax of the posterior mean of f, which ignores the input noise."""
    return _optimum(posterior, bounds, seed, posterior.core.mean_f, held)


def _optimum(
    posterior: RobustPosterior, bounds: Tensor | Domain, seed: int, mean: Mean, held: Held | None
) -> Optimum:
    units, domain = posterior.units, checked_domain(bounds, posterior.dimension)
    generator = torch.Generator().manual_seed(seed)
    if held is not None:
        mean = _holding(mean, held, units)
    best = maximize_mean(posterior.core, mean, domain.mapped(units.x_to_model), generator)
    x = domain.snap(units.x_to_raw(best.x))
    if held is not None:
        x = held.put(x)
    moments = posterior.joint(x[None])
    return Optimum(
        x=x,
        mean=float(moments.m_g),
        std=float(moments.v_g.sqrt()),
        nominal_mean=float(moments.m_f),
        nominal_std=float(moments.v_f.sqrt()),
    )


def _holding(mean: Mean, held: Held, units: Units) -> Mean:
    """The mean where some columns are held, in the units of the model."""
    offset, width = units.x_offset[held.columns], units.x_width[held.columns]
    inside = Held(held.columns, (held.values - offset) / width)
    return lambda x: mean(inside.put(x))
