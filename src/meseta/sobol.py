"""Quasi-random points."""

import torch
from jaxtyping import Float
from torch import Tensor


def unit_sobol(dimension: int, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
    """Scrambled Sobol points in the unit cube."""
    seed = int(torch.randint(2**31, (), generator=generator))
    engine = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
    return engine.draw(num, dtype=torch.double)


def sobol(
    bounds: Float[Tensor, "2 d"], num: int, generator: torch.Generator
) -> Float[Tensor, "num d"]:
    """Scrambled Sobol points in a box."""
    return bounds[0] + (bounds[1] - bounds[0]) * unit_sobol(bounds.shape[1], num, generator)
