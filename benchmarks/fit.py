"""The fit of the surrogate beside BoTorch's, and how often random starts find a higher hill.

    python benchmarks/fit.py [--repeats 5] [--fits 1000] [--starts 20]

Both fit the same Gaussian process with the same priors. BoTorch's is fit_gpytorch_mll from its
default start: one start, where ours has four.
"""

import argparse
import math
import statistics
import time
import warnings

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.constraints import Positive
from gpytorch.kernels import MaternKernel, ProductKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior

from meseta.gp import fit
from meseta.gp.log_posterior import LogPosterior, Noise
from meseta.integrations.botorch import fit_surrogate
from meseta.kernels.shapes import SHAPES

SIZES = [(20, 1), (30, 3), (100, 3), (100, 6), (1000, 6)]
KERNELS = fit.AUTO


def smooth_problem(n, d):
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(n, d, generator=generator, dtype=torch.double)
    y = torch.sin(5 * X).sum(-1) + 2 * X[:, 0]
    return X, y + 0.05 * torch.randn(n, generator=generator, dtype=torch.double)


def around(mode, spread):
    return LogNormalPrior(math.log(mode) + spread**2, spread)


def positive(start):
    return Positive(transform=torch.exp, inv_transform=torch.log, initial_value=start)


def botorch_fit(X, y, kernel):
    d = X.shape[1]
    centre = fit.LENGTHSCALE * math.sqrt(d)

    def factor(kind, **options):
        prior = around(centre, fit.LENGTHSCALE_SPREAD)
        return kind(lengthscale_prior=prior, lengthscale_constraint=positive(centre), **options)

    if kernel == "se":
        base = factor(RBFKernel, ard_num_dims=d)
    else:
        nu = SHAPES[kernel].nu
        base = ProductKernel(*(factor(MaternKernel, nu=nu, active_dims=(i,)) for i in range(d)))
    scaled = ScaleKernel(
        base,
        outputscale_prior=around(fit.VARIANCE, fit.VARIANCE_SPREAD),
        outputscale_constraint=positive(1.0),
    )
    likelihood = GaussianLikelihood(
        noise_prior=around(fit.NOISE_VARIANCE, fit.NOISE_SPREAD), noise_constraint=positive(1e-4)
    )
    model = SingleTaskGP(
        X,
        y[:, None],
        likelihood=likelihood,
        covar_module=scaled,
        input_transform=Normalize(d, bounds=torch.stack([torch.zeros(d), torch.ones(d)])),
        outcome_transform=Standardize(1),
    )
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_gpytorch_mll(mll)
        mll.train()
        return float(mll(model(*model.train_inputs), model.train_targets)) * len(y)


def timed(call, *arguments, **options):
    begun = time.perf_counter()
    result = call(*arguments, **options)
    return time.perf_counter() - begun, result


def compare(repeats):
    print("milliseconds of a fit, median; nats at its end\n")
    print(
        "| n, d | kernel | BoTorch | Meseta | ratio | nats |\n| --- | --- | --- | --- | --- | --- |"
    )
    for n, d in SIZES:
        X, y = smooth_problem(n, d)
        bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()
        for kernel in KERNELS[:2]:
            theirs, ours, values = [], [], []
            for _ in range(repeats if n < 1000 else 1):
                seconds, value = timed(botorch_fit, X, y, kernel)
                theirs.append(seconds)
                seconds, (_, info) = timed(fit_surrogate, X, y, bounds, kernel=kernel)
                ours.append(seconds)
                # of other numbers of values where n is large
                values = [value, info.log_posterior] if info.num_fitted == n else []
            a, b = 1e3 * statistics.median(theirs), 1e3 * statistics.median(ours)
            nats = ", ".join(f"{value:.3f}" for value in values)
            print(f"| {n}, {d} | {kernel} | {a:.1f} | {b:.1f} | {a / b:.1f} | {nats} |", flush=True)


def random_data(randomness):
    """Functions and designs as they come: smooth, kinks, cliffs, needles, clusters, noise."""
    d = int(randomness.integers(1, 7))
    n = int(randomness.integers(d + 3, 12 * d + 12))
    X = randomness.random((n, d))
    if randomness.random() < 0.4:  # half of them where a run ends
        X[: n // 2] = np.clip(X[0] + 0.05 * randomness.standard_normal((n // 2, d)), 0, 1)
    w = 6 * randomness.exponential(1, d)
    y = (
        lambda: np.sin(X @ w),
        lambda: np.sin(X * w).sum(1),
        lambda: np.abs(X - randomness.random(d)) @ w,
        lambda: (X[:, 0] > randomness.random()) + 0.3 * np.sin(X @ w),
        lambda: -((X - 0.6) ** 2) @ w + np.exp(-((X - 0.3) ** 2).sum(1) / 0.01),
    )[randomness.integers(5)]()
    scatter = randomness.choice([0, 1e-3, 0.03, 0.3])
    y = y + scatter * y.std() * randomness.standard_normal(n)
    return X, (y - y.mean()) / y.std(ddof=1)


def count_lower(num, num_starts):
    low = []
    for seed in range(num):
        randomness = np.random.default_rng(seed)
        X, y = random_data(randomness)
        d, kernel = X.shape[1], str(randomness.choice(KERNELS))
        bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()
        _, info = fit_surrogate(torch.tensor(X), torch.tensor(y), bounds, kernel=kernel)
        prior = fit._log_prior(d, bounds, None, "default", True)
        posterior = LogPosterior(X, y, SHAPES[kernel], prior, Noise.same(len(y), None))
        ends = [-4.0] * d + [-3.0, -18.0], [1.6] * d + [3.0, -0.7]
        starts = randomness.uniform(*ends, (num_starts, d + 2))
        best = max(fit._climb(posterior, start).value for start in starts)
        if info.log_posterior < best - 0.01:
            low.append((seed, d, len(y), kernel, best - info.log_posterior))
    print(
        f"\n{len(low)} of {num} fits end more than 0.01 nats below the best of {num_starts} starts"
    )
    for seed, d, n, kernel, nats in low:
        print(f"  seed {seed}: n = {n}, d = {d}, {kernel}, {nats:.2f} nats")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--starts", type=int, default=20)
    given = parser.parse_args()
    torch.set_num_threads(1)
    compare(given.repeats)
    count_lower(given.fits, given.starts)
