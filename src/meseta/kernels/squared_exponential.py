"""The squared exponential kernel, kappa(delta) = exp(-delta^2 / (2 l^2)), and its smoothings."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.kernels.stationary import GAUSSIAN, Correlation, Factor, Form, Shape
from meseta.noise import NoiseLaw, Normal, Uniform

# Below this ratio h / l the closed forms of uniform noise lose digits to cancellation
# and the Taylor series, which needs few terms there, takes over.
NARROW = 0.25
# (2h/l)^20 * 2/22! * 19!! at h/l = 0.25, the first term left out, is 1e-18.
TAYLOR_TERMS = 10


@dataclass(frozen=True)
class SquaredExponential(Shape):
    """Its spectral density is a Normal law [Rasmussen and Williams 2006, 4.2]."""

    def unperturbed(self, lengthscale: Float[Tensor, " d"]) -> Factor:
        return Unperturbed(lengthscale)

    def form(self, law: NoiseLaw, ratio: float) -> Form | None:
        if ratio == 0:
            return self.still
        if isinstance(law, Normal):
            return NormalNoise
        if isinstance(law, Uniform):
            return NarrowUniformNoise if ratio < NARROW else UniformNoise
        return None

    def spectral_density(self, omega: Float[Tensor, "*m"]) -> Float[Tensor, "*m"]:
        return math.sqrt(2 / math.pi) * (-0.5 * omega.square()).exp()

    def beyond(self, omega: float) -> float:
        return math.erfc(omega / math.sqrt(2))

    def quantile(self, u: Float[Tensor, " num"]) -> Float[Tensor, " num"]:
        return torch.special.ndtri(u)

    def correlation(
        self, distance: Float64[np.ndarray, "d p"]
    ) -> Callable[[Float64[np.ndarray, " d"]], Correlation]:
        square = distance**2

        def at(lengthscale: Float64[np.ndarray, " d"]) -> Correlation:
            precision = lengthscale**-2
            return np.exp(-0.5 * (precision @ square)), lambda w: precision * (square @ w)

        return at


SQUARED_EXPONENTIAL = SquaredExponential(
    name=GAUSSIAN,
    gpytorch="RBFKernel",
    nu=None,
    reach=9.0,
    highest=8.5,  # exp(-8.5^2 / 2) = 2e-16
    halvings=0,
    on_grid=8.5,
)


class _Bell(torch.autograd.Function):
    """factor * exp(-|delta * reciprocal|^2 / 2), differentiable once, in delta.

    Every acquisition value needs several of these; one node of the graph instead of six makes
    its gradient about a fifth cheaper.
    """

    @staticmethod
    def forward(ctx: Any, delta: Tensor, reciprocal: Tensor, factor: Tensor) -> Tensor:
        z = delta * reciprocal
        # a sum over the last dimension, of a few numbers, takes several times as long
        value = factor * ((z * z) @ torch.full_like(reciprocal, -0.5)).exp_()
        ctx.save_for_backward(z, value, reciprocal)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        z, value, reciprocal = ctx.saved_tensors
        return -(upstream[0] * value)[..., None] * z * reciprocal, None, None


_bell: Callable[[Tensor, Tensor, Tensor], Tensor] = _Bell.apply


@dataclass(frozen=True, eq=False)
class Unperturbed:
    """Dimensions without noise: g is f."""

    lengthscale: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _bell(delta, 1 / self.lengthscale, torch.ones(()).to(delta))

    gf = f
    g = f


@dataclass(frozen=True, eq=False)
class NormalNoise:
    """l^2 becomes l^2 + s^2 (k_gf) or l^2 + 2 s^2 (k_g) [Dallaire et al. 2009]."""

    lengthscale: Float[Tensor, " d"]
    std: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._widened(delta, 0)

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._widened(delta, 1)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._widened(delta, 2)

    @cached_property
    def _widths(self) -> list[tuple[Tensor, Tensor]]:
        """1 / width and the factor in front, with neither, one or both arguments perturbed."""
        widths = [(self.lengthscale**2 + i * self.std**2).sqrt() for i in range(3)]
        return [(1 / width, (self.lengthscale / width).prod()) for width in widths]

    def _widened(self, delta: Tensor, perturbed: int) -> Tensor:
        return _bell(delta, *self._widths[perturbed])


@dataclass(frozen=True, eq=False)
class CorrelatedNormalNoise:
    """Lambda becomes Lambda + Sigma or Lambda + 2 Sigma, a ratio of determinants in front."""

    lengthscale: Float[Tensor, " d"]
    covariance: Float[Tensor, "d d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._widened(delta, 0)

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._widened(delta, 1)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return self._widened(delta, 2)

    @cached_property
    def _roots(self) -> list[Tensor]:
        """Cholesky factors in units of the lengthscales, where Lambda is the identity."""
        scaled = self.covariance / self.lengthscale[:, None] / self.lengthscale
        identity = torch.eye(len(scaled), dtype=scaled.dtype)
        return [torch.linalg.cholesky(identity + i * scaled) for i in range(3)]

    def _widened(self, delta: Tensor, perturbed: int) -> Tensor:
        root = self._roots[perturbed]
        flat = (delta / self.lengthscale).reshape(-1, len(root))
        z = torch.linalg.solve_triangular(root, flat.T, upper=False)
        ratio = 1 / root.diagonal().prod()
        return ratio * (-0.5 * z.square().sum(0)).exp().reshape(delta.shape[:-1])


@dataclass(frozen=True, eq=False)
class UniformNoise:
    """Differences of erf and of its integral, for h / l of at least NARROW.

    With F' = kappa and H'' = kappa:
    k_gf = [F(d + h) - F(d - h)] / 2h,  k_g = [H(d + 2h) - 2 H(d) + H(d - 2h)] / 4h^2.
    """

    lengthscale: Float[Tensor, " d"]
    half_width: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _bell(delta, 1 / self.lengthscale, torch.ones(()).to(delta))

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        z, eta = delta / self.lengthscale, self.half_width / self.lengthscale
        ends = torch.erf((z + eta) / math.sqrt(2)) - torch.erf((z - eta) / math.sqrt(2))
        return (math.sqrt(math.pi / 2) * ends / (2 * eta)).prod(-1)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        z, reach = delta / self.lengthscale, 2 * self.half_width / self.lengthscale
        # H(z) = sqrt(pi/2) |z| + tail(z), and the second difference of |z| is exact
        inside = reach - z.abs()
        triangle = inside + inside.abs()  # 2 max(inside, 0), with half the slope at the tie
        tails = _tail(z + reach) - 2 * _tail(z) + _tail(z - reach)
        return ((math.sqrt(math.pi / 2) * triangle + tails) / reach**2).prod(-1)


def _tail(z: Tensor) -> Tensor:
    """exp(-z^2/2) - sqrt(pi/2) |z| erfc(|z| / sqrt 2): the decaying part of H."""
    size = z.abs()
    inner = 1 - math.sqrt(math.pi / 2) * size * torch.special.erfcx(size / math.sqrt(2))
    return (-0.5 * z.square()).exp() * inner


@dataclass(frozen=True, eq=False)
class NarrowUniformNoise:
    """Taylor series in h / l, for h / l below NARROW.

    E (xi)^2j = h^2j / (2j + 1) and E (xi - xi')^2j = 2 (2h)^2j / ((2j + 1)(2j + 2)) weigh
    the derivatives kappa^(2j)(delta) = He_2j(delta / l) kappa(delta) / l^2j.
    """

    lengthscale: Float[Tensor, " d"]
    half_width: Float[Tensor, " d"]

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return _bell(delta, 1 / self.lengthscale, torch.ones(()).to(delta))

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        eta = self.half_width / self.lengthscale
        return self._series(
            delta, [eta ** (2 * j) / math.factorial(2 * j + 1) for j in range(TAYLOR_TERMS)]
        )

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        reach = 2 * self.half_width / self.lengthscale
        return self._series(
            delta, [2 * reach ** (2 * j) / math.factorial(2 * j + 2) for j in range(TAYLOR_TERMS)]
        )

    def _series(self, delta: Tensor, weights: list[Tensor]) -> Tensor:
        z = delta / self.lengthscale
        total = hermite_series(z, weights)
        return (total * (-0.5 * z.square()).exp()).prod(-1)


def hermite_series(z: Tensor, weights: list[Tensor]) -> Tensor:
    """sum_j weights_j He_2j(z), by the recursion He_n+1 = z He_n - n He_n-1."""
    before, now = torch.zeros_like(z), torch.ones_like(z)  # He_-1, He_0
    total = weights[0] * now
    for j, weight in enumerate(weights[1:], start=1):
        for n in (2 * j - 2, 2 * j - 1):
            before, now = now, z * now - n * before
        total = total + weight * now
    return total
