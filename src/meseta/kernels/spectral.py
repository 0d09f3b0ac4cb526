"""Frequencies drawn from the spectral density of a kernel, for random Fourier features."""

import torch
from jaxtyping import Float
from scipy.special import stdtrit
from torch import Tensor

from meseta.kernels.matern import SMOOTHNESS
from meseta.kernels.stationary import Shape, StationaryKernel
from meseta.sobol import unit_sobol


def frequencies(
    kernel: StationaryKernel, num: int, generator: torch.Generator
) -> Float[Tensor, "num d"]:
    """omega with density the Fourier transform of k_f / variance, quasi-randomly.

    Per dimension a standard Normal for the squared exponential and a Student t with 2 nu degrees
    of freedom for the Matern kernels, over the lengthscale [Rasmussen and Williams 2006, 4.2].
    """
    u = unit_sobol(len(kernel.shapes), num, generator).clamp(1e-15, 1 - 1e-15)
    columns = [_quantile(shape, u[:, i]) for i, shape in enumerate(kernel.shapes)]
    return torch.stack(columns, dim=1) / kernel.lengthscale


def _quantile(shape: Shape, u: Float[Tensor, " num"]) -> Float[Tensor, " num"]:
    if shape == "se":
        return torch.special.ndtri(u)
    return torch.tensor(stdtrit(2 * SMOOTHNESS[shape], u.numpy()))
