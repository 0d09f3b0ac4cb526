"""Experiments that the noise perturbs unseen: the two problems of AIRBO [Yang et al. 2023].

Every value is f(x + xi) with an xi that nobody saw. Three ways to go about it, with the same number
of evaluations: to say so (executed="unseen"), to take the values for exact ones of f(x), and to
evaluate each design five times and optimise the averages without any model of the noise.

    python benchmarks/unseen.py [--runs 10] [--evaluations 50] [--problems needles,ring]
"""

import argparse
import statistics
import time

import numpy as np

import meseta
from meseta.problems import get

REPEATS = 5
PROBLEMS = ("needles", "ring")
WAYS = ("unseen", "as exact", "averages")


def run(problem, way, evaluations, seed):
    """Regrets after half of the evaluations and after all, and seconds."""
    random = np.random.default_rng(seed)

    def value(params):
        (executed,) = problem.in_use([problem.row(params)], 1, int(random.integers(2**31)))
        return float(problem.f(executed)[0])

    def average(params):
        return {"value": float(np.mean([value(params) for _ in range(REPEATS)])), "n": REPEATS}

    regrets, budget = [], evaluations if way != "averages" else evaluations // REPEATS

    def looked_at(optimizer, trial):
        if trial.number + 1 in (budget // 2, budget):
            regrets.append(float(problem.regret([problem.row(optimizer.recommend().params)])[0]))

    begun = time.perf_counter()
    meseta.maximize(
        average if way == "averages" else value,
        problem.space,
        noise=None if way == "averages" else problem.noise_by_name,
        executed="unseen" if way == "unseen" else "known",
        budget=budget,
        seed=seed,
        callback=looked_at,
        progress=False,
    )
    return *regrets, time.perf_counter() - begun


def main(runs, evaluations, problems, ways=WAYS):
    for name in problems:
        problem = get(name)
        print(f"{name}: the highest g is {problem.g_star:.4f}", flush=True)
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
