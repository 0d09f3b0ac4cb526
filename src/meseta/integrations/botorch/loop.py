"""Whole iterations for a loop of your own, in raw units: the next point, and the optimum."""

from dataclasses import dataclass
from typing import NamedTuple, Unpack

from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.acquisition.argmax import MaximizeInfo
from meseta.gp.fit import FitInfo, check_data, fit_surrogate
from meseta.gp.robust import RobustPosterior
from meseta.integrations.botorch.acquisition import RobustAcquisition
from meseta.noise import NoiseLaw
from meseta.optimizer.recommend import nominal_optimum, robust_optimum
from meseta.optimizer.settings import StepKeywords, read_settings
from meseta.optimizer.suggest import stream_of
from meseta.space.domain import Domain, checked_domain


class IterationInfo(NamedTuple):
    """Everything behind a suggestion. A method without a model (sobol) has only None here."""

    model: object = None  # a surrogate, or the one that was given
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
    fitted: tuple[object, FitInfo | None] | None = None,
    **settings: Unpack[StepKeywords],
) -> tuple[Float[Tensor, " d"], IterationInfo]:
    """The point that a method would evaluate next, given y = f(X) + noise; all in raw units.

    Maximises: negate y to minimise.

    Args:
        X: Where f was evaluated, (n, d).
        y: What came out, (n,).
        bounds: The box, (2, d); or a Domain, where parts of it are discrete.
        noise: The law of xi.
        X_pending: Points under evaluation, (p, d).
        fitted: What `fit_surrogate` returned for these data, or a BoTorch model of your own and
            None; if given, nothing is fitted.
        settings: method, options, kernel, prior, noise_variance and seed, see `meseta.Settings`.
            The seed is that of a whole run: each iteration draws from a stream of its own.
    """
    check_data(X, y)
    domain = checked_domain(bounds, X.shape[1])
    chosen = read_settings(None, settings, StepKeywords)
    prepare, seed = methods.prepare(chosen.method, chosen.options), chosen.drawn_seed()
    number = len(X) + (0 if X_pending is None else len(X_pending))
    if prepare is None:
        return domain.sobol_sequence(number, 1, seed)[0], IterationInfo()
    if isinstance(chosen.noise_variance, str):
        raise ValueError(
            f"noise_variance = {chosen.noise_variance!r} is for meseta.Optimizer; fit a model of "
            "your own with train_Yvar, and pass it as fitted"
        )
    if fitted is None:
        fitted = fit_surrogate(
            X,
            y,
            domain.bounds,
            noise,
            kernel=chosen.kernel,
            prior=chosen.prior,
            noise_variance=chosen.noise_variance,
        )
    model, fit = fitted
    stream = stream_of(seed, number)
    acquisition = RobustAcquisition(model, noise, domain, prepare, X_pending, stream)
    x, maximize = acquisition.maximized()
    error = acquisition.robust.core.kernel.error
    return x, IterationInfo(model, fit, acquisition, error, maximize)


@dataclass(frozen=True, eq=False)
class Optimum:
    """A design with what the model expects of it, in raw units."""

    x: Float[Tensor, " d"]
    mean: float  # of g(x) = E f(x + xi): what the design is worth once perturbed
    std: float  # posterior standard deviation of g(x)
    nominal_mean: float  # of f(x): what it is worth if nothing perturbs it
    nominal_std: float


def recommend(
    posterior: RobustPosterior,
    bounds: Tensor | Domain,
    *,
    method: str = methods.DEFAULT_METHOD,
    options: object = None,
    seed: int = 0,
) -> Optimum:
    """Where the method believes the robust optimum to be, see `robust_optimum`."""
    domain = _in_model(posterior, bounds)
    x = robust_optimum(posterior.mixture, domain, method=method, options=options, seed=seed)
    return _valued(posterior, bounds, x)


def nominal(posterior: RobustPosterior, bounds: Tensor | Domain, *, seed: int = 0) -> Optimum:
    """The tallest point: argmax of the posterior mean of f, which ignores the input noise."""
    x = nominal_optimum(posterior.mixture, _in_model(posterior, bounds), seed=seed)
    return _valued(posterior, bounds, x)


def _in_model(posterior: RobustPosterior, bounds: Tensor | Domain) -> Domain:
    return checked_domain(bounds, posterior.dimension).mapped(posterior.units.x_to_model)


def _valued(posterior: RobustPosterior, bounds: Tensor | Domain, x: Float[Tensor, " d"]) -> Optimum:
    # once more in raw units: rounding must not lead out of the box
    x = checked_domain(bounds, posterior.dimension).snap(posterior.units.x_to_raw(x))
    moments = posterior.joint(x[None])
    return Optimum(
        x=x,
        mean=float(moments.m_g),
        std=float(moments.v_g.sqrt()),
        nominal_mean=float(moments.m_f),
        nominal_std=float(moments.v_f.sqrt()),
    )
