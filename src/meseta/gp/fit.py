"""Fitting the surrogate of f: normalised inputs, standardised outcomes, MAP hyper-parameters."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController
from torch import Tensor
from torch.quasirandom import SobolEngine

from meseta.boundary import unknown
from meseta.gp.log_posterior import LOWEST, Around, LogPosterior, LogPrior, Noise, Theta
from meseta.gp.observed import LogVariance, Unseen
from meseta.gp.quality import Quality, plain
from meseta.gp.surrogate import Surrogate, Units
from meseta.gp.thinning import thinned
from meseta.kernels import StationaryKernel
from meseta.kernels.shapes import SHAPES
from meseta.noise import NoiseLaw
from meseta.space.domain import checked_bounds
from meseta.space.recording import check_recordable

Prior = Literal["default", "paper"]
KernelName = Literal["auto", "se", "matern52", "matern32"]
AUTO = ("se", "matern52", "matern32")  # what "auto" weighs against each other

# Lengthscales are shares of the box, variances shares of the variance of y. Each prior is given by
# its mode and by the standard deviation of the logarithm; docs/design.md says what was compared.
LENGTHSCALE, LENGTHSCALE_SPREAD = 0.2, 0.7  # in one dimension
PAPER_SPREAD = 0.07
VARIANCE, VARIANCE_SPREAD = 1.0, 1.0
NOISE_VARIANCE, NOISE_SPREAD = 1e-2, 4.0
# The least and the largest of each. A simulator repeats itself to many digits, a laboratory does
# not; the upper ends are far from where the priors leave a fit.
LENGTHSCALES, VARIANCES, NOISE_VARIANCES = (5e-3, 1e3), (1e-4, 1e4), (1e-8, 1e2)
# A given noise variance that is smaller counts as this one in the likelihood (the posterior has it
# as it is): with less the covariance of close points is rounding.
LEAST_GIVEN = 1e-10
# Starts: shares of the usual lengthscales, and a noise variance. A smooth trend with much noise is
# often another hill of the posterior than short lengthscales without.
STARTS = ((0.3, 1e-6), (2.0, 1e-1))
# And one dimension short, all others long, for each dimension: the best NUM_UNEVEN are starts, too.
SHORT, LONG, UNEVEN_NOISE_VARIANCES, NUM_UNEVEN = 0.2, 2.0, (1e-5, 1e-2), 2
LONGER = 0.5  # log of how much longer lengthscales of Matern kernels are, for the same values
# Hyper-parameters are fitted to at most MOST_FITTED values, since the cost grows with the cube, and
# starts are compared with at most MOST_COMPARED of them.
MOST_FITTED, MOST_COMPARED = 500, 150
MOST_AVERAGED = 100  # of which some are averages over the noise
MOST_STEPS = 200
# A fit that ends with a larger slope of the log posterior has not converged. It usually ends at
# 1e-3 or less; 0.1 nats for an e-fold of a lengthscale change no suggestion.
STEEP = 0.1
# Models whose evidence is this many nats below that of the best are left out of a mixture.
NEGLIGIBLE = 4.0
STEP = 1e-3  # for the curvature of the log posterior, in logs of hyper-parameters
# Draws of the hyper-parameters, of all kernels together: as many as WORK / n, since many values
# know them well. They come from a Gaussian so much wider than the curvature at the mode, and count
# by the log posterior, none for more than some of them.
WORK, FEWEST_DRAWN, MOST_DRAWN = 1200, 8, 24
WIDER, MOST_WEIGHT, LEAST_SHARE = 1.2, 4.0, 1e-2
APART = 0.5  # of the logs of hyper-parameters: ends of climbs that are two hills
EDGE = 1e-9  # of the unit cube: no score is infinite
# Noise is told from none where twice the logarithm of the likelihood ratio is at least the 95 %
# point of its law, half a chi^2 with one degree of freedom. Without noise lengthscales are shorter,
# by these logs at the starts of the climbs.
TOLD, SHORTER = 2.71, (0.0, 1.0, 2.0)


class FitInfo(NamedTuple):
    """How the fit went."""

    weights: dict[str, float]  # of the kernels in the mixture, the heaviest first
    log_posterior: float  # of the hyper-parameters of the heaviest, in nats
    evaluations: int  # of the log posterior, from all starts together
    num_fitted: int  # values that the hyper-parameters were fitted to; the model has them all
    slope: float  # the largest left, of log_posterior along the log of a hyper-parameter
    messages: tuple[str, ...]  # what was repaired


class Weighted(NamedTuple):
    """Surrogates of the same data, and the weight of each."""

    surrogates: tuple[Surrogate, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Scatter:
    """Whether single values scatter around f, as far as their fit can tell."""

    hills: "tuple[_Hill, ...]"

    @cached_property
    def told(self) -> bool:
        """Whether the noise variance was told, or can be told from its least."""
        return _told(self.hills)


class Fit(NamedTuple):
    """Surrogates of the same data, and the weight of each; the heaviest first."""

    surrogates: tuple[Surrogate, ...]
    weights: tuple[float, ...]
    info: FitInfo
    # with hyper-parameters as the data leave them open, for what is promised
    draws: Callable[[], Weighted]
    scatter: "Scatter"


def fit_surrogate(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    noise: NoiseLaw | None = None,
    *,
    kernel: KernelName = "auto",
    prior: Prior = "default",
    noise_variance: float | None = None,
) -> tuple[Surrogate, FitInfo]:
    """The heaviest of the surrogates of `fit_surrogates`, which says what the arguments are."""
    fit = fit_surrogates(
        X, y, bounds, noise, kernel=kernel, prior=prior, noise_variance=noise_variance
    )
    return fit.surrogates[0], fit.info


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy and SciPy compute with one thread.

    Matrices of a fit are small. On a machine that is busy with something else OpenBLAS waits for
    its own threads, and a fit takes a hundred times as long.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@one_thread()
def fit_surrogates(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    noise: NoiseLaw | None = None,
    *,
    kernel: KernelName = "auto",
    prior: Prior = "default",
    noise_variance: float | None = None,
    scale: float | None = None,
    quality: Quality | None = None,
) -> Fit:
    """Gaussian processes with their hyper-parameters at their MAP values.

    The same data give the same models: each is the best that several starts lead to. Their weights
    are their shares of the evidence, by Laplace's method.

    Args:
        X: Where f was evaluated, raw, (n, d).
        y: What came out, raw, (n,).
        bounds: The box that the inputs are normalised with, (2, d).
        noise: The input noise; the prior "paper" relates the lengthscales to it.
        kernel: "se" (squared exponential), "matern52" or "matern32" (the product of Matern kernels
            of each dimension), or "auto": a mixture of these, as far as the data leave it open.
        prior: "default" (weak, scaled with the dimension), or "paper": LogNormal(log sd, 0.07)
            around the input noise's standard deviation, as in the paper's published runs.
        noise_variance: The variance of the observations, raw; None: inferred.
        scale: How large a difference counts, raw, for values that are all the same; None: 1.
        quality: What is known about each of the values; None: each is one measurement.
    """
    check_data(X, y)
    if kernel not in get_args(KernelName):
        raise ValueError(unknown("kernel", kernel, get_args(KernelName)))
    bounds = checked_bounds(bounds, X.shape[1])
    if noise_variance is not None and not 0 <= noise_variance < math.inf:
        raise ValueError(
            f"noise_variance must be finite and not negative, got {noise_variance}; "
            "leave it out to have it inferred"
        )
    units = _units(y.detach().double(), bounds, 1.0 if scale is None else scale)
    Z, t = units.x_to_model(X.detach().double()), units.y_to_model(y.detach().double())
    quality = plain(len(y)) if quality is None else quality
    variances = _variances(quality, noise_variance, float(units.y_scale))
    messages = []
    if not variances.learned and variances.fixed.min() < LEAST_GIVEN:
        messages.append(
            f"the likelihood takes the noise variance as {LEAST_GIVEN:g} of that of the values, "
            "where it is rounding"
        )
    log_prior = _log_prior(X.shape[1], bounds, noise, prior, variances.learned)
    likely = variances if variances.learned else _at_least(variances, LEAST_GIVEN)
    around = None if quality.unseen is None else _around(Z, quality.unseen)

    def posterior(name: str, chosen: Int[Tensor, " m"]) -> LogPosterior:
        rows = chosen.numpy()
        of_rows = None if around is None else around.some(rows)
        x, values, shape = Z[chosen].numpy(), t[chosen].numpy(), SHAPES[name]
        return LogPosterior(x, values, shape, log_prior, likely.some(rows), of_rows)

    most = MOST_FITTED if around is None else MOST_AVERAGED
    few, many = thinned(Z, min(MOST_COMPARED, most)), thinned(Z, most)
    compared = {name: posterior(name, few) for name in _kernels(kernel, noise, X.shape[1])}
    hills = _hills(compared)
    evaluations = sum(hill.evaluations for hill in hills.values())
    shapes = {name: _curvature(compared[name], hill) for name, hill in hills.items()}
    weights = _weights({name: hill.value + shapes[name].volume for name, hill in hills.items()})
    surrogates, ends, known = [], [], []
    for name, weight in weights.items():
        fitted, end = compared[name], hills[name]
        shape: _Curvature | None = shapes[name]
        if len(many) > len(few):
            fitted = posterior(name, many)
            end = _climb(fitted, end.theta)
            evaluations += end.evaluations
            shape = None
        if end.value == LOWEST:
            raise ValueError(
                "the covariance of the data has no Cholesky factor with any hyper-parameters; "
                "give a larger noise_variance, or leave it out to have it inferred"
            )
        surrogate = partial(_surrogate, Z, t, units, name, variances, quality)
        surrogates.append(surrogate(end.theta, fitted.mean(end.theta)[0]))
        ends.append(end)
        known.append(_Hill(fitted, end, shape, weight, surrogate))
    slope = max(end.slope for end in ends)
    if slope > STEEP:
        messages.append(f"the fit has not converged: it ended at a slope of {slope:.1g}")
    info = FitInfo(weights, ends[0].value, evaluations, len(many), slope, tuple(messages))
    draws, scatter = partial(_drawn, tuple(known)), Scatter(tuple(known))
    return Fit(tuple(surrogates), tuple(weights.values()), info, draws, scatter)


class _Reached(NamedTuple):
    """Where a climb ended."""

    theta: Theta
    value: float
    slope: float
    evaluations: int


def _kernels(kernel: KernelName, noise: NoiseLaw | None, d: int) -> tuple[str, ...]:
    """The kernels that are fitted.

    Noise that moves several parameters together has closed forms with the squared exponential, and
    takes up to a hundred times as long with the others: these must be asked for by name.
    """
    if kernel != "auto":
        return (kernel,)
    return AUTO if noise is None or noise.in_dimension(d).independent else AUTO[:1]


def _hills(posteriors: dict[str, LogPosterior]) -> dict[str, _Reached]:
    """The highest hill of each kernel; the first one looks everywhere, the others beside it.

    Of 300 random fits with another kernel one ends lower than it would from all starts, which take
    twice as long.
    """
    (first, posterior), *others = posteriors.items()
    hills = {first: _highest(posterior)}
    for name, posterior in others:
        longer = hills[first].theta.copy()
        longer[: posterior.X.shape[1]] += LONGER
        hills[name] = _best_climb(posterior, [longer, _even_start(posterior, *STARTS[0])])
    return hills


def _highest(posterior: LogPosterior) -> _Reached:
    """The highest of the hills that all starts lead to."""
    uneven = [(posterior(start)[0], start) for start in _uneven_starts(posterior)]
    uneven.sort(key=lambda pair: -pair[0])  # stable: the first of equals
    starts = [_even_start(posterior, *each) for each in STARTS]
    best = _best_climb(posterior, starts + [start for _, start in uneven[:NUM_UNEVEN]])
    return best._replace(evaluations=len(uneven) + best.evaluations)


def _best_climb(posterior: LogPosterior, starts: list[Theta]) -> _Reached:
    """The highest end, judged by its value alone; evaluations are those of all climbs."""
    climbs = [_climb(posterior, start) for start in starts]
    best = max(climbs, key=lambda climb: climb.value)
    return best._replace(evaluations=sum(climb.evaluations for climb in climbs))


class _Curvature(NamedTuple):
    """That of a hill: -d2/dtheta2 = vectors diag(along) vectors'."""

    along: Theta
    vectors: Float64[np.ndarray, "h h"]

    @property
    def volume(self) -> float:
        """Log of the volume of a Gaussian with it, by Laplace's method."""
        return -float(np.log(self.along / (2 * math.pi)).sum()) / 2


