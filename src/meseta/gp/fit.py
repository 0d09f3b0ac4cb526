"""Fitting the surrogate of f: normalised inputs, standardised outcomes, MAP hyper-parameters."""

import math
import warnings
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim.fit import fit_gpytorch_mll_scipy
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from gpytorch.settings import min_fixed_noise
from jaxtyping import Float
from linear_operator.utils.errors import NotPSDError
from torch import Tensor

from meseta.domain import checked_bounds
from meseta.noise import NoiseLaw

Prior = Literal["default", "paper"]

# Lengthscales are shares of the box, variances shares of the variance of y. Each prior is given by
# its mode and by the standard deviation of the logarithm; docs/design.md says what was compared.
LENGTHSCALE, LENGTHSCALE_SPREAD = 0.2, 0.7  # in one dimension
PAPER_SPREAD = 0.07
NOISE_VARIANCE, NOISE_SPREAD = 1e-5, 3.0
# A simulator repeats itself to many digits, a laboratory does not.
MIN_NOISE_VARIANCE = 1e-8
MIN_LENGTHSCALE = 5e-3


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What a fit learned, in the units of the model: a start for the next fit."""

    lengthscale: Float[Tensor, " d"]
    outputscale: Float[Tensor, ""]
    noise_variance: Float[Tensor, ""] | None  # None: given, not learned
    mean: Float[Tensor, ""]


class FitInfo(NamedTuple):
    """How the fit went."""

    hyperparameters: Hyperparameters
    log_posterior: float  # of the hyper-parameters, per observation
    iterations: int
    warm: bool  # started from earlier hyper-parameters
    messages: tuple[str, ...]  # warnings of the libraries underneath, and what was repaired


def fit_surrogate(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    noise: NoiseLaw | None = None,
    *,
    prior: Prior = "default",
    noise_variance: float | None = None,
    previous: Hyperparameters | None = None,
) -> tuple[SingleTaskGP, FitInfo]:
    """A SingleTaskGP with squared exponential kernel, its hyper-parameters at their MAP values.

    Args:
        X: Where f was evaluated, raw, (n, d).
        y: What came out, raw, (n,).
        bounds: The box that the inputs are normalised with, (2, d).
        noise: The input noise; the prior "paper" relates the lengthscales to it.
        prior: "default" (weak, scaled with the dimension), or "paper": LogNormal(log sd, 0.07)
            around the input noise's standard deviation, as in the paper's published runs.
        noise_variance: Of the observations, raw; None: inferred.
        previous: Hyper-parameters to start from.
    """
    check_data(X, y)
    bounds = checked_bounds(bounds, X.shape[1])
    if noise_variance is not None and not 0 <= noise_variance < math.inf:
        raise ValueError(
            f"noise_variance must be finite and not negative, got {noise_variance}; "
            "leave it out to have it inferred"
        )
    model = _build(X, y, bounds, noise, prior, noise_variance)
    if previous is not None:
        _set(model, previous)
    messages: list[str] = []
    value, iterations = _fit(model, messages)
    if messages and previous is not None:
        # it may have started where everything is flat, such as at the least noise variance
        cold = _build(X, y, bounds, noise, prior, noise_variance)
        again: list[str] = []
        other, more = _fit(cold, again)
        iterations, messages = iterations + more, [*messages, *again]
        if not value >= other:
            model, value = cold, other
            messages.append("the fit was repeated from its usual start, and that was better")
    return model, FitInfo(
        _get(model, inferred=noise_variance is None),
        value,
        iterations,
        previous is not None,
        tuple(dict.fromkeys(messages)),  # libraries repeat themselves at every step
    )


def check_data(X: Tensor, y: Tensor) -> None:
    """Refuse data that no model can be fitted to, saying why."""
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise ValueError(
            f"expected X of shape (n, d) and y of shape (n,), got {tuple(X.shape)} and "
            f"{tuple(y.shape)}"
        )
    if not len(X):
        raise ValueError("there is no data yet; evaluate at least one point first")
    bad = ~(X.isfinite().all(-1) & y.isfinite())
    if bad.any():
        raise ValueError(
            f"rows {bad.nonzero().flatten().tolist()} of the data have NaN or infinite values; "
            "leave failed evaluations out"
        )


def _build(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    noise: NoiseLaw | None,
    prior: Prior,
    noise_variance: float | None,
) -> SingleTaskGP:
    d = X.shape[1]
    centre, spread = _lengthscale_prior(d, bounds, noise, prior)
    kernel = ScaleKernel(
        RBFKernel(
            ard_num_dims=d,
            lengthscale_prior=_around(centre, spread),
            lengthscale_constraint=_above(MIN_LENGTHSCALE, centre.clamp_min(2 * MIN_LENGTHSCALE)),
        ),
        outputscale_prior=_around(_double(1.0), _double(1.0)),
        outputscale_constraint=_above(1e-4, 1.0),
    )
    X, y = X.detach().double(), y.detach().double()
    y_variance = None if noise_variance is None else torch.full_like(y, noise_variance)[:, None]
    likelihood = None
    if noise_variance is None:
        likelihood = GaussianLikelihood(
            noise_prior=_around(_double(NOISE_VARIANCE), _double(NOISE_SPREAD)),
            noise_constraint=_above(MIN_NOISE_VARIANCE, 1e-4),
        )
    # below this the spread of y is rounding, and y counts as constant
    rounding = max(1e-14 * float(y.abs().max()), 1e-300)
    # GPyTorch would silently raise a given noise variance to 1e-6
    with min_fixed_noise(double_value=0.0):
        return SingleTaskGP(
            X,
            y[:, None],
            y_variance,
            likelihood=likelihood,
            covar_module=kernel,
            input_transform=Normalize(d, bounds=bounds),
            outcome_transform=Standardize(1, min_stdv=rounding),
        )


def _lengthscale_prior(
    d: int, bounds: Tensor, noise: NoiseLaw | None, prior: Prior
) -> tuple[Tensor, Tensor]:
    """Centre and spread for each lengthscale, as shares of the box."""
    # grows with sqrt(d), as distances in the box do [Hvarfner et al. 2024]
    centre = _double([LENGTHSCALE * math.sqrt(d)] * d)
    spread = _double([LENGTHSCALE_SPREAD] * d)
    if prior == "default":
        return centre, spread
    if prior != "paper":
        raise ValueError(f"unknown prior {prior!r}; use 'default' or 'paper'")
    if noise is None:
        raise ValueError(
            "the prior 'paper' relates lengthscales to the input noise; give noise=..."
        )
    width = noise.in_dimension(d).covariance_matrix.diagonal().sqrt() / (bounds[1] - bounds[0])
    perturbed = width > 0  # the paper has no parameters without noise: they keep the default
    return (
        torch.where(perturbed, width, centre),
        torch.where(perturbed, PAPER_SPREAD, spread),
    )


def _around(centre: Tensor, spread: Tensor) -> LogNormalPrior:
    """The LogNormal whose density is highest at `centre`: that is where MAP is drawn to.

    A LogNormal(mu, s) has its mode at exp(mu - s^2), far below its median when s is large.
    """
    return LogNormalPrior(centre.log() + spread**2, spread)


def _double(values: float | list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.double)


def _above(lower: float, start: float | Tensor) -> GreaterThan:
    """Positive quantities that may span decades are optimised on a logarithmic scale."""
    return GreaterThan(lower, transform=torch.exp, inv_transform=torch.log, initial_value=start)


def _fit(model: SingleTaskGP, messages: list[str]) -> tuple[float, int]:
    """Maximise the marginal likelihood times the priors; a failure keeps the start."""
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    mll.train()
    start = {name: value.clone() for name, value in model.state_dict().items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = fit_gpytorch_mll_scipy(mll)
            value, iterations = -float(result.fval), int(result.step)
        except (NotPSDError, ValueError, RuntimeError) as error:
            model.load_state_dict(start)
            messages.append(f"fit failed, hyper-parameters kept at their start: {error}")
            value, iterations = math.nan, 0
    if messages:
        warnings.warn(messages[0], RuntimeWarning, stacklevel=3)
    messages.extend(f"{w.category.__name__}: {w.message}" for w in caught)
    mll.eval()
    return value, iterations


def _get(model: SingleTaskGP, inferred: bool) -> Hyperparameters:
    kernel = model.covar_module
    return Hyperparameters(
        lengthscale=kernel.base_kernel.lengthscale.detach().reshape(-1).clone(),
        outputscale=kernel.outputscale.detach().clone(),
        noise_variance=model.likelihood.noise.detach().reshape(()).clone() if inferred else None,
        mean=model.mean_module.constant.detach().clone(),
    )


def _set(model: SingleTaskGP, start: Hyperparameters) -> None:
    kernel = model.covar_module
    kernel.base_kernel.lengthscale = start.lengthscale
    kernel.outputscale = start.outputscale
    model.mean_module.constant = start.mean
    if start.noise_variance is not None and isinstance(model.likelihood, GaussianLikelihood):
        model.likelihood.noise = start.noise_variance
