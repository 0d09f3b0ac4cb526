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

# Sufficient increase [Nocedal and Wright 2006, Eq. 3.4], and the largest first step as a share
# of the box: a gradient says nothing about how far to go.
ARMIJO = 1e-4
FIRST_STEP = 0.1
MAX_HALVINGS = 12

Objective = Callable[[Int[Tensor, " a"], Float[Tensor, "a d"]], Float[Tensor, " a"]]


class Ascent(NamedTuple):
    """Where each problem ended."""

    x: Float[Tensor, "b d"]
    value: Float[Tensor, " b"]
    iterations: int
    converged: int  # how many of the problems


def ascend(
    objective: Objective,
    start: Float[Tensor, "b d"],
    bounds: Float[Tensor, "2 d"],
    *,
    max_iterations: int = 30,
    gradient_tolerance: float = 1e-6,
    value_tolerance: float = 1e-9,
) -> Ascent:
    """A local maximum in the box for each of b problems, from b starting points.

    `objective(problem, x)` gives the value of problem[i] at x[i]; values never decrease, so a
    problem ends at worst where it started. Tolerances are relative to the largest value at the
    start: on the projected gradient (per width of the box) and on the gain of a step.
    """
    lower, width = bounds[0], bounds[1] - bounds[0]

    def evaluate(problem: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            value = objective(problem, lower + width * u)
            (gradient,) = torch.autograd.grad(value.sum(), u)
        return value.detach(), gradient

    b, d = start.shape
    u = ((start - lower) / width).clamp(0, 1)
    value, gradient = evaluate(torch.arange(b), u)
    size = value.abs().max().clamp_min(1e-300)
    B = torch.eye(d, dtype=u.dtype).repeat(b, 1, 1)
    fresh = torch.ones(b, dtype=torch.bool)  # B carries no curvature yet
    running = torch.arange(b)
    for iteration in range(max_iterations):
        g, x = gradient[running], u[running]
        free = ~(((x <= 0) & (g < 0)) | ((x >= 1) & (g > 0)))
        moving = (g * free).abs().amax(-1) > gradient_tolerance * size
        running, g, x, free = running[moving], g[moving], x[moving], free[moving]
        if not len(running):
            return Ascent(lower + width * u, value, iteration, b)
        direction = _direction(B[running], g, free, fresh[running])
        x_new, value_new, gradient_new, stepped = _line_search(
            evaluate, running, x, value[running], g, direction, value_tolerance * size
        )
        B[running], learned = _bfgs(B[running], x_new - x, g - gradient_new, fresh[running])
        fresh[running] &= ~learned
        gain = value_new - value[running]
        u[running], value[running], gradient[running] = x_new, value_new, gradient_new
        running = running[stepped & (gain > value_tolerance * size)]
        if not len(running):
            return Ascent(lower + width * u, value, iteration + 1, b)
    return Ascent(lower + width * u, value, max_iterations, b - len(running))


def _direction(B: Tensor, g: Tensor, free: Tensor, fresh: Tensor) -> Tensor:
    """The quasi-Newton direction among the free coordinates, or the gradient before there is one.

    B is restricted to the free coordinates before it is inverted, not after: otherwise a
    coordinate at its bound bends the direction of the others [Bertsekas 1982].
    """
    g = g * free
    restricted = B * free[:, :, None] * free[:, None, :] + torch.diag_embed((~free).to(B))
    newton = torch.linalg.solve(restricted, g)
    direction = torch.where(fresh[:, None], g, newton)
    longest = direction.abs().amax(-1).clamp_min(1e-300)
    limit = torch.ones_like(longest).masked_fill(fresh, FIRST_STEP)
    return direction * (limit / longest).clamp_max(1)[:, None]


def _line_search(
    evaluate: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    problem: Tensor,
    x: Tensor,
    value: Tensor,
    g: Tensor,
    direction: Tensor,
    least_gain: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Backtrack along the projected direction until the value increases enough.

    Once even the slope promises less than `least_gain`, there is nothing left to find (or only
    rounding in the values), and the problem stays where it is.
    """
    x_new, value_new, g_new = x.clone(), value.clone(), g.clone()
    stepped = torch.zeros(len(x), dtype=torch.bool)
    pending = torch.arange(len(x))
    step = torch.ones(len(x), dtype=x.dtype)
    for _ in range(MAX_HALVINGS):
        trial = (x[pending] + step[pending, None] * direction[pending]).clamp(0, 1)
        trial_value, trial_g = evaluate(problem[pending], trial)
        slope = (g[pending] * (trial - x[pending])).sum(-1)
        # projection can turn a long step downhill; a shorter one is uphill again
        uphill = slope > 0
        accepted = uphill & (trial_value >= value[pending] + ARMIJO * slope)
        done = pending[accepted]
        x_new[done], value_new[done] = trial[accepted], trial_value[accepted]
        g_new[done], stepped[done] = trial_g[accepted], True
        # the parabola through value, slope and trial value has its top at this share of the step
        curvature = (slope - (trial_value - value[pending])).clamp_min(1e-300)
        share = torch.where(uphill, slope / (2 * curvature), 0.5).clamp(0.1, 0.5)
        step[pending] = step[pending] * share
        pending = pending[~accepted & (~uphill | (share * slope > least_gain))]
        if not len(pending):
            break
    return x_new, value_new, g_new, stepped


def _bfgs(B: Tensor, s: Tensor, y: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
    """Update the Hessian of the negated function [Nocedal and Wright 2006, Eq. 6.19].

    Without positive curvature along s there is nothing to learn, and B stays.
    """
    sy = (s * y).sum(-1)
    learned = sy > 1e-10 * s.norm(dim=-1) * y.norm(dim=-1)
    sy = torch.where(learned, sy, 1.0)[:, None, None]
    # the first update starts from a multiple of the identity [Eq. 6.20]
    scale = y.square().sum(-1)[:, None, None] / sy
    identity = torch.eye(s.shape[-1], dtype=s.dtype)
    B = torch.where((fresh & learned)[:, None, None], scale * identity, B)
    Bs = B @ s[:, :, None]
    sBs = (s[:, None, :] @ Bs).clamp_min(1e-300)
    updated = B - Bs @ Bs.mT / sBs + y[:, :, None] * y[:, None, :] / sy
    return torch.where(learned[:, None, None], updated, B), learned
