"""What one iteration costs: NES-EP and rKG beside BoTorch's LogEI and its robust route, in one run.

    python benchmarks/step.py [--sizes 20,1 30,3] [--repeats 7]

One thread, medians over the repeats, milliseconds. Read the ratios: absolute figures depend on the
machine and on what else it does. The data are the paper's: Sin + Linear, Hartmann-3, Hartmann-6.
All routes share them and the fitted model. LogEI and the
robust route (qLogNEI with InputPerturbation and Expectation, 16 and 64 Sobol perturbations) are
maximised by BoTorch's optimize_acqf with 10 restarts and 256 raw samples.
"""

import argparse
import math
import platform
import resource
import statistics
import time
import warnings
from functools import partial

import botorch
import torch
from botorch.acquisition import LogExpectedImprovement, qLogNoisyExpectedImprovement
from botorch.acquisition.risk_measures import Expectation
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.models.transforms.input import InputPerturbation
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from botorch.utils.sampling import draw_sobol_normal_samples

from meseta import Normal
from meseta.acquisition.argmax import maximize_acquisition
from meseta.acquisition.given_max import given_max
from meseta.gp.maxima import MaximaOptions, maximize_paths, percentile_values
from meseta.gp.paths import sample_paths
from meseta.integrations.botorch import (
    NoisyInputEntropySearch,
    RobustPosterior,
    fit_surrogate,
    suggest,
    to_botorch,
)

SIZES = [(20, 1), (30, 3), (100, 3), (100, 6), (1000, 6)]
NOISE = {1: 0.05, 3: 0.1, 6: 0.1}  # standard deviation of the input noise, as in the paper


def problem(n, d):
    """The paper's problem of that dimension, with its observation noise variance of 1e-6."""
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(n, d, dtype=torch.double, generator=generator)
    if d == 1:
        y = torch.sin(5 * math.pi * X[:, 0] ** 2) + 0.5 * X[:, 0]
    else:
        y = Hartmann(dim=d, negate=True)(X)
    return X, y + 1e-3 * torch.randn(n, dtype=torch.double, generator=generator)


class Stopwatch:
    """Medians of named parts over repeats."""

    def __init__(self):
        self.seconds = {}

    def __call__(self, name, part):
        start = time.perf_counter()
        result = part()
        self.seconds.setdefault(name, []).append(time.perf_counter() - start)
        return result

    def milliseconds(self, name):
        return 1e3 * statistics.median(self.seconds[name])


def nes_step(clock, model, bounds, seed):
    """The parts of NoisyInputEntropySearch and of its maximisation, one by one."""
    generator, law = torch.Generator().manual_seed(seed), Normal(NOISE[bounds.shape[1]])
    robust = clock("posterior", lambda: RobustPosterior.from_model(model, law))
    usual = MaximaOptions()
    paths = clock(
        "paths",
        lambda: sample_paths(robust.core, usual.num_paths, usual.num_features, generator),
    )
    box = robust.units.x_to_model(bounds)
    maxima = clock("maxima", lambda: maximize_paths(paths, box, generator))
    g_star = percentile_values(maxima.value, 1)
    clock("EP", lambda: given_max(robust.core, g_star))
    values = robust.units.y_to_raw(g_star)
    acquisition = NoisyInputEntropySearch(model, law, bounds, max_values=values)
    value, scale = acquisition.prepared.value, robust.core.kernel.kernel.lengthscale
    clock("maximise", lambda: maximize_acquisition(value, box, generator, maxima.x, scale))
    raw = torch.rand(256, 1, bounds.shape[1], dtype=torch.double, generator=generator)
    with torch.no_grad():
        clock("256 values", lambda: acquisition(raw))


def rkg_step(model, X, y, bounds, seed):
    law = Normal(NOISE[bounds.shape[1]])
    return suggest(X, y, bounds, law, method="rkg", seed=seed, fitted=(model, None))


def optimise(acquisition, bounds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=256)


def log_ei(model, y, bounds):
    return optimise(LogExpectedImprovement(model, best_f=y.max()), bounds)


def robust_route(model, X, y, bounds, num_perturbations):
    d = X.shape[1]
    perturbations = NOISE[d] * draw_sobol_normal_samples(
        d, num_perturbations, dtype=X.dtype, seed=0
    )
    perturbed = SingleTaskGP(
        X,
        y[:, None],
        likelihood=model.likelihood,
        covar_module=model.covar_module,
        mean_module=model.mean_module,
        input_transform=InputPerturbation(perturbations),
        outcome_transform=Standardize(1),
    ).eval()
    acquisition = qLogNoisyExpectedImprovement(
        perturbed, X, objective=Expectation(num_perturbations), prune_baseline=True
    )
    return optimise(acquisition, bounds)


def measure(n, d, repeats):
    X, y = problem(n, d)
    bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()
    clock = Stopwatch()
    surrogate, _ = fit_surrogate(X, y, bounds)
    model = to_botorch(surrogate)
    for seed in range(repeats):
        torch.manual_seed(seed)
        clock("fit", lambda: fit_surrogate(X, y, bounds))
        nes_step(clock, surrogate, bounds, seed)
        clock("rKG", partial(rkg_step, surrogate, X, y, bounds, seed))
        clock("LogEI", lambda: log_ei(model, y, bounds))
        if n <= 100:
            clock("robust 16", lambda: robust_route(model, X, y, bounds, 16))
    if n <= 100:
        clock("robust 64", lambda: robust_route(model, X, y, bounds, 64))
    return clock


PARTS = ("posterior", "paths", "maxima", "EP", "maximise")


def report(n, d, clock):
    ms = clock.milliseconds
    step = sum(ms(part) for part in PARTS)
    iteration, rival = ms("fit") + step, ms("fit") + ms("LogEI")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = f"{f'({n},{d})':>9} {ms('fit'):8.0f} |"
    line += "".join(f" {ms(part):9.1f}" for part in PARTS)
    line += f" {step:8.0f} | {ms('rKG'):7.0f} | {ms('LogEI'):7.0f} |"
    line += f" {iteration:9.0f} {iteration / rival:8.2f} |"
    for copies in (16, 64):
        if f"robust {copies}" in clock.seconds:
            robust = ms(f"robust {copies}")
            line += f" {robust:7.0f} ({robust / step:5.1f} x)"
        else:
            line += f" {'-':>17}"
    return f"{line} | {ms('256 values'):8.1f} | {peak:5.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", default=[f"{n},{d}" for n, d in SIZES])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"botorch {botorch.__version__}, one thread, milliseconds\n"
    )
    print(
        f"{'(n,d)':>9} {'fit':>8} |"
        + "".join(f" {part:>9}" for part in PARTS)
        + f" {'step':>8} | {'rKG':>7} | {'LogEI':>7} | {'iteration':>9} {'/ LogEI':>8} |"
        + f" {'robust 16':>17} {'robust 64':>17} | {'256 val.':>8} | {'GiB':>5}"
    )
    for size in options.sizes:
        n, d = (int(part) for part in size.split(","))
        repeats = options.repeats if n <= 100 else 1
        print(report(n, d, measure(n, d, repeats)), flush=True)
    print(
        "\nstep: NES-EP without the fit; rKG: the same for rkg; iteration: fit and step, its ratio "
        "to fit\nand LogEI; robust 16, 64: BoTorch's robust step with that many copies, and how "
        "many of our\nsteps it is; 256 val.: the acquisition at 256 points; GiB: peak memory."
    )


if __name__ == "__main__":
    main()
