"""The spectral density of a kernel: frequencies drawn from it, and a rule over all of them.

kappa(delta) = int S(omega) cos(omega delta) d omega over omega > 0 [Bochner's theorem]. Per
dimension S is a standard Normal for the squared exponential and a Student t with 2 nu degrees of
freedom for the Matern kernels, both folded at 0 and over the lengthscale [Rasmussen and Williams
2006, 4.2].
"""

import math

import torch
from jaxtyping import Float
from scipy.special import stdtr, stdtrit
from torch import Tensor

from meseta.kernels.matern import SMOOTHNESS
from meseta.kernels.stationary import Shape, StationaryKernel
from meseta.space.sobol import unit_sobol

# Highest frequencies of a rule, in 1 / lengthscale. What lies beyond is 2e-17 of the variance for
# the squared exponential, 8e-8, 1e-6 and 3e-3 for the Matern kernels of order 5/2, 3/2 and 1/2;
# the characteristic function of most laws makes that much less.
HIGHEST: dict[Shape, float] = {"se": 8.5, "matern52": 48.0, "matern32": 128.0, "matern12": 200.0}


def frequencies(
    kernel: StationaryKernel, num: int, generator: torch.Generator
) -> Float[Tensor, "num d"]:
    """omega with density the Fourier transform of k_f / variance, quasi-randomly."""
    u = unit_sobol(len(kernel.shapes), num, generator).clamp(1e-15, 1 - 1e-15)
    columns = [_quantile(shape, u[:, i]) for i, shape in enumerate(kernel.shapes)]
    return torch.stack(columns, dim=1) / kernel.lengthscale


def spectral_density(shape: Shape, omega: Float[Tensor, "*m"]) -> Float[Tensor, "*m"]:
    """S(omega), omega > 0 in 1 / lengthscale."""
    if shape == "se":
        return math.sqrt(2 / math.pi) * (-0.5 * omega.square()).exp()
    df = 2 * SMOOTHNESS[shape]
    height = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    return 2 * height * (1 + omega.square() / df) ** (-(df + 1) / 2)


def beyond(shape: Shape, omega: float) -> float:
    """The mass of S above omega, in 1 / lengthscale."""
    if shape == "se":
        return math.erfc(omega / math.sqrt(2))
    return 2 * float(stdtr(2 * SMOOTHNESS[shape], -omega))


def _quantile(shape: Shape, u: Float[Tensor, " num"]) -> Float[Tensor, " num"]:
    if shape == "se":
        return torch.special.ndtri(u)
    return torch.tensor(stdtrit(2 * SMOOTHNESS[shape], u.numpy()))
