"""Noise that depends on x, on an edge or on a scale: g as a weighted sum of f on a fixed grid.

Between r Chebyshev points t of a zone that holds all places that matter, f is interpolated by
polynomials: g(x) = E f(z(x)) = sum_j lambda_j(x) f(t_j). A sum of values of f is jointly Gaussian
with f, so k_f, k_gf and k_g fit together exactly, whatever r is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.chebyshev import (
    ROUNDING,
    Interval,
    Table,
    averages,
    from_unit,
    interpolated,
    points,
    transform,
)
from meseta.kernels.squared_exponential import SQUARED_EXPONENTIAL
from meseta.kernels.stationary import Factor, Shape
from meseta.noise.placed import Placed

# Sizes of grids; few different ones, so that their weights can be kept.
SIZES = (24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024)
# Tails that a zone leaves out: the first that does not need too many nodes.
TAILS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
# Coefficients of the weights, as functions of x, below this share of the largest are rounding.
ACCURACY = 1e-13
WAVES_ACCURACY = 1e-11  # random waves do not need the last digits
CHUNK = 2**21  # nodes of a rule at once: 16 MiB


@runtime_checkable
class Weights(Protocol):
    """lambda(x), a row of r numbers for each x."""

    def __call__(self, x: Float[Tensor, "*batch m g"]) -> Float[Tensor, "*batch m r"]: ...

    def times(
        self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING
    ) -> Callable[[Tensor], Tensor]:
        """lambda(x) M as a function of x, to this share of its largest value."""
        ...

    def interpolated(self, h: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        """h, which is as smooth in x as a quadratic form of lambda(x), in a cheaper way if any."""
        ...


@dataclass(frozen=True, eq=False)
class Grid:
    """Some dimensions of the kernel (one, or the columns of a category) with g on a grid."""

    base: Factor
    nodes: Float[Tensor, "r g"]
    weights: Weights
    smooth: bool = False  # the base is, so that functions of x can be interpolated
    error: float = 0.0  # of k_gf and k_g, as shares of the prior variance

    def gf(
        self, A: Float[Tensor, "*#batch m g"], B: Float[Tensor, "*#batch n g"]
    ) -> Float[Tensor, "*batch m n"]:
        """Cov[g(A), f(B)] = lambda(A) kappa(t - B)."""
        return self.weights(A) @ self._from_nodes(B)

    def g(
        self, A: Float[Tensor, "*#batch m g"], B: Float[Tensor, "*#batch n g"]
    ) -> Float[Tensor, "*batch m n"]:
        """lambda(A) kappa(t - t') lambda(B)'."""
        if A.shape[-2] < B.shape[-2]:
            return self.g_with(A)(B).mT
        return self.g_with(B)(A)

    def gf_with(self, B: Float[Tensor, "*batch n g"]) -> Callable[[Tensor], Tensor]:
        """gf as a function of A alone, at a fraction of the cost."""
        return self.weights.times(self._from_nodes(B))

    def g_with(self, B: Float[Tensor, "*batch n g"]) -> Callable[[Tensor], Tensor]:
        return self.weights.times(self._between_nodes @ self.weights(B).mT)

    def at_same_point(
        self, x: Float[Tensor, "m g"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """gf(x, x) and g(x, x) for each x."""
        gf, g = self._diagonal(x).unbind(-1)
        return gf, g

    def waves_with(self, omega: Float[Tensor, "features g"]) -> Callable[[Tensor], Tensor]:
        """E exp(i omega z(x)) as a function of x: real parts, then imaginary ones."""
        phase = self.nodes @ omega.T
        M = torch.cat([phase.cos(), phase.sin()], dim=-1)
        return self.weights.times(M, WAVES_ACCURACY)

    def moments(self, x: Float[Tensor, "m 1"]) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Mean and variance of z(x), where it is one number."""
        weight, t = self.weights(x), self.nodes[:, 0]
        mean = weight @ t
        return mean, (weight * (t - mean[:, None]).square()).sum(-1)

    @cached_property
    def _diagonal(self) -> Callable[[Tensor], Tensor]:
        return self.weights.interpolated(self._at) if self.smooth else self._at

    def _at(self, x: Tensor) -> Float[Tensor, "m 2"]:
        """gf(x, x) and g(x, x), as smooth in x as lambda and the base are."""
        weights = self.weights(x)
        gf = (weights * self.base.f(self.nodes - x.unsqueeze(-2))).sum(-1)
        return torch.stack([gf, ((weights @ self._between_nodes) * weights).sum(-1)], dim=-1)

    def _from_nodes(self, B: Tensor) -> Float[Tensor, "*batch r n"]:
        return self.base.f(self.nodes[:, None, :] - B.unsqueeze(-3))

    @cached_property
    def _between_nodes(self) -> Float[Tensor, "r r"]:
        return self.base.f(self.nodes[:, None, :] - self.nodes)


def placed_grid(
    base: Factor,
    placed: Placed,
    span: Interval,
    lengthscale: float,
    shape: Shape = SQUARED_EXPONENTIAL,
) -> Grid:
    """The grid of one parameter whose designs lie in `span`."""
    zone = _zone(placed, span, lengthscale, shape)
    tables = _tables(placed, span, zone.interval, zone.size)
    nodes = from_unit(points(zone.size), zone.interval)
    weights = Direct(placed, zone.interval, zone.size) if tables is None else Pieces(tables.tables)
    error = zone.error + (0.0 if tables is None else tables.error)
    return Grid(base, nodes[:, None], weights, shape.nu is None, error)


def confused_grid(
    base: Factor, choices: Float[Tensor, "c g"], matrix: Float[Tensor, "c c"]
) -> Grid:
    """The grid of a category: its nodes are the choices, its weights their probabilities."""

    return Grid(base, choices, Rows(choices, matrix), smooth=True)


class Zone(NamedTuple):
    """Where f is interpolated, on how many nodes; `error` is what that leaves out."""

    interval: Interval
    size: int
    error: float


def _zone(placed: Placed, span: Interval, lengthscale: float, shape: Shape) -> Zone:
    """The places that z(x) reaches and that matter, as far as nodes go.

    k_gf needs those near the designs, where the data are; what g has of f elsewhere adds to k_g the
    square of its probability, at most.
    """
    near = shape.reach * lengthscale
    whole = placed.reach(span)
    for tail in TAILS:
        low, high = placed.reach(span, tail)
        zone = (
            max(whole[0], min(low, span[0] - near)),
            min(whole[1], max(high, span[1] + near)),
        )
        size = _size(zone, lengthscale, shape)
        if size <= SIZES[-1]:
            break
    lost = 0.0 if placed.edge != "allow" else tail**2
    chosen = next((s for s in SIZES if s >= size), SIZES[-1])
    # waves above the frequency that the nodes follow are lost
    followed = shape.on_grid * min(1.0, chosen / size)
    return Zone(zone, chosen, lost + shape.beyond(followed))


def _size(zone: Interval, lengthscale: float, shape: Shape) -> int:
    """How many nodes an interval takes: a polynomial of degree r follows r / 2 waves over it."""
    waves = shape.on_grid * (zone[1] - zone[0]) / lengthscale / 2
    return int(waves + 4 * waves ** (1 / 3) + 8)


@dataclass(frozen=True, eq=False)
class Times:
    """lambda(x) M, computed as it stands."""

    weights: Weights
    M: Float[Tensor, "*batch r n"]

    def __call__(self, x: Float[Tensor, "*batch m g"]) -> Float[Tensor, "*batch m n"]:
        return self.weights(x) @ self.M


@dataclass(frozen=True, eq=False)
class Rows:
    """One row for each of a few places."""

    places: Float[Tensor, "c g"]
    rows: Float[Tensor, "c r"]

    def __call__(self, x: Float[Tensor, "*batch m g"]) -> Float[Tensor, "*batch m r"]:
        distance = (x.detach().unsqueeze(-2) - self.places).square().sum(-1)
        return self.rows[distance.argmin(-1)]

    def times(
        self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING
    ) -> Callable[[Tensor], Tensor]:
        if M.ndim > 2:
            return Times(self, M)
        return Rows(self.places, self.rows @ M)

    def interpolated(self, h: Callable[[Tensor], Tensor]) -> "Rows":
        return Rows(self.places, h(self.places))


@dataclass(frozen=True, eq=False)
class Pieces:
    """lambda(x) by a table for each interval between two kinks."""

    tables: tuple[Table, ...]

    def __call__(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m r"]:
        first, *others = self.tables
        value = first(x)
        for table in others:
            value = torch.where(x >= table.span[0], table(x), value)
        return value

    def times(self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING) -> "Pieces":
        return Pieces(tuple(table.times(M, accuracy) for table in self.tables))

    def interpolated(self, h: Callable[[Tensor], Tensor]) -> "Pieces":
        most = [2 * max(table.coefficients.shape) for table in self.tables]
        return Pieces(
            tuple(
                interpolated(h, table.span, most=num)[0]
                for table, num in zip(self.tables, most, strict=True)
            )
        )


@dataclass(frozen=True, eq=False)
class Direct:
    """lambda(x) from point masses: it may have kinks where one of them meets an edge of the box."""

    placed: Placed
    zone: Interval
    size: int

    def __call__(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m r"]:
        weights = _weights(self.placed, x.reshape(-1), self.zone, self.size)
        return weights.view(*x.shape[:-1], self.size)

    def times(
        self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING
    ) -> Callable[[Tensor], Tensor]:
        return Times(self, M)

    def interpolated(self, h: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return h


class Tables(NamedTuple):
    """lambda(x) from kink to kink; `error` is what its last coefficients are."""

    tables: tuple[Table, ...]
    error: float


@lru_cache(maxsize=256)
def _tables(placed: Placed, span: Interval, zone: Interval, size: int) -> Tables | None:
    """lambda(x) from kink to kink; None where it has no smooth pieces.

    Kept, since it depends on no lengthscale: a run computes it a few times only.
    """
    if not placed.smooth:
        return None
    if placed.kind == "replace":
        middle = torch.tensor([(span[0] + span[1]) / 2], dtype=torch.double)
        return Tables((Table(span, _weights(placed, middle, zone, size)),), 0.0)
    ends = [span[0], *placed.kinks(span), span[1]]
    wide = [(a, b) for a, b in pairwise(ends) if b - a > 1e-9 * (span[1] - span[0])]
    found = [
        interpolated(
            lambda x: _weights(placed, x[:, 0], zone, size),
            piece,
            first=32,
            accuracy=ACCURACY,
        )
        for piece in wide
    ]
    return Tables(tuple(table for table, _ in found), max(rest for _, rest in found))


def _weights(
    placed: Placed, x: Float[Tensor, " m"], zone: Interval, size: int
) -> Float[Tensor, "m r"]:
    """E of the cardinal polynomials of the grid at z(x), some x at a time."""
    at_once, parts, done = 16, [x[:0, None].expand(0, size)], 0
    while done < len(x):
        z, share = placed.rule(x[done : done + at_once], size, zone)
        parts.append(averages(z, share, zone, size))
        done += at_once
        at_once = max(1, min(256, CHUNK // max(1, z.shape[-1])))
    return torch.cat(parts) @ transform(size)
