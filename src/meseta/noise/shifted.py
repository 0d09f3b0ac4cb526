"""A law of one number, moved to another place."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.law import OneDimensional, wave
from meseta.noise.scalar import ScalarLaw


@dataclass(frozen=True)
class Shifted(ScalarLaw):
    """xi = offset + zeta, zeta ~ law."""

    law: OneDimensional
    offset: float

    @property
    def moments(self) -> tuple[float, float]:
        return self.offset + float(self.law.mean), float(self.law.covariance_matrix)

    def scaled(self, scale: Float[Tensor, " d"]) -> "Shifted":
        inner = self.law.scaled(scale)
        assert isinstance(inner, OneDimensional)
        return Shifted(inner, self.offset * float(scale))

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        return self.offset + self.law.sample(num, generator)

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        return self.law.characteristic(omega) * wave(self.offset * omega[:, 0])

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.law.pdf(xi - self.offset)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.law.cdf(xi - self.offset)

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        values, masses = self.law.atoms
        return values + self.offset, masses

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(self.offset + each for each in self.law.breaks)

    def interval(self, tail: float) -> tuple[float, float]:
        low, high = self.law.interval(tail)
        return low + self.offset, high + self.offset
