"""Experiments that the noise perturbs unseen: the two problems of AIRBO [Huang et al. 2024].

Every value is f(x + xi) with an xi that nobody saw. Three ways to go about it, with the same number
of evaluations: to say so (executed="unseen"), to take the values for exact ones of f(x), and to
evaluate each design five times and optimise the averages without any model of the noise.

    python benchmarks/unseen.py [--runs 10] [--evaluations 50] [--problems needles,ring]
"""

import argparse
import statistics
import time
from typing import NamedTuple

import numpy as np
import scipy.stats

import meseta

REPEATS = 5
ANGLES = 2 * np.pi * np.arange(60) / 60
RING = 0.5 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], -1)


def needles(x):
    return (
        np.sinc(2 * np.pi * x[..., 0])
        + 7.2 * np.exp(-((37 * (x[..., 0] - 0.25)) ** 2))
        + 8.9 * np.exp(-((39 * (x[..., 0] - 0.35)) ** 2))
    )


def ring(x):
    r2 = (x**2).sum(-1)
    return -(2 * np.log(0.8 * r2 + np.exp(-10 * r2)) + 2.54)  # it is to be minimised


class Problem(NamedTuple):
    f: object
    space: dict
    noise: object
    sample: object  # of xi, by a generator of NumPy
    many: np.ndarray  # values of xi that stand for the law

    def g(self, x):
        return float(self.f(np.asarray(x) + self.many).mean())

    def best(self):
        """The highest g on a fine grid."""
        ranges = [
            np.linspace(*ends, 401 if len(self.space) == 1 else 81) for ends in self.space.values()
        ]
        return max(self.g(x) for x in np.stack(np.meshgrid(*ranges), -1).reshape(-1, len(ranges)))


BETA = scipy.stats.beta(0.4, 0.2, scale=0.1)
PROBLEMS = {
    "needles": Problem(
        needles,
        {"x": (0.0, 1.0)},
        {"x": BETA},
        lambda random: 0.1 * random.beta(0.4, 0.2, 1),
        BETA.ppf((np.arange(2000) + 0.5) / 2000)[:, None],
    ),
    "ring": Problem(
        ring,
        {"x": (-2.0, 2.0), "y": (-2.0, 2.0)},
        {("x", "y"): meseta.Empirical(RING)},
        lambda random: RING[random.integers(len(RING))],
        RING,
    ),
}
WAYS = ("unseen", "as exact", "averages")


def run(problem, way, evaluations, seed):
    """Regrets after half of the evaluations and after all, and seconds."""
    random = np.random.default_rng(seed)
    best = problem.best()

    def value(params):
        return float(problem.f(np.array(list(params.values())) + problem.sample(random)))

    def average(params):
        return {"value": float(np.mean([value(params) for _ in range(REPEATS)])), "n": REPEATS}

    regrets, budget = [], evaluations if way != "averages" else evaluations // REPEATS

    def looked_at(optimizer, trial):
        if trial.number + 1 in (budget // 2, budget):
            regrets.append(best - problem.g(list(optimizer.recommend().params.values())))

    begun = time.perf_counter()
    meseta.maximize(
        average if way == "averages" else value,
        problem.space,
        noise=None if way == "averages" else problem.noise,
        executed="unseen" if way == "unseen" else "known",
        budget=budget,
        seed=seed,
        callback=looked_at,
        progress=False,
    )
    return *regrets, time.perf_counter() - begun


def main(runs, evaluations, problems, ways=WAYS):
    for name in problems:
        problem = PROBLEMS[name]
        print(f"{name}: the highest g is {problem.best():.4f}", flush=True)
        for way in ways:
            half, whole, seconds = zip(
                *(run(problem, way, evaluations, seed) for seed in range(runs)), strict=True
            )
            print(
                f"  {way:9} regret after {evaluations // 2}: median {statistics.median(half):.3g}, "
                f"after {evaluations}: median {statistics.median(whole):.3g} "
                f"({min(whole):.2g} to {max(whole):.2g}), {statistics.mean(seconds):.0f} s a run",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=50)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--ways", default=",".join(WAYS))
    chosen = parser.parse_args()
    main(chosen.runs, chosen.evaluations, chosen.problems.split(","), chosen.ways.split(","))
