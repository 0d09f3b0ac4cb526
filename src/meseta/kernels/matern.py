"""The Matern kernels of half-integer order, and their smoothings.

In units s = sqrt(2 nu) |delta| / l each is a polynomial times an exponential,
kappa(s) = p(s) exp(-s): one code serves every order. Everything below is in these units.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.polynomial.legendre import leggauss
from numpy.polynomial.polynomial import polyder, polysub, polyval
from scipy.special import stdtr, stdtrit
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.kernels.separable import Columns, Sloped, product
from meseta.kernels.squared_exponential import hermite_series
from meseta.kernels.stationary import Correlation, Factor, Form, Shape
from meseta.noise import NoiseLaw, Normal, Uniform

# From this noise width on (in units of s) the recursion for Normal noise would lose
# digits like s^3 and the expansion in 1/s has converged: its term 2j is about
# sqrt((2j)!) (2j)^2 / s^2j, and term 36 is below 1e-16.
WIDE = 12.0
WIDE_TERMS = 18
# exp(-45) = 3e-20: what lies further from the near end of an interval does not count.
REACH = 45.0


@dataclass(frozen=True)
class Matern(Shape):
    """One order [Rasmussen and Williams 2006, Eqs. 4.15 to 4.17].

    Its spectral density is a Student t with 2 nu degrees of freedom [4.2], which is least smooth
    near 0 and has no end: above `highest` are 8e-8, 1e-6 and 3e-3 of the variance for the orders
    5/2, 3/2 and 1/2. The characteristic function of most noise laws makes that much less.
    """

    nu: float
    polynomial: tuple[float, ...]

    def unperturbed(self, lengthscale: Float[Tensor, " d"]) -> Factor:
        return Unperturbed(self, lengthscale)

    def form(self, law: NoiseLaw, ratio: float) -> Form | None:
        if ratio == 0:
            return self.still
        if isinstance(law, Normal):
            return self.wide_normal if ratio * math.sqrt(2 * self.nu) > WIDE else self.normal
        return self.uniform if isinstance(law, Uniform) else None

    def normal(self, lengthscale: Tensor, std: Tensor) -> Factor:
        return NormalNoise(self, lengthscale, std)

    def wide_normal(self, lengthscale: Tensor, std: Tensor) -> Factor:
        return WideNormalNoise(self, lengthscale, std)

    def uniform(self, lengthscale: Tensor, half_width: Tensor) -> Factor:
        return UniformNoise(self, lengthscale, half_width)

    def spectral_density(self, omega: Float[Tensor, "*m"]) -> Float[Tensor, "*m"]:
        df = 2 * self.nu
        height = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
        return 2 * height * (1 + omega.square() / df) ** (-(df + 1) / 2)

    def beyond(self, omega: float) -> float:
        return 2 * float(stdtr(2 * self.nu, -omega))

    def quantile(self, u: Float[Tensor, " num"]) -> Float[Tensor, " num"]:
        return torch.tensor(stdtrit(2 * self.nu, u.numpy()))

    def correlation(
        self, distance: Float64[np.ndarray, "d p"]
    ) -> Callable[[Float64[np.ndarray, " d"]], Correlation]:
        # d log kappa / d log l = s (p - p')(s) / p(s); no coefficient of p - p' is negative
        p = np.array(self.polynomial)
        less_slope = polysub(p, polyder(p))

        def at(lengthscale: Float64[np.ndarray, " d"]) -> Correlation:
            s = distance * (math.sqrt(2 * self.nu) / lengthscale)[:, None]
            value = polyval(s, p)
            kappa = np.exp(-s.sum(0))
            for each in value:
                kappa *= each
            slope = polyval(s, less_slope)
            slope *= s
            slope /= value
            return kappa, lambda w: slope @ w

        return at

    def scaled(self, lengthscale: Tensor, length: Tensor) -> Tensor:
        """|length| in units of s. (The gradient of |.| at 0 is 0, as it is for every smoothing.)"""
        return math.sqrt(2 * self.nu) * (length / lengthscale).abs()

    def unit(self, lengthscale: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """The length of s = 1."""
        return lengthscale / math.sqrt(2 * self.nu)

    def kappa(self, lengthscale: Tensor, delta: Tensor) -> Tensor:
        return _kappa(delta, math.sqrt(2 * self.nu) / lengthscale, self.polynomial)


class _Kappa(torch.autograd.Function):
    """prod_i p(s_i) exp(-s_i), s = |delta * reciprocal|, differentiable once, in delta.

    Sums and products over the last dimension, of a few numbers each, are what costs: torch takes
    several times as long for them as a product with ones, or one factor after the other.
    """

    @staticmethod
    def forward(ctx: Any, delta: Tensor, reciprocal: Tensor, p: tuple[float, ...]) -> Tensor:
        ratio = delta * reciprocal
        s = ratio.abs()
        factors = _polynomial_(p, s)
        value = (s @ torch.ones_like(reciprocal)).neg_().exp_()
        for factor in factors.unbind(-1):
            value.mul_(factor)
        if ctx.needs_input_grad[0]:
            # at 0 the sign is 0, and so is the slope of every smoothing
            slope = _polynomial_(_slope(p), s).div_(factors)
            ctx.save_for_backward(slope.mul_(ratio.sign_()).mul_(reciprocal), value)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        slope, value = ctx.saved_tensors
        return (upstream[0] * value)[..., None] * slope, None, None


_kappa: Callable[[Tensor, Tensor, tuple[float, ...]], Tensor] = _Kappa.apply


# name, gpytorch, nu, reach, highest, halvings, on_grid, polynomial
MATERN12 = Matern("matern12", "MaternKernel", 0.5, 40.0, 200.0, 8, 80.0, (1.0,))
MATERN32 = Matern("matern32", "MaternKernel", 1.5, 26.0, 128.0, 7, 60.0, (1.0, 1.0))
MATERN52 = Matern("matern52", "MaternKernel", 2.5, 21.0, 48.0, 6, 40.0, (1.0, 1.0, 1 / 3))


@dataclass(frozen=True, eq=False)
class Unperturbed:
    """Dimensions without noise: g is f."""

    kernel: Matern
    lengthscale: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self.kernel.kappa(self.lengthscale, delta)

    gf = f
    g = f


@dataclass(frozen=True, eq=False)
class NormalNoise:
    """Truncated Gaussian moments on both sides of the kink, through the scaled erfcx.

    E kappa(|delta + xi|) = T(s) + T(-s), T(s) = int_0^inf p(t) exp(-t) N(t; s, sigma^2) dt
                          = exp(sigma^2/2 - s) int_0^inf p(t) N(t; s - sigma^2, sigma^2) dt.
    """

    kernel: Matern
    lengthscale: Float[Tensor, " d"]
    std: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self.kernel.kappa(self.lengthscale, delta)

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._smoothed(delta, self.std)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._smoothed(delta, math.sqrt(2) * self.std)

    def _smoothed(self, delta: Tensor, std: Tensor) -> Tensor:
        p, sigma = self.kernel.polynomial, self.kernel.scaled(self.lengthscale, std)
        return product(delta, self.kernel.unit(self.lengthscale), partial(_average, p, sigma))


def _average(p: tuple[float, ...], sigma: Tensor, s: Columns, sloped: bool) -> Sloped:
    """T(s) + T(-s), and its derivative in s: the same with p' - p, the sides subtracted."""
    sigma = sigma[:, None]
    density = (s / sigma).square_().mul_(-0.5).exp_()
    right, left = (_moments(side, sigma, density, len(p)) for side in (s, -s))
    value = p[0] * (right[0] + left[0])
    for coefficient, r, l in zip(p[1:], right[1:], left[1:], strict=True):
        value.add_(r + l, alpha=coefficient)
    if not sloped:
        return value, None
    slope = torch.zeros_like(s)
    for coefficient, r, l in zip(_slope(p), right, left, strict=True):
        slope.add_(r - l, alpha=coefficient)
    return value, slope


