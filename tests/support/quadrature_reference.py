"""Smoothed kernels by mpmath quadrature; run as a script it writes data/smoothed_kernels.json.

python tests/support/quadrature_reference.py     (a few minutes)
"""

import json
from pathlib import Path

import mpmath as mp

RATIOS = [1e-6, 1e-3, 0.1, 0.24, 0.26, 1.0, 4.0, 5.3, 5.5, 12.5, 30.0, 1e3]
SHAPES = ["se", "matern12", "matern32", "matern52"]
LAWS = ["normal", "uniform"]
LENGTHSCALE = 0.7
REFERENCE = Path(__file__).parents[1] / "data" / "smoothed_kernels.json"


def kappa(shape, t):
    t = abs(t) / mp.mpf(LENGTHSCALE)
    if shape == "se":
        return mp.exp(-(t**2) / 2)
    nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[shape]
    s = mp.sqrt(2 * nu) * t
    p = {"matern12": 1, "matern32": 1 + s, "matern52": 1 + s + s**2 / 3}[shape]
    return p * mp.exp(-s)


def smoothed(shape, law, width, delta, perturbed):
    """E kappa(delta + xi), or with perturbed = 2 E kappa(delta + xi - xi'), to 20 digits."""
    with mp.workdps(25):
        width, delta = mp.mpf(width), mp.mpf(delta)
        if law == "normal":
            width *= mp.sqrt(perturbed)
            reach = 12 * width
            corners = [k * width for k in (-6, -3, -1, 0, 1, 3, 6)]

            def density(u):
                return mp.npdf(u, 0, width)
        else:
            reach = perturbed * width
            corners = [mp.mpf(0)]

            def density(u):
                return 1 / (2 * width) if perturbed == 1 else (1 - abs(u) / reach) / reach

        # the kernel's own features: its kink and a few lengthscales around it
        near = [-delta + k * mp.mpf(LENGTHSCALE) for k in (-40, -10, -4, -1, 0, 1, 4, 10, 40)]
        inner = {c for c in corners + near if -reach < c < reach}
        return float(
            mp.quad(lambda u: density(u) * kappa(shape, delta + u), sorted({-reach, *inner, reach}))
        )


def deltas(width):
    return [0.0, 1e-7, 0.3 * width, width, 1.7 * width, 2 * width, 2.5 * width, 0.4, 1.9, 7.0]


def main():
    cases = [
        {
            "shape": shape,
            "law": law,
            "ratio": ratio,
            "delta": deltas(ratio * LENGTHSCALE),
            "k_gf": [
                smoothed(shape, law, ratio * LENGTHSCALE, d, 1) for d in deltas(ratio * LENGTHSCALE)
            ],
            "k_g": [
                smoothed(shape, law, ratio * LENGTHSCALE, d, 2) for d in deltas(ratio * LENGTHSCALE)
            ],
        }
        for shape in SHAPES
        for law in LAWS
        for ratio in RATIOS
    ]
    REFERENCE.write_text(json.dumps({"lengthscale": LENGTHSCALE, "cases": cases}, indent=0))


if __name__ == "__main__":
    main()
