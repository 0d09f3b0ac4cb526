"""Allocation: the cheapest set of tolerances, and the design for it, that meet the goal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import shown
from meseta.gp.limited import Assessed, sure_of
from meseta.measures.constraints import Constraint
from meseta.noise.width import width_of
from meseta.optimizer.beyond import advice, beyond
from meseta.optimizer.cheapest import DRAWS, Answer, Search, Tolerance, cheapest
from meseta.optimizer.goals import Goal, goals_of, read_confidence
from meseta.optimizer.learned import with_laws
from meseta.optimizer.record import SURE, Kept, percent
from meseta.optimizer.scatter import in_words
from meseta.space.named_noise import own_law
from meseta.space.price import Price
from meseta.space.space import Design

if TYPE_CHECKING:
    from meseta.optimizer.ask_tell import Optimizer

# "sure": with the confidence that was asked for. "best guess": as far as is known, but not surely.
# "not met": not even with the narrowest tolerances.
Met = Literal["sure", "best guess", "not met"]
DIGITS = 5
NOTICED = 0.01  # a share of the noise beyond all evaluations that is worth a word


@dataclass(frozen=True)
class Allotted:
    """What one tolerance is today, and what it is to be."""

    today: float  # its width, the number that is written in the noise law
    width: float
    today_cost: float | None  # None: there is no grade of this width
    cost: float

    @property
    def factor(self) -> float:
        """How many times as wide as today."""
        return self.width / self.today


@dataclass(frozen=True)
class Allocation:
    """A set of tolerances and a design, chosen together."""

    met: Met
    confidence: float  # that was asked for
    sure: float  # the probability that all goals are met as often as is asked for
    params: Design
    tolerances: Mapping[str, Allotted]
    kept: Mapping[str, Kept]  # how the goals are met, by outcome
    today: Design  # the design that is recommended for the tolerances of today
    today_kept: Mapping[str, Kept]
    experiment: Design | None  # where a value would tell most about the goals; None: met surely
    beyond: float = 0.0  # the share of the noise that falls beyond everything that was evaluated
    outside: float = 0.0  # the part of that which falls where no experiment is allowed

    @property
    def cost(self) -> float:
        return sum(each.cost for each in self.tolerances.values())

    @property
    def today_cost(self) -> float | None:
        """None: some width of today has no price."""
        costs = [each.today_cost for each in self.tolerances.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def __str__(self) -> str:
        lines = [self.verdict]
        before = self.today_cost
        lines.append(
            f"cost: {self.cost:.{DIGITS}g}; today: "
            f"{'no price for the widths of today' if before is None else f'{before:.{DIGITS}g}'}"
        )
        for name, each in self.tolerances.items():
            cost = "no price" if each.today_cost is None else f"{each.today_cost:.{DIGITS}g}"
            lines.append(
                f"  {name}: width {each.width:.{DIGITS}g}, cost {each.cost:.{DIGITS}g} "
                f"(today: {each.today:.{DIGITS}g}, {cost})"
            )
        lines.append(f"design: {in_a_line(self.params)}")
        lines += [f"  {name}: {kept}" for name, kept in self.kept.items()]
        lines.append(f"today: {in_a_line(self.today)}")
        lines += [f"  {name}: {kept}" for name, kept in self.today_kept.items()]
        if self.beyond > NOTICED:
            lines.append(
                f"{percent(self.beyond)} of this noise falls beyond everything that was evaluated, "
                f"where the model extrapolates. {advice(self.beyond, self.outside)}"
            )
        if self.experiment is not None:
            lines.append(f"an experiment that would tell most: {in_a_line(self.experiment)}")
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """In a sentence."""
        if self.met == "sure":
            return (
                f"the cheapest tolerances that meet the goal, with a probability of "
                f"{percent(self.sure)} by what is known (asked: {percent(self.confidence)})"
            )
        if self.met == "best guess":
            return (
                f"the cheapest tolerances that meet the goal by the best guess; that is not sure: "
                f"its probability is {percent(self.sure)} (asked: {percent(self.confidence)}). "
                "More experiments are needed to know"
            )
        return (
            "no tolerances in these ranges meet the goal, as far as is known; these come closest. "
            "Allow narrower ones, or look for a better design"
        )


def in_a_line(params: Design) -> str:
    return ", ".join(
        f"{name} = {f'{value:.{DIGITS}g}' if isinstance(value, float) else shown(value)}"
        for name, value in params.items()
    )


def allocation(
    optimizer: "Optimizer",
    goal: Constraint | None,
    prices: Mapping[str, Price],
    confidence: float = SURE,
) -> Allocation:
    """The cheapest tolerances, among those that have a price, and the design for them.

    All other noise stays as it is. The goal is met with the confidence asked for, if the values
    told so far can say so; otherwise by the best guess.
    """
    confidence = read_confidence(confidence)
    goals = goals_of(optimizer, goal)
    tolerances = tolerances_of(optimizer, prices)
    search = search_of(optimizer, goals)
    found = cheapest(search, tolerances, confidence)
    met: Met = "sure" if found.meets else "not met"
    if not found.meets:
        guess = cheapest(search, tolerances, None)
        if guess.meets:
            met, found = "best guess", guess
    x = search.first[0]
    before = search.assessed(x, (), {})
    return Allocation(
        met,
        confidence,
        sure_of(found.assessed),
        optimizer.environments.from_row(found.x),
        {each.name: _allotted(each, found) for each in tolerances},
        kept_by(optimizer, goals, found.assessed, found.x),
        optimizer.environments.from_row(x),
        kept_by(optimizer, goals, before, x),
        None if met == "sure" else _experiment(optimizer, tolerances, goals, found),
        *beyond(
            search.law_with(tolerances, found.factors),
            found.x,
            optimizer.fitted.mixture.heaviest.X,
            optimizer.space,
        ),
    )


def search_of(optimizer: "Optimizer", goals: tuple[Goal, ...]) -> Search:
    """Designs of an optimizer; the recommended one comes first."""
    core, cube = optimizer.fitted.mixture.heaviest, optimizer.space.cube
    held = optimizer.environments.typical()
    best = optimizer.environments.to_row(optimizer.recommend().params)
    first = torch.cat([best[None], cube.snap(core.X.clone())])
    return Search(
        goals, optimizer.law, cube, held, first, core.kernel.kernel.lengthscale, optimizer.seed
    )


def tolerances_of(optimizer: "Optimizer", prices: Mapping[str, Price]) -> tuple[Tolerance, ...]:
    """Those that have a price; refused where they have no width."""
    if not prices:
        raise ValueError(
            'no tolerance has a price; say what one costs, costs={"shaft": "12 / width"}, or '
            'cost = "12 / width" in the table of a parameter'
        )
    noise = with_laws(optimizer.settings.noise, optimizer.space, optimizer.learned)
    found = []
    for name, price in prices.items():
        column = optimizer.space.columns_of(name).start
        try:
            width = width_of(own_law(noise, optimizer.space, name))
            price.check(width)
        except ValueError as error:
            raise ValueError(f"the tolerance of {name!r} cannot have a price: {error}") from None
        found.append(Tolerance(name, column, width, price))
    return tuple(found)


def kept_by(
    optimizer: "Optimizer",
    goals: tuple[Goal, ...],
    assessed: tuple[Assessed, ...],
    x: Float[Tensor, " d"],
) -> dict[str, Kept]:
    """How the goals are met at a row of the unit cube, by outcome."""
    return {
        goal.name: Kept(
            goal.constraint,
            each.share,
            each.interval,
            each.sure,
            optimizer.counted(goal.outcome),
            in_words(goal.fitted, x),
        )
        for goal, each in zip(goals, assessed, strict=True)
    }


def experiment(
    optimizer: "Optimizer",
    goals: tuple[Goal, ...],
    assessed: tuple[Assessed, ...],
    x: Float[Tensor, " d"],
    factors: Float[Tensor, "1 d"] | None = None,
) -> Design:
    """Where a value would tell most about the goal that is least sure.

    Among the places that decide how often it is met at a design it is the one of which least is
    known.
    """
    _, goal = min(zip(assessed, goals, strict=True), key=lambda pair: pair[0].sure)
    limit = goal.limited(DRAWS, torch.Generator().manual_seed(optimizer.seed))
    with torch.no_grad():
        places = limit.tilted(x[None], factors)[1].z[0]
        unknown = goal.fitted.mixture.moments(places).v_f
    place = optimizer.space.experiments.snap(places[int(unknown.argmax())][None].clone())[0]
    environments = optimizer.environments
    return environments.without(optimizer.space.from_cube(place), environments.observed)


def _allotted(tolerance: Tolerance, found: Answer) -> Allotted:
    width = tolerance.today * found.factors[tolerance.name]
    t = torch.tensor([found.factors[tolerance.name]], dtype=torch.double).log()
    today = tolerance.price.cost.number(tolerance.today)
    return Allotted(tolerance.today, width, today, float(tolerance.cost(t)))


def _experiment(
    optimizer: "Optimizer",
    tolerances: tuple[Tolerance, ...],
    goals: tuple[Goal, ...],
    found: Answer,
) -> Design:
    factors = torch.ones(1, len(found.x), dtype=torch.double)
    for each in tolerances:
        factors[0, each.column] = found.factors[each.name]
    return experiment(optimizer, goals, found.assessed, found.x, factors)
