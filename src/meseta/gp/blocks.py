"""Functions of many points, a block of points at a time, so that memory stays bounded."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

# Differences between the points of a block and the data, in numbers: 32 MB.
LARGEST = 2**22


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
