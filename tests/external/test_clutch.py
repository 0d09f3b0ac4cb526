"""The one-way clutch: a stack-up on paper, and its rejects by simulation.

Cvetko, Chase, Magleby, "New Metrics for Evaluating Monte Carlo Tolerance Analysis of Assemblies",
ADCATS 98-2, Brigham Young University, 1998. The pressure angle of hub a, roller c and ring e in mm,
whose tolerances are three standard deviations.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

import meseta
from public_names import Study, told

SIZES = {"a": (27.645, 0.05), "c": (11.43, 0.01), "e": (50.8, 0.0125)}
LIMITS = {"at_least": 6.4184, "at_most": 7.6184}


def angle(p):
    return math.degrees(math.acos((p["a"] + p["c"]) / (p["e"] - p["c"])))


@cache
def clutch() -> Study:
    """What is set is the lot alone, which does nothing: sizes are whatever comes."""
    space = {
        name: (size - tolerance, size + tolerance) for name, (size, tolerance) in SIZES.items()
    }
    noise = {
        name: meseta.Environment(meseta.Normal(tolerance / 3, mean=size))
        for name, (size, tolerance) in SIZES.items()
    }
    return told(angle, {"lot": (0.0, 1.0), **space}, noise, 60, {"lot": 0.5}, seed=0)


def test_the_stack_up_is_that_on_paper():
    found = clutch().stack_up(**LIMITS)
    for spread, half in ((found.worst_case, 0.98061), (found.root_sum_square, 0.65788)):
        assert (spread.low + spread.high) / 2 == pytest.approx(7.01839, rel=1e-4)
        assert (spread.high - spread.low) / 2 == pytest.approx(half, rel=1e-4)


def test_mean_and_deviation_are_those_of_the_simulation():
    found = clutch().capability(**LIMITS)
    assert found.mean.value == pytest.approx(7.01489, abs=1e-4)
    assert found.std.value == pytest.approx(0.21963, rel=5e-4)


def test_intervals_hold_the_simulated_rejects():
    found = clutch().capability(**LIMITS)
    assert found.outside.low <= (4404 + 2152) / 1e6 <= found.outside.high


def quadrature():
    """The shares below and above the limits, by the law of the hub for each roller and ring."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    (a, wide), *others = ((size, tolerance / 3) for size, tolerance in SIZES.values())
    c, e = np.meshgrid(*(size + std * nodes for size, std in others))
    each = np.outer(weights, weights) / weights.sum() ** 2
    below, above = (
        norm.cdf((np.cos(np.radians(limit)) * (e - c) - c - a) / wide) for limit in LIMITS.values()
    )
    return float((each * (1 - below)).sum()), float((each * above).sum())


def test_rejects_are_those_of_quadrature():
    found, (below, above) = clutch().capability(**LIMITS), quadrature()
    assert found.below == pytest.approx(below, rel=0.01)
    assert found.above == pytest.approx(above, rel=0.01)
    assert found.below + found.above == pytest.approx(found.outside.value, rel=1e-9)
    assert found.outside.low <= below + above <= found.outside.high


def test_rejects_are_those_of_the_simulation():
    """Quadrature says 4406 and 2166 parts per million."""
    found = clutch().capability(**LIMITS)
    assert 1e6 * found.below == pytest.approx(4404, rel=0.01)
    assert 1e6 * found.above == pytest.approx(2152, rel=0.01)
