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
from meseta import Categorical, Float, Independent, Int, Normal, Uniform
from meseta.space.named_noise import read_noise
from meseta.space.space import Space

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
        ({}, "angle, speed are missing"),
        ({"angel": 1.0, "speed": 4.5}, "no parameter 'angel'.*mean 'angle'"),
        ({"angle": 1.0, "speed": 4.5, "mass": 2.0}, "no parameter 'mass', only 'angle', 'speed'"),
        ({"angle": 1.0, "speed": 4.5, 3: 2.0}, "no parameter 3"),
        ({"angle": math.nan, "speed": 4.5}, "'angle' must be finite, got nan"),
        ({"angle": 1.0, "speed": -math.inf}, "'speed' must be finite"),
        ({"angle": "1", "speed": 4.5}, "'angle' must be a number, got '1'"),
        ({"angle": True, "speed": 4.5}, "'angle' must be a number, got True"),
        ({"angle": None, "speed": 4.5}, "'angle' must be a number"),
        ({"angle": Decimal(1), "speed": 4.5}, "'angle' must be a number"),
        ({"angle": np.array([1.0, 2.0]), "speed": 4.5}, "'angle' must be a number"),
        ({"angle": np.ma.masked, "speed": 4.5}, "'angle' must be a number"),
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
    with pytest.raises(ValueError, match="too far outside its range"):
        Space({"x": (0, 1)}).read({"x": 1e101})  # the square of a distance must be a number
    assert Space({"x": Float(1e-5, 1, log=True)}).read({"x": 1e300}) == {"x": 1e300}


# Parameters other than plain numbers

MIXED = Space(
    {
        "x": (0.0, 1.0),
        "rate": Float(1e-5, 1e-1, log=True),
        "layers": Int(1, 8),
        "solvent": Categorical(["water", "ethanol", "acetone"]),
        "dose": Float(0, 2, step=0.1),
        "batch": Int(16, 1024, log=True),
        "stirred": Categorical([True, False]),
    }
)


def test_a_parameter_has_one_column_or_one_for_each_choice():
    assert (MIXED.dimension, MIXED.num_columns) == (7, 9)
    assert [MIXED.columns_of(name) for name in ("layers", "solvent", "dose", "stirred")] == [
        slice(2, 3),
        slice(3, 6),
        slice(6, 7),
        slice(8, 9),
    ]
    with pytest.raises(ValueError, match=r"no parameter 'solvant'.*mean 'solvent'"):
        MIXED.columns_of("solvant")
    x = MIXED.to_tensor(
        {
            "x": 0.5,
            "rate": 1e-3,
            "layers": 3,
            "solvent": "ethanol",
            "dose": 0.3,
            "batch": 32,
            "stirred": False,
        }
    )
    assert x.tolist() == [0.5, math.log(1e-3), 3, 0, 1, 0, 0.3, math.log(32), 1]
    assert MIXED.bounds[:, 1].tolist() == [math.log(1e-5), math.log(1e-1)]
    assert MIXED.bounds.tolist() == [list(MIXED.low), list(MIXED.high)]
    assert MIXED.ranges["layers"] == (1, 8)
    assert "solvent" not in MIXED.ranges
    assert MIXED.exact.tolist() == [False, False, True, True, True, True, False, True, True]


def test_a_mixed_space_is_a_value():
    again = eval(repr(MIXED))
    assert again == MIXED
    assert hash(again) == hash(MIXED)
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED
    assert Space({"x": Float(0, 1)}) == Space({"x": (0, 1)})
    assert repr(Space({"x": Float(0, 1)})) == "Space({'x': (0.0, 1.0)})"


