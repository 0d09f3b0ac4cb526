"""What a law of the input noise costs, and how exact it is: every law beside Normal noise.

    python benchmarks/noise.py [--n 100] [--d 3] [--repeats 7]

Step: NES-EP's suggestion, one thread; laws take turns, the fitted model is the same for all;
medians of milliseconds and of the ratio to Normal noise within a turn. "first" has the tables of a
law in it, which are kept. All laws have a standard deviation of about 0.1 of the box, in every
parameter.

Exactness, in one dimension (lengthscale 0.2): `sampled` is the largest deviation of the mean of
exp(i omega xi) over 100 000 samples from the characteristic function, in standard errors (around 3
is chance); `smoothing` the largest error of Cov[g(x), f(x')] / Var f against brute force, a sum
over 400 000 slices whose masses are scipy's. Joint laws: in three dimensions, lengthscale 0.35.
"""

import argparse
import statistics
import time

import numpy as np
import torch
from botorch.test_functions import Hartmann
from numpy.polynomial.hermite_e import hermegauss
from scipy import stats

import meseta
from meseta.integrations.botorch import fit_surrogate, suggest
from meseta.kernels import StationaryKernel, smooth
from meseta.space.named_noise import read_noise
from meseta.space.space import Space

SD = 0.1
SAMPLES = SD * np.random.default_rng(1).normal(size=200)
H_UNIFORM, H_TRIANGULAR = SD * 3**0.5, SD * 6**0.5
SHARES = (0.7, 0.3)

# law as a user writes it, its twin in scipy (or atoms), z(x, zeta) if it is not x + zeta, edge
NORMAL = stats.norm(scale=SD)
LAWS = {
    "Normal": (meseta.Normal(SD), NORMAL),
    "Normal, biased": (meseta.Normal(SD, mean=0.05), stats.norm(0.05, SD)),
    "Uniform": (meseta.Uniform(H_UNIFORM), stats.uniform(-H_UNIFORM, 2 * H_UNIFORM)),
    "Triangular": (
        meseta.Triangular(H_TRIANGULAR),
        stats.triang(0.5, -H_TRIANGULAR, 2 * H_TRIANGULAR),
    ),
    "Laplace": (meseta.Laplace(SD / 2**0.5), stats.laplace(scale=SD / 2**0.5)),
    "StudentT(5)": (meseta.StudentT(5, 0.0775), stats.t(5, scale=0.0775)),
    "TruncatedNormal": (
        meseta.TruncatedNormal(SD, -0.15, 0.15),
        stats.truncnorm(-1.5, 1.5, scale=SD),
    ),
    "Mixture": (
        meseta.Mixture([meseta.Normal(0.05), meseta.Uniform(0.3)], list(SHARES)),
        [stats.norm(scale=0.05), stats.uniform(-0.3, 0.6)],
    ),
    "Discrete": (meseta.Discrete([-0.1, 0.0, 0.1]), np.array([-0.1, 0.0, 0.1])),
    "Empirical": (meseta.Empirical(SAMPLES.tolist()), SAMPLES),
    "scipy gamma": (stats.gamma(4, loc=-0.2, scale=0.05), stats.gamma(4, loc=-0.2, scale=0.05)),
    "relative": (meseta.Normal(0.2, relative=True), stats.norm(scale=0.2)),
    "LogNormal": (meseta.LogNormal(0.2), stats.norm(scale=0.2)),
    "width(x)": (meseta.Normal(lambda x: 0.05 + 0.1 * x), stats.norm()),
    "Normal, clip": (meseta.Normal(SD), NORMAL),
    "Normal, reflect": (meseta.Normal(SD), NORMAL),
    "Normal, truncate": (meseta.Normal(SD), NORMAL),
}
PLACES = {
    "relative": lambda x, zeta: x * (1 + zeta),
    "LogNormal": lambda x, zeta: x * np.exp(zeta),
    "width(x)": lambda x, zeta: x + (0.05 + 0.1 * x) * zeta,
    "Normal, clip": lambda x, zeta: np.clip(x + zeta, 0.1, 1),
    "Normal, reflect": lambda x, zeta: 1 - np.abs(1 - np.abs(x + zeta - 0.1) - 0.1),
}
LOW, HIGH = 0.1, 1.0  # above 0, for the law of a factor


def edge_of(name):
    return (
        name.split(", ")[1] if name.split(", ")[-1] in ("clip", "reflect", "truncate") else "allow"
    )


def slices(twin):
    """Points and masses of a law, without any code of ours."""
    if isinstance(twin, np.ndarray):
        return twin, np.full(len(twin), 1 / len(twin))
    parts = twin if isinstance(twin, list) else [twin]
    low, high = min(t.ppf(1e-16) for t in parts), max(t.isf(1e-16) for t in parts)
    ends = np.linspace(max(low, -20), min(high, 20), 400_001)
    shares = SHARES if len(parts) > 1 else (1.0,)
    return (ends[1:] + ends[:-1]) / 2, sum(
        share * np.diff(part.cdf(ends)) for share, part in zip(shares, parts, strict=True)
    )


