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
# Of two designs the one with the better bet is recommended: so many standard deviations below its
# mean. docs/design.md says what was compared.
CERTAIN = 1e-12  # of the variance of values: less than that is no doubt
CAUTION = 1.0


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

    For most it is the argmax of the posterior mean of g over the designs, less what is not known
    of it (CAUTION); for "ei", which knows of no input noise, of the mean of f; for "unscented-ei"
    of that over sigma points. `held` columns are no part of the design: there f(x) is looked at.
    """
    return _optimum(mixture, domain, belief_of(mixture, method, options), seed, held)


def belief_of(mixture: Mixture, method: str, options: object) -> Mean:
    """Return what a method recommends the maximum of."""
    settings = methods.checked_options(method, options)
    believed = methods.get(method).belief
    mean = mixture.mean(lambda part: believed(part, settings))
    if believed is not methods.mean_of_g:
        return mean
    less = caution(mixture)
    return lambda x: mean(x) - less(x)


def caution(mixture: Mixture, measure: Measure | None = None) -> Mean:
    """Return by how much less a design is worth, as a bet, than its mean; None: that of g."""

    def less(x: Tensor) -> Tensor:
        if measure is not None and not measure.within_values:  # a share, or squares
            return x.new_zeros(len(x))
        return CAUTION * (mixture.moments(x).v_g + CERTAIN).sqrt()

    return less


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
    best = maximize_measure(parts, weights, domain, generator, held, caution(mixture, measure))
    x = domain.snap(best.x)
    return x if held is None else held.put(x)


def mean_of_measure(mixture: Mixture, measure: Measure, *, seed: int = 0) -> Mean:
    """Return what a measure of f(x + xi) is worth as a bet, as a function of designs."""
    generator = torch.Generator().manual_seed(seed)
    parts, weights = measured_mixture(mixture, measure, *CLIMBED, generator)

    less = caution(mixture, measure)

    def value(x: Tensor) -> Tensor:
        each = [w * p.mean(x) for w, p in zip(weights, parts, strict=True)]
        return torch.stack(each).sum(0) - less(x)

    return value


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
    """The tallest point: the best bet by the posterior of f, which ignores the input noise.

    With a measure that is no number of the values (a target, limits) the point that serves it best.
    """
    return _optimum(mixture, domain, nominal_value(mixture, measure), seed, held)


def nominal_value(mixture: Mixture, measure: Measure | None) -> Mean:
    """What is to be high where nothing is perturbed."""

    def serves(x: Tensor) -> Tensor:
        moments = mixture.moments(x)
        if measure is None or measure.within_values:
            return moments.m_f - CAUTION * (moments.v_f + CERTAIN).sqrt()
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
