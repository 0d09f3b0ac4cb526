"""Published failure probabilities of limit states, in standard normal scores.

The formulas and their laws are those of the literature that is cited at each. A design is the point
0 of all scores, its noise is Normal(1), and it fails where the margin is negative. The references
are computed again, by quadrature where that is possible and otherwise by conditional sampling:

    python tests/external/failure_cases.py [--log2-points 20]
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri
from scipy.stats import norm, qmc

Array = NDArray[np.float64]
REPLICATES = 16  # scrambled nets, whose scatter is the standard error
FAR = 9.0  # standard deviations beyond which nothing is integrated


@dataclass(frozen=True)
class Case:
    """A margin of scores, what is published of it, and what it is."""

    margin: Callable[[Array], Array]  # of rows of scores
    dimension: int
    runs: int  # that a model is trained on
    published: float
    reference: float  # computed again, by `recomputed`
    error: float  # its standard error; 0: by quadrature


def log_normal(score: Array, mean: float, variation: float) -> Array:
    """The value of a log-normal law by its mean and its coefficient of variation."""
    sigma = math.sqrt(math.log1p(variation**2))
    return mean * np.exp(sigma * score - sigma**2 / 2)


def four_branch(u: Array) -> Array:
    """A series system of four parts [Katsuki, Frangopol 1994; Waarts 2000], with p = 7 / sqrt 2."""
    a, b = u.T
    return np.minimum(
        3 + 0.1 * (a - b) ** 2 - np.abs(a + b) / math.sqrt(2), 7 / math.sqrt(2) - np.abs(a - b)
    )


def gayton_hat(u: Array) -> Array:
    """A hat [Echard, Gayton, Lemaire, Relun 2013]."""
    a, b = u.T
    return 0.5 * (a - 2) ** 2 - 1.5 * (b - 5) ** 3 - 3


def hyper_sphere(u: Array) -> Array:
    """A bound like a sphere's [Li et al. 2018]: both are Normal(0.5, 0.2)."""
    return 1 - ((0.5 + 0.2 * u) ** 3).sum(1)


def quadratic(u: Array) -> Array:
    """Resistance less a squared load [Waarts 2000]."""
    return 11 + u[:, 0] - (1.5 + 0.5 * u[:, 1]) ** 2


def cantilever(u: Array) -> Array:
    """The deflection of a beam under an even load [Rajashekhar, Ellingwood 1993]: mm, N/m², MPa."""
    load, depth = 1000 + 200 * u[:, 0], 250 + 37.5 * u[:, 1]
    span, modulus = 6000.0, 26000e6
    return span / 325 - 1.5 * span**4 * load / (modulus * depth**3)


def pipe_crack(u: Array) -> Array:
    """A cracked pipe that is bent [Verma, Ajit, Karanki 2016]: m, MPa, MNm."""
    stress, half_angle = 301.079 + 14.78 * u[:, 0], 0.503 + 0.049 * u[:, 1]
    bears = np.cos(half_angle / 2) - 0.5 * np.sin(half_angle)
    return 4 * 0.03377 * 0.3377**2 * stress * bears - 3


def convex_domain(u: Array) -> Array:
    """A convex domain of failure [Borri, Speranzini 1997; Waarts 2000]."""
    a, b = u.T
    return 0.1 * (a - b) ** 2 - (a + b) / math.sqrt(2) + 2.5


def shaft(u: Array) -> Array:
    """Strength less stress of a speed reducer's shaft [Du, Sudjianto 2004]: MPa."""
    diameter, span = (39 + 0.1 * u[:, 0]) / 1e3, (400 + 0.1 * u[:, 1]) / 1e3
    scale = 350 * math.sqrt(6) / math.pi  # Gumbel: mean 1500, standard deviation 350
    force = 1500 - np.euler_gamma * scale - scale * np.log(-np.log(ndtr(u[:, 2])))
    torque, strength = 250 + 35 * u[:, 3], 70 + 10 * ndtr(u[:, 4])
    stress = 32 / (math.pi * diameter**3) * np.sqrt((force * span / 4) ** 2 + torque**2)
    return strength - stress / 1e6


