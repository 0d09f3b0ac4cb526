"""Kernel density entropy against the nested sum of the paper and against known entropies."""

import math

import pytest
import torch

from gp_models import normal, uniform
from meseta.inference.density import kde_entropy, normal_reference_bandwidth


def nested_sum(samples, bandwidth):
    """-1/L sum_i log 1/L sum_j N(y_i; y_j, h^2), as the paper writes it."""
    h = bandwidth * samples.std(correction=0)
    distance = (samples[:, None] - samples) / h
    density = (-0.5 * distance**2).exp().mean(-1) / (h * math.sqrt(2 * math.pi))
    return -density.log().mean()


SAMPLES = {
    "normal": lambda: normal(1000, seed=0),
    "shifted and scaled": lambda: 1e6 + 1e-3 * normal(1000, seed=1),
    "skewed": lambda: -normal(1000, seed=2).abs(),
    "exponential": lambda: -uniform(1000, seed=3).log(),
    "two heaps": lambda: torch.cat([normal(500, seed=4) - 4, normal(500, seed=5) + 4]),
    "few": lambda: normal(20, seed=6),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_binning_gives_the_nested_sum(name):
    samples = SAMPLES[name]()
    bandwidth = normal_reference_bandwidth(len(samples))
    assert kde_entropy(samples, bandwidth) == pytest.approx(
        nested_sum(samples, bandwidth).item(), abs=2e-3
    )


def test_many_normal_samples_have_the_entropy_of_a_normal():
    samples = 3 * normal(20_000, seed=0)
    expected = 0.5 * math.log(2 * math.pi * math.e * 9)
    assert kde_entropy(samples, 0.15) == pytest.approx(expected, abs=0.02)


def test_batches_and_gradients():
    samples = normal(4, 300, seed=0).requires_grad_()
    value = kde_entropy(samples, 0.3)
    assert value.shape == (4,)
    assert torch.equal(value[2], kde_entropy(samples[2], 0.3))
    (gradient,) = torch.autograd.grad(value.sum(), samples)
    direction = normal(4, 300, seed=1)
    step = 1e-6
    with torch.no_grad():
        ahead, behind = (kde_entropy(samples + s * direction, 0.3).sum() for s in (step, -step))
    assert (gradient * direction).sum().item() == pytest.approx(
        ((ahead - behind) / (2 * step)).item(), rel=1e-3
    )


def test_scaling_samples_adds_the_logarithm():
    samples = normal(500, seed=0)
    difference = kde_entropy(1e-9 * samples, 0.3) - kde_entropy(samples, 0.3)
    assert difference.item() == pytest.approx(math.log(1e-9), abs=1e-9)


def test_samples_that_do_not_differ_stay_finite():
    assert kde_entropy(torch.ones(50, dtype=torch.double), 0.3).isfinite()
