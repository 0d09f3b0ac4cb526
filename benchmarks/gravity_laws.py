"""How the robust optimum of the gravity assist moves with the law of the noise.

    python benchmarks/gravity_laws.py [--budget 50]

For each law the exact optimum, by brute force on 115 000 flights, and what a run of Meseta finds:
its recommendation, and what that is really worth under the law. Standard deviations are those of
the paper (3 degrees, 0.05 km/s) throughout; relative errors have them at the paper's optimum.
"""

import argparse

import numpy as np
from scipy import stats
from scipy.optimize import minimize

import meseta
from meseta.problems import get

STD = np.array([3.0, 0.05])
PAPER = np.array([27.864559, 4.7911987])
ANGLES, SPEEDS = np.arange(-32, 68.001, 0.125), np.arange(3.8, 5.3001, 0.01)
RELATIVE = STD / PAPER


def marginal(nodes, law):
    """The masses of the cells around the nodes."""
    half = (nodes[1] - nodes[0]) / 2
    return law.cdf(nodes + half) - law.cdf(nodes - half)


def product(of_angle, of_speed):
    def weights(x):
        a, s = marginal(ANGLES, of_angle(x[0])), marginal(SPEEDS, of_speed(x[1]))
        return np.outer(a, s)

    return weights


def correlated(rho):
    covariance = np.outer(STD, STD) * [[1, rho], [rho, 1]]
    nodes = np.stack(np.meshgrid(ANGLES, SPEEDS, indexing="ij"), axis=-1)

    def weights(x):
        density = stats.multivariate_normal(x, covariance).pdf(nodes)
        return density / density.sum()

    return weights, {("angle", "speed"): meseta.Normal(covariance=covariance.tolist())}


def each(law):
    return {"angle": law(STD[0]), "speed": law(STD[1])}


LAWS = {
    "Normal": (
        product(lambda m: stats.norm(m, STD[0]), lambda m: stats.norm(m, STD[1])),
        each(meseta.Normal),
    ),
    "Uniform": (
        product(
            *(lambda m, h=h: stats.uniform(m - h, 2 * h) for h in (STD * 3**0.5).tolist()),
        ),
        each(lambda std: meseta.Uniform(std * 3**0.5)),
    ),
    "relative": (
        product(*(lambda m, r=r: stats.norm(m, max(abs(m * r), 1e-9)) for r in RELATIVE.tolist())),
        {
            "angle": meseta.Normal(RELATIVE[0], relative=True),
            "speed": meseta.Normal(RELATIVE[1], relative=True),
        },
    ),
    "correlated, 0.9": correlated(0.9),
    "correlated, -0.9": correlated(-0.9),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=50)
    budget = parser.parse_args().budget
    problem = get("gravity")
    pairs = np.stack(np.meshgrid(ANGLES, SPEEDS, indexing="ij"), axis=-1)
    values = problem.f(pairs.reshape(-1, 2)).reshape(pairs.shape[:2])
    (low_a, low_s), (high_a, high_s) = problem.bounds

    def f(p):
        return float(problem.f(np.array([[p["angle"], p["speed"]]]))[0])

    coarse = [
        (a, s) for a in np.arange(low_a, high_a + 0.1, 1) for s in np.arange(4.1, 5.001, 0.02)
    ]
    print(f"{'law':17} {'x*':>16} {'g*':>8} {'g(paper x*)':>12} {'found x':>16} {'its g':>8}")
    for name, (weights, noise) in LAWS.items():

        def g(x, weights=weights):
            return float((weights(x) * values).sum())

        start = min(coarse, key=g)
        box = [(low_a, high_a), (low_s, high_s)]
        best = minimize(g, start, method="Nelder-Mead", bounds=box, options={"xatol": 1e-4})
        result = meseta.minimize(
            f,
            {"angle": (low_a, high_a), "speed": (low_s, high_s)},
            noise=noise,
            budget=budget,
            num_initial=5,
            seed=0,
            progress=False,
        )
        found = np.array([result.params["angle"], result.params["speed"]])
        print(
            f"{name:17} {best.x[0]:8.3f} {best.x[1]:7.4f} {best.fun:8.5f} {g(PAPER):12.5f} "
            f"{found[0]:8.3f} {found[1]:7.4f} {g(found):8.5f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