@given(st.integers(0, 10**6))
def test_designs_survive_the_round_trip(seed):
    row = MIXED.cube.sobol_sequence(seed, 1, 0)[0]
    params = MIXED.from_cube(row)
    assert MIXED.read(params) == params
    torch.testing.assert_close(MIXED.to_cube(params), row, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(MIXED.to_tensor(params), MIXED.columns(row), rtol=1e-12, atol=1e-12)
    assert MIXED.to_params(MIXED.to_tensor(params)) == {
        **params,
        "rate": pytest.approx(params["rate"], rel=1e-12),
    }
    kinds = [type(value) for value in params.values()]
    assert kinds == [float, float, int, str, float, int, bool]


@given(st.lists(st.floats(-1, 2), min_size=9, max_size=9))
def test_every_row_snaps_to_a_design(shares):
    row = MIXED.cube.snap(tensor(shares))
    params = MIXED.from_cube(row)
    for name, (least, most) in MIXED.ranges.items():
        assert least <= params[name] <= most
    assert params["dose"] == round(params["dose"], 1)
    # within rounding, the snapped row is that of the design
    torch.testing.assert_close(MIXED.to_cube(params), row, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"solvent": "watr"}, "the value of 'solvent'.*no choice 'watr'.*mean 'water'"),
        ({"solvent": None}, "the value of 'solvent' must be one of its choices"),
        ({"layers": 2.5}, "the value of 'layers' must be a whole number, got 2.5"),
        ({"layers": "2"}, "the value of 'layers' must be a number"),
        ({"rate": 0.0}, "the value of 'rate' must be greater than 0"),
        ({"stirred": 1}, "the value of 'stirred' must be one of its choices: there is no choice 1"),
    ],
)
def test_values_that_fit_no_parameter_are_refused(changes, expected):
    params = MIXED.to_params(MIXED.bounds[0])
    with pytest.raises((TypeError, ValueError), match=expected):
        MIXED.read({**params, **changes})


def test_executed_values_may_differ_from_planned_ones():
    told = {**MIXED.to_params(MIXED.bounds[0]), "dose": 0.3141, "layers": 12.0, "rate": 0.3}
    read = MIXED.read(told)
    assert (read["dose"], read["layers"], read["rate"]) == (0.3141, 12, 0.3)
    assert type(read["layers"]) is int


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (
            {"x": ["water", "ethanol"]},
            r"'x' must be a number.*Categorical\(\['water', 'ethanol'\]\)",
        ),
        ({"x": ["a", "b", "c"]}, r"'x' must be \(low, high\).*Categorical"),
        ({"x": Int}, r"'x' must be \(low, high\)"),
    ],
)
def test_the_way_to_choices_is_shown(ranges, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        Space(ranges)


def test_noise_is_that_of_the_columns():
    law = read_noise({"x": Normal(0.1), "layers": Normal(0.5), "dose": Normal(0.05)}, MIXED)
    assert law == Normal([0.1, 0.0, 0.5, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0])
    assert read_noise(None, MIXED) == Normal([0.0] * 9)
    steps = Space({"x": (0, 1), "dose": Float(0, 2, step=0.1)})
    assert read_noise(Normal(0.1), steps) == Normal([0.1, 0.1])


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ({"solvent": Normal(0.1)}, "'solvent' is a choice.*leave it out"),
        ({"stirred": Uniform(0.1)}, "'stirred' is a choice"),
        ({"rate": Normal(0.1)}, "the noise of 'rate' leads from .* to values below 0.*LogNormal"),
        (
            {"batch": Normal(9.0)},
            "logarithmic, but the noise of 'batch' leads from the lower end 16",
        ),
        (Normal(0.1), "one law perturbs all parameters, but 'rate' is Float.*name those"),
        ({"layers": 0.5}, r"noise of 'layers' must be a law.*write Normal\(0.5\)"),
    ],
)
def test_noise_of_what_is_no_plain_number_is_refused(noise, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        read_noise(noise, MIXED)


def test_one_law_for_all_is_not_meant_for_whole_numbers():
    with pytest.raises(ValueError, match=r"'n' is Int\(1, 8\); name those"):
        read_noise(Normal(0.1), Space({"x": (0, 1), "n": Int(1, 8)}))


def test_rows_of_one_design_become_the_first_of_them():
    space = Space({"x": (0.0, 10.0), "n": Int(0, 10**6), "k": Categorical(["a", "b", "c"])})
    designs = [
        (5.0, 7, "a"),
        (5.0009, 7, "a"),  # within 1e-4 of the range of the first
        (5.0018, 7, "a"),  # of the second
        (5.004, 7, "a"),
        (5.0, 8, "a"),  # another whole number, however close
        (5.0, 7, "b"),
        (4.9995, 7, "a"),
    ]
    rows = torch.stack([space.to_cube(dict(zip("xnk", d, strict=True))) for d in designs])
    same = space.as_same(rows)
    first = [0, 0, 0, 3, 4, 5, 0]
    assert torch.equal(same, rows[first])
    shuffled = [3, 1, 6, 0, 5, 2, 4]
    assert len(space.as_same(rows[shuffled]).unique(dim=0)) == len(set(first))
    assert space.as_same(rows[:0]).shape == (0, 5)
