"""Noisy-Input Entropy Search with the paper's matrices, in one file meant to be read.

Given data y = f(x) + eps, Normal input noise xi and a Gaussian process for f, NES picks the x
whose evaluation tells most about g* = max g, where g(x) = E f(x + xi) is never observed itself.
From top to bottom: the kernels of f and g, their posteriors (Sec. 2), samples of g* (Sec. 3.1),
expectation propagation (EP), steps 1 to 4 of Sec. 3.2.2, and the acquisition, Eq. (10).
Names are the paper's (m_0, B_1, ...). It is written for clarity, the rest of the package for
speed: this file solves a 2n x 2n system and, at each query point, one of size n + 1.

Everywhere x and X hold one point per row. Equation and section numbers are those of
"Noisy-Input Entropy Search for Efficient Robust Bayesian Optimization", AISTATS 2020.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import qmc

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RobustGP:
    """Data, squared exponential kernel with zero prior mean, and xi ~ N(0, input_noise_std^2)."""

    X: Array  # (n, d)
    y: Array  # (n,)
    lengthscale: Array  # (d,)
    signal_variance: float
    noise_variance: float  # of eps, the paper's sigma_eps^2
    input_noise_std: Array  # (d,), the paper's sigma_x

    @property
    def K(self) -> Array:
        """k_f(X, X) + sigma_eps^2 I, Eq. (2)."""
        return k_f(self, self.X, self.X) + self.noise_variance * np.eye(len(self.X))


# Kernels (Sec. 2). Index order is argument order: k_gf(a, b) = Cov[g(a), f(b)].


def k_f(gp: RobustGP, a: Array, b: Array) -> Array:
    """signal_variance exp(-sum_j (a_j - b_j)^2 / (2 l_j^2))."""
    return _squared_exponential(gp, a, b, num_noises=0)


def k_gf(gp: RobustGP, a: Array, b: Array) -> Array:
    """E k_f(a + xi, b), below Eq. (3). The kernel is even in a - b, so k_fg(b, a) = k_gf(a, b)'."""
    return _squared_exponential(gp, a, b, num_noises=1)


def k_g(gp: RobustGP, a: Array, b: Array) -> Array:
    """E k_f(a + xi, b + xi') with xi and xi' independent, also where a = b, below Eq. (3)."""
    return _squared_exponential(gp, a, b, num_noises=2)


def _squared_exponential(gp: RobustGP, a: Array, b: Array, num_noises: int) -> Array:
    """A Gaussian in a - b convolved with the Normal density adds variances: l^2 + num_noises s^2."""
    width = np.sqrt(gp.lengthscale**2 + num_noises * gp.input_noise_std**2)
    z = (a[:, None, :] - b[None, :, :]) / width
    height = gp.signal_variance * np.prod(gp.lengthscale / width)
    return np.asarray(height * np.exp(-0.5 * np.sum(z**2, axis=-1)))


# Posteriors (Sec. 2): mean vector and covariance matrix, whose diagonal is the paper's v(x).


def posterior_f(gp: RobustGP, x: Array) -> tuple[Array, Array]:
    """m_f and the covariance of f at the points x, Eq. (2)."""
    k_xX = k_f(gp, x, gp.X)
    weights = np.linalg.solve(gp.K, k_xX.T).T  # k_f(x, X) K^-1
    return weights @ gp.y, k_f(gp, x, x) - weights @ k_xX.T


def posterior_g(gp: RobustGP, x: Array) -> tuple[Array, Array]:
    """m_g and the covariance of g at the points x, from observations of f, Eq. (3)."""
    k_xX = k_gf(gp, x, gp.X)
    weights = np.linalg.solve(gp.K, k_xX.T).T  # k_gf(x, X) K^-1
    return weights @ gp.y, k_g(gp, x, x) - weights @ k_xX.T


# Samples of the robust maximum value g* (Sec. 3.1).


@dataclass(frozen=True, eq=False)
class SamplePath:
    """f~ and g~ as sums of M cosines with the same frequencies, phases and weights."""

    frequencies: Array  # (M, d), the paper's w_i
    phases: Array  # (M,), b_i
    f_amplitudes: Array  # (M,), a_i sqrt(2 signal_variance / M)
    g_amplitudes: Array  # (M,), the same times the characteristic function of xi, Eq. (6)

    def f(self, x: Array) -> Array:
        return np.cos(x @ self.frequencies.T + self.phases) @ self.f_amplitudes

    def g(self, x: Array) -> Array:
        return np.cos(x @ self.frequencies.T + self.phases) @ self.g_amplitudes

    def g_gradient(self, x: Array) -> Array:
        sines = np.sin(x @ self.frequencies.T + self.phases)
        return -(sines * self.g_amplitudes) @ self.frequencies


