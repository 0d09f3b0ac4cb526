"""What has to hold of a design in use: limits of the value, and of other outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import read_number, shown
from meseta.gp.limited import Assessed, Assessment, Limited, LimitedOutcome, assessment, limited
from meseta.measures.constraints import Constraint, Margin
from meseta.noise import NoiseLaw
from meseta.optimizer.constrained import tells
from meseta.optimizer.fitted import Fitted, in_cube

if TYPE_CHECKING:
    from meseta.optimizer.ask_tell import Optimizer

SUREST = 0.999  # by the samples of f that there are
AIMED = 0.2  # of what is missing to certainty: by so much more than asked for a search aims at


class NoGoal(ValueError):
    """There is no goal to meet, or too little is known of an outcome to say whether it is met."""


@dataclass(frozen=True, eq=False)
class Goal:
    """Limits of one outcome in use, with its model."""

    name: str
    outcome: str
    constraint: Constraint  # as the user states it
    fitted: Fitted
    margin: Margin  # in the units of the model, and in its sign
    seed: int  # of the draws, the same as where a recommendation says how limits are kept

    @cached_property
    def assessment(self) -> Assessment:
        """How designs keep it under the noise of today, or noise that is wider or narrower."""
        return self._assessment(None)

    def limited(self, num_draws: int, generator: torch.Generator) -> Limited:
        """Its margin at designs, to first order."""
        return limited(self.fitted.mixture.heaviest, self.margin, num_draws, generator)

    def assessed(
        self, x: Float[Tensor, " d"], law: NoiseLaw | None = None, closely: bool = False
    ) -> Assessed:
        """How a row of the unit cube keeps it, under another noise law of the columns if any."""
        by = self.assessment
        if law is not None:
            by = self._assessment(in_cube(law, self.fitted.space))
        return by.closely(x) if closely else by.at(x)

    def _assessment(self, law: NoiseLaw | None) -> Assessment:
        outcome = LimitedOutcome(self.fitted.mixture, self.margin)
        return assessment(outcome, torch.Generator().manual_seed(self.seed), law)


def goals_of(optimizer: "Optimizer", goal: Constraint | None) -> tuple[Goal, ...]:
    """Return the goal of the value, if any, and all constraints; refuse where there is none."""
    if goal is not None and not isinstance(goal, Constraint):
        raise TypeError(
            f"the goal must be meseta.AtLeast(0.8), AtMost or Between, got {shown(goal)}"
        )
    found = []
    if goal is not None:
        found.append(goal_of_value(optimizer, goal))
    for name, constraint in optimizer.outcomes.constraints:
        model, values = optimizer.model_of(name), optimizer.values_of(name)
        if model is None or not tells(values):
            raise NoGoal(
                f"there are {len(values)} values of {name!r}, too few to say whether its limits "
                "are kept; tell more of them"
            )
        twice = any(each.outcome == name for each in found)
        called = f"{name} (constraint)" if twice else name
        found.append(
            Goal(
                called, name, constraint, model, _margin(model, constraint), optimizer.stream(name)
            )
        )
    if not found:
        raise NoGoal(
            "there is no goal to meet: say which values are good, at_least or at_most in a study "
            "file, meseta.AtLeast(0.8, probability=0.99) in Python, or give outcomes constraints"
        )
    return tuple(found)


def goal_of_value(optimizer: "Optimizer", goal: Constraint) -> Goal:
    """The limits of what is optimised."""
    objective, fitted = optimizer.outcomes.objective, optimizer.fitted
    inner = goal.of_possible(optimizer.settings.possible)
    if optimizer.direction == "minimize":  # the model is that of -f
        inner = Constraint(-inner.high, -inner.low, goal.probability)
    margin, seed = _margin(fitted, inner), optimizer.stream(objective)
    return Goal(objective, objective, goal, fitted, margin, seed)


def _margin(fitted: Fitted, constraint: Constraint) -> Margin:
    units = fitted.posterior.units
    return constraint.margin(float(units.y_offset), float(units.y_scale))


def read_confidence(confidence: object) -> float:
    number = read_number("the confidence", confidence, "such as 0.95")
    if not 0.5 <= number <= SUREST:
        hint = f"; write {number / 100:g} for {number:g} %" if 50 <= number < 100 else ""
        raise ValueError(
            f"the confidence must be from 0.5 to {SUREST}, the surest that can be told; got "
            f"{number:g}{hint}"
        )
    return number


def deviations(confidence: float, num: int) -> float:
    """By how many standard deviations each of some goals is to be met, to be sure of them all.

    A little more than that, since margins are to first order where designs are compared.
    """
    aimed = confidence + AIMED * (1 - confidence)
    return float(torch.special.ndtri(torch.tensor(aimed ** (1 / num), dtype=torch.double)))


def margins(
    limits: Sequence[Limited],
    x: Float[Tensor, "b d"],
    by: float,
    factors: Float[Tensor, "b d"] | None = None,
) -> Float[Tensor, "c b"]:
    """The margins, less as many standard deviations as it takes to be sure."""
    found = []
    for limit in limits:
        if by:
            mean, variance = limit.moments(x, factors)
            found.append(mean - by * variance.sqrt())
        else:
            found.append(limit.tilted(x, factors)[0])
    return torch.stack(found)
