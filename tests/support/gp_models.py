"""Fitted-looking models with hyper-parameters that a test chooses."""

import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.means import ZeroMean
from gpytorch.settings import min_fixed_noise
from hypothesis import strategies as st

from meseta.gp.joint import condition
from meseta.integrations.botorch import fit_surrogate, product_matern


def tensor(values):
    return torch.as_tensor(values, dtype=torch.double)


def uniform(*shape, seed):
    return torch.rand(*shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))


def normal(*shape, seed):
    return torch.randn(*shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))


def kernel(shape, lengthscale, variance=None):
    """A GPyTorch kernel; variance None: without a ScaleKernel."""
    lengthscale = tensor(lengthscale).reshape(-1)
    d = len(lengthscale)
    if shape == "se":
        base = RBFKernel(ard_num_dims=d).double()
        base.lengthscale = lengthscale
    else:
        base = product_matern({"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[shape], d)
        base = base.double()
        for part, value in zip(base.kernels, lengthscale, strict=True):
            part.lengthscale = value
    if variance is None:
        return base
    scaled = ScaleKernel(base).double()
    scaled.outputscale = tensor(variance)
    return scaled


def model(X, y, covar_module, noise_variance=None, mean=None, **transforms):
    """noise_variance: a number for inferred noise, a vector for fixed noise."""
    transforms.setdefault("outcome_transform", None)
    noise_variance = tensor(1e-4 if noise_variance is None else noise_variance)
    fixed = noise_variance.ndim > 0
    with min_fixed_noise(double_value=1e-30):
        gp = SingleTaskGP(
            X,
            y[:, None],
            noise_variance[:, None] if fixed else None,
            covar_module=covar_module,
            mean_module=ZeroMean() if mean is None else None,
            **transforms,
        )
    if not fixed:
        gp.likelihood.noise = noise_variance
    if mean is not None:
        gp.mean_module.constant.data.fill_(mean)
    return gp.eval()


def random_model(seed, d, n, lengthscale=0.3, noise_variance=1e-4, shape="se", variance=1.0):
    X = uniform(n, d, seed=seed)
    y = normal(n, seed=seed + 1)
    return model(X, y, kernel(shape, [lengthscale] * d, variance), noise_variance)


def unit_box(d):
    return tensor([[0.0] * d, [1.0] * d])


def log_uniform(low, high):
    """10 ** u, u uniform between low and high."""
    return st.floats(low, high).map(lambda u: 10.0**u)


def without_value(core, i):
    """The same posterior given all values but one, by its definition."""
    rest = [j for j in range(len(core.y)) if j != i]
    return condition(
        core.kernel,
        core.mean,
        core.X[rest],
        core.y[rest],
        core.noise_variance[rest],
        core.coming,
        None if core.unseen is None else core.unseen.some(torch.tensor(rest)),
    )


SHAPES = ["se", "matern12", "matern32", "matern52"]


def small_model():
    """Eight values of a smooth function of two parameters, and the model that is fitted to them."""
    X = torch.rand(8, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    y = torch.sin(5 * X).sum(-1)
    return X, y, fit_surrogate(X, y, unit_box(2))[0]
