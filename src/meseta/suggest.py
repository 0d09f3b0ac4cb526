"""One pure iteration: observations in, the next point out."""

from typing import NamedTuple

import torch
from botorch.models import SingleTaskGP
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.maximize import MaximizeInfo, maximize_acquisition
from meseta.acquisition.nes import NESInfo, NoisyInputEntropySearch
from meseta.gp.fit import FitInfo, Hyperparameters, Prior, fit_surrogate
from meseta.gp.paths import Sampler
from meseta.noise import NoiseLaw


class SuggestInfo(NamedTuple):
    """Everything behind a suggestion, for people and plots."""

    model: SingleTaskGP
    acquisition: NoisyInputEntropySearch
    fit: FitInfo
    nes: NESInfo
    maximize: MaximizeInfo


def suggest(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    noise: NoiseLaw,
    *,
    seed: int = 0,
    X_pending: Tensor | None = None,
    num_max_values: int = 1,
    sampler: Sampler = "pathwise",
    prior: Prior = "default",
    noise_variance: float | None = None,
    previous: Hyperparameters | None = None,
) -> tuple[Float[Tensor, " d"], SuggestInfo]:
    """The point that NES-EP would evaluate next, given y = f(X) + noise; all in raw units.

    Maximises: negate y to minimise.

    Args:
        X, y: The data, (n, d) and (n,).
        bounds: The box, (2, d).
        noise: The law of xi.
        seed: Of everything random in this iteration.
        X_pending: Points under evaluation, (p, d).
        num_max_values: K, how many values of g* to average over.
        sampler: Of the paths whose maxima are the values of g*.
        prior: Of the lengthscales, see `fit_surrogate`.
        noise_variance: Of the observations; None: inferred.
        previous: Hyper-parameters of an earlier iteration (`info.fit.hyperparameters`), from
            which the fit starts.
    """
    model, fit = fit_surrogate(
        X, y, bounds, noise, prior=prior, noise_variance=noise_variance, previous=previous
    )
    acquisition = NoisyInputEntropySearch(
        model,
        noise,
        bounds,
        num_max_values=num_max_values,
        X_pending=X_pending,
        seed=seed,
        sampler=sampler,
    )
    generator = torch.Generator().manual_seed(seed)
    # observations that tell about g* lie around the places where g may have its maximum
    maxima = acquisition.info.maxima
    extra = None if maxima is None else acquisition.robust.units.x_to_raw(maxima.x)
    lengthscale = acquisition.robust.lengthscale
    x, maximize = maximize_acquisition(
        acquisition, acquisition.bounds, generator, extra, lengthscale
    )
    return x, SuggestInfo(model, acquisition, fit, acquisition.info, maximize)
