"""The share of the values that meet the specification: one figure, wherever a report shows it."""

from jaxtyping import Float
from torch import Tensor

from meseta.gp.limited import Assessed
from meseta.measures.constraints import Constraint
from meseta.noise import NoiseLaw
from meseta.optimizer.goals import goal_of_value
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.subject import Subject


def outside(
    subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"], law: NoiseLaw | None = None
) -> SampledEstimate:
    """The share of the values of a design in use that break a limit, with its 95 % interval.

    It is that of `Goal.assessed`, as for constraints; a small one is by draws around the places
    that decide.
    """
    found = _assessed(subject, goal, x, law)
    low, high = found.interval
    return SampledEstimate(1 - found.share, 1 - high, 1 - low)


def beyond(subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"]) -> tuple[float, float]:
    """The shares below the lower limit and above the upper one, which are those of `outside`."""
    below, above = _assessed(subject, goal, x).broken
    return (below, above) if subject.sign > 0 else (above, below)


def _assessed(
    subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"], law: NoiseLaw | None = None
) -> Assessed:
    key, known = (goal, tuple(x[0].tolist()), law), subject.assessments
    if key not in known:
        value = goal_of_value(subject.optimizer, goal)
        known[key] = value.assessed(x[0], law, closely=True)
    return known[key]


def inside(
    subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"], law: NoiseLaw | None = None
) -> SampledEstimate:
    """The yield: the share that meets the specification."""
    fails = outside(subject, goal, x, law)
    return SampledEstimate(1 - fails.value, 1 - fails.high, 1 - fails.low)
