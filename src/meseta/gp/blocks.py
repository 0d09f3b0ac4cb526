"""Functions of many points, a block of points at a time, so that memory stays bounded."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

# Differences between the points of a block and the data, in numbers: 2 MB, which stay close to the
# processor. Blocks of 32 MB take several times as long.
LARGEST = 2**18


def in_blocks(
    function: Callable[[Tensor], Tensor],
    x: Float[Tensor, "m d"],
    n: int,
    dim: int = 0,
) -> Tensor:
    """function(x), computed for as many rows of x at a time as n data points leave room for.

    A covariance between m and n points holds all their m n d differences for a moment. `dim` is
    the dimension of the result along which the rows of x lie. No gradients.
    """
    rows = max(1, LARGEST // max(1, n * x.shape[-1]))
    with torch.no_grad():
        if len(x) <= rows:
            return function(x)
        return torch.cat([function(block) for block in x.split(rows)], dim)


def at_places(
    function: Callable[[Tensor], Tensor], z: Float[Tensor, "b m d"], n: int
) -> Float[Tensor, "b m"]:
    """The same at the places of each of b designs; all at once where a gradient goes through it."""
    x = z.flatten(0, 1)
    sloped = torch.is_grad_enabled() and x.requires_grad
    return (function(x) if sloped else in_blocks(function, x, n)).view(z.shape[:2])
