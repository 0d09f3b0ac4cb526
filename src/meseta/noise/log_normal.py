"""Log-normal noise: the parameter times a factor, up as often as down."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.arguments import Number, read_positive
from meseta.noise.normal import Normal
from meseta.noise.scalar import ScalarLaw


@dataclass(frozen=True, init=False)
class LogNormal(ScalarLaw):
    """The parameter is multiplied by exp(zeta), zeta ~ N(0, sigma^2).

    LogNormal(0.1) is an error of about 10 % for parameters on a logarithmic scale. The law is
    that of zeta, which has no unit: everything it answers is in the logarithm of the parameter.
    """

    sigma: float
    multiplicative: bool = field(default=True, init=False)

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", read_positive("LogNormal sigma", sigma))
        object.__setattr__(self, "multiplicative", True)

    def __repr__(self) -> str:
        return f"LogNormal({self.sigma})"

    def in_words(self, unit: str) -> str:
        return f"log-normal, about {100 * self.sigma:.3g} % up or down"

    @property
    def logarithm(self) -> Normal:
        """The law of zeta."""
        return Normal(self.sigma)

    @property
    def moments(self) -> tuple[float, float]:
        return 0.0, self.sigma**2

    @property
    def breaks(self) -> tuple[float, ...]:
        return ()

    def interval(self, tail: float) -> tuple[float, float]:
        return self.logarithm.interval(tail)

    def scaled(self, scale: Float[Tensor, " 1"]) -> "LogNormal":
        return self

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        return self.logarithm.sample(num, generator)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        return self.logarithm.characteristic(omega)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.logarithm.pdf(xi)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.logarithm.cdf(xi)
