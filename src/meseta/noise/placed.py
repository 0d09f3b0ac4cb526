"""Perturbations that depend on the design: where a value x of a parameter really ends up."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import torch
from jaxtyping import Complex, Float
from numpy.polynomial.legendre import leggauss
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.noise.gauss import gauss_rule
from meseta.noise.law import OneDimensional, unscented
from meseta.noise.panels import composite, panels

Kind = Literal["shift", "relative", "multiply", "width", "replace"]
Edge = Literal["allow", "clip", "reflect", "truncate"]

# Mass of the tails that is left out: none to speak of, unless the law has heavy ones. Then what
# lies beyond the second share and two spans further still is too far from every design to tell
# or to learn anything, and counts as lost.
TAIL, HEAVY_TAIL, FAR = 1e-13, 1e-5, 2.0
PANEL = 16  # Gauss-Legendre nodes
FOLDS = 10  # reflections from the walls that are followed


@dataclass(frozen=True)
class Placed:
    """z(x) for one parameter, zeta ~ law:

    shift     x + zeta            relative  x (1 + zeta)       multiply  x exp(zeta)
    width     x + width(x) zeta   replace   zeta, whatever x is: an environment variable

    and then `edge`: what happens beyond low and high. All that in raw values; x and z themselves
    are (raw - offset) / unit, or (log raw - offset) / unit with `log`.
    """

    law: OneDimensional
    kind: Kind
    low: float
    high: float
    edge: Edge = "allow"
    width: Callable[[float], float] | None = None
    log: bool = False
    offset: float = 0.0
    unit: float = 1.0

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple["Placed"]:
        return (self,)

    @property
    def smooth(self) -> bool:
        """Whether E h(z(x)) is smooth in x for every smooth h."""
        return self.edge == "allow" or not len(self.law.atoms[0])

    @property
    def polynomial(self) -> bool:
        """Whether E h(z(x)) is a polynomial in x of the same degree as h."""
        return self.kind in ("shift", "relative") and self.edge == "allow" and not self.log

    @property
    def mean(self) -> Float[Tensor, " 1"]:
        """Of z - x in the middle of the range."""
        return _middle(self)[0].clone()

    @property
    def covariance_matrix(self) -> Float[Tensor, "1 1"]:
        """Of z in the middle of the range."""
        return _middle(self)[1][:, None].clone()

    def in_dimension(self, dimension: int) -> "Placed":
        if dimension != 1:
            raise ValueError(f"{self} is the noise of one parameter, but x has {dimension}")
        return self

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Placed":
        return replace(self, offset=self.offset * float(scale), unit=self.unit / float(scale))

    def in_units(self, offset: float, width: float) -> "Placed":
        """The same for (x - offset) / width in place of x."""
        return replace(self, offset=self.offset + self.unit * offset, unit=self.unit * width)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        """Of z - x in the middle of the range; `sample_at` for any x."""
        x = self.center.expand(num)
        return (self.sample_at(x, generator) - x)[:, None]

    def nodes(self, num: int) -> tuple[Float[Tensor, "num 1"], Float[Tensor, " num"]]:
        """Of z - x in the middle of the range."""
        z, weights = self.rule(self.center, num)
        nodes, share = gauss_rule(z[0] - self.center, weights[0], num)
        return nodes[:, None], share

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """Of z - x in the middle of the range."""
        z, weights = self.rule(self.center, 64)
        phase = omega * (z - self.center)
        return torch.complex((weights * phase.cos()).sum(-1), (weights * phase.sin()).sum(-1))

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points 1"], Float[Tensor, " points"]]:
        """Around the middle of the range."""
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)

    def place(self, x: Float[Tensor, " m"], zeta: Float[Tensor, "#m k"]) -> Float[Tensor, "m k"]:
        """z(x) for given zeta; what a truncated range excludes is not excluded here."""
        raw = self._to_raw(x)[:, None]
        if self.kind == "shift":
            y = raw + zeta
        elif self.kind == "relative":
            y = raw * (1 + zeta)
        elif self.kind == "multiply":
            y = raw * zeta.exp()
        elif self.kind == "width":
            y = raw + self._width(raw) * zeta
        else:
            y = zeta.expand(len(raw), -1)
        if self.edge == "clip":
            y = y.clamp(self.low, self.high)
        elif self.edge == "reflect":
            y = _reflected(y, self.low, self.high)
        return self._from_raw(y)

    def rule(
        self, x: Float[Tensor, " m"], resolution: int
    ) -> tuple[Float[Tensor, "m k"], Float[Tensor, "m k"]]:
        """Nodes and weights of E h(z(x)), for every x; exact for h with that many half-waves."""
        zeta, weights = self._zeta_rule(x, resolution)
        z = self.place(x, zeta)
        if self.edge == "truncate":
            low, high = self._from_raw(torch.tensor([self.low, self.high], dtype=torch.double))
            slack = 1e-12 * (high - low)
            weights = weights * ((z > low - slack) & (z < high + slack))
            mass = weights.sum(-1, keepdim=True)
            # a design from which nothing ends up inside stays at the edge
            lost = mass < 1e-12
            z = torch.where(lost, x[:, None].clamp(low, high), z.clamp(low, high))
            weights = torch.where(lost, 1 / weights.shape[-1], weights / mass.clamp_min(1e-300))
        return z, weights

    def reach(self, span: tuple[float, float]) -> tuple[float, float]:
        """An interval that holds z(x) for every x in `span`, up to tails that do not count."""
        x = torch.linspace(*span, 65, dtype=torch.double)
        zeta = torch.tensor([self._interval()], dtype=torch.double)
        z = torch.cat([self.place(x, zeta).reshape(-1), self.place(x, 0 * zeta).reshape(-1)])
        low, high = float(z.min()), float(z.max())
        margin = 0.01 * max(high - low, 1e-9)
        return low - margin, high + margin

    def sample_at(self, x: Float[Tensor, " m"], generator: torch.Generator) -> Float[Tensor, " m"]:
        """One z(x) for each x."""
        zeta = self.law.sample(len(x), generator)
        z = self.place(x, zeta)[:, 0]
        if self.edge != "truncate":
            return z
        low, high = self._from_raw(torch.tensor([self.low, self.high], dtype=torch.double))
        for _ in range(1000):
            out = ((z < low) | (z > high)).nonzero().flatten()
            if not len(out):
                break
            z[out] = self.place(x[out], self.law.sample(len(out), generator))[:, 0]
        return z.clamp(low, high)

    def _zeta_rule(self, x: Tensor, resolution: int) -> tuple[Tensor, Tensor]:
        if self.polynomial:
            nodes, weights = self._gauss(resolution // 2 + 1)
            return nodes.expand(len(x), -1), weights.expand(len(x), -1)
        return self._panels(x, resolution)

    def _gauss(self, num: int) -> tuple[Float[Tensor, "1 k"], Float[Tensor, "1 k"]]:
        """Exact for polynomials of degree 2 num - 1."""
        atoms, masses = self.law.atoms
        low, high = self._interval()
        if not self._atoms_only:
            dense, weights = composite(
                self.law, panels(self.law, low, high, self.law.breaks), num + PANEL
            )
            atoms, masses = torch.cat([atoms, dense]), torch.cat([masses, weights])
        nodes, weights = gauss_rule(atoms, masses, num)
        return nodes[None], weights[None]

    def _panels(self, x: Tensor, resolution: int) -> tuple[Tensor, Tensor]:
        """Gauss-Legendre on pieces on which the integrand is smooth, and the point masses."""
        atoms, masses = self.law.atoms
        low, high = self._interval()
        if self._atoms_only:
            return atoms.expand(len(x), -1), masses.expand(len(x), -1)
        found = panels(self.law, low, high, self.law.breaks)
        pieces = math.ceil(0.4 * resolution * self._rounds(low, high)) + 2
        even = torch.linspace(low, high, pieces, dtype=torch.double)
        inner = torch.cat([found.low, found.high[-1:], even]).unique()
        ends = torch.cat([inner.expand(len(x), -1), self._crossings(x).clamp(low, high)], dim=-1)
        ends = ends.sort(-1).values
        node, weight = (torch.tensor(a) for a in leggauss(PANEL))
        half = (ends[:, 1:] - ends[:, :-1])[..., None] / 2
        zeta = ends[:, :-1, None] + half * (node + 1)
        weights = half * weight * self.law.pdf(zeta)
        # where the density is infinite, a panel as narrow as rounding counts as a point
        narrow = ~found.mass.isnan()
        panel = torch.bucketize(zeta, found.high[:-1])
        weights = torch.where(narrow[panel], 0.0, weights)
        points = torch.cat([atoms, ((found.low + found.high) / 2)[narrow]])
        masses = torch.cat([masses, found.mass[narrow]])
        return (
            torch.cat([zeta.flatten(1), points.expand(len(x), -1)], dim=-1),
            torch.cat([weights.flatten(1), masses.expand(len(x), -1)], dim=-1),
        )

    @property
    def _atoms_only(self) -> bool:
        return float(self.law.atoms[1].sum()) > 1 - 1e-12

    def _rounds(self, low: float, high: float) -> float:
        """How often zeta from low to high would lead through the range, were there no edges."""
        if self.edge == "allow":
            return 1.0
        ends = torch.tensor([self.low, self.high], dtype=torch.double)
        x = self._from_raw(ends)
        free = replace(self, edge="allow").place(x, torch.tensor([[low, high]]).double())
        return max(1.0, float((free[:, 1] - free[:, 0]).abs().max() / (x[1] - x[0])))

    def kinks(self, span: tuple[float, float]) -> list[float]:
        """Where in the span E h(z(x)) may have kinks: where a jump of the density meets an edge."""
        breaks = torch.tensor(self.law.breaks, dtype=torch.double)
        x = torch.linspace(*span, 257, dtype=torch.double)
        if self.edge == "allow" or self.kind == "replace" or not len(breaks):
            return []
        low, high = x[:-1, None], x[1:, None]
        found = []
        for b in breaks:
            side = self._crossings(x) > b
            row, column = (side[:-1] != side[1:]).nonzero(as_tuple=True)
            a, c = low[row, 0], high[row, 0]
            for _ in range(60):
                middle = (a + c) / 2
                above = (self._crossings(middle) > b)[torch.arange(len(row)), column]
                left = above == side[row, column]
                a, c = torch.where(left, middle, a), torch.where(left, c, middle)
            found += ((a + c) / 2).tolist()
        return sorted(found)

    def _crossings(self, x: Tensor) -> Float[Tensor, "m k"]:
        """The zeta that lead from x to an edge, or to where a reflection turns round."""
        if self.edge == "allow":
            return torch.empty(len(x), 0, dtype=torch.double)
        folds = torch.arange(FOLDS if self.edge == "reflect" else 1) * (self.high - self.low)
        edges = torch.cat([self.low - folds, self.high + folds]).double()
        raw = self._to_raw(x)[:, None]
        if self.kind == "shift":
            zeta = edges - raw
        elif self.kind == "relative":
            zeta = edges / raw - 1
        elif self.kind == "multiply":
            zeta = (edges / raw).clamp_min(1e-300).log()
        elif self.kind == "width":
            zeta = (edges - raw) / self._width(raw)
        else:
            zeta = edges.expand(len(x), -1)
        return zeta.nan_to_num(0.0, posinf=1e300, neginf=-1e300)

    def _interval(self) -> tuple[float, float]:
        """Where zeta is looked at."""
        (low, high), (near, far) = self.law.interval(TAIL), self.law.interval(HEAVY_TAIL)
        further = FAR * max(self.high - self.low, far - near)
        return max(low, near - further), min(high, far + further)

    def _to_raw(self, x: Tensor) -> Tensor:
        u = self.offset + self.unit * x
        return u.exp() if self.log else u

    def _from_raw(self, y: Tensor) -> Tensor:
        # what cannot be on a logarithmic scale was refused; only far tails are cut off here
        u = y.clamp_min(1e-6 * self.low).log() if self.log else y
        return (u - self.offset) / self.unit

    def _width(self, raw: Tensor) -> Tensor:
        assert self.width is not None
        return _width(raw, self.width, 1e-5 * (self.high - self.low))

    @property
    def center(self) -> Float[Tensor, " 1"]:
        ends = self._from_raw(torch.tensor([self.low, self.high], dtype=torch.double))
        return ends.mean(0, keepdim=True)


@lru_cache(maxsize=1024)
def _middle(placed: Placed) -> tuple[Float[Tensor, " 1"], Float[Tensor, " 1"]]:
    """Mean and variance of z - x in the middle of the range; kept, since they are asked often."""
    x = placed.center
    z, weights = placed.rule(x, 16)
    mean = (weights * z).sum(-1)
    return mean - x, (weights * (z - mean).square()).sum(-1)


class _Width(torch.autograd.Function):
    """A function of floats, asked value by value; its slope by central differences."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, width: Callable[[float], float], step: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.width, ctx.step = width, step
        return _each(width, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        rise = _each(ctx.width, x + ctx.step) - _each(ctx.width, x - ctx.step)
        return upstream[0] * rise / (2 * ctx.step), None, None


_width: Callable[[Tensor, Callable[[float], float], float], Tensor] = _Width.apply


def _each(width: Callable[[float], float], x: Tensor) -> Tensor:
    values = [float(width(value)) for value in x.reshape(-1).tolist()]
    return torch.tensor(values, dtype=torch.double).view(x.shape)


def _reflected(y: Tensor, low: float, high: float) -> Tensor:
    """Thrown back by the walls, as often as it takes."""
    width = high - low
    turn = (y - low).remainder(2 * width)
    return low + torch.where(turn > width, 2 * width - turn, turn)
