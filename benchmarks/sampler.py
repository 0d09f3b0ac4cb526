"""What a suggestion costs: RobustSampler beside Optuna's GPSampler, in one run.

    python benchmarks/sampler.py [--trials 50] [--dimensions 2 3] [--repeats 3] [--methods rkg]

One thread. Both samplers go through studies of the same objective, trial by trial in turn, so that
whatever else the machine does concerns both. Read the ratios: overhead per trial, the median over
those that a model suggests and over the last ten, and of the whole study. GPSampler is faster
where greenlet is installed, and says so where it is not.
"""

import argparse
import platform
import statistics
import time

import optuna
import torch

import meseta
from meseta.integrations.optuna import RobustSampler

WIDTH = 0.1  # of the Normal noise, in a box of 1
NUM_INITIAL = 10  # trials before the model takes over: GPSampler's default, for all of them


def objective(trial, dimension):
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(dimension)]
    return sum((each - 0.3 - 0.1 * i) ** 2 for i, each in enumerate(x))


def samplers(dimension, methods, seed):
    noise = {f"x{i}": meseta.Normal(WIDTH) for i in range(dimension)}
    return {
        "GPSampler": optuna.samplers.GPSampler(seed=seed, n_startup_trials=NUM_INITIAL),
        **{
            m: RobustSampler(noise=noise, method=m, seed=seed, num_initial=NUM_INITIAL)
            for m in methods
        },
    }


def measure(dimension, trials, methods, seed):
    """Seconds of each trial, by sampler; the objective itself takes microseconds."""
    studies = {
        name: optuna.create_study(sampler=sampler)
        for name, sampler in samplers(dimension, methods, seed).items()
    }
    seconds = {name: [] for name in studies}
    for _ in range(trials):
        for name, study in studies.items():
            start = time.perf_counter()
            study.optimize(lambda trial: objective(trial, dimension), n_trials=1)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def report(dimension, runs):
    """A line for each sampler: milliseconds, and the ratio to GPSampler."""
    lines = []
    rival = None
    for name in runs[0]:
        every = [s for run in runs for s in run[name][NUM_INITIAL:] or run[name]]
        last = [s for run in runs for s in run[name][-10:]]
        total = statistics.median(sum(run[name]) for run in runs)
        figures = statistics.median(every), statistics.median(last), total
        rival = rival or figures
        line = f"{dimension:>3} {name:>12} |"
        for figure, other in zip(figures, rival, strict=True):
            line += f" {1e3 * figure:9.1f} ({figure / other:5.2f} x)"
        lines.append(line)
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=["rkg", "nes-ep", "uu-ei"])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"optuna {optuna.__version__}, one thread, milliseconds (ratio to GPSampler)\n"
    )
    print(f"{'d':>3} {'sampler':>12} | {'per trial':>19} {'of the last 10':>19} {'study':>19}")
    for dimension in options.dimensions:
        runs = [
            measure(dimension, options.trials, options.methods, seed)
            for seed in range(options.repeats)
        ]
        print(report(dimension, runs), flush=True)


if __name__ == "__main__":
    main()
