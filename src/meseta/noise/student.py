"""Student's t as input noise: outliers that a Normal law rules out."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from scipy.special import stdtr, stdtrit
from torch import Tensor

from meseta.boundary import read_number
from meseta.noise.arguments import Number, read_positive
from meseta.noise.law import numpy_generator, wave
from meseta.noise.scalar import ScalarLaw

DEEPEST = 1e-100  # the least tail scipy's quantiles are sound for


@dataclass(frozen=True, init=False)
class StudentT(ScalarLaw):
    """xi = mean + scale T, T with df > 2 degrees of freedom; its variance is scale^2 df / (df - 2).

    df = 3 to 5 makes outliers common, df = 30 is nearly Normal(scale).
    """

    df: float
    scale: float
    bias: float

    def __init__(self, df: Number, scale: Number, mean: Number = 0.0) -> None:
        freedom = read_number("StudentT df", df)
        if not freedom > 2:
            raise ValueError(
                f"StudentT df must be greater than 2, got {df!r}: with less the law has no "
                "variance, and the width of the noise must be finite; "
                "write TruncatedNormal or Empirical for noise with limits"
            )
        object.__setattr__(self, "df", freedom)
        object.__setattr__(self, "scale", read_positive("StudentT scale", scale))
        object.__setattr__(self, "bias", read_number("StudentT mean", mean))

    def __repr__(self) -> str:
        return f"StudentT({self.df}, {self.scale}{f', mean={self.bias}' if self.bias else ''})"

    @property
    def moments(self) -> tuple[float, float]:
        return self.bias, self.scale**2 * self.df / (self.df - 2)

    @property
    def breaks(self) -> tuple[float, ...]:
        return ()

    def interval(self, tail: float) -> tuple[float, float]:
        reach = -self.scale * float(stdtrit(self.df, max(tail, DEEPEST) / 2))
        return self.bias - reach, self.bias + reach

    def scaled(self, scale: Float[Tensor, " 1"]) -> "StudentT":
        return StudentT(self.df, self.scale * abs(float(scale)), self.bias * float(scale))

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        draws = numpy_generator(generator).standard_t(self.df, size=(num, 1))
        return self.bias + self.scale * torch.tensor(draws)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """exp(i omega mean) 2 (z/2)^a K_a(z) / Gamma(a), a = df / 2, z = sqrt(df) scale |omega|."""
        t = omega[:, 0]
        z = math.sqrt(self.df) * self.scale * t.abs()
        return wave(t * self.bias) * _bessel(self.df / 2, z)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        t = (xi - self.bias) / self.scale
        log_height = math.lgamma((self.df + 1) / 2) - math.lgamma(self.df / 2)
        height = math.exp(log_height) / (math.sqrt(self.df * math.pi) * self.scale)
        return height * (-(self.df + 1) / 2 * (t**2 / self.df).log1p()).exp()

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        t = ((xi - self.bias) / self.scale).numpy()
        return torch.as_tensor(stdtr(self.df, t), dtype=torch.double)


def _bessel(a: float, z: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
    """2 (z/2)^a K_a(z) / Gamma(a), also where K_a(z) is beyond floating point.

    With u = a exp(s) it is the ratio of int exp(psi_z(s)) ds and int exp(psi_0(s)) ds,
    psi_z(s) = a (s - exp(s) + 1) - z^2 / (4 a exp(s))  [DLMF 10.32.10].
    The trapezoidal rule converges like exp(-pi^2 / step): entire functions that decay doubly
    exponentially, here or, for z = 0, at least like exp(a s), a > 1.
    """
    q = torch.cat([torch.zeros(1, dtype=torch.double), z / a])
    # psi has its maximum where exp(s) = (1 + sqrt(1 + q^2)) / 2, and there the curvature a sqrt(..)
    stretch = (1 + q**2).sqrt()
    top = ((1 + stretch) / 2).log()
    step = 0.25 / (a * stretch).sqrt()
    s = top[:, None] + step[:, None] * torch.arange(-168, 41, dtype=torch.double)
    psi = a * (s - torch.expm1(s) - (q[:, None] / 2) ** 2 * (-s).exp())
    integral = step * psi.exp().sum(-1)
    return (integral / integral[0])[1:]
