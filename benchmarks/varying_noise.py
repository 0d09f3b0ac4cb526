"""Noise that depends on the design: evaluations that it saves to know where values are good.

Two hills, the higher one where values scatter by 0.03, the other one where they do by up to 1.5.
Each experiment is measured twice. Three ways to tell it: the mean alone (one variance for all,
inferred), the mean with its standard deviation, and that with noise_variance="varies".

    python benchmarks/varying_noise.py [--runs 10] [--evaluations 40]
"""

import argparse
import statistics

import numpy as np

import meseta

REPEATS = 2
NOISE = 0.04
REACHED = 0.02  # the regret that counts as good
WAYS = ("one variance", "std told", "varies")


def f(x):
    return np.exp(-(((x - 0.28) / 0.12) ** 2)) + 0.93 * np.exp(-(((x - 0.72) / 0.12) ** 2))


def scatter(x):
    return 0.03 + 1.5 / (1 + np.exp(-(x - 0.5) / 0.04))


XI = NOISE * np.random.default_rng(0).standard_normal(4000)
GRID = np.linspace(0, 1, 401)


def g(x):
    return float(f(x + XI).mean())


BEST = max(map(g, GRID))


def run(way, evaluations, seed):
    """The regret after each evaluation."""
    random, regrets = np.random.default_rng(seed), []

    def measured(params):
        x = params["x"]
        values = f(x) + scatter(x) * random.standard_normal(REPEATS)
        result = {"value": float(values.mean()), "n": REPEATS}
        return result if way == "one variance" else {**result, "std": float(values.std(ddof=1))}

    def looked_at(optimizer, trial):
        regrets.append(BEST - g(optimizer.recommend().params["x"]))

    meseta.maximize(
        measured,
        {"x": (0.0, 1.0)},
        noise=meseta.Normal(NOISE),
        noise_variance="varies" if way == "varies" else None,
        budget=evaluations,
        seed=seed,
        callback=looked_at,
        progress=False,
    )
    return regrets


def needed(regrets):
    """Evaluations after which the regret stays below REACHED."""
    late = [i for i, regret in enumerate(regrets) if regret > REACHED]
    return late[-1] + 2 if late else 1


def main(runs, evaluations):
    print(f"the highest g is {BEST:.4f}")
    for way in WAYS:
        each = [run(way, evaluations, seed) for seed in range(runs)]
        counts = sorted(map(needed, each))
        missed = sum(count > evaluations for count in counts)
        half, whole = (
            statistics.median(regrets[i] for regrets in each) for i in (evaluations // 2 - 1, -1)
        )
        print(
            f"  {way:12} regret after {evaluations // 2}: {half:.2g}, after {evaluations}: "
            f"{whole:.2g}; below {REACHED} for good after {statistics.median(counts):g} "
            f"evaluations ({missed} of {runs} runs not at all)",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=40)
    chosen = parser.parse_args()
    main(chosen.runs, chosen.evaluations)
