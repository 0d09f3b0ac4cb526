"""A surrogate whose hyper-parameters are known, not learned."""

import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.settings import min_fixed_noise
from torch import Tensor

from meseta.gp.fit import check_data
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
) -> SingleTaskGP:
    """A SingleTaskGP with squared exponential kernel; all hyper-parameters in raw units.

    For functions drawn from a known Gaussian process, and for those who know theirs.
    """
    check_data(X, y)
    d = X.shape[1]
    bounds = checked_bounds(bounds, d)
    X, y = X.detach().double(), y.detach().double()
    kernel = ScaleKernel(RBFKernel(ard_num_dims=d)).double()
    lengthscale = torch.as_tensor(lengthscale, dtype=torch.double) / (bounds[1] - bounds[0])
    kernel.base_kernel.lengthscale = lengthscale.expand(d)
    kernel.outputscale = variance
    with min_fixed_noise(double_value=0.0):
        model = SingleTaskGP(
            X,
            y[:, None],
            torch.full_like(y, noise_variance)[:, None],
            covar_module=kernel,
            input_transform=Normalize(d, bounds=bounds),
            outcome_transform=None,
        )
    model.mean_module.constant = mean
    return model.eval()
