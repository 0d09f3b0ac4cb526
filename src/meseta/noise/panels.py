"""Panels on which a polynomial stands for the density of a noise law, and integrals over them."""

from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float
from numpy.polynomial.legendre import leggauss, legvander
from torch import Tensor

from meseta.noise.bessel import spherical_bessel
from meseta.noise.law import wave

ORDER = 16  # Gauss-Legendre points that must integrate the density over a panel
DEGREE = 31  # of the Legendre series of the density on a panel: what 2 x 16 points resolve
LEVELS = 50  # bisections until a panel has the width of a rounding error
# Intervals with these masses outside: their ends are the first panels.
TAILS = (1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.3)
# Off the middle, so that a kink at the centre of symmetry does not hide on an edge.
SPLIT = 0.4877
EPSILON = torch.finfo(torch.double).eps


@runtime_checkable
class Density(Protocol):
    """The part of a law that panels need. Moments are not in it: they may be computed by panels."""

    def __hash__(self) -> int: ...

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]: ...

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]: ...

    def interval(self, tail: float) -> tuple[float, float]: ...


class Panels(NamedTuple):
    """Intervals side by side; `mass` where the density cannot be resolved, nan where it can."""

    low: Float[Tensor, " panels"]
    high: Float[Tensor, " panels"]
    mass: Float[Tensor, " panels"]


@lru_cache(maxsize=256)
def panels(law: Density, low: float, high: float, breaks: tuple[float, ...]) -> Panels:
    """Panels from low to high, with edges at the breaks, split until that changes no mass.

    Where the density is infinite or jumps at an unknown place, panels get as narrow as a rounding
    error, and their mass is taken from the distribution function.
    """
    ends = [end for tail in TAILS for end in law.interval(tail)]
    inner = {end for end in [*ends, *breaks] if low < end < high}
    edges = torch.tensor(sorted({low, high, *inner}), dtype=torch.double)
    a, b = edges[:-1], edges[1:]
    mass = _mass(law, a, b)
    found = []
    for _ in range(LEVELS):
        middle = a + SPLIT * (b - a)
        left, right = _mass(law, a, middle), _mass(law, middle, b)
        error = (left + right - mass).abs()
        # a density is no smoother than its argument, which is rounded
        rounding = 4 * EPSILON * torch.maximum(a.abs(), b.abs()) / (b - a)
        # 1e-24: nothing in double precision, even at the weight of a high moment
        fine = (error <= (1e-13 + rounding) * mass) | (error <= 1e-24)
        fine &= _no_jump_at_the_ends(law, a, b)
        found.append((a[fine], b[fine]))
        a, b = torch.cat([a[~fine], middle[~fine]]), torch.cat([middle[~fine], b[~fine]])
        mass = torch.cat([left[~fine], right[~fine]])
        if not len(a):
            break
    found.append((a, b))
    low_ends, order = torch.cat([panel[0] for panel in found]).sort()
    high_ends = torch.cat([panel[1] for panel in found])[order]
    return Panels(low_ends, high_ends, _unresolved_mass(law, low_ends, high_ends))


def _no_jump_at_the_ends(law: Density, low: Tensor, high: Tensor) -> Bool[Tensor, " panels"]:
    """Whether the density goes on as a polynomial where no Gauss point looks, next to an edge."""
    points, _ = _legendre_points(low, high, ORDER)
    density = _density(law, points)
    t, _ = leggauss(ORDER)
    # Lagrange interpolation by the Legendre matrix, which Gauss points leave well conditioned
    ends = np.array([-1, 1]) * (1 - 1e-6)
    to_ends = np.linalg.solve(legvander(t, ORDER - 1).T, legvander(ends, ORDER - 1).T)
    at_ends = low[:, None] + (high - low)[:, None] / 2 * (1 + torch.tensor(ends))
    off = (density @ torch.tensor(to_ends) - _density(law, at_ends)).abs().amax(-1)
    return off <= 1e-3 * density.amax(-1)


