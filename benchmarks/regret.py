"""How far from the robust optimum each method is, with exact g: |g(x_n) - g*| over evaluations.

    python benchmarks/regret.py [--problems sin-linear rkhs] [--methods nes-ep rkg] [--seeds 20]
                                [--output results.jsonl] [--workers 2] [--table]

The paper's setting: uniform initial points, the same for all methods; hyper-parameters and noise
inferred after every evaluation. Each run is one line of the output; runs that are there already are
not repeated. A method may carry options: 'nes-ep{"num_max_values": 10}'.
"""

import argparse
import json
import multiprocessing
import time
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from meseta import methods
from meseta.gp import RobustPosterior, fit_surrogate
from meseta.problems import get
from meseta.recommend import recommend
from meseta.suggest import suggest

EVALUATIONS = {"sin-linear": 20, "rkhs": 30, "gmm": 30, "hartmann3": 60}


def run(problem_name, method, seed, prior="default"):
    """One optimization; regret of the recommendation after each evaluation from the first model."""
    problem = get(problem_name)
    name, brace, text = method.partition("{")
    options = json.loads(brace + text) if brace else None
    sign = 1.0 if problem.direction == "maximize" else -1.0
    bounds = torch.as_tensor(problem.bounds)
    random = np.random.default_rng([seed, len(problem.names)])
    X = bounds[0] + (bounds[1] - bounds[0]) * torch.from_numpy(
        random.uniform(size=(problem.num_initial, len(problem.names)))
    )

    def observe(x):
        noise = random.normal(scale=problem.noise_variance**0.5, size=len(x))
        return torch.from_numpy(sign * problem.f(x.numpy()) + noise)

    y, previous, regret, where, seconds = observe(X), None, [], [], []
    while True:
        fitted = fit_surrogate(X, y, bounds, problem.noise, prior=prior, previous=previous)
        previous = fitted[1].hyperparameters
        posterior = RobustPosterior.from_model(fitted[0], problem.noise)
        best = recommend(posterior, bounds, method=name, options=options)
        regret.append(float(problem.regret(best.x.numpy()[None])[0]))
        where.append(best.x.tolist())
        if len(X) >= EVALUATIONS[problem_name]:
            break
        start = time.perf_counter()
        x, _ = suggest(
            X, y, bounds, problem.noise, method=name, options=options, seed=seed, fitted=fitted
        )
        seconds.append(time.perf_counter() - start)
        X, y = torch.cat([X, x[None]]), torch.cat([y, observe(x[None])])
    return {
        "problem": problem_name,
        "method": method,
        "seed": seed,
        "prior": prior,
        "X": X.tolist(),
        "y": (sign * y).tolist(),
        "recommended": where,
        "regret": regret,
        "seconds": seconds,
        "lengthscale": previous.lengthscale.tolist(),
    }


def task(arguments):
    torch.set_num_threads(1)
    return run(*arguments)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key(record):
    return record["problem"], record["method"], record["seed"], record["prior"]


def table(records):
    """Median regret after half and all evaluations."""
    problems = [p for p in EVALUATIONS if any(r["problem"] == p for r in records)]
    rows = sorted({(r["method"], r["prior"]) for r in records})
    heads = (f"{p:>13} {EVALUATIONS[p] // 2:>3} {EVALUATIONS[p]:>7}   " for p in problems)
    print(f"{'method':34}" + "".join(heads))
    for method, prior in rows:
        cells = []
        for p in problems:
            runs = [
                r["regret"]
                for r in records
                if (r["problem"], r["method"], r["prior"]) == (p, method, prior)
            ]
            if not runs:
                cells.append(f"{'-':>28}")
                continue
            num_initial = EVALUATIONS[p] - len(runs[0]) + 1
            half = np.median([r[EVALUATIONS[p] // 2 - num_initial] for r in runs])
            end = np.median([r[-1] for r in runs])
            quarter = np.quantile([r[-1] for r in runs], 0.75)
            cells.append(f"{half:>9.1e} {end:>8.1e} ({quarter:.0e})")
        name = method if prior == "default" else f"{method} [{prior}]"
        print(f"{name:34}" + "".join(cells) + f"   {len(runs)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=list(EVALUATIONS))
    parser.add_argument("--methods", nargs="+", default=methods.names())
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--prior", default="default")
    parser.add_argument("--output", type=Path, default=Path("regret.jsonl"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only show what is there")
    arguments = parser.parse_args()
    done = {key(record) for record in read(arguments.output)}
    wanted = [
        (problem, method, seed, arguments.prior)
        for seed in range(arguments.seeds)
        for problem in arguments.problems
        for method in arguments.methods
    ]
    todo = [] if arguments.table else [task for task in wanted if task not in done]
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(arguments.workers) as pool, arguments.output.open("a") as file:
        for record in tqdm(pool.imap_unordered(task, todo), total=len(todo), unit="run"):
            file.write(json.dumps(record) + "\n")
            file.flush()
    table(read(arguments.output))


if __name__ == "__main__":
    main()
