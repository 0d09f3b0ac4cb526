"""Domain: every point it gives is a design, and its ascent finds what enumeration finds."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from gp_models import tensor, uniform, unit_box
from meseta.space.ascent import ascend
from meseta.space.domain import FEW, Domain, as_domain, checked_domain
from meseta.space.grid import Grid, OneOf
from meseta.space.sobol import sobol, sobol_sequence


def generator(seed):
    return torch.Generator().manual_seed(seed)


# two numbers, a whole one from -3 to 4, one of three choices, one of two
MIXED = Domain(
    tensor([[0.0, -10.0, -3.0, 0.0, 0.0, 0.0, 0.0], [1.0, 45.0, 4.0, 1.0, 1.0, 1.0, 1.0]]),
    (Grid(2, 8), OneOf(3, 3), Grid(6, 2)),
)
# 1 to 100 on a logarithmic scale, 0 to 5 in steps of 0.05, one of four choices
LONG = Domain(
    torch.cat([tensor([[0.0], [4.605170185988092]]), tensor([[0.0], [5.0]]), unit_box(4)], dim=1),
    (Grid(0, 100, 1), Grid(1, 101), OneOf(2, 4)),
)
DOMAINS = [MIXED, LONG, Domain(unit_box(1), (Grid(0, 2),)), Domain(unit_box(2))]


@st.composite
def domains(draw):
    """Any mixture, in any units; made into a domain by `made`."""
    parts, column = [], 0
    for kind in draw(st.lists(st.sampled_from(["number", "grid", "log", "choice"]), min_size=1)):
        if kind == "grid":
            parts.append(Grid(column, draw(st.integers(2, 10**6))))
        elif kind == "log":
            parts.append(Grid(column, draw(st.integers(2, 10**6)), draw(st.integers(1, 100))))
        elif kind == "choice":
            parts.append(OneOf(column, draw(st.integers(3, 6))))
        column += parts[-1].count if kind == "choice" else 1
    ends = st.tuples(st.floats(-100, 100), st.floats(0.1, 100))
    return [draw(ends) for _ in range(column)], parts


def made(drawn):
    """Apart, since type checks draw random numbers of their own."""
    ends, parts = drawn
    low, width = tensor(ends).T
    return Domain(torch.stack([low, low + width]), tuple(parts))


def assert_admissible(domain, x):
    """By the values there are, column by column."""
    low, high = domain.bounds
    assert (low <= x).all()
    assert (x <= high).all()
    share = (x - low) / (high - low)
    for part in domain.discrete:
        at = share[:, part.columns].contiguous()
        if isinstance(part, OneOf):
            assert (at.sort(-1).values == tensor([0.0] * (part.count - 1) + [1.0])).all()
        else:
            first = 1 if part.log_of is None else part.log_of
            numbers = torch.arange(first, first + part.count, dtype=torch.double)
            places = numbers if part.log_of is None else numbers.log()
            places = (places - places[0]) / (places[-1] - places[0])
            above = torch.searchsorted(places, at).clamp(1, len(places) - 1)
            distance = torch.minimum((places[above] - at).abs(), (places[above - 1] - at).abs())
            assert distance.max() < 1e-9


@examples(40)
@given(domains(), st.integers(0, 1000))
def test_every_point_is_a_design(drawn, seed):
    domain = made(drawn)
    for x in (
        domain.sobol(32, generator(seed)),
        domain.sobol_sequence(5, 8, seed),
        domain.placed(uniform(8, domain.num_coordinates, seed=seed)),
        domain.snap(domain.bounds[0] + 300 * (uniform(8, domain.dimension, seed=seed) - 0.5)),
    ):
        assert_admissible(domain, x)
        assert torch.equal(domain.snap(x), x)


@examples(40)
@given(domains(), st.integers(0, 1000))
def test_units_do_not_matter(drawn, seed):
    """Snapping commutes with affine maps, but for rounding."""
    domain = made(drawn)
    offset, width = uniform(2, domain.dimension, seed=seed) + 0.5
    x = domain.sobol(16, generator(seed))
    other = domain.mapped(lambda x: (x - offset) / width)
    torch.testing.assert_close(other.snap((x - offset) / width), (x - offset) / width)
    torch.testing.assert_close(other.sobol(16, generator(seed)), (x - offset) / width)


@examples(40)
@given(domains(), st.integers(0, 1000))
def test_a_snapped_point_is_the_nearest(drawn, seed):
    """No other value of an even grid is nearer."""
    domain = made(drawn)
    low, high = domain.bounds
    x = low + (high - low) * uniform(16, domain.dimension, seed=seed)
    snapped = domain.snap(x)
    for part in domain.discrete:
        if isinstance(part, Grid) and part.log_of is None:
            step = (high - low)[part.column] / (part.count - 1)
            moved = (snapped - x)[:, part.column].abs()
            assert (moved <= 0.5 * step * (1 + 1e-6)).all()
    torch.testing.assert_close(snapped[:, domain.continuous], x[:, domain.continuous])


def test_whole_numbers_stay_whole():
    domain = Domain(tensor([[-3.0], [4.0]]), (Grid(0, 8),))
    assert domain.every().flatten().tolist() == list(range(-3, 5))
    assert domain.snap(tensor([[-9.0], [0.4], [3.6]])).flatten().tolist() == [-3, 0, 4]


def test_a_logarithmic_grid_has_the_logarithms():
    domain = Domain(tensor([[1.0], [9.0]]).log(), (Grid(0, 9, 1),))
    torch.testing.assert_close(domain.every().exp().flatten(), torch.arange(1, 10).double())
    torch.testing.assert_close(
        domain.snap(tensor([[1.4], [1.6]]).log()).exp(), tensor([[1], [2.0]])
    )


def test_no_value_is_rare():
    """Ends too: by rounding they would get half of a share."""
    x = MIXED.sobol(4096, generator(0))
    counts = [(x[:, 2] == value).sum() for value in range(-3, 5)]
    assert min(counts) > 0.9 * 4096 / 8
    for column in (3, 4, 5):
        assert float(x[:, column].mean()) == pytest.approx(1 / 3, abs=0.01)
    numbers = LONG.sobol_sequence(0, 4096, 0)[:, 0].exp().round()
    assert set(numbers.tolist()) == set(range(1, 101))
    # halves of the logarithmic scale from 0.5 to 100.5 have as many
    assert float((numbers <= 7).double().mean()) == pytest.approx(0.5, abs=0.02)


def test_a_sweep_has_every_combination_if_they_are_few():
    assert MIXED.combinations == 48 <= FEW
    x = MIXED.sobol(256, generator(1))
    seen = {tuple(row) for row in x[:, 2:].tolist()}
    assert len(seen) == 48
    # and each has points all over the box: its continuous columns are spread
    first = x[(x[:, 2:] == x[0, 2:]).all(-1)]
    assert len(first) >= 5


def test_all_designs_are_given_once_if_there_are_no_more():
    domain = Domain(unit_box(5), (Grid(0, 3), OneOf(1, 3), Grid(4, 2)))
    assert domain.finite
    points = {tuple(row) for row in domain.sobol(18, generator(0)).tolist()}
    assert len(points) == len(domain.every()) == domain.combinations == 18
    assert len(domain.sobol(17, generator(0))) == 17
    assert_admissible(domain, domain.every())


def test_the_best_of_each_combination():
    x = MIXED.sobol(512, generator(2))
    values = x[:, 0]
    best = MIXED.best_of_each(x, values)
    assert len(best) == 48
    for row in best:
        same = (x[:, 2:] == x[row, 2:]).all(-1)
        assert values[row] == values[same].max()
    assert not len(LONG.best_of_each(LONG.sobol(8, generator(0)), torch.zeros(8).double()))
    assert not len(as_domain(unit_box(2)).best_of_each(uniform(8, 2, seed=0), uniform(8, seed=1)))


def test_without_anything_discrete_it_is_the_box_to_the_last_bit():
    bounds = tensor([[0.0, -10.0], [1.0, 45.0]])
    domain = as_domain(bounds)
    assert torch.equal(domain.sobol(64, generator(3)), sobol(bounds, 64, generator(3)))
    assert torch.equal(domain.sobol_sequence(3, 9, 4), sobol_sequence(bounds, 3, 9, 4))
    x = 60 * uniform(64, 2, seed=0) - 20
    assert torch.equal(domain.snap(x), x.clamp(bounds[0], bounds[1]))
    assert domain.continuous.tolist() == [0, 1]

    def objective(problem, x):
        return (3 * x[:, 0] + problem).sin() - ((x[:, 1] - 20) / 30) ** 2

    options = {"scale": tensor([0.3, 10.0]), "stragglers": 0.1, "max_iterations": 20}
    plain = ascend(objective, domain.snap(x), bounds, **options)
    found = domain.ascend(objective, domain.snap(x), **options)
    assert torch.equal(plain.x, found.x)
    assert torch.equal(plain.value, found.value)
    assert plain[2:] == found[2:]


def wavy(seed, dimension):
    """Many smooth functions with several hills in the box."""
    weights = 2 * uniform(40, dimension, seed=seed) - 1
    phases = 6.3 * uniform(40, seed=seed + 1)

    def objective(problem, x):
        low, high = MIXED.bounds if dimension == 7 else LONG.bounds
        unit = (x - low) / (high - low)
        return (2 * unit @ weights.T + phases + problem[:, None]).sin().sum(-1)

    return objective


def test_an_ascent_never_loses_and_ends_at_designs():
    objective = wavy(0, 7)
    start = MIXED.sobol(32, generator(5))
    before = objective(torch.arange(32), start)
    ascent = MIXED.ascend(objective, start)
    assert_admissible(MIXED, ascent.x)
    assert (ascent.value >= before).all()
    torch.testing.assert_close(objective(torch.arange(32), ascent.x), ascent.value)
    # no neighbour in one discrete value is higher
    for part in MIXED.discrete:
        for index in range(part.count):
            x = ascent.x.clone()
            ends = MIXED.bounds[:, part.columns]
            x[:, part.columns] = part.values(torch.tensor(index), ends)
            near = [1, -1] if isinstance(part, Grid) else range(part.count)
            old = part.nearest(ascent.x[:, part.columns], ends)
            close = torch.tensor([int(index - o) in near or isinstance(part, OneOf) for o in old])
            higher = objective(torch.arange(32), x) > ascent.value + 1e-6
            assert not (higher & close).any()


def test_an_ascent_from_every_combination_finds_the_maximum():
    objective = wavy(3, 7)
    problem = torch.zeros(4096, dtype=torch.long)
    grid = torch.linspace(0, 1, 60).double()
    plane = tensor(list(itertools.product(grid.tolist(), repeat=2)))
    tops = []
    for row in MIXED.every():
        x = row.repeat(len(plane), 1)
        x[:, 0], x[:, 1] = plane[:, 0], -10 + 55 * plane[:, 1]
        tops.append(float(objective(problem[: len(x)], x).max()))
    sweep = MIXED.sobol(512, generator(6))
    starts = MIXED.best_of_each(sweep, objective(problem[:512], sweep))
    found = MIXED.ascend(lambda i, x: objective(0 * i, x), sweep[starts])
    assert float(found.value.max()) >= max(tops)


def test_a_finite_domain_is_climbed_by_hops_alone():
    domain = Domain(tensor([[0.0, 0.0], [30.0, 30.0]]), (Grid(0, 31), Grid(1, 31)))

    def hill(problem, x):
        """A ridge along the diagonal, its top at (17, 17)."""
        return -((x[:, 0] - x[:, 1]) ** 2) - 0.1 * (x.sum(-1) - 34) ** 2

    ascent = domain.ascend(hill, tensor([[0.0, 30.0], [3.0, 2.0]]))
    assert ascent.x.tolist() == [[17.0, 17.0]] * 2
    choices = Domain(unit_box(4), (OneOf(0, 4),))
    ascent = choices.ascend(lambda _, x: x @ tensor([1.0, 2.0, 4.0, 3.0]), choices.every())
    assert ascent.x.tolist() == [[0.0, 0.0, 1.0, 0.0]] * 4
    assert ascent.converged == 4


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("compete", [True, False])
def test_an_ascent_of_nothing_ends(domain, compete):
    ascent = domain.ascend(
        lambda _, x: x.sum(-1), torch.empty(0, domain.dimension).double(), compete=compete
    )
    assert len(ascent.x) == len(ascent.value) == 0


def test_a_flat_function_stays_where_it_is():
    start = MIXED.sobol(8, generator(7))
    for compete in (True, False):
        ascent = MIXED.ascend(lambda _, x: 3.0 + 0 * x.sum(-1), start, compete=compete)
        assert torch.equal(ascent.x, start)


def test_what_is_no_domain_is_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        checked_domain(unit_box(2), 3)
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        checked_domain(MIXED, 3)
    with pytest.raises(ValueError, match="below its upper bound"):
        checked_domain(Domain(unit_box(2).flip(0)), 2)
    assert checked_domain(MIXED, 7).discrete == MIXED.discrete