def _moments(s: Columns, sigma: Tensor, density: Columns, num: int) -> list[Columns]:
    """J_j = int_0^inf t^j exp(-t) N(t; s, sigma^2) dt, J_j+1 = mu J_j + j sigma^2 J_j-1."""
    mu = s - sigma**2
    # J_0 = exp(sigma^2/2 - s) Phi(mu / sigma), and where Phi is large one minus what is beyond
    beyond = torch.special.erfcx(mu.abs().div_(math.sqrt(2) * sigma)).mul_(density).mul_(0.5)
    whole = (sigma**2 / 2 - s).clamp_max_(0).exp_()
    moments = [torch.where(mu > 0, whole.sub_(beyond), beyond)]
    for j in range(num - 1):
        # after J_0 comes the boundary term sigma phi(mu / sigma), scaled like J_0
        rest = (
            density * (sigma / math.sqrt(2 * math.pi)) if j == 0 else moments[-2] * (j * sigma**2)
        )
        moments.append(rest.addcmul_(mu, moments[-1]))
    return moments


@dataclass(frozen=True, eq=False)
class WideNormalNoise:
    """Noise much wider than the kernel: the kernel acts as a sum of derivatives of a spike.

    int kappa(t) N(t; s, sigma^2) dt = sum_j m_2j / (2j)! N^(2j)(s), m_2j = int t^2j kappa(t) dt.
    """

    kernel: Matern
    lengthscale: Float[Tensor, " d"]
    std: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self.kernel.kappa(self.lengthscale, delta)

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._smoothed(delta, self.std)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._smoothed(delta, math.sqrt(2) * self.std)

    def _smoothed(self, delta: Tensor, std: Tensor) -> Tensor:
        s = self.kernel.scaled(self.lengthscale, delta)
        sigma = self.kernel.scaled(self.lengthscale, std)
        weights = []
        for j in range(WIDE_TERMS):
            # m_2j / (2j)! = 2 sum_i p_i (2j + i)! / (2j)!
            moment = 2 * sum(
                p_i * math.prod(range(2 * j + 1, 2 * j + i + 1))
                for i, p_i in enumerate(self.kernel.polynomial)
            )
            weights.append(moment / sigma ** (2 * j + 1))
        z = s / sigma
        density = (-0.5 * z.square()).exp() / math.sqrt(2 * math.pi)
        return (hermite_series(z, weights) * density).prod(-1)


