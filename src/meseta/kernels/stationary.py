"""The kernel of f: a variance times one stationary shape per dimension."""

from collections.abc import Callable
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


Factors = tuple[tuple[list[int], Factor], ...]  # each with the dimensions it covers


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
