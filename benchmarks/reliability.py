"""Chance constraints: the reliability problem of Youn and Choi, against its exact optimum.

Minimise mu1 + mu2 in [0, 10]^2 where x ~ Normal(mu, s) and each of three failures may happen with a
given probability only. The references are by quadrature.

    python benchmarks/reliability.py [--runs 10] [--budget 40]
"""

import argparse
import time

import torch

import meseta

CASES = {
    "s = 0.6, 2.275 %": (0.6, 0.02275, 7.27502),
    "s = 0.3, 0.135 %": (0.3, 0.00135, 6.72891),
}
SAMPLES = 4_000_000


def outcomes(a, b):
    return {
        "cost": a + b,
        "g1": a * a * b / 20 - 1,
        "g2": (a + b - 5) ** 2 / 30 + (a - b - 12) ** 2 / 120 - 1,
        "g3": 80 / (a * a + 8 * b + 5) - 1,
    }


def failures(params, s):
    """The shares of perturbed designs that fail, one for each limit."""
    generator = torch.Generator().manual_seed(1)
    xi = s * torch.randn(SAMPLES, 2, generator=generator, dtype=torch.double)
    values = outcomes(*(torch.tensor(list(params.values())) + xi).T)
    return [float((values[name] <= 0).double().mean()) for name in ("g1", "g2", "g3")]


def run(s, allowed, budget, seed):
    limit = meseta.AtLeast(0.0, probability=1 - allowed)
    return meseta.minimize(
        lambda p: outcomes(p["a"], p["b"]),
        {"a": (0.0, 10.0), "b": (0.0, 10.0)},
        noise=meseta.Normal(s),
        objective="cost",
        constraints=dict.fromkeys(("g1", "g2", "g3"), limit),
        budget=budget,
        seed=seed,
        progress=False,
    )


def main(runs, budget):
    for name, (s, allowed, reference) in CASES.items():
        good = 0
        for seed in range(runs):
            begun = time.perf_counter()
            result = run(s, allowed, budget, seed)
            took = (time.perf_counter() - begun) / budget
            above = sum(result.params.values()) / reference - 1
            worst = max(failures(result.params, s)) / allowed
            good += abs(above) <= 0.01 and worst <= 1.2
            print(
                f"{name}, seed {seed}: cost {100 * above:+.2f} %, failures {worst:.2f} of what is "
                f"allowed, sure to {result.sure:.3f}, {took:.1f} s per evaluation",
                flush=True,
            )
        print(f"{name}: {good} of {runs} within 1 % with at most 1.2 times the failures")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=int, default=40)
    options = parser.parse_args()
    main(options.runs, options.budget)