def _unresolved_mass(law: Density, low: Tensor, high: Tensor) -> Float[Tensor, " panels"]:
    """The mass of narrow panels by the distribution function, where the density gives another."""
    mass = torch.full_like(low, torch.nan)
    narrow = high - low <= 1e-11 * (high[-1] - low[0])
    a, b = low[narrow], high[narrow]
    exact = law.cdf(b) - law.cdf(a)
    wrong = (exact - _mass(law, a, b)).abs() > 1e-15
    mass[narrow] = torch.where(wrong, exact, torch.nan)
    return mass


def narrowest(found: Panels, width: float) -> list[float]:
    """Where panels get narrower than this: the middle of the narrowest of each such group."""
    size = found.high - found.low
    places: list[float] = []
    group: list[int] = []
    for i, narrow in enumerate([*(size < width).tolist(), False]):
        if narrow:
            group.append(i)
        elif group:
            best = min(group, key=lambda j: float(size[j]))
            places.append(float(found.low[best] + found.high[best]) / 2)
            group = []
    return places


def composite(
    law: Density, found: Panels, order: int
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Points and weights of E h(xi) over the panels: Gauss-Legendre times the density."""
    points, weights = _weighted_points(law, found, order)
    return points.reshape(-1), weights.reshape(-1)


def _weighted_points(
    law: Density, found: Panels, order: int
) -> tuple[Float[Tensor, "panels order"], Float[Tensor, "panels order"]]:
    points, steps = _legendre_points(found.low, found.high, order)
    weights = steps * _density(law, points)
    # where the mass is known better, the weights have it; evenly where the density says nothing
    even = steps / (found.high - found.low)[:, None]
    share = torch.where(weights.sum(-1, keepdim=True) > 0, weights, even)
    mended = found.mass[:, None] * share / share.sum(-1, keepdim=True)
    return points, torch.where(found.mass.isnan()[:, None], weights, mended)


def wave_over_panels(
    law: Density, found: Panels, omega: Float[Tensor, " m"]
) -> Complex[Tensor, " m"]:
    """int exp(i omega x) pdf(x) dx, for every omega alike.

    On each panel the density is a Legendre series, and the wave times P_k has the integral
    int_-1^1 P_k(t) exp(i kappa t) dt = 2 i^k j_k(kappa), j_k the spherical Bessel function.
    """
    _, weights = _weighted_points(law, found, DEGREE + 1)
    t, _ = leggauss(DEGREE + 1)
    k = np.arange(DEGREE + 1)
    # c_k i^k with c_k = (2k + 1) / 2 int P_k(t) pdf dt, here with the panel's half-width in it
    polynomials = torch.tensor(legvander(t, DEGREE) * (2 * k + 1))
    series = (weights @ polynomials) * torch.tensor(1j**k)
    center, half_width = (found.low + found.high) / 2, (found.high - found.low) / 2
    total = torch.zeros(len(omega), dtype=torch.cdouble)
    for start in range(0, len(omega), 256):  # so that memory stays bounded
        part = omega[start : start + 256]
        bessel = spherical_bessel(torch.outer(part, half_width), DEGREE)
        values = torch.complex(
            torch.einsum("kmp,pk->mp", bessel, series.real),
            torch.einsum("kmp,pk->mp", bessel, series.imag),
        )
        total[start : start + 256] = (wave(torch.outer(part, center)) * values).sum(-1)
    return total


def _mass(law: Density, low: Tensor, high: Tensor) -> Float[Tensor, " panels"]:
    points, steps = _legendre_points(low, high, ORDER)
    return (steps * _density(law, points)).sum(-1)


def _density(law: Density, points: Tensor) -> Tensor:
    """Points on a pole are left out: the panels around it are as narrow as a rounding error."""
    return law.pdf(points).nan_to_num(nan=0.0, posinf=0.0)


def _legendre_points(
    low: Tensor, high: Tensor, order: int
) -> tuple[Float[Tensor, "panels order"], Float[Tensor, "panels order"]]:
    t, weights = (torch.tensor(a) for a in leggauss(order))
    half = (high - low)[:, None] / 2
    return low[:, None] + half * (1 + t), half * weights
