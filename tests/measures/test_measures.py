"""Measures of values in use: against definitions, in both directions, gradients, refusals."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from meseta import CVaR, MeanStd, OnTarget, Quantile, WorstCase, Yield
from meseta.measures import Mean, read_measure

measures = st.one_of(
    st.just(Mean()),
    st.floats(0.01, 0.5).map(Quantile),
    st.floats(0.01, 0.5).map(CVaR),
    st.just(CVaR(1)),
    st.floats(0, 4).map(MeanStd),
    st.just(WorstCase()),
    st.floats(-2, 2).map(OnTarget),
    st.tuples(st.floats(-2, 0), st.floats(0.1, 2)).map(lambda e: Yield(*e)),
    st.floats(-2, 2).map(lambda low: Yield(low=low)),
    st.floats(-2, 2).map(lambda high: Yield(high=high)),
)


def naive(measure, values):
    """By the definition, of equally likely values where high is good."""
    ranked = np.sort(values)
    n = len(ranked)
    match measure:
        case Quantile(share=share):
            return ranked[math.ceil(share * n - 1e-9) - 1]
        case CVaR(share=share):
            whole = int(share * n)
            part = share * n - whole
            rest = part * ranked[whole] if whole < n else 0.0
            return (ranked[:whole].sum() + rest) / (share * n)
        case MeanStd(k=k):
            return values.mean() - k * values.std()
        case WorstCase():
            return ranked[0]
        case OnTarget(target=target):
            return -np.mean((values - target) ** 2)
        case Yield(low=low, high=high):
            return np.mean((values >= low) & (values <= high))
    return values.mean()


@given(measures, st.integers(0, 10**6), st.integers(5, 300))
@examples(200)
def test_measures_are_what_their_names_say(measure, seed, num):
    values = np.random.default_rng(seed).standard_normal((3, num))
    weights = torch.full((3, num), 1 / num, dtype=torch.double)
    exact = measure.exactly(torch.tensor(values), weights)
    expected = [naive(measure, row) for row in values]
    np.testing.assert_allclose(exact.numpy(), expected, rtol=1e-9, atol=1e-9)


@given(measures, st.integers(0, 10**6))
@examples(100)
def test_weights_stand_for_repeated_values(measure, seed):
    rng = np.random.default_rng(seed)
    values, counts = rng.standard_normal(12), rng.integers(0, 5, 12)
    counts[0] += 1
    weights = torch.tensor(counts / counts.sum())
    weighted = measure.exactly(torch.tensor(values), weights)
    repeated = np.repeat(values, counts)
    assert float(weighted) == pytest.approx(naive(measure, repeated), abs=1e-8)


@given(measures, st.integers(0, 10**6))
@examples(60)
def test_the_smooth_version_is_close_with_many_values(measure, seed):
    values = torch.tensor(np.random.default_rng(seed).standard_normal(20000))
    weights = torch.full_like(values, 1 / len(values))
    smooth, exact = measure.of(values, weights), measure.exactly(values, weights)
    assert float(smooth) == pytest.approx(float(exact), abs=0.02)


@given(measures, st.integers(0, 10**6))
@examples(60)
def test_gradients_are_the_change_with_the_values(measure, seed):
    values = torch.tensor(np.random.default_rng(seed).standard_normal(40))
    weights = torch.full_like(values, 1 / 40)
    step = 1e-6 * torch.tensor(np.random.default_rng(seed + 1).standard_normal(40))
    at = values.clone().requires_grad_()
    (slope,) = torch.autograd.grad(measure.of(at, weights), at)
    change = measure.of(values + step, weights) - measure.of(values - step, weights)
    if isinstance(measure, Yield):  # its width follows the spread, which counts as fixed
        assert float(change / 2) == pytest.approx(float(slope @ step), abs=2e-7)
    else:
        assert float(change / 2) == pytest.approx(float(slope @ step), rel=1e-4, abs=1e-12)


@given(measures, st.floats(-5, 5), st.floats(0.1, 5), st.booleans(), st.integers(0, 10**6))
@examples(100)
def test_units_and_signs_come_and_go(measure, offset, scale, turned, seed):
    """In the units of a model, whose sign is turned where values are minimised."""
    values = np.random.default_rng(seed).standard_normal(50)  # of the user
    scale = -scale if turned else scale
    inside = torch.tensor((values - offset) / scale)
    weights = torch.full_like(inside, 1 / 50)
    rho = measure.in_units(offset, scale).exactly(inside, weights)
    raw = measure.raw(float(rho), offset, scale)
    if measure.direction is None:  # the worst of values that are minimised are the highest
        expected = -naive(measure, -values) if turned else naive(measure, values)
    else:
        expected = naive(measure, values) * (-1 if isinstance(measure, OnTarget) else 1)
    assert raw == pytest.approx(expected, abs=1e-8)


def test_a_constant_has_every_measure():
    values, weights = torch.full((50,), 3.0).double(), torch.ones(50).double() / 50
    for measure in (Quantile(0.05), CVaR(0.1), MeanStd(2), WorstCase()):
        at = values.clone().requires_grad_()
        rho = measure.of(at, weights)
        assert rho.item() == pytest.approx(3.0, abs=1e-8)
        assert torch.autograd.grad(rho, at)[0].isfinite().all()
    assert float(Yield(low=2).of(values, weights)) == pytest.approx(1.0)
    assert float(Yield(low=4).of(values, weights)) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Quantile(0), "between 0 and 1"),
        (lambda: Quantile(1.5), "between 0 and 1"),
        (lambda: Quantile(0.95), r"Quantile\(0.05\) looks at the others"),
        (lambda: Quantile("5 %"), "must be a number"),
        (lambda: CVaR(0.9), r"CVaR\(0.1\) looks at the others"),
        (lambda: CVaR(-0.1), "between 0 and 1"),
        (lambda: MeanStd(-1), "must not be negative"),
        (lambda: MeanStd(math.inf), "must be finite"),
        (lambda: WorstCase(1.2), "between 0 and 1"),
        (lambda: OnTarget(None), "must be a number"),
        (lambda: OnTarget(math.nan), "must be finite"),
        (lambda: Yield(), "needs a limit"),
        (lambda: Yield(2, 1), "from low to high"),
        (lambda: read_measure("median"), "median"),
        (lambda: read_measure("quantile"), "takes one number"),
        (lambda: read_measure("quantile 5 %"), "must be meseta.Quantile"),
        (lambda: read_measure("yield 1"), "two limits"),
        (lambda: read_measure("mean 1"), "takes no number"),
        (lambda: read_measure(""), "measure"),
        (lambda: read_measure(0.05), "must be meseta.Quantile"),
        (lambda: read_measure(Quantile), "must be meseta.Quantile"),
    ],
)
def test_silly_measures_are_refused(make, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        make()


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        ("mean", Mean()),
        ("quantile 0.05", Quantile(0.05)),
        ("cvar 0.1", CVaR(0.1)),
        ("mean-std 2", MeanStd(2)),
        ("worst-case", WorstCase()),
        ("worst-case 0.99", WorstCase(0.99)),
        ("on-target -70", OnTarget(-70)),
        ("yield 0.8 inf", Yield(low=0.8)),
        ("yield -inf 1.2", Yield(high=1.2)),
        ("yield 0.8 1.2", Yield(0.8, 1.2)),
    ],
)
def test_measures_have_words(words, measure):
    assert read_measure(words) == measure
    assert read_measure(measure) is measure
    assert measure.in_words()
