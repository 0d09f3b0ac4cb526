"""Products over dimensions of functions of |delta|, with their gradients."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

Columns = Float[Tensor, "d m"]  # one row per dimension
Sloped = tuple[Columns, Columns | None]  # values of a function in each dimension, and its slopes


class _Product(torch.autograd.Function):
    """prod_i h_i(|delta_i| / unit_i), where h gives values and, if asked, slopes.

    Dimensions come first here: an operation with one number per dimension in the last place, of
    which there are a few, takes several times as long.
    """

    @staticmethod
    def forward(
        ctx: Any, delta: Tensor, unit: Tensor, h: Callable[[Columns, bool], Sloped]
    ) -> Tensor:
        sloped = ctx.needs_input_grad[0]
        ratio = delta.reshape(-1, delta.shape[-1]).T.contiguous().div_(unit[:, None])
        value, slope = h(ratio.abs(), sloped)
        if slope is not None:
            # at 0 the sign is 0, and so is the slope of every smoothing
            slope.mul_(ratio.sign_()).div_(unit[:, None])
            ctx.save_for_backward(slope.mul_(_others(value)).T.reshape(delta.shape))
        return value.prod(0).reshape(delta.shape[:-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return upstream[0][..., None] * gradient, None, None


product: Callable[[Tensor, Tensor, Callable[[Columns, bool], Sloped]], Tensor] = _Product.apply


def _others(value: Columns) -> Columns:
    """The product of all other dimensions, for each."""
    products = torch.ones_like(value)
    for i in range(1, len(value)):  # those before it, and then those after it
        torch.mul(products[i - 1], value[i - 1], out=products[i])
    after = torch.ones_like(value[0])
    for i in range(len(value) - 2, -1, -1):
        after = after * value[i + 1]
        products[i].mul_(after)
    return products
