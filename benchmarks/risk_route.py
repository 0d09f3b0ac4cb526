"""BoTorch's risk measures beside ours, with the same model and the same recommendation.

    python benchmarks/risk_route.py [--problems gmm] [--measure "cvar 0.1"] [--runs 5]
        [--evaluations 35] [--copies 16]

BoTorch's route is that of its tutorial: a model that sees perturbed copies of every point
(InputPerturbation), and qLogNEI of their CVaR or VaR, by optimize_acqf with 10 restarts and 256 raw
samples. Both share the fit (squared exponential), the initial points, the noise of the observations
and the recommendation, so that what differs is which points are evaluated. Regrets are exact: the
measure of the problem's own f, by 2^14 draws.
"""

import argparse
import math
import statistics
import time
import warnings

import numpy as np
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.acquisition.risk_measures import CVaR as BoTorchCVaR
from botorch.acquisition.risk_measures import VaR
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.models.transforms.input import InputPerturbation
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_normal_samples
from scipy.optimize import minimize
from scipy.stats import norm, qmc

from meseta import CVaR, Optimizer
from meseta.integrations.botorch import to_botorch
from meseta.measures import read_measure
from meseta.problems import get

DRAWS = 14


class Truth:
    """The measure of a problem's f, to be maximised, and its optimum."""

    def __init__(self, problem, measure):
        self.problem, self.measure = problem, measure
        self.sign = 1 if problem.direction == "maximize" else -1
        self.low, self.high = problem.bounds
        width = problem.law.covariance_matrix.diagonal().sqrt().numpy()
        unit = qmc.Sobol(problem.dimension, seed=3).random_base2(DRAWS)
        self.xi = width * norm.ppf(unit.clip(1e-9, 1 - 1e-9))
        starts = self.low + (self.high - self.low) * qmc.Sobol(
            problem.dimension, seed=1
        ).random_base2(9)
        rough = np.array([self(x, 512) for x in starts])
        ends = [
            minimize(
                lambda x: -self(np.clip(x, self.low, self.high), 2**12),
                starts[i],
                method="Nelder-Mead",
                options={"maxfev": 200 * problem.dimension, "xatol": 1e-5, "fatol": 1e-9},
            ).x
            for i in np.argsort(-rough)[:5]
        ]
        self.best = max(self(np.clip(x, self.low, self.high)) for x in ends)

    def __call__(self, x, num=2**DRAWS):
        values = torch.tensor(self.sign * self.problem.f(x + self.xi[:num]))
        return float(self.measure.exactly(values, torch.full_like(values, 1 / num)))


def optimizer(problem, measure, seed):
    return Optimizer(
        problem.space,
        noise=problem.noise_by_name,
        direction=problem.direction,
        measure=measure,
        kernel="se",
        verify=0,
        seed=seed,
        num_initial=problem.num_initial,
    )


def botorch_point(ours, problem, measure, copies, seed):
    """What BoTorch's route evaluates next, in the unit cube."""
    fitted = ours.fitted
    model, core = to_botorch(fitted.surrogate), fitted.core
    low, high = problem.bounds
    width = problem.law.covariance_matrix.diagonal().sqrt().numpy()
    perturbations = torch.tensor(width / (high - low)) * draw_sobol_normal_samples(
        problem.dimension, copies, dtype=torch.double, seed=seed
    )
    perturbed = SingleTaskGP(
        core.X,
        core.y[:, None],
        likelihood=model.likelihood,
        covar_module=model.covar_module,
        mean_module=model.mean_module,
        input_transform=InputPerturbation(perturbations),
        outcome_transform=Standardize(1),
    )
    perturbed.eval()
    kind = BoTorchCVaR if isinstance(measure, CVaR) else VaR
    acquisition = qLogNoisyExpectedImprovement(
        perturbed, core.X, objective=kind(1 - measure.share, copies), prune_baseline=True
    )
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, problem.dimension)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=256)
    return ours.space.from_cube(x[0])


def run(way, problem, measure, truth, seed, evaluations, copies):
    """Regrets after half and all of the evaluations, and the median seconds of a step."""
    ours = optimizer(problem, measure, seed)
    rng = np.random.default_rng(seed)
    regrets, seconds = [], []
    for number in range(1, evaluations + 1):
        begin = time.perf_counter()
        early = number <= problem.num_initial
        if way == "rkg" or early:
            params = ours.ask()
        else:
            params = botorch_point(ours, problem, measure, copies, seed + number)
        if not early:
            seconds.append(time.perf_counter() - begin)
        x = [[params[name] for name in problem.names]]
        eps = math.sqrt(problem.noise_variance) * rng.standard_normal()
        ours.tell(params, float(problem.f(x)[0] + eps))
        if number in (evaluations // 2, evaluations):
            best = ours.recommend().params
            regrets.append(truth.best - truth(np.array([best[name] for name in problem.names])))
    return regrets, statistics.median(seconds)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="BoTorch's risk measures beside ours.")
    parser.add_argument("--problems", nargs="+", default=["sin-linear", "gmm", "hartmann3"])
    parser.add_argument("--measure", default="cvar 0.1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=35)
    parser.add_argument("--copies", type=int, default=16)
    told = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    measure = read_measure(told.measure)
    print(f"{measure}: median regret after half and all evaluations, seconds per step")
    for name in told.problems:
        problem = get(name)
        truth = Truth(problem, measure)
        for way in ("rkg", f"BoTorch, {told.copies} copies"):
            found = [
                run(way, problem, measure, truth, seed, told.evaluations, told.copies)
                for seed in range(told.runs)
            ]
            half, end = (statistics.median(r[i] for r, _ in found) for i in (0, 1))
            seconds = statistics.median(s for _, s in found)
            print(f"{name:12} {way:20} {half:9.1e} {end:9.1e} {seconds:8.2f}", flush=True)


if __name__ == "__main__":
    main()
