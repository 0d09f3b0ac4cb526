"""The incumbent: where the mean of the posterior is highest."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.gp.joint import JointPosterior
from meseta.gp.mixture import Mean
from meseta.gp.surrogate import Units
from meseta.space.domain import Box, as_domain

SWEEP = 1024
STARTS = 8


class Incumbent(NamedTuple):
    """A maximum of a mean."""

    x: Float[Tensor, " d"]
    value: Float[Tensor, ""]

    def raw(self, units: Units) -> "Incumbent":
        """From the units of the model to raw ones."""
        return Incumbent(units.x_to_raw(self.x), units.y_to_raw(self.value))


def maximize_mean(
    posterior: JointPosterior,
    mean: Mean,
    bounds: Box,
    generator: torch.Generator,
) -> Incumbent:
    """The highest point of a mean that the posterior gives, to almost full precision."""
    domain = as_domain(bounds)
    with torch.no_grad():
        data = domain.snap(posterior.X)
        # among equals the data come first: a flat mean speaks for what was evaluated
        sweep = torch.cat([data, domain.sobol(SWEEP, generator)])
        values = in_blocks(mean, sweep, len(data))
        best = values.sort(descending=True, stable=True).indices[:STARTS]
        starts = torch.cat([best, domain.best_of_each(sweep, values)])
    ascent = domain.ascend(
        lambda _, x: mean(x),
        sweep[starts],
        scale=posterior.kernel.kernel.lengthscale,
        gradient_tolerance=1e-10,
        value_tolerance=1e-15,
        max_iterations=100,
    )
    top = ascent.value.sort(descending=True, stable=True).indices[0]
    return Incumbent(ascent.x[top], ascent.value[top])
