"""Maximising an acquisition function over the designs."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.space.domain import Box, as_domain

NUM_RESTARTS = 10
RAW_SAMPLES = 256
# Values that differ by less, relative to the largest, are equal.
ROUNDING = 1e-14


class MaximizeInfo(NamedTuple):
    """How the maximisation went."""

    value: float
    best_raw: float  # the best value before refinement
    unfinished: int  # restarts that were still moving when they were stopped


def maximize_acquisition(
    acquisition: Callable[[Tensor], Tensor],
    bounds: Box,
    generator: torch.Generator,
    extra: Float[Tensor, "m d"] | None = None,
    scale: Float[Tensor, " d"] | None = None,
    num_restarts: int = NUM_RESTARTS,
    raw_samples: int = RAW_SAMPLES,
) -> tuple[Float[Tensor, " d"], MaximizeInfo]:
    """The best of several local maxima, sought from Sobol points and from `extra` ones.

    `scale` is a length per dimension over which the acquisition function changes alike.

    BoTorch's optimize_acqf does the same, but draws its starting points with global randomness
    and steps every restart separately.
    """
    domain = as_domain(bounds)
    raw = domain.sobol(raw_samples, generator)
    if extra is not None:
        raw = torch.cat([raw, domain.snap(extra)])
    with torch.no_grad():
        values = acquisition(raw)
    chosen = _boltzmann(values, min(num_restarts, len(raw)), generator)
    each = domain.best_of_each(raw, values)
    # logarithms of a gain have no bottom, and tolerances are relative to the lowest start
    chosen = torch.cat([chosen, each[values[each] > values.median()]])
    ascent = domain.ascend(
        lambda _, x: acquisition(x),
        raw[chosen],
        scale=scale,
        compete=True,
        gradient_tolerance=1e-3,
        value_tolerance=1e-4,
    )
    best = ascent.value.argmax()
    info = MaximizeInfo(
        value=float(ascent.value[best]),
        best_raw=float(values.max()),
        unfinished=len(chosen) - ascent.converged,
    )
    return ascent.x[best], info


def _boltzmann(values: Tensor, num: int, generator: torch.Generator) -> Tensor:
    """The best point, and others with probability proportional to exp of their z-score.

    The spread is that of the better half: logarithms of a gain have no bottom.
    """
    spread = values[values >= values.median()].std(correction=0)
    if not spread > ROUNDING * values.abs().max():
        return torch.arange(num)
    weights = ((values - values.max()) / spread).exp().clamp_min(1e-12)
    chosen = torch.multinomial(weights, num, generator=generator)
    best = values.argmax()
    if best not in chosen:
        chosen[0] = best
    return chosen
