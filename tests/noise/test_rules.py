"""Quadrature rules of laws against exact moments, and the functions beneath them against mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest
import torch
from scipy import stats

from meseta.noise import (
    from_scipy,
)
from meseta.noise.bessel import spherical_bessel
from meseta.noise.panels import composite, panels


def tensor(*values):
    return torch.tensor(values, dtype=torch.double)


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("law", "places", "error"),
    [
        (from_scipy(stats.gamma(0.5)), 1, 1e-13),
        # a pole away from 0 is as sharp as the rounding of its place lets it be
        (from_scipy(stats.beta(0.3, 0.6, loc=5)), 2, 1e-9),
        (from_scipy(stats.lognorm(1.5)), 1, 1e-13),
    ],
    ids=repr,
)
def test_panels_hold_all_the_mass_even_at_a_pole(law, places, error):
    assert len(law.breaks) == places
    found = panels(law, *law.interval(1e-16), law.breaks)
    assert len(found.low) < 600
    for order in (16, 33):
        points, weights = composite(law, found, order)
        assert float(weights.sum()) == pytest.approx(1, abs=error)
        assert float(weights @ points) == pytest.approx(law.mean.item(), rel=max(error, 1e-11))


def test_spherical_bessel_functions_are_those_of_mpmath():
    kappa = np.array([[0, 1e-12, 0.3, 1, math.pi, 4.4934094579], [10, 30.9, 31.1, 300, -3, -40]])
    found = spherical_bessel(torch.tensor(kappa), 31)
    for place in np.ndindex(kappa.shape):
        x = mp.mpf(abs(kappa[place]))
        for k in range(32):
            with mp.workdps(40):
                exact = mp.sqrt(mp.pi / (2 * x)) * mp.besselj(k + 0.5, x) if x else mp.mpf(k == 0)
            sign = -1 if kappa[place] < 0 and k % 2 else 1
            assert found[(k, *place)] == pytest.approx(sign * float(exact), abs=1e-15)
