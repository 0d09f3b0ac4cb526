"""Noise that takes one of a few values: a wrong setting, a rounded dial, a missing part."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.arguments import Numbers, read_numbers, read_weights
from meseta.noise.law import wave
from meseta.noise.scalar import ScalarLaw

# Numbers held at once while a wave is averaged over atoms: 32 MiB.
CHUNK = 2**22


@dataclass(frozen=True, init=False)
class Discrete(ScalarLaw):
    """xi = values[i] with probability weights[i]; all the same without weights.

    Weights are relative: Discrete([0, 0.5], weights=[9, 1]) errs once in ten times.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def __init__(self, values: Numbers, weights: Numbers | None = None) -> None:
        numbers = read_numbers("the values of Discrete", values)
        object.__setattr__(self, "values", numbers)
        shares = read_weights("the weights of Discrete", weights, len(numbers))
        object.__setattr__(self, "weights", shares)

    def __repr__(self) -> str:
        return f"Discrete({self.values}, weights={self.weights})"

    @property
    def moments(self) -> tuple[float, float]:
        values, weights = self.atoms
        mean = weights @ values
        return float(mean), float(weights @ (values - mean) ** 2)

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        values = torch.tensor(self.values, dtype=torch.double)
        return merged(values, torch.tensor(self.weights, dtype=torch.double))

    @property
    def breaks(self) -> tuple[float, ...]:
        return ()

    def interval(self, tail: float) -> tuple[float, float]:
        values, _ = self.atoms
        return float(values[0]), float(values[-1])

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Discrete":
        return Discrete([float(scale) * value for value in self.values], self.weights)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        values, weights = self.atoms
        # multinomial takes at most 2^24 weights; the inverse of the distribution function any
        uniform = torch.rand(num, 1, generator=generator, dtype=torch.double)
        index = torch.searchsorted(weights.cumsum(0), uniform, right=True)
        return values[index.clamp_max(len(values) - 1)]

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        values, weights = self.atoms
        return average_wave(omega, values[:, None], weights)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return torch.zeros_like(xi)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return torch.zeros_like(xi)


def merged(
    values: Float[Tensor, " n"], weights: Float[Tensor, " n"]
) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Distinct values in ascending order, with the weights of equal ones taken together."""
    distinct, index = values.unique(sorted=True, return_inverse=True)
    total = torch.zeros_like(distinct).index_add_(0, index, weights)
    return distinct[total > 0], total[total > 0]


def average_wave(
    omega: Float[Tensor, "m d"], values: Float[Tensor, "n d"], weights: Float[Tensor, " n"]
) -> Complex[Tensor, " m"]:
    """sum_i w_i exp(i omega' v_i), some values at a time so that memory stays bounded."""
    total = torch.zeros(len(omega), dtype=torch.cdouble)
    at_once = max(1, CHUNK // max(1, len(omega)))
    for value, weight in zip(values.split(at_once), weights.split(at_once), strict=True):
        total += wave(omega @ value.T) @ weight.to(torch.cdouble)
    return total
