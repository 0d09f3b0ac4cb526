"""Robust optimization of Sin + Linear with NES-EP, the paper's first example and method.

    f(x) = sin(5 pi x^2) + x / 2  on [0, 1],  deployed as x + xi,  xi ~ Normal(0.05)

The tallest point of f is a narrow peak near the right end; the robust optimum is the broad hill on
the left. Run it with `python examples/sin_linear.py [PICTURE]`: it prints both and draws them.
"""

import math
import sys
from pathlib import Path

import matplotlib
import torch

import meseta
from meseta.problems import get

matplotlib.use("Agg")
from matplotlib import pyplot as plt

NOISE = meseta.Normal(0.05)
PICTURE = Path("demo/sin_linear.png")


def f(params):
    """Your experiment or simulation goes here."""
    return math.sin(5 * math.pi * params["x"] ** 2) + 0.5 * params["x"]


def draw(result, path):
    truth = get("sin-linear")  # the same f, with exact g
    grid = torch.linspace(0, 1, 501, dtype=torch.double)[:, None]
    moments, x = result.optimizer.posterior.joint(grid), grid[:, 0]
    figure, axes = plt.subplots(
        3, 1, figsize=(7, 7.5), sharex=True, height_ratios=(3, 3, 1.3), layout="constrained"
    )
    for axis, exact, mean, variance, colour, title in (
        (axes[0], truth.f, moments.m_f, moments.v_f, "tab:blue", "f, what is evaluated"),
        (axes[1], truth.g, moments.m_g, moments.v_g, "tab:green", "g = E f(x + ξ), the deployed"),
    ):
        sd = variance.sqrt()
        axis.fill_between(x, mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.25, lw=0)
        axis.plot(x, mean, color=colour, label="posterior mean ± 2 sd")
        axis.plot(x, exact(grid.numpy()), "k--", lw=1, label="truth")
        axis.axvline(result.params["x"], color="tab:green", lw=1.5, label="robust optimum")
        axis.axvline(result.nominal.params["x"], color="tab:red", lw=1.5, ls=":", label="nominal")
        axis.set_title(title, loc="left", fontsize=10)
    axes[0].plot(result.history["x"], result.history["value"], "ko", ms=4, label="evaluations")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=8
    )
    with torch.no_grad():
        axes[2].plot(x, result.optimizer.info.acquisition(grid[:, None]), color="tab:purple")
    axes[2].axvline(result.history["x"].iloc[-1], color="tab:purple", lw=1, ls="--")
    title = f"{result.optimizer.method}: what the last evaluation was expected to bring"
    axes[2].set_title(title, loc="left", fontsize=10)
    axes[2].set_xlabel("x")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(path=PICTURE):
    result = meseta.maximize(f, {"x": (0.0, 1.0)}, noise=NOISE, budget=15, method="nes-ep", seed=0)
    print(f"\nx is deployed as x + xi, xi ~ {NOISE}\n\n{result}")
    draw(result, path)
    print(f"\nOpen {path} to see why.")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
