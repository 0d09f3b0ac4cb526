"""The cheapest widths of the noise, and the design for them, that meet all goals.

Rows are designs and, behind their columns, the logarithm of how many times as wide as today each
tolerance is that may be chosen. The search over them is that of designs within limits.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.limited import Assessed, Limited, sure_of
from meseta.gp.within_limits import Found, climb_within, maximize_within
from meseta.noise import NoiseLaw
from meseta.noise.widened import widened
from meseta.optimizer.goals import Goal, deviations, margins
from meseta.space.domain import Domain, Held
from meseta.space.price import Grades, Price
from meseta.space.rows_allowed import Allowed

DRAWS, QUICK = 512, 64  # draws of the noise where designs are compared, and for a quick look
LOOSENED = 256  # draws where a single tolerance is loosened
STARTS = 4
ROUNDS = 4  # of assessing the best design, and moving the limits by what it shows
AGAIN, BETTER = 6, 1e-4  # climbs from where one ended, and the gain, relative, that is worth one
CLOSE = 0.01  # of the spread of an outcome: a goal that is met by less need not be moved
SOLVED = 40  # problems that are solved at most where there are grades
NARROWER = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)  # shares of widths, where a goal is nearly met
WIDER = (0.04, 0.08, 0.16, 0.32, 0.64, 1.28)  # the same where it is met with room
SAME_WIDTH = 1e-6  # two logarithms of widths that differ by less are the same


@dataclass(frozen=True)
class Tolerance:
    """A tolerance whose width may be chosen."""

    name: str
    column: int
    today: float  # its width
    price: Price

    def ends(self) -> tuple[float, float]:
        """How many times as wide as today it may be, as logarithms."""
        low, high = self.price.ends(self.today)
        return math.log(low / self.today), math.log(high / self.today)

    def cost(self, t: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """What it costs if it is exp(t) times as wide; between grades what lies between theirs."""
        cost = self.price.cost
        if not isinstance(cost, Grades):
            found = cost(self.today * t.exp())
            return found if isinstance(found, Tensor) else torch.full_like(t, float(found))
        knots, costs = self.knots(), torch.tensor(cost.costs, dtype=torch.double)
        if len(knots) == 1:
            return costs.expand(len(t))
        right = torch.searchsorted(knots, t.detach().contiguous()).clamp(1, len(knots) - 1)
        share = (t - knots[right - 1]) / (knots[right] - knots[right - 1])
        return costs[right - 1] + share * (costs[right] - costs[right - 1])

    def knots(self) -> Float[Tensor, " k"]:
        """The grades, as logarithms of how many times as wide as today they are."""
        assert isinstance(self.price.cost, Grades)
        widths = torch.tensor(self.price.cost.widths, dtype=torch.double)
        return (widths / self.today).log()


class Answer(NamedTuple):
    """A design, widths for it, and how they meet the goals."""

    x: Float[Tensor, " d"]
    factors: dict[str, float]  # how many times as wide as today, by name
    cost: float
    assessed: tuple[Assessed, ...]  # one for each goal
    meets: bool  # all goals, as surely as was asked for


class Nearby(NamedTuple):
    """A design, and how many times as wide as today one tolerance may be there."""

    x: Float[Tensor, " d"]
    t: float  # as a logarithm


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched: designs of a domain, and widths, for goals under a noise law."""

    goals: tuple[Goal, ...]
    law: NoiseLaw  # of the columns
    domain: Domain
    held: Held | None
    first: Float[Tensor, "n d"]  # designs that come first among equals
    scale: Float[Tensor, " d"]
    seed: int

    def put(self, x: Tensor) -> Tensor:
        return x if self.held is None else self.held.put(x)

    def law_with(self, tolerances: Sequence[Tolerance], factors: Mapping[str, float]) -> NoiseLaw:
        """The law with these widths."""
        law = self.law
        for each in tolerances:
            law = widened(law, each.column, factors[each.name])
        return law

    def assessed(
        self, x: Float[Tensor, " d"], tolerances: Sequence[Tolerance], factors: Mapping[str, float]
    ) -> tuple[Assessed, ...]:
        """How a design with these widths meets the goals."""
        times = self.times(tolerances, factors)
        return tuple(goal.assessment.at(x, times) for goal in self.goals)

    def times(
        self, tolerances: Sequence[Tolerance], factors: Mapping[str, float]
    ) -> Float[Tensor, "1 d"] | None:
        """How many times as wide as today the noise of each column is; None: all as today."""
        times = torch.ones(1, self.domain.dimension, dtype=torch.double)
        for each in tolerances:
            times[0, each.column] = factors[each.name]
        return None if bool((times == 1).all()) else times


