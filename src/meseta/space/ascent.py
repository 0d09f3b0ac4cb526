"""Maximising many smooth functions over one box at once.

SciPy and BoTorch step each problem separately in Python; with hundreds of small problems that
costs several times as much as evaluating the functions. Here every step is a batched tensor
operation: projected BFGS with a backtracking line search.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.space.recording import check_recordable

ARMIJO = 1e-4  # sufficient increase [Nocedal and Wright 2006, Eq. 3.4]
# The longest first step, in units of `scale`: a gradient alone does not say how far to go.
FIRST_STEP = 0.2
# Gains of a climb shrink, so ten times the last one is more than it has left.
OUTCLASSED = 10
# Steps are shortened to this share of their first length at the most.
SHORTEST = 1e-8

Objective = Callable[[Int[Tensor, " a"], Float[Tensor, "a d"]], Float[Tensor, " a"]]


class Ascent(NamedTuple):
    """Where each problem ended."""

    x: Float[Tensor, "b d"]
    value: Float[Tensor, " b"]
    iterations: int  # evaluations of the batch, less the first
    converged: int  # how many of the problems


def ascend(
    objective: Objective,
    start: Float[Tensor, "b d"],
    bounds: Float[Tensor, "2 d"],
    *,
    scale: Float[Tensor, " d"] | None = None,
    compete: bool = False,
    stragglers: float = 0.0,
    max_iterations: int = 30,
    gradient_tolerance: float = 1e-6,
    value_tolerance: float = 1e-9,
) -> Ascent:
    """A local maximum in the box for each of b problems, from b starting points.

    `objective(problem, x)` gives the value of problem[i] at x[i]; values never decrease, so a
    problem ends at worst where it started. `scale` is a length per dimension over which the
    functions change alike (default: the width of the box); a good one saves half of the steps.
    With `compete` only the highest of the maxima is wanted: a problem gives up when its last gain
    would have to repeat OUTCLASSED times to reach the best value so far. When no more than the
    share `stragglers` of the problems is still moving, they are stopped where they are.
    Tolerances are relative to the largest value at the start: on the projected gradient (per
    scale) and on the gain of a step.
    """
    check_recordable()
    lower, width = bounds[0], bounds[1] - bounds[0]
    scale = width if scale is None else torch.minimum(scale, width)
    top = width / scale

    def evaluate(problem: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            value = objective(problem, lower + scale * u)
            (gradient,) = torch.autograd.grad(value.sum(), u)
        return value.detach(), gradient

    b, d = start.shape
    problem = torch.arange(b)
    x = first = ((start - lower) / scale).clamp(torch.zeros_like(top), top)
    value, g = evaluate(problem, x)
    end, end_value = x.clone(), value.clone()
    size = max([1e-300, *value.abs().tolist()])
    B = torch.eye(d, dtype=x.dtype).repeat(b, 1, 1)
    fresh = torch.ones(b, dtype=torch.bool)  # B carries no curvature yet
    direction, ended, fresh = _direction(B, g, x, top, fresh, gradient_tolerance * size)
    step = torch.ones(b, dtype=x.dtype)
    iteration = 0
    while True:
        if ended.any():
            end[problem], end_value[problem] = x, value
            keep = ~ended
            problem, x, value, g, B = problem[keep], x[keep], value[keep], g[keep], B[keep]
            fresh, direction, step = fresh[keep], direction[keep], step[keep]
        if len(problem) <= stragglers * b or iteration == max_iterations:
            break
        trial = (x + step[:, None] * direction).clamp(torch.zeros_like(top), top)
        trial_value, trial_g = evaluate(problem, trial)
        s, y = trial - x, g - trial_g
        slope, gain = (g * s).sum(-1), trial_value - value
        # projection can turn a long step downhill; a shorter one is uphill again
        uphill = slope > 0
        accepted = uphill & (gain >= ARMIJO * slope)
        # the parabola through value, slope and trial value has its top at this share of the step
        share = slope / (2 * (slope - gain).clamp_min(1e-300))
        share = torch.where(uphill, share, 0.5).clamp(0.1, 0.5)
        # once even the slope promises less than the tolerance, there is nothing left to find, or
        # only rounding in the values
        promise = torch.where(accepted, gain, share * slope)
        ended = (promise <= value_tolerance * size) & uphill
        B, fresh = _bfgs(B, s, y, fresh, accepted)
        x = torch.where(accepted[:, None], trial, x)
        g = torch.where(accepted[:, None], trial_g, g)
        value = torch.where(accepted, trial_value, value)
        step = torch.where(accepted, 1.0, step * share)
        direction, flat, fresh = _direction(B, g, x, top, fresh, gradient_tolerance * size)
        ended |= flat | (step < SHORTEST)
        if compete:
            best = max(float(end_value.max()), float(value.max()))
            ended |= accepted & (value + OUTCLASSED * gain < best)
        iteration += 1
    end[problem], end_value[problem] = x, value
    # rounding must not lead out of the box, nor away from a start where there is nothing to climb
    moved = torch.where(end == first, start, lower + scale * end)
    inside = moved.clamp(bounds[0], bounds[1])
    return Ascent(inside, end_value, iteration, b - len(problem))


def _direction(
    B: Tensor, g: Tensor, x: Tensor, top: Tensor, fresh: Tensor, least_slope: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The quasi-Newton direction among the free coordinates, whether none has a slope left, fresh.

    B is restricted to the free coordinates before it is inverted, not after: otherwise a
    coordinate at its bound bends the direction of the others [Bertsekas 1982].
    """
    free = ~(((x <= 0) & (g < 0)) | ((x >= top) & (g > 0)))
    g = g * free
    restricted = B * (free[:, :, None] & free[:, None, :]) + torch.diag_embed((~free).to(B))
    newton, failed = torch.linalg.solve_ex(restricted, g)
    # where B is rounding it is forgotten, and the climb starts anew along the slope
    fresh = fresh | (failed != 0) | ~newton.isfinite().all(-1)
    direction = torch.where(fresh[:, None], g, newton)
    longest = direction.abs().amax(-1).clamp_min(1e-300)
    limit = torch.ones_like(longest).masked_fill(fresh, FIRST_STEP)
    limited = direction * (limit / longest).clamp_max(1)[:, None]
    return limited, g.abs().amax(-1) <= least_slope, fresh


def _bfgs(
    B: Tensor, s: Tensor, y: Tensor, fresh: Tensor, accepted: Tensor
) -> tuple[Tensor, Tensor]:
    """Update the Hessian of the negated function [Nocedal and Wright 2006, Eq. 6.19].

    Without positive curvature along s there is nothing to learn, and B stays.
    """
    sy, yy = (s * y).sum(-1), (y * y).sum(-1)
    learned = accepted & (sy > 1e-10 * ((s * s).sum(-1) * yy).sqrt())
    sy = torch.where(learned, sy, 1.0)[:, None, None]
    # the first update starts from a multiple of the identity [Eq. 6.20]
    identity = torch.eye(s.shape[-1], dtype=s.dtype)
    start = torch.where(fresh[:, None, None], yy[:, None, None] / sy * identity, B)
    Bs = start @ s[:, :, None]
    sBs = (s[:, None, :] @ Bs).clamp_min(1e-300)
    updated = start - Bs @ Bs.mT / sBs + y[:, :, None] * y[:, None, :] / sy
    return torch.where(learned[:, None, None], updated, B), fresh & ~learned
