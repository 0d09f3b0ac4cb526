"""Capability indices against what they are for laws whose percentiles are known."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from meseta.measures.capability import BEYOND, indices
from meseta.measures.constraints import AtLeast, AtMost, Between

LAWS = [
    stats.norm(10.0, 0.2),
    stats.uniform(9.0, 2.0),
    stats.lognorm(0.4, loc=9.0),
    stats.t(4, loc=10.0, scale=0.3),
    stats.gamma(2.0, loc=8.0, scale=0.5),
]


def weighted(law, num=200_001):
    """Values with uneven weights that follow a law: importance sampling with a wider one."""
    rng = np.random.default_rng(3)
    u = (np.arange(num) + rng.random()) / num
    v = stats.norm.cdf(1.6 * stats.norm.ppf(u))
    q = 1.6 * np.exp(-0.5 * (1.6**2 - 1) * stats.norm.ppf(u) ** 2)
    values = torch.tensor(law.ppf(np.clip(v, 1e-15, 1 - 1e-15)))
    return values, torch.tensor(q / q.sum())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.dist.name)
def test_indices_are_those_of_the_law(law):
    values, weights = weighted(law)
    goal = Between(8.7, 11.5)
    found = indices(values, weights, goal, target=10.2)
    low, median, high = law.ppf([BEYOND, 0.5, 1 - BEYOND])
    mean, std = law.mean(), law.std()
    assert float(found.below) == pytest.approx(law.cdf(8.7), rel=2e-3, abs=1e-7)
    assert float(found.above) == pytest.approx(law.sf(11.5), rel=2e-3, abs=1e-7)
    assert float(found.outside) == float(found.below + found.above)
    assert float(found.cp) == pytest.approx(2.8 / (6 * std), rel=2e-3)
    assert float(found.cpk) == pytest.approx(
        min(mean - 8.7, 11.5 - mean) / (3 * std), rel=2e-3, abs=1e-4
    )
    assert float(found.ppk) == pytest.approx(
        min((median - 8.7) / (median - low), (11.5 - median) / (high - median)), rel=2e-3
    )
    assert float(found.cpm) == pytest.approx(2.8 / (6 * math.hypot(std, mean - 10.2)), rel=2e-3)
    assert float(indices(values, weights, goal).cpm) == pytest.approx(
        2.8 / (6 * math.hypot(std, mean - 10.1)), rel=2e-3
    )


def test_a_normal_law_has_the_same_index_by_percentiles():
    values, weights = weighted(LAWS[0])
    found = indices(values, weights, Between(9.4, 10.8))
    assert float(found.ppk) == pytest.approx(float(found.cpk), rel=1e-3)
    assert float(found.cpk) == pytest.approx(1.0, rel=1e-3)


def test_one_limit_has_no_cp_and_rows_are_taken_one_by_one():
    values = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], dtype=torch.double)
    weights = torch.full((3,), 1 / 3, dtype=torch.double)
    found = indices(values, weights, AtLeast(0.0))
    assert found.cp.isnan().all()
    assert found.cpm.isnan().all()
    assert torch.allclose(found.cpk, torch.full((2,), 2 / (3 * math.sqrt(2 / 3))).double())
    assert found.below.tolist() == [0.0, 0.0]
    assert indices(values, weights, AtMost(3.0)).above.tolist() == pytest.approx([0.0, 2 / 3])


@pytest.mark.parametrize(("value", "index"), [(1.0, math.inf), (2.0, math.inf), (3.0, -math.inf)])
def test_what_does_not_scatter_keeps_its_limit_or_breaks_it(value, index):
    values = torch.full((5,), value, dtype=torch.double)
    weights = torch.full((5,), 0.2, dtype=torch.double)
    found = indices(values, weights, AtMost(2.0))
    assert float(found.cpk) == float(found.ppk) == index
    assert float(found.above) == pytest.approx(float(value > 2))
