"""Samples of the robust maximum g* = max g~(x) over the box."""

from typing import NamedTuple

import numpy as np
import torch
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from jaxtyping import Float
from torch import Tensor

from meseta.gp.paths import SamplePaths

# Points of the Sobol sweep, and the best of them that are refined, per path.
SWEEP = 512
STARTS = 2


class Maxima(NamedTuple):
    """The maximum of each path of g and where it is."""

    value: Float[Tensor, " paths"]
    x: Float[Tensor, "paths d"]
    dropped: int  # refinements that ended below their starting point


def maximize_paths(
    paths: SamplePaths,
    bounds: Float[Tensor, "2 d"],
    generator: torch.Generator,
) -> Maxima:
    """Maximise all paths of g at once: a Sobol sweep, then L-BFGS-B from its best points."""
    with torch.no_grad():
        sweep = torch.cat([sobol(bounds, SWEEP, generator), _inside(paths.X, bounds)])
        values, best = paths.g(sweep).topk(STARTS, dim=-1)
    num_paths = len(values)
    path = torch.arange(num_paths).repeat_interleave(STARTS)
    start = sweep[best.reshape(-1)]
    x, value = _refine(paths, path, start, bounds)
    improved = value >= values.reshape(-1)
    x = torch.where(improved[:, None], x, start)
    value = torch.where(improved, value, values.reshape(-1))
    value, x = value.view(num_paths, STARTS), x.view(num_paths, STARTS, -1)
    top = value.argmax(-1)
    every = torch.arange(num_paths)
    return Maxima(value[every, top], x[every, top], int((~improved).sum()))


def percentile_values(
    maxima: Float[Tensor, " paths"], num_values: int
) -> Float[Tensor, " num_values"]:
    """K values of g*: percentiles on a regular grid from 25 to 75, the median for K = 1."""
    if num_values < 1:
        raise ValueError(f"num_max_values must be at least 1, got {num_values}")
    grid = torch.linspace(0.25, 0.75, num_values, dtype=torch.double)
    return torch.quantile(maxima, grid if num_values > 1 else grid.new_tensor([0.5]))


def sobol(
    bounds: Float[Tensor, "2 d"], num: int, generator: torch.Generator
) -> Float[Tensor, "num d"]:
    """Scrambled Sobol points in a box."""
    seed = int(torch.randint(2**31, (), generator=generator))
    engine = torch.quasirandom.SobolEngine(bounds.shape[1], scramble=True, seed=seed)
    return bounds[0] + (bounds[1] - bounds[0]) * engine.draw(num, dtype=torch.double)


def _inside(x: Tensor, bounds: Tensor) -> Tensor:
    return x[((x >= bounds[0]) & (x <= bounds[1])).all(-1)]


def _refine(
    paths: SamplePaths, path: Tensor, start: Tensor, bounds: Tensor
) -> tuple[Tensor, Tensor]:
    def negated(x: np.ndarray, batch_indices: list[int]) -> tuple[np.ndarray, np.ndarray]:
        point = torch.from_numpy(x).requires_grad_()
        value = paths.g_of(path[batch_indices], point)
        (gradient,) = torch.autograd.grad(value.sum(), point)
        return -value.detach().numpy(), -gradient.numpy()

    x, value, _ = fmin_l_bfgs_b_batched(
        negated,
        start.numpy(),
        bounds=[tuple(b) for b in bounds.T.tolist()],
        pass_batch_indices=True,
        # g* enters the acquisition through its quantiles: six digits are more than enough
        factr=1e9,
        pgtol=1e-6,
        maxiter=50,
    )
    return torch.from_numpy(np.asarray(x)), -torch.from_numpy(np.asarray(value))
