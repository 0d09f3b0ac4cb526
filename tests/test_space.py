"""Named parameters: a round trip for what fits, a clear refusal for what does not."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gp_models import tensor
from meseta import Independent, Normal, Uniform
from meseta.named_noise import read_noise
from meseta.space import Space

SPACE = Space({"angle": (-10, 45), "speed": (4.1, 5.0)})
finite = st.floats(-1e100, 1e100)
spaces = st.dictionaries(
    st.text(min_size=1).filter(str.strip),
    st.tuples(finite, finite).filter(lambda ends: abs(ends[0] - ends[1]) > 1e-100).map(sorted),
    min_size=1,
    max_size=8,
).map(Space)


@given(spaces, st.data())
def test_params_survive_the_round_trip(space, data):
    params = {name: data.draw(finite) for name in space.names}
    shuffled = data.draw(st.permutations(list(params)))
    x = space.to_tensor({name: params[name] for name in shuffled})
    assert x.dtype == torch.double
    assert space.to_params(x) == params
    assert list(space.to_params(x)) == list(space.names)


@given(spaces)
def test_a_space_is_a_value(space):
    assert Space(space.ranges) == space
    assert hash(Space(space.ranges)) == hash(space)
    assert pickle.loads(pickle.dumps(space)) == space
    assert space.bounds.tolist() == [list(space.low), list(space.high)]
    assert space.bounds.shape == (2, space.dimension)


def test_plain_floats_come_out():
    params = SPACE.to_params(SPACE.to_tensor({"speed": np.float32(4.5), "angle": 3}))
    assert params == {"angle": 3.0, "speed": 4.5}
    assert all(type(value) is float for value in params.values())


@pytest.mark.parametrize(
    "value", [3, 3.0, np.float32(3), np.int8(3), np.array(3.0), torch.tensor(3), Fraction(3)]
)
def test_every_kind_of_number_is_read(value):
    assert SPACE.read({"angle": value, "speed": 99.0}) == {"angle": 3.0, "speed": 99.0}


@pytest.mark.parametrize("ends", [[0, 1], np.array([0, 1]), torch.tensor([0.0, 1.0])])
def test_a_range_may_be_any_pair(ends):
    assert Space({"x": ends}).ranges == {"x": (0.0, 1.0)}


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ({}, "one range per parameter.*empty"),
        ([("x", (0, 1))], "a space is a dict"),
        ({"x": (1, 1)}, "'x'.*leave a fixed parameter out"),
        ({"x": (2, 1)}, r"'x'.*\(2, 1\).*swap"),
        ({"x": (0, math.inf)}, "'x' must be finite, got inf"),
        ({"x": (math.nan, 1)}, "'x' must be finite"),
        ({"x": (-1e308, 1e308)}, "'x' is too wide"),
        ({"x": (False, True)}, "'x' must be a number, got False"),
        ({"x": ("0", "1")}, "'x' must be a number, got '0'"),
        ({"x": (0, 10**400)}, "'x' must be finite"),
        ({"x": (0, 1, 2)}, r"'x' must be \(low, high\)"),
        ({"x": "01"}, "'x' must be a number"),
        ({"x": 3}, r"'x' must be \(low, high\), got 3"),
        ({"x": {0, 1}}, r"'x' must be \(low, high\)"),
        ({0: (0, 1)}, "must be a string, got 0"),
        ({"": (0, 1)}, "needs a name"),
        ({" ": (0, 1)}, "needs a name"),
    ],
)
def test_what_makes_no_space_is_refused(ranges, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        Space(ranges)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"angle": 1.0}, "speed is missing"),
        ({}, "angle, speed is missing"),
        ({"angel": 1.0, "speed": 4.5}, "no parameter 'angel'.*mean 'angle'"),
        ({"angle": 1.0, "speed": 4.5, "mass": 2.0}, "no parameter 'mass', only 'angle', 'speed'"),
        ({"angle": 1.0, "speed": 4.5, 3: 2.0}, "no parameter 3"),
        ({"angle": math.nan, "speed": 4.5}, "'angle' must be finite, got nan"),
        ({"angle": 1.0, "speed": -math.inf}, "'speed' must be finite"),
        ({"angle": "1", "speed": 4.5}, "'angle' must be a number, got '1'"),
        ({"angle": True, "speed": 4.5}, "'angle' must be a number, got True"),
        ({"angle": None, "speed": 4.5}, "'angle' must be a number"),
        ({"angle": Decimal(1), "speed": 4.5}, "'angle' must be a number"),
        ({"angle": np.array([1.0]), "speed": 4.5}, "'angle' must be a number"),
        ({"angle": torch.tensor(True), "speed": 4.5}, "'angle' must be a number"),
        ([1.0, 4.5], "must be a dict"),
    ],
)
def test_params_that_do_not_fit_are_refused(params, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        SPACE.to_tensor(params)


COVARIANCE = [[9.0, 0.06], [0.06, 0.0025]]


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        ({"speed": Normal(0.05), "angle": Normal(3.0)}, Normal([3.0, 0.05])),
        ({"speed": Uniform(0.05), "angle": Uniform(3.0)}, Uniform([3.0, 0.05])),
        ({"speed": Normal(0.05)}, Normal([0.0, 0.05])),
        ({"speed": Uniform([0.05])}, Uniform([0.0, 0.05])),
        (
            {"speed": Uniform(0.05), "angle": Normal(3)},
            Independent([Normal(3.0), Uniform(0.05)]),
        ),
        ({}, Normal([0.0, 0.0])),
        (None, Normal([0.0, 0.0])),
        (Normal(0.1), Normal([0.1, 0.1])),
        (Normal([3.0, 0.05]), Normal([3.0, 0.05])),
        (Normal(covariance=COVARIANCE), Normal(covariance=COVARIANCE)),
    ],
)
def test_noise_is_named_by_parameter_or_joint_or_none(noise, law):
    assert read_noise(noise, SPACE) == law


def test_a_joint_law_is_in_the_order_of_the_space():
    law = read_noise({"speed": Uniform(0.05), "angle": Normal(3.0)}, SPACE)
    torch.testing.assert_close(law.covariance_matrix, torch.diag(tensor([9.0, 0.05**2 / 3])))


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ({"angel": Normal(3.0)}, "unknown parameter.*'angel'.*mean 'angle'"),
        ({7: Normal(3.0)}, "unknown parameter.*7"),
        ({"angle": 3.0}, r"noise of 'angle' must be a law.*got 3.0; write Normal\(3.0\)"),
        ({"angle": None}, "noise of 'angle' must be a law"),
        ({"angle": Normal}, "noise of 'angle' must be a law"),
        ({"angle": Normal([3.0, 0.05])}, "'angle' must be the law of one number.*joint law"),
        ({"angle": Normal(covariance=COVARIANCE)}, "'angle' must be the law of one number"),
        (3.0, r"noise must be a law.*write Normal\(3.0\)"),
        ([Normal(3.0), Normal(0.1)], "noise must be a law"),
        (Normal, "noise must be a law"),
        (Normal([1.0, 2.0, 3.0]), "3 values but x has 2 parameters"),
        (Normal(covariance=torch.eye(3)), "3 x 3 but x has 2"),
    ],
)
def test_noise_that_fits_no_parameter_is_refused(noise, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        read_noise(noise, SPACE)


@pytest.mark.parametrize(
    ("space", "noise", "expected"),
    [
        ({"x": (0, 5e-324)}, None, "too narrow"),
        ({"x": np.array(3.0)}, None, r"'x' must be \(low, high\)"),
        ({"x": (0, 1e-9)}, Normal(1e300), "same units"),
        ({"x": (0, 1)}, {"y": Normal(0.1)}, "no parameter 'y', only 'x'"),
        ({"x": (0, 1)}, {"x": np.float32(0.5)}, r"write Normal\(0.5\)"),
    ],
)
def test_what_floating_point_cannot_hold_is_refused_at_once(space, noise, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        read_noise(noise, Space(space))


def test_a_point_beyond_floating_point_is_refused():
    with pytest.raises(ValueError, match="too far outside its range"):
        Space({"x": (0, 1e-9)}).read({"x": 1e308})