Ranges = Mapping[str, tuple[float, float]]  # of t, by name


def cheapest(search: Search, tolerances: Sequence[Tolerance], confidence: float | None) -> Answer:
    """The cheapest answer that is found; with `confidence` None by the best guess.

    Where nothing meets all goals it is what comes closest.
    """
    ranges = {each.name: each.ends() for each in tolerances}
    if not any(isinstance(each.price.cost, Grades) for each in tolerances):
        return _solved(search, tolerances, ranges, confidence)
    return _with_grades(search, tolerances, ranges, confidence)


def wide_as_may_be(
    search: Search,
    tolerance: Tolerance,
    limits: Sequence[Limited],
    by: float,
    begin: float,
    off: float,
) -> Nearby | None:
    """A design nearby that allows more, and how many times as wide as today one may be there.

    The climb begins at the recommended design, `begin` times as wide. None: it ends where not all
    goals are met. Margins are to first order, by so many deviations, and were `off` at the start.
    """
    problem = _Problem(search, (tolerance,), {tolerance.name: tolerance.ends()})

    def room(rows: Tensor) -> Tensor:
        return margins(limits, problem.designs(rows), by, problem.factors(rows)) + off

    domain, scale = problem.domain(), problem.scale()
    start = torch.cat([search.first[0], torch.tensor([math.log(begin)], dtype=torch.double)])
    found = climb_within(problem.value, room, domain, domain.snap(start[None])[0], scale)
    found = _again(found, lambda f: climb_within(problem.value, room, domain, f.x, scale), 2)
    x, factors = problem.answer(found.x)
    return Nearby(x, math.log(factors[tolerance.name])) if found.kept else None


def _with_grades(
    search: Search, tolerances: Sequence[Tolerance], ranges: Ranges, confidence: float | None
) -> Answer:
    """By branch and bound: widths between grades at first, then on either side of what was found.

    What costs no less between grades than the best on grades is left out.
    """
    graded = [each for each in tolerances if isinstance(each.price.cost, Grades)]
    relaxed = _solved(search, tolerances, ranges, confidence, bound=True)
    open_: list[tuple[Answer, Ranges]] = [(relaxed, ranges)]
    best: Answer | None = None
    solved = 1
    while open_ and solved < SOLVED:
        open_.sort(key=lambda pair: pair[0].cost)
        answer, between = open_.pop(0)
        if best is not None and best.meets and answer.cost >= best.cost * (1 - 1e-9):
            break
        if best is None or not best.meets:  # the next narrower grades are likely to do
            narrow = {e.name: (_grade(e, answer.factors[e.name]),) * 2 for e in graded}
            best = _better(best, _solved(search, tolerances, {**between, **narrow}, confidence))
            solved += 1
        off = {e.name: _off_grade(e, answer.factors[e.name]) for e in graded}
        widest = max(off, key=lambda name: off[name])
        if off[widest] <= SAME_WIDTH:
            on = {e.name: (_grade(e, answer.factors[e.name]),) * 2 for e in graded}
            best = _better(best, _solved(search, tolerances, {**between, **on}, confidence))
            solved += 1
            if best.meets:
                continue
            # paths say otherwise than margins to first order: on with narrower grades
            parts = [(e, (between[e.name][0], on[e.name][0] - 2 * SAME_WIDTH)) for e in graded]
            parts = [(e, (low, _below(e, high))) for e, (low, high) in parts if low <= high]
        else:
            (one,) = (each for each in graded if each.name == widest)
            at, (low, high) = math.log(answer.factors[widest]), between[widest]
            parts = [(one, (low, _below(one, at))), (one, (_above(one, at), high))]
        for one, ends in parts:
            if ends[0] <= ends[1] + SAME_WIDTH:
                inner = {**between, one.name: (ends[0], max(ends))}
                found = _solved(search, tolerances, inner, confidence, bound=True)
                solved += 1
                if found.meets:
                    open_.append((found, inner))
    assert best is not None
    return best


def _better(one: Answer | None, other: Answer) -> Answer:
    if one is None or one.meets != other.meets:
        return other if one is None or other.meets else one
    return other if other.cost < one.cost else one


def _below(tolerance: Tolerance, t: float) -> float:
    """The next grade at or below; the narrowest if there is none."""
    knots = tolerance.knots()
    under = knots[knots <= t + SAME_WIDTH]
    return float(under[-1] if len(under) else knots[0])


def _above(tolerance: Tolerance, t: float) -> float:
    knots = tolerance.knots()
    over = knots[knots > t + SAME_WIDTH]
    return float(over[0]) if len(over) else math.inf