def peak_force(u: Array) -> Array:
    """Three times the root mean square force of a secondary spring [Igusa, Der Kiureghian 1985]."""
    means = (1.5, 0.01, 1.0, 0.01, 0.05, 0.02, 100.0)
    variations = (0.1, 0.1, 0.2, 0.2, 0.4, 0.5, 0.1)
    mp, ms, kp, ks, zp, zs, s0 = (
        log_normal(score, mean, variation)
        for score, mean, variation in zip(u.T[:7], means, variations, strict=True)
    )
    wp, ws = np.sqrt(kp / mp), np.sqrt(ks / ms)
    wa, za = (wp + ws) / 2, (zp + zs) / 2
    gamma, theta = ms / mp, (wp - ws) / wa
    square = math.pi * s0 / (4 * zs * ws**3)
    square = square * za * zs / (zp * zs * (4 * za**2 + theta**2) + gamma * za**2)
    square = square * (zp * wp**3 + zs * ws**3) * wp / (4 * za * wa**4)
    return 3 * ks * np.sqrt(square)


def oscillator(capacity: float) -> Callable[[Array], Array]:
    """The force that a secondary spring bears, less its peak [Der Kiureghian, De Stefano 1991]."""
    return lambda u: log_normal(u[:, 7], capacity, 0.1) - peak_force(u)


CASES = {
    "FourBranch": Case(four_branch, 2, 60, 2.186e-3, 2.22280e-3, 0),
    "GaytonHat": Case(gayton_hat, 2, 60, 2.85e-5, 2.87454e-5, 0),
    "HyperSphere": Case(hyper_sphere, 2, 60, 3.381e-2, 3.35612e-2, 0),
    "RSQuadratic": Case(quadratic, 2, 60, 2.7009e-4, 2.65899e-4, 0),
    "CantileverBeam2D": Case(cantilever, 2, 60, 9.594e-3, 9.51381e-3, 0),
    "CircularPipeCrack": Case(pipe_crack, 2, 60, 3.4353e-2, 3.41991e-2, 0),
    "ConvexFailDomain": Case(convex_domain, 2, 60, 4.2692e-3, 4.20731e-3, 0),
    "SpeedReducerShaft": Case(shaft, 5, 100, 7.85e-4, 7.72853e-4, 1.5e-9),
    "DampedOscillator 15": Case(oscillator(15.0), 8, 100, 4.80e-3, 4.77460e-3, 5.1e-7),
    "DampedOscillator 21.5": Case(oscillator(21.5), 8, 100, 4.46e-5, 4.41507e-5, 7.5e-9),
    "DampedOscillator 27.5": Case(oscillator(27.5), 8, 100, 3.76e-7, 3.78500e-7, 8.0e-11),
}


def integrated(fails: Callable[[float], float], *kinks: float) -> float:
    """The mean over one score of the probability that the other one makes it fail."""
    places = sorted({-FAR, *kinks, FAR, *np.linspace(-FAR, FAR, 37).tolist()})
    parts = [
        quad(lambda t: norm.pdf(t) * fails(t), low, high, epsabs=0, epsrel=1e-10)[0]
        for low, high in pairwise(places)
    ]
    return math.fsum(parts)


