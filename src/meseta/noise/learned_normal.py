"""Normal noise whose width is known only roughly: measured deviations make it known better."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Complex, Float
from scipy.special import chdtri, digamma, polygamma
from torch import Tensor

from meseta.boundary import read_number
from meseta.noise.arguments import Number, read_positive
from meseta.noise.normal import Normal
from meseta.noise.scalar import ScalarLaw
from meseta.noise.student import StudentT
from meseta.noise.words import amount, on_average

NODES = 5  # widths that stand for all


@dataclass(frozen=True, init=False)
class LearnedNormal(ScalarLaw):
    """xi ~ N(mean, width^2), the width about `std`: as well known as by `worth` measured pairs.

    An optimizer learns the width from the deviations that were measured, where this is the noise of
    one parameter: 10 pairs count as much as worth=10. Until the width is known, xi has the law of
    Student's t with `worth` degrees of freedom, which is what all widths together give; worth > 2.
    """

    std: float
    worth: float
    bias: float

    def __init__(self, std: Number, worth: Number, mean: Number = 0.0) -> None:
        pairs = read_number("LearnedNormal worth", worth)
        if not pairs > 2:
            raise ValueError(
                f"LearnedNormal worth must be greater than 2, got {worth!r}: with less the width "
                "has no end; say how many measured pairs your knowledge of it is worth, such as 3 "
                "for a guess"
            )
        object.__setattr__(self, "std", read_positive("LearnedNormal std", std))
        object.__setattr__(self, "worth", pairs)
        object.__setattr__(self, "bias", read_number("LearnedNormal mean", mean))

    def __repr__(self) -> str:
        mean = f", mean={self.bias}" if self.bias else ""
        return f"LearnedNormal({self.std}, worth={self.worth}{mean})"

    def in_words(self, unit: str) -> str:
        low, high = self.width_interval
        return (
            f"normal, standard deviation about {amount(self.std, unit)} ({low:.3g} to {high:.3g}), "
            f"as by {self.worth:g} measured pairs{on_average(self.bias)}"
        )

    @cached_property
    def predictive(self) -> StudentT:
        """The law of xi, over all widths."""
        return StudentT(self.worth, self.std, self.bias)

    def given(self, deviations: Sequence[float]) -> "LearnedNormal":
        """The law once these deviations were measured.

        width^2 has a scaled inverse chi-square law, whose numbers become worth + n and
        (worth std^2 + sum_i (d_i - mean)^2) / (worth + n) [Gelman et al. 2013, Sec. 2.6].
        """
        if not len(deviations):
            return self
        worth = self.worth + len(deviations)
        # by the largest one, so that squares stay numbers
        size = max(self.std, *(abs(each - self.bias) for each in deviations))
        squares = sum(((each - self.bias) / size) ** 2 for each in deviations)
        std = size * math.sqrt((self.worth * (self.std / size) ** 2 + squares) / worth)
        return LearnedNormal(std, worth, self.bias)

    @property
    def width_interval(self) -> tuple[float, float]:
        """The 95 % interval of the width."""
        # chdtri is the inverse of the upper tail
        low, high = (
            self.std * math.sqrt(self.worth / float(chdtri(self.worth, tail)))
            for tail in (0.025, 0.975)
        )
        return low, high

    def by_width(self) -> tuple[list[Normal], list[float]]:
        """Normal laws of some widths, and weights that make averages over all widths of them.

        log width^2 = log(worth std^2) - log chi^2 is nearly normal: Gauss-Hermite, with its mean
        and variance.
        """
        t, weights = np.polynomial.hermite_e.hermegauss(NODES)
        half = self.worth / 2
        middle = math.log(self.worth) - float(digamma(half)) - math.log(2)
        spread = math.sqrt(float(polygamma(1, half)))
        widths = self.std * np.exp((middle + spread * t) / 2)
        laws = [Normal(width, self.bias) for width in widths.tolist()]
        return laws, (weights / weights.sum()).tolist()

    @property
    def moments(self) -> tuple[float, float]:
        return self.predictive.moments

    @property
    def breaks(self) -> tuple[float, ...]:
        return ()

    def interval(self, tail: float) -> tuple[float, float]:
        return self.predictive.interval(tail)

    def scaled(self, scale: Float[Tensor, " 1"]) -> "LearnedNormal":
        factor = float(scale)
        return LearnedNormal(self.std * abs(factor), self.worth, self.bias * factor)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        return self.predictive.sample(num, generator)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        return self.predictive.characteristic(omega)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.predictive.pdf(xi)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.predictive.cdf(xi)
