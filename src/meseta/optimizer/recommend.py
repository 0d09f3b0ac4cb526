"""The robust optimum that the data speak for, and the nominal one beside it."""

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.gp.incumbent import maximize_mean
from meseta.gp.mixture import Mean, Mixture
from meseta.space.domain import Domain, Held


def robust_optimum(
    mixture: Mixture,
    domain: Domain,
    *,
    method: str = methods.DEFAULT_METHOD,
    options: object = None,
    seed: int = 0,
    held: Held | None = None,
) -> Float[Tensor, " d"]:
    """Where the method believes the robust optimum to be, in the units of the posterior.

    For most it is the argmax of the posterior mean of g over the designs; for "ei", which knows of
    no input noise, of f; for "unscented-ei" of the mean of f over sigma points. `held` columns are
    no part of the design: there f(x) is looked at.
    """
    settings = methods.checked_options(method, options)
    believed = methods.get(method).belief
    belief = mixture.mean(lambda part: believed(part, settings))
    return _optimum(mixture, domain, belief, seed, held)


def nominal_optimum(
    mixture: Mixture, domain: Domain, *, seed: int = 0, held: Held | None = None
) -> Float[Tensor, " d"]:
    """The tallest point: argmax of the posterior mean of f, which ignores the input noise."""
    return _optimum(mixture, domain, mixture.mean_f, seed, held)


def _optimum(
    mixture: Mixture, domain: Domain, mean: Mean, seed: int, held: Held | None
) -> Float[Tensor, " d"]:
    generator = torch.Generator().manual_seed(seed)
    if held is None:
        return domain.snap(maximize_mean(mixture.heaviest, mean, domain, generator).x)
    best = maximize_mean(mixture.heaviest, lambda x: mean(held.put(x)), domain, generator)
    return held.put(domain.snap(best.x))
