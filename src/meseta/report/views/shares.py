"""How the scatter of f(x + xi) is shared among its causes: variance-based (Sobol) indices.

The scatter is what the noise does. What the model does not know of f is the interval.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.noise import Joint
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.outcomes import DRAWS, central
from meseta.report.views.subject import Subject

MANY = 2**14  # draws of the noise for the mean of f, which is quick
CERTAIN = 1e-24  # of the square of the spread of all values: a variance below is rounding


class Shares(NamedTuple):
    """What a cause has of the variance of f(x* + xi), by itself and with what it does to others."""

    alone: SampledEstimate  # Var E[f | its noise] / Var f, the first-order index
    total: SampledEstimate  # E Var[f | all other noise] / Var f, the total-effect index


def shares(subject: Subject, names: Sequence[str]) -> dict[str, Shares]:
    """The shares of the noise of each of these parameters at the robust optimum.

    Parameters whose noise has a cause in common have one share together.
    """
    groups = causes(subject, names)
    many, few = (_both(subject, num, stream) for num, stream in ((MANY, 4), (DRAWS, 3)))
    of_mean, of_paths = subject.f_best_guess, subject.f_values
    known = of_mean(many[0])[None], of_mean(many[1])[None]
    sampled = of_paths(few[0]), of_paths(few[1])
    by_few = of_mean(few[0])[None], of_mean(few[1])[None]
    found: dict[str, Shares] = {}
    for group in dict.fromkeys(groups.values()):
        columns = [i for name in group for i in _columns(subject, name)]
        mean = _indices(*known, of_mean(_mixed(*many, columns))[None])
        mixed = _mixed(*few, columns)
        each = _indices(*sampled, of_paths(mixed))
        # of the mean of f all draws tell, and the few how paths differ from it (control variate)
        off = _indices(*by_few, of_mean(mixed)[None])
        share = Shares(
            *(
                central(float(m), (m + e - o).clamp(0.0, 1.0))
                for m, e, o in zip(mean, each, off, strict=True)
            )
        )
        found |= dict.fromkeys(group, share)
    return found


def causes(subject: Subject, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each parameter those whose noise has a cause in common with its own, itself included."""
    law = subject.law
    if isinstance(law, Joint):
        parts = [set(dims) for dims, _ in law.parts]
    else:
        parts = [] if law.independent else [set(range(subject.optimizer.space.num_columns))]
    found = {}
    for name in names:
        own = set(_columns(subject, name))
        joined = own.union(*(part for part in parts if part & own))
        found[name] = tuple(n for n in names if joined & set(_columns(subject, n)))
    return found


def _both(subject: Subject, num: int, stream: int) -> tuple[Tensor, Tensor]:
    """Two independent sets of draws of x* + xi."""
    first, second = subject.perturbed(subject.x_robust, 2 * num, stream).chunk(2)
    return first, second


def _mixed(first: Tensor, second: Tensor, columns: list[int]) -> Tensor:
    """The first draws with some columns of the second."""
    mixed = first.clone()
    mixed[:, columns] = second[:, columns]
    return mixed


def _indices(
    first: Float[Tensor, "p m"], second: Float[Tensor, "p m"], mixed: Float[Tensor, "p m"]
) -> tuple[Float[Tensor, " p"], Float[Tensor, " p"]]:
    """First-order and total-effect index, one of each for every function [Jansen 1999].

    Total: E (f(A) - f(A with one column of B))^2 / 2, a mean of squares. First order: what the rest
    leaves of the variance, V - E (f(B) - f(A with one column of B))^2 / 2. Where draws would make
    it negative, or more than the total, which it cannot be, it is 0, or the total.
    """
    both = torch.cat([first, second], dim=-1)
    variance = both.var(-1)
    scale = both.abs().amax(-1).square()
    certain = variance <= CERTAIN * scale
    safe = variance.masked_fill(certain, 1.0)
    total = (0.5 * (first - mixed).square().mean(-1) / safe).clamp_max(1.0)
    alone = 1 - 0.5 * (second - mixed).square().mean(-1) / safe
    alone = torch.minimum(alone.clamp_min(0.0), total)
    return alone.masked_fill(certain, 0.0), total.masked_fill(certain, 0.0)  # nothing scatters


def _columns(subject: Subject, name: str) -> range:
    place = subject.optimizer.space.columns_of(name)
    return range(place.start, place.stop)
