"""What a law of the input noise costs: NES-EP's step beside that with Normal noise, in one run.

    python benchmarks/noise.py [--n 100] [--d 3] [--repeats 7]

One thread; laws take turns, the fitted model is the same for all; medians of milliseconds and of
the ratio to Normal noise within a turn. All laws have a standard deviation of about 0.1 of the box.
"""

import argparse
import statistics
import time

import torch
from botorch.test_functions import Hartmann
from scipy import stats

import meseta
from meseta.gp import fit_surrogate
from meseta.named_noise import read_noise
from meseta.space import Space
from meseta.suggest import suggest

SD = 0.1


def laws(names):
    """Every law by its name, as a user writes it."""
    samples = SD * torch.randn(200, 1, generator=torch.Generator().manual_seed(1)).double()
    each = {
        "Normal": meseta.Normal(SD),
        "Normal, biased": meseta.Normal(SD, mean=0.05),
        "Uniform": meseta.Uniform(SD * 3**0.5),
        "Triangular": meseta.Triangular(SD * 6**0.5),
        "Laplace": meseta.Laplace(SD / 2**0.5),
        "StudentT(5)": meseta.StudentT(5, SD * (3 / 5) ** 0.5),
        "TruncatedNormal": meseta.TruncatedNormal(SD, -0.15, 0.15),
        "Mixture": meseta.Mixture([meseta.Normal(0.05), meseta.Normal(0.15)]),
        "Discrete": meseta.Discrete([-0.1, 0.0, 0.1]),
        "Empirical": meseta.Empirical(samples[:, 0].tolist()),
        "scipy gamma": stats.gamma(4, loc=-0.2, scale=0.05),
        "relative": meseta.Normal(0.2, relative=True),
        "width(x)": meseta.Normal(lambda x: 0.05 + 0.1 * x),
    }
    for name, law in each.items():
        yield name, dict.fromkeys(names, law), "allow"
    for edge in ("clip", "reflect", "truncate"):
        yield f"Normal, {edge}", dict.fromkeys(names, meseta.Normal(SD)), edge
    yield "common shift", {tuple(names): meseta.Common(meseta.Uniform(SD * 3**0.5))}, "allow"
    joint = torch.randn(200, len(names), generator=torch.Generator().manual_seed(2)).double()
    yield "joint Empirical", {tuple(names): meseta.Empirical((SD * joint).tolist())}, "allow"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--d", type=int, default=3, choices=[3, 6])
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    space = Space({f"x{i}": (0.0, 1.0) for i in range(chosen.d)})
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(chosen.n, chosen.d, dtype=torch.double, generator=generator)
    y = Hartmann(dim=chosen.d, negate=True)(X)
    y = y + 1e-3 * torch.randn(chosen.n, dtype=torch.double, generator=generator)
    fitted = fit_surrogate(X, y, space.bounds)
    cases = {name: read_noise(noise, space, edge=edge) for name, noise, edge in laws(space.names)}
    seconds = {name: [] for name in cases}
    for turn in range(chosen.repeats + 1):
        for name, law in cases.items():
            start = time.perf_counter()
            suggest(X, y, space.bounds, law, method="nes-ep", fitted=fitted, seed=turn)
            seconds[name].append(time.perf_counter() - start)
    print(f"n = {chosen.n}, d = {chosen.d}, medians over {chosen.repeats} turns")
    print(f"{'law':18} {'first ms':>9} {'ms':>8} {'/ Normal':>9}")
    normal = seconds["Normal"][1:]
    for name, times in seconds.items():
        middle = 1e3 * statistics.median(times[1:])
        ratio = statistics.median(a / b for a, b in zip(times[1:], normal, strict=True))
        print(f"{name:18} {1e3 * times[0]:9.0f} {middle:8.1f} {ratio:9.2f}")


if __name__ == "__main__":
    main()
