"""Robust optimization of Sin + Linear, the paper's first example, with NES-EP.

    f(x) = sin(5 pi x^2) + x / 2  on [0, 1],  deployed as x + xi,  xi ~ Normal(0.05)

The tallest point of f is a narrow peak near the right end; the robust optimum is the broad hill on
the left. Run it with `python examples/sin_linear.py [PICTURE]`: it prints both and draws them.
"""

import math
import sys
from pathlib import Path

import matplotlib
import torch
from tqdm import tqdm

from meseta import Normal
from meseta.gp import RobustPosterior, fit_surrogate
from meseta.recommend import nominal, recommend
from meseta.suggest import suggest

matplotlib.use("Agg")
from matplotlib import pyplot as plt

NOISE = Normal(0.05)
BOUNDS = torch.tensor([[0.0], [1.0]], dtype=torch.double)
PICTURE = Path("demo/sin_linear.png")


def f(x):
    return torch.sin(5 * math.pi * x[:, 0] ** 2) + 0.5 * x[:, 0]


def g(x):
    """E f(x + xi), by the midpoint rule over +-8 standard deviations: exact to 1e-12."""
    xi = torch.linspace(-0.4, 0.4, 2001, dtype=torch.double)
    weight = torch.exp(-0.5 * (xi / 0.05) ** 2)
    return f((x + xi).reshape(-1, 1)).reshape(len(x), -1) @ (weight / weight.sum())


def optimize(evaluations=15, seed=0):
    """Three uniform points, then one suggestion at a time."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(3, 1, generator=generator, dtype=torch.double)
    y, previous = f(X), None
    for _ in tqdm(range(evaluations - len(X)), desc="NES-EP", unit="evaluation"):
        x, info = suggest(X, y, BOUNDS, NOISE, seed=seed, previous=previous)
        previous = info.fit.hyperparameters
        X, y = torch.cat([X, x[None]]), torch.cat([y, f(x[None])])
    return X, y, previous, info


def table(robust, tallest):
    rows = [("", "robust optimum", "nominal optimum")]
    rows.append(("x", f"{robust.x.item():.4f}", f"{tallest.x.item():.4f}"))
    rows.append(("f(x), undisturbed", *(f"{f(o.x[None]).item():.3f}" for o in (robust, tallest))))
    rows.append(("g(x) = E f(x + xi)", *(f"{g(o.x[None]).item():.3f}" for o in (robust, tallest))))
    rows.append(
        ("  as the model sees it", *(f"{o.mean:.3f} ± {o.std:.3f}" for o in (robust, tallest)))
    )
    return "\n".join(f"{a:24}{b:>18}{c:>18}" for a, b, c in rows)


def draw(posterior, info, X, y, robust, tallest, path):
    grid = torch.linspace(0, 1, 501, dtype=torch.double)[:, None]
    moments = posterior.joint(grid)
    x = grid[:, 0]
    figure, axes = plt.subplots(
        3, 1, figsize=(7, 7.5), sharex=True, height_ratios=(3, 3, 1.3), layout="constrained"
    )
    panels = (
        (axes[0], f(grid), moments.m_f, moments.v_f, "tab:blue", "f, what is evaluated"),
        (
            axes[1],
            g(grid),
            moments.m_g,
            moments.v_g,
            "tab:green",
            "g = E f(x + ξ), what is deployed",
        ),
    )
    for axis, truth, mean, variance, colour, title in panels:
        sd = variance.sqrt()
        axis.fill_between(x, mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.25, lw=0)
        axis.plot(x, mean, color=colour, label="posterior mean ± 2 sd")
        axis.plot(x, truth, "k--", lw=1, label="truth")
        axis.axvline(robust.x.item(), color="tab:green", lw=1.5, label="robust optimum")
        axis.axvline(tallest.x.item(), color="tab:red", lw=1.5, ls=":", label="nominal optimum")
        axis.set_title(title, loc="left", fontsize=10)
    axes[0].plot(X[:, 0], y, "ko", ms=4, label="evaluations")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=8
    )
    with torch.no_grad():
        axes[2].plot(x, info.acquisition(grid[:, None]), color="tab:purple")
    axes[2].axvline(X[-1].item(), color="tab:purple", lw=1, ls="--")
    axes[2].set_title("NES-EP acquisition in the last iteration, nats", loc="left", fontsize=10)
    axes[2].set_xlabel("x")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(path=PICTURE):
    X, y, previous, info = optimize()
    model, _ = fit_surrogate(X, y, BOUNDS, NOISE, previous=previous)
    posterior = RobustPosterior.from_model(model, NOISE)
    robust, tallest = recommend(posterior, BOUNDS), nominal(posterior, BOUNDS)
    print(f"\nAfter {len(y)} evaluations of f, with input noise {NOISE}:\n")
    print(table(robust, tallest))
    draw(posterior, info, X, y, robust, tallest, path)
    print(f"\nOpen {path} to see why.")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
