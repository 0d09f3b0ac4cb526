"""How often the interval of g at the recommended design holds the truth, and its regret.

    python benchmarks/coverage.py run results.jsonl [--runs 10] [--problems cliff kinks]
        [--kernel auto] [--verify 5] [--method rkg]
    python benchmarks/coverage.py table one.jsonl other.jsonl

A run looks at the recommendation after 50, 75 and 100 % of its budget. What is in the file is not
run again. A table shows each file by problem: the share of the 95 % intervals that hold g, the
largest error in standard deviations, median and worst regret at the end in standard deviations of
f; with two files also a paired test (Wilcoxon) of the regrets at the end, over all runs.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.stats import norm, qmc, wilcoxon

import meseta
from meseta import problems

LOOKS = (0.5, 0.75, 1.0)
MEASURED = 1e-3  # standard deviation of the measurement error, in those of f
SURE = norm.ppf(0.975)


@dataclass(frozen=True)
class Awkward:
    """f on the unit cube, Normal noise of one width in every parameter, a budget."""

    dimension: int
    width: float
    budget: int
    f: Callable[[np.ndarray], np.ndarray]


def step(t):
    return 1 / (1 + np.exp(-t))


def valley(x):
    a, b = 3 * x[:, 0] - 1.5, 2.5 * x[:, 1] - 0.5
    return -np.log1p(100 * (b - a**2) ** 2 + (1 - a) ** 2)


def needle(x):
    broad = np.exp(-((x - 0.7) ** 2).sum(1) / 0.08)
    return broad + 1.2 * np.exp(-((x - 0.25) ** 2).sum(1) / 0.004)


def scaled(u, low, high):
    low, high = np.array(low), np.array(high)
    return (low + (high - low) * u).T


def circuit(u):
    """Mid-point voltage of a transformerless push-pull circuit [Ben-Ari, Steinberg 2007]."""
    Rb1, Rb2, Rf, Rc1, Rc2, beta = scaled(
        u, [50, 25, 0.5, 1.2, 0.25, 50], [150, 70, 3, 2.5, 1.2, 300]
    )
    gain = beta * (Rc2 + 9)
    Vb1 = 12 * Rb2 / (Rb1 + Rb2)
    V = ((Vb1 + 0.74) * gain + 11.35 * Rf + 0.74 * Rf * gain / Rc1) / (gain + Rf)
    return -((V - 5.0) ** 2)


def piston(u):
    """Cycle time of a piston [Kenett, Zacks 1998]."""
    M, S, V0, k, P0, Ta, T0 = scaled(
        u,
        [30, 0.005, 0.002, 1000, 90000, 290, 340],
        [60, 0.020, 0.010, 5000, 110000, 296, 360],
    )
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2 * k) * (np.sqrt(A**2 + 4 * k * P0 * V0 * Ta / T0) - A)
    C = 2 * np.pi * np.sqrt(M / (k + S**2 * P0 * V0 * Ta / (T0 * V**2)))
    return -10 * (C - 0.5) ** 2


AWKWARD = {
    "smooth": Awkward(
        2, 0.07, 30, lambda x: np.sin(5 * x[:, 0]) + np.cos(4 * x[:, 1]) - (x[:, 0] - 0.5) ** 2
    ),
    "cliff": Awkward(
        2, 0.05, 30, lambda x: np.where(x[:, 0] < 0.6, x[:, 0], -0.3) - 0.5 * (x[:, 1] - 0.4) ** 2
    ),
    "steep-edge": Awkward(
        2,
        0.05,
        30,
        lambda x: step(-60 * (x[:, 0] - 0.65)) * (x[:, 0] + 0.2) - 0.5 * (x[:, 1] - 0.4) ** 2,
    ),
    "kinks": Awkward(
        2,
        0.05,
        30,
        lambda x: (
            0.3 * np.maximum(0, x[:, 0] - 0.3) - np.abs(x[:, 0] - 0.6) - 0.5 * np.abs(x[:, 1] - 0.4)
        ),
    ),
    "hills": Awkward(
        2,
        0.04,
        50,
        lambda x: np.sin(13 * x[:, 0]) * np.cos(11 * x[:, 1]) + 0.6 * np.sin(5 * x.sum(1)),
    ),
    "steep-flat": Awkward(1, 0.04, 20, lambda x: step(40 * (x[:, 0] - 0.3)) * (1 - 0.3 * x[:, 0])),
    "rough-one-side": Awkward(
        1, 0.03, 25, lambda x: np.sin(2 + 3 * np.exp(2.3 * x[:, 0])) + x[:, 0]
    ),
    "valley": Awkward(2, 0.05, 35, valley),
    "needle": Awkward(2, 0.06, 35, needle),
    "ripples": Awkward(
        2,
        0.05,
        40,
        lambda x: (
            0.06 * np.cos(40 * x[:, 0]) + 0.06 * np.cos(35 * x[:, 1]) - ((x - 0.55) ** 2).sum(1)
        ),
    ),
    "roots": Awkward(
        3, 0.05, 45, lambda x: -np.sqrt(np.abs(x - np.array([0.3, 0.5, 0.7])) + 1e-4).sum(1)
    ),
    "circuit": Awkward(6, 0.04, 60, circuit),
    "piston": Awkward(7, 0.04, 60, piston),
}
PAPER = ["within-model", *problems.of_paper()]


@dataclass(frozen=True)
class Case:
    """What one run needs; values are to be maximised."""

    bounds: np.ndarray
    noise: meseta.Normal
    budget: int
    f: Callable[[np.ndarray], np.ndarray]
    g: Callable[[np.ndarray], float]
    g_star: float
    scale: float
    measured: float


def case(name, run):
    if name in AWKWARD:
        return awkward(AWKWARD[name])
    problem = problems.within_model(run) if name == "within-model" else problems.get(name)
    sign = 1 if problem.direction == "maximize" else -1
    low, high = problem.bounds
    spread = np.random.default_rng(0).random((2000, problem.dimension))
    return Case(
        problem.bounds,
        problem.law,
        problem.budget,
        lambda x: sign * problem.f(x),
        lambda x: float(sign * problem.g(x[None])[0]),
        sign * problem.g_star,
        float(np.std(problem.f(low + (high - low) * spread))),
        float(np.sqrt(problem.noise_variance)),
    )


def awkward(problem):
    d, f = problem.dimension, problem.f
    xi = problem.width * norm.ppf(qmc.Sobol(d, seed=5).random_base2(14).clip(1e-9, 1 - 1e-9))

    def g(x, num=None):
        return float(f(np.clip(x, 0, 1) + xi[:num]).mean())

    starts = qmc.Sobol(d, seed=1).random_base2(11)
    order = np.argsort([-g(x, 256) for x in starts])
    ends = [
        minimize(
            lambda x: -g(x, 2048),
            starts[i],
            method="Nelder-Mead",
            options={"maxfev": 300 * d, "xatol": 1e-5, "fatol": 1e-10},
        ).x
        for i in order[:8]
    ]
    scale = float(np.std(f(np.random.default_rng(0).random((2000, d)))))
    bounds = np.array([[0.0] * d, [1.0] * d])
    noise = meseta.Normal(problem.width)
    best = max(map(g, ends))
    return Case(bounds, noise, problem.budget, f, g, best, scale, MEASURED * scale)


def one_run(case, seed, settings):
    names = [f"x{i}" for i in range(case.bounds.shape[1])]
    space = {name: tuple(ends) for name, ends in zip(names, case.bounds.T.tolist(), strict=True)}
    optimizer = meseta.Optimizer(space, noise=case.noise, seed=seed, **settings)
    rng = np.random.default_rng(seed)
    looks = []
    for number in range(1, case.budget + 1):
        design = optimizer.ask()
        x = np.array([[design[name] for name in names]])
        optimizer.tell(design, float(case.f(x)[0] + case.measured * rng.standard_normal()))
        if number in [int(case.budget * share) for share in LOOKS]:
            best = optimizer.recommend()
            g = case.g(np.array([best.params[name] for name in names]))
            regret = (case.g_star - g) / case.scale
            looks.append({"error": (best.mean - g) / max(best.std, 1e-300), "regret": regret})
    return looks


def run(arguments):
    settings = {
        "kernel": arguments.kernel,
        "verify": arguments.verify,
        "method": arguments.method,
    }
    path = Path(arguments.file)
    done = {(row["problem"], row["seed"]) for row in rows(path)} if path.exists() else set()
    for name in arguments.problems or [*AWKWARD, *PAPER]:
        make = partial(case, name)
        known = None if name == "within-model" else make(0)
        for seed in range(arguments.runs):
            if (name, seed) in done:
                continue
            start = time.perf_counter()
            looks = one_run(known or make(seed), seed, settings)
            seconds = time.perf_counter() - start
            with path.open("a") as file:
                row = {"problem": name, "seed": seed, "seconds": seconds, "looks": looks}
                file.write(json.dumps(row) + "\n")


def rows(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def table(files):
    data = {file: rows(file) for file in files}
    for name in [*AWKWARD, *PAPER]:
        for file, found in data.items():
            mine = [row for row in found if row["problem"] == name]
            if not mine:
                continue
            errors = np.abs([look["error"] for row in mine for look in row["looks"]])
            regrets = np.array([row["looks"][-1]["regret"] for row in mine])
            print(
                f"{name:15s} {Path(file).stem:12s} holds {np.mean(errors < SURE):4.0%} of "
                f"{len(errors):3d}, worst {errors.max():6.1f} sd;  regret {np.median(regrets):8.1e}"
                f" {regrets.max():8.1e}; {np.mean([row['seconds'] for row in mine]):5.1f} s"
            )
    if len(files) == 2:
        ends = [
            {(row["problem"], row["seed"]): row["looks"][-1]["regret"] for row in data[file]}
            for file in files
        ]
        both = sorted(ends[0].keys() & ends[1].keys())
        logs = np.log([[max(end[key], 1e-9) for key in both] for end in ends])
        ratio = np.exp(np.median(logs[1] - logs[0]))
        p = wilcoxon(logs[0], logs[1]).pvalue
        print(f"{len(both)} pairs: the second has {ratio:.2f} times the regret, p = {p:.2g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("file")
    runs.add_argument("--runs", type=int, default=10)
    runs.add_argument("--problems", nargs="*")
    runs.add_argument("--kernel", default="auto")
    runs.add_argument("--verify", type=int, default=5)
    runs.add_argument("--method", default="rkg")
    shown = commands.add_parser("table")
    shown.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "run":
        run(arguments)
    else:
        table(arguments.files)


if __name__ == "__main__":
    main()
