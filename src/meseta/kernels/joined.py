"""Noise that moves several dimensions together.

xi = a Normal part + other terms. The Normal part widens squared exponentials: with
L L' = I + i Sigma, i = 1 for k_gf or 2 for k_g and Sigma in units of the lengthscales, they become
exp(-|w - w'|^2 / 2) / det L in the coordinates w = L^-1 (x / lengthscale). One other term along a
line is a smoothing of one dimension, the coordinate along that line, and exact. Several terms, and
all terms under other kernels, are averaged over nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.nodes import Rule
from meseta.kernels.spectrum import Spectrum
from meseta.kernels.stationary import Factors, product

# Exponents whose exponential, and that of their sum, are far from overflow.
LARGEST = 300.0
# Numbers held at once while nodes are averaged over: 32 MiB.
CHUNK = 2**22


class Whitened(NamedTuple):
    """w(x) = root^-1 (x / lengthscale), and 1 / det root in front."""

    lengthscale: Float[Tensor, " d"]
    root: Float[Tensor, "d d"]

    def __call__(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m d"]:
        flat = (x / self.lengthscale).reshape(-1, len(self.root))
        w = torch.linalg.solve_triangular(self.root, flat.mT, upper=False).mT
        return w.reshape(x.shape)

    @property
    def factor(self) -> Float[Tensor, ""]:
        return 1 / self.root.diagonal().prod()


def whitened(
    lengthscale: Float[Tensor, " d"], covariance: Float[Tensor, "d d"], times: int
) -> Whitened:
    scaled = covariance / lengthscale[:, None] / lengthscale
    eye = torch.eye(len(scaled), dtype=torch.double)
    return Whitened(lengthscale, torch.linalg.cholesky(eye + times * scaled))


@dataclass(frozen=True, eq=False)
class AlongLine:
    """One term s direction besides the Normal part: exact, as a smoothing of one dimension."""

    coordinates: tuple[Whitened, Whitened]  # of k_gf and of k_g
    axes: tuple[Float[Tensor, " d"], Float[Tensor, " d"]]  # the direction in them, of length 1
    spectra: tuple[Spectrum, Spectrum]
    mean: Float[Tensor, " d"]  # of the Normal part

    @property
    def error(self) -> float:
        return max(spectrum.error for spectrum in self.spectra)

    def gf(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        along_a, across_a = self._split(A + self.mean, 0)
        along_b, across_b = self._split(B, 0)
        return self.spectra[0].gf(along_a, along_b) * self._across(across_a, across_b, 0)

    def g(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        (along_a, across_a), (along_b, across_b) = self._split(A, 1), self._split(B, 1)
        return self.spectra[1].g(along_a, along_b) * self._across(across_a, across_b, 1)

    def gf_with(self, B: Float[Tensor, "n d"]) -> Callable[[Tensor], Tensor]:
        along, across = self._split(B - self.mean, 0)
        return partial(self._with, self.spectra[0].gf_with(along), across, 0)

    def g_with(self, B: Float[Tensor, "n d"]) -> Callable[[Tensor], Tensor]:
        along, across = self._split(B, 1)
        return partial(self._with, self.spectra[1].g_with(along), across, 1)

    def at_same_point(
        self, x: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        zero = torch.zeros(1, x.shape[1], dtype=torch.double)
        return self.gf(zero, zero)[0].expand(len(x)), self.g(zero, zero)[0].expand(len(x))

    def _with(
        self, along: Callable[[Tensor], Tensor], across_b: Tensor, which: int, A: Tensor
    ) -> Tensor:
        along_a, across_a = self._split(A, which)
        return along(along_a) * self._across(across_a, across_b, which)

    def _split(self, x: Tensor, which: int) -> tuple[Tensor, Tensor]:
        w, axis = self.coordinates[which](x), self.axes[which]
        along = (w @ axis)[..., None]
        return along, w - along * axis

    def _across(self, a: Tensor, b: Tensor, which: int) -> Tensor:
        delta = a.unsqueeze(-2) - b.unsqueeze(-3)
        return self.coordinates[which].factor * (-0.5 * delta.square().sum(-1)).exp()


@dataclass(frozen=True, eq=False)
class OnNodes:
    """Terms on nodes besides the Normal part.

    exp(-|a + s - b|^2 / 2) is the product of exp(-|a - b|^2 / 2), exp(-a s), exp(b s) and
    exp(-s^2 / 2): a sum over nodes s is a matrix product, with an exponential for each point and
    node instead of one for each pair of points and node. All terms of one node are positive.
    """

    coordinates: tuple[Whitened, Whitened]
    rules: tuple[Rule, Rule]  # of xi and of xi - xi', in the coordinates of k_gf and of k_g
    error: float

    def gf(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._average(A, self.coordinates[0](B), 0)

    def g(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._average(A, self.coordinates[1](B), 1)

    def gf_with(self, B: Float[Tensor, "n d"]) -> Callable[[Tensor], Tensor]:
        return partial(self._average, b=self.coordinates[0](B), which=0)

    def g_with(self, B: Float[Tensor, "n d"]) -> Callable[[Tensor], Tensor]:
        return partial(self._average, b=self.coordinates[1](B), which=1)

    def at_same_point(
        self, x: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        gf, g = self._zero
        return gf.expand(len(x)), g.expand(len(x))

    @cached_property
    def _zero(self) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        values = [
            whitened.factor * (rule.weights @ (-0.5 * rule.nodes.square().sum(-1)).exp())
            for whitened, rule in zip(self.coordinates, self.rules, strict=True)
        ]
        return values[0], values[1]

    def _average(self, A: Tensor, b: Tensor, which: int) -> Tensor:
        a, rule = self.coordinates[which](A), self.rules[which]
        delta = a.unsqueeze(-2) - b.unsqueeze(-3)
        at_once = max(64, CHUNK // max(1, a[..., 0].numel() + b[..., 0].numel()))
        total = torch.zeros_like(delta[..., 0])
        for nodes, weights in zip(
            rule.nodes.split(at_once), rule.weights.split(at_once), strict=True
        ):
            tilted = _tilted(a, b, nodes, weights)
            total = total + (
                _by_pairs(delta, nodes, weights)
                if tilted is None
                else tilted * (-0.5 * delta.square().sum(-1)).exp()
            )
        return self.coordinates[which].factor * total


def _tilted(
    a: Tensor, b: Tensor, nodes: Tensor, weights: Tensor
) -> Float[Tensor, "*batch m n"] | None:
    """sum_i w_i exp(-s_i^2 / 2 - (a - b) s_i); None: beyond floating point."""
    center = a.detach().reshape(-1, a.shape[-1]).mean(0).nan_to_num()
    left, right = -(a - center) @ nodes.mT, (b - center) @ nodes.mT
    if not all((exponent.detach().abs() < LARGEST).all() for exponent in (left, right)):
        return None
    inner = weights * (-0.5 * nodes.square().sum(-1)).exp()
    return (left.exp() * inner) @ right.exp().mT


def _by_pairs(delta: Tensor, nodes: Tensor, weights: Tensor) -> Tensor:
    """The sum over nodes pair by pair, for nodes so far apart that a product would overflow."""
    total = torch.zeros_like(delta[..., 0])
    at_once = max(1, CHUNK // max(1, delta.numel()))
    for node, weight in zip(nodes.split(at_once), weights.split(at_once), strict=True):
        total = total + (-0.5 * (delta.unsqueeze(-2) + node).square().sum(-1)).exp() @ weight
    return total


@dataclass(frozen=True, eq=False)
class JointNodes:
    """Independent parts of xi, which `bases` smooth in closed form, and a common part on nodes.

    The smoother the bases, the fewer nodes are needed. Any kernel will do.
    """

    bases: Factors
    nodes: Rule  # of the common part of xi
    differences: Rule  # of that of xi - xi'

    @property
    def error(self) -> float:
        return max(self.nodes.error, self.differences.error)

    def f(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return product(self.bases, delta, lambda base, part: base.f(part))

    def gf(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        def kappa(delta: Tensor) -> Tensor:
            return product(self.bases, delta, lambda base, part: base.gf(part))

        return _averaged(kappa, delta, self.nodes)

    def g(self, delta: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        def kappa(delta: Tensor) -> Tensor:
            return product(self.bases, delta, lambda base, part: base.g(part))

        return _averaged(kappa, delta, self.differences)


def _averaged(kappa: Callable[[Tensor], Tensor], delta: Tensor, rule: Rule) -> Tensor:
    """sum_i w_i kappa(delta + xi_i), some nodes at a time so that memory stays bounded."""
    total = torch.zeros_like(delta[..., 0])
    at_once = max(1, CHUNK // max(1, delta.numel()))
    for node, weight in zip(rule.nodes.split(at_once), rule.weights.split(at_once), strict=True):
        total = total + kappa(delta.unsqueeze(-2) + node) @ weight
    return total
