"""Nodes of xi - xi', xi and xi' independent: what k_g averages over."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.noise.cubature import cubature
from meseta.noise.gauss import gauss_rule


def base_nodes(dimension: int, num: int) -> int:
    """Nodes of xi that give num of xi - xi' all their moments, at least the covariance."""
    return max(num, math.comb(dimension + 2, 2))


def differences(
    points: Float[Tensor, "n d"], weights: Float[Tensor, " n"], num: int
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """At most num nodes of xi - xi' from nodes of xi: half of them, and their mirror images.

    In several dimensions at least as many as its covariance needs.
    """
    first, second = torch.triu_indices(len(points), len(points), 1)
    pairs, products = points[first] - points[second], weights[first] * weights[second]
    zero = torch.zeros(1, points.shape[1], dtype=torch.double)
    still = weights.square().sum()[None]  # xi = xi'
    if points.shape[1] == 1:
        values, share = gauss_rule(
            torch.cat([pairs[:, 0], -pairs[:, 0], zero[0]]),
            torch.cat([products, products, still]),
            num,
        )
        return values[:, None], share
    half, share = cubature(
        torch.cat([zero, pairs]),
        torch.cat([still, 2 * products]),
        max(num // 2, 1 + math.comb(points.shape[1] + 1, 2)),
        even=True,
    )
    return torch.cat([half, -half]), torch.cat([share, share]) / 2
