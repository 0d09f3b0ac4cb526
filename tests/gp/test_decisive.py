"""Small shares by draws around the places that decide, against brute force and closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import meseta
from meseta.gp.decisive import FURTHEST, MOST, decisive
from meseta.gp.in_use import rehearsal
from meseta.gp.limited import Assessment, LimitedOutcome, assessment
from meseta.gp.paths import sample_paths
from meseta.noise.perturbed import perturbed
from meseta.optimizer.fitted import in_cube
from meseta.optimizer.goals import goal_of_value

DRAWS = 2**19


def told(f, d=2, n=30, noise=None, space=None, **settings):
    """An optimizer that knows a function of the unit cube at Sobol points."""
    space = space or {f"x{i}": (0.0, 1.0) for i in range(d)}
    law = meseta.Normal(0.05) if noise is None else noise
    optimizer = meseta.Optimizer(space, noise=law, kernel="se", **settings)
    points = torch.quasirandom.SobolEngine(len(space), scramble=True, seed=0).draw(n).double()
    for row in points:
        value = float(f(row[None])[0])
        params = dict(zip(space, row.tolist(), strict=True))
        optimizer.tell(params, value)
    return optimizer


def closely(optimizer, constraint, x=None, seed=0):
    goal = goal_of_value(optimizer, constraint)
    row = torch.full((optimizer.space.num_columns,), 0.5, dtype=torch.double) if x is None else x
    return replace(goal, seed=goal.seed + seed).assessed(row, closely=True)


def wave(z):
    return torch.sin(3 * z[..., 0]) + z[..., 1] ** 2


def plane(z):
    return z.sum(-1)


@pytest.mark.parametrize("far", [3.0, 4.0, 5.2])
@pytest.mark.parametrize("d", [1, 3])
def test_shares_down_to_one_in_ten_million(d, far):
    optimizer = told(plane, d=d, n=12 + 8 * d)
    exact = float(torch.special.ndtr(torch.tensor(-far).double()))
    limit = 0.5 * d + far * 0.05 * math.sqrt(d)
    found = closely(optimizer, meseta.AtMost(limit))
    low, high = (1 - end for end in reversed(found.interval))
    assert 1 - found.share == pytest.approx(exact, rel=0.03)
    assert 0 < low <= exact <= high < 2 * exact
    assert found.broken[0] == 0
    assert found.broken[1] == pytest.approx(1 - found.share, rel=1e-6)


LAWS = {
    "normal": ({"x0": meseta.Normal(0.06), "x1": meseta.Normal(0.04)}, "allow"),
    "uniform": ({"x0": meseta.Uniform(0.1), "x1": meseta.Normal(0.05)}, "allow"),
    "cut": ({"x0": meseta.TruncatedNormal(0.1, -0.1, 0.15), "x1": meseta.Normal(0.05)}, "allow"),
    "discrete": (
        {"x0": meseta.Discrete([-0.1, 0.0, 0.2], [0.2, 0.79, 0.01]), "x1": meseta.Normal(0.05)},
        "allow",
    ),
    "environment": (
        {"x0": meseta.Environment(meseta.Normal(0.06, mean=0.4)), "x1": meseta.Normal(0.04)},
        "allow",
    ),
    "joint": (
        {("x0", "x1"): meseta.Normal(covariance=[[0.004, -0.002], [-0.002, 0.003]])},
        "allow",
    ),
    "points": (
        {"x0": meseta.Empirical([-0.1, 0.0, 0.02, 0.15]), "x1": meseta.Normal(0.05)},
        "allow",
    ),
    "truncate": ({"x0": meseta.Normal(0.2), "x1": meseta.Normal(0.05)}, "truncate"),
}


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("name", LAWS)
def test_both_shares_of_a_range_against_brute_force(name, direction):
    noise, edge = LAWS[name]
    optimizer = told(wave, noise=noise, direction=direction, edge=edge)
    x = torch.tensor([0.45, 0.5], dtype=torch.double)
    inside = in_cube(optimizer.law, optimizer.space)
    generator = torch.Generator().manual_seed(4)
    z = perturbed(inside, x.expand(DRAWS, -1), generator)
    offset, scale = optimizer.user_units
    values = offset + scale * optimizer.fitted.mixture.mean_f(z)
    tails = [4e-3, 2e-3]
    # between draws, so that no atom lies on a limit
    low, high = (float(values.quantile(p)) for p in (tails[0], 1 - tails[1]))
    shares = [float((values < low).double().mean()), float((values > high).double().mean())]
    found = closely(optimizer, meseta.Between(low, high), x)
    broken = found.broken if scale > 0 else found.broken[::-1]
    for share, mine in zip(shares, broken, strict=True):
        assert mine == pytest.approx(share, abs=4 * math.sqrt(share / DRAWS) + 0.03 * share)
    assert sum(found.broken) == pytest.approx(1 - found.share, rel=1e-9)
    least, most = (1 - end for end in reversed(found.interval))
    assert least <= sum(shares) <= most


def test_what_single_values_scatter_by_breaks_limits_too():
    law, scatter = meseta.Normal(0.03), 0.1
    optimizer = meseta.Optimizer({"x": (0.0, 1.0)}, noise=law, noise_variance=scatter**2)
    for x in np.linspace(0, 1, 21):
        optimizer.tell({"x": float(x)}, 2 * float(x), n=10**6)
    far, wide = 4.0, math.hypot(2 * 0.03, scatter)
    exact = float(torch.special.ndtr(torch.tensor(-far).double()))
    found = closely(optimizer, meseta.AtLeast(1 - far * wide))
    assert 1 - found.share == pytest.approx(exact, rel=0.05)
    assert 1 - found.interval[1] <= exact <= 1 - found.interval[0]


@pytest.mark.parametrize("noise", [meseta.Uniform(0.05), meseta.Normal(0.002), meseta.Normal(0.0)])
def test_a_limit_that_nothing_breaks_has_a_small_upper_end(noise):
    found = closely(told(plane, noise=noise), meseta.AtMost(1.4))
    assert found.share == 1
    assert found.interval[1] == 1
    assert 1 - found.interval[0] < 1e-4


@pytest.mark.parametrize("limit", [1.25, 1.35])
def test_intervals_of_small_shares_hold_where_f_is_not_known_well(limit):
    """Functions drawn from the model: some break the limit far more often than the best guess."""
    optimizer = told(wave, n=12)
    paths = sample_paths(optimizer.fitted.core, 60, 500, torch.Generator().manual_seed(8))
    units = optimizer.posterior.units
    margin = meseta.AtMost(limit).margin(float(units.y_offset), float(units.y_scale))
    outcome = LimitedOutcome(optimizer.fitted.mixture, margin)
    assess = assessment(outcome, torch.Generator().manual_seed(0))
    held, total, differ = 0, 0, []
    for x in torch.tensor([[0.3, 0.45], [0.5, 0.35], [0.2, 0.6]], dtype=torch.double):
        found = assess.closely(x)
        generator = torch.Generator().manual_seed(4)
        z = x + 0.05 * torch.randn(40_000, 2, generator=generator, dtype=torch.double)
        truth = (margin.worst(paths.f(z)) < 0).double().mean(-1)
        low, high = (1 - end for end in reversed(found.interval))
        held += int(((truth >= low - 1e-4) & (truth <= high + 1e-4)).sum())
        total += len(truth)
        differ.append(float(truth.max()) / max(1 - found.share, 1e-12))
    assert max(differ) > 2
    assert held >= 0.88 * total


def centers_of(f, constraint, n=60, **settings):
    optimizer = told(f, n=n, **settings)
    goal = goal_of_value(optimizer, constraint)
    x = torch.full((optimizer.space.num_columns,), 0.5, dtype=torch.double)
    mixture = goal.fitted.mixture_under(optimizer.law)
    rooms = [side.worst for side in goal.margin.sides]
    return decisive(
        mixture, mixture.heaviest.kernel.law, x, rooms, torch.Generator().manual_seed(0)
    )


def test_both_sides_of_a_range_have_their_place():
    places = centers_of(plane, meseta.Between(0.75, 1.3), n=20)
    direction = torch.ones(2).double() / math.sqrt(2)
    along = (places @ direction).sort().values.tolist()
    wide = 0.05 * math.sqrt(2)
    assert -0.25 / wide - 0.8 < along[0] < -0.25 / wide + 0.3
    assert 0.3 / wide - 0.3 < along[-1] < 0.3 / wide + 0.8
    assert 2 <= len(places) <= MOST


def test_opposite_directions_of_one_limit_have_their_places():
    bowl = lambda z: 1 - 4 * (z[..., 0] - 0.5) ** 2 + 0 * z[..., 1]  # noqa: E731
    places = centers_of(bowl, meseta.AtLeast(1 - 4 * (3.5 * 0.05) ** 2), n=30)
    along = places[:, 0]
    assert float(along.min()) < -3
    assert float(along.max()) > 3


def test_places_do_not_go_further_than_draws_can():
    places = centers_of(plane, meseta.AtMost(3.0), n=20)
    assert float(places.norm(dim=-1).max()) <= FURTHEST + 1e-9


def test_the_same_seed_draws_the_same():
    optimizer = told(wave)
    a, b = (closely(optimizer, meseta.AtMost(1.45), seed=3) for _ in range(2))
    assert a.share == b.share
    assert a.interval == b.interval


def test_frequent_failures_need_no_closer_look():
    optimizer = told(wave)
    goal = goal_of_value(optimizer, meseta.AtMost(1.2))
    x = torch.tensor([0.5, 0.5], dtype=torch.double)
    by = Assessment(
        rehearsal(goal.fitted.mixture, goal.margin, torch.Generator().manual_seed(0)), goal.margin
    )
    assert by.closely(x).interval == by.at(x).interval
