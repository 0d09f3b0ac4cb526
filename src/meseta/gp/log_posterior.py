"""The log posterior of the hyper-parameters of a surrogate, with its gradient."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.linalg import lapack

from meseta.kernels.stationary import Correlation, Shape

Theta = Float64[np.ndarray, " h"]
Pairs = Float64[np.ndarray, " p"]
TINY = 1e-300
LOWEST = -1e30  # where the covariance has no Cholesky factor; a line search comes back from there


class LogPrior:
    """LogNormal priors of the hyper-parameters, by the logs of their modes and their spreads.

    MAP is drawn to the mode of a density; a LogNormal(mu, s) has it at exp(mu - s^2), far below
    its median when s is large. In theta = log h it is log_mode, and the density of h there is
    exp(-z^2 / 2 - log_mode - s^2 / 2) / (s sqrt(2 pi)), z = (theta - log_mode) / s.
    """

    def __init__(self, log_mode: Theta, spread: Theta) -> None:
        self.log_mode, self.spread = log_mode, spread
        norms = np.log(spread * math.sqrt(2 * math.pi))
        self._height = -float((log_mode + spread**2 / 2 + norms).sum())

    def __call__(self, theta: Theta) -> tuple[float, Theta]:
        z = (theta - self.log_mode) / self.spread
        return self._height - float(z @ z) / 2, -z / self.spread


class Noise(NamedTuple):
    """The noise variance of each value: `fixed` + `share` times the one that is learned."""

    fixed: Float64[np.ndarray, " n"]
    share: Float64[np.ndarray, " n"]

    @classmethod
    def same(cls, n: int, variance: float | None) -> "Noise":
        """The same for all; None: learned."""
        if variance is None:
            return cls(np.zeros(n), np.ones(n))
        return cls(np.full(n, variance), np.zeros(n))

    @property
    def learned(self) -> bool:
        return bool(self.share.any())

    def some(self, rows: Any) -> "Noise":
        return Noise(self.fixed[rows], self.share[rows])


class Around(NamedTuple):
    """Rows whose values are those of an average of f: places and weights of each."""

    rows: Bool[np.ndarray, " n"]
    z: Float64[np.ndarray, "n m d"]
    weights: Float64[np.ndarray, "n m"]

    def some(self, rows: Any) -> "Around":
        return Around(*(each[rows] for each in self))


class LogPosterior:
    """theta -> log p(y | theta) + log p(theta), and its gradient; in nats.

    theta are the logs of the d lengthscales, of the variance of f, and of the noise variance if
    that is learned. A value that is the average of f `around` a point scatters by Var f(x + xi),
    so that its variance is that of f all the same. The mean of f has no prior, and the value that
    it has the highest likelihood with: 1' K^-1 y / 1' K^-1 1. With a = K^-1 (y - mean) and
    W = a a' - K^-1 the gradient is
    tr(W dK / d theta) / 2 [Rasmussen and Williams 2006, Eq. 5.9]. All elements of K^-1 are needed,
    so it is computed, from the Cholesky factor.

    K is symmetric: everything of its size is computed for pairs of points.
    """

    def __init__(
        self,
        X: Float64[np.ndarray, "n d"],
        y: Float64[np.ndarray, " n"],
        shape: Shape,
        prior: LogPrior,
        noise: Noise,
        around: Around | None = None,
    ) -> None:
        n = len(y)
        self.X, self.y, self.shape, self.prior, self.noise = X, y, shape, prior, noise
        self._around = around
        self._first, self._second = np.triu_indices(n, 1)
        if around is None:
            self._correlation = shape.correlation(
                np.ascontiguousarray(np.abs(X[self._first] - X[self._second]).T)
            )
        else:
            kind = around.rows[self._first] + 2 * around.rows[self._second]
            order = np.argsort(kind, kind="stable")
            self._first, self._second = self._first[order], self._second[order]
            self._correlation = _averaged(shape, X, around, self._first, self._second, kind[order])
        self._places = self._first * n + self._second
        self._sides = np.asfortranarray(np.stack([np.ones(n), y], -1))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        """Pickle what it is made of."""
        made_of = self.X, self.y, self.shape, self.prior, self.noise, self._around
        return LogPosterior, made_of

    def __call__(self, theta: Theta) -> tuple[float, Theta]:
        n, d = self.X.shape
        variance, noise, k, slopes = self._covariance(theta)
        L = self._factor(k, variance + noise)
        if L is None:
            return LOWEST, np.zeros_like(theta)
        mean, alpha = self._solved(L)
        value, gradient = self.prior(theta)
        value -= float((self.y - mean) @ alpha) / 2
        value -= float(np.log(L.diagonal()).sum()) + n * math.log(2 * math.pi) / 2
        inverse = lapack.dpotri(L, lower=1, overwrite_c=1)[0].T.reshape(-1)
        weights = alpha**2 - inverse[:: n + 1]
        # each pair stands for two elements of W, which the factor 1 / 2 takes back
        weighted = (alpha[self._first] * alpha[self._second] - inverse[self._places]) * k
        gradient[:d] += slopes(weighted)
        gradient[d] += weighted.sum() + variance * weights.sum() / 2
        if self.noise.learned:
            gradient[d + 1] += math.exp(theta[d + 1]) * float(self.noise.share @ weights) / 2
        return value, gradient

    def with_noise(self, variance: float) -> "LogPosterior":
        """Return the same where that is the noise variance, which is then not learned."""
        fixed, share = self.noise
        noise = Noise(fixed + variance * share, np.zeros_like(share))
        prior = LogPrior(self.prior.log_mode[:-1], self.prior.spread[:-1])
        return LogPosterior(self.X, self.y, self.shape, prior, noise, self._around)

    def mean(self, theta: Theta) -> tuple[float, float]:
        """Return the mean of f that goes with theta, and its standard deviation."""
        variance, noise, k, _ = self._covariance(theta)
        L = self._factor(k, variance + noise)
        if L is None:
            return float(self.y.mean()), 0.0
        of_one = lapack.dpotrs(L, self._sides, lower=1)[0][:, 0]
        return self._solved(L)[0], float(of_one.sum()) ** -0.5

    def _covariance(
        self, theta: Theta
    ) -> tuple[float, Float64[np.ndarray, " n"], Pairs, Callable[[Pairs], Theta]]:
        """The variances of f and of the noise, the covariances of pairs, and their slopes."""
        d = self.X.shape[1]
        variance, noise = math.exp(theta[d]), self.noise.fixed
        if self.noise.learned:
            noise = noise + math.exp(theta[d + 1]) * self.noise.share
        correlation, slopes = self._correlation(np.exp(theta[:d]))
        return variance, noise, variance * correlation, slopes

    def _factor(
        self, k: Pairs, diagonal: Float64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, "n n"] | None:
        n = len(self.y)
        K = np.zeros((n, n))
        flat = K.reshape(-1)
        flat[self._places], flat[:: n + 1] = k, diagonal
        # the upper triangle of rows is the lower one of LAPACK's columns
        L, failed = lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        return None if failed else L

    def _solved(self, L: Float64[np.ndarray, "n n"]) -> tuple[float, Float64[np.ndarray, " n"]]:
        """The mean of f, and K^-1 (y - mean)."""
        of_one, of_y = lapack.dpotrs(L, self._sides, lower=1)[0].T
        mean = float(of_y.sum() / of_one.sum())
        return mean, of_y - mean * of_one


def _averaged(
    shape: Shape,
    X: Float64[np.ndarray, "n d"],
    around: Around,
    first: Int[np.ndarray, " p"],
    second: Int[np.ndarray, " p"],
    kind: Int[np.ndarray, " p"],
) -> Callable[[Float64[np.ndarray, " d"]], Correlation]:
    """The correlations of pairs, averaged over the places of both.

    `kind` says whether the first (1), the second (2), both or none are averages, in ascending
    order.
    """
    differences, weights, sizes = [], [], []
    for which in range(4):
        a, b = first[kind == which], second[kind == which]
        z_a, w_a = _places_of(X, around, a, bool(which & 1))
        z_b, w_b = _places_of(X, around, b, bool(which & 2))
        each = (z_a[:, :, None] - z_b[:, None]).reshape(-1, X.shape[1])
        differences.append(np.abs(each).T)
        weights.append((w_a[:, :, None] * w_b[:, None]).reshape(-1))
        sizes.append(np.full(len(a), z_a.shape[1] * z_b.shape[1]))
    w, size = np.concatenate(weights), np.concatenate(sizes)
    starts = np.cumsum(size) - size
    of_places = shape.correlation(np.ascontiguousarray(np.concatenate(differences, axis=1)))

    def at(lengthscale: Float64[np.ndarray, " d"]) -> Correlation:
        each, slopes = of_places(lengthscale)
        each = w * each
        pairs = np.add.reduceat(each, starts) if len(starts) else each

        def of_pairs(weighted: Pairs) -> Float64[np.ndarray, " d"]:
            # weighted has the correlation of the pair as a factor
            return slopes(np.repeat(weighted / np.maximum(pairs, TINY), size) * each)

        return pairs, of_pairs

    return at


def _places_of(
    X: Float64[np.ndarray, "n d"], around: Around, rows: Int[np.ndarray, " p"], average: bool
) -> tuple[Float64[np.ndarray, "p m d"], Float64[np.ndarray, "p m"]]:
    if average:
        return around.z[rows], around.weights[rows]
    return X[rows][:, None], np.ones((len(rows), 1))
