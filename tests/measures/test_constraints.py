"""Constraints: what is refused, and their margins against brute force."""

import math

import pytest
import torch

import meseta
from meseta.measures.constraints import Margin


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: meseta.AtMost(1.0, probability=1.0), "from 0.5 to 0.99999, got 1.0; write 0.9999"),
        (lambda: meseta.AtMost(1.0, probability=95), "write 0.95 for 95 %"),
        (lambda: meseta.AtLeast(1.0, probability=0.2), "from 0.5 to 0.99999"),
        (lambda: meseta.AtLeast("low"), "the limit of AtLeast must be a number, got 'low'"),
        (lambda: meseta.AtMost(math.nan), "must be finite"),
        (lambda: meseta.Between(2.0, 1.0), "must run from low to high"),
    ],
)
def test_silly_constraints_are_refused_by_name(make, words):
    with pytest.raises((TypeError, ValueError), match=words.replace("(", r"\(")):
        make()


def test_words_and_representations():
    assert meseta.AtMost(250).in_words() == "at most 250"
    assert meseta.AtLeast(0.5).in_words() == "at least 0.5"
    assert meseta.Between(1, 2).in_words() == "from 1 to 2"
    assert repr(meseta.AtMost(250, 0.99)) == "AtMost(250, probability=0.99)"
    assert meseta.AtMost(250).probability == 0.95
    assert meseta.AtMost(1) == meseta.AtMost(1.0) != meseta.AtMost(2)


@pytest.mark.parametrize(
    "constraint", [meseta.AtMost(0.7), meseta.AtLeast(-0.4), meseta.Between(-1, 1)]
)
@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (3.0, 10.0)])
def test_a_margin_is_not_negative_where_the_limits_are_kept(constraint, offset, scale):
    generator = torch.Generator().manual_seed(0)
    weights = torch.full((20_000,), 1 / 20_000, dtype=torch.double)
    margin = constraint.margin(offset, scale)
    assert isinstance(margin, Margin)
    for spread in (0.1, 0.3, 0.42, 0.5, 0.62, 1.0):
        values = spread * torch.randn(20_000, generator=generator, dtype=torch.double)
        kept = ((values >= constraint.low) & (values <= constraint.high)).double().mean()
        inside = (values - offset) / scale
        assert margin.kept(inside, weights).item() == pytest.approx(kept.item(), abs=1e-9)
        assert (margin.exactly(inside, weights) >= 0) == (kept >= 0.95)
        assert margin.of(inside, weights).item() == pytest.approx(
            margin.exactly(inside, weights).item(), abs=0.02 / scale
        )
        in_raw = scale * margin.exactly(inside, weights)
        assert in_raw.item() == pytest.approx(constraint.margin().exactly(values, weights).item())
