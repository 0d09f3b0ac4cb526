"""One pure iteration: observations in, the next point out."""

from typing import NamedTuple, Unpack

import numpy as np
import torch
from botorch.models import SingleTaskGP
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.acquisition.argmax import MaximizeInfo, maximize_acquisition
from meseta.acquisition.prepared import RobustAcquisition
from meseta.gp.fit import FitInfo, Hyperparameters, check_data, fit_surrogate
from meseta.noise import NoiseLaw
from meseta.optimizer.settings import StepKeywords, read_settings
from meseta.space.domain import Domain, Held, checked_domain


class SuggestInfo(NamedTuple):
    """Everything behind a suggestion, for people and plots.

    A method without a model (sobol) has only None here.
    """

    model: SingleTaskGP | None = None
    fit: FitInfo | None = None
    acquisition: RobustAcquisition | None = None
    smoothing_error: float | None = None  # of covariances of g, over the prior variance
    maximize: MaximizeInfo | None = None


def suggest(
    X: Tensor,
    y: Tensor,
    bounds: Tensor | Domain,
    noise: NoiseLaw,
    *,
    X_pending: Tensor | None = None,
    previous: Hyperparameters | None = None,
    fitted: tuple[SingleTaskGP, FitInfo | None] | None = None,
    held: Held | None = None,
    **settings: Unpack[StepKeywords],
) -> tuple[Float[Tensor, " d"], SuggestInfo]:
    """The point that a method would evaluate next, given y = f(X) + noise; all in raw units.

    Maximises: negate y to minimise.

    Args:
        X: Where f was evaluated, (n, d).
        y: What came out, (n,).
        bounds: The box, (2, d); or a Domain, where parts of it are discrete.
        noise: The law of xi.
        X_pending: Points under evaluation, (p, d).
        previous: Hyper-parameters of an earlier iteration (`info.fit.hyperparameters`), from
            which the fit starts.
        fitted: What `fit_surrogate` returned for these data, or a model of your own and None; if
            given, nothing is fitted.
        held: Columns that cannot be chosen, and what they are expected to be, in raw units.
        settings: method, options, kernel, prior, noise_variance and seed, see `meseta.Settings`.
            The seed is that of a whole run: each iteration draws from a stream of its own.
    """
    check_data(X, y)
    domain = checked_domain(bounds, X.shape[1])
    chosen = read_settings(None, settings, StepKeywords)
    prepare, seed = methods.prepare(chosen.method, chosen.options), chosen.drawn_seed()
    number = len(X) + (0 if X_pending is None else len(X_pending))
    if prepare is None:
        x = domain.sobol_sequence(number, 1, seed)[0]
        return x if held is None else held.put(x), SuggestInfo()
    if fitted is None:
        fitted = fit_surrogate(
            X,
            y,
            domain.bounds,
            noise,
            kernel=chosen.kernel,
            prior=chosen.prior,
            noise_variance=chosen.noise_variance,
            previous=previous,
        )
    model, fit = fitted
    stream = int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)
    acquisition = RobustAcquisition(model, noise, domain, prepare, X_pending, stream)
    generator = torch.Generator().manual_seed(stream)
    x, maximize = maximize_acquisition(
        acquisition if held is None else lambda X: acquisition(held.put(X)),
        domain,
        generator,
        acquisition.starts,
        acquisition.robust.lengthscale,
    )
    x = x if held is None else held.put(x)
    error = acquisition.robust.core.kernel.error
    return x, SuggestInfo(model, fit, acquisition, error, maximize)
