"""What is observed at designs: f there; or f where the noise took the design, and nobody saw where.

Such a value is a noisy one of g(x) = E f(x + xi), averaged over `Draws` of the noise. These are
enough: what a few of them leave open is small beside the variance of f(x + xi) itself, which each
such value has.
"""

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

LogVariance = Callable[[Tensor], Tensor]  # (m, d) -> (m,)


@dataclass(frozen=True, eq=False)
class Unseen:
    """Which of the rows the noise acted on, and how it acts."""

    rows: Bool[Tensor, " n"]
    draws: Draws

    def some(self, chosen: Int[Tensor, " m"]) -> "Unseen":
        return Unseen(self.rows[chosen], self.draws)


def draws_of(law: NoiseLaw, d: int) -> Draws:
    """The draws of the noise that acts in experiments; the same ones each time.

    Random ones of a cloud of points get the mean and the standard deviations of the cloud.
    """
    at_random = clouds(law, d)
    found = draw(law, d, MORE_NODES if at_random else NODES, torch.Generator().manual_seed(0))
    shared = tuple(
        (dims, part, _like(part, drawn) if dims in at_random else drawn)
        for dims, part, drawn in found.shared
    )
    return replace(found, shared=shared)


def _like(law: NoiseLaw, drawn: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    std = law.covariance_matrix.diagonal().sqrt()
    scale = std / drawn.std(0, correction=0).clamp_min(1e-300)
    return law.mean + torch.where(std > 0, scale, 1.0) * (drawn - drawn.mean(0))


class Coming(NamedTuple):
    """An observation that is yet to come: its variance around f(z), and whether z is seen."""

    variance: Float[Tensor, ""]
    log_variance: LogVariance | None = None  # where it depends on the design
    draws: Draws | None = None  # None: what is planned is carried out

    def variance_at(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        if self.log_variance is None:
            return self.variance.expand(len(x))
        return self.log_variance(x).exp()


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
        return self.unseen.draws(self.X[self.unseen.rows])

    def k_f(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        """With f(x)."""
        return self._averaged(x, self.kernel.k_f)

    def k_g(self, x: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        """With g(x)."""
        return self._averaged(x, self.kernel.k_gf)

    @cached_property
    def k_g_fixed(self) -> Callable[[Tensor], Tensor]:
        """The same as a function of x alone; much cheaper, where X stays as it is."""
        with_points = self.kernel.gf_with(self._points)
        return lambda x: self._summed(with_points(x))

    @cached_property
    def own(self) -> Float[Tensor, "n n"]:
        """Between all of them, without what scatters each by itself."""
        of_points = in_blocks(self.k_f, self._points, len(self._points))
        return self._summed(of_points.mT).mT

    def of(self, function: Callable[[Tensor], Tensor]) -> Float[Tensor, "*batch n"]:
        """What is observed of a function: its values at X, or averages around."""
        return self._summed(function(self._points))

    @property
    def _points(self) -> Float[Tensor, "p d"]:
        """All places: those of rows that are seen, then all draws of one row after another."""
        if self.unseen is None or self.places is None:
            return self.X
        return torch.cat([self.X[~self.unseen.rows], self.places.z.flatten(0, 1)])

    def _summed(self, k: Float[Tensor, "*batch p"]) -> Float[Tensor, "*batch n"]:
        """From all places to rows."""
        if self.unseen is None or self.places is None:
            return k
        weights = self.places.weights
        seen = k.shape[-1] - weights.numel()
        averages = (k[..., seen:].unflatten(-1, weights.shape) * weights).sum(-1)
        return torch.cat([k[..., :seen], averages], dim=-1)[..., self._order]

    def _averaged(self, x: Tensor, covariance: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        return self._summed(covariance(x, self._points))

    @cached_property
    def _order(self) -> Int[Tensor, " n"]:
        assert self.unseen is not None
        rows = self.unseen.rows
        return torch.cat([(~rows).nonzero(), rows.nonzero()])[:, 0].argsort()
