"""Noisy-Input Entropy Search with the paper's matrices, in one file meant to be read.

Given data y = f(x) + eps, Normal input noise xi and a Gaussian process for f, NES picks the x
whose evaluation tells most about g* = max g, where g(x) = E f(x + xi) is never observed itself.
From top to bottom: the kernels of f and g and their posteriors (Sec. 2), samples of g* (Sec. 3.1),
truncated Gaussians, steps 1 to 4 of Sec. 3.2.2 (App. B), and the acquisition, Eq. (10).

Points are rows of x and X. Numbers of equations and sections are those of "Noisy-Input Entropy
Search for Efficient Robust Bayesian Optimization" (AISTATS 2020); the names are its names.
The 2n x 2n matrix of step 2 is nearly singular where the data crowd: alpha is good to 1e-9 while
its condition number is below 1e10, to about 1e-4 beyond 1e16 (20 points on 10 lengthscales, 1-D).
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize
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


def k_f(gp: RobustGP, a: Array, b: Array) -> Array:
    """Cov[f(a), f(b)] = signal_variance exp(-sum_j (a_j - b_j)^2 / (2 l_j^2))."""
    return _squared_exponential(gp, a, b, num_noises=0)


def k_gf(gp: RobustGP, a: Array, b: Array) -> Array:
    """Cov[g(a), f(b)] = E k_f(a + xi, b), below Eq. (3). Its transpose is k_fg(b, a)."""
    return _squared_exponential(gp, a, b, num_noises=1)


def k_g(gp: RobustGP, a: Array, b: Array) -> Array:
    """Cov[g(a), g(b)] = E k_f(a + xi, b + xi'), xi and xi' independent also where a = b."""
    return _squared_exponential(gp, a, b, num_noises=2)


def _squared_exponential(gp: RobustGP, a: Array, b: Array, num_noises: int) -> Array:
    """k_f convolved with Normal densities: variances add up, l^2 becomes l^2 + num_noises s^2."""
    width = np.sqrt(gp.lengthscale**2 + num_noises * gp.input_noise_std**2)
    z = (a[:, None, :] - b[None, :, :]) / width
    height = gp.signal_variance * np.prod(gp.lengthscale / width)
    return np.asarray(height * np.exp(-0.5 * np.sum(z**2, axis=-1)))


def posterior_f(gp: RobustGP, x: Array) -> tuple[Array, Array]:
    """m_f at the points x and their covariance, with the paper's v_f as diagonal, Eq. (2)."""
    k_xX = k_f(gp, x, gp.X)
    weights = np.linalg.solve(gp.K, k_xX.T).T  # k_f(x, X) K^-1
    return weights @ gp.y, k_f(gp, x, x) - weights @ k_xX.T


def posterior_g(gp: RobustGP, x: Array) -> tuple[Array, Array]:
    """m_g at the points x and their covariance, with the paper's v_g as diagonal, Eq. (3)."""
    k_xX = k_gf(gp, x, gp.X)
    weights = np.linalg.solve(gp.K, k_xX.T).T  # k_gf(x, X) K^-1
    return weights @ gp.y, k_g(gp, x, x) - weights @ k_xX.T


@dataclass(frozen=True, eq=False)
class SamplePath:
    """f~ and g~ as sums of M cosines with the same frequencies, phases and weights (Sec. 3.1)."""

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
    """A draw of (f, g) given the data, by the sparse-spectrum approximation (Sec. 3.1, App. A)."""
    # The spectral density of k_f is Normal with standard deviation 1 / l.
    w = rng.standard_normal((num_features, gp.X.shape[1])) / gp.lengthscale
    b = rng.uniform(0, 2 * np.pi, num_features)
    # E cos^2 = 1/2, so this factor makes phi(x)'phi(x') average to k_f(x, x').
    normalisation = np.sqrt(2 * gp.signal_variance / num_features)
    Phi = normalisation * np.cos(gp.X @ w.T + b)
    # a ~ N(A^-1 Phi'y, sigma_eps^2 A^-1) with A = Phi'Phi + sigma_eps^2 I = L L'
    A = Phi.T @ Phi + gp.noise_variance * np.eye(num_features)
    spread = np.linalg.solve(np.linalg.cholesky(A).T, rng.standard_normal(num_features))
    a = np.linalg.solve(A, Phi.T @ gp.y) + np.sqrt(gp.noise_variance) * spread
    # E cos(w'(x + xi) + b) = cos(w'x + b) exp(-sum_j w_j^2 sigma_x,j^2 / 2), Eq. (6)
    characteristic = np.exp(-0.5 * w**2 @ gp.input_noise_std**2)
    return SamplePath(w, b, normalisation * a, normalisation * a * characteristic)


def maximize_g(path: SamplePath, bounds: Array, num_starts: int = 5) -> float:
    """max of g~ over the box from bounds[0] to bounds[1]: L-BFGS-B from the best Sobol points."""
    lower, upper = bounds
    sobol = lower + (upper - lower) * qmc.Sobol(len(lower), scramble=False).random_base2(10)
    starts = sobol[np.argsort(-path.g(sobol))[:num_starts]]

    def negative(point: Array) -> tuple[float, Array]:
        return -float(path.g(point[None])[0]), -path.g_gradient(point[None])[0]

    box = Bounds(lower, upper)
    found = [minimize(negative, x, jac=True, bounds=box, method="L-BFGS-B") for x in starts]
    return -min(float(result.fun) for result in found)


def select_max_values(maxima: Array, num_max_values: int) -> Array:
    """K percentiles on a regular grid from the 25th to the 75th (App. C.3), the median if K = 1."""
    first = 50 if num_max_values == 1 else 25
    return np.asarray(np.percentile(maxima, np.linspace(first, 75, num_max_values)))


def sample_g_star(
    gp: RobustGP, bounds: Array, rng: np.random.Generator, num_max_values: int, num_paths: int = 100
) -> Array:
    """The K values g*_k of Eq. (5), out of the maxima of num_paths sampled g~ over the box."""
    maxima = [maximize_g(sample_path(gp, rng), bounds) for _ in range(num_paths)]
    return select_max_values(np.array(maxima), num_max_values)


def truncated_moments(beta: Array) -> tuple[Array, Array]:
    """r = phi(beta) / Phi(beta) and h = 1 - r (r + beta): Z | Z <= beta has mean -r, variance h.

    Where beta << 0, r + beta and 1 - r (r + beta) cancel. There, with t = -beta, the continued
    fraction r = t + D_1, D_k = k / (t + D_k+1) gives, inserting D_1 and then D_2,
    h = 1 - t D_1 - D_1^2 = (t + 2 D_2 - D_3) / ((t + D_3) (t + D_2)^2), free of cancellation.
    """
    b = np.clip(beta, -2.5, 40)  # r underflows to 0 beyond 40
    r = np.exp(-0.5 * b**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(b))
    t = np.maximum(-beta, 2.5)
    D = np.zeros((82, *t.shape))
    for k in range(80, 0, -1):  # 80 terms settle to 1e-15 at t = 2.5, fewer beyond
        D[k] = k / (t + D[k + 1])
    h_tail = (t + 2 * D[2] - D[3]) / ((t + D[3]) * (t + D[2]) ** 2)
    return np.where(beta < -2.5, t + D[1], r), np.where(beta < -2.5, h_tail, 1 - r * (r + b))


def truncate_by_ep(
    mean: Array, covariance: Array, upper: float, tolerance: float = 1e-12, max_sweeps: int = 200
) -> tuple[Array, Array]:
    """Step 1, Eq. (8): mu_1 and Sigma_1 of g ~ N(mean, covariance) given that every g_i <= upper.

    EP [Herbrich 2005] replaces each indicator 1{g_i <= upper} by a Gaussian site
    exp(nu_i g_i - tau_i g_i^2 / 2), chosen in turn such that N(mu, Sigma) gets the mean and
    variance of g_i that the exact indicator would give it, all other sites being kept.
    """
    mu, Sigma, scale = mean.copy(), covariance.copy(), np.sqrt(np.diag(covariance))
    tau, nu = np.zeros(len(mean)), np.zeros(len(mean))
    for _ in range(max_sweeps):
        old_mu, old_variance = mu.copy(), np.diag(Sigma).copy()
        for i in range(len(mean)):
            # The cavity: the marginal N(m, v) of g_i without its own site.
            v = 1 / (1 / Sigma[i, i] - tau[i])
            m = v * (mu[i] / Sigma[i, i] - nu[i])
            r, h = truncated_moments(np.asarray((upper - m) / np.sqrt(v)))
            # The site is what takes N(m, v) to N(m - sqrt(v) r, v h).
            d_tau = (1 - h) / (h * v) - tau[i]
            tau[i] += d_tau
            d_nu = m * tau[i] - r / (h * np.sqrt(v)) - nu[i]
            nu[i] += d_nu
            # (Sigma^-1 + d_tau e_i e_i')^-1 by Sherman-Morrison, and the mean that goes with it
            s = Sigma[:, i] / (1 + d_tau * Sigma[i, i])
            mu = mu + s * (d_nu - d_tau * mu[i])
            Sigma = Sigma - d_tau * np.outer(s, Sigma[i])
        moves = np.abs([(mu - old_mu) / scale, (np.diag(Sigma) - old_variance) / scale**2])
        if moves.max() <= tolerance:
            return mu, Sigma
    warnings.warn(f"EP still moves by {moves.max():.0e} after {max_sweeps} sweeps", stacklevel=2)
    return mu, Sigma


def predict_g(gp: RobustGP, x: Array, mu_1: Array, Sigma_1: Array) -> tuple[Array, Array]:
    """Step 2, Eq. (9): m_0 and v_0, averaging p(g(x) | D, g(X)) over g(X) ~ N(mu_1, Sigma_1)."""
    X = gp.X
    k_x = np.hstack([k_g(gp, x, X), k_gf(gp, x, X)])
    joint = np.block([[k_g(gp, X, X), k_gf(gp, X, X)], [k_gf(gp, X, X).T, gp.K]])
    B = np.linalg.solve(joint, k_x.T).T
    B_1, B_2 = np.hsplit(B, 2)
    Sigma_g = np.diag(k_g(gp, x, x)) - np.sum(B * k_x, axis=1)
    return B_1 @ mu_1 + B_2 @ gp.y, Sigma_g + np.sum(B_1 @ Sigma_1 * B_1, axis=1)


def predict_f(gp: RobustGP, x: Array, m_hat: Array, v_hat: Array) -> tuple[Array, Array]:
    """Step 4, Eq. (7): m_tilde and v_tilde, averaging p(f(x) | D, g(x)) over N(m_hat, v_hat)."""
    m_tilde, v_tilde = np.empty(len(x)), np.empty(len(x))
    for i in range(len(x)):
        point = x[i : i + 1]
        k_gX = k_gf(gp, point, gp.X)
        k_z = np.hstack([k_f(gp, point, gp.X), k_gf(gp, point, point)])[0]  # z = [y, g(x)]
        K_z = np.block([[gp.K, k_gX.T], [k_gX, k_g(gp, point, point)]])
        A = np.linalg.solve(K_z, k_z)
        A_1, A_2 = A[:-1], A[-1]
        Sigma_4 = gp.signal_variance - A @ k_z
        m_tilde[i] = A_1 @ gp.y + A_2 * m_hat[i]
        v_tilde[i] = Sigma_4 + A_2**2 * v_hat[i]
    return m_tilde, v_tilde


class Conditioned(NamedTuple):
    """Moments at the query points: of g given g(X) <= g*; given g(x) <= g* too; of f given both."""

    m_0: Array
    v_0: Array
    m_hat: Array
    v_hat: Array
    m_tilde: Array
    v_tilde: Array


def condition_on_max(gp: RobustGP, x: Array, g_star: float) -> Conditioned:
    """Steps 1 to 4: g(x) and f(x) given the data and g <= g*."""
    mu_1, Sigma_1 = truncate_by_ep(*posterior_g(gp, gp.X), g_star)
    m_0, v_0 = predict_g(gp, x, mu_1, Sigma_1)
    # Step 3. The main text is right, the appendix misprints the mean as m_0 - sqrt(v_0 r).
    r, h = truncated_moments((g_star - m_0) / np.sqrt(v_0))
    m_hat, v_hat = m_0 - np.sqrt(v_0) * r, v_0 * h
    return Conditioned(m_0, v_0, m_hat, v_hat, *predict_f(gp, x, m_hat, v_hat))


def alpha_nes_ep(gp: RobustGP, x: Array, g_star: Array) -> Array:
    """alpha_NES-EP(x) in nats, averaged over the K values g_star, Eq. (10)."""
    v_f = np.diag(posterior_f(gp, x)[1])
    v_tilde = np.array([condition_on_max(gp, x, float(value)).v_tilde for value in g_star])
    after = np.log(v_tilde + gp.noise_variance).mean(axis=0)
    return np.asarray(0.5 * (np.log(v_f + gp.noise_variance) - after))
