"""The polynomial of Bertsimas, Nohadani and Teo, standardised: narrow hills and broad ones.

Inputs are clipped to a box a little larger than that of the designs, beyond which the polynomial
would fall without end. Inside, it is written in t = (x - CENTER) / HALF_WIDTH, which the clipping
keeps in [-1, 1].
"""

import numpy as np
from jaxtyping import Float64
from numpy.polynomial.legendre import leggauss
from numpy.polynomial.polynomial import polygrid2d, polyval2d
from scipy.special import comb, ndtr

from meseta.noise import Normal
from meseta.problems.problem import Problem

STD = 0.6
BOX = np.array([[-0.75, -0.25], [3.0, 4.2]])
CLIP = np.array([[-0.95, -0.45], [3.2, 4.4]])
CENTER, HALF_WIDTH = CLIP.mean(0), (CLIP[1] - CLIP[0]) / 2


def polynomial() -> Problem:
    return Problem(
        name="polynomial",
        title="Polynomial",
        names=("x", "z"),
        f=f,
        g=g,
        bounds=BOX.copy(),
        noise=Normal((STD, STD)),
        direction="maximize",
        x_star=np.array([0.26877218204557, 0.6744710157149052]),
        g_star=0.5006143406734185,
        budget=70,
        num_initial=5,
        source="Bertsimas et al. 2010, Oper. Res. 58; also Bogunovic et al. 2018, NeurIPS",
        g_worst=-2.572352198574449,
        differs="a smaller box; standardised, and clipped to the box of the source",
        certificate="g in closed form; optimum by 12 local searches from 2048 designs",
    )


def f(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """(p(clipped x) - mean) / standard deviation, mean and standard deviation over the box."""
    t = np.clip((x - CENTER) / HALF_WIDTH, -1, 1)
    return polyval2d(t[:, 0], t[:, 1], COEFFICIENTS)


def g(x: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, " m"]:
    """sum_ij c_ij E[t_0^i] E[t_1^j], t the clipped and scaled x + xi."""
    mean, std = (x - CENTER) / HALF_WIDTH, STD / HALF_WIDTH
    first, second = (clipped_moments(mean[:, j], std[j], 6) for j in range(2))
    return np.einsum("mi,ij,mj->m", first, COEFFICIENTS, second)


def clipped_moments(
    mean: Float64[np.ndarray, " m"], std: float, degree: int
) -> Float64[np.ndarray, "m k"]:
    """E[t^k], k = 0, ..., degree, of t ~ N(mean, std^2) clipped to [-1, 1].

    Point masses at the ends, and between them I_k = E[t^k 1{-1 < t < 1}], which integration by
    parts gives by I_k = mean I_{k-1} + (k - 1) std^2 I_{k-2} - std [t^{k-1} phi((t - mean) / std)].
    """
    low, high = (-1 - mean) / std, (1 - mean) / std
    phi_low, phi_high = (np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) for z in (low, high))
    inside = [ndtr(high) - ndtr(low)]
    for k in range(1, degree + 1):
        ends = std * (phi_high - (-1) ** (k - 1) * phi_low)
        before = (k - 1) * std**2 * inside[k - 2] if k > 1 else 0.0
        inside.append(mean * inside[k - 1] + before - ends)
    moments = [(-1) ** k * ndtr(low) + I_k + ndtr(-high) for k, I_k in enumerate(inside)]
    return np.stack(moments, axis=-1)


def _standardised() -> Float64[np.ndarray, "7 7"]:
    """c with f = sum_ij c_ij t_0^i t_1^j."""
    # p(x, z), the negative of the function in the source, as c_ij x^i z^j
    c = np.zeros((7, 7))
    c[1:, 0] = [-6.2, 4.7, 6.4, -21.2, 12.2, -2]
    c[0, 1:] = [10, -56.9, 74.8, -43.3, 11, -1]
    c[1, 1], c[2, 2], c[1, 2], c[2, 1] = 4.1, 0.1, -0.4, -0.4
    c = _substitution(0).T @ c @ _substitution(1)
    # seven Gauss nodes are exact up to degree 13, and p^2 has degree 12 in each variable
    nodes, weights = leggauss(7)
    box = (BOX - CENTER) / HALF_WIDTH
    t = box.mean(0) + (box[1] - box[0]) / 2 * nodes[:, None]
    values = polygrid2d(t[:, 0], t[:, 1], c)
    share = np.outer(weights, weights) / 4
    mean = (share * values).sum()
    c[0, 0] -= mean
    return c / np.sqrt((share * (values - mean) ** 2).sum())


def _substitution(j: int) -> Float64[np.ndarray, "7 7"]:
    """Powers of x_j in powers of t_j: x^i = sum_k binom(i, k) CENTER^(i-k) HALF_WIDTH^k t^k."""
    i, k = np.arange(7.0)[:, None], np.arange(7.0)
    return comb(i, k) * CENTER[j] ** np.maximum(i - k, 0) * HALF_WIDTH[j] ** k


COEFFICIENTS = _standardised()
