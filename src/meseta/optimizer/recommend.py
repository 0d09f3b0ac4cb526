"""The robust optimum that the data speak for, and the nominal one beside it."""

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.gp.in_use import Taken, mean_in_use, rehearsal
from meseta.gp.incumbent import maximize_mean
from meseta.gp.measured import maximize_measure, measured_mixture
from meseta.gp.mixture import Mean, Mixture
from meseta.measures import Measure
from meseta.space.domain import Domain, Held

# Paths of f, their features, and draws of the noise, where a measure is maximised.
CLIMBED = 32, 500, 512


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
    return _optimum(mixture, domain, belief_of(mixture, method, options), seed, held)


def belief_of(mixture: Mixture, method: str, options: object) -> Mean:
    """The mean whose maximum a method recommends."""
    settings = methods.checked_options(method, options)
    believed = methods.get(method).belief
    return mixture.mean(lambda part: believed(part, settings))


def measured_optimum(
    mixture: Mixture,
    domain: Domain,
    measure: Measure,
    *,
    seed: int = 0,
    held: Held | None = None,
) -> Float[Tensor, " d"]:
    """Where the mean of a measure of f(x + xi) is highest, in the units of the posterior."""
    generator = torch.Generator().manual_seed(seed)
    parts, weights = measured_mixture(mixture, measure, *CLIMBED, generator)
    best = maximize_measure(parts, weights, domain, generator, held)
    x = domain.snap(best.x)
    return x if held is None else held.put(x)


def mean_of_measure(mixture: Mixture, measure: Measure, *, seed: int = 0) -> Mean:
    """The mean of a measure of f(x + xi), as a function of designs."""
    generator = torch.Generator().manual_seed(seed)
    parts, weights = measured_mixture(mixture, measure, *CLIMBED, generator)

    def mean(x: Tensor) -> Tensor:
        return torch.stack([w * p.mean(x) for w, p in zip(weights, parts, strict=True)]).sum(0)

    return mean


def value_in_use(
    mixture: Mixture, measure: Measure | None, x: Float[Tensor, " d"], *, seed: int = 0
) -> Taken:
    """The measure at a design, in the units of the posterior; None: the mean."""
    if measure is None:
        return mean_in_use(mixture, x)
    generator = torch.Generator().manual_seed(seed)
    return rehearsal(mixture, measure, generator).at(x).measure(measure)


def nominal_optimum(
    mixture: Mixture,
    domain: Domain,
    *,
    measure: Measure | None = None,
    seed: int = 0,
    held: Held | None = None,
) -> Float[Tensor, " d"]:
    """The tallest point: argmax of the posterior mean of f, which ignores the input noise.

    With a measure that is no number of the values (a target, limits) the point that serves it best.
    """
    return _optimum(mixture, domain, nominal_value(mixture, measure), seed, held)


def nominal_value(mixture: Mixture, measure: Measure | None) -> Mean:
    """What is to be high where nothing is perturbed."""
    if measure is None or measure.within_values:
        return mixture.mean_f

    def serves(x: Tensor) -> Tensor:
        moments = mixture.moments(x)
        return measure.nominal(moments.m_f, moments.v_f)

    return serves


def _optimum(
    mixture: Mixture, domain: Domain, mean: Mean, seed: int, held: Held | None
) -> Float[Tensor, " d"]:
    generator = torch.Generator().manual_seed(seed)
    if held is None:
        return domain.snap(maximize_mean(mixture.heaviest, mean, domain, generator).x)
    best = maximize_mean(mixture.heaviest, lambda x: mean(held.put(x)), domain, generator)
    return held.put(domain.snap(best.x))
