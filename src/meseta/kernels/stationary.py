"""The kernel of f: a variance times one stationary shape per dimension."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

Shape = Literal["se", "matern12", "matern32", "matern52"]


@dataclass(frozen=True, eq=False)
class StationaryKernel:
    """k_f(x, x') = variance * prod_i shape_i((x_i - x'_i) / lengthscale_i)."""

    variance: Float[Tensor, ""]
    shapes: tuple[Shape, ...]
    lengthscale: Float[Tensor, " d"]


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
