"""The values of a design in use: those of the best guess of f, and those of what f may be.

The noise scatters the values; that the model does not know f is another thing. A statistic of the
values is taken of the mean of f, the best guess, and of each of many paths of f: by how much these
differ is what is not known about it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.gp.joint import JointPosterior
from meseta.gp.mixture import Mixture
from meseta.gp.paths import SamplePaths, sample_paths
from meseta.noise.draws import Draws, draw

PATHS, FEATURES, FEW, MANY = 128, 500, 2048, 2**14  # draws: for the paths, and for the mean of f

NEXT = 16  # draws next to a limit

Statistic = Callable[[Tensor, Tensor], Tensor]  # of weighted values: (..., m) and (m,) -> (...)
Room = Callable[[Tensor], Tensor]  # from each value to a limit, negative beyond it


class Taken(NamedTuple):
    """A statistic of the values in use."""

    best: Float[Tensor, ""]  # by the best guess of f
    paths: Float[Tensor, " paths"]  # by each path of f


class PartInUse(NamedTuple):
    """The values at the draws of the paths, and those of the mean at many draws."""

    values: Float[Tensor, "paths k"]
    mean: Float[Tensor, " k"]
    weights: Float[Tensor, " k"]
    of_many: Float[Tensor, " m"]


@dataclass(frozen=True, eq=False)
class InUse:
    """The values of one design."""

    parts: tuple[PartInUse, ...]
    best: Float[Tensor, " m"]  # the mean of f at many draws
    weights: Float[Tensor, " m"]

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "InUse":
        """With all values changed, such as to the units of a user."""
        parts = [
            PartInUse(change(p.values), change(p.mean), p.weights, change(p.of_many))
            for p in self.parts
        ]
        return InUse(tuple(parts), change(self.best), self.weights)

    def of(self, statistic: Statistic) -> Taken:
        """Of the paths by few draws only what they differ from the mean of f (control variates)."""
        paths = [
            statistic(part.values, part.weights)
            - statistic(part.mean, part.weights)
            + statistic(part.of_many, self.weights)
            for part in self.parts
        ]
        return Taken(statistic(self.best, self.weights), torch.cat(paths))

    def without(self, room: Room) -> Taken:
        """The share of the values that have no room left, from 0 to 1."""
        taken = self.of(lambda values, weights: (weights * (room(values) < 0)).sum(-1))
        return Taken(taken.best.clamp(0, 1), taken.paths.clamp(0, 1))

    def left_open(self, room: Room) -> float:
        """By how much that share may be off because of the draws, where the mean of f is known."""
        by, weights = room(self.best), self.weights
        fails = (by < 0).double()
        off = 2 * float((weights * (fails - weights @ fails)).norm())
        if fails.sum() >= 3:
            return off
        nearest = by.sort().indices[:NEXT]
        return off + 3 * float(weights[nearest].mean())  # the rule of three


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Paths of f and draws of the noise, by which single designs are seen in use."""

    mixture: Mixture
    parts: tuple[tuple[JointPosterior, SamplePaths], ...]  # those that have paths
    few: Draws
    many: Draws

    @torch.no_grad()
    def at(self, x: Float[Tensor, " d"]) -> InUse:
        few, many = self.few(x[None]), self.many(x[None])
        z = many.z[0]
        means = [in_blocks(part.mean_f, z, len(part.X)) for part in self.mixture.parts]
        of_many = dict(zip(map(id, self.mixture.parts), means, strict=True))
        seen = [
            PartInUse(paths.f(few.z[0]), part.mean_f(few.z[0]), few.weights[0], of_many[id(part)])
            for part, paths in self.parts
        ]
        best = torch.stack([w * m for w, m in zip(self.mixture.weights, means, strict=True)])
        return InUse(tuple(seen), best.sum(0), many.weights[0])


def between(share: Taken, off: float) -> tuple[float, float]:
    """The 95 % interval of a share that the draws may have `off` wrong."""
    ends = torch.tensor([0.025, 0.975], dtype=torch.double)
    low, high = share.paths.quantile(ends).tolist()
    best = float(share.best)
    return max(0.0, min(low, best) - off), min(1.0, max(high, best) + off)


def rehearsal(
    mixture: Mixture,
    tail: float,
    generator: torch.Generator,
    num_paths: int = PATHS,
    num_few: int = FEW,
    num_many: int = MANY,
) -> Rehearsal:
    """For statistics that look at this share of the values, on either side.

    Args:
        mixture: The posterior of f, and the law of the noise.
        tail: The smaller it is, the more of the draws are far out.
        generator: Of the paths and the draws.
        num_paths: Paths of f.
        num_few: Draws of the noise for these.
        num_many: Draws of the noise for the mean of f.
    """
    posterior = mixture.heaviest
    law, d = posterior.kernel.law, posterior.X.shape[1]
    parts = [
        (part, sample_paths(part, num, FEATURES, generator))
        for part, num in zip(mixture.parts, mixture.shares(num_paths), strict=True)
        if num
    ]
    few, many = (draw(law, d, num, generator, tail) for num in (num_few, num_many))
    return Rehearsal(mixture, tuple(parts), few, many)
