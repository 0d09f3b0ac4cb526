"""Draws of the values that a design really has in use."""

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.noise.joint import Joint
from meseta.noise.law import NoiseLaw
from meseta.noise.placed import Placed
from meseta.noise.substitution import Substituted


def perturbed(
    law: NoiseLaw, x: Float[Tensor, "m d"], generator: torch.Generator
) -> Float[Tensor, "m d"]:
    """One z(x) for each x; x + xi where xi does not depend on x."""
    if isinstance(law, Substituted):
        return law.sample_at(x, generator)
    if isinstance(law, Joint):
        z = perturbed(law.own, x, generator)
        for dims, part in law.parts:
            columns = list(dims)
            moved = perturbed(part, x[:, columns], generator)
            z[:, columns] += moved - x[:, columns]
        return z
    if law.independent and any(isinstance(marginal, Placed) for marginal in law.marginals):
        each = zip(law.marginals, x.split(1, dim=-1), strict=True)
        return torch.cat([_column(marginal, value, generator) for marginal, value in each], dim=-1)
    return x + law.sample(len(x), generator)


def _column(
    law: NoiseLaw, x: Float[Tensor, "m 1"], generator: torch.Generator
) -> Float[Tensor, "m 1"]:
    if isinstance(law, Placed):
        return law.sample_at(x[:, 0], generator)[:, None]
    return x + law.sample(len(x), generator)
