"""Nodes and weights of z(x), the value that a parameter really has: integrals over its density.

The number of nodes follows how far one looks and how fast the integrand varies there, whatever the
width of the law: a law a hundred times wider than the zone is as cheap as a narrow one.
"""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from meseta.noise.panels import Panels, panels
from meseta.noise.placed import TAIL, Interval, Placed

PANEL = 16  # Gauss-Legendre nodes
HALF_WAVES = 6  # of an integrand on one panel; the error is 2e-13
FOLDS = 64  # reflections from either wall that are followed; what comes from further is even
STILL = 1e-10  # a law narrower than this, in units of x, is a point


def rule(
    placed: Placed, x: Float[Tensor, " m"], resolution: int, zone: Interval | None
) -> tuple[Float[Tensor, "m k"], Float[Tensor, "m k"]]:
    """Nodes and weights of E h(z(x)); h has up to `resolution` half-waves in the zone."""
    atoms, masses = placed.law.atoms
    parts = [_points(placed, x, atoms[None], masses.expand(len(x), -1))]
    continuous = 1 - float(masses.sum())
    if continuous > 1e-12:
        parts += _spread(placed, x, resolution, zone, continuous)
    z = torch.cat([part[0] for part in parts], dim=-1)
    weights = torch.cat([part[1] for part in parts], dim=-1)
    if placed.edge == "truncate":
        weights = weights / weights.sum(-1, keepdim=True)
    return z, weights


def _spread(
    placed: Placed, x: Tensor, resolution: int, zone: Interval | None, continuous: float
) -> list[tuple[Tensor, Tensor]]:
    """The part of the law that has a density."""
    found = panels(placed.law, *placed.law.interval(TAIL), placed.law.breaks)
    low, high = _ends(placed, x, zone)
    core = torch.tensor([placed.law.interval(1e-3)], dtype=torch.double)
    free = replace(placed, edge="allow")
    still = (free.place(x, core).diff(dim=-1).abs() < STILL).double()
    z, steps = _legendre(placed, x, found, low, high, resolution, zone)
    weights = steps * _density(placed, x, z, found)
    # where the density is infinite, a panel as narrow as rounding counts as a point
    narrow = ~found.mass.isnan()
    middle = ((found.low + found.high) / 2)[narrow][None]
    points = _points(placed, x, middle, found.mass[narrow].expand(len(x), -1))
    if placed.edge == "reflect":
        missing = continuous - weights.sum(-1, keepdim=True) - found.mass[narrow].sum()
        share = steps * _slope(placed, placed.to_raw(z))
        weights = weights + missing.clamp_min(0) * share / share.sum(-1, keepdim=True)
    parts = [(z, weights), points]
    if placed.edge == "clip":
        parts.append(_clamped(placed, x, continuous))
    whole = [(nodes, shares * (1 - still)) for nodes, shares in parts]
    unmoved = _points(placed, x, placed.law.mean[None], continuous * still)
    return [*whole, unmoved]


def _legendre(
    placed: Placed,
    x: Tensor,
    found: Panels,
    low: Tensor,
    high: Tensor,
    resolution: int,
    zone: Interval | None,
) -> tuple[Tensor, Tensor]:
    """Gauss-Legendre nodes between low and high, on panels of the law and of the integrand."""
    pieces = max(1, math.ceil(resolution / HALF_WAVES))
    # as a Chebyshev polynomial over the zone has its zeros, or that over all places
    turns = (1 - (math.pi * torch.linspace(0, 1, pieces + 1, dtype=torch.double)).cos()) / 2
    first, last = (low[:, None], high[:, None]) if zone is None else zone
    mapped = placed.place(x, torch.cat([found.low, found.high[-1:]])[None])
    turning = (first + (last - first) * turns).expand(len(x), -1)
    ends = torch.cat([turning, mapped], dim=-1)
    ends = torch.minimum(torch.maximum(ends, low[:, None]), high[:, None]).sort(-1).values
    wide = (ends.diff(dim=-1) > 0).any(0)
    wide[0] = True  # one panel at least
    ends = ends[:, torch.cat([wide, wide.new_ones(1)])]
    node, weight = (torch.tensor(a) for a in leggauss(PANEL))
    half = (ends[:, 1:] - ends[:, :-1])[..., None] / 2
    return (ends[:, :-1, None] + half * (node + 1)).flatten(1), (half * weight).flatten(1)


