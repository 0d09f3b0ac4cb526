"""Thinning: a part of many data points that stands for all of them."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def thinned(X: Float[Tensor, "n d"], num: int) -> Int[Tensor, " num"]:
    """The rows of `num` points out of more, in their order; X as shares of the box.

    Half of them are spread: each lies furthest from those before it, which shows how f changes
    over the box. The other half are neighbours of the spread ones: close pairs tell noise from
    short lengthscales. The values of f have no say, so that the choice does not bias a fit.

    Distances are the largest difference in a column, and the first of equals is taken: no sum,
    so that the choice is the same on every processor.
    """
    if len(X) <= num:
        return torch.arange(len(X))
    free = torch.ones(len(X), dtype=torch.bool)
    spread: list[int] = []
    nearest = torch.full((len(X),), torch.inf, dtype=X.dtype)
    for _ in range((num + 1) // 2):
        row = _first_highest(nearest.masked_fill(~free, -torch.inf))
        spread.append(row)
        free[row] = False
        nearest = torch.minimum(nearest, _distance(X, row))
    for row in spread[: num // 2]:
        free[_first_highest((-_distance(X, row)).masked_fill(~free, -torch.inf))] = False
    return (~free).nonzero().flatten()


def _distance(X: Tensor, row: int) -> Float[Tensor, " n"]:
    return (X - X[row]).abs().amax(-1)


def _first_highest(values: Tensor) -> int:
    return int((values == values.max()).nonzero()[0])
