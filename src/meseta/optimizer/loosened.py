"""How far one tolerance may be loosened before a goal is missed, or must be tightened to meet it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float
from scipy.optimize import brentq
from torch import Tensor

from meseta.gp.limited import surplus
from meseta.optimizer.cheapest import Search, Tolerance, wide_as_may_be
from meseta.space.formula import read_formula
from meseta.space.price import REACH, WIDTH, Price

# As logarithms: steps to wider noise and to narrower, from another design, and what is near enough.
WIDER, NARROWER, BESIDE, CLOSE = math.log(2), math.log(REACH) / 8, math.log(1.25), 0.004
SAME = 1.02  # a tolerance that may grow by less than this stays as it is
WIDEST = Price(read_formula(f"1 / {WIDTH}", WIDTH), (1 / REACH, REACH))  # the cheapest: the widest


class Loosened(NamedTuple):
    """How many times as wide as today a tolerance may be, all others as they are.

    From a tenth of today's to ten times as much; None: nothing in this range meets the goal.
    """

    kept: float | None  # with the design of today
    chosen: float | None  # with a design nearby that allows more


@dataclass(frozen=True, eq=False)
class Loosening:
    """Asks how wide single tolerances may be; with confidence None by the best guess."""

    search: Search
    confidence: float | None

    @cached_property
    def x(self) -> Float[Tensor, " d"]:
        """The design of today."""
        return self.search.put(self.search.first[:1])[0]

    @cached_property
    def today(self) -> float:
        """By how much it meets the goals; negative: it misses them."""
        return self._room(self.x, None)

    def of(self, name: str, column: int) -> Loosened:
        """How far one tolerance may go: the verdicts are exact, only the new design is not."""
        one = Tolerance(name, column, 1.0, WIDEST)

        def asked(x: Float[Tensor, " d"], factor: float) -> float:
            return self._room(x, self.search.times((one,), {name: factor}))

        kept = widest(lambda by: self.today if by == 1 else asked(self.x, by), 1.0)
        least = 1 / REACH if kept is None else kept
        nearby = wide_as_may_be(self.search, one, self.confidence, least)
        if kept == REACH or nearby is None or torch.equal(nearby.x, self.x):
            return Loosened(kept, kept)
        begin = min(max(nearby.factor, least), REACH)
        chosen = widest(lambda by: asked(nearby.x, by), begin, least, BESIDE, BESIDE)
        return Loosened(kept, kept if chosen is None else chosen)

    def _room(self, x: Float[Tensor, " d"], times: Float[Tensor, "1 d"] | None) -> float:
        goals = self.search.goals
        if self.confidence is None:
            each = [g.assessment.kept(x, times) - g.constraint.probability for g in goals]
            return min(each)
        return surplus([goal.assessment.at(x, times) for goal in goals], self.confidence)


def widest(
    room: Callable[[float], float],
    begin: float,
    least: float = 1 / REACH,
    wider: float = WIDER,
    narrower: float = NARROWER,
) -> float | None:
    """The widest factor with room: from `begin` upwards as far as there is, or else below it."""
    seen: dict[float, float] = {}

    def at(t: float) -> float:
        seen[t] = max(room(math.exp(t)), -1.0)  # a search between two of them needs finite values
        return seen[t]

    good = bad = math.log(begin)
    if at(good) >= 0:
        most = math.log(REACH)
        while good == bad:
            if good >= most:
                return REACH
            bad = min(good + wider, most)
            good = bad if at(bad) >= 0 else good
    else:
        end = math.log(least)
        while good == bad:
            if bad <= end:
                return None
            good = max(bad - narrower, end)
            bad = good if at(good) < 0 else bad
    brentq(at, good, bad, xtol=CLOSE)
    missed = min(t for t, found in seen.items() if found < 0 and t > good)
    return math.exp(max(t for t, found in seen.items() if found >= 0 and t < missed))
