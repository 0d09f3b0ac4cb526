"""Parameters: values survive the way to columns and back, nonsense is refused with a remedy."""

import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from meseta import Categorical, Float, Int
from meseta.space.space import Space

whole = st.integers(-(10**9), 10**9)
choices = st.none() | st.booleans() | st.text() | whole | st.floats(allow_nan=False, width=32)


def floats(log=False):
    ends = st.floats(1e-100, 1e100) if log else st.floats(-1e100, 1e100)
    pairs = st.tuples(ends, ends).map(sorted)
    wide = pairs.filter(lambda e: e[1] / e[0] > 1.001 if log else e[1] - e[0] > 1e-100)
    return wide.map(lambda e: Float(*e, log=log))


stepped = st.builds(
    lambda low, step, count: Float(low / 8, (low + step * count) / 8, step=step / 8),
    st.integers(-1000, 1000),
    st.integers(1, 100),
    st.integers(1, 1000),
)
ints = st.builds(
    lambda low, step, count: Int(low, low + step * count, step=step),
    whole,
    st.integers(1, 100),
    st.integers(1, 1000),
)
log_ints = st.builds(
    lambda low, width: Int(low, low + width, log=True), st.integers(1, 1000), st.integers(1, 10**6)
)
categories = (
    st.lists(choices.filter(lambda c: c not in (math.inf, -math.inf)), min_size=2, max_size=6)
    .filter(lambda c: all(a != b for i, a in enumerate(c) for b in c[:i]))
    .map(Categorical)
)
parameters = st.one_of(floats(), floats(log=True), stepped, ints, log_ints, categories)


def admissible(parameter, value):
    """By its own, naive measure."""
    if isinstance(parameter, Categorical):
        return value in parameter.choices
    inside = parameter.low <= value <= parameter.high
    if isinstance(parameter, Int):
        return type(value) is int and inside and (value - parameter.low) % parameter.step == 0
    if parameter.step is None:
        return type(value) is float and inside
    steps = (value - parameter.low) / parameter.step
    return type(value) is float and inside and abs(steps - round(steps)) < 1e-6


@given(parameters, st.data())
def test_every_place_between_the_ends_is_an_admissible_value(parameter, data):
    x = [data.draw(st.floats(low, high)) for low, high in parameter.ends]
    value = parameter.from_columns(x)
    assert admissible(parameter, value)
    assert parameter.nearest(value) == value
    assert parameter.read("it", value) == value


@given(parameters, st.data())
def test_values_survive_the_way_to_columns_and_back(parameter, data):
    x = [data.draw(st.floats(low, high)) for low, high in parameter.ends]
    value = parameter.from_columns(x)
    columns = parameter.to_columns(value)
    assert len(columns) == len(parameter.ends)
    again = parameter.from_columns(columns)
    # exp and log are rounded; everything else is the same
    exact = isinstance(parameter, Categorical | Int) or not parameter.log
    assert again == (value if exact else pytest.approx(value, rel=1e-12))
    for at, (low, high) in zip(columns, parameter.ends, strict=True):
        assert low <= at <= high


def with_evaluate(parameter, below, above):
    """Experiments beyond by a share of the range, in whole steps where there are any."""
    width = parameter.high - parameter.low
    if parameter.step is not None:
        ends = parameter.low - below * parameter.step, parameter.high + above * parameter.step
    elif parameter.log:
        ends = parameter.low / (1 + below), parameter.high * (1 + above)
    else:
        ends = parameter.low - below * width, parameter.high + above * width
    return Float(
        parameter.low, parameter.high, log=parameter.log, step=parameter.step, evaluate=ends
    )


@given(
    st.one_of(floats(), floats(log=True), stepped),
    st.integers(0, 5),
    st.integers(1, 5),
    st.lists(st.floats(0, 1), min_size=1),
)
def test_experiments_beyond_the_range_are_admissible_ones(parameter, below, above, shares):
    wider = with_evaluate(parameter, below, above)
    assert wider.ends == parameter.ends  # designs are what they were
    assert wider.count == parameter.count
    space = Space({"x": wider})
    domain = space.experiments
    unit = torch.tensor(shares, dtype=torch.double)[:, None]
    rows = torch.cat([domain.bounds, domain.placed(unit), domain.snap(domain.bounds * 1.5)])
    for row in rows:
        value = space.from_cube(row)["x"]
        low, high = wider.evaluate
        assert low <= value <= high
        assert admissible(wider.experiments, value)
    inside = space.cube.placed(unit)
    assert all(admissible(parameter, space.from_cube(row)["x"]) for row in inside)
    assert pickle.loads(pickle.dumps(wider)) == wider
    assert eval(repr(wider), {"Float": Float}) == wider


@given(parameters)
def test_a_parameter_is_a_value(parameter):
    assert eval(repr(parameter)) == parameter
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert isinstance(hash(parameter), int)
    with pytest.raises(AttributeError):
        parameter.low = 3


@given(st.one_of(stepped, ints))
def test_as_many_values_as_counted(parameter):
    ((low, high),) = parameter.ends
    last = parameter.count - 1
    found = [parameter.from_columns([low + (high - low) * i / last]) for i in range(last + 1)]
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (parameter.low, parameter.high)


