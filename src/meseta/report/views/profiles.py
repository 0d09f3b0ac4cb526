"""The share out of specification over each setting, the others as at the robust optimum."""

from dataclasses import dataclass

from meseta.gp.in_use import rehearsal
from meseta.measures.capability import BEYOND
from meseta.measures.constraints import Constraint
from meseta.report.views.axis import Axis, axis, places
from meseta.report.views.subject import Subject

PLACES, FEW_PLACES = 21, 11  # along a parameter; few of them for many values
MANY = 600  # values times parameters from which on there are few places
SAMPLES, FEW_DRAWS, DRAWS = 128, 256, 1024


@dataclass(frozen=True)
class Profile:
    """The share of the values that break a limit, with the ends of its 95 % interval."""

    axis: Axis
    outside: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def profiles(subject: Subject, goal: Constraint, share: float) -> tuple[Profile, ...]:
    """One for each parameter of the design; `share` is that of the robust optimum."""
    mixture, generator = subject.optimizer.fitted.mixture.at_modes, subject.generator(5)
    by = rehearsal(mixture, min(max(share, BEYOND), 0.5), generator, SAMPLES, FEW_DRAWS, DRAWS)
    room = goal.margin().worst
    work = len(subject.design) * len(mixture.heaviest.X)
    made = []
    for name in subject.design:
        values = places(subject, name, PLACES if work <= MANY else FEW_PLACES)
        rows = subject.rows([{**subject.robust.params, name: value} for value in values])
        seen = [subject.in_use(x[None], by) for x in rows]
        fails = [each.without(room) for each in seen]
        ends = [each.between() for each in fails]
        made.append(
            Profile(
                axis(subject, name, values),
                tuple(float(each.best) for each in fails),
                tuple(low for low, _ in ends),
                tuple(high for _, high in ends),
            )
        )
    return tuple(made)
