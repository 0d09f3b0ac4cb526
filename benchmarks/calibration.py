"""How often 95 % intervals hold the truth on functions drawn from known Gaussian processes.

    python benchmarks/calibration.py run results.jsonl [--draws 20] [--kernels se matern52]
        [--dimensions 1 2 3 4] [--numbers 12 25 50] [--noises 0 0.1 0.3] [--measures mean cvar]
        [--unseen]
    python benchmarks/calibration.py table results.jsonl

A draw is a function of a process whose hyper-parameters are drawn as well; its values at random
designs are told, with noise of so many standard deviations of f, and each measure is promised at a
random design and at the recommended one. The truth is drawn last: f at many places around the
design, jointly, given its values at the designs (which the noise of the values hides), with the
hyper-parameters of the process. What is in the file is not run again.
"""

import argparse
import copy
import itertools
import json
import time
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.quasirandom import SobolEngine

import meseta
from meseta.measures import CVaR, Mean, OnTarget, Quantile, Yield

WIDTH = 0.06  # standard deviation of the input noise
PLACES, MANY = 512, 2**13  # around a design: that are drawn, and that are counted
RIDGE = 1e-13


def measures(y):
    """Each measure, with limits that the values make neither sure nor impossible."""
    return {
        "mean": Mean(),
        "cvar": CVaR(0.1),
        "quantile": Quantile(0.1),
        "yield": Yield(low=float(np.quantile(y, 0.6))),
        "target": OnTarget(float(np.quantile(y, 0.7))),
    }


def correlation(kernel, delta):
    """Of one dimension, by the distance in lengthscales."""
    if kernel == "se":
        return (-0.5 * delta.square()).exp()
    r = 5**0.5 * delta.abs()
    return (1 + r + r.square() / 3) * (-r).exp()


class Process:
    """A function drawn from a process, as far as it was looked at: exact, place by place."""

    def __init__(self, kernel, d, generator):
        spread = torch.randn(d, generator=generator, dtype=torch.double)
        self.kernel = kernel
        self.lengthscale = 0.3 * d**0.5 * (0.4 * spread).exp()
        self.x = torch.empty(0, d, dtype=torch.double)
        self.f = torch.empty(0, dtype=torch.double)
        self.generator = generator

    def k(self, a, b):
        return correlation(self.kernel, (a[:, None] - b) / self.lengthscale).prod(-1)

    def solve(self, K, sides):
        """By the directions that are more than rounding."""
        values, vectors = torch.linalg.eigh(K)
        values = values.clamp_min(RIDGE * float(values[-1]) if len(values) else 0.0)
        return vectors @ ((vectors.T @ sides) / values[:, None])

    def look(self, x):
        """f at further places, which it has from then on."""
        k = self.k(self.x, x)
        solved = self.solve(self.k(self.x, self.x), torch.cat([k, self.f[:, None]], dim=-1))
        values, vectors = torch.linalg.eigh(self.k(x, x) - k.T @ solved[:, :-1])
        normal = torch.randn(len(x), generator=self.generator, dtype=torch.double)
        f = k.T @ solved[:, -1] + (vectors * values.clamp_min(0).sqrt()) @ normal
        self.x, self.f = torch.cat([self.x, x]), torch.cat([self.f, f])
        return f

    def at(self, x):
        """The mean of f given all that was looked at: f itself, where that is dense."""
        solved = self.solve(self.k(self.x, self.x), self.f[:, None])
        return torch.cat([(self.k(some, self.x) @ solved)[:, 0] for some in x.split(2048)])


def truth(process, measure, x):
    unit = SobolEngine(len(x), scramble=True, seed=1).draw(MANY, dtype=torch.double)
    z = x + WIDTH * torch.special.ndtri(unit.clamp(1e-9, 1 - 1e-9))
    known = copy.copy(process)
    known.look(z[:PLACES])
    values = known.at(z)
    weights = torch.full((len(z),), 1 / len(z), dtype=torch.double)
    return measure.raw(float(measure.in_units(0.0, 1.0).exactly(values, weights)), 0.0, 1.0)


