"""Spherical Bessel functions of many orders at once; scipy's take one order at a time."""

import torch
from jaxtyping import Float
from torch import Tensor


def spherical_bessel(kappa: Float[Tensor, "m p"], degree: int) -> Float[Tensor, "k m p"]:
    """j_0(kappa), ..., j_degree(kappa) for kappa of either sign, to rounding.

    Up to order |kappa| by j_{k+1} = (2k + 1) / kappa j_k - j_{k-1}, which is stable there; beyond
    by the ratios r_k = j_k / j_{k-1} = kappa / (2k + 1 - kappa r_{k+1}), which have no pole there.
    """
    size = kappa.abs()
    small = size.clamp_max(degree)
    ratio = small / (2 * degree + 81)
    ratios = {}
    for k in range(degree + 39, 0, -1):
        ratio = small / (2 * k + 1 - small * ratio)
        if k <= degree:
            ratios[k] = ratio
    orders = [(size / torch.pi).sinc()]
    safe = size.clamp_min(1)
    before = size.cos() / safe  # j_-1
    for k in range(1, degree + 1):
        upward = (2 * k - 1) / safe * orders[-1] - before
        before = orders[-1]
        orders.append(torch.where(k <= size, upward, orders[-1] * ratios[k]))
    signs = torch.where(kappa < 0, -1.0, 1.0)
    return torch.stack([order * signs if k % 2 else order for k, order in enumerate(orders)])
