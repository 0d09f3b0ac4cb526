"""How far one tolerance may be loosened before a goal is missed, or must be tightened."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from meseta.gp.limited import Assessed, Limited, surplus
from meseta.optimizer.cheapest import LOOSENED, Search, Tolerance, wide_as_may_be
from meseta.optimizer.goals import deviations, margins
from meseta.space.formula import read_formula
from meseta.space.price import REACH, WIDTH, Price

# As logarithms of factors: the widest, those that are looked at to first order, what is near enough
MOST, CLOSE = math.log(REACH), 0.005
LITTLE = 0.02  # what another design has to allow more, to be worth a look
GRID = np.linspace(-MOST, MOST, 65)
GUIDED = 6  # questions where margins to first order lead, before what is open is halved
WIDEST = Price(read_formula(f"1 / {WIDTH}", WIDTH), (1 / REACH, REACH))  # the cheapest: the widest


class Loosened(NamedTuple):
    """How many times as wide as today a tolerance may be, all others as they are.

    From a tenth of today's to ten times as much; None: nothing in this range meets the goal.
    """

    kept: float | None  # with the design of today
    chosen: float | None  # with a design nearby that allows more

    def at_least(self, other: "Loosened") -> "Loosened":
        """With a design that was found for the other one, where none as good was found."""
        if other.chosen is None or (self.chosen is not None and self.chosen >= other.chosen):
            return self
        return self._replace(chosen=other.chosen)


@dataclass(frozen=True, eq=False)
class Loosening:
    """Asks how wide single tolerances may be; with confidence None by the best guess."""

    search: Search
    confidence: float | None

    def of(self, name: str, column: int) -> Loosened:
        """How far one tolerance may go.

        The verdicts are those of exact draws; the design nearby is found to first order.
        """
        one = Tolerance(name, column, 1.0, WIDEST)
        asked = self._asked(one, self.x)
        found = asked.widest(0.0)
        kept = None if found is None else math.exp(found)
        least = -MOST if found is None else found
        limits, by, off = self.limits, self.by, asked.off
        nearby = wide_as_may_be(self.search, one, limits, by, math.exp(least), off)
        more = least if found is None else found + LITTLE
        if nearby is None or nearby.t <= more or more >= MOST:
            return Loosened(kept, kept)
        wider = self._asked(one, nearby.x, off).widest(min(nearby.t, MOST), more)
        return Loosened(kept, kept if wider is None else math.exp(wider))

    @cached_property
    def x(self) -> Float[Tensor, " d"]:
        """The design of today."""
        return self.search.put(self.search.first[:1])[0]

    @cached_property
    def today(self) -> float:
        """By how much it meets the goals; negative: it misses them."""
        if self.confidence is None:
            return self._room(self.x, None)
        return surplus(self.assessed, self.confidence)

    @cached_property
    def assessed(self) -> tuple[Assessed, ...]:
        """How it meets them."""
        return self.search.assessed(self.x, (), {})

    @cached_property
    def by(self) -> float:
        """By how many standard deviations a goal is to be met to first order."""
        return 0.0 if self.confidence is None else deviations(self.confidence, len(self.limits))

    @cached_property
    def limits(self) -> list[Limited]:
        generator = torch.Generator().manual_seed(self.search.seed)
        return [goal.limited(LOOSENED, generator) for goal in self.search.goals]

    def _room(self, x: Float[Tensor, " d"], times: Float[Tensor, "1 d"] | None) -> float:
        each = [goal.assessment for goal in self.search.goals]
        if self.confidence is None:
            return min(one.best_guess(x, times) for one in each)
        return surplus([one.at(x, times) for one in each], self.confidence)

    @torch.no_grad()
    def _asked(self, one: Tolerance, x: Float[Tensor, " d"], off: float = 0.0) -> "Asked":
        factors = torch.ones(len(GRID), len(x), dtype=torch.double)
        factors[:, one.column] = torch.from_numpy(GRID).exp()
        guide = margins(self.limits, x.expand(len(GRID), -1), self.by, factors).amin(0).numpy()

        def room(t: float) -> float:
            if t == 0 and x is self.x:
                return self.today
            return self._room(x, self.search.times((one,), {one.name: math.exp(t)}))

        return Asked(room, guide, off)


@dataclass(eq=False)
class Asked:
    """The room that goals leave, by the logarithm of a factor; negative: they are missed.

    Margins to first order lead to where it ends; `off` is by how much they were off there.
    """

    room: Callable[[float], float]
    guide: Float64[np.ndarray, " g"]
    off: float = 0.0

    def widest(self, begin: float, least: float = -MOST) -> float | None:
        """The widest with room: from `begin` upwards as far as there is, or else below it."""
        good: float | None = None
        bad: float | None = None
        at = begin
        for number in itertools.count():
            found = self.room(at)
            if math.isfinite(found):
                self.off = found - float(np.interp(at, GRID, self.guide))
            good, bad = (at, bad) if found >= 0 else (good, at)
            low, high = least if good is None else good, MOST if bad is None else bad
            if high - low <= CLOSE:
                break
            end = self._end(low, high, upwards=good is not None)
            if found >= 0 and end - low <= CLOSE:
                break
            at = max(end - CLOSE / 2, low if good is None else low + CLOSE)
            if number >= GUIDED or (bad is not None and end >= bad):
                at = (low + high) / 2
            if good is None and at - low <= CLOSE:
                at = low
            elif bad is None and high - at <= CLOSE:
                at = high
        return good

    def _end(self, low: float, high: float, *, upwards: bool) -> float:
        """Where the room ought to end between two places, seen from the lower one or the other."""
        t = np.linspace(low, high, len(GRID))
        expected = np.interp(t, GRID, self.guide) + self.off
        kept = expected >= 0
        if kept.all():
            return high
        if not kept.any():
            return low
        i = int((~kept).argmax()) if upwards else int(kept.nonzero()[0][-1]) + 1
        if i == 0:
            return low
        if i == len(t):
            return high
        share = expected[i - 1] / (expected[i - 1] - expected[i])
        return float(t[i - 1] + share * (t[i] - t[i - 1]))
