"""Quasi-random points."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from examples import examples
from meseta.space.sobol import sobol, sobol_sequence, unit_sobol


def generator(seed):
    return torch.Generator().manual_seed(seed)


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    num=st.integers(1, 100),
    intervals=st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1, max_size=20),
)
def test_points_lie_in_the_box(seed, num, intervals):
    lower, width = torch.tensor(intervals, dtype=torch.double).T
    bounds = torch.stack([lower, lower + width])
    points = sobol(bounds, num, generator(seed))
    assert points.shape == (num, len(intervals))
    assert points.dtype == torch.double
    assert torch.all(points >= bounds[0])
    # lower + width u may round to the next number above the upper end
    assert torch.all(points <= bounds[1] + 1e-15 * bounds.abs().amax(0))


@pytest.mark.parametrize("dimension", [1, 3, 12])
def test_unit_points_lie_in_the_cube(dimension):
    points = unit_sobol(dimension, 256, generator(0))
    assert points.shape == (256, dimension)
    assert torch.all((points >= 0) & (points <= 1))


def test_a_box_is_the_cube_stretched():
    bounds = torch.tensor([[-1.0, 10.0], [3.0, 10.5]], dtype=torch.double)
    unit = unit_sobol(2, 64, generator(1))
    assert torch.equal(sobol(bounds, 64, generator(1)), bounds[0] + (bounds[1] - bounds[0]) * unit)


def test_points_follow_the_generator_and_nothing_else():
    torch.manual_seed(0)
    first = unit_sobol(3, 32, generator(2))
    torch.manual_seed(1)
    assert torch.equal(first, unit_sobol(3, 32, generator(2)))
    assert not torch.equal(first, unit_sobol(3, 32, generator(3)))


def test_a_generator_moves_on_from_draw_to_draw():
    shared = generator(4)
    assert not torch.equal(unit_sobol(2, 16, shared), unit_sobol(2, 16, shared))


def test_the_global_generator_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    unit_sobol(2, 16, generator(6))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_each_coordinate_has_one_point_per_stratum(dimension):
    """A power of two of scrambled Sobol points is a net: one in each interval of that length."""
    strata = (unit_sobol(dimension, 128, generator(7)) * 128).floor().long()
    for column in strata.T:
        assert column.sort().values.tolist() == list(range(128))


def test_points_are_more_even_than_random_ones():
    points = unit_sobol(2, 256, generator(8)).numpy()
    random = torch.rand(256, 2, generator=generator(9)).numpy()
    assert qmc.discrepancy(points) < qmc.discrepancy(random) / 10


BOX = torch.tensor([[-1.0, 10.0, 0.0], [3.0, 10.5, 1e-3]], dtype=torch.double)


@pytest.mark.parametrize("start", [0, 1, 2, 7, 64, 1000])
@pytest.mark.parametrize("num", [1, 2, 5])
def test_a_sequence_can_be_entered_anywhere(start, num):
    whole = sobol_sequence(BOX, 0, 1100, seed=3)
    torch.testing.assert_close(
        sobol_sequence(BOX, start, num, seed=3), whole[start : start + num], rtol=0, atol=0
    )


def test_a_sequence_fills_the_box_and_follows_its_seed():
    torch.manual_seed(0)
    state = torch.get_rng_state()
    points = sobol_sequence(BOX, 0, 128, seed=0)
    assert torch.all((points >= BOX[0]) & (points <= BOX[1]))
    strata = ((points - BOX[0]) / (BOX[1] - BOX[0]) * 128).floor().long()
    for column in strata.T:
        assert column.sort().values.tolist() == list(range(128))
    assert torch.equal(points, sobol_sequence(BOX, 0, 128, seed=0))
    assert not torch.equal(points, sobol_sequence(BOX, 0, 128, seed=1))
    assert torch.equal(state, torch.get_rng_state())


@examples(60)
@given(
    seed=st.integers(0, 2**63 - 1),
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-9, 1e6),
    start=st.integers(0, 10_000),
)
def test_no_point_of_a_sequence_leaves_its_box(seed, low, width, start):
    bounds = torch.tensor([[low], [low + width]], dtype=torch.double)
    points = sobol_sequence(bounds, start, 20, seed)
    assert torch.all((points >= bounds[0]) & (points <= bounds[1]))