def smoothing_error(name):
    law, twin = LAWS[name]
    space = Space({"x": (LOW, HIGH)})
    read = read_noise({"x": law}, space, edge=edge_of(name))
    kernel = StationaryKernel(
        torch.tensor(1.0, dtype=torch.double), ("se",), torch.tensor([0.2], dtype=torch.double)
    )
    A = torch.linspace(LOW, HIGH, 9, dtype=torch.double)[:, None]
    B = torch.linspace(LOW - 0.2, HIGH + 0.2, 15, dtype=torch.double)[:, None]
    found = smooth(kernel, read, space.bounds).k_gf(A, B).numpy()
    zeta, masses = slices(twin)
    worst = 0.0
    for x, row in zip(A[:, 0].tolist(), found, strict=True):
        z, w = PLACES.get(name, np.add)(x, zeta), masses
        if edge_of(name) == "truncate":
            z, w = slices(stats.truncnorm((LOW - x) / SD, (HIGH - x) / SD, x, SD))
        brute = [
            (w * np.exp(-(((z - b) / 0.2) ** 2) / 2)).sum() / w.sum() for b in B[:, 0].tolist()
        ]
        worst = max(worst, np.abs(row - brute).max())
    return worst


def joint_laws(d):
    """Laws that move all parameters together, and points with masses that stand for them."""
    rows = SD * np.random.default_rng(2).normal(size=(200, d))
    root = np.linalg.cholesky(SD**2 * (0.5 * np.eye(d) + 0.5))
    shift, masses = slices(stats.uniform(-H_UNIFORM, 2 * H_UNIFORM))
    points, weights = hermegauss(16)
    product = np.stack(np.meshgrid(*[points] * d), axis=-1).reshape(-1, d)
    shares = np.stack(np.meshgrid(*[weights] * d), axis=-1).reshape(-1, d).prod(-1)
    return {
        "correlated": (
            meseta.Normal(covariance=(root @ root.T).tolist()),
            product @ root.T,
            shares,
        ),
        "common shift": (
            meseta.Shared(meseta.Uniform(H_UNIFORM)),
            np.repeat(shift.reshape(-1, 40).mean(1)[:, None], d, axis=1),
            masses.reshape(-1, 40).sum(1),
        ),
        "joint Empirical": (meseta.Empirical(rows.tolist()), rows, np.ones(len(rows))),
    }


def joint_smoothing_error(name, d=3):
    law, points, masses = joint_laws(d)[name]
    lengthscale = torch.full((d,), 0.35, dtype=torch.double)  # 0.2 sqrt(3), the default prior's
    kernel = StationaryKernel(torch.tensor(1.0, dtype=torch.double), ("se",) * d, lengthscale)
    A, B = torch.rand(2, 6, d, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    found = smooth(kernel, law.in_dimension(d)).k_gf(A, B).numpy()
    z = A.numpy()[:, None, None] - B.numpy()[:, None] + points
    brute = np.exp(-0.5 * ((z / 0.35) ** 2).sum(-1)) @ masses / masses.sum()
    return np.abs(found - brute).max()


def sampling_deviation(name, d=3):
    """None where xi depends on x, and has no characteristic function of its own."""
    if name in PLACES or edge_of(name) != "allow":
        return None
    if name in LAWS:
        law = read_noise({"x": LAWS[name][0]}, Space({"x": (LOW, HIGH)}))
    else:
        law = joint_laws(d)[name][0].in_dimension(d)
    xi = law.sample(100_000, torch.Generator().manual_seed(0)).numpy()
    omega = np.linspace(1, 40, 20)[:, None] * np.ones(xi.shape[1]) / xi.shape[1] ** 0.5
    exact = law.characteristic(torch.tensor(omega)).numpy()
    waves = np.exp(1j * omega @ xi.T)
    off = [(part(waves.mean(1)) - part(exact)) / (part(waves).std(1) / len(xi) ** 0.5 + 1e-12)
           for part in (np.real, np.imag)]  # fmt: skip
    return float(np.abs(off).max())


def step_times(n, d, repeats):
    space = Space({f"x{i}": (LOW, HIGH) for i in range(d)})
    names = space.names
    generator = torch.Generator().manual_seed(0)
    unit = torch.rand(n, d, dtype=torch.double, generator=generator)
    X = LOW + (HIGH - LOW) * unit
    y = Hartmann(dim=d, negate=True)(unit)
    y = y + 1e-3 * torch.randn(n, dtype=torch.double, generator=generator)
    fitted = fit_surrogate(X, y, space.bounds, kernel="se")
    noises = {
        **{name: (dict.fromkeys(names, law), edge_of(name)) for name, (law, _) in LAWS.items()},
        **{name: ({names: law}, "allow") for name, (law, _, _) in joint_laws(d).items()},
    }
    laws = {name: read_noise(noise, space, edge=edge) for name, (noise, edge) in noises.items()}
    seconds = {name: [] for name in laws}
    for turn in range(repeats + 1):
        for name, law in laws.items():
            start = time.perf_counter()
            suggest(X, y, space.bounds, law, method="nes-ep", fitted=fitted, seed=turn)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--d", type=int, default=3, choices=[3, 6])
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    seconds = step_times(chosen.n, chosen.d, chosen.repeats)
    print(f"n = {chosen.n}, d = {chosen.d}, medians over {chosen.repeats} turns")
    print(f"{'law':18} {'sampled':>8} {'smoothing':>10} {'first ms':>9} {'ms':>8} {'/ Normal':>9}")
    normal = seconds["Normal"][1:]
    for name, times in seconds.items():
        middle = 1e3 * statistics.median(times[1:])
        ratio = statistics.median(a / b for a, b in zip(times[1:], normal, strict=True))
        sampled = sampling_deviation(name)
        off = smoothing_error(name) if name in LAWS else joint_smoothing_error(name)
        exact = f"{'' if sampled is None else round(sampled, 1):>8} {off:10.0e}"
        print(f"{name:18} {exact} {1e3 * times[0]:9.0f} {middle:8.1f} {ratio:9.2f}")


if __name__ == "__main__":
    main()
