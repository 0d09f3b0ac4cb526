"""Gradients against differences, at every point."""

import torch

# Functions with kinks have none within a small step; rounding is small in a large one.
STEPS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def slope_errors(function, x, gradient, direction, scale):
    """The error of the slope along `direction` at each x, over its size plus `scale`.

    That of the best of several steps; x and the others are (m, 1, d).
    """
    ours = (gradient * direction).sum((-1, -2))
    errors = []
    with torch.no_grad():
        for step in STEPS:
            slope = (function(x + step * direction) - function(x - step * direction)) / (2 * step)
            errors.append((ours - slope).abs() / (scale + slope.abs()))
    return torch.stack(errors).amin(0)
