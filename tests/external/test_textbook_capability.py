"""Capability indices and parts per million that textbooks and manuals have published.

Each is a value x that is Normal around a design, or of the law that is said; the study is told x.
"""

import pytest
from scipy import stats

import meseta
from examples import some
from public_names import Study, indices_of, told

# Mean, standard deviation, limits and target, and what is published of it, as it is printed there.
PUBLISHED = {
    # NIST/SEMATECH e-Handbook of Statistical Methods, 6.1.6
    "NIST 6.1.6": (16.0, 2.0, {"at_least": 8.0, "at_most": 20.0}, {"cp": "1.0", "cpk": "0.6667"}),
    # Montgomery, Introduction to Statistical Quality Control: flow width of the hard-bake process
    "flow width": (
        1.5056,
        0.1398,
        {"at_least": 1.0, "at_most": 2.0},
        {"cp": "1.192", "ppm": "350"},
    ),
    # Montgomery: bursting strength of glass bottles
    "bottles": (264.0, 32.0, {"at_least": 200.0}, {"cpk": "0.67", "ppm": "22800"}),
    # Montgomery: two processes with the same Cpk, and Cpm
    "process A": (
        50.0,
        5.0,
        {"at_least": 35.0, "at_most": 65.0, "target": 50.0},
        {"cp": "1.0", "cpk": "1.0", "cpm": "1.0"},
    ),
    "process B": (
        57.5,
        2.5,
        {"at_least": 35.0, "at_most": 65.0, "target": 50.0},
        {"cp": "2.0", "cpk": "1.0", "cpm": "0.63"},
    ),
    # Montgomery's piston rings, as the manual of the R package qcc has them (Scrucca 2004)
    "piston rings": (
        74.00118,
        0.009785039,
        {"at_least": 73.95, "at_most": 74.05, "target": 74.0},
        {"cp": "1.703", "cpk": "1.663", "cpm": "1.691"},
    ),
    # MINITAB User's Guide 2, Process Capability: camshafts, overall and within
    "camshafts": (
        599.548,
        0.620865,
        {"at_least": 598.0, "at_most": 602.0, "target": 600.0},
        {"cp": "1.07", "ppk": "0.83", "cpm": "0.87", "ppm": "6367", "below": "6328"},
    ),
    "camshafts, within": (
        599.548,
        0.576429,
        {"at_least": 598.0, "at_most": 602.0},
        {"cp": "1.16", "cpk": "0.90", "ppm": "3632", "below": "3621"},
    ),
}
# Montgomery, "Values of the process capability ratio and associated process fallout", two-sided
FALLOUT = {0.5: 133_614, 0.7: 35_729, 0.8: 16_395, 0.9: 6_934, 1.0: 2_700, 1.1: 967, 1.2: 318}
SHARES = 0.01  # relative: parts per million of simulated noise


def values_in_use(mean: float, std: float, law: object = None) -> Study:
    noise = law or meseta.Normal(std)
    space = {"x": (mean - 8 * std, mean + 8 * std)}
    return told(lambda p: p["x"], space, noise, 12, {"x": mean}, seed=1)


def half_a_digit(printed: str) -> float:
    """By how much a printed number may be rounded."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


@pytest.mark.parametrize("name", some(PUBLISHED, 3))
def test_indices_and_shares_are_those_that_are_published(name):
    mean, std, limits, published = PUBLISHED[name]
    found = values_in_use(mean, std).capability(**limits)
    assert found.normal
    for index, printed in published.items():
        if index in ("ppm", "below"):
            share = found.outside.value if index == "ppm" else found.below
            assert 1e6 * share == pytest.approx(float(printed), rel=SHARES), index
        else:
            value = getattr(found, index).value
            room = half_a_digit(printed) + 2e-3 * value
            assert value == pytest.approx(float(printed), abs=room), index


@pytest.mark.parametrize("ratio", some(FALLOUT, 3))
def test_the_fallout_of_a_ratio_is_that_of_the_table(ratio):
    found = values_in_use(0.0, 1.0).capability(at_least=-3 * ratio, at_most=3 * ratio)
    assert found.cp.value == pytest.approx(ratio, rel=2e-3)
    assert 1e6 * found.outside.value == pytest.approx(FALLOUT[ratio], rel=SHARES)


def test_warped_tiles_have_the_performance_of_their_weibull_law():
    """MINITAB User's Guide 2: Weibull 1.69368, 3.27812, at most 8: Ppk 0.73, 10764.5 ppm."""
    law = meseta.from_scipy(stats.weibull_min(1.69368, scale=3.27812))
    found = values_in_use(0.0, 2.0, law).capability(at_most=8.0)
    assert not found.normal
    assert found.ppk.value == pytest.approx(0.73, abs=0.01)
    assert 1e6 * found.outside.value == pytest.approx(10764.5, rel=SHARES)


def test_indices_of_measured_values():
    """Of values with the mean and the deviation of NIST 6.1.6: no model is in between."""
    found = indices_of([14.0, 18.0] * 50, at_least=8.0, at_most=20.0, target=14.0)
    assert float(found.cp) == pytest.approx(1.0, rel=1e-12)
    assert float(found.cpk) == pytest.approx(2 / 3, rel=1e-12)
    assert float(found.cpm) == pytest.approx(2**-0.5, rel=1e-12)
    assert float(found.outside) == 0
