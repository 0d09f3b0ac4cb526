"""g as a weighted sum of f on a fixed grid: the route for every law without a closed form.

Between r Chebyshev points t of an interval that holds all places where a perturbed design may end
up, f is interpolated by polynomials: g(x) = E f(z(x)) = sum_j lambda_j(x) f(t_j). A sum of values
of f is jointly Gaussian with f, so k_f, k_gf and k_g fit together exactly, whatever r is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.kernels.stationary import Factor
from meseta.noise.placed import Placed

# exp(-FREQUENCY^2 / 2) = 2e-16: no squared exponential has faster waves than this per lengthscale.
FREQUENCY = 8.5
# Sizes of grids; few different ones, so that their weights can be kept.
SIZES = (24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768)
# Coefficients of the weights, as functions of x, below this share of the largest are rounding.
ACCURACY = 1e-12
# And below this one, times their number, they are left out.
ROUNDING = 1e-15
WAVES_ACCURACY = 1e-11  # of random waves nobody needs to know the last digits
MOST_COEFFICIENTS = 768
FIRST_LOOK = 24  # values of a smooth function that may be enough to interpolate it

Interval = tuple[float, float]


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
    base: Factor, placed: Placed, span: Interval, lengthscale: float, *, smooth: bool
) -> Grid:
    """The grid of one parameter whose designs lie in `span`."""
    reach = placed.reach(span)
    nodes, tables = _tables(placed, span, reach, _size(reach, lengthscale))
    weights = Direct(placed, reach, len(nodes)) if tables is None else Pieces(tables)
    return Grid(base, nodes[:, None], weights, smooth)


def confused_grid(
    base: Factor, choices: Float[Tensor, "c g"], matrix: Float[Tensor, "c c"]
) -> Grid:
    """The grid of a category: its nodes are the choices, its weights their probabilities."""

    return Grid(base, choices, Rows(choices, matrix), smooth=True)


@dataclass(frozen=True, eq=False)
class Times:
    """lambda(x) M, where there is no shorter way."""

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
class Table:
    """lambda(x) as polynomials in x, by their Chebyshev coefficients over `span`."""

    span: Interval
    coefficients: Float[Tensor, "*batch s r"]

    def __call__(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m r"]:
        if self.coefficients.shape[-2] == 1:  # wherever x is, an environment is what it is
            return self.coefficients + 0.0 * x
        unit = _to_unit(x[..., 0], self.span).clamp(-1, 1)
        return _chebyshev(unit, self.coefficients.shape[-2]) @ self.coefficients

    def times(self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING) -> "Table":
        """Of lower degree than lambda itself where M is smooth."""
        return Table(self.span, _without_rounding(self.coefficients @ M, accuracy))

    def interpolated(self, h: Callable[[Tensor], Tensor]) -> "Table":
        most, num = 2 * max(self.coefficients.shape), FIRST_LOOK
        while True:
            num = min(num, most)
            x = _from_unit(_points(num), self.span)[:, None]
            coefficients = _transform(num) @ h(x)
            height = coefficients.abs().amax(-1)
            if num == most or (height[-num // 4 :] <= ROUNDING * num * height.max()).all():
                return Table(self.span, _without_rounding(coefficients))
            num = 2 * num


@dataclass(frozen=True, eq=False)
class Pieces:
    """Tables side by side, from kink to kink."""

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
        return Pieces(tuple(table.interpolated(h) for table in self.tables))


@dataclass(frozen=True, eq=False)
class Direct:
    """lambda(x) from point masses: it may have kinks where one of them meets an edge of the box."""

    placed: Placed
    reach: Interval
    size: int

    def __call__(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m r"]:
        z, weights = self.placed.rule(x.reshape(-1), self.size)
        unit = _to_unit(z, self.reach).clamp(-1, 1)
        averages = (weights[:, None, :] @ _chebyshev(unit, self.size)).squeeze(-2)
        return (averages @ _transform(self.size)).view(*x.shape[:-1], self.size)

    def times(
        self, M: Float[Tensor, "*batch r n"], accuracy: float = ROUNDING
    ) -> Callable[[Tensor], Tensor]:
        return Times(self, M)

    def interpolated(self, h: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return h


@lru_cache(maxsize=256)
def _tables(
    placed: Placed, span: Interval, reach: Interval, size: int
) -> tuple[Float[Tensor, " r"], tuple[Table, ...] | None]:
    """The nodes, and lambda(x) from kink to kink; None where it has no smooth pieces.

    Kept, since it depends on no lengthscale: a run computes it a few times only.
    """
    nodes = _from_unit(_points(size), reach)
    if not placed.smooth:
        return nodes, None
    if placed.kind == "replace":
        weights = expected_polynomials(placed, nodes[:1], reach, size) @ _transform(size)
        return nodes, (Table(span, weights),)
    ends = [span[0], *placed.kinks(span), span[1]]
    wide = [(a, b) for a, b in pairwise(ends) if b - a > 1e-9 * (span[1] - span[0])]
    return nodes, tuple(Table(piece, _coefficients(placed, piece, reach, size)) for piece in wide)


def _coefficients(
    placed: Placed, piece: Interval, reach: Interval, size: int
) -> Float[Tensor, "s r"]:
    """Of lambda(x) over a piece, until the last ones are rounding."""
    num = size if placed.polynomial else 2 * size
    while True:
        x = _from_unit(_points(num), piece)
        averages = expected_polynomials(placed, x, reach, size)
        coefficients = _transform(num) @ averages @ _transform(size)
        height = coefficients.abs().amax(-1)
        rounding = height <= ACCURACY * height.max()
        if placed.polynomial or rounding[-num // 8 :].all() or num >= MOST_COEFFICIENTS:
            return _without_rounding(coefficients)
        num = 2 * num


def _without_rounding(
    coefficients: Float[Tensor, "*batch s r"], accuracy: float = ROUNDING
) -> Float[Tensor, "*batch t r"]:
    """Without the last rows, if they are no more than rounding."""
    if not coefficients.numel():
        return coefficients
    height = coefficients.detach().abs().amax(-1).reshape(-1, coefficients.shape[-2]).amax(0)
    last = (height > accuracy * len(height) * height.max()).nonzero()
    return coefficients[..., : int(last.max()) + 1 if len(last) else 1, :]


def expected_polynomials(
    placed: Placed, x: Float[Tensor, " m"], reach: Interval, size: int
) -> Float[Tensor, "m r"]:
    """E T_k(z(x)) for k < size, T_k the Chebyshev polynomials over `reach`."""
    z, weights = placed.rule(x, size)
    unit = _to_unit(z, reach).clamp(-1, 1)
    before, now = torch.ones_like(unit), unit  # T_0, T_1
    averages = [(weights * before).sum(-1), (weights * now).sum(-1)]
    for _ in range(size - 2):
        before, now = now, 2 * unit * now - before
        averages.append((weights * now).sum(-1))
    return torch.stack(averages, dim=-1)


def _size(reach: Interval, lengthscale: float) -> int:
    """How many nodes an interval takes: a polynomial of degree r follows r / 2 waves over it."""
    waves = FREQUENCY * (reach[1] - reach[0]) / lengthscale / 2
    wanted = waves + 4 * waves ** (1 / 3) + 8
    return next((size for size in SIZES if size >= wanted), SIZES[-1])


def _points(num: int) -> Float[Tensor, " num"]:
    """Zeros of the Chebyshev polynomial of that degree."""
    return (math.pi * (torch.arange(num, dtype=torch.double) + 0.5) / num).cos()


@lru_cache(maxsize=64)
def _transform(num: int) -> Float[Tensor, "num num"]:
    """From values at the points to coefficients; T(z) times it are the cardinal polynomials."""
    k, theta = torch.arange(num, dtype=torch.double), _points(num).acos()
    matrix = 2 / num * (k[:, None] * theta).cos()
    matrix[0] /= 2
    return matrix


class _Chebyshev(torch.autograd.Function):
    """T_k(x) = cos(k arccos x), k < size, and T_k' = k sin(k theta) / sin(theta)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int) -> Tensor:
        k = torch.arange(size, dtype=x.dtype)
        theta = x.acos()
        ctx.save_for_backward(theta)
        ctx.size = size
        return (theta[..., None] * k).cos()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        (theta,) = ctx.saved_tensors
        # at the very ends k sin(k theta) / sin(theta) = +-k^2; a tiny angle gives the same
        theta = theta.clamp(1e-7, math.pi - 1e-7)
        k = torch.arange(ctx.size, dtype=theta.dtype)
        slope = k * (theta[..., None] * k).sin() / theta.sin()[..., None]
        return (upstream[0] * slope).sum(-1), None


_chebyshev: Callable[[Tensor, int], Tensor] = _Chebyshev.apply


def _to_unit(x: Tensor, interval: Interval) -> Tensor:
    low, high = interval
    return (2 * x - (low + high)) / (high - low)


def _from_unit(x: Tensor, interval: Interval) -> Tensor:
    low, high = interval
    return (low + high) / 2 + (high - low) / 2 * x
