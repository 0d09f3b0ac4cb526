"""How exact smoothings are, over random widths and lengthscales, and what they cost.

    python benchmarks/smoothing.py [--cases 40]

For every law and edge: the largest error of Cov[g(x), f(x')] / Var f against brute force, over
random widths (1e-4 to 10 ranges) and lengthscales (0.01 to 3 ranges); and how long it takes, in the
median and at most, to make the covariance of g with 100 data a function of x, anew for each case.
Brute force: slices of the law whose masses are scipy's, where the kernel lives. Joint laws: in two
dimensions, against all rows, or slices along the line. Cases that are refused count as such.
"""

import argparse
import math
import statistics
import time
import warnings

import numpy as np
import torch
from scipy import stats

import meseta
from meseta.kernels import StationaryKernel, smooth
from meseta.noise import Placed, from_scipy

DRAWS = np.random.default_rng(0).normal(size=200)
TABLE = np.random.default_rng(1).normal(size=(200, 2))
LAWS = {
    "Laplace": lambda w: (meseta.Laplace(w), stats.laplace(scale=w)),
    "StudentT(2.5)": lambda w: (meseta.StudentT(2.5, w), stats.t(2.5, scale=w)),
    "StudentT(5)": lambda w: (meseta.StudentT(5, w), stats.t(5, scale=w)),
    "Triangular": lambda w: (meseta.Triangular(w), stats.triang(0.5, -w, 2 * w)),
    "TruncatedNormal": lambda w: (
        meseta.TruncatedNormal(w, -w / 2, 2 * w),
        stats.truncnorm(-0.5, 2, scale=w),
    ),
    "scipy gamma": lambda w: (from_scipy(stats.gamma(2, scale=w)), stats.gamma(2, scale=w)),
    "scipy johnsonsu": lambda w: (
        from_scipy(stats.johnsonsu(0.5, 1.2, scale=w)),
        stats.johnsonsu(0.5, 1.2, scale=w),
    ),
    "Empirical": lambda w: (meseta.Empirical(w * DRAWS), w * DRAWS),
    "Normal": lambda w: (meseta.Normal(w), stats.norm(scale=w)),
}
CASES = [
    *((name, "allow") for name in LAWS),
    *((name, edge) for name in ("Normal", "StudentT(2.5)") for edge in ("clip", "truncate")),
    ("Normal", "reflect"),
]
JOINT = ["Shared(Laplace)", "Shared(StudentT(2.5))", "joint Empirical", "correlated + Uniform"]


def slices(twin, x, other, lengthscale, edge):
    """Places and masses of z(x) within nine lengthscales of `other`."""
    if isinstance(twin, np.ndarray):
        return x + twin, np.full(len(twin), 1 / len(twin))
    low, high = other - 9 * lengthscale, other + 9 * lengthscale
    if edge != "allow":
        low, high = max(low, 0.0), min(high, 1.0)
    lived = x + twin.ppf(np.linspace(1e-9, 1 - 1e-9, 4001))
    if edge == "reflect":
        lived = np.abs((lived + 1) % 2 - 1)
    ends = np.unique(np.clip(np.concatenate([np.linspace(low, high, 20_001), lived]), low, high))
    z = (ends[1:] + ends[:-1]) / 2
    images = [ends]
    if edge == "reflect":
        images = [image + 2 * k for k in range(-60, 61) for image in (ends, -ends)]
    masses = sum(np.abs(np.diff(twin.cdf(image - x))) for image in images)
    if edge == "truncate":
        masses = masses / (twin.cdf(1 - x) - twin.cdf(-x))
    if edge == "clip":
        z = np.concatenate([[0.0], z, [1.0]])
        masses = np.concatenate([[twin.cdf(-x)], masses, [twin.sf(1 - x)]])
    return z, masses


def kernel_of(lengthscale, d):
    return StationaryKernel(
        torch.tensor(1.0, dtype=torch.double),
        ("se",) * d,
        torch.full((d,), lengthscale, dtype=torch.double),
    )


