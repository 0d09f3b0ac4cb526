"""Noise that depends on the design: the value z(x) that a parameter really has when x is set."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from meseta.noise.law import OneDimensional, unscented
from meseta.noise.normal import Normal
from meseta.noise.sums import Sum
from meseta.noise.words import law_in_words

Kind = Literal["shift", "relative", "multiply", "width", "replace"]
Edge = Literal["allow", "clip", "reflect", "truncate"]
Interval = tuple[float, float]

# The mass of the tails that are left out.
TAIL = 1e-13
# The least share of the mass that a truncated range must hold; a law with less is a mistake.
LEAST_INSIDE = 1e-3
# The share of the range up to which the tails of a law only matter near the ends.
NARROW = 0.2
TRIES = 2**14  # draws at once until one is inside


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

    def in_words(self, unit: str) -> str:
        words = law_in_words(self.law, unit)
        if self.kind == "replace":
            return f"environment: {words}"
        edge = "" if self.edge == "allow" else f", {self.edge} at the ends of the range"
        return words + edge

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple["Placed"]:
        return (self,)

    def as_added(self) -> Sum:
        """The law of an environment variable in units of x, where nothing but its scale changes."""
        scaled = self.law.scaled(torch.tensor([1 / self.unit], dtype=torch.double))
        return Sum([scaled, Normal(0.0, mean=-self.offset / self.unit)])

    @property
    def smooth(self) -> bool:
        """Whether E h(z(x)) is smooth in x for every smooth h."""
        return self.edge == "allow" or not len(self.law.atoms[0])

    @property
    def mean(self) -> Float[Tensor, " 1"]:
        """The mean of z - x in the middle of the range."""
        return _middle(self)[0].clone()

    @property
    def covariance_matrix(self) -> Float[Tensor, "1 1"]:
        """The variance of z in the middle of the range."""
        return _middle(self)[1][:, None].clone()

    def in_dimension(self, dimension: int) -> "Placed":
        if dimension != 1:
            raise ValueError(f"{self} is the noise of one parameter, but x has {dimension}")
        return self

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Placed":
        return replace(self, offset=self.offset * float(scale), unit=self.unit / float(scale))

    def in_units(self, offset: float, width: float) -> "Placed":
        """This law for (x - offset) / width in place of x."""
        return replace(self, offset=self.offset + self.unit * offset, unit=self.unit * width)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        """Draws of z - x in the middle of the range; `sample_at` for any x."""
        x = self.center.expand(num)
        return (self.sample_at(x, generator) - x)[:, None]

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """E exp(i omega (z - x)) in the middle of the range."""
        z, weights = self.rule(self.center, 64)
        phase = omega * (z - self.center)
        return torch.complex((weights * phase.cos()).sum(-1), (weights * phase.sin()).sum(-1))

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points 1"], Float[Tensor, " points"]]:
        """Sigma points of z - x in the middle of the range."""
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)

    def place(self, x: Float[Tensor, " m"], zeta: Float[Tensor, "#m k"]) -> Float[Tensor, "m k"]:
        """z(x) for given zeta; what a truncated range excludes is not excluded here."""
        y = self.moved(self.to_raw(x)[:, None], zeta)
        if self.edge == "clip":
            y = y.clamp(self.low, self.high)
        elif self.edge == "reflect":
            y = _reflected(y, self.low, self.high)
        return self.from_raw(y)

    def rule(
        self, x: Float[Tensor, " m"], resolution: int, zone: Interval | None = None
    ) -> tuple[Float[Tensor, "m k"], Float[Tensor, "m k"]]:
        """Nodes and weights of E h(z(x)) for every x.

        h has up to `resolution` half-waves in the zone.

        Places beyond the zone are left out; without one, tails of 1e-13.
        """
        from meseta.noise.places import rule  # which knows this class

        return rule(self, x, resolution, zone)

    def reach(self, span: Interval, tail: float = TAIL) -> Interval:
        """An interval that holds z(x) for every x in `span`, up to tails of this mass."""
        if self.edge != "allow":
            return self.box
        x = torch.linspace(*span, 65, dtype=torch.double)
        z = self.place(x, torch.tensor([self.law.interval(tail)], dtype=torch.double))
        low, high = float(z.min()), float(z.max())
        margin = 0.01 * max(high - low, 1e-9)
        return low - margin, high + margin

    @property
    def box(self) -> Interval:
        """low and high in the units of x."""
        low, high = self.from_raw(self._edges).tolist()
        return low, high

    def inside(self, x: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
        """The probability that z(x) would lie within low and high, were there no edges."""
        ends = self.zeta(self.to_raw(x)[:, None], self._edges).sort(-1).values
        mass = self.law.cdf(ends[:, 1]) - self.law.cdf(ends[:, 0])
        atoms, masses = self.law.atoms
        slack = 1e-12 * (1 + ends.abs())
        held = (atoms >= (ends - slack)[:, :1]) & (atoms <= (ends + slack)[:, 1:])
        return mass + (held * masses).sum(-1)

    def sample_at(self, x: Float[Tensor, " m"], generator: torch.Generator) -> Float[Tensor, " m"]:
        """One z(x) for each x."""
        z = self.place(x, self.law.sample(len(x), generator))[:, 0]
        if self.edge != "truncate":
            return z
        low, high = self.box
        slack = 1e-12 * (high - low)
        # no design has less than LEAST_INSIDE of the mass inside: exp(-20) are left after these
        for _ in range(round(20 / LEAST_INSIDE)):
            out = ((z < low - slack) | (z > high + slack)).nonzero().flatten()
            if not len(out):
                break
            # several tries at once where few are left
            tries = max(1, TRIES // len(out))
            again = self.law.sample(len(out) * tries, generator).view(len(out), tries)
            places = self.place(x[out], again)
            inside = (places >= low - slack) & (places <= high + slack)
            first = inside.to(torch.uint8).argmax(-1, keepdim=True)
            z[out] = places.gather(1, first)[:, 0]
        return z.clamp(low, high)

    def kinks(self, span: Interval) -> list[float]:
        """Where in the span E h(z(x)) may have kinks, or begin to change as fast as the law.

        That is where a jump of the density, or the end of its tails, meets an edge.
        """
        if self.edge == "allow" or self.kind == "replace":
            return []
        # the tails of a wide law change as slowly as all of it
        ends = self.law.interval(1e-15)
        reach = float(self.place(self.center, torch.tensor([ends]).double()).diff().abs())
        tails = ends if reach < NARROW * (self.box[1] - self.box[0]) else ()
        breaks = torch.tensor([*self.law.breaks, *tails], dtype=torch.double)
        folds = torch.arange(-4, 6) if self.edge == "reflect" else torch.arange(2)
        edges = self.low + (self.high - self.low) * folds.double()

        def side(x: Tensor) -> Tensor:
            zeta = self.zeta(self.to_raw(x)[:, None], edges)
            return (zeta[:, None, :] > breaks[:, None]).flatten(1)

        x = torch.linspace(*span, 257, dtype=torch.double)
        sides = side(x)
        row, column = (sides[:-1] != sides[1:]).nonzero(as_tuple=True)
        a, c, before = x[row], x[row + 1], sides[row, column]
        for _ in range(60):
            middle = (a + c) / 2
            left = side(middle)[torch.arange(len(row)), column] == before
            a, c = torch.where(left, middle, a), torch.where(left, c, middle)
        return sorted(((a + c) / 2).tolist())

    def moved(self, raw: Float[Tensor, "m 1"], zeta: Float[Tensor, "#m k"]) -> Float[Tensor, "m k"]:
        """The raw value that zeta makes of raw, before any edge."""
        if self.kind == "multiply":
            return raw * zeta.exp()
        if self.kind == "replace":
            return zeta.expand(len(raw), -1)
        return raw + self.stretch(raw) * zeta

    def stretch(self, raw: Float[Tensor, "m 1"]) -> Float[Tensor, "m 1"]:
        """How far the raw value moves for a unit of zeta, to first order."""
        if self.kind in ("relative", "multiply"):
            return raw
        return self._width(raw) if self.kind == "width" else torch.ones_like(raw)

    def zeta(
        self, raw: Float[Tensor, "m 1"], y: Tensor, stretch: Float[Tensor, "m 1"] | None = None
    ) -> Float[Tensor, "m k"]:
        """The zeta that leads from raw to y."""
        if self.kind == "multiply":
            zeta = (y / raw).clamp_min(1e-300).log()
        elif self.kind == "replace":
            zeta = y.expand(len(raw), -1)
        else:
            zeta = (y - raw) / (self.stretch(raw) if stretch is None else stretch)
        return zeta.nan_to_num(0.0, posinf=1e300, neginf=-1e300)

    def to_raw(self, x: Tensor) -> Tensor:
        u = self.offset + self.unit * x
        return u.exp() if self.log else u

    def from_raw(self, y: Tensor) -> Tensor:
        # what cannot be on a logarithmic scale was refused; only far tails are cut off here
        u = y.clamp_min(1e-6 * self.low).log() if self.log else y
        return (u - self.offset) / self.unit

    @property
    def center(self) -> Float[Tensor, " 1"]:
        return self.from_raw(self._edges).mean(0, keepdim=True)

    @property
    def _edges(self) -> Float[Tensor, " 2"]:
        return torch.tensor([self.low, self.high], dtype=torch.double)

    def _width(self, raw: Tensor) -> Tensor:
        assert self.width is not None
        return _width(raw, self.width, 1e-5 * (self.high - self.low))


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
    """y reflected at low and high until it lies between them."""
    width = high - low
    turn = (y - low).remainder(2 * width)
    return low + torch.where(turn > width, 2 * width - turn, turn)