@dataclass(frozen=True, eq=False)
class UniformNoise:
    """Integrals of p(s) exp(-s) over intervals that hold the kink, or do not."""

    kernel: Matern
    lengthscale: Float[Tensor, " d"]
    half_width: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self.kernel.kappa(self.lengthscale, delta)

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        p = self.kernel.polynomial
        s = self.kernel.scaled(self.lengthscale, delta)
        eta = self._eta
        within = torch.where(s < eta, s, eta)
        inside = (_integral(p, eta + within) + _integral(p, eta - within)) / (2 * eta)
        return torch.where(s < eta, inside, _beyond(p, s, eta, self._box_moments)).prod(-1)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        p = self.kernel.polynomial
        s = self.kernel.scaled(self.lengthscale, delta)
        reach = 2 * self._eta
        within = torch.where(s < reach, s, reach)
        second_difference = (
            _double_integral(p, reach + within)
            - 2 * _double_integral(p, within)
            + _double_integral(p, reach - within)
        )
        beyond = _beyond(p, s, reach, self._triangle_moments)
        return torch.where(s < reach, second_difference / reach**2, beyond).prod(-1)

    @cached_property
    def _eta(self) -> Float[Tensor, " d"]:
        return self.kernel.scaled(self.lengthscale, self.half_width)

    @cached_property
    def _box_moments(self) -> list[Tensor]:
        return _box_moments(self._eta, len(self.kernel.polynomial))

    @cached_property
    def _triangle_moments(self) -> list[Tensor]:
        return _triangle_moments(2 * self._eta, len(self.kernel.polynomial))


@cache
def _slope(p: tuple[float, ...]) -> tuple[float, ...]:
    """p' - p, by which p(s) exp(-s) changes; no coefficient is positive, so nothing cancels."""
    return tuple(polysub(polyder(p), p).tolist())


