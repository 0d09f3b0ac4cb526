"""Smooth functions of one number, by their Chebyshev coefficients."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.polynomial.legendre import leggauss, legvander
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.noise.places import HALF_WAVES

# Coefficients below this share of the largest, times their number, are rounding.
ROUNDING = 1e-15
FIRST_LOOK = 24  # values of a smooth function that may be enough to interpolate it
MOST = 1024  # values of a function, at most
SETTLED = 1e-7  # what is left of a function that is smooth but for its rounding
LEGENDRE = 24  # Legendre polynomials that stand for HALF_WAVES half-waves of a polynomial to 1e-14
FEW = 48  # polynomials that are averaged one by one

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Table:
    """Functions of x as polynomials, by their Chebyshev coefficients over `span`."""

    span: Interval
    coefficients: Float[Tensor, "*batch s r"]

    def __call__(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m r"]:
        if self.coefficients.shape[-2] == 1:  # the same everywhere
            return self.coefficients + 0.0 * x
        unit = to_unit(x[..., 0], self.span).clamp(-1, 1)
        return chebyshev(unit, self.coefficients.shape[-2]) @ self.coefficients

    def times(self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING) -> "Table":
        """The functions times M, as polynomials of lower degree where that is enough."""
        return Table(self.span, trimmed(self.coefficients @ M, accuracy))


def interpolated(
    h: Callable[[Tensor], Tensor],
    span: Interval,
    first: int = FIRST_LOOK,
    most: int = MOST,
    accuracy: float = ROUNDING,
) -> tuple[Table, float]:
    """h, a smooth function of a column of x, and the last coefficients over the largest.

    The number of values is doubled until the last quarter of the coefficients is rounding, or does
    not get smaller any more: then it is the rounding of h.
    """
    num, before = min(first, most), math.inf
    while True:
        coefficients = transform(num) @ h(from_unit(points(num), span)[:, None])
        height = coefficients.detach().abs().amax(-1)
        top = height.max().clamp_min(1e-300)
        rest = float(height[-max(1, num // 4) :].max() / top)
        settled = rest > before / 3 and rest < SETTLED
        if num == most or rest <= accuracy * num or settled:
            return Table(span, trimmed(coefficients, max(accuracy, rest / num))), rest
        num, before = min(2 * num, most), rest


def trimmed(
    coefficients: Float[Tensor, "*batch s r"], accuracy: float = ROUNDING
) -> Float[Tensor, "*batch t r"]:
    """The coefficients without the last rows that are only rounding."""
    if not coefficients.numel():
        return coefficients
    height = coefficients.detach().abs().amax(-1).reshape(-1, coefficients.shape[-2]).amax(0)
    last = (height > accuracy * len(height) * height.max()).nonzero()
    return coefficients[..., : int(last.max()) + 1 if len(last) else 1, :]


def points(num: int) -> Float[Tensor, " num"]:
    """Zeros of the Chebyshev polynomial of that degree."""
    return (math.pi * (torch.arange(num, dtype=torch.double) + 0.5) / num).cos()


@lru_cache(maxsize=64)
def transform(num: int) -> Float[Tensor, "num num"]:
    """From values at the points to coefficients; T(z) times it are the cardinal polynomials."""
    k, theta = torch.arange(num, dtype=torch.double), points(num).acos()
    matrix = 2 / num * (k[:, None] * theta).cos()
    matrix[0] /= 2
    return matrix


class _Chebyshev(torch.autograd.Function):
    """T_k(x) = cos(k arccos x), k < size, and T_k' = k sin(k theta) / sin(theta)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int) -> Tensor:
        k = torch.arange(size, dtype=x.dtype)
        theta = x.acos()
        ctx.save_for_backward(theta)
        ctx.size = size
        return (theta[..., None] * k).cos()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        (theta,) = ctx.saved_tensors
        # at the very ends k sin(k theta) / sin(theta) = +-k^2; a tiny angle gives the same
        theta = theta.clamp(1e-7, math.pi - 1e-7)
        k = torch.arange(ctx.size, dtype=theta.dtype)
        slope = k * (theta[..., None] * k).sin() / theta.sin()[..., None]
        return (upstream[0] * slope).sum(-1), None


chebyshev: Callable[[Tensor, int], Tensor] = _Chebyshev.apply


def to_unit(x: Tensor, interval: Interval) -> Tensor:
    low, high = interval
    return (2 * x - (low + high)) / (high - low)


def from_unit(x: Tensor, interval: Interval) -> Tensor:
    low, high = interval
    return (low + high) / 2 + (high - low) / 2 * x


def averages(z: Tensor, weights: Tensor, zone: Interval, size: int) -> Float[Tensor, "m r"]:
    """E T_k(z) for k < size; places outside the zone do not count.

    With more than FEW polynomials, T_k is a sum of Legendre polynomials on each of a few panels,
    and those are averaged: the cost does not grow with size times the number of places.
    """
    unit = to_unit(z, zone)
    weights = torch.where(unit.abs() <= 1 + 1e-9, weights, 0.0)
    unit = unit.clamp(-1, 1)
    if z.requires_grad:
        return (weights[:, None, :] @ chebyshev(unit, size)).squeeze(-2)
    if size <= FEW:
        before, now = torch.ones_like(unit), unit  # T_0, T_1
        averages = [weights.sum(-1), (weights * now).sum(-1)]
        for _ in range(size - 2):
            before, now = now, 2 * unit * now - before
            averages.append((weights * now).sum(-1))
        return torch.stack(averages, dim=-1)
    series = _legendre_series(size)
    panels = len(series) // LEGENDRE
    ends = _turns(panels)
    index = torch.bucketize(unit, ends[1:-1])
    t = (2 * unit - ends[index] - ends[index + 1]) / (ends[index + 1] - ends[index])
    before, now = torch.ones_like(t), t  # P_0, P_1
    moments = [_in_panels(weights, index, panels), _in_panels(weights * t, index, panels)]
    for l in range(1, LEGENDRE - 1):
        before, now = now, ((2 * l + 1) * t * now - l * before) / (l + 1)
        moments.append(_in_panels(weights * now, index, panels))
    return torch.stack(moments, dim=-1).flatten(1) @ series


def _turns(panels: int) -> Float[Tensor, " ends"]:
    """Ends of panels of [-1, 1] that all have the same number of zeros of T_k."""
    return -(math.pi * torch.linspace(0, 1, panels + 1, dtype=torch.double)).cos()


def _in_panels(values: Tensor, index: Tensor, panels: int) -> Float[Tensor, "m panels"]:
    return values.new_zeros(len(values), panels).scatter_add_(1, index, values)


@lru_cache(maxsize=32)
def _legendre_series(size: int) -> Float[Tensor, "coefficients r"]:
    """T_k on each panel of [-1, 1] as Legendre polynomials, of which six half-waves need few."""
    panels = math.ceil(size / HALF_WAVES)
    t, w = leggauss(LEGENDRE)
    degrees = np.arange(LEGENDRE)
    to_series = torch.tensor(legvander(t, LEGENDRE - 1).T * w * (degrees[:, None] + 0.5))
    low, high = _turns(panels)[:-1, None], _turns(panels)[1:, None]
    unit = (low + high) / 2 + (high - low) / 2 * torch.tensor(t)
    return (to_series @ chebyshev(unit.clamp(-1, 1), size)).flatten(0, 1)
