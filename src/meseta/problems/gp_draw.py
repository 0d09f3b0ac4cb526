"""Within-model problems: f drawn from the Gaussian process that the model assumes."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64
from scipy.optimize import brentq

from meseta.noise import Normal
from meseta.problems.problem import Problem

OUTPUT_STD = 0.5
LENGTHSCALE = 0.05
STD = 0.05
# f repeats itself with this period; g looks at [-0.5, 1.5], 40 lengthscales from its repetition.
PERIOD = 4.0


@final
@dataclass(frozen=True, eq=False)
class FourierSeries:
    """x -> sum_j a_j cos(omega_j x) + b_j sin(omega_j x)."""

    omega: Float64[np.ndarray, " k"]
    a: Float64[np.ndarray, " k"]
    b: Float64[np.ndarray, " k"]

    def __call__(self, x: Float64[np.ndarray, "m 1"]) -> Float64[np.ndarray, " m"]:
        phase = x * self.omega
        return np.cos(phase) @ self.a + np.sin(phase) @ self.b

    def smoothed(self, std: float) -> "FourierSeries":
        """Its expectation at x + xi, xi ~ N(0, std^2): each term times exp(-omega^2 std^2 / 2)."""
        shrinkage = np.exp(-0.5 * (self.omega * std) ** 2)
        return FourierSeries(self.omega, shrinkage * self.a, shrinkage * self.b)

    def derivative(self) -> "FourierSeries":
        return FourierSeries(self.omega, self.omega * self.b, -self.omega * self.a)


def within_model(seed: int) -> Problem:
    """Maximise a draw from GP(0, OUTPUT_STD^2 exp(-(x - x')^2 / (2 LENGTHSCALE^2))) on [0, 1]."""
    f = draw(seed)
    g = f.smoothed(STD)
    x_star = _argmax_on_unit_interval(g)
    return Problem(
        name=f"within-model-{seed}",
        title="Within-model",
        names=("x",),
        f=f,
        g=g,
        bounds=np.array([[0.0], [1.0]]),
        noise=Normal((STD,)),
        direction="maximize",
        x_star=np.array([x_star]),
        g_star=float(g(np.array([[x_star]]))[0]),
        budget=30,
        num_initial=3,
        source="Froehlich et al. 2020, Noisy-Input Entropy Search, AISTATS, Sec. 4.1",
        g_worst=float(g(np.linspace(0, 1, 1001)[:, None]).min()),
        certificate="g in closed form; optimum by the root of g' beside the best of 1001 designs",
    )


def draw(seed: int) -> FourierSeries:
    """A sample path: independent Normal coefficients with the spectrum of k as variances."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed must be a whole number, 0 or more, got {seed!r}")
    omega, variances = spectrum()
    a, b = np.random.default_rng(seed).standard_normal((2, len(omega))) * np.sqrt(variances)
    return FourierSeries(omega, a, b)


def spectrum() -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, " k"]]:
    """Frequencies and variances with sum_j variance_j cos(omega_j delta) = k(delta).

    The trapezoidal rule for k(delta) = int S(omega) cos(omega delta) d omega, with nodes
    2 pi j / PERIOD, gives the sum of k(delta + n PERIOD) over all n: on the interval that counts,
    k to rounding.
    """
    spacing = 2 * np.pi / PERIOD
    # the spectrum ends at 9 / lengthscale, where exp(-omega^2 l^2 / 2) = 3e-18
    omega = spacing * np.arange(np.ceil(9 / LENGTHSCALE / spacing))
    density = LENGTHSCALE / np.sqrt(2 * np.pi) * np.exp(-0.5 * (omega * LENGTHSCALE) ** 2)
    return omega, OUTPUT_STD**2 * density * spacing * np.where(omega > 0, 2, 1)


def _argmax_on_unit_interval(g: FourierSeries) -> float:
    """The best grid point, then the root of g' beside it."""
    # g varies on the scale sqrt(l^2 + 2 std^2) = 0.09: points 0.001 apart hide no second hill
    grid = np.linspace(0, 1, 1001)
    best = int(np.argmax(g(grid[:, None])))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    slope = g.derivative()

    def slope_at(t: float) -> float:
        return float(slope(np.array([[t]]))[0])

    if slope_at(left) <= 0:
        return float(left)
    if slope_at(right) >= 0:
        return float(right)
    return float(brentq(slope_at, left, right, xtol=1e-15))
