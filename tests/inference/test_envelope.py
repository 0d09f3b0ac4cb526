"""E max of lines against mpmath, quadrature and each other."""

from itertools import pairwise

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, some
from gp_models import normal, tensor
from meseta.inference.envelope import log_expected_gain


def by_envelope(a, b):
    """The exact expectation, all lines included, with 60 digits: integrate piece by piece."""
    with mpmath.workdps(60):
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        lines = [(mpmath.mpf(x), mpmath.mpf(y)) for x, y in pairs]
        crossings = sorted(
            {
                (p[0] - q[0]) / (q[1] - p[1])
                for i, p in enumerate(lines)
                for q in lines[:i]
                if p[1] != q[1]
            }
        )
        ends = [mpmath.ninf, *crossings, mpmath.inf]
        total = mpmath.mpf(0)
        start = max(lines, key=lambda line: line[0])
        for low, high in pairwise(ends):
            if low == mpmath.ninf:
                middle = high - 1
            else:
                middle = low + 1 if high == mpmath.inf else (low + high) / 2
            best = max(lines, key=lambda line: line[0] + line[1] * middle)
            mass = mpmath.ncdf(high) - mpmath.ncdf(low)
            first = mpmath.npdf(low) - mpmath.npdf(high)
            total += (best[0] - start[0]) * mass + best[1] * first
        return mpmath.log(total)


@pytest.mark.parametrize("seed", range(8))
def test_few_lines_are_exact_when_every_one_of_them_counts(seed):
    """Two lines cross once, so none can hide between two nodes."""
    a, b = normal(2, seed=seed), normal(2, seed=seed + 100)
    exact = float(by_envelope(a, b))
    assert log_expected_gain(a, b[None]).item() == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("distance", [1.0, 5.0, 7.0, 20.0, 60.0, 1e3, 9e4])
@pytest.mark.parametrize("slope", [1e-12, 1e-3, 1.0])
def test_gains_of_any_size_keep_their_digits(distance, slope):
    a, b = tensor([0.0, -distance * slope]), tensor([0.0, slope])
    with mpmath.workdps(40 + int(distance**2 / 4) if distance < 100 else 50):
        t = mpmath.mpf(a[1].item()) / mpmath.mpf(slope) * -1
        if distance < 100:
            exact = mpmath.log(mpmath.npdf(t) - t * mpmath.ncdf(-t))
        else:  # phi(t) / t^2 (1 - 3 / t^2 + ...)
            exact = (
                -(t**2) / 2
                - mpmath.log(mpmath.sqrt(2 * mpmath.pi))
                + mpmath.log(1 / t**2 - 3 / t**4 + 15 / t**6)
            )
        exact = float(exact + mpmath.log(mpmath.mpf(slope)))
    assert log_expected_gain(a, b[None]).item() == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("seed", some(range(2), 2))
def test_many_lines_are_a_close_lower_bound(seed):
    a, b = -(normal(100, seed=seed) ** 2), normal(100, seed=seed + 50)
    exact = float(by_envelope(a, b))
    value = log_expected_gain(a, b[None]).item()
    assert exact - 0.01 <= value <= exact + 1e-12


def test_a_smooth_envelope_is_low_by_half_a_percent():
    """max_t (t z - t^2 / 2) = z^2 / 2, whose expectation is 1/2."""
    t = torch.linspace(-6, 6, 20_001, dtype=torch.double)
    gain = log_expected_gain(-0.5 * t**2, t[None]).exp().item()
    assert 0.5 * (1 - 0.006) <= gain <= 0.5


def test_no_gain_and_gradients():
    a = tensor([0.3, 0.3, 0.1])
    assert log_expected_gain(a, torch.ones(1, 3, dtype=torch.double)).item() < -1e9
    b = normal(6, 3, seed=0).requires_grad_()
    assert torch.autograd.gradcheck(lambda b: log_expected_gain(a, b), b)
    flat = torch.zeros(2, 3, dtype=torch.double, requires_grad=True)
    (gradient,) = torch.autograd.grad(log_expected_gain(a, flat).sum(), flat)
    assert gradient.isfinite().all()


@examples(40)
@given(
    seed=st.integers(0, 10_000),
    shift=st.floats(-1e3, 1e3),
    scale=st.floats(-6, 3).map(lambda u: 10.0**u),
)
def test_shift_scale_and_common_slope(seed, shift, scale):
    """A shift of all lines changes nothing, a common slope neither, a factor is a factor."""
    a, b = normal(12, seed=seed), normal(1, 12, seed=seed + 1)
    value = log_expected_gain(a, b)
    assert log_expected_gain(scale * a, scale * b).item() == pytest.approx(
        (value + tensor(scale).log()).item(), abs=1e-6
    )
    assert log_expected_gain(a + shift, b).item() == pytest.approx(value.item(), abs=1e-6)
    assert log_expected_gain(a, b + 0.3).item() == pytest.approx(value.item(), abs=0.02)
