"""Triangular input noise: a tolerance whose ends are rare."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.boundary import read_number
from meseta.noise.arguments import Number, read_positive
from meseta.noise.law import wave
from meseta.noise.scalar import ScalarLaw


@dataclass(frozen=True, init=False)
class Triangular(ScalarLaw):
    """xi between low and high, most often near mode: its density is a triangle.

    Triangular(half_width) runs from -half_width to half_width, whatever the mode.
    """

    low: float
    high: float
    mode: float

    def __init__(
        self,
        half_width: Number | None = None,
        *,
        low: Number | None = None,
        high: Number | None = None,
        mode: Number = 0.0,
    ) -> None:
        a, b = _read_ends(half_width, low, high)
        c = read_number("Triangular mode", mode)
        if not a <= c <= b:
            raise ValueError(
                f"Triangular mode must lie between low and high, got {mode!r} outside ({a}, {b}); "
                "say mode=... where xi is most likely"
            )
        object.__setattr__(self, "low", a)
        object.__setattr__(self, "high", b)
        object.__setattr__(self, "mode", c)

    def __repr__(self) -> str:
        if self.low == -self.high and not self.mode:
            return f"Triangular({self.high})"
        return f"Triangular(low={self.low}, high={self.high}, mode={self.mode})"

    @property
    def moments(self) -> tuple[float, float]:
        left, right = self.mode - self.low, self.high - self.mode
        return self.mode + (right - left) / 3, (left**2 + right**2 + left * right) / 18

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({self.low, self.mode, self.high}))

    def interval(self, tail: float) -> tuple[float, float]:
        return self.low, self.high

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Triangular":
        factor = float(scale)
        low, high = sorted((factor * self.low, factor * self.high))
        return Triangular(low=low, high=high, mode=factor * self.mode)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        """Draws a side of the mode by its length, and then 1 - sqrt(u) of that side."""
        side, u = torch.rand(2, num, 1, generator=generator, dtype=torch.double)
        left, right = self.mode - self.low, self.high - self.mode
        length = torch.where(side * (left + right) < left, -left, right)
        return self.mode + length * (1 - u.sqrt())

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """The two sides of the mode are ramps; their weights are their lengths."""
        t = omega[:, 0]
        left, right = self.mode - self.low, self.high - self.mode
        sides = left * _ramp(-left * t) + right * _ramp(right * t)
        return wave(self.mode * t) * sides / (left + right)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        below, above = self._height(xi)
        return torch.minimum(below, above).clamp_min(0) * 2 / (self.high - self.low)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        below, above = self._height(xi)
        left, right = self.mode - self.low, self.high - self.mode
        rising = below.clamp(0, 1) ** 2 * left / (left + right)
        falling = 1 - above.clamp(0, 1) ** 2 * right / (left + right)
        return torch.where(xi < self.mode, rising, falling)

    def _height(self, xi: Tensor) -> tuple[Tensor, Tensor]:
        """The sides of the triangle as lines, 1 at the mode; a side without length is a step."""
        left, right = self.mode - self.low, self.high - self.mode
        below = (xi - self.low) / left if left else (xi >= self.low).to(xi.dtype)
        above = (self.high - xi) / right if right else (xi <= self.high).to(xi.dtype)
        return below, above


def _ramp(t: Float[Tensor, " m"]) -> Complex[Tensor, " m"]:
    """E exp(i t V) for V in (0, 1) with density 2 (1 - v): 2 (1 + i t - exp(i t)) / t^2."""
    # 2 (t - sin t) / t^2 cancels for small t: there sum_k (-1)^k 2 t^(2k+1) / (2k+3)!
    series, term = torch.zeros_like(t), t / 3
    for k in range(1, 10):
        series = series + term
        term = -term * t**2 / ((2 * k + 2) * (2 * k + 3))
    safe = torch.where(t.abs() < 1, 1, t)
    imaginary = torch.where(t.abs() < 1, series, 2 * (safe - safe.sin()) / safe**2)
    return torch.complex(torch.sinc(t / (2 * torch.pi)) ** 2, imaginary)


def _read_ends(
    half_width: Number | None, low: Number | None, high: Number | None
) -> tuple[float, float]:
    if (half_width is None) == (low is None and high is None) or (low is None) != (high is None):
        raise ValueError(
            "give Triangular either a half-width or both low=... and high=..., got "
            f"half_width={half_width!r}, low={low!r}, high={high!r}"
        )
    if half_width is not None:
        reach = read_positive("Triangular half_width", half_width)
        return -reach, reach
    a, b = read_number("Triangular low", low), read_number("Triangular high", high)
    if not a < b:
        raise ValueError(
            f"Triangular low must be less than high, got low={low!r}, high={high!r}; "
            + ("write Discrete([value]) for a constant" if a == b else "swap them")
        )
    return a, b