def _grade(tolerance: Tolerance, factor: float) -> float:
    return _below(tolerance, math.log(factor))


def _off_grade(tolerance: Tolerance, factor: float) -> float:
    return float((tolerance.knots() - math.log(factor)).abs().min())


def _solved(
    search: Search,
    tolerances: Sequence[Tolerance],
    ranges: Ranges,
    confidence: float | None,
    *,
    bound: bool = False,
) -> Answer:
    """The cheapest answer with widths in these ranges, where nothing is on grades.

    If only a bound is wanted, margins to first order have to do.
    """
    problem = _Problem(search, tuple(tolerances), ranges)
    by = 0.0 if confidence is None else deviations(confidence, len(search.goals))
    generator = torch.Generator().manual_seed(search.seed)
    limits = [goal.limited(DRAWS, generator) for goal in search.goals]
    few = [limit.with_fewer(QUICK) for limit in limits]
    moved = torch.zeros(len(limits), 1, dtype=torch.double)

    def room(rows: Tensor) -> Tensor:
        return margins(limits, problem.designs(rows), by, problem.factors(rows)) + moved

    def quick(rows: Tensor) -> Tensor:
        return margins(few, problem.designs(rows), by, problem.factors(rows))

    domain, scale = problem.domain(), problem.scale()
    found = maximize_within(
        problem.value, room, domain, generator, problem.first(), scale, quick, STARTS
    )
    found = _again(found, lambda f: climb_within(problem.value, room, domain, f.x, scale))
    if bound:
        x, factors = problem.answer(found.x)
        return Answer(x, factors, float(problem.cost(found.x[None])), (), found.kept)

    def assessed(row: Tensor) -> tuple[Answer, Tensor]:
        """What samples say of a row, and the margins by them."""
        x, factors = problem.answer(domain.snap(row.clone()))
        each = search.assessed(x, tolerances, factors)
        exact = torch.tensor([[a.room(by)] for a in each], dtype=torch.double)
        by_guess = all(
            a.share >= goal.constraint.probability
            for a, goal in zip(each, search.goals, strict=True)
        )
        meets = by_guess if confidence is None else sure_of(each) >= confidence
        return Answer(x, factors, float(problem.cost(row[None])), each, meets), exact

    answers: list[Answer] = []
    for number in range(ROUNDS):
        answer, exact = assessed(found.x)
        answers.append(answer)
        if number == ROUNDS - 1 or (answer.meets and float(exact.min()) < CLOSE) or not found.kept:
            break
        with torch.no_grad():
            moved = moved + exact - room(found.x[None])
        found = _again(found, lambda f: climb_within(problem.value, room, domain, f.x, scale))
    good = [answer for answer in answers if answer.meets]
    if not good and found.kept:  # nearly: a little narrower
        for row in problem.narrower(found.x):
            answers.append(assessed(row)[0])
            if answers[-1].meets:
                return answers[-1]
    if not good:  # the recommended design may: with widths of today, or as narrow as may be
        for row in (problem.first()[0], problem.first()[len(search.first)]):
            answers.append(assessed(row)[0])
            if answers[-1].meets:
                good.append(answers[-1])
                good += [a for a in (assessed(r)[0] for r in problem.wider(row)) if a.meets]
                break
    if good:
        return min(good, key=lambda answer: answer.cost)
    return max(answers, key=_closeness)


def _closeness(answer: Answer) -> tuple[float, float]:
    """How close to all goals an answer is that misses some: how sure, then how often each is met.

    Where nothing is sure, what rounding leaves of that does not count.
    """
    return round(sure_of(answer.assessed), 3), min(each.share for each in answer.assessed)


def _again(found: Found, climb: Callable[[Found], Found], most: int = AGAIN) -> Found:
    """Further climbs from where one ended, as long as these gain."""
    for _ in range(most):
        other = climb(found)
        gain = other.value - found.value if other.kept == found.kept else 1.0
        if other.kept < found.kept or (found.kept and gain <= BETTER * (1 + abs(found.value))):
            return max(found, other, key=lambda f: (f.kept, f.value if f.kept else f.short))
        if not found.kept and not other.kept and other.short <= found.short + BETTER:
            return other if other.short > found.short else found
        found = other
    return found