def tabulated(law, lengthscale, d):
    """k_gf with 100 data as a function, and the seconds that took."""
    data = torch.rand(100, d, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    start = time.perf_counter()
    span = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, d)
    smoothed = smooth(kernel_of(lengthscale, d), law, span)
    smoothed.gf_with(data)(data[:1])
    return smoothed, time.perf_counter() - start


def alone(name, edge, rng):
    width, lengthscale = 10 ** rng.uniform(-4, 1), 10 ** rng.uniform(-2, 0.5)
    law, twin = LAWS[name](width)
    placed = law if edge == "allow" else Placed(law, "shift", 0.0, 1.0, edge)
    smoothed, seconds = tabulated(placed, lengthscale, 1)
    worst = 0.0
    for x, other in rng.uniform(size=(4, 2)):
        z, masses = slices(twin, x, other, lengthscale, edge)
        exact = masses @ np.exp(-0.5 * ((z - other) / lengthscale) ** 2)
        at, b = (torch.tensor([[v]], dtype=torch.double) for v in (x, other))
        worst = max(worst, abs(float(smoothed.k_gf(at, b)) - exact))
    return worst, seconds


def together(name, rng):
    width, lengthscale = 10 ** rng.uniform(-3, 0.3), 10 ** rng.uniform(-1.3, 0.5)
    A, B = rng.uniform(size=(2, 4, 2))
    if name == "joint Empirical":
        law, twin, direction = meseta.Empirical(width * TABLE), width * TABLE, None
    elif name == "correlated + Uniform":
        covariance = width**2 * np.array([[1.0, 0.8], [0.8, 1.0]])
        part = meseta.Normal(covariance=covariance.tolist())
        own = meseta.noise.Independent([meseta.Uniform(width), meseta.Normal(0.0)])
        law = meseta.noise.Joint(own, [((0, 1), part)])
        twin, direction = stats.uniform(-width, 2 * width), np.array([1.0, 0.0])
    else:
        family = "Laplace" if "Laplace" in name else "StudentT(2.5)"
        scalar, twin = LAWS[family](width)
        law, direction = meseta.Shared(scalar, loads=[1.0, -0.5]), np.array([1.0, -0.5])
    smoothed, seconds = tabulated(law, lengthscale, 2)
    found = smoothed.k_gf(torch.from_numpy(A), torch.from_numpy(B)).diagonal().numpy()
    metric = np.eye(2) * lengthscale**2
    if name == "correlated + Uniform":
        metric = metric + covariance
    front = lengthscale**2 / math.sqrt(np.linalg.det(metric))
    worst = 0.0
    for a, b, value in zip(A, B, found, strict=True):
        if direction is None:
            xi, masses = twin, np.full(len(twin), 1 / len(twin))
        else:
            # along the line the kernel is a bump around s0, of width 1 / sqrt(c' M^-1 c)
            inverse = np.linalg.inv(metric)
            curvature = direction @ inverse @ direction
            s0 = -(direction @ inverse @ (a - b)) / curvature
            s, masses = slices(twin, 0.0, s0, 1 / math.sqrt(curvature), "allow")
            xi = s[:, None] * direction
        delta = a - b + xi
        exact = front * masses @ np.exp(-0.5 * (delta @ np.linalg.inv(metric) * delta).sum(-1))
        worst = max(worst, abs(value - exact))
    return worst, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print("| law | edge | worst error | median ms | most ms | refused |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, edge in [*CASES, *((name, "joint") for name in JOINT)]:
        rng = np.random.default_rng(0)
        found, refused = [], 0
        for _ in range(options.cases):
            try:
                found.append(together(name, rng) if edge == "joint" else alone(name, edge, rng))
            except ValueError:
                refused += 1
        errors, seconds = zip(*found, strict=True)
        print(
            f"| {name} | {edge} | {max(errors):.0e} | {1e3 * statistics.median(seconds):.0f} "
            f"| {1e3 * max(seconds):.0f} | {refused} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
