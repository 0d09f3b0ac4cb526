"""Smoothed kernels against mpmath quadrature, from 1e-6 to 1e3 lengthscales."""

import math

import mpmath as mp
import pytest
import torch

from meseta.kernels import StationaryKernel, smooth
from meseta.noise import Normal, Uniform

mp.mp.dps = 30
RATIOS = [1e-6, 1e-3, 0.1, 0.24, 0.26, 1.0, 4.0, 5.3, 5.5, 12.5, 30.0, 1e3]
SHAPES = ["se", "matern12", "matern32", "matern52"]
LENGTHSCALE = 0.7


def kappa(shape, t):
    t = abs(t) / mp.mpf(LENGTHSCALE)
    if shape == "se":
        return mp.exp(-(t**2) / 2)
    nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[shape]
    s = mp.sqrt(2 * nu) * t
    p = {"matern12": 1, "matern32": 1 + s, "matern52": 1 + s + s**2 / 3}[shape]
    return p * mp.exp(-s)


def by_quadrature(shape, law, width, delta, perturbed):
    """E kappa(delta + xi) or E kappa(delta + xi - xi') with the density of xi or of xi - xi'."""
    width, delta = mp.mpf(width), mp.mpf(delta)
    if law is Normal:
        width *= mp.sqrt(perturbed)
        density = lambda u: mp.npdf(u, 0, width)
        reach = 12 * width
        corners = [k * width for k in (-12, -6, -3, -1, 0, 1, 3, 6, 12)]
    elif perturbed == 1:
        density = lambda u: 1 / (2 * width)
        reach = width
        corners = [-reach, 0, reach]
    else:
        reach = 2 * width
        density = lambda u: (1 - abs(u) / reach) / reach
        corners = [-reach, 0, reach]
    # the kernel's own features: its kink and a few lengthscales around it
    near = [-delta + k * mp.mpf(LENGTHSCALE) for k in (-40, -10, -4, -1, 0, 1, 4, 10, 40)]
    corners = sorted({c for c in corners + near if -reach <= c <= reach} | {-reach, reach})
    return mp.quad(lambda u: density(u) * kappa(shape, delta + u), corners)


@pytest.mark.parametrize("law", [Normal, Uniform])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_closed_forms_agree_with_quadrature(shape, law, ratio):
    width = ratio * LENGTHSCALE
    kernel = StationaryKernel(
        torch.tensor(1.0, dtype=torch.double),
        (shape,),
        torch.tensor([LENGTHSCALE], dtype=torch.double),
    )
    smoothed = smooth(kernel, law(width))
    deltas = [0.0, 1e-7, 0.3 * width, width, 1.7 * width, 2 * width, 2.5 * width, 0.4, 1.9, 7.0]
    A = torch.tensor(deltas, dtype=torch.double)[:, None]
    B = torch.zeros(1, 1, dtype=torch.double)
    for perturbed, values in ((1, smoothed.k_gf(A, B)), (2, smoothed.k_g(A, B))):
        for delta, value in zip(deltas, values[:, 0].tolist(), strict=True):
            expected = float(by_quadrature(shape, law, width, delta, perturbed))
            assert math.isclose(value, expected, rel_tol=0, abs_tol=1e-12), (delta, perturbed)