def run(kernel, d, n, noise, unseen, number, wanted):
    seed = zlib.crc32(f"{kernel} {d} {n} {noise} {unseen} {number}".encode())
    generator = torch.Generator().manual_seed(seed)
    process = Process(kernel, d, generator)
    X = torch.rand(n, d, generator=generator, dtype=torch.double)
    Z = X + WIDTH * torch.randn(n, d, generator=generator, dtype=torch.double) if unseen else X
    y = process.look(Z) + noise * torch.randn(n, generator=generator, dtype=torch.double)
    somewhere = torch.rand(d, generator=generator, dtype=torch.double)
    names = [f"x{i}" for i in range(d)]
    found = {}
    for name, measure in measures(y.numpy()).items():
        if name not in wanted:
            continue
        optimizer = meseta.Optimizer(
            dict.fromkeys(names, (0.0, 1.0)),
            noise={each: meseta.Normal(WIDTH) for each in names},
            direction=measure.direction or "maximize",
            measure=measure,
            executed="unseen" if unseen else "known",
            seed=number,
        )
        for row, value in zip(X.tolist(), y.tolist(), strict=True):
            optimizer.tell(dict(zip(names, row, strict=True)), value)
        begin = time.perf_counter()
        best = optimizer.recommend()
        seconds = time.perf_counter() - begin
        at_random = optimizer.promise(dict(zip(names, somewhere.tolist(), strict=True)))
        for where, each in (("recommended", best), ("random", at_random)):
            x = torch.tensor([each.params[key] for key in names], dtype=torch.double)
            low, high = each.interval
            value = truth(process, measure, x)
            held = bool(low - 1e-9 <= value <= high + 1e-9)
            width = (high - low) / max(float(y.std()), 1e-12)
            found[f"{name} {where}"] = [held, width, (value - each.mean) / max(each.std, 1e-12)]
        found[f"{name} seconds"] = seconds
    return found


def play(options):
    path = Path(options.file)
    known = set()
    if path.exists():
        known = {tuple(json.loads(line)["cell"]) for line in path.read_text().splitlines()}
    grid = itertools.product(
        range(options.draws),
        options.kernels,
        options.dimensions,
        options.numbers,
        options.noises,
    )
    for number, kernel, d, n, noise in grid:
        cell = (kernel, d, n, noise, options.unseen, number)
        if cell not in known:
            made = {"cell": cell, "found": run(*cell, options.measures)}
            with path.open("a") as file:
                file.write(json.dumps(made) + "\n")


def table(options):
    rows = {}
    for name in options.files:
        for line in Path(name).read_text().splitlines():
            made = json.loads(line)
            kernel, d, n, noise, unseen, _ = made["cell"]
            for key, value in made["found"].items():
                if key.endswith("seconds"):
                    continue
                measure, where = key.split()
                margins = [("all", ""), ("kernel", kernel), ("d", d), ("n", n), ("noise", noise)]
                margins += [("executed", "unseen" if unseen else "known"), ("measure", measure)]
                for margin in margins:
                    rows.setdefault((margin, where), []).append(value)
    print("| by | | design | draws | held | width | |error| / std |")
    print("|---|---|---|---|---|---|---|")
    for ((by, which), where), each in sorted(rows.items(), key=str):
        held = 100 * np.mean([one[0] for one in each])
        width, off = (np.median([abs(one[i]) for one in each]) for i in (1, 2))
        print(
            f"| {by} | {which} | {where} | {len(each)} | {held:.1f} % | {width:.3f} | {off:.2f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("file")
    one.add_argument("--draws", type=int, default=20)
    one.add_argument("--kernels", nargs="+", default=["se", "matern52"])
    one.add_argument("--dimensions", nargs="+", type=int, default=[1, 2, 3, 4])
    one.add_argument("--numbers", nargs="+", type=int, default=[12, 25, 50])
    one.add_argument("--noises", nargs="+", type=float, default=[0.0, 0.1, 0.3])
    every = ["mean", "cvar", "quantile", "yield", "target"]
    one.add_argument("--measures", nargs="+", default=every)
    one.add_argument("--unseen", action="store_true")
    one.set_defaults(play=play)
    two = commands.add_parser("table")
    two.add_argument("files", nargs="+")
    two.set_defaults(play=table)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.play(options)


if __name__ == "__main__":
    main()