def _polynomial(coefficients: tuple[float, ...], s: Tensor) -> Tensor:
    """Horner's rule, lowest order first."""
    total = torch.full_like(s, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * s + coefficient
    return total


def _polynomial_(coefficients: tuple[float, ...], s: Tensor) -> Tensor:
    """The same in place, where no gradient goes through it."""
    total = torch.full_like(s, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total.mul_(s).add_(coefficient)
    return total


def _beyond(p: tuple[float, ...], s: Tensor, reach: Tensor, moments: list[Tensor]) -> Tensor:
    """E p(s + v) exp(-s - v) for s >= reach, where v stays within +-reach.

    `moments` are E v^j exp(-(v + reach)); the factor exp(reach - s) is never above 1.
    """
    s = torch.where(s < reach, reach, s)
    total = torch.zeros_like(s)
    for i, p_i in enumerate(p):
        for j in range(i + 1):
            total = total + p_i * math.comb(i, j) * s ** (i - j) * moments[j]
    return total * (reach - s).exp()


def _box_moments(eta: Tensor, num: int) -> list[Tensor]:
    """E v^j exp(-(v + eta)) for v uniform on +-eta, by Gauss-Legendre from the near end."""
    w, weights = _near_end(2 * eta)
    return [((w - eta) ** j * (-w).exp() * weights).sum(0) / (2 * eta) for j in range(num)]


def _triangle_moments(reach: Tensor, num: int) -> list[Tensor]:
    """E v^j exp(-(v + reach)) for the triangular law on +-reach, the law of xi - xi'."""
    moments = [torch.zeros_like(reach) for _ in range(num)]
    for start in (torch.zeros_like(reach), reach):  # the rising and the falling half
        w, weights = _near_end(reach)
        density = (reach - (w + start - reach).abs()) / reach**2
        for j in range(num):
            integrand = (w + start - reach) ** j * (-(w + start)).exp() * density
            moments[j] = moments[j] + (integrand * weights).sum(0)
    return moments


@cache
def _legendre() -> tuple[Tensor, Tensor]:
    nodes, weights = leggauss(64)
    return torch.tensor(nodes)[:, None], torch.tensor(weights)[:, None]


def _near_end(length: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, min(length, REACH)], one column per dimension."""
    nodes, weights = _legendre()
    half = length.clamp_max(REACH) / 2
    return half * (nodes + 1), half * weights


def _integral(p: tuple[float, ...], u: Tensor) -> Tensor:
    """int_0^u p(t) exp(-t) dt."""
    a = _antiderivative(p)
    closed = a[0] - _polynomial(a, u) * (-u).exp()
    small = u.clamp_max(1)
    return torch.where(u > 1, closed, small * _polynomial(_taylor(p, 1), small))


def _double_integral(p: tuple[float, ...], u: Tensor) -> Tensor:
    """int_0^u (u - t) p(t) exp(-t) dt."""
    a = _antiderivative(p)
    b = _antiderivative(a)
    closed = a[0] * u - b[0] + _polynomial(b, u) * (-u).exp()
    small = u.clamp_max(1)
    return torch.where(u > 1, closed, small**2 * _polynomial(_taylor(p, 2), small))


@cache
def _antiderivative(p: tuple[float, ...]) -> tuple[float, ...]:
    """a = p + p' + p'' + ..., so that (-a(t) exp(-t))' = p(t) exp(-t)."""
    derivative, total = list(p), list(p)
    for _ in p[1:]:
        derivative = [k * c for k, c in enumerate(derivative)][1:]
        total = [c + (derivative[k] if k < len(derivative) else 0) for k, c in enumerate(total)]
    return tuple(total)


@cache
def _taylor(p: tuple[float, ...], integrals: int) -> tuple[float, ...]:
    """Coefficients of the integrals of p(t) exp(-t) about 0, for |t| <= 1; 1/20! is 4e-19."""
    coefficients = []
    for k in range(20):
        c = sum(p_i * (-1) ** (k - i) / math.factorial(k - i) for i, p_i in enumerate(p) if i <= k)
        coefficients.append(c / math.prod(range(k + 1, k + 1 + integrals)))
    return tuple(coefficients)
