"""The stack-up of tolerances on paper: worst case and root sum square, beside statistics."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.measures.capability import BEYOND
from meseta.measures.constraints import Constraint
from meseta.measures.weighted import percentiles
from meseta.noise import Joint
from meseta.noise.draws import draw_extremes, unlimited
from meseta.noise.moments import moments_at
from meseta.optimizer.fitted import in_cube
from meseta.report.views.subject import Subject
from meseta.space.parameter import Categorical

CORNERS = 4096  # of the box of all tolerances that are looked at
DEVIATIONS = 3  # that are the tolerance of a law without limits


@dataclass(frozen=True)
class Spread:
    """The values from `low` to `high`, and whether all of these meet the specification."""

    low: float
    high: float
    meets: bool


@dataclass(frozen=True)
class StackUp:
    """What three methods say about the values of the robust optimum.

    Worst case and root sum square know the slopes of f at the design and nothing else. A tolerance
    is the limit of its law, or three standard deviations where there is none: the scatter of single
    values has none.
    """

    worst_case: Spread  # all tolerances at their ends at once
    root_sum_square: Spread
    statistical: Spread  # 99.73 % of the values, by the best guess of f
    left_out: tuple[str, ...]  # parameters without a slope: choices that are mistaken


def stack_up(subject: Subject, goal: Constraint) -> StackUp:
    """Of the robust optimum."""
    x = subject.x_robust
    law = in_cube(subject.law, subject.optimizer.space)
    shift, std = (each[0] for each in moments_at(law, x))
    choice = _choices(subject)
    still = torch.zeros_like(std)
    shift, std = torch.where(choice, still, shift), torch.where(choice, still, std)
    centre = x + shift
    slope, (_, scale) = _slope(subject, centre), subject.optimizer.user_units
    middle = float(subject.moments(centre).m_f)
    below, above = _ends(subject, std)
    one = torch.where(slope >= 0, slope * above, slope * below)  # furthest upwards
    other = torch.where(slope >= 0, slope * below, slope * above)
    joint = _joint(subject)
    scatter = DEVIATIONS * float(subject.optimizer.fitted.mixture.scatter(x)[0]) * abs(scale)
    shared = DEVIATIONS**2 * float((slope * joint) @ law.covariance_matrix @ (slope * joint))
    shared = max(0.0, shared) + scatter**2
    # each side by its own ends, which differ where a value is at the edge of its range
    down, up = (math.sqrt(float((side * ~joint).square().sum()) + shared) for side in (other, one))
    worst = (middle + float(other.sum()) - scatter, middle + float(one.sum()) + scatter)
    seen = subject.in_use(x)
    ends = [float(e) for e in percentiles(seen.best, seen.weights, (BEYOND, 1 - BEYOND))]
    names = [subject.name(n) for n in subject.parameters if _mistaken(subject, n)]
    return StackUp(
        _spread(worst[0], worst[1], goal),
        _spread(middle - down, middle + up, goal),
        _spread(ends[0], ends[1], goal),
        tuple(names),
    )


def _spread(low: float, high: float, goal: Constraint) -> Spread:
    return Spread(low, high, low >= goal.low and high <= goal.high)


def _slope(subject: Subject, x: Float[Tensor, "1 d"]) -> Float[Tensor, " d"]:
    """The slopes of the mean of f in the unit cube, in the user's units of the value."""
    at = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(subject.optimizer.fitted.mixture.mean_f(at).sum(), at)
    _, scale = subject.optimizer.user_units
    return scale * gradient[0]


def _ends(
    subject: Subject, std: Float[Tensor, " d"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """How far the noise goes down and up from its mean, in the unit cube: limits or deviations."""
    x = subject.x_robust
    law, d = in_cube(subject.law, subject.optimizer.space), x.shape[1]
    shift = moments_at(law, x)[0][0]
    z = draw_extremes(law, d, None, CORNERS, subject.generator(6))(x).z[0] - x - shift
    below, above = z.amin(0), z.amax(0)
    free = torch.zeros(d, dtype=torch.bool)
    free[unlimited(law, d)] = True
    below = torch.where(free, -DEVIATIONS * std, below)
    above = torch.where(free, DEVIATIONS * std, above)
    still = std == 0
    return torch.where(still, 0.0, below), torch.where(still, 0.0, above)


def _joint(subject: Subject) -> Tensor:
    """Columns whose noise moves with that of others."""
    law, d = subject.law, subject.x_robust.shape[1]
    together = torch.zeros(d, dtype=torch.bool)
    if isinstance(law, Joint):
        for dims, _ in law.parts:
            together[list(dims)] = len(dims) > 1
    elif not law.independent:
        together[:] = True
    return together & ~_choices(subject)


def _choices(subject: Subject) -> Tensor:
    """Columns of categorical parameters."""
    space = subject.optimizer.space
    found = torch.zeros(subject.x_robust.shape[1], dtype=torch.bool)
    for name in subject.parameters:
        if isinstance(subject.parameter(name), Categorical):
            found[space.columns_of(name)] = True
    return found


def _mistaken(subject: Subject, name: str) -> bool:
    """Whether another choice may be carried out."""
    if not isinstance(subject.parameter(name), Categorical):
        return False
    columns = list(range(subject.x_robust.shape[1]))[subject.optimizer.space.columns_of(name)]
    law = subject.law
    return isinstance(law, Joint) and any(set(dims) & set(columns) for dims, _ in law.parts)
