"""Laplace input noise: mostly small errors, now and then a large one."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.boundary import read_number
from meseta.noise.arguments import Number, read_positive
from meseta.noise.law import wave
from meseta.noise.scalar import ScalarLaw


@dataclass(frozen=True, init=False)
class Laplace(ScalarLaw):
    """xi with density exp(-|xi - mean| / scale) / (2 scale); standard deviation 1.41 scale."""

    scale: float
    bias: float

    def __init__(self, scale: Number, mean: Number = 0.0) -> None:
        object.__setattr__(self, "scale", read_positive("Laplace scale", scale))
        object.__setattr__(self, "bias", read_number("Laplace mean", mean))

    def __repr__(self) -> str:
        return f"Laplace({self.scale}{f', mean={self.bias}' if self.bias else ''})"

    @property
    def moments(self) -> tuple[float, float]:
        return self.bias, 2 * self.scale**2

    @property
    def breaks(self) -> tuple[float, ...]:
        return (self.bias,)

    def interval(self, tail: float) -> tuple[float, float]:
        reach = -self.scale * math.log(tail)
        return self.bias - reach, self.bias + reach

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Laplace":
        return Laplace(self.scale * abs(float(scale)), self.bias * float(scale))

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        """The difference of two exponential numbers."""
        uniform = torch.rand(2, num, 1, generator=generator, dtype=torch.double)
        first, second = -(-uniform).log1p()
        return self.bias + self.scale * (first - second)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """exp(i omega mean) / (1 + (omega scale)^2)."""
        t = omega[:, 0]
        return wave(t * self.bias) / (1 + (t * self.scale) ** 2)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return (-(xi - self.bias).abs() / self.scale).exp() / (2 * self.scale)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        t = (xi - self.bias) / self.scale
        half = (-t.abs()).exp() / 2
        return torch.where(t < 0, half, 1 - half)