def sample_path(gp: RobustGP, rng: np.random.Generator, num_features: int = 500) -> SamplePath:
    """One draw of (f, g) given the data by the sparse-spectrum approximation (Sec. 3.1, App. A)."""
    # The spectral density of k_f is Normal with standard deviation 1 / l.
    w = rng.standard_normal((num_features, gp.X.shape[1])) / gp.lengthscale
    b = rng.uniform(0, 2 * np.pi, num_features)
    # E cos^2 = 1/2, so this factor makes phi(x)'phi(x') average to k_f(x, x').
    normalisation = np.sqrt(2 * gp.signal_variance / num_features)
    Phi = normalisation * np.cos(gp.X @ w.T + b)
    # a ~ N(A^-1 Phi'y, sigma_eps^2 A^-1) with A = Phi'Phi + sigma_eps^2 I = L L'
    A = Phi.T @ Phi + gp.noise_variance * np.eye(num_features)
    L = np.linalg.cholesky(A)
    spread = np.linalg.solve(L.T, rng.standard_normal(num_features))
    a = np.linalg.solve(A, Phi.T @ gp.y) + np.sqrt(gp.noise_variance) * spread
    # E cos(w'(x + xi) + b) = cos(w'x + b) exp(-sum_j w_j^2 sigma_x,j^2 / 2), Eq. (6)
    characteristic = np.exp(-0.5 * w**2 @ gp.input_noise_std**2)
    return SamplePath(w, b, normalisation * a, normalisation * a * characteristic)


def maximize_g(path: SamplePath, bounds: Array, num_starts: int = 5) -> float:
    """max of g~ over the box bounds = [lower, upper], (2, d): L-BFGS-B from the best Sobol points."""
    lower, upper = bounds
    sobol = lower + (upper - lower) * qmc.Sobol(len(lower), scramble=False).random_base2(10)
    starts = sobol[np.argsort(-path.g(sobol))[:num_starts]]

    def negative(point: Array) -> tuple[float, Array]:
        x = point[None]
        return -float(path.g(x)[0]), -path.g_gradient(x)[0]

    box = list(zip(lower, upper, strict=True))
    found = [minimize(negative, start, jac=True, bounds=box, method="L-BFGS-B") for start in starts]
    return -min(float(result.fun) for result in found)


def select_max_values(maxima: Array, num_max_values: int) -> Array:
    """K of the maxima, on a regular grid from the 25th to the 75th percentile (App. C.3)."""
    grid = [50.0] if num_max_values == 1 else np.linspace(25, 75, num_max_values)
    return np.asarray(np.percentile(maxima, grid))


def sample_g_star(
    gp: RobustGP,
    bounds: Array,
    rng: np.random.Generator,
    num_max_values: int = 1,
    num_paths: int = 100,
    num_features: int = 500,
) -> Array:
    """The K values g*_k of Eq. (5), each the maximum of a sampled g~ over the box."""
    paths = [sample_path(gp, rng, num_features) for _ in range(num_paths)]
    return select_max_values(np.array([maximize_g(p, bounds) for p in paths]), num_max_values)


# Truncated Gaussians: one variable in closed form (step 3), several by EP (step 1).


def truncated_moments(beta: Array) -> tuple[Array, Array]:
    """r = phi(beta) / Phi(beta) and h = 1 - r (r + beta): Z | Z <= beta has mean -r, variance h.

    Where beta << 0, r + beta and 1 - r (r + beta) cancel. There, with t = -beta, the continued
    fraction r = t + D_1, D_k = k / (t + D_k+1) gives, by inserting D_1 and then D_2,
    h = 1 - t D_1 - D_1^2 = (t + 2 D_2 - D_3) / ((t + D_3) (t + D_2)^2), free of cancellation.
    Good to 1e-13, relative, for beta from -1e100.
    """
    b = np.maximum(beta, -2.0)
    r = np.exp(-0.5 * b**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(b))
    h = 1 - r * (r + b)
    t = np.maximum(-beta, 2.0)
    D = np.zeros((62, *t.shape))
    for k in range(60, 0, -1):  # the fraction settles to 1e-16 within 60 terms at t = 2
        D[k] = k / (t + D[k + 1])
    tail = (t + 2 * D[2] - D[3]) / ((t + D[3]) * (t + D[2]) ** 2)
    return np.where(beta < -2, t + D[1], r), np.where(beta < -2, tail, h)


class EPResult(NamedTuple):
    mu_1: Array
    Sigma_1: Array
    num_sweeps: int
    change: float  # of mean and variance in the last sweep, in units of the prior's


