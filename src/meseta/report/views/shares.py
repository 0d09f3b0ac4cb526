"""How the scatter of f(x + xi) is shared among its causes: variance-based (Sobol) indices.

The scatter is what the noise does. What the model does not know of f is the interval.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.noise import Joint
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.outcomes import central
from meseta.report.views.subject import Subject

MANY = 2**14  # draws of the noise for the mean of f, which is quick
FEW = 200  # for samples of f
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
    columns = {
        group: [i for name in group for i in _columns(subject, name)]
        for group in dict.fromkeys(groups.values())
    }
    of_mean = [_at(subject.f_best_guess, subject, MANY, 4, columns)]
    of_mean.append(_at(subject.f_best_guess, subject, FEW, 3, columns))
    of_samples = _at(subject.f_values, subject, FEW, 3, columns)
    found: dict[str, Shares] = {}
    for number, group in enumerate(columns, start=2):
        mean, off = (_indices(*(each[i][None] for i in (0, 1, number))) for each in of_mean)
        each = _indices(*(of_samples[i] for i in (0, 1, number)))
        # of the mean of f all draws tell, and the few how samples differ from it (control variate)
        share = Shares(
            *(
                central(float(m), (m + e - o).clamp(0.0, 1.0))
                for m, e, o in zip(mean, each, off, strict=True)
            )
        )
        found |= dict.fromkeys(group, share)
    return found


def _at(
    f: Callable[[Tensor], Tensor],
    subject: Subject,
    num: int,
    stream: int,
    columns: Mapping[tuple[str, ...], list[int]],
) -> list[Tensor]:
    """Values at two independent sets of draws of x* + xi, and at mixtures of these, together."""
    first, second = subject.perturbed(subject.x_robust, 2 * num, stream).chunk(2)
    mixed = [_mixed(first, second, some) for some in columns.values()]
    return list(f(torch.cat([first, second, *mixed])).split(num, dim=-1))


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
