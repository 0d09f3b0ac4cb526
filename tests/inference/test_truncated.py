"""Moments of a truncated Gaussian against mpmath, for every truncation point."""

import math

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import truncnorm
from torch.testing import assert_close

from examples import examples
from meseta.inference import truncate_above
from meseta.inference.truncated import standard_truncation

# From -1e8 to 40, with the switches at -20 (to the series) and 0 finely sampled.
BETA = torch.from_numpy(
    np.concatenate(
        [
            -np.logspace(8, np.log10(20), 120),
            np.linspace(-20.2, -19.8, 41),
            np.linspace(-19.8, -0.01, 120),
            [-1e-8, 0.0, 1e-8],
            np.linspace(0.01, 40, 120),
        ]
    )
)

NAMES = ["r", "gap", "explained", "remaining"]


def exact_truncation(beta):
    """r = phi / Phi, r + beta, r (r + beta) and 1 - r (r + beta), each to 30 digits or more."""
    # exp(-beta^2 / 2) at -1e8 loses 16 digits, r + beta 16 more, and 1 - r (r + beta) again 16
    with mp.workdps(100):
        b = mp.mpf(beta)
        r = mp.npdf(b) / (mp.erfc(-b / mp.sqrt(2)) / 2)
        return r, r + b, r * (r + b), 1 - r * (r + b)


def exact_slopes(beta):
    """Derivatives in beta: r' = -r (r + beta), and the others by the product rule."""
    with mp.workdps(100):
        r, gap, explained, remaining = exact_truncation(beta)
        slope = r * remaining - gap * explained
        return -explained, remaining, slope, -slope


def exact(function, betas, index):
    return torch.tensor([float(function(b)[index]) for b in betas.tolist()], dtype=torch.double)


@pytest.mark.parametrize("name", NAMES[:3])
def test_moments_of_the_standard_normal_have_eleven_digits(name):
    values, index = getattr(standard_truncation(BETA), name), NAMES.index(name)
    # r underflows beyond 38
    assert_close(values, exact(exact_truncation, BETA, index), rtol=1e-11, atol=1e-300)


def test_variance_of_the_truncated_standard_normal_has_eleven_digits():
    values = standard_truncation(BETA).remaining
    assert_close(values, exact(exact_truncation, BETA, 3), rtol=1e-11, atol=0)


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (-3.0, 0.04), (1e3, 1e6), (0.5, 1e-12)])
def test_moments_of_any_normal_have_eleven_digits(mean, variance):
    m, v = torch.full_like(BETA, mean), torch.full_like(BETA, variance)
    upper = m + v.sqrt() * BETA
    moments = truncate_above(m, v, upper)
    for i in range(0, len(upper), 5):
        # beta anew, from the rounded numbers that went in
        with mp.workdps(100):
            sd = mp.sqrt(mp.mpf(v[i].item()))
            beta = (mp.mpf(upper[i].item()) - mp.mpf(mean)) / sd
            r, gap, explained, remaining = exact_truncation(beta)
            exact_mean = mean - sd * r
            # rounding of upper and mean limits what can be known of beta, and of the result
            fuzz = float(1e-15 * (abs(mean) + abs(upper[i].item())) / sd)
        assert moments.mean[i].item() == pytest.approx(
            float(exact_mean), rel=1e-15, abs=float(1e-11 * sd * min(gap, r)) + fuzz * float(sd)
        )
        # d log(remaining) / d beta and d log(explained) / d beta are at most 1 + |beta|
        tolerance = 1e-11 + fuzz * (1 + abs(float(beta)))
        assert moments.variance[i].item() == pytest.approx(
            float(variance * remaining), rel=tolerance
        )
        assert moments.explained[i].item() == pytest.approx(
            float(explained), rel=tolerance, abs=1e-300
        )


