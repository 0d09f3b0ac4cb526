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
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    bounds: Float[Tensor, "2 d"],
    noise: NoiseLaw,
    *,
    seed: int = 0,
    X_pending: Float[Tensor, "p d"] | None = None,
    num_max_values: int = 1,
    sampler: Sampler = "pathwise",
    prior: Prior = "default",
    noise_variance: float | None = None,
    previous: Hyperparameters | None = None,
) -> tuple[Float[Tensor, " d"], SuggestInfo]:
    """The point that NES-EP would evaluate next, given y = f(X) + noise; all in raw units.

    Maximises: negate y to minimise. `previous` are the hyper-parameters of an earlier iteration
    (`info.fit.hyperparameters`), from which the fit starts.
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
    x, maximize = maximize_acquisition(acquisition, bounds, generator, extra)
    return x, SuggestInfo(model, acquisition, fit, acquisition.info, maximize)