def _ends(placed: Placed, x: Tensor, zone: Interval | None) -> tuple[Tensor, Tensor]:
    """Between which z the density is integrated, for every x."""
    if placed.edge != "allow":
        return torch.full_like(x, placed.box[0]), torch.full_like(x, placed.box[1])
    z = placed.place(x, torch.tensor([placed.law.interval(TAIL)], dtype=torch.double))
    low, high = z.amin(-1), z.amax(-1)
    return (low, high) if zone is None else (low.clamp(*zone), high.clamp(*zone))


def _density(placed: Placed, x: Tensor, z: Tensor, found: Panels) -> Float[Tensor, "m k"]:
    """The density of z(x), before a truncated range is rescaled."""
    raw, y = placed.to_raw(x)[:, None], placed.to_raw(z)
    slope = _slope(placed, y)
    stretch = placed.stretch(raw)
    if placed.edge != "reflect":
        return slope * _raw_density(placed, raw, y, stretch, found)
    width = placed.high - placed.low
    tails = torch.tensor([placed.law.interval(TAIL)], dtype=torch.double)
    furthest = float((placed.moved(raw, tails) - placed.low).abs().max()) / (2 * width)
    folds = math.ceil(min(FOLDS, furthest + 1))
    total = torch.zeros_like(z)
    for k in range(-folds, folds + 1):
        for image in (y, 2 * placed.low - y):
            total += _raw_density(placed, raw, image + 2 * k * width, stretch, found)
    return slope * total


def _slope(placed: Placed, y: Tensor) -> Tensor:
    """dy / dz."""
    return abs(placed.unit) * (y if placed.log else torch.ones_like(y))


def _raw_density(placed: Placed, raw: Tensor, y: Tensor, stretch: Tensor, found: Panels) -> Tensor:
    """The density of zeta where it leads to y, times |d zeta / d y|."""
    zeta = placed.zeta(raw, y, stretch)
    density = placed.law.pdf(zeta).nan_to_num(nan=0.0, posinf=0.0)
    narrow = ~found.mass.isnan()
    if narrow.any():  # those count as points
        density = torch.where(narrow[torch.bucketize(zeta, found.high[:-1])], 0.0, density)
    if placed.kind == "multiply":
        return torch.where(y > 0, density / y.clamp_min(1e-300), 0.0)
    return density * (1 / stretch.abs()).nan_to_num(posinf=0.0)


def _points(
    placed: Placed, x: Tensor, zeta: Tensor, masses: Float[Tensor, "m a"]
) -> tuple[Tensor, Tensor]:
    """Where point masses end up; those outside of a truncated range count no more."""
    z = placed.place(x, zeta)
    if placed.edge == "truncate":
        low, high = placed.box
        slack = 1e-12 * (high - low)
        masses = masses * ((z > low - slack) & (z < high + slack))
        z = z.clamp(low, high)
    return z, masses


def _clamped(placed: Placed, x: Tensor, continuous: float) -> tuple[Tensor, Tensor]:
    """The edges, and what of the density ends up on them."""
    raw = placed.to_raw(x)[:, None]
    ends = torch.tensor([placed.low, placed.high], dtype=torch.double)
    below = placed.law.cdf(placed.zeta(raw, ends))
    rising = placed.stretch(raw) >= 0
    lower = torch.where(rising, below[:, :1], continuous - below[:, :1])
    upper = torch.where(rising, continuous - below[:, 1:], below[:, 1:])
    masses = torch.cat([lower, upper], dim=-1).clamp_min(0)
    return torch.tensor([placed.box], dtype=torch.double).expand(len(x), -1), masses
