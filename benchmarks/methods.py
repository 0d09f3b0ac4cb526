"""What an iteration of every method costs, as in the paper's table of compute times.

    python benchmarks/methods.py [--functions 5] [--evaluations 30] [--methods nes-ep ei]

Within-model: functions drawn from a GP prior in one dimension, hyper-parameters known, three
initial points, up to 30 evaluations. One thread. Methods take turns, so that what else the machine
does hits all of them alike; read the ratios.
"""

import argparse
import platform
import statistics
import time

import botorch
import torch

from meseta import methods
from meseta.gp import RobustPosterior
from meseta.gp.known import known_surrogate
from meseta.problems import within_model
from meseta.recommend import recommend
from meseta.suggest import suggest

PRIOR = {"lengthscale": 0.05, "variance": 0.25}


class Run:
    """One method on one function: `step` does an iteration and records its seconds."""

    def __init__(self, method, seed):
        self.method, self.seed = method, seed
        self.problem = within_model(seed)
        self.bounds = torch.as_tensor(self.problem.bounds)
        self.random = torch.Generator().manual_seed(seed)
        self.X = torch.rand(3, 1, generator=self.random, dtype=torch.double)
        self.y = self.observe(self.X)
        self.suggesting, self.recommending = [], []

    def observe(self, x):
        noise = torch.randn(len(x), generator=self.random, dtype=torch.double)
        return torch.from_numpy(self.problem.f(x.numpy())) + 1e-3 * noise

    def step(self):
        model = known_surrogate(self.X, self.y, self.bounds, noise_variance=1e-6, **PRIOR)
        start = time.perf_counter()
        x, _ = suggest(
            self.X,
            self.y,
            self.bounds,
            self.problem.noise,
            method=self.method,
            seed=self.seed,
            fitted=(model, None),
        )
        middle = time.perf_counter()
        posterior = RobustPosterior.from_model(model, self.problem.noise)
        recommend(posterior, self.bounds, method=self.method)
        self.suggesting.append(middle - start)
        self.recommending.append(time.perf_counter() - middle)
        self.X, self.y = torch.cat([self.X, x[None]]), torch.cat([self.y, self.observe(x[None])])


def measure(names, num_functions, evaluations):
    """Mean seconds of suggesting and of recommending, per function, for each method."""
    means = {name: [] for name in names}
    for seed in range(num_functions):
        runs = [Run(name, seed) for name in names]
        for _ in range(evaluations - 3):
            for run in runs:
                run.step()
        for run in runs:
            means[run.method].append(
                (statistics.mean(run.suggesting), statistics.mean(run.recommending))
            )
    return means


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--methods", nargs="+", default=methods.names())
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"botorch {botorch.__version__}, one thread, milliseconds per iteration: mean (sd) over "
        f"{options.functions} functions\n"
    )
    Run("ei", 0).step()  # the first call of anything is slow
    means = measure(options.methods, options.functions, options.evaluations)
    baseline = [sum(pair) for pair in means.get("ei", [])]
    print(f"{'':16} {'suggest':>8} {'recommend':>10} {'iteration':>16} {'/ ei':>7}")
    for name, pairs in means.items():
        whole = [1e3 * sum(pair) for pair in pairs]
        suggesting = 1e3 * statistics.mean(pair[0] for pair in pairs)
        recommending = 1e3 * statistics.mean(pair[1] for pair in pairs)
        sd = statistics.stdev(whole) if len(whole) > 1 else 0.0
        ratio = statistics.mean(whole) / (1e3 * statistics.mean(baseline)) if baseline else 0.0
        print(
            f"{methods.get(name).title:16} {suggesting:8.1f} {recommending:10.1f} "
            f"{statistics.mean(whole):9.1f} ({sd:4.1f}) {ratio:7.2f}"
        )


if __name__ == "__main__":
    main()