def test_steps_are_numbers_as_people_write_them():
    dose = Float(0, 1, step=0.1)
    assert [dose.from_columns([i / 10]) for i in range(11)] == [
        *(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    ]
    assert dose.from_columns([0.33]) == dose.nearest(0.33) == 0.3
    assert (dose.nearest(-7.0), dose.nearest(7.0)) == (0.0, 1.0)
    thirds = Float(0, 1, step=1 / 3)
    assert (thirds.count, thirds.from_columns([0.99])) == (4, 1.0)


def test_numbers_told_may_lie_outside_and_between_the_steps():
    assert Float(0, 1, step=0.1).read("it", np.float32(1.25)) == 1.25
    assert Int(0, 10, step=5).read("it", 12.0) == 12
    assert type(Int(0, 10).read("it", torch.tensor(3))) is int
    assert Int(0, 10).from_columns([12.2]) == 12
    assert Float(1e-3, 1, log=True).read("it", 20) == 20.0


@pytest.mark.parametrize(
    ("choices", "value", "read"),
    [
        (["a", "b"], np.str_("b"), "b"),
        ([16, 32, 64], np.int64(32), 32),
        ([16, 32, 64], 32.0, 32),
        ([None, 0.5], None, None),
        ((True, False), np.True_, True),
        (np.array([1.5, 2.5]), torch.tensor(2.5), 2.5),
    ],
)
def test_a_choice_is_read_as_it_stands_in_the_list(choices, value, read):
    parameter = Categorical(choices)
    found = parameter.read("it", value)
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Float(1, 1), "leave a fixed parameter out"),
        (lambda: Float(2, 1), r"\(2, 1\); swap its ends"),
        (lambda: Float("0", 1), "must be a number, got '0'"),
        (lambda: Float(0, math.inf), "must be finite"),
        (lambda: Float(0, 1, log=True), "must start above 0, got low=0.0"),
        (lambda: Float(-1, 1, log=True), "must start above 0"),
        (lambda: Float(1, 2, log=1), "log must be True or False, got 1"),
        (lambda: Float(1e300, math.nextafter(1e300, 2e300), log=True), "too narrow"),
        (lambda: Float(0, 1, step=0), "greater than 0"),
        (lambda: Float(0, 1, step=-0.1), "greater than 0"),
        (lambda: Float(0, 1, step="0.1"), "must be a number"),
        (lambda: Float(0, 1, step=0.3), "the nearest that fits is high=0.9"),
        (lambda: Float(0, 1, step=0.35), "the nearest that fits is high=1.05"),
        (lambda: Float(0, 1, step=3), "the nearest that fits is high=3.0"),
        (lambda: Float(0, 1, step=1e-12), r"1e\+12 steps.*leave step out"),
        (lambda: Float(1, 2, log=True, step=0.5), "either a logarithmic scale or steps"),
        (lambda: Float(0, 1, evaluate=(0.1, 2)), r"\(0.1, 2.0\) must hold the range"),
        (lambda: Float(0, 1, evaluate=(-1, 0.9)), "must hold the range of the designs"),
        (lambda: Float(0, 1, evaluate=(2, -1)), "swap its ends"),
        (lambda: Float(0, 1, evaluate=2), r"must be \(low, high\), got 2"),
        (lambda: Float(0, 1, evaluate=(-math.inf, 2)), "must be finite"),
        (lambda: Float(1, 2, log=True, evaluate=(0, 3)), "must start above 0, got low=0.0"),
        (lambda: Float(0, 1, step=0.1, evaluate=(-0.25, 1)), "by whole steps of 0.1"),
        (lambda: Int(1, 1), "leave a fixed parameter out"),
        (lambda: Int(2, 1), "swap its ends"),
        (lambda: Int(0.5, 2), "must be a whole number, got 0.5"),
        (lambda: Int(True, 2), "must be a number, got True"),
        (lambda: Int(0, 2**54), r"within ±2\*\*53"),
        (lambda: Int(0, 8, log=True), "must start above 0"),
        (lambda: Int(1, 9, log=True, step=2), "either a logarithmic scale or steps"),
        (lambda: Int(0, 10, step=0), "at least 1"),
        (lambda: Int(0, 10, step=2.5), "must be a whole number"),
        (lambda: Int(0, 10, step=3), "the nearest that fits is high=9"),
        (lambda: Int(0, 1, step=5), "the nearest that fits is high=5"),
        (lambda: Categorical([]), "two or more choices"),
        (lambda: Categorical(["a"]), "leave a fixed parameter out"),
        (lambda: Categorical("ab"), "takes a list"),
        (lambda: Categorical({"a", "b"}), "takes a list"),
        (lambda: Categorical(["a", "a"]), "must be distinct"),
        (lambda: Categorical([1, True]), "1 and True, which are equal"),
        (lambda: Categorical([["a"], "b"]), r"must be a string.*got \['a'\]"),
        (lambda: Categorical([math.nan, 1]), "must be a string, a finite number"),
    ],
)
def test_nonsense_is_refused(make, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        make()


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (Categorical(["water", "ethanol"]), "ethanl", "no choice 'ethanl'.*mean 'ethanol'"),
        (Categorical(["water", "ethanol"]), ["water"], "must be one of its choices"),
        (Categorical([True, False]), 1, "no choice 1"),
        (Categorical([1, 2]), True, "no choice True"),
        (Categorical([1, 2]), "2", r"no choice '2' \(did you mean 2\?\)"),
        (Int(1, 8), 2.5, "whole number, got 2.5"),
        (Int(1, 8), "2", "must be a number"),
        (Int(1, 8, log=True), 0, "greater than 0"),
        (Float(1e-3, 1, log=True), -1.0, "greater than 0, since its scale is logarithmic"),
        (Float(0, 1), math.nan, "finite"),
    ],
)
def test_values_that_cannot_be_are_refused(parameter, value, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        parameter.read("it", value)
