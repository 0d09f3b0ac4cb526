"""Uniform input noise: a tolerance of plus or minus a half-width."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from meseta.noise.law import Width, read_width, unscented, widths_in_dimension


@dataclass(frozen=True, init=False)
class Uniform:
    """xi_i ~ U(-half_width_i, half_width_i), independent; in the units of x."""

    half_width: float | tuple[float, ...]

    def __init__(self, half_width: Width) -> None:
        object.__setattr__(self, "half_width", read_width("Uniform half_width", half_width))

    def __repr__(self) -> str:
        return f"Uniform({self.half_width})"

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple["Uniform", ...]:
        return tuple(Uniform(half_width) for half_width in self.half_widths.tolist())

    @property
    def half_widths(self) -> Float[Tensor, " d"]:
        widths = (self.half_width,) if isinstance(self.half_width, float) else self.half_width
        return torch.tensor(widths, dtype=torch.double)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.zeros_like(self.half_widths)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.diag(self.half_widths**2 / 3)

    def in_dimension(self, dimension: int) -> "Uniform":
        return Uniform(widths_in_dimension("Uniform half_width", self.half_width, dimension))

    def scaled(self, scale: Float[Tensor, " d"]) -> "Uniform":
        return Uniform(self.half_widths * scale.abs())

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        h = self.half_widths
        return h * (2 * torch.rand(num, len(h), generator=generator, dtype=torch.double) - 1)

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """prod_i sin(omega_i h_i) / (omega_i h_i)."""
        # torch.sinc(t) = sin(pi t) / (pi t)
        value = torch.sinc(omega * self.half_widths / torch.pi).prod(-1)
        return torch.complex(value, torch.zeros_like(value))

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)

    def nodes(self, num: int) -> tuple[Float[Tensor, "num d"], Float[Tensor, " num"]]:
        """Gauss-Legendre."""
        points, weights = (torch.from_numpy(a) for a in leggauss(num))
        return points[:, None] * self.half_widths, weights / 2
