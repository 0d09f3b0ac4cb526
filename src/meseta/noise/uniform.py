"""Uniform input noise: a tolerance of plus or minus a half-width."""

from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.arguments import Flag, WidthOfX, read_flag, read_mean, read_width_of_x
from meseta.noise.law import (
    Width,
    depends_on_x,
    no_atoms,
    read_width,
    single,
    unscented,
    wave,
    widths_in_dimension,
)
from meseta.noise.words import amount, on_average


@dataclass(frozen=True, init=False)
class Uniform:
    """xi_i ~ U(mean_i - half_width_i, mean_i + half_width_i), independent; in the units of x.

    Two kinds of noise depend on x, and the law is then that of zeta:
    `relative`: xi = x zeta, so that Uniform(0.05, relative=True) is a tolerance of 5 %.
    `half_width` a function: xi = width(x) zeta with zeta ~ U(-1, 1), for each parameter by itself.
    """

    half_width: float | tuple[float, ...]
    bias: float | tuple[float, ...]
    relative: bool
    width: WidthOfX | None

    def __init__(
        self, half_width: Width | WidthOfX, mean: Width = 0.0, relative: Flag = False
    ) -> None:
        relative = read_flag("Uniform relative", relative)
        width = read_width_of_x("Uniform", half_width, mean, relative)
        if width is not None:
            self._set(1.0, 0.0, False, width)
        else:
            half = read_width("Uniform half_width", cast(Width, half_width))
            half, bias = read_mean("Uniform", mean, half)
            self._set(half, bias, relative, None)

    def _set(
        self,
        half_width: float | tuple[float, ...],
        bias: float | tuple[float, ...],
        relative: bool,
        width: WidthOfX | None,
    ) -> None:
        object.__setattr__(self, "half_width", half_width)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "relative", relative)
        object.__setattr__(self, "width", width)

    def _with(
        self, half_width: float | tuple[float, ...], bias: float | tuple[float, ...]
    ) -> "Uniform":
        """The same kind of law with other numbers."""
        law = object.__new__(Uniform)
        law._set(half_width, bias, self.relative, self.width)
        return law

    def __repr__(self) -> str:
        if self.width is not None:
            return f"Uniform({self.width!r})"
        bias = f", mean={self.bias}" if bool(self.mean.any()) else ""
        return f"Uniform({self.half_width}{bias}{', relative=True' if self.relative else ''})"

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple["Uniform", ...]:
        columns = zip(self.half_widths.tolist(), self.mean.tolist(), strict=True)
        return tuple(self._with(half_width, bias) for half_width, bias in columns)

    @property
    def half_widths(self) -> Float[Tensor, " d"]:
        return torch.tensor(self.half_width, dtype=torch.double).reshape(-1)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.tensor(self.bias, dtype=torch.double).reshape(-1)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.diag(self.half_widths**2 / 3)

    def in_dimension(self, dimension: int) -> "Uniform":
        return self._with(
            widths_in_dimension("Uniform half_width", self.half_width, dimension),
            widths_in_dimension("Uniform mean", self.bias, dimension),
        )

    def scaled(self, scale: Float[Tensor, " d"]) -> "Uniform":
        """zeta has no unit: noise that depends on x stays as it is."""
        if depends_on_x(self):
            return self
        return Uniform(self.half_widths * scale.abs(), self.mean * scale)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        h = self.half_widths
        uniform = torch.rand(num, len(h), generator=generator, dtype=torch.double)
        return self.mean + h * (2 * uniform - 1)

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """exp(i omega' mean) prod_i sin(omega_i h_i) / (omega_i h_i)."""
        # torch.sinc(t) = sin(pi t) / (pi t)
        value = torch.sinc(omega * self.half_widths / torch.pi).prod(-1)
        return value * wave(omega @ self.mean)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        low, high = self._ends()
        inside = ((low <= xi) & (xi <= high)).to(xi.dtype)
        return inside / (high - low) if low < high else torch.zeros_like(xi)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        low, high = self._ends()
        if not low < high:
            return torch.zeros_like(xi)
        return ((xi - low) / (high - low)).clamp(0, 1)

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        """Noise without width has one atom, at the mean; all other has none."""
        low, high = self._ends()
        return no_atoms() if low < high else (self.mean, torch.ones(1, dtype=torch.double))

    @property
    def breaks(self) -> tuple[float, ...]:
        low, high = self._ends()
        return (low, high) if low < high else ()

    def interval(self, tail: float) -> tuple[float, float]:
        return self._ends()

    def in_words(self, unit: str) -> str:
        if self.width is not None:
            return "uniform, of a width that depends on the value"
        if len(self.mean) > 1:
            return f"uniform, ± {', '.join(f'{half:.3g}' for half in self.half_widths.tolist())}"
        mean, half_width = single(self, self.mean), single(self, self.half_widths)
        return f"uniform, ± {amount(half_width, unit, self.relative)}{on_average(mean)}"

    def _ends(self) -> tuple[float, float]:
        mean, half_width = single(self, self.mean), single(self, self.half_widths)
        return mean - half_width, mean + half_width
