"""Costs of tolerances: formulas are read, never executed, and refused with a reason."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from meseta.space.formula import read_formula
from meseta.space.price import Grades, Price, read_price, read_prices

SOUND = {
    "12 / width": lambda w: 12 / w,
    "3 + 0.5 * width ^ -1.2": lambda w: 3 + 0.5 * w**-1.2,
    "3+.5*width**-1.2": lambda w: 3 + 0.5 * w**-1.2,
    "-0.731 + 0.058 / width^0.688": lambda w: -0.731 + 0.058 / w**0.688,
    "exp(-width * 2) - -1": lambda w: math.exp(-2 * w) + 1,
    "sqrt(1 / width) / (1 + width)": lambda w: math.sqrt(1 / w) / (1 + w),
    "-log(width)": lambda w: -math.log(w),
    "2 ^ 3 ^ 2 / width": lambda w: 2**9 / w,
    "-width ^ 2 + 10": lambda w: -(w**2) + 10,
    "8 / 4 / width": lambda w: 2 / w,
    "1e-3/width - 1 - 2": lambda w: 1e-3 / w - 3,
}


@pytest.mark.parametrize("text", SOUND)
def test_formulas_are_those_of_python_and_can_be_differentiated(text):
    formula = read_formula(text, "width")
    for width in (0.003, 0.4, 7.0):
        expected = SOUND[text](width)
        assert formula(width) == pytest.approx(expected)
        w = torch.tensor([width], dtype=torch.double, requires_grad=True)
        value = formula(w)
        assert float(value.detach()) == pytest.approx(expected)
        step = 1e-6 * width
        slope = (SOUND[text](width + step) - SOUND[text](width - step)) / (2 * step)
        assert float(torch.autograd.grad(value.sum(), w)[0]) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be a formula"),
        ("12", "must have width in it"),
        ("12 / wdith", "did you mean 'width'"),
        ("12 / (width", "bracket that is not closed"),
        ("12 / width)", "must have a sign before"),
        ("12 width", "must have a sign before"),
        ("12 /", "ends where a number is expected"),
        ("* width", "where a number is expected"),
        ("sqrt width", "must have brackets after sqrt"),
        ("__import__('os')", "not known"),
        ("width.real", "not known"),
        ("12; width", "not known"),
        ("12,5 / width", "not known"),
        ("(" * 60 + "width" + ")" * 60, "too many brackets"),
    ],
)
def test_what_is_no_formula_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        read_formula(text, "width")


@given(st.text(alphabet="0123456789.+-*/^() widthsqrtexplog_'\"", max_size=40))
@examples(200)
def test_any_text_is_read_or_refused(text):
    try:
        formula = read_formula(text, "width")
    except ValueError:
        return
    number = formula.number(0.5)
    assert number is None or math.isfinite(number)


def test_grades_are_sorted_and_exact():
    price = read_price({"0.02": 25, "0.01": 40, 0.1: 3})
    assert price.cost == Grades((0.01, 0.02, 0.1), (40.0, 25.0, 3.0))
    assert price.ends(0.5) == (0.01, 0.1)
    assert price.cost.number(0.02) == 25
    assert price.cost.number(0.03) is None


@pytest.mark.parametrize(
    ("cost", "between", "says"),
    [
        ({}, None, "at least one grade"),
        ({"0,01": 3}, None, "write '0.01'"),
        ({"-1": 3}, None, "widths above 0"),
        ({"a": 3}, None, "widths above 0"),
        ({"0.1": 3, 0.1: 4}, None, "twice"),
        ({"0.1": "x"}, None, "number"),
        ({"0.1": 3}, (0.1, 0.2), "drop width"),
        ("1 / width", (0.2, 0.1), "the lower one first"),
        ("1 / width", (0.0, 0.1), "above 0"),
        ("1 / width", 3, "two numbers"),
        (3, None, "formula"),
        ({"0.1": -3}, None, "0 or more"),
    ],
)
def test_what_is_no_price_is_refused(cost, between, says):
    with pytest.raises((TypeError, ValueError), match=says):
        read_price(cost, between)


def test_a_formula_is_looked_at_where_it_is_used():
    assert read_price("1 / width").ends(0.3) == pytest.approx((0.03, 3.0))
    with pytest.raises(ValueError, match="grows with the width"):
        read_price("12 * width").check(0.1)
    with pytest.raises(ValueError, match="no finite number"):
        read_price("1e9 - 1 / (width - 0.1)").check(0.1)
    with pytest.raises(ValueError, match="no finite number"):
        read_price("sqrt(width - 1)").check(0.1)
    read_price("1 / (width - 0.1)", (0.2, 1.0)).check(0.1)


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        # of widths from 0.1 to 10, all are sound at both ends
        ("(width - 1) ^ 2 - 0.01 * width", r"negative \(-0.0\d+\) where width is 0.9"),
        ("1 / (width - 0.101) ^ 2", "grows with the width, from .* where width is 0.1 to"),
        ("3 - width + 0.3 * width ^ 2", r"grows with the width.* where width is 1.6\d+ to"),
        ("1 / (width - 3.3) + 5", "negative"),
        ("1 / (width - 3.3) + 5e6", "grows with the width.* where width is 3.2"),
        (
            "20 - width + 0 * sqrt((width - 2.1) * (width - 2))",
            "no finite number where width is 2.0",
        ),
    ],
)
def test_a_formula_is_looked_at_between_its_ends(cost, says):
    with pytest.raises(ValueError, match=says):
        read_price(cost).check(1.0)


def test_a_cost_may_stay_the_same_or_be_nothing():
    read_price("0 * width").check(1.0)
    read_price("12 * width / width").check(1.0)  # which rounds


def test_prices_are_those_of_parameters():
    made = read_prices({"a": "1/width"}, {"a": (0.1, 1)}, ["a", "b"])
    assert isinstance(made["a"], Price)
    for costs, widths, says in (
        ({"c": "1/width"}, None, "unknown|no such|did you mean|parameter"),
        ({"a": "1/width"}, {"b": (1, 2)}, "no cost"),
        ([1], None, "must be a dict"),
        ({"a": "1/wide"}, None, "cost of 'a' has a word"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            read_prices(costs, widths, ["a", "b"])
