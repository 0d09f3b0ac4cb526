"""The kernel by its frequencies: how noise without a closed form is smoothed when it is added to x.

With S the spectral density of the kernel and phi the characteristic function of the noise,

    k_gf(x, x') = int S(omega) Re[phi(omega) exp(i omega (x - x'))] d omega
    k_g(x, x')  = int S(omega) |phi(omega)|^2 cos(omega (x - x')) d omega.

Heavy tails only bend phi near 0, where the panels get narrower by themselves. Both are scalar
products of features, so f and g have one joint law whatever the number of frequencies.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Complex, Float
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from meseta.kernels.chebyshev import ROUNDING, Interval, Table, interpolated
from meseta.kernels.shapes import SHAPES
from meseta.kernels.stationary import Shape, StationaryKernel
from meseta.noise import NoiseLaw
from meseta.space.sobol import unit_sobol

ORDER = 16  # Gauss-Legendre points on a panel of frequencies
LEVELS = 40  # bisections of a panel, at most
MOST_FREQUENCIES = 2**15
MOST_HALF_WAVES = 2**13  # over the span
CHUNK = 2**22  # features held at once: 32 MiB
# Half of the phase that an exponential may turn on a panel: the rule is exact to rounding.
TURN = 7.0
TOLERANCE = 1e-13  # what characteristic functions are accurate to


def frequencies(
    kernel: StationaryKernel, num: int, generator: torch.Generator
) -> Float[Tensor, "num d"]:
    """omega with density the Fourier transform of k_f / variance, quasi-randomly."""
    u = unit_sobol(len(kernel.shapes), num, generator).clamp(1e-15, 1 - 1e-15)
    columns = [SHAPES[name].quantile(u[:, i]) for i, name in enumerate(kernel.shapes)]
    return torch.stack(columns, dim=1) / kernel.lengthscale


class Frequencies(NamedTuple):
    """A rule over frequencies from 0 on; `error` is what is left of it, for a flat density."""

    omega: Float[Tensor, " q"]
    step: Float[Tensor, " q"]
    phi: Complex[Tensor, " q"]
    error: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One dimension with z = share x + xi; share is 1, or 0 for an environment variable."""

    share: float
    span: Interval
    law: NoiseLaw
    omega: Float[Tensor, " q"]
    amplitude: Float[Tensor, " q"]  # sqrt(S(omega) d omega)
    phi: Complex[Tensor, " q"]
    error: float  # of k_gf and k_g, as shares of the prior variance

    def gf(
        self, A: Float[Tensor, "*#batch m 1"], B: Float[Tensor, "*#batch n 1"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._of_g(A) @ self._of_f(B).mT

    def g(
        self, A: Float[Tensor, "*#batch m 1"], B: Float[Tensor, "*#batch n 1"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._of_g(A) @ self._of_g(B).mT

    def gf_with(self, B: Float[Tensor, "n 1"]) -> Callable[[Tensor], Tensor]:
        """gf as a function of A alone, at a fraction of the cost."""
        return self._tabulated(self._of_f(B).mT)

    def g_with(self, B: Float[Tensor, "n 1"]) -> Callable[[Tensor], Tensor]:
        return self._tabulated(self._of_g(B).mT)

    def at_same_point(
        self, x: Float[Tensor, "m 1"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """gf(x, x) and g(x, x) for each x."""
        gf = (self._of_g(x) * self._of_f(x)).sum(-1) if self.share == 0 else self._zero[0]
        return gf.expand(len(x)), self._zero[1].expand(len(x))

    def waves_with(self, omega: Float[Tensor, "features 1"]) -> Callable[[Tensor], Tensor]:
        """E exp(i omega z(x)) for an environment variable: real parts, then imaginary ones."""
        phi = self.law.characteristic(omega)
        return Table(self.span, torch.cat([phi.real, phi.imag])[None])

    def moments(self, x: Float[Tensor, "m 1"]) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Mean and variance of z(x)."""
        mean, variance = self.law.mean, self.law.covariance_matrix[0]
        return self.share * x[:, 0] + mean, variance.expand(len(x))

    @cached_property
    def _zero(self) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """gf and g where x and x' are the same, for noise that is added."""
        power = self.amplitude.square()
        return power @ self.phi.real, power @ self.phi.abs().square()

    def _of_f(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m features"]:
        phase = x * self.omega
        return torch.cat([self.amplitude * phase.cos(), self.amplitude * phase.sin()], dim=-1)

    def _of_g(self, x: Float[Tensor, "*batch m 1"]) -> Float[Tensor, "*batch m features"]:
        phase = self.share * x * self.omega
        c, s = self.amplitude * phase.cos(), self.amplitude * phase.sin()
        real, imaginary = self.phi.real, self.phi.imag
        return torch.cat([real * c - imaginary * s, real * s + imaginary * c], dim=-1)

    def _tabulated(self, M: Float[Tensor, "features n"]) -> Table:
        half_waves = self.share * float(self.omega.max()) * (self.span[1] - self.span[0]) / 2
        first = max(1, math.ceil(half_waves + 4 * half_waves ** (1 / 3) + 8)) if half_waves else 1
        accuracy = max(ROUNDING, 1e-3 * self.error)
        at_once = max(1, CHUNK // M.shape[0])

        def h(x: Tensor) -> Tensor:
            return torch.cat([self._of_g(part) @ M for part in x.split(at_once)])

        return interpolated(h, self.span, first, 2 * first, accuracy)[0]


def spectrum(
    shape: Shape, lengthscale: float, law: NoiseLaw, share: float, span: Interval
) -> Spectrum:
    """The smoothing of one dimension of the kernel; `span` holds all designs and data."""
    # rounded to few values, so that the rule of a law is found in the cache after the next fit
    highest = 2 ** (math.ceil(2 * math.log2(shape.highest / lengthscale)) / 2)
    highest = min(highest, MOST_HALF_WAVES / (span[1] - span[0]))
    while True:
        rule = _frequencies(law, share, span, highest, shape.halvings)
        if rule is not None:
            break
        highest /= 2
    scaled = rule.omega * lengthscale
    power = shape.spectral_density(scaled) * lengthscale * rule.step
    # a feature that no covariance notices
    kept = power * rule.phi.abs() > 1e-18
    kept[0] = True
    cut_off = shape.beyond(highest * lengthscale) * float(rule.phi[-ORDER:].abs().max())
    return Spectrum(
        share,
        span,
        law,
        rule.omega[kept],
        power[kept].sqrt(),
        rule.phi[kept],
        cut_off + rule.error * lengthscale * highest,
    )


@lru_cache(maxsize=256)
def _frequencies(
    law: NoiseLaw, share: float, span: Interval, highest: float, halvings: int
) -> Frequencies | None:
    """Panels of frequencies, halved until that changes no integral; None: there are too many."""
    delta = torch.tensor(
        [share * x - b for x in span for b in span if share or x == span[0]], dtype=torch.double
    )
    furthest = float(delta.abs().max())
    pieces = max(4, math.ceil(highest * furthest / (2 * TURN)))
    even = torch.linspace(0, highest, pieces + 1, dtype=torch.double)
    narrower = highest * 2.0 ** -torch.arange(2, 2 + halvings, dtype=torch.double)
    ends = torch.cat([even, narrower]).unique()
    a, b = ends[:-1], ends[1:]
    whole = _integrals(law, delta, share, a, b)
    found, error, count = [], 0.0, 0
    for level in range(LEVELS):
        middle = (a + b) / 2
        left = _integrals(law, delta, share, a, middle)
        right = _integrals(law, delta, share, middle, b)
        off = (left.value + right.value - whole.value).abs().amax(-1) / highest
        fine = off <= TOLERANCE * (b - a) / highest + 1e-15
        if level == LEVELS - 1:
            fine = torch.ones_like(fine)
        error += float(off[fine].sum())
        found.append((whole.omega[fine], whole.step[fine], whole.phi[fine]))
        count += int(fine.sum()) * ORDER
        if fine.all():
            break
        if count + 2 * int((~fine).sum()) * ORDER > MOST_FREQUENCIES:
            return None
        a, b = torch.cat([a[~fine], middle[~fine]]), torch.cat([middle[~fine], b[~fine]])
        halves = zip(left, right, strict=True)
        whole = _Integrals(*(torch.cat([p[~fine], q[~fine]]) for p, q in halves))
    omega, step, phi = (torch.cat(column).reshape(-1) for column in zip(*found, strict=True))
    order = omega.argsort()
    return Frequencies(omega[order], step[order], phi[order], error)


class _Integrals(NamedTuple):
    value: Complex[Tensor, "panels tests"]
    omega: Float[Tensor, "panels order"]
    step: Float[Tensor, "panels order"]
    phi: Complex[Tensor, "panels order"]


def _integrals(law: NoiseLaw, delta: Tensor, share: float, low: Tensor, high: Tensor) -> _Integrals:
    """int phi exp(i omega delta) and int |phi|^2 exp(i omega share delta) over panels."""
    node, weight = (torch.tensor(x) for x in leggauss(ORDER))
    half = (high - low)[:, None] / 2
    omega, step = low[:, None] + half * (1 + node), half * weight
    phi = law.characteristic(omega.reshape(-1, 1)).view(omega.shape)
    wave = torch.exp(1j * omega[..., None] * delta)
    power = phi.abs().square()[..., None] * torch.exp(1j * share * omega[..., None] * delta)
    both = torch.cat([phi[..., None] * wave, power], dim=-1)
    return _Integrals((step[..., None] * both).sum(1), omega, step, phi)