def test_moments_agree_with_scipy():
    beta = np.linspace(-8, 8, 33)
    law = truncnorm(-np.inf, beta, loc=0, scale=1)
    moments = truncate_above(
        torch.zeros(33, dtype=torch.double), torch.ones(33).double(), torch.from_numpy(beta)
    )
    assert_close(moments.mean, torch.from_numpy(law.mean()), rtol=1e-8, atol=1e-12)
    assert_close(moments.variance, torch.from_numpy(law.var()), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_those_of_the_exact_moments(name):
    beta = BETA.clone().requires_grad_()
    (slope,) = torch.autograd.grad(getattr(standard_truncation(beta), name).sum(), beta)
    # next to 40 all of them underflow
    assert_close(slope, exact(exact_slopes, BETA, NAMES.index(name)), rtol=1e-8, atol=1e-290)


@pytest.mark.parametrize("beta", [-500.0, -20.5, -19.5, -3.0, -0.5, 0.5, 3.0, 9.0])
def test_gradients_are_the_slopes_of_the_values(beta):
    mean, sd = 0.4, 0.7
    inputs = torch.tensor([[mean], [sd**2], [mean + beta * sd]], dtype=torch.double)
    inputs.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda m, v, u: tuple(truncate_above(m, v, u)),
        tuple(inputs),
        eps=1e-5,
        atol=1e-7,
        rtol=1e-4,
    )


@examples(60)
@given(
    mean=st.floats(-1e6, 1e6),
    log_variance=st.floats(-12, 12),
    size=st.floats(-8, 8),
    side=st.sampled_from([-1, 1]),
)
def test_truncation_lowers_mean_and_variance_and_has_finite_gradients(
    mean, log_variance, size, side
):
    m = torch.tensor([mean], dtype=torch.double, requires_grad=True)
    v = torch.tensor([10**log_variance], dtype=torch.double, requires_grad=True)
    upper = (m.detach() + side * 10**size * v.detach().sqrt()).requires_grad_()
    moments = truncate_above(m, v, upper)
    for value in moments:
        assert value.isfinite().all()
        for slope in torch.autograd.grad(value.sum(), [m, v, upper], retain_graph=True):
            assert slope.isfinite().all()
    assert moments.mean.item() <= min(upper.item(), mean)
    assert 0 < moments.variance.item() <= v.item()
    assert 0 <= moments.explained.item() <= 1
    # both say the same; rounding of the variance near 0 is what `explained` cannot show
    assert 1 - moments.variance.item() / v.item() == pytest.approx(
        moments.explained.item(), abs=1e-14
    )


def test_higher_truncation_points_leave_more():
    beta = torch.sort(BETA).values
    standard = standard_truncation(beta)
    for rising in (-standard.r, standard.gap, standard.remaining):
        change = rising.diff() / rising[1:].abs().clamp_min(1e-300)
        assert change.min() >= -1e-10


def test_truncation_far_above_changes_nothing():
    m, v = torch.tensor([0.3, -2.0]).double(), torch.tensor([0.5, 4.0]).double()
    for upper in (1e3, 1e100, 1e300):
        moments = truncate_above(m, v, torch.full((2,), upper, dtype=torch.double))
        assert torch.equal(moments.mean, m)
        assert torch.equal(moments.variance, v)
        assert torch.equal(moments.explained, torch.zeros(2, dtype=torch.double))


def test_batches_of_any_shape_are_truncated_one_by_one():
    generator = torch.Generator().manual_seed(0)
    m, u = 10 * torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.double)
    v = torch.rand(3, 4, 5, generator=generator, dtype=torch.double)
    whole = truncate_above(m, v, u)
    one = truncate_above(m[1, 2], v[1, 2], u[1, 2])
    for of_whole, of_one in zip(whole, one, strict=True):
        assert of_whole.shape == (3, 4, 5)
        assert_close(of_whole[1, 2], of_one, rtol=1e-15, atol=0)


def test_truncation_at_infinity_changes_nothing():
    m, v, u = torch.tensor([[0.3], [0.5], [math.inf]], dtype=torch.double)
    moments = truncate_above(m.requires_grad_(), v, u)
    assert moments.mean.item() == 0.3
    assert moments.variance.item() == 0.5
    assert moments.explained.item() == 0.0
    (slope,) = torch.autograd.grad(moments.variance.sum(), m)
    assert slope.item() == 0.0
