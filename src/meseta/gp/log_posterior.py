"""The log posterior of the hyper-parameters of a surrogate, with its gradient."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float64
from scipy.linalg import lapack

from meseta.kernels.stationary import Shape

Theta = Float64[np.ndarray, " h"]
Pairs = Float64[np.ndarray, " p"]
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


class LogPosterior:
    """theta -> log p(y | theta) + log p(theta), and its gradient; in nats.

    theta are the logs of the d lengthscales, of the variance of f, and of the noise variance if
    that is not given. The mean of f has no prior, and the value that it has the highest likelihood
    with: 1' K^-1 y / 1' K^-1 1. With a = K^-1 (y - mean) and W = a a' - K^-1 the gradient is
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
        noise_variance: float | None = None,
    ) -> None:
        n = len(y)
        self.X, self.y, self.shape, self.prior = X, y, shape, prior
        self.noise_variance = noise_variance
        self._first, self._second = np.triu_indices(n, 1)
        self._places = self._first * n + self._second
        self._correlation = shape.correlation(
            np.ascontiguousarray(np.abs(X[self._first] - X[self._second]).T)
        )
        self._sides = np.asfortranarray(np.stack([np.ones(n), y], -1))

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
        trace = alpha @ alpha - inverse[:: n + 1].sum()
        # each pair stands for two elements of W, which the factor 1 / 2 takes back
        weighted = (alpha[self._first] * alpha[self._second] - inverse[self._places]) * k
        gradient[:d] += slopes(weighted)
        gradient[d] += weighted.sum() + variance * trace / 2
        if self.noise_variance is None:
            gradient[d + 1] += noise * trace / 2
        return value, gradient

    def mean(self, theta: Theta) -> float:
        """The mean of f that goes with theta."""
        variance, noise, k, _ = self._covariance(theta)
        L = self._factor(k, variance + noise)
        return float(self.y.mean()) if L is None else self._solved(L)[0]

    def _covariance(self, theta: Theta) -> tuple[float, float, Pairs, Callable[[Pairs], Theta]]:
        """The variances of f and of the noise, the covariances of pairs, and their slopes."""
        d = self.X.shape[1]
        variance = math.exp(theta[d])
        noise = math.exp(theta[d + 1]) if self.noise_variance is None else self.noise_variance
        correlation, slopes = self._correlation(np.exp(theta[:d]))
        return variance, noise, variance * correlation, slopes

    def _factor(self, k: Pairs, diagonal: float) -> Float64[np.ndarray, "n n"] | None:
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
