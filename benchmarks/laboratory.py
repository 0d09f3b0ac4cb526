"""Whether the intervals of a laboratory's plans hold the truth: values that scatter, few of them.

    python benchmarks/laboratory.py [results.jsonl] [--runs 200] [--seed 0] [--workers 1]
        [--only line flat "factorial curved 0.2"]

A cell is a plan (30 even places on a line, a 5 x 5 factorial, 32 Sobol points of three parameters,
a run of `rkg` with two), a true function, curved with a range of 1 or flat, and a scatter of the
values from 5 to 50 % of that range; one scatter is enough where it is flat. Functions and scatter
are drawn anew in each run. The noise is Normal(0.05) in every parameter, all of which go from 0 to
1, so that the robust value is known exactly.

The table shows of each cell how often the 95 % interval of the robust value holds the truth, at the
recommended design and at random designs, its median width there in standard deviations of the
scatter, and the fitted over the true scatter: the median, and between which 80 % of the runs lie.
`--only` takes the cells that have all words of one of its arguments. With a file, what is in it is
not run again.
"""

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import qmc

import meseta

PLANS = {"line": 1, "factorial": 2, "sobol": 3, "rkg": 2}  # their parameters
CURVES = ("curved", "flat")
SCATTERS = (0.05, 0.1, 0.2, 0.5)
FLAT = 0.2
WIDTH = 0.05  # of the noise
BUDGET = 25  # of a run of rkg
ELSEWHERE = 10  # random designs of each run
Row = dict[str, Any]


class Cell(NamedTuple):
    plan: str
    curve: str
    scatter: float

    def __str__(self) -> str:
        return f"{self.plan} {self.curve} {self.scatter:g}"


# a flat function is the same one in other units, however its values scatter
CELLS = [
    cell
    for cell in (Cell(*each) for each in product(PLANS, CURVES, SCATTERS))
    if cell.curve == "curved" or cell.scatter == FLAT
]


class Truth:
    """Waves in each parameter and one of all of them together, whose range is 1; or nothing."""

    def __init__(self, dimension: int, curve: str, rng: np.random.Generator) -> None:
        # with one parameter the product is a second wave
        self.pace = rng.uniform(1.5, 6.0, (2, dimension))
        self.phase = rng.uniform(0, 2 * np.pi, (2, dimension))
        self.scale = 1.0
        spread = self.f(qmc.Sobol(dimension, seed=0).random_base2(12))
        self.scale = 0.0 if curve == "flat" else 1 / float(np.ptp(spread))

    def f(self, x: np.ndarray, width: float = 0.0) -> np.ndarray:
        """The values at rows of designs, or their means under Normal noise of this width."""
        alone, together = (
            np.exp(-((pace * width) ** 2) / 2) * np.sin(pace * x + phase)
            for pace, phase in zip(self.pace, self.phase, strict=True)
        )
        return self.scale * (alone.sum(1) + together.prod(1))


def designs(plan: str, rng: np.random.Generator) -> np.ndarray:
    """The rows of a plan that is made before anything is measured."""
    if plan == "line":
        return np.linspace(0, 1, 30)[:, None]
    if plan == "factorial":
        return np.array(list(product(np.linspace(0, 1, 5), repeat=2)))
    return qmc.Sobol(PLANS[plan], seed=rng).random(32)


