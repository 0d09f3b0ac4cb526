"""A surrogate whose hyper-parameters are known, not learned."""

import torch
from torch import Tensor

from meseta.gp.fit import check_data
from meseta.gp.surrogate import Surrogate, Units
from meseta.kernels import StationaryKernel
from meseta.kernels.stationary import GAUSSIAN
from meseta.space.domain import checked_bounds


def known_surrogate(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    *,
    lengthscale: float | Tensor,
    variance: float,
    noise_variance: float,
    mean: float = 0.0,
) -> Surrogate:
    """A Gaussian process with squared exponential kernel; all hyper-parameters in raw units.

    For functions drawn from a known Gaussian process, and for those who know theirs.
    """
    check_data(X, y)
    d = X.shape[1]
    bounds = checked_bounds(bounds, d)
    width = bounds[1] - bounds[0]
    noise = torch.tensor(noise_variance, dtype=torch.double)
    return Surrogate(
        kernel=StationaryKernel(
            torch.tensor(variance, dtype=torch.double),
            (GAUSSIAN,) * d,
            (torch.as_tensor(lengthscale, dtype=torch.double) / width).expand(d),
        ),
        mean=torch.tensor(mean, dtype=torch.double),
        X=(X.detach().double() - bounds[0]) / width,
        y=y.detach().double(),
        noise_variance=noise.expand(len(y)),
        new_noise_variance=noise,
        units=Units(bounds[0], width, torch.zeros_like(noise), torch.ones_like(noise)),
    )