@dataclass(frozen=True, eq=False)
class _Problem:
    """Rows of designs and widths, and what they mean."""

    search: Search
    tolerances: tuple[Tolerance, ...]
    ranges: Ranges

    @property
    def free(self) -> list[Tolerance]:
        """Those whose width is not settled."""
        return [e for e in self.tolerances if self.ranges[e.name][1] - self.ranges[e.name][0] > 0]

    @property
    def d(self) -> int:
        return self.search.domain.dimension

    def times(self, rows: Float[Tensor, "b c"]) -> dict[str, Float[Tensor, " b"]]:
        """t of each tolerance."""
        place = {each.name: self.d + i for i, each in enumerate(self.free)}
        return {
            each.name: rows[:, place[each.name]]
            if each.name in place
            else torch.full((len(rows),), self.ranges[each.name][0], dtype=torch.double)
            for each in self.tolerances
        }

    def designs(self, rows: Float[Tensor, "b c"]) -> Float[Tensor, "b d"]:
        return self.search.put(rows[:, : self.d])

    def factors(self, rows: Float[Tensor, "b c"]) -> Float[Tensor, "b d"]:
        """How many times as wide as today the noise of each column is."""
        columns = [torch.ones(len(rows), dtype=torch.double)] * self.d
        for each in self.tolerances:
            columns[each.column] = self.times(rows)[each.name].exp()
        return torch.stack(columns, dim=-1)

    def answer(self, row: Float[Tensor, " c"]) -> tuple[Tensor, dict[str, float]]:
        """The design, and how many times as wide as today each tolerance is."""
        t = self.times(row[None])
        return self.designs(row[None])[0], {name: math.exp(float(at)) for name, at in t.items()}

    def narrower(self, row: Float[Tensor, " c"]) -> Iterator[Float[Tensor, " c"]]:
        """The same with narrower and narrower widths."""
        ends = torch.tensor([self.ranges[each.name][0] for each in self.free], dtype=torch.double)
        for by in NARROWER:
            less = torch.maximum(row[self.d :] - by, ends)
            yield torch.cat([row[: self.d], less])
            if bool((less <= ends).all()):
                return

    def wider(self, row: Float[Tensor, " c"]) -> Iterator[Float[Tensor, " c"]]:
        """The same with wider and wider widths."""
        ends = torch.tensor([self.ranges[each.name][1] for each in self.free], dtype=torch.double)
        for by in WIDER:
            more = torch.minimum(row[self.d :] + by, ends)
            if bool((more > row[self.d :]).any()):
                yield torch.cat([row[: self.d], more])

    def value(self, rows: Float[Tensor, "b c"]) -> Float[Tensor, " b"]:
        """What is to be high, of the size of 1."""
        same = 0.0 * rows.sum(-1)  # where all widths are settled, the cost has a slope, too: 0
        return same - self.cost(rows) / self.size

    @cached_property
    def size(self) -> float:
        """The costs at the ends of all ranges differ by as much."""
        ends = [
            sum(
                float(e.cost(torch.tensor([self.ranges[e.name][i]], dtype=torch.double)))
                for e in self.tolerances
            )
            for i in (0, 1)
        ]
        return abs(ends[0] - ends[1]) or abs(ends[0]) or 1.0

    def cost(self, rows: Float[Tensor, "b c"]) -> Float[Tensor, " b"]:
        t = self.times(rows)
        return torch.stack([each.cost(t[each.name]) for each in self.tolerances]).sum(0)

    def domain(self) -> Domain:
        domain = self.search.domain
        ends = [self.ranges[each.name] for each in self.free]
        more = torch.tensor(ends, dtype=torch.double).view(-1, 2).T
        allowed = domain.allowed
        if allowed is not None:
            allowed = _of_designs(allowed, self.d, more)
        bounds = torch.cat([domain.bounds, more], dim=1)
        return replace(domain, bounds=bounds, allowed=allowed)

    def first(self) -> Float[Tensor, "n c"]:
        """Designs that come first, with widths of today, and as narrow as may be."""
        ends = [self.ranges[each.name] for each in self.free]
        today = torch.tensor([min(max(0.0, low), high) for low, high in ends], dtype=torch.double)
        narrow = torch.tensor([low for low, _ in ends], dtype=torch.double)
        x = self.search.first
        rows = [torch.cat([x, t.expand(len(x), -1)], dim=1) for t in (today, narrow)]
        return torch.cat(rows)

    def scale(self) -> Float[Tensor, " c"]:
        return torch.cat([self.search.scale, torch.ones(len(self.free), dtype=torch.double)])


def _of_designs(allowed: Allowed, d: int, more: Float[Tensor, "2 k"]) -> Allowed:
    """The same rules for rows with further columns."""
    others = allowed.others

    def inner() -> Tensor | None:
        row = allowed.inner()
        return None if row is None else torch.cat([row, more.mean(0)])

    return replace(
        allowed,
        values=lambda rows: allowed.values(rows[..., :d]),
        others=None if others is None else lambda rows: others(rows[..., :d]),
        inner=inner,
    )
