"""Normal input noise with limits: a stop, a screened part, a tolerance that is checked."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Complex, Complex128, Float, Float64
from numpy.polynomial.legendre import leggauss
from scipy.special import erf, erfcx, log_ndtr, ndtri_exp, wofz
from torch import Tensor

from meseta.boundary import read_number
from meseta.noise.arguments import Number, read_positive
from meseta.noise.law import wave
from meseta.noise.panels import Panels, composite, panels, wave_over_panels
from meseta.noise.scalar import ScalarLaw
from meseta.noise.words import amount

ROOT = math.sqrt(math.pi / 2)
LOG_ROOT = math.log(2 * math.pi) / 2
# standard deviations beyond which a window has too few digits left for its own width
FARTHEST = 1e4
Array = Float64[np.ndarray, " n"]


@dataclass(frozen=True, init=False)
class TruncatedNormal(ScalarLaw):
    """N(mean, std^2) given that it lies between low and high; either may be infinite.

    `mean` and `std` are those before the cut.
    """

    std: float
    low: float
    high: float
    bias: float

    def __init__(self, std: Number, low: Number, high: Number, mean: Number = 0.0) -> None:
        object.__setattr__(self, "std", read_positive("TruncatedNormal std", std))
        object.__setattr__(self, "low", _read_end("low", low))
        object.__setattr__(self, "high", _read_end("high", high))
        object.__setattr__(self, "bias", read_number("TruncatedNormal mean", mean))
        if not self.low < self.high:
            raise ValueError(
                f"TruncatedNormal low must be less than high, got low={low!r}, high={high!r}; "
                + ("write Discrete([value]) for a constant" if low == high else "swap them")
            )
        if not abs(self._window[2]) <= FARTHEST:
            raise ValueError(
                f"TruncatedNormal between low={low!r} and high={high!r} lies more than "
                f"{FARTHEST:g} standard deviations from its mean {mean!r}; "
                "move the mean towards them"
            )

    def __repr__(self) -> str:
        low, high = (x if math.isfinite(x) else f"float('{x}')" for x in (self.low, self.high))
        mean = f", mean={self.bias}" if self.bias else ""
        return f"TruncatedNormal({self.std}, {low}, {high}{mean})"

    def in_words(self, unit: str) -> str:
        limits = f"{self.low:.4g} and {amount(self.high, unit)}"
        return f"normal, standard deviation {amount(self.std, unit)}, cut off at {limits}"

    @cached_property
    def _window(self) -> tuple[float, float, float]:
        """Both ends in standard deviations, and the point between them that is nearest to 0."""
        alpha, beta = (self.low - self.bias) / self.std, (self.high - self.bias) / self.std
        # far ends are as good as none, and their squares may overflow
        alpha = alpha if alpha > -1e9 else -math.inf
        beta = beta if beta < 1e9 else math.inf
        return alpha, beta, min(max(alpha, 0.0), beta)

    @cached_property
    def _mass(self) -> float:
        alpha, beta, r = self._window
        return float(_integral(np.array([alpha]), np.array([beta]), r)[0])

    @cached_property
    def _log_mass(self) -> float:
        """Mean and variance of the Normal law between low and high."""
        return math.log(self._mass) - self._window[2] ** 2 / 2 - LOG_ROOT

    @cached_property
    def moments(self) -> tuple[float, float]:
        points, weights = composite(self, panels(self, *self.interval(1e-18), ()), 16)
        # from one end, so that a window far from 0 keeps its digits
        start = points[0]
        weights = weights / weights.sum()
        mean = weights @ (points - start)
        return float(start + mean), float(weights @ (points - start - mean) ** 2)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(end for end in (self.low, self.high) if math.isfinite(end))

    def interval(self, tail: float) -> tuple[float, float]:
        # the whole Normal law has this little mass beyond reach
        reach = -self.std * float(ndtri_exp(math.log(tail / 2) + self._log_mass))
        return max(self.low, self.bias - reach), min(self.high, self.bias + reach)

    def scaled(self, scale: Float[Tensor, " 1"]) -> "TruncatedNormal":
        factor = float(scale)
        low, high = sorted((factor * self.low, factor * self.high))
        return TruncatedNormal(abs(factor) * self.std, low, high, factor * self.bias)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        """The inverse of the distribution function, in logarithms."""
        alpha, beta, r = self._window
        flip = -1.0 if r < 0 else 1.0
        near, far = (-beta, -alpha) if r < 0 else (alpha, beta)
        u = torch.rand(num, 1, generator=generator, dtype=torch.double).numpy()
        with np.errstate(divide="ignore"):  # log 0 = -inf is meant
            above = np.logaddexp(np.log1p(-u) + log_ndtr(-near), np.log(u) + log_ndtr(-far))
        t = torch.tensor(-ndtri_exp(above))
        return (self.bias + flip * self.std * t).clamp(self.low, self.high)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """Uses the complex error function; an integral over one panel if the window is narrow."""
        alpha, beta, r = self._window
        if _narrow(np.array([alpha]), np.array([beta])).all():
            ends = torch.tensor([self.low, self.high], dtype=torch.double)
            panel = Panels(ends[:1], ends[1:], torch.full_like(ends[:1], torch.nan))
            return wave_over_panels(self, panel, omega[:, 0])
        s = self.std * omega[:, 0].numpy()
        if r > 0:
            value = _beyond(alpha, s, r) - _beyond(beta, s, r)
        elif r < 0:
            value = (_beyond(-beta, s, r) - _beyond(-alpha, s, r)).conj()
        else:
            value = 2 * ROOT * np.exp(-(s**2) / 2) - _beyond(beta, s, r)
            value -= _beyond(-alpha, s, r).conj()
        return wave(self.bias * omega[:, 0]) * torch.tensor(value / self._mass)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        _, _, r = self._window
        t = (xi - self.bias) / self.std
        density = (-0.5 * (t - r) * (t + r)).exp() / (self.std * self._mass)
        return torch.where((self.low <= xi) & (xi <= self.high), density, 0)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        alpha, beta, r = self._window
        t = np.clip(((xi - self.bias) / self.std).numpy().reshape(-1), alpha, beta)
        mass = _integral(np.full_like(t, alpha), t, r) / self._mass
        return torch.tensor(mass).clamp(0, 1).reshape(xi.shape)


def _narrow(a: Array, b: Array) -> Bool[np.ndarray, " n"]:
    """Where exp(-t^2 / 2) changes by less than a factor of about e: differences would cancel."""
    with np.errstate(invalid="ignore"):
        return (b - a) * np.maximum(1, np.maximum(np.abs(a), np.abs(b))) < 1


def _integral(a: Array, b: Array, r: float) -> Array:
    """int_a^b exp(-(t^2 - r^2) / 2) dt, r the point nearest to 0 of an interval around (a, b)."""
    t, weights = leggauss(16)
    narrow = _narrow(a, b)
    low, high = np.where(narrow, a, r), np.where(narrow, b, r)
    half = (high - low)[..., None] / 2
    points = low[..., None] + half * (1 + t)
    by_points = (np.exp(-0.5 * (points - r) * (points + r)) * half) @ weights
    if r == 0:
        return np.where(narrow, by_points, ROOT * (erf(b / math.sqrt(2)) - erf(a / math.sqrt(2))))
    near, far = (a, b) if r > 0 else (-b, -a)
    return np.where(narrow, by_points, _tail(near, r) - _tail(far, r))


def _tail(a: Array, r: float) -> Array:
    """int_a^inf exp(-(t^2 - r^2) / 2) dt for a >= |r|."""
    return ROOT * np.exp(-0.5 * (a - abs(r)) * (a + abs(r))) * erfcx(a / math.sqrt(2))


def _beyond(a: float, s: Array, r: float) -> Complex128[np.ndarray, " n"]:
    """int_a^inf exp(i s t - (t^2 - r^2) / 2) dt for a >= 0.

    = sqrt(pi / 2) exp((r^2 - a^2) / 2 + i a s) w((s + i a) / sqrt 2), and |w| <= 1 for a >= 0.
    """
    if not math.isfinite(a):
        return np.zeros_like(s, dtype=complex)
    height = ROOT * math.exp(-0.5 * (a - abs(r)) * (a + abs(r)))
    return height * np.exp(1j * a * s) * wofz((s + 1j * a) / math.sqrt(2))


def _read_end(name: str, value: object) -> float:
    """A number that may be infinite."""
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return float(value)
    return read_number(f"TruncatedNormal {name}", value)
