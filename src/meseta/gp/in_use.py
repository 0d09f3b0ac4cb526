"""What a design is worth in use: its values by the best guess of f, and by what f may be.

The noise scatters the values; that the model does not know f is another thing. A statistic of the
values is taken of the mean of f, the best guess, and of each of many samples of f: by how much
these differ is what is not known about it. The samples are exact joint draws of f at the places
that the noise takes the design to, and of g, with draws of the hyper-parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.gp.decisive import decisive
from meseta.gp.exact_draws import draw_f, draw_g_and_f, stratified
from meseta.gp.joint import JointPosterior
from meseta.gp.measured import draws_for
from meseta.gp.mixture import Mixture
from meseta.measures import Measure
from meseta.measures.capability import BEYOND
from meseta.measures.measure import Room
from meseta.noise import NoiseLaw
from meseta.noise.draws import Draws, draw

SAMPLES, FEW, MANY = 512, 256, 2**14  # of f; draws of the noise for these, and for the mean of f
NEXT = 16  # draws next to a limit
CLOSER = 2  # times as many draws for the mean of f, where small shares are looked at
TINY = 1e-300

Statistic = Callable[[Tensor, Tensor], Tensor]  # of weighted values: (..., m) and (m,) -> (...)


class Counted(NamedTuple):
    """What the draws of the noise leave open of a share of the values."""

    off: float  # by how much it may be wrong where f is known
    samples: Float[Tensor, " s"]  # by the few draws alone


class Taken(NamedTuple):
    """A statistic of the values in use."""

    best: Float[Tensor, ""]  # by the best guess of f
    samples: Float[Tensor, " s"]  # by each sample of f
    share: "Counted | None" = None  # where it is a share of the values
    by_guess: bool = False  # whether the best guess is its mean, as curves have it

    @property
    def mean(self) -> float:
        return float(self.best if self.by_guess else self.samples.mean())

    @property
    def std(self) -> float:
        return float((self.samples - self.mean).square().mean().sqrt())

    def between(self) -> tuple[float, float]:
        """Return the 95 % interval. Infinite values have no neighbours to interpolate with."""
        ends = torch.tensor([0.025, 0.975], dtype=torch.double)
        how = "linear" if bool(self.samples.isfinite().all()) else "nearest"
        low, high = self.samples.quantile(ends, interpolation=how).tolist()
        if self.share is None:
            return low, high
        # a sample that keeps, or breaks, a limit at all of its draws may do so everywhere
        off, (least, most) = self.share.off, self.share.samples.quantile(ends).tolist()
        low, high = min(low, least), max(high, most)
        smaller = min(1.0, low / max(float(self.best), TINY)) ** 0.5  # as the error of counts
        return max(0.0, low - smaller * off), min(1.0, high + off)


@dataclass(frozen=True, eq=False)
class InUse:
    """The values of one design."""

    g: Float[Tensor, " s"]  # their mean, by each sample of f, exactly
    values: Float[Tensor, "s k"]  # at a few draws of the noise
    few: Float[Tensor, " k"]  # how much each of these counts
    guess: Float[Tensor, " k"]  # the mean of f there
    best: Float[Tensor, " m"]  # and at many draws
    weights: Float[Tensor, " m"]
    best_g: Float[Tensor, ""]

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "InUse":
        """With all values changed, such as to the units of a user."""
        g, values, guess, best, best_g = map(
            change, (self.g, self.values, self.guess, self.best, self.best_g)
        )
        return InUse(g, values, self.few, guess, best, self.weights, best_g)

    def of(self, statistic: Statistic) -> Taken:
        """Of the samples only what they differ from the mean of f (control variates)."""
        known = statistic(self.best, self.weights)
        off = known - statistic(self.guess, self.few)
        return Taken(known, statistic(self.values, self.few) + off)

    def measure(self, measure: Measure) -> Taken:
        """A measure of the values; the mean of them, which it may be around, is known exactly."""
        if measure.room is not None:
            fails = self.without(measure.room)
            assert fails.share is not None
            kept = Counted(fails.share.off, 1 - fails.share.samples)
            return Taken(1 - fails.best, 1 - fails.samples, kept)
        if not measure.around_mean:
            return self.of(measure.exactly)

        def rest(values: Tensor, weights: Tensor) -> Tensor:
            return measure.exactly(values, weights) - (values * weights).sum(-1)

        taken = self.of(rest)
        return Taken(self.best_g + taken.best, self.g + taken.samples)

    def without(self, room: Room) -> Taken:
        """Return the share of the values that have no room left, from 0 to 1."""

        def broken(values: Tensor, weights: Tensor) -> Tensor:
            return (weights * (room(values) < 0)).sum(-1)

        known, drawn = broken(self.best, self.weights), broken(self.values, self.few)
        # of what a sample and the best guess have in common the share is known better
        common = (room(self.values) < 0) & (room(self.guess) < 0)
        square = self.few.square()
        at_guess = float(broken(self.guess, square))
        alike = (square * common).sum(-1) / max(at_guess, TINY)
        samples = drawn + alike * (known - broken(self.guess, self.few))
        by, weights = room(self.best), self.weights
        fails = (by < 0).double()
        off = 2 * float((weights * (fails - weights @ fails)).norm())
        if fails.sum() < 3:
            nearest = by.sort().indices[:NEXT]
            off += 3 * float(weights[nearest].mean())
        return Taken(known, samples.clamp(0, 1), Counted(off, drawn))


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Draws of the noise, by which single designs are seen in use; the same for all designs."""

    mixture: Mixture
    few: Draws
    many: Draws
    seed: int
    num: int
    law: NoiseLaw  # of the draws

    @torch.no_grad()
    def around(self, x: Float[Tensor, " d"], rooms: Sequence[Room]) -> "Rehearsal":
        """Draw anew around the places that decide whether this design has room."""
        generator = torch.Generator().manual_seed(self.seed)
        centers = decisive(self.mixture, self.law, x, rooms, generator)
        posterior = self.mixture.heaviest
        few, many = (
            draw(self.law, len(x), num, generator, BEYOND, posterior.scatters, centers)
            for num in (len(self.few.counts), CLOSER * len(self.many.counts))
        )
        return replace(self, few=few, many=many)

    @torch.no_grad()
    def at(self, x: Float[Tensor, " d"], factors: Float[Tensor, "1 d"] | None = None) -> InUse:
        """A design in use; with `factors` by noise that is so many times as wide.

        The mean g of the samples stays that of today's noise.
        """
        generator = torch.Generator().manual_seed(self.seed)
        few = self.few(x[None], factors)
        z, promised = few.z[0], self.mixture.promised
        drawn = []
        for part, num in shared(promised, self.num):
            g, f = draw_g_and_f(part, x, z, num, generator)
            drawn.append((g, self.few.in_use(f[:, None], part.scatter(x[None]))[:, 0]))
        # in any order, so that two outcomes have nothing to do with each other
        order = torch.randperm(self.num, generator=generator)
        g, values = (torch.cat(each)[order] for each in zip(*drawn, strict=True))
        best, weights = self.best_guess(x, factors)
        guess, best_g = self.mixture.mean_f(z), self.mixture.mean_g(x[None])[0]
        guess = self.few.in_use(guess[None], self.mixture.scatter(x[None]))[0]
        return InUse(g, values, few.weights[0], guess, best, weights, best_g)

    @torch.no_grad()
    def best_guess(
        self, x: Float[Tensor, " d"], factors: Float[Tensor, "1 d"] | None = None
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """The values by the best guess of f, and how much each of them counts."""
        places, mixture = self.many(x[None], factors), self.mixture
        values = in_blocks(mixture.mean_f, places.z[0], len(mixture.heaviest.X))
        return self.many.in_use(values[None], mixture.scatter(x[None]))[0], places.weights[0]


def shared(mixture: Mixture, num: int) -> list[tuple[JointPosterior, int]]:
    """Parts of a mixture, and how many of so many samples each of them has."""
    shares = zip(mixture.parts, mixture.shares(num), strict=True)
    return [(part, share) for part, share in shares if share]


def sampled_f(
    mixture: Mixture, z: Float[Tensor, "m d"], num: int, generator: torch.Generator
) -> Float[Tensor, "num m"]:
    """Samples of f at all places together, with draws of the hyper-parameters."""
    drawn = [draw_f(part, z, share, generator) for part, share in shared(mixture.promised, num)]
    return torch.cat(drawn)


@torch.no_grad()
def mean_in_use(mixture: Mixture, x: Float[Tensor, " d"], num: int = SAMPLES) -> Taken:
    """The mean of f(x + xi), by samples of g alone."""
    generator = torch.Generator().manual_seed(0)
    drawn = []
    for part, share in shared(mixture.promised, num):
        moments = part.moments(x[None])
        drawn.append(moments.m_g + moments.v_g.sqrt() * stratified(share, generator))
    return Taken(mixture.mean_g(x[None])[0], torch.cat(drawn), by_guess=True)


def rehearsal(
    mixture: Mixture,
    measure: Measure | float,
    generator: torch.Generator,
    num: int = SAMPLES,
    num_few: int = FEW,
    num_many: int = MANY,
    law: NoiseLaw | None = None,
) -> Rehearsal:
    """For a measure, or for statistics that look at this share of the values, on either side.

    Args:
        mixture: The posterior of f, and the law of the noise.
        measure: The smaller the share, the more of the draws are far out.
        generator: Of the samples and the draws.
        num: Samples of f.
        num_few: Draws of the noise for these.
        num_many: Draws of the noise for the mean of f.
        law: Another law; what the data say of f does not depend on it. None: that of the posterior.
    """
    posterior = mixture.heaviest
    acting, d = law or posterior.kernel.law, posterior.X.shape[1]

    def draws(num: int) -> Draws:
        if isinstance(measure, Measure):
            return draws_for(measure, acting, d, num, generator, posterior.scatters)
        return draw(acting, d, num, generator, measure, posterior.scatters)

    seed = int(torch.randint(2**62, (1,), generator=generator))
    return Rehearsal(mixture, draws(num_few), draws(num_many), seed, num, acting)
