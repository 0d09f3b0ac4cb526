"""Tolerances and settings by the goal: what may be loosened, the cheapest set, the window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from meseta.gp.limited import sure_of
from meseta.measures.constraints import Constraint
from meseta.noise.widened import widened
from meseta.noise.width import Width, read_width
from meseta.optimizer.allocation import Allocation, allocation, search_of
from meseta.optimizer.goals import NoGoal, goals_of
from meseta.optimizer.learned import with_laws
from meseta.optimizer.loosened import Loosened, Loosening
from meseta.optimizer.record import SURE
from meseta.optimizer.window import Window
from meseta.optimizer.window import window as largest_window
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.meeting import inside
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms
from meseta.space.named_noise import own_law
from meseta.space.parameter import Categorical
from meseta.space.price import REACH, Price
from meseta.space.space import Design

NOTICED = 1.02  # a tolerance that may grow by less stays as it is
MOST_SIDES = 4  # settings up to which a report looks for the window: it takes minutes for many


@dataclass(frozen=True)
class ByGoal:
    """One tolerance by the goal."""

    width: Width | None  # of today, as the noise law has it; None: it has no single one
    unit: str  # of the parameter
    half: SampledEstimate | None  # share that meets the goal with half the noise, design of today
    sure: Loosened | None  # how far it may be loosened; None: the noise of a choice
    guess: Loosened | None  # the same by the best guess

    @property
    def verdict(self) -> str:
        """What to do with it, the design kept, in a sentence without its end."""
        if self.sure is None or self.guess is None:
            return "is the noise of a choice, which has no width"
        kept, chosen = self.sure
        if kept is None:
            other = "" if chosen is None else f"; with another design: {self.times(chosen)}"
            return f"cannot meet the goal by itself, not even with a tenth of its width{other}"
        if kept < 1:
            fine = (
                "" if (self.guess.kept or 0.0) < 1 else " to be sure; by the best guess it is fine"
            )
            return f"must be tightened to {self.times(kept)}{fine}"
        return f"may grow to {self.times(kept)}" if kept >= NOTICED else "leave it as it is"

    def times(self, factor: float) -> str:
        """So many times as wide as today, with the width if there is one."""
        most = "at least " if factor >= REACH else ""
        by = f"{most}{factor:.3g} times"
        if self.width is None:
            return f"{by} as wide as today"
        return f"{self.width.in_words(self.unit, factor)} ({by})"


@dataclass(frozen=True)
class OfGoal:
    """What the goal says about tolerances and settings."""

    confidence: float
    sure: float  # the probability that the goal and all constraints are met today
    meets: SampledEstimate | None  # share of the values that meet the goal today
    each: Mapping[str, ByGoal]  # by parameter, in the user's terms
    allocation: Allocation | None  # None: nothing has a price
    window: Window | None  # None: there are many settings; see MOST_SIDES
    scatter: str = ""  # what `meets` counts of the scatter of single values, in words


def of_goal(
    subject: Subject,
    terms: Terms,
    names: Sequence[str],
    *,
    window: bool = True,
    confidence: float = SURE,
) -> OfGoal | None:
    """For the noise of these parameters; None: there is no goal, or too little is known of it."""
    optimizer = subject.optimizer
    try:
        goals = goals_of(optimizer, terms.goal)
    except NoGoal:
        return None
    search = search_of(optimizer, goals)
    by_samples, by_guess = Loosening(search, confidence), Loosening(search, None)
    found = {}
    for name in names:
        column, sure, guess = optimizer.space.columns_of(name).start, None, None
        if not isinstance(subject.parameter(name), Categorical):
            sure = by_samples.of(name, column)
            guess = by_guess.of(name, column).at_least(sure)  # what is sure is likely, too
        half = None if terms.goal is None else meets(subject, terms.goal, column, 0.5)
        outer = subject.name(name)
        unit = terms.unit_of(outer)
        found[outer] = ByGoal(_width(subject, name), unit, half, sure, guess)
    free = len(set(optimizer.space.cube.continuous.tolist()) & set(_columns_of_design(subject)))
    return OfGoal(
        confidence,
        sure_of(by_samples.assessed),
        None if terms.goal is None else meets(subject, terms.goal),
        found,
        allocation_of(subject, terms.goal, terms.prices, confidence) if terms.prices else None,
        window_of(subject, terms.goal, confidence) if window and 0 < free <= MOST_SIDES else None,
        "" if terms.goal is None else subject.scatter_in_words,
    )


def meets(
    subject: Subject, goal: Constraint, column: int = 0, factor: float = 1.0
) -> SampledEstimate:
    """The share of the values that meet the goal at the robust optimum, with other noise."""
    law = widened(subject.law, column, factor) if factor != 1 else None
    return inside(subject, goal, subject.x_robust, law)


def allocation_of(
    subject: Subject,
    goal: Constraint | None,
    prices: Mapping[str, Price],
    confidence: float = SURE,
) -> Allocation:
    """The cheapest tolerances, in the user's terms."""
    inside = {subject.name(name): name for name in subject.parameters}
    known = {inside[name]: price for name, price in prices.items() if name in inside}
    made = allocation(subject.optimizer, goal, known, confidence)
    return replace(
        made,
        params=subject.called(made.params),
        tolerances={subject.name(name): each for name, each in made.tolerances.items()},
        today=subject.called(made.today),
        experiment=_called(subject, made.experiment),
    )


def window_of(subject: Subject, goal: Constraint | None, confidence: float = SURE) -> Window:
    """The operating window around the recommended design, in the user's terms."""
    made = largest_window(subject.optimizer, goal, None, confidence)
    order = [name for name in subject.parameters if name in made.sides]
    return replace(
        made,
        params=subject.called(made.params),
        sides={subject.name(name): made.sides[name] for name in order},
        fixed=subject.called(made.fixed),
        worst=subject.called(made.worst),
        experiment=_called(subject, made.experiment),
    )


def _called(subject: Subject, design: Design | None) -> Design | None:
    return None if design is None else subject.called(design)


def _columns_of_design(subject: Subject) -> list[int]:
    places = [subject.optimizer.space.columns_of(name) for name in subject.design]
    return [i for place in places for i in range(place.start, place.stop)]


def _width(subject: Subject, name: str) -> Width | None:
    optimizer = subject.optimizer
    noise = with_laws(optimizer.settings.noise, optimizer.space, optimizer.learned)
    try:
        return read_width(own_law(noise, optimizer.space, name))
    except ValueError:
        return None
