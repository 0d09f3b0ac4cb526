"""What is observed at designs: f there; or f where the noise took the design, and nobody saw where.

Such a value is a noisy one of g(x) = E f(x + xi), and its covariances are those of g. Under another
law than that of g it is an average over draws of the noise. A few are enough: what they leave open
is small beside the variance of f(x + xi) itself, which each such value has.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.kernels import SmoothedKernel
from meseta.noise import NoiseLaw
from meseta.noise.draws import Draws, Places, clouds, draw

NODES, MORE_NODES = 16, 32  # draws of the noise that was not seen; where they are random
FEW_NODES = 8  # of them, for the likelihood of hyper-parameters

LogVariance = Callable[[Tensor], Tensor]  # (m, d) -> (m,)
Covariances = Callable[[Tensor], Tensor]  # (*, m, d) -> (*, m, n)


@dataclass(frozen=True, eq=False)
class Acting:
    """The noise that acts on experiments, and draws of it."""

    law: NoiseLaw
    draws: Draws

    @cached_property
    def few(self) -> Draws:
        return self.draws.portion(0, FEW_NODES)


def acting(law: NoiseLaw, d: int) -> Acting:
    """With the same draws each time.

    Random ones of a cloud of points get the mean and the standard deviations of the cloud.
    """
    at_random = clouds(law, d)
    found = draw(law, d, MORE_NODES if at_random else NODES, torch.Generator().manual_seed(0))
    shared = tuple(
        (dims, part, _like(part, drawn) if dims in at_random else drawn)
        for dims, part, drawn in found.shared
    )
    return Acting(law.in_dimension(d), replace(found, shared=shared))


def _like(law: NoiseLaw, drawn: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    std = law.covariance_matrix.diagonal().sqrt()
    scale = std / drawn.std(0, correction=0).clamp_min(1e-300)
    return law.mean + torch.where(std > 0, scale, 1.0) * (drawn - drawn.mean(0))


@dataclass(frozen=True, eq=False)
class Unseen:
    """Which of the rows the noise acted on unseen."""

    rows: Bool[Tensor, " n"]
    noise: Acting

    def some(self, chosen: Int[Tensor, " m"]) -> "Unseen":
        return Unseen(self.rows[chosen], self.noise)


class Coming(NamedTuple):
    """An observation that is yet to come: its variance around f(z), and whether z is seen."""

    variance: Float[Tensor, ""]
    log_variance: LogVariance | None = None  # where it depends on the design
    noise: Acting | None = None  # None: what is planned is carried out
    # the part of the variance that is no scatter in use: that of the gauge; None: all of it
    gauge: Callable[[], float] | None = None

    def variance_at(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        if self.log_variance is None:
            return self.variance.expand(len(x))
        return self.log_variance(x).exp()

    @property
    def scatters(self) -> bool:
        """Whether values in use scatter around f(z)."""
        if self.gauge is None:
            return False
        varies = self.log_variance is not None
        return self.gauge() < (math.inf if varies else float(self.variance))

    def scatter_at(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Return the variance of the values in use around f(z)."""
        gauge = math.inf if self.gauge is None else self.gauge()
        return (self.variance_at(x) - gauge).clamp_min(0.0)


@dataclass(frozen=True, eq=False)
class Observed:
    """The covariances of f and g with what is observed at X."""

    kernel: SmoothedKernel
    X: Float[Tensor, "n d"]
    unseen: Unseen | None = None  # None: f itself is observed everywhere

    @cached_property
    def places(self) -> Places | None:
        """Where the noise took the rows that it acted on; None: on none."""
        if self.unseen is None or not self.unseen.rows.any():
            return None
        return self.unseen.noise.draws(self._averaged)

    def k_f(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        """With f(x)."""
        kernel = self.kernel
        if self.places is None:
            return kernel.k_f(x, self.X)
        if self.own_law:
            of_averages = kernel.k_gf(self._averaged, x).mT
        else:
            of_averages = self._over_draws(kernel.k_f(x, self.places.z.flatten(0, 1)))
        return self._with_exact(of_averages, x, lambda x: kernel.k_f(x, self._exact))

    def k_g(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        """With g(x)."""
        kernel = self.kernel
        if self.places is None:
            return kernel.k_gf(x, self.X)
        if self.own_law:
            of_averages = kernel.k_g(x, self._averaged)
        else:
            of_averages = self._over_draws(kernel.k_gf(x, self.places.z.flatten(0, 1)))
        return self._with_exact(of_averages, x, lambda x: kernel.k_gf(x, self._exact))

    @cached_property
    def k_g_fixed(self) -> Covariances:
        """The same as a function of x alone; much cheaper, where X stays as it is."""
        kernel = self.kernel
        if self.places is None:
            return kernel.gf_with(self.X)
        of_exact = kernel.gf_with(self._exact) if len(self._exact) else None
        if self.own_law:
            of_averages = kernel.g_with(self._averaged)
            return lambda x: self._with_exact(of_averages(x), x, of_exact)
        of_draws = kernel.gf_with(self.places.z.flatten(0, 1))
        return lambda x: self._with_exact(self._over_draws(of_draws(x)), x, of_exact)

    @cached_property
    def own(self) -> Float[Tensor, "n n"]:
        """Between all of them, without what scatters each by itself."""
        if self.unseen is None or self.places is None:
            return in_blocks(self.k_f, self.X, len(self.X))
        size = max(len(self.X), self.places.weights.numel())
        if self.own_law:
            of_averages = in_blocks(self.k_g, self._averaged, size)
        else:
            of_averages = in_blocks(self.k_f, self.places.z.flatten(0, 1), size)
            of_averages = self._over_draws(of_averages.mT).mT
        K = of_averages
        if len(self._exact):
            K = torch.cat([in_blocks(self.k_f, self._exact, size), of_averages])[self._order]
        return (K + K.mT) / 2

    def _over_draws(self, k: Float[Tensor, "*batch p"]) -> Float[Tensor, "*batch u"]:
        assert self.places is not None
        weights = self.places.weights
        return (k.unflatten(-1, weights.shape) * weights).sum(-1)

    def _with_exact(
        self, of_averages: Tensor, x: Tensor, of_exact: Covariances | None
    ) -> Float[Tensor, "*batch m n"]:
        """Covariances of x with averages and with rows that are seen, in the order of X."""
        if of_exact is None or not len(self._exact):
            return of_averages
        return torch.cat([of_exact(x), of_averages], dim=-1)[..., self._order]

    @cached_property
    def own_law(self) -> bool:
        """Whether the noise that acts unseen is that of g."""
        assert self.unseen is not None
        return self.unseen.noise.law == self.kernel.law

    @cached_property
    def _exact(self) -> Float[Tensor, "s d"]:
        return self.X if self.unseen is None else self.X[~self.unseen.rows]

    @cached_property
    def _averaged(self) -> Float[Tensor, "u d"]:
        assert self.unseen is not None
        return self.X[self.unseen.rows]

    @cached_property
    def _order(self) -> Int[Tensor, " n"]:
        assert self.unseen is not None
        rows = self.unseen.rows
        return torch.cat([(~rows).nonzero(), rows.nonzero()])[:, 0].argsort()