def _curvature(posterior: LogPosterior, hill: _Reached) -> _Curvature:
    """Of the top of a hill.

    No direction is wider than the widest prior, where the hill is flat or bent by a bound.
    """
    num = len(hill.theta)
    curvature = np.zeros((num, num))
    for i, shift in enumerate(STEP * np.eye(num)):
        rise = posterior(hill.theta - shift)[1] - posterior(hill.theta + shift)[1]
        curvature[i] = rise / (2 * STEP)
    along, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    return _Curvature(np.maximum(along, 1 / posterior.prior.spread.max() ** 2), vectors)


class _Hill(NamedTuple):
    """What draws of the hyper-parameters of a kernel take; no shape: it is not known yet."""

    posterior: LogPosterior
    end: _Reached
    shape: _Curvature | None
    weight: float
    surrogate: Callable[[Theta, float], Surrogate]


@one_thread()
def _drawn(hills: tuple[_Hill, ...]) -> Weighted:
    """Surrogates with draws of the hyper-parameters, of each kernel by its weight."""
    many = any(hill.shape is None for hill in hills)
    whole = min(max(WORK // len(hills[0].posterior.y), FEWEST_DRAWN), MOST_DRAWN)
    surrogates: list[Surrogate] = []
    weights: list[float] = []
    for hill in hills:
        for each in [hill] if many else _with_others(hill):
            num = max(1, round(whole * each.weight))
            drawn, shares = _draws(each, num)
            surrogates += [each.surrogate(theta, mean) for theta, mean in drawn]
            weights += [each.weight * share for share in shares]
    return Weighted(tuple(surrogates), tuple(weights))


def _with_others(hill: _Hill) -> list[_Hill]:
    """Return a hill and others of the same kernel, which share its weight by their evidence.

    A smooth trend that scatters and a rough one that does not are often two hills.
    """
    posterior, ends = hill.posterior, [hill.end]
    for start in STARTS:
        end = _climb(posterior, _even_start(posterior, *start))
        apart = min(float(np.abs(end.theta - each.theta).max()) for each in ends)
        if apart > APART and end.value > hill.end.value - NEGLIGIBLE:
            ends.append(end)
    shapes = [hill.shape or _curvature(posterior, hill.end)]
    shapes += [_curvature(posterior, end) for end in ends[1:]]
    logs = [end.value + shape.volume for end, shape in zip(ends, shapes, strict=True)]
    shares = np.exp(np.array(logs) - max(logs))
    shares = hill.weight * shares / shares.sum()
    return [
        hill._replace(end=end, shape=shape, weight=float(share))
        for end, shape, share in zip(ends, shapes, shares, strict=True)
        if share > LEAST_SHARE * hill.weight
    ]


def _draws(hill: _Hill, num: int) -> tuple[list[tuple[Theta, float]], list[float]]:
    """Draws around the mode, each with a draw of the mean of f, and their weights.

    The same data give the same ones: they come from points that fill the cube evenly.
    """
    posterior, end = hill.posterior, hill.end
    if num == 1:
        return [(end.theta, posterior.mean(end.theta)[0])], [1.0]
    along, vectors = hill.shape or _curvature(posterior, end)
    unit = SobolEngine(len(along) + 1, scramble=True, seed=0).draw(num, dtype=torch.double)
    scores = torch.special.ndtri(unit.clamp(EDGE, 1 - EDGE)).numpy()
    scores, of_mean = scores[:, 1:], scores[:, 0]
    low, high = _ends(len(along), posterior.X.shape[1])
    thetas = np.clip(end.theta + WIDER * (scores / np.sqrt(along)) @ vectors.T, low, high)
    logs = np.array([posterior(each)[0] for each in thetas]) + (scores**2).sum(-1) / 2
    shares = np.exp(logs - logs.max())
    for _ in range(num):  # what is cut makes the others count for more
        shares = shares / shares.sum()
        if shares.max() <= MOST_WEIGHT / num:
            break
        shares = np.minimum(shares, MOST_WEIGHT / num)
    kept = np.flatnonzero(shares > LEAST_SHARE / num)
    drawn = []
    for i in kept:
        mean, std = posterior.mean(thetas[i])
        drawn.append((thetas[i], mean + std * of_mean[i]))
    return drawn, (shares[kept] / shares[kept].sum()).tolist()


@one_thread()
def _told(hills: tuple[_Hill, ...]) -> bool:
    """Whether there is noise, by a likelihood ratio.

    All else has its prior on both sides: very short lengthscales may stand for any noise.
    """
    if not all(hill.posterior.noise.learned for hill in hills):
        return True
    some, none = [], []
    for hill in hills:
        posterior, theta = hill.posterior, hill.end.theta
        rest, d = theta[:-1], posterior.X.shape[1]
        some.append(posterior.with_noise(math.exp(theta[-1]))(rest)[0])
        starts = [rest - step * (np.arange(len(rest)) < d) for step in SHORTER]
        none.append(_best_climb(posterior.with_noise(NOISE_VARIANCES[0]), starts).value)
    return 2 * (max(some) - max(none)) >= TOLD


def _weights(evidence: dict[str, float]) -> dict[str, float]:
    """Shares of the evidence, the heaviest first, without negligible ones."""
    best = max(evidence.values())
    shares = {
        name: math.exp(value - best)
        for name, value in sorted(evidence.items(), key=lambda item: -item[1])
        if value >= best - NEGLIGIBLE
    }
    return {name: share / sum(shares.values()) for name, share in shares.items()}


def _even_start(posterior: LogPosterior, share: float, noise_variance: float) -> Theta:
    """The modes of the priors, with a share of the lengthscales, and a noise variance."""
    d = posterior.X.shape[1]
    theta = posterior.prior.log_mode.copy()
    theta[:d] += math.log(share)
    if posterior.noise.learned:
        theta[d + 1] = math.log(noise_variance)
    return theta


def _uneven_starts(posterior: LogPosterior) -> Iterator[Theta]:
    """One dimension short and the others long, with little and with much noise."""
    for noise_variance in UNEVEN_NOISE_VARIANCES:
        for i in range(posterior.X.shape[1]):
            theta = _even_start(posterior, LONG, noise_variance)
            theta[i] += math.log(SHORT / LONG)
            yield theta
        if not posterior.noise.learned:
            return


def _climb(posterior: LogPosterior, start: Theta) -> _Reached:
    """A local maximum of the log posterior."""
    d = posterior.X.shape[1]
    low, high = _ends(len(start), d)

    def descend(theta: Theta) -> tuple[float, Theta]:
        value, gradient = posterior(theta)
        return -value, -gradient

    result = minimize(
        descend,
        np.clip(start, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": MOST_STEPS, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-4},
    )
    theta, uphill = result.x, -result.jac
    held = ((theta <= low) & (uphill < 0)) | ((theta >= high) & (uphill > 0))
    slope = float(np.abs(np.where(held, 0.0, uphill)).max())
    return _Reached(theta, -float(result.fun), slope, int(result.nfev))


def _ends(num: int, d: int) -> tuple[Theta, Theta]:
    """The logs of the least and the largest hyper-parameters."""
    ends = [LENGTHSCALES] * d + [VARIANCES, NOISE_VARIANCES]
    low, high = np.log(ends[:num]).T
    return low, high


def _units(y: Float[Tensor, " n"], bounds: Float[Tensor, "2 d"], constant: float) -> Units:
    """Inputs as shares of the box, values with mean 0 and variance 1; `constant` ones by that."""
    # below this the spread of y is rounding, and y counts as constant
    rounding = max(1e-14 * float(y.abs().max()), 1e-300)
    spread = y.std() if len(y) > 1 else y.new_zeros(())
    scale = spread if spread >= rounding else torch.full_like(spread, constant)
    return Units(bounds[0], bounds[1] - bounds[0], y.mean(), scale)


def _surrogate(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    units: Units,
    kernel: str,
    noise: Noise,
    quality: Quality,
    theta: Theta,
    mean: float,
) -> Surrogate:
    d = X.shape[1]
    learned = torch.tensor(np.exp(theta))
    single = learned[d + 1] if noise.learned else _double(0.0)
    noise_variance = torch.from_numpy(noise.fixed) + single * torch.from_numpy(noise.share)
    if not noise.learned:  # that of a single measurement, as most of them are
        single = (noise_variance * quality.count).median()
    return Surrogate(
        kernel=StationaryKernel(learned[d], (kernel,) * d, learned[:d]),
        mean=_double(mean),
        X=X,
        y=y,
        noise_variance=noise_variance,
        new_noise_variance=single,
        units=units,
        log_noise_variance=_in_model(quality.log_variance, units),
        unseen=quality.unseen,
        new_unseen=quality.new_unseen,
    )


def _in_model(log_variance: LogVariance | None, units: Units) -> LogVariance | None:
    """The log of a raw variance as one of the variance in the units of the model."""
    if log_variance is None:
        return None
    square = 2 * units.y_scale.log()
    return lambda x: log_variance(x) - square


def _variances(quality: Quality, given: float | None, scale: float) -> Noise:
    """What is known of the noise variances, in units of the model, and what is to be learned."""
    known, share = quality.known.numpy() / scale**2, 1 / quality.count.numpy()
    unknown = np.isnan(known)
    if given is None:
        return Noise(np.where(unknown, 0.0, known), np.where(unknown, share, 0.0))
    return Noise(np.where(unknown, share * given / scale**2, known), np.zeros_like(share))


def _at_least(noise: Noise, variance: float) -> Noise:
    return Noise(np.maximum(noise.fixed, variance), noise.share)


def _around(Z: Float[Tensor, "n d"], unseen: Unseen) -> Around:
    """Places of all rows, by a few of the draws: hyper-parameters do not need more."""
    z, weights = unseen.noise.few(Z)
    return Around(unseen.rows.numpy(), z.numpy(), weights.numpy())


def check_data(X: Tensor, y: Tensor) -> None:
    """Refuse data that no model can be fitted to, saying why."""
    check_recordable()
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


def _log_prior(
    d: int, bounds: Tensor, noise: NoiseLaw | None, prior: Prior, inferred: bool
) -> LogPrior:
    """That of the lengthscales, of the variance of f, and of the noise variance if inferred."""
    # grows with sqrt(d), as distances in the box do [Hvarfner et al. 2024]
    centre = _double([LENGTHSCALE * math.sqrt(d)] * d)
    spread = _double([LENGTHSCALE_SPREAD] * d)
    if prior == "paper":
        if noise is None:
            raise ValueError(
                "the prior 'paper' relates lengthscales to the input noise; give noise=..."
            )
        width = noise.in_dimension(d).covariance_matrix.diagonal().sqrt() / (bounds[1] - bounds[0])
        perturbed = width > 0  # the paper has no parameters without noise: they keep the default
        centre = torch.where(perturbed, width, centre)
        spread = torch.where(perturbed, PAPER_SPREAD, spread)
    elif prior != "default":
        raise ValueError(f"unknown prior {prior!r}; use 'default' or 'paper'")
    modes = [*centre.tolist(), VARIANCE, NOISE_VARIANCE]
    spreads = [*spread.tolist(), VARIANCE_SPREAD, NOISE_SPREAD]
    num = d + 1 + inferred
    return LogPrior(np.log(modes[:num]), np.array(spreads[:num]))


def _double(values: float | list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.double)
