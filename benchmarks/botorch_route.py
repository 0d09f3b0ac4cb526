"""How far BoTorch's robust route gets with as many evaluations as ours: regret on Hartmann-3.

    python benchmarks/botorch_route.py [--runs 5] [--evaluations 40] [--copies 16]

The route is that of BoTorch's tutorial on risk-averse optimization with the expectation as its risk
measure: a model that sees perturbed copies of every point (InputPerturbation), and qLogNEI of their
mean, by optimize_acqf with 10 restarts and 256 raw samples. Both share the model, its fit, the
initial points, the noise of the observations, and the recommendation: the argmax of the exact
posterior mean of g. So what differs is which points are evaluated.
"""

import argparse
import math
import statistics
import time
import warnings

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.acquisition.risk_measures import Expectation
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.models.transforms.input import InputPerturbation
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_normal_samples

from meseta.integrations.botorch import (
    RobustPosterior,
    fit_surrogate,
    recommend,
    suggest,
    to_botorch,
)
from meseta.problems import get
from meseta.space.sobol import sobol_sequence
from meseta.space.space import Space

PROBLEM = get("hartmann3")
SHOWN = (20, 30, 40, 60, 80, 100)


def botorch_point(X, y, bounds, seed, copies):
    """What BoTorch's route evaluates next."""
    model = to_botorch(fit_surrogate(X, y, bounds, PROBLEM.noise)[0])
    perturbations = math.sqrt(float(PROBLEM.noise.covariance_matrix[0, 0])) * (
        draw_sobol_normal_samples(X.shape[1], copies, dtype=X.dtype, seed=seed)
    )
    perturbed = SingleTaskGP(
        X,
        y[:, None],
        likelihood=model.likelihood,
        covar_module=model.covar_module,  # of the unit cube, which is the box of the problem
        mean_module=model.mean_module,
        input_transform=InputPerturbation(perturbations),
        outcome_transform=Standardize(1),
    )
    perturbed.eval()
    acquisition = qLogNoisyExpectedImprovement(
        perturbed, X, objective=Expectation(copies), prune_baseline=True
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # optimize_acqf draws from the global stream
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=256)
    return x[0]


def our_point(X, y, bounds, seed, copies):
    return suggest(X, y, bounds, PROBLEM.noise, method="rkg", seed=seed)[0]


def run(choose, seed, evaluations, copies):
    """Regrets after each number of evaluations in SHOWN, and the seconds of a step."""
    bounds = Space(PROBLEM.space).bounds
    X = sobol_sequence(bounds, 0, PROBLEM.num_initial, seed)
    generator = torch.Generator().manual_seed(seed)
    y = observed(X, generator)
    regrets, seconds = {}, []
    while len(X) < evaluations:
        begin = time.perf_counter()
        x = choose(X, y, bounds, seed, copies)
        seconds.append(time.perf_counter() - begin)
        X, y = torch.cat([X, x[None]]), torch.cat([y, observed(x[None], generator)])
        if len(X) in SHOWN:
            regrets[len(X)] = regret(X, y, bounds)
    return regrets, statistics.median(seconds)


def observed(X, generator):
    eps = torch.randn(len(X), dtype=torch.double, generator=generator)
    return torch.as_tensor(PROBLEM.f(X.numpy())) + math.sqrt(PROBLEM.noise_variance) * eps


def regret(X, y, bounds):
    model, _ = fit_surrogate(X, y, bounds, PROBLEM.noise)
    best = recommend(RobustPosterior.from_model(model, PROBLEM.noise, bounds), bounds)
    return PROBLEM.g_star - float(PROBLEM.g(best.x[None].numpy())[0])


def main(arguments=None):
    parser = argparse.ArgumentParser(description="BoTorch's robust route beside ours.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--copies", type=int, default=16)
    told = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    ways = {"rkg": our_point, f"BoTorch, {told.copies} copies": botorch_point}
    found = {name: [] for name in ways}
    for seed in range(told.runs):
        for name, choose in ways.items():
            regrets, seconds = run(choose, seed, told.evaluations, told.copies)
            found[name].append((regrets, seconds))
            told_so_far = "".join(f"{value:10.1e}" for value in regrets.values())
            print(f"run {seed}, {name:24}{told_so_far}  {seconds:10.2f}", flush=True)
    shown = [n for n in SHOWN if n <= told.evaluations]
    print(f"{PROBLEM.name}, {told.runs} runs: median regret after so many evaluations")
    print(f"{'':24}" + "".join(f"{n:>10}" for n in shown) + "    s / step")
    for name, runs in found.items():
        medians = [statistics.median(regrets[n] for regrets, _ in runs) for n in shown]
        seconds = statistics.median(seconds for _, seconds in runs)
        print(f"{name:24}" + "".join(f"{m:10.1e}" for m in medians) + f"  {seconds:10.2f}")


if __name__ == "__main__":
    main()
