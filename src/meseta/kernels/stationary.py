"""The kernel of f: a variance times one stationary shape per dimension."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float64
from torch import Tensor

from meseta.noise import NoiseLaw

GAUSSIAN = "se"  # the name of the squared exponential


@dataclass(frozen=True, eq=False)
class StationaryKernel:
    """k_f(x, x') = variance * prod_i shape_i((x_i - x'_i) / lengthscale_i), shapes by name."""

    variance: Float[Tensor, ""]
    shapes: tuple[str, ...]
    lengthscale: Float[Tensor, " d"]

    @property
    def gaussian(self) -> bool:
        """Whether it is exp(-|z|^2 / 2), which looks the same from every direction."""
        return set(self.shapes) == {GAUSSIAN}


@runtime_checkable
class Factor(Protocol):
    """Some dimensions of the kernel together with the law of their noise.

    Each method maps delta = x - x' in these dimensions to the factor of the covariance,
    1 at delta = 0 for `f`.
    """

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        """kappa(delta)."""
        ...

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        """E kappa(delta + xi)."""
        ...

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        """E kappa(delta + xi - xi'), xi and xi' independent."""
        ...


Factors = tuple[tuple[list[int], Factor], ...]  # each with the dimensions it covers
Form = Callable[[Tensor, Tensor], Factor]  # from lengthscales and widths of the noise


# The correlation of pairs of points, and what a weighted sum of it gains with the log of each
# lengthscale: w -> sum_p w_p d log kappa_p / d log l_i.
Correlation = tuple[
    Float64[np.ndarray, " p"],
    Callable[[Float64[np.ndarray, " p"]], Float64[np.ndarray, " d"]],
]


@dataclass(frozen=True)
class Shape(ABC):
    """A kernel of one dimension, kappa(delta): all that smoothings and surrogates ask of it.

    S is its spectral density: kappa(delta) = int S(omega) cos(omega delta) d omega over omega > 0
    [Bochner's theorem]. Frequencies are in 1 / lengthscale.
    """

    name: str
    gpytorch: str  # its class in gpytorch.kernels
    nu: float | None  # the smoothness of a Matern kernel; None: infinitely smooth
    reach: float  # lengthscales beyond which kappa is below 1e-17
    highest: float  # frequency of a sum over frequencies
    halvings: int  # of panels of frequencies towards 0, from the start
    on_grid: float  # highest frequency that a grid has to follow

    @abstractmethod
    def unperturbed(self, lengthscale: Float[Tensor, " d"]) -> Factor:
        """Dimensions without noise."""

    @abstractmethod
    def form(self, law: NoiseLaw, ratio: float) -> Form | None:
        """The closed form for a noise law whose width is `ratio` lengthscales; None: there is none.

        A form is the same value for all dimensions that can share a factor.
        """

    @abstractmethod
    def spectral_density(self, omega: Float[Tensor, "*m"]) -> Float[Tensor, "*m"]:
        """S(omega)."""

    @abstractmethod
    def beyond(self, omega: float) -> float:
        """The mass of S above omega."""

    @abstractmethod
    def quantile(self, u: Float[Tensor, " num"]) -> Float[Tensor, " num"]:
        """Frequencies of either sign with S as their density, from numbers between 0 and 1."""

    @abstractmethod
    def correlation(
        self, distance: Float64[np.ndarray, "d p"]
    ) -> Callable[[Float64[np.ndarray, " d"]], Correlation]:
        """The product over dimensions for pairs of points, as a function of the lengthscales.

        A fit evaluates it a hundred times for the same pairs, so it is in NumPy, which costs a
        third of torch there.
        """

    def still(self, lengthscale: Tensor, width: Tensor) -> Factor:
        """The closed form for noise without width."""
        return self.unperturbed(lengthscale)


def product(
    factors: Factors, delta: Float[Tensor, "*batch d"], part: Callable[[Factor, Tensor], Tensor]
) -> Float[Tensor, "*batch"]:
    """The product of one part (f, gf or g) of every factor, each at its own dimensions."""
    (dims, factor), *others = factors
    whole = dims == list(range(delta.shape[-1]))
    value = part(factor, delta if whole else delta[..., dims])
    for dims, factor in others:
        value = value * part(factor, delta[..., dims])
    return value