def run(cell: Cell, seed: int) -> Row:
    """One study of a cell, and how its intervals hold."""
    torch.set_num_threads(1)
    begun, rng = time.perf_counter(), np.random.default_rng([CELLS.index(cell), seed])
    dimension = PLANS[cell.plan]
    truth = Truth(dimension, cell.curve, rng)
    names = [f"x{i}" for i in range(dimension)]
    space = dict.fromkeys(names, (0.0, 1.0))
    optimizer = meseta.Optimizer(space, noise=meseta.Normal(WIDTH), seed=seed)

    def row(params: dict[str, float]) -> np.ndarray:
        return np.array([[params[name] for name in names]])

    def tell(params: dict[str, float]) -> None:
        scatter = cell.scatter * rng.standard_normal()
        optimizer.tell(params, float(truth.f(row(params))[0] + scatter))

    if cell.plan == "rkg":
        for _ in range(BUDGET):
            tell(optimizer.ask())
    else:
        for place in designs(cell.plan, rng).tolist():
            tell(dict(zip(names, place, strict=True)))

    def look(params: dict[str, float]) -> tuple[bool, float]:
        low, high = optimizer.promise(params).interval
        return bool(low <= truth.f(row(params), WIDTH)[0] <= high), (high - low) / cell.scatter

    elsewhere = rng.random((ELSEWHERE, dimension)).tolist()
    return {
        "cell": str(cell),
        "seed": seed,
        "recommended": look(optimizer.recommend().params),
        "random": [look(dict(zip(names, place, strict=True))) for place in elsewhere],
        "noise": float(optimizer.posterior.noise_variance) ** 0.5 / cell.scatter,
        "seconds": time.perf_counter() - begun,
    }


def wanted(only: list[str]) -> list[Cell]:
    def named(cell: Cell) -> bool:
        return any(set(words.split()) <= set(str(cell).split()) for words in only)

    found = [cell for cell in CELLS if not only or named(cell)]
    if not found:
        raise SystemExit(f"--only {' '.join(only)}: no such cell; one is called {str(CELLS[0])!r}")
    return found


def results(tasks: list[tuple[Cell, int]], workers: int) -> Iterator[Row]:
    """Of all runs, as they end."""
    if workers == 1:
        yield from (run(*task) for task in tasks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run, *task) for task in tasks]):
            yield done.result()


def line(name: str, rows: list[Row]) -> str:
    recommended = [row["recommended"] for row in rows]
    random = [each for row in rows for each in row["random"]]
    held = [f"{np.mean([kept for kept, _ in of]):4.0%}" for of in (recommended, random)]
    widths = [f"{np.median([width for _, width in of]):5.2f}" for of in (recommended, random)]
    low, middle, high = np.quantile([row["noise"] for row in rows], [0.1, 0.5, 0.9])
    return (
        f"{name:22} {len(rows):5}   {held[0]} {held[1]}    {widths[0]} {widths[1]}    "
        f"{middle:4.2f} ({low:.2f} to {high:.2f})   {np.mean([r['seconds'] for r in rows]):5.1f} s"
    )


def table(rows: list[Row]) -> None:
    print(f"{'':22} {'runs':>5}   {'held at':9}    {'width at':11}    fitted / true scatter")
    print(f"{'':28}   best rand    {'best':>5} {'rand':>5}")
    for cell in CELLS:
        if mine := [row for row in rows if row["cell"] == str(cell)]:
            print(line(str(cell), mine))
    for word in (*PLANS, *CURVES, *(f"{scatter:g}" for scatter in SCATTERS)):
        if mine := [row for row in rows if word in row["cell"].split()]:
            print(line(f"all {word}", mine))
    print(line("all", rows))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    chosen = parser.parse_args(arguments)
    kept = chosen.file.read_text().splitlines() if chosen.file and chosen.file.exists() else []
    known = {(row["cell"], row["seed"]): row for row in map(json.loads, kept)}
    seeds = range(chosen.seed, chosen.seed + chosen.runs)
    tasks = list(product(wanted(chosen.only), seeds))
    left = [(cell, seed) for cell, seed in tasks if (str(cell), seed) not in known]
    for row in results(left, chosen.workers):
        known[row["cell"], row["seed"]] = row
        if chosen.file:
            with chosen.file.open("a") as file:
                file.write(json.dumps(row) + "\n")
    table([known[str(cell), seed] for cell, seed in tasks])


if __name__ == "__main__":
    main()