def in_two_scores() -> dict[str, float]:
    """All margins of two scores, which have one root in one of them."""
    above = norm.sf
    edge = 3.5  # |a - b| / sqrt 2, where the other two branches fail

    def branches(d: float) -> float:  # by the turned scores (a - b) and (a + b) over sqrt 2
        return 1.0 if abs(d) >= edge else 2 * above(3 + 0.2 * d**2)

    def beam(score: float) -> float:
        depth = max(250 + 37.5 * score, 0.0)
        load = 6000 / 325 * 26000e6 * depth**3 / (1.5 * 6000.0**4)
        return above((load - 1000) / 200)

    def pipe(score: float) -> float:
        angle = 0.503 + 0.049 * score
        bears = 4 * 0.03377 * 0.3377**2 * (math.cos(angle / 2) - 0.5 * math.sin(angle))
        return norm.cdf((3 / bears - 301.079) / 14.78)

    return {
        "FourBranch": integrated(branches, -edge, edge),
        "GaytonHat": integrated(lambda a: above(5 + np.cbrt((0.5 * (a - 2) ** 2 - 3) / 1.5))),
        "HyperSphere": integrated(lambda a: above((np.cbrt(1 - (0.5 + 0.2 * a) ** 3) - 0.5) / 0.2)),
        "RSQuadratic": integrated(lambda b: norm.cdf((1.5 + 0.5 * b) ** 2 - 11)),
        "CantileverBeam2D": integrated(beam),
        "CircularPipeCrack": integrated(pipe),
        "ConvexFailDomain": integrated(lambda d: above(2.5 + 0.2 * d**2)),
    }


def sampled(
    log_fails: Callable[[Array], Array], dimension: int, log2_points: int
) -> tuple[float, float]:
    """The mean of a conditional probability of failure over other scores, and its standard error.

    Scrambled Sobol nets lie around the most likely failure, and are weighted back.
    """

    def height(u: Array) -> float:
        return float(u @ u / 2 - log_fails(u[None])[0])

    starts = [np.zeros(dimension), *np.random.default_rng(0).standard_normal((8, dimension))]
    centre = min((minimize(height, start) for start in starts), key=lambda found: found.fun).x
    means = []
    for seed in range(REPLICATES):
        net = qmc.Sobol(dimension, seed=seed).random_base2(log2_points)
        z = ndtri(net.clip(1e-16, 1 - 1e-16))
        means.append(np.exp(log_fails(z + centre) - z @ centre - centre @ centre / 2).mean())
    return float(np.mean(means)), float(np.std(means, ddof=1) / math.sqrt(REPLICATES))


def shaft_fails(u: Array) -> Array:
    """The logarithm of the probability that the force is too large, given all other scores."""
    diameter, span = (39 + 0.1 * u[:, 0]) / 1e3, (400 + 0.1 * u[:, 1]) / 1e3
    torque, strength = 250 + 35 * u[:, 2], 70e6 + 10e6 * ndtr(u[:, 3])
    moment = strength * math.pi * diameter**3 / 32
    force = 4 / span * np.sqrt(np.maximum(moment**2 - torque**2, 0))
    scale = 350 * math.sqrt(6) / math.pi
    reduced = (force - 1500) / scale + np.euler_gamma
    return np.log(-np.expm1(-np.exp(-reduced)))


def oscillator_fails(capacity: float) -> Callable[[Array], Array]:
    """The logarithm of the probability that the spring bears too little, given all else."""
    sigma = math.sqrt(math.log1p(0.1**2))
    return lambda u: norm.logcdf((np.log(peak_force(u) / capacity) + sigma**2 / 2) / sigma)


def recomputed(log2_points: int) -> dict[str, tuple[float, float]]:
    """All probabilities with their standard errors."""
    found = {name: (value, 0.0) for name, value in in_two_scores().items()}
    found["SpeedReducerShaft"] = sampled(shaft_fails, 4, log2_points)
    for capacity in (15.0, 21.5, 27.5):
        name = f"DampedOscillator {capacity:g}"
        found[name] = sampled(oscillator_fails(capacity), 7, log2_points)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log2-points", type=int, default=17)
    for name, (value, error) in recomputed(parser.parse_args().log2_points).items():
        print(f"{name:22} {value:.5e} ± {error:.1e}   published {CASES[name].published:.5e}")


if __name__ == "__main__":
    main()
