"""Needle or plateau: robust beside ordinary Bayesian optimization on the same black box.

f has a broad hill on the left and taller, narrow peaks on the right [Assael et al. 2014]; what is
deployed is x + xi with xi ~ Normal(0.03). Run it with
`python examples/needle_and_plateau.py [PICTURE]`: it finds both optima and draws them.
"""

import sys
from pathlib import Path

import matplotlib
import torch

import meseta
from meseta.problems import get

matplotlib.use("Agg")
from matplotlib import pyplot as plt

TRUTH = get("rkhs")  # f, and the exact g to judge by
NOISE = meseta.Normal(0.03)
BUDGET = 25
PICTURE = Path("demo/needle_and_plateau.png")


def f(params):
    """Your experiment or simulation goes here."""
    return TRUTH.f([[params["x"]]])[0]


def optimize(method):
    return meseta.maximize(f, {"x": (0.0, 1.0)}, noise=NOISE, budget=BUDGET, method=method, seed=2)


def table(robust, ordinary):
    """What both designs are worth, exactly."""
    designs = [[[result.params["x"]]] for result in (robust, ordinary)]
    rows = [
        ("", "robust optimum", "nominal optimum"),
        ("found by", robust.optimizer.method, f"{ordinary.optimizer.method} (ordinary)"),
        ("x", *(f"{x[0][0]:.4f}" for x in designs)),
        ("f(x), undisturbed", *(f"{TRUTH.f(x)[0]:.3f}" for x in designs)),
        ("E f(x + xi), deployed", *(f"{TRUTH.g(x)[0]:.3f}" for x in designs)),
    ]
    return "\n".join(f"{a:24}{b:>18}{c:>18}" for a, b, c in rows)


def draw(robust, ordinary, path):
    grid = torch.linspace(0, 1, 1001, dtype=torch.double)[:, None]
    moments, x = robust.optimizer.posterior.joint(grid), grid[:, 0]
    figure, axes = plt.subplots(2, 1, figsize=(7.5, 6), sharex=True, layout="constrained")
    for axis, exact, mean, variance, colour, title in (
        (axes[0], TRUTH.f, moments.m_f, moments.v_f, "tab:blue", "f(x): what is evaluated"),
        (axes[1], TRUTH.g, moments.m_g, moments.v_g, "tab:green", "E f(x + ξ): what is deployed"),
    ):
        sd = variance.sqrt()
        axis.fill_between(x, mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.25, lw=0)
        axis.plot(x, mean, color=colour, label="model, mean ± 2 sd")
        axis.plot(x, exact(grid.numpy()), "k--", lw=1, label="truth")
        axis.axvline(robust.params["x"], color="tab:green", lw=1.5, label="robust optimum")
        axis.axvline(ordinary.params["x"], color="tab:red", lw=1.5, ls=":", label="nominal optimum")
        axis.set_title(title, loc="left", fontsize=10)
    axes[0].plot(robust.history["x"], robust.history["value"], "ko", ms=4, label="evaluations")
    axes[1].set_xlabel("x")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=5, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(path=PICTURE):
    robust, ordinary = optimize("rkg"), optimize("ei")
    print(f"\n{BUDGET} evaluations of f each; x is deployed as x + xi, xi ~ {NOISE}\n")
    print(table(robust, ordinary))
    draw(robust, ordinary, path)
    print(f"\nOpen {path} to see why.")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
