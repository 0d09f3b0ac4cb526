"""The share of the values that meet the specification: one figure, wherever a report shows it."""

from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from meseta.gp.limited import Assessed
from meseta.measures.capability import BEYOND
from meseta.measures.constraints import Constraint
from meseta.noise import NoiseLaw
from meseta.optimizer.goals import goal_of_value
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.subject import Subject

LEAST = 1e-8  # the smallest share out of specification that draws are made for


def outside(
    subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"], law: NoiseLaw | None = None
) -> SampledEstimate:
    """The share of the values of a design in use that break a limit, with its 95 % interval.

    It is that of `Goal.assessed`, as for constraints. What turns out to be rarer than the draws are
    made for is looked at once more, with draws that are further out.
    """
    key, known = (goal, tuple(x[0].tolist()), law), subject.assessments
    if key not in known:
        known[key] = _assessed(subject, goal, x, law)
    found = known[key]
    low, high = found.interval
    return SampledEstimate(1 - found.share, 1 - high, 1 - low)


def _assessed(
    subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"], law: NoiseLaw | None
) -> Assessed:
    value = goal_of_value(subject.optimizer, goal)
    found = value.assessed(x[0], law)
    if 1 - found.share < min(BEYOND, value.margin.share):
        margin = replace(value.margin, share=max(1 - found.share, LEAST))
        found = replace(value, margin=margin).assessed(x[0], law)
    return found


def inside(
    subject: Subject, goal: Constraint, x: Float[Tensor, "1 d"], law: NoiseLaw | None = None
) -> SampledEstimate:
    """The yield: the share that meets the specification."""
    fails = outside(subject, goal, x, law)
    return SampledEstimate(1 - fails.value, 1 - fails.high, 1 - fails.low)
