"""The best design that keeps its constraints in use, and how sure that is."""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.incumbent import maximize_mean
from meseta.gp.limited import (
    Assessed,
    Assessment,
    Limited,
    LimitedOutcome,
    limited,
    room_to,
    sure_of,
)
from meseta.gp.mixture import Mean, Mixture
from meseta.gp.within_limits import climb_within, maximize_within
from meseta.measures import Measure
from meseta.measures.constraints import Constraint
from meseta.optimizer.recommend import nominal_value
from meseta.optimizer.record import SURE, Counted, Kept
from meseta.space.domain import Domain, Held

# Draws of the noise where designs are compared, and for a quick look.
CLIMBED, QUICK = 512, 64
ROUNDS = 4  # of assessing the best design, and moving the limits by what it shows
CLOSE = 0.01  # of the spread of an outcome: a limit that is kept by less need not be moved
BISECTIONS = 5  # on the way to a design that surely keeps the limits
# Values of an outcome from which on its model can say how sure it is; more, if they are all equal:
# then the data do not say what is much.
FEWEST, FEWEST_EQUAL = 3, 10
UNLIKELY = 1e-3  # probability below which designs are compared by how far they are off
# A climb aims a little higher than what is asked for.
AIMED = SURE + 0.2 * (1 - SURE)


def constrained_optimum(
    mixture: Mixture,
    value: Mean,
    outcomes: Sequence[LimitedOutcome],
    assessments: Sequence[Assessment],
    domain: Domain,
    *,
    seed: int = 0,
    held: Held | None = None,
) -> Float[Tensor, " d"]:
    """Where `value` is highest among designs that are known to keep all limits.

    If no design is, it is the one that most probably does. Margins are to first order where designs
    are compared; then the best one is assessed by sample paths, and the limits are moved by what
    these say about it [as in sequential optimisation and reliability assessment, Du and Chen 2004].
    """
    generator = torch.Generator().manual_seed(seed)

    def put(x: Tensor) -> Tensor:
        return x if held is None else held.put(x)

    limits = [limited(o.mixture.heaviest, o.margin, CLIMBED, generator) for o in outcomes]
    few = [limit.with_fewer(QUICK) for limit in limits]
    by = _deviations(AIMED, len(limits))
    moved = torch.zeros(len(limits), 1, dtype=torch.double)

    def of_design(x: Tensor) -> Tensor:
        return value(put(x))

    def room(x: Tensor) -> Tensor:
        return room_to(limits, put(x), by) + moved

    def quick(x: Tensor) -> Tensor:
        return room_to(few, put(x), by)

    first, scale = mixture.heaviest.X, mixture.heaviest.kernel.kernel.lengthscale
    found = maximize_within(of_design, room, domain, generator, first, scale, quick)
    known: list[tuple[float, Tensor]] = []
    for number in range(ROUNDS):
        x = put(domain.snap(found.x))
        each = [assessment.at(x) for assessment in assessments]
        if sure_of(each) >= SURE:
            known.append((found.value, x))
        exact = torch.tensor([[a.room(by)] for a in each], dtype=torch.double)
        if number == ROUNDS - 1 or (known and float(exact.min()) < CLOSE):
            break
        with torch.no_grad():
            moved = moved + exact - room(x[None])
        found = climb_within(of_design, room, domain, found.x, scale)
    if known:
        return max(known, key=lambda pair: pair[0])[1]
    likeliest = domain.snap(_likeliest(mixture, few, domain, generator, put))

    def known_to_keep(x: Tensor) -> bool:
        return sure_of([assessment.at(put(x)) for assessment in assessments]) >= SURE

    return put(_towards(domain, found.x, likeliest, known_to_keep))


def _towards(
    domain: Domain,
    x: Float[Tensor, " d"],
    other: Float[Tensor, " d"],
    holds: Callable[[Tensor], bool],
) -> Float[Tensor, " d"]:
    """The first point found on the way from x to another one where something holds.

    It is the other one if that is not better.
    """
    share, step, best = 1.0, 0.5, other
    if not holds(other):
        return other
    for _ in range(BISECTIONS):
        between = domain.snap(x + (share - step) * (other - x))
        if holds(between):
            share, best = share - step, between
        step /= 2
    return best


def constrained_nominal(
    mixture: Mixture,
    outcomes: Sequence[LimitedOutcome],
    domain: Domain,
    *,
    measure: Measure | None = None,
    seed: int = 0,
    held: Held | None = None,
) -> Float[Tensor, " d"]:
    """The best design if nothing perturbed it: of those whose mean outcomes keep all limits."""
    generator = torch.Generator().manual_seed(seed)
    serves = nominal_value(mixture, measure)

    def put(x: Tensor) -> Tensor:
        return x if held is None else held.put(x)

    def room(x: Tensor) -> Tensor:
        means = [each.margin.nominal(*_moments_of_f(each.mixture, put(x))) for each in outcomes]
        return torch.stack(means)

    first, scale = mixture.heaviest.X, mixture.heaviest.kernel.kernel.lengthscale
    found = maximize_within(lambda x: serves(put(x)), room, domain, generator, first, scale)
    return put(domain.snap(found.x))


def tells(values: Sequence[float]) -> bool:
    """Whether values of an outcome are enough for its model to say how sure it is."""
    return len(values) >= (FEWEST if len(set(values)) > 1 else FEWEST_EQUAL)


def kept_at(
    constraint: Constraint, found: Assessed | None, values: Counted, scatter: str = ""
) -> Kept:
    """How a design keeps a constraint; by a few values of the outcome nothing is known."""
    if found is None:
        return Kept(constraint, None, (0.0, 1.0), 0.0, values)
    return Kept(constraint, found.share, found.interval, found.sure, values, scatter)


def _moments_of_f(mixture: Mixture, x: Tensor) -> tuple[Tensor, Tensor]:
    moments = mixture.moments(x)
    return moments.m_f, moments.v_f


def _likeliest(
    mixture: Mixture,
    limits: Sequence[Limited],
    domain: Domain,
    generator: torch.Generator,
    put: Callable[[Tensor], Tensor],
) -> Float[Tensor, " d"]:
    """The design that most probably keeps all limits; where none is likely to, by the least off."""

    def log_probability(x: Tensor) -> Tensor:
        each = [limit.moments(put(x)) for limit in limits]
        return torch.stack([torch.special.log_ndtr(m / v.sqrt()) for m, v in each]).sum(0)

    def shortfall(x: Tensor) -> Tensor:
        return torch.stack([limit.moments(put(x))[0].clamp_max(0) for limit in limits]).sum(0)

    best = maximize_mean(mixture.heaviest, log_probability, domain, generator)
    if float(best.value) < math.log(UNLIKELY):
        best = maximize_mean(mixture.heaviest, shortfall, domain, generator)
    return best.x


def _deviations(sure: float, num: int) -> float:
    """By how many standard deviations each of some limits is to be kept, to be sure of them all."""
    return float(torch.special.ndtri(torch.tensor(sure ** (1 / num), dtype=torch.double)))
