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


def unit_sobol_sequence(dimension: int, start: int, num: int, seed: int) -> Float[Tensor, "num d"]:
    """Points number start, ..., start + num - 1 of the scrambled sequence of `seed`."""
    engine = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
    if start:  # the engine cannot go forward by nothing
        engine.fast_forward(start)
    return engine.draw(num, dtype=torch.double)


def sobol_sequence(
    bounds: Float[Tensor, "2 d"], start: int, num: int, seed: int
) -> Float[Tensor, "num d"]:
    """The same in a box."""
    unit = unit_sobol_sequence(bounds.shape[1], start, num, seed)
    # low + width u may round to the next number above the upper end
    return (bounds[0] + (bounds[1] - bounds[0]) * unit).clamp(bounds[0], bounds[1])
