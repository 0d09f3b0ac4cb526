"""Failure probabilities that others published, as the share out of specification of a design."""

import statistics
from functools import cache

import numpy as np
import pytest

import meseta
from examples import ASKED_FOR, some, thorough
from failure_cases import CASES, recomputed
from public_names import Share, told

BOX = 4.0  # in standard deviations: where runs are made
SEEDS = range(10) if ASKED_FOR else range(3)
FREQUENT = 1e-4  # shares above are to be known within a factor
FACTOR = 30
# That is the model, not the draws: upper ends by four times as many places of f are at most twice
# as large. Where a failure is most likely, the mean of f is 2 to 8 of its deviations too high.
MISSED = {
    "DampedOscillator 15": "4 of 10 intervals hold it, others end at 503 to 3940 of 4775 ppm",
    "DampedOscillator 21.5": "1 of 10 intervals holds it, others end at 0.01 to 31 of 44 ppm",
    "DampedOscillator 27.5": "1 of 10 intervals holds it, others end at 0 to 0.15 of 0.38 ppm",
}
WIDE = {"DampedOscillator 15": "36 times in the median"}


def marked(reasons, least=0.0):
    """Cases, a few of them where tests are quick; what does not hold yet has its figure."""
    asked = [name for name, case in CASES.items() if case.reference >= least]
    asked = [name for name in asked if ASKED_FOR or name not in MISSED]
    return [
        pytest.param(name, marks=pytest.mark.xfail(strict=False, reason=reasons[name]))
        if name in reasons
        else name
        for name in some(asked, 3)
    ]


@cache
def estimated(name: str, seed: int) -> Share:
    case = CASES[name]
    names = [f"u{i}" for i in range(case.dimension)]
    study = told(
        lambda p: case.margin(np.array([[p[each] for each in names]]))[0],
        dict.fromkeys(names, (-BOX, BOX)),
        meseta.Normal(1.0),
        case.runs,
        dict.fromkeys(names, 0.0),
        seed=seed,
    )
    return study.capability(at_least=0.0).outside


def test_references_are_computed_again():
    for name, (value, error) in recomputed(log2_points=12).items():
        assert CASES[name].reference == pytest.approx(value, rel=1e-5, abs=5 * error), name
        assert CASES[name].published == pytest.approx(value, rel=0.03), name


@pytest.mark.parametrize("name", marked(MISSED))
def test_the_interval_holds_the_share(name):
    truth, shares = CASES[name].reference, [estimated(name, seed) for seed in SEEDS]
    missed = [share for share in shares if not share.low <= truth <= share.high]
    assert len(missed) <= 1 + len(shares) / 10, missed  # of 95 % intervals some do


@pytest.mark.parametrize("name", marked(WIDE, FREQUENT))
def test_frequent_failures_are_known_within_a_factor(name):
    ends = [estimated(name, seed) for seed in SEEDS]
    ratio = statistics.median(e.high / e.low if e.low > 0 else float("inf") for e in ends)
    assert ratio <= FACTOR


@thorough
@pytest.mark.xfail(strict=False, reason="86 of 110: all that are missed are damped oscillators")
def test_nine_of_ten_intervals_hold_the_share():
    held = [
        share.low <= case.reference <= share.high
        for name, case in CASES.items()
        for share in (estimated(name, seed) for seed in SEEDS)
    ]
    assert sum(held) >= 0.9 * len(held), f"{sum(held)} of {len(held)}"
