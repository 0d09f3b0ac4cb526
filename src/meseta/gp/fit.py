"""Fitting the surrogate of f: normalised inputs, standardised outcomes, MAP hyper-parameters."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import torch
from botorch.exceptions.warnings import OptimizationWarning
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim.fit import fit_gpytorch_mll_scipy
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel, MaternKernel, ProductKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from gpytorch.settings import min_fixed_noise
from jaxtyping import Float
from linear_operator.utils.errors import NotPSDError
from torch import Tensor

from meseta.boundary import unknown
from meseta.gp.thinning import thinned
from meseta.kernels.shapes import SHAPES
from meseta.noise import NoiseLaw
from meseta.space.domain import checked_bounds

Prior = Literal["default", "paper"]
KernelName = Literal["se", "matern52", "matern32"]

# Lengthscales are shares of the box, variances shares of the variance of y. Each prior is given by
# its mode and by the standard deviation of the logarithm; docs/design.md says what was compared.
LENGTHSCALE, LENGTHSCALE_SPREAD = 0.2, 0.7  # in one dimension
PAPER_SPREAD = 0.07
NOISE_VARIANCE, NOISE_SPREAD = 1e-5, 3.0
# A simulator repeats itself to many digits, a laboratory does not.
MIN_NOISE_VARIANCE = 1e-8
MIN_LENGTHSCALE = 5e-3
MIN_OUTPUTSCALE = 1e-4
# Where the log posterior is looked at to judge a fit: shares of the usual lengthscales, and noise
# variances. A fit that ends below one of these has stopped short, and is repeated from there.
PROBED_LENGTHSCALES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
PROBED_NOISE_VARIANCES = (1e-6, 1e-4, 1e-2)
# The second start: shares of the usual lengthscales, and a noise variance.
SHORT, QUIET = 0.3, 1e-6
SAME = 1e-6  # log posteriors per observation that differ by less are those of one hill
# A fit that ends with a larger slope of the log posterior per observation has not converged. It
# usually ends at 1e-4 or less; 0.05 of an observation changes no suggestion.
STEEP = 0.05
# Hyper-parameters are fitted to at most this many values: the cost grows with the cube.
MOST_FITTED = 500


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
    repeated: bool  # the first fit ended below the log posterior of another start
    num_fitted: int  # values that the hyper-parameters were fitted to; the model has them all
    slope: float  # the largest left, of log_posterior along the log of one of them; NaN: it failed
    messages: tuple[str, ...]  # warnings of the libraries underneath, and what was repaired


def fit_surrogate(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    noise: NoiseLaw | None = None,
    *,
    kernel: KernelName = "se",
    prior: Prior = "default",
    noise_variance: float | None = None,
    previous: Hyperparameters | None = None,
) -> tuple[SingleTaskGP, FitInfo]:
    """A SingleTaskGP with its hyper-parameters at their MAP values.

    Args:
        X: Where f was evaluated, raw, (n, d).
        y: What came out, raw, (n,).
        bounds: The box that the inputs are normalised with, (2, d).
        noise: The input noise; the prior "paper" relates the lengthscales to it.
        kernel: "se" (squared exponential), or "matern52" or "matern32": the product of Matern
            kernels of each dimension.
        prior: "default" (weak, scaled with the dimension), or "paper": LogNormal(log sd, 0.07)
            around the input noise's standard deviation, as in the paper's published runs.
        noise_variance: The variance of the observations, raw; None: inferred.
        previous: Hyper-parameters to start from.
    """
    check_data(X, y)
    bounds = checked_bounds(bounds, X.shape[1])
    if noise_variance is not None and not 0 <= noise_variance < math.inf:
        raise ValueError(
            f"noise_variance must be finite and not negative, got {noise_variance}; "
            "leave it out to have it inferred"
        )
    model = _build(X, y, bounds, noise, kernel, prior, noise_variance)
    fitted = model
    if len(X) > MOST_FITTED:
        chosen = thinned((X - bounds[0]) / (bounds[1] - bounds[0]), MOST_FITTED)
        # in the units of the whole: the standardised values, and the noise as it is there
        noise_share = None if noise_variance is None else float(model.likelihood.noise[0])
        fitted = _build(
            X[chosen],
            model.train_targets[chosen],
            bounds,
            noise,
            kernel,
            prior,
            noise_share,
            standardize=False,
        )
    inferred = noise_variance is None
    reached, repeated = _best_fit(fitted, previous, inferred)
    if fitted is not model:
        _set(model, reached.hyperparameters)
        model.eval()
    return model, FitInfo(
        reached.hyperparameters,
        reached.log_posterior,
        reached.iterations,
        previous is not None,
        repeated,
        len(fitted.train_targets),
        reached.slope,
        reached.messages,
    )


class _Reached(NamedTuple):
    """Where a fit ended."""

    hyperparameters: Hyperparameters
    log_posterior: float
    slope: float  # NaN: the fit failed, and these are its start
    iterations: int
    messages: tuple[str, ...]


def _best_fit(
    model: SingleTaskGP, previous: Hyperparameters | None, inferred: bool
) -> tuple[_Reached, bool]:
    """The best fit of several starts, judged by its own value, and whether it took another start.

    One starts from the previous hyper-parameters or the usual ones, one short and quiet: a smooth
    trend with much noise is often another hill of the posterior than short lengthscales without.
    Fits that end below the log posterior of a probe have stopped short: on a plateau, on a lower
    hill, or in rounding. Then the highest probe is a start, too.
    No warning of a library decides: whether there is one depends on the processor.
    """
    usual = _get(model, inferred)
    quiet = replace(
        usual,
        lengthscale=SHORT * usual.lengthscale,
        noise_variance=_double(QUIET) if inferred else usual.noise_variance,
    )
    fits = [_fit(model, start, inferred) for start in (previous or usual, quiet)]
    probes = [(_log_posterior(model, probe), probe) for probe in _probes(usual)]
    highest, probe = max(probes, key=lambda pair: pair[0])
    if max(fit.log_posterior for fit in fits) < highest:
        fits.append(_fit(model, probe, inferred))
    first = best = fits[0]
    for other in fits[1:]:
        if best.log_posterior < other.log_posterior - SAME:
            best = other
    repeated = best is not first or len(fits) > 2
    messages = [*first.messages]
    if best is not first:
        says = "the fit ended below another start, and was repeated from there"
        messages += [*best.messages, says]
    if math.isnan(best.slope):
        warnings.warn(best.messages[0], RuntimeWarning, stacklevel=3)
    elif best.slope > STEEP:
        messages.append(f"the fit has not converged: it ended at a slope of {best.slope:.1g}")
    _set(model, best.hyperparameters)
    model.eval()
    iterations = sum(fit.iterations for fit in fits)
    # libraries repeat themselves at every step
    best = best._replace(iterations=iterations, messages=tuple(dict.fromkeys(messages)))
    return best, repeated


def _probes(usual: Hyperparameters) -> Iterator[Hyperparameters]:
    """Structured starts around the usual one: wigglier, smoother, with less and more noise."""
    for share in PROBED_LENGTHSCALES:
        lengthscale = share * usual.lengthscale
        if usual.noise_variance is None:
            yield replace(usual, lengthscale=lengthscale)
            continue
        for noise in PROBED_NOISE_VARIANCES:
            yield replace(usual, lengthscale=lengthscale, noise_variance=_double(noise))


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
    kernel: KernelName,
    prior: Prior,
    noise_variance: float | None,
    standardize: bool = True,
) -> SingleTaskGP:
    d = X.shape[1]
    centre, spread = _lengthscale_prior(d, bounds, noise, prior)
    scaled = ScaleKernel(
        _base_kernel(kernel, centre, spread),
        outputscale_prior=_around(_double(1.0), _double(1.0)),
        outputscale_constraint=_positive(1.0),
    )
    X, y = X.detach().double(), y.detach().double()
    y_variance = None if noise_variance is None else torch.full_like(y, noise_variance)[:, None]
    likelihood = None
    if noise_variance is None:
        likelihood = GaussianLikelihood(
            noise_prior=_around(_double(NOISE_VARIANCE), _double(NOISE_SPREAD)),
            noise_constraint=_positive(1e-4),
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
            covar_module=scaled,
            input_transform=Normalize(d, bounds=bounds),
            outcome_transform=Standardize(1, min_stdv=rounding) if standardize else None,
        )


def _base_kernel(kernel: KernelName, centre: Tensor, spread: Tensor) -> Kernel:
    """A lengthscale with its prior for each dimension, and no variance."""
    if kernel not in get_args(KernelName):
        raise ValueError(unknown("kernel", kernel, get_args(KernelName)))

    def lengthscale(centre: Tensor, spread: Tensor) -> dict[str, Any]:
        start = centre.clamp_min(2 * MIN_LENGTHSCALE)
        prior, constraint = _around(centre, spread), _positive(start)
        return {"lengthscale_prior": prior, "lengthscale_constraint": constraint}

    if kernel == "se":
        return RBFKernel(ard_num_dims=len(centre), **lengthscale(centre, spread))
    # not GPyTorch's MaternKernel of all dimensions, which depends on the distance: the factors of
    # a product are smoothed one by one
    return ProductKernel(
        *(
            MaternKernel(nu=SHAPES[kernel].nu, active_dims=(i,), **lengthscale(*each))
            for i, each in enumerate(zip(centre, spread, strict=True))
        )
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


def _positive(start: float | Tensor) -> Positive:
    """Positive quantities that may span decades are optimised on a logarithmic scale.

    Their least values are bounds of the optimisation, see `_fit`, and not added to an exponential:
    that would be flat near them, and a fit that comes there would stay.
    """
    return Positive(transform=torch.exp, inv_transform=torch.log, initial_value=start)


def _fit(model: SingleTaskGP, start: Hyperparameters, inferred: bool) -> _Reached:
    """Maximise the marginal likelihood times the priors; a failure is reported, with the start."""
    _set(model, start)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    mll.train()
    bounds: dict[str, tuple[float | None, float | None]] = {
        name: (lower, None) for name, lower in _lower_bounds(mll).items()
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # of a line search that fails: rounding decides whether it does, and the slope says it too
        warnings.simplefilter("ignore", OptimizationWarning)
        try:
            result = fit_gpytorch_mll_scipy(mll, bounds=bounds)
            value, slope = -float(result.fval), _slope(mll)
            reached = _Reached(_get(model, inferred), value, slope, int(result.step), ())
        except (NotPSDError, ValueError, RuntimeError) as error:
            says = f"fit failed, hyper-parameters kept at their start: {error}"
            reached = _Reached(start, _log_posterior(model, start), math.nan, 0, (says,))
    said = (f"{w.category.__name__}: {w.message}" for w in caught)
    return reached._replace(messages=(*reached.messages, *said))


def _lower_bounds(mll: ExactMarginalLogLikelihood) -> dict[str, float]:
    """The least logarithm of each hyper-parameter that has one."""
    least = {
        "raw_lengthscale": MIN_LENGTHSCALE,
        "raw_outputscale": MIN_OUTPUTSCALE,
        "raw_noise": MIN_NOISE_VARIANCE,
    }
    last = {name: name.rsplit(".", 1)[-1] for name, _ in mll.named_parameters()}
    return {name: math.log(least[part]) for name, part in last.items() if part in least}


def _slope(mll: ExactMarginalLogLikelihood) -> float:
    """The largest slope of the log posterior that does not lead across a lower bound."""
    names, raw = zip(*mll.named_parameters(), strict=True)
    value = mll(mll.model(*mll.model.train_inputs), mll.model.train_targets)
    lower = _lower_bounds(mll)
    slopes = []
    for name, at, slope in zip(names, raw, torch.autograd.grad(value, raw), strict=True):
        held = (at <= lower.get(name, -math.inf)) & (slope < 0)
        slopes.append(float(slope.masked_fill(held, 0.0).abs().max()))
    return max(slopes)


@torch.no_grad()
def _log_posterior(model: SingleTaskGP, at: Hyperparameters) -> float:
    """Per observation, as `_fit` maximises it; minus infinity where it has no value."""
    _set(model, at)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    mll.train()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is kept of a probe but its value
        try:
            value = float(mll(model(*model.train_inputs), model.train_targets))
        except NotPSDError:
            return -math.inf
    return value if math.isfinite(value) else -math.inf


def _parts(model: SingleTaskGP) -> list[Kernel]:
    """The kernels that have lengthscales, in the order of the dimensions."""
    base = model.covar_module.base_kernel
    return list(base.kernels) if isinstance(base, ProductKernel) else [base]


def _get(model: SingleTaskGP, inferred: bool) -> Hyperparameters:
    lengthscales = [part.lengthscale.detach().reshape(-1) for part in _parts(model)]
    return Hyperparameters(
        lengthscale=torch.cat(lengthscales),
        outputscale=model.covar_module.outputscale.detach().clone(),
        noise_variance=model.likelihood.noise.detach().reshape(()).clone() if inferred else None,
        mean=model.mean_module.constant.detach().clone(),
    )


def _set(model: SingleTaskGP, start: Hyperparameters) -> None:
    parts = _parts(model)
    share = len(start.lengthscale) // len(parts)  # all dimensions, or one
    for part, lengthscale in zip(parts, start.lengthscale.split(share), strict=True):
        part.lengthscale = lengthscale
    model.covar_module.outputscale = start.outputscale
    model.mean_module.constant = start.mean
    if start.noise_variance is not None and isinstance(model.likelihood, GaussianLikelihood):
        model.likelihood.noise = start.noise_variance