def truncate_by_ep(
    mean: Array, covariance: Array, upper: float, tolerance: float = 1e-12, max_sweeps: int = 200
) -> EPResult:
    """Moments of N(mean, covariance) given that every component is <= upper, Eq. (8).

    EP [Herbrich 2005] replaces each indicator 1{g_i <= upper} by a Gaussian site
    exp(nu_i g_i - tau_i g_i^2 / 2), chosen in turn such that N(mu, Sigma) has the mean and
    variance in g_i that the exact indicator would give it, all other sites being kept.
    """
    mu, Sigma = mean.copy(), covariance.copy()
    tau, nu = np.zeros(len(mean)), np.zeros(len(mean))
    scale = np.sqrt(np.diag(covariance))
    for sweep in range(1, max_sweeps + 1):
        old_mu, old_variance = mu.copy(), np.diag(Sigma).copy()
        for i in range(len(mean)):
            # The cavity: the marginal of g_i without its own site.
            v = 1 / (1 / Sigma[i, i] - tau[i])
            m = v * (mu[i] / Sigma[i, i] - nu[i])
            r, h = (float(a) for a in truncated_moments(np.asarray((upper - m) / np.sqrt(v))))
            # The site is what takes N(m, v) to N(m - sqrt(v) r, v h).
            new_tau = (1 - h) / (h * v)
            new_nu = m * new_tau - r / (h * np.sqrt(v))
            d_tau, d_nu = new_tau - tau[i], new_nu - nu[i]
            tau[i], nu[i] = new_tau, new_nu
            # (Sigma^-1 + d_tau e_i e_i')^-1 by Sherman-Morrison, and the mean that goes with it
            s = Sigma[:, i] / (1 + d_tau * Sigma[i, i])
            mu = mu + s * (d_nu - d_tau * mu[i])
            Sigma = Sigma - d_tau * np.outer(s, Sigma[i])
        moved = np.abs(mu - old_mu) / scale, np.abs(np.diag(Sigma) - old_variance) / scale**2
        change = float(np.max(moved))
        if change <= tolerance:
            break
    else:
        warnings.warn(f"EP still moves by {change:.1e} after {sweep} sweeps", stacklevel=2)
    return EPResult(mu, Sigma, sweep, change)


# The four steps of Sec. 3.2.2 (App. B) and the acquisition.


class Conditioned(NamedTuple):
    """Moments at the query points, each (m,)."""

    m_0: Array  # g(x) given the data and g(X) <= g*
    v_0: Array
    m_hat: Array  # and given g(x) <= g*
    v_hat: Array
    m_tilde: Array  # f(x) given the same
    v_tilde: Array


def predict_g(gp: RobustGP, x: Array, mu_1: Array, Sigma_1: Array) -> tuple[Array, Array]:
    """Step 2, Eq. (9): m_0 and v_0, averaging p(g(x) | D, g(X)) over g(X) ~ N(mu_1, Sigma_1)."""
    n, X = len(gp.X), gp.X
    k_x = np.hstack([k_g(gp, x, X), k_gf(gp, x, X)])
    joint = np.block([[k_g(gp, X, X), k_gf(gp, X, X)], [k_gf(gp, X, X).T, gp.K]])
    B = np.linalg.solve(joint, k_x.T).T
    B_1, B_2 = B[:, :n], B[:, n:]
    Sigma_g = np.diag(k_g(gp, x, x)) - np.sum(B * k_x, axis=1)
    return B_1 @ mu_1 + B_2 @ gp.y, Sigma_g + np.sum(B_1 @ Sigma_1 * B_1, axis=1)


def predict_f(gp: RobustGP, x: Array, m_hat: Array, v_hat: Array) -> tuple[Array, Array]:
    """Step 4, Eq. (7): m_tilde and v_tilde, averaging p(f(x) | D, g(x)) over N(m_hat, v_hat)."""
    m_tilde, v_tilde = np.empty(len(x)), np.empty(len(x))
    for i in range(len(x)):
        point = x[i : i + 1]
        k_gX, k_gg = k_gf(gp, point, gp.X), k_g(gp, point, point)
        # z = [y, g(x)]
        k_z = np.hstack([k_f(gp, point, gp.X), k_gf(gp, point, point)])[0]
        K_z = np.block([[gp.K, k_gX.T], [k_gX, k_gg]])
        A = np.linalg.solve(K_z, k_z)
        A_1, A_2 = A[:-1], A[-1]
        Sigma_4 = gp.signal_variance - A @ k_z
        m_tilde[i] = A_1 @ gp.y + A_2 * m_hat[i]
        v_tilde[i] = Sigma_4 + A_2**2 * v_hat[i]
    return m_tilde, v_tilde


def condition_on_max(gp: RobustGP, x: Array, g_star: float) -> Conditioned:
    """Steps 1 to 4: g(x) and f(x) given the data and g <= g*."""
    ep = truncate_by_ep(*posterior_g(gp, gp.X), g_star)
    m_0, v_0 = predict_g(gp, x, ep.mu_1, ep.Sigma_1)
    # Step 3. The appendix misprints the mean, as m_0 - sqrt(v_0 r).
    r, h = truncated_moments((g_star - m_0) / np.sqrt(v_0))
    m_hat, v_hat = m_0 - np.sqrt(v_0) * r, v_0 * h
    return Conditioned(m_0, v_0, m_hat, v_hat, *predict_f(gp, x, m_hat, v_hat))


def alpha_nes_ep(gp: RobustGP, x: Array, g_star: Array) -> Array:
    """alpha_NES-EP(x) in nats, averaged over the K values g_star, Eq. (10)."""
    v_f = np.diag(posterior_f(gp, x)[1])
    v_tilde = np.array([condition_on_max(gp, x, float(value)).v_tilde for value in g_star])
    after = np.log(v_tilde + gp.noise_variance).mean(axis=0)
    return np.asarray(0.5 * (np.log(v_f + gp.noise_variance) - after))
