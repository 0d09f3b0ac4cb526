"""How far one tolerance may be loosened before a goal is missed."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.limited import sure_of
from meseta.optimizer.cheapest import Search, Tolerance, wide_as_may_be
from meseta.optimizer.goals import deviations, margins
from meseta.space.formula import read_formula
from meseta.space.price import REACH, WIDTH, Price

KEPT = 1024  # draws of the noise, which the design of today is looked at with
STEPS = 33  # factors that are looked at, and a second time between two of them
WIDEST = Price(read_formula(f"1 / {WIDTH}", WIDTH), (1 / REACH, REACH))  # the cheapest: the widest


LESS = (1.0, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1)  # what sample paths may leave of a factor


class Loosened(NamedTuple):
    """How many times as wide as today a tolerance may be, all others as they are.

    From a tenth of today's to ten times as much; None: not even a tenth meets the goal.
    """

    kept: float | None  # with the design of today
    chosen: float | None  # with a design nearby that allows more


def loosened(search: Search, name: str, column: int, confidence: float | None) -> Loosened:
    """With this confidence; None: by the best guess. Margins are to first order."""
    by = 0.0 if confidence is None else deviations(confidence, len(search.goals))
    kept = _kept(search, column, by)
    if kept is not None and confidence is not None:
        kept = _checked(search, name, column, kept, confidence)
    begin = 1 / REACH if kept is None else kept
    found = wide_as_may_be(search, Tolerance(name, column, 1.0, WIDEST), confidence, begin)
    if found is None or (kept is not None and found < kept):  # the search missed it
        found = kept
    return Loosened(kept, None if found is None else min(found, REACH))


def _checked(
    search: Search, name: str, column: int, factor: float, confidence: float
) -> float | None:
    """The same or a little less, where sample paths are sure of it as well."""
    x, one = search.put(search.first[:1])[0], Tolerance(name, column, 1.0, WIDEST)
    for less in LESS:
        found = search.assessed(x, (one,), {name: less * factor})
        if less * factor >= 1 / REACH and sure_of(found) >= confidence:
            return less * factor
    return None


def _kept(search: Search, column: int, by: float) -> float | None:
    """The widest that the recommended design allows; nothing in between is missed either."""
    x = search.put(search.first[:1])
    generator = torch.Generator().manual_seed(search.seed)
    limits = [goal.limited(KEPT, generator) for goal in search.goals]

    @torch.no_grad()
    def met(t: Float[Tensor, " m"]) -> Tensor:
        factors = torch.ones(len(t), x.shape[1], dtype=torch.double)
        factors[:, column] = t.exp()
        return (margins(limits, x.expand(len(t), -1), by, factors) >= 0).all(0)

    most = math.log(REACH)
    t = torch.linspace(-most, most, STEPS, dtype=torch.double)
    good = met(t)
    if not bool(good.any()):
        return None
    # from today on upwards as far as all is well; where today is not, the widest that is
    today = STEPS // 2
    place = today if bool(good[today]) else int(good.nonzero().max())
    while place + 1 < STEPS and bool(good[place + 1]):
        place += 1
    if place + 1 == STEPS:
        return REACH
    between = torch.linspace(float(t[place]), float(t[place + 1]), STEPS, dtype=torch.double)
    fine = met(between)
    first_bad = int((~fine).int().argmax()) if bool((~fine).any()) else STEPS
    return math.exp(float(between[max(0, first_bad - 1)]))
