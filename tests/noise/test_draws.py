"""The same draws at every design: they have the law, move with x, and cover the worst cases."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import meseta
from examples import examples, some
from meseta import (
    Categorical,
    Discrete,
    Empirical,
    Environment,
    Float,
    Laplace,
    LogNormal,
    Normal,
    Optimizer,
    Shared,
    StudentT,
    Triangular,
    TruncatedNormal,
    Uniform,
)
from meseta.noise.draws import draw, draw_extremes, quantile
from meseta.noise.perturbed import perturbed
from meseta.noise.widened import widened
from meseta.optimizer.fitted import in_cube

laws = {
    "normal": Normal(0.05),
    "uniform": Uniform(0.1),
    "triangle": Triangular(low=-0.05, high=0.2),
    "laplace": Laplace(0.04),
    "student": StudentT(4, 0.03),
    "empirical": Empirical([-0.1, 0.0, 0.02, 0.15]),
    "cut": TruncatedNormal(0.1, -0.05, 0.15),
    "discrete": Discrete([-0.1, 0.05], [0.3, 0.7]),
    "relative": Normal(0.1, relative=True),
    "lognormal": LogNormal(0.2),
}
others = ["none", "shared", "joint", "choice", "environment", "log"]


def made(law, other, edge):
    space = {"x": (0.5, 1.5), "y": (0.0, 1.0)}
    noise = {"x": laws[law]}
    if other == "shared":
        noise = {"y": Normal(0.02), ("x", "y"): Shared(Uniform(0.1))}
    elif other == "joint":
        noise = {("x", "y"): Normal(covariance=[[0.01, 0.004], [0.004, 0.01]])}
    elif other == "choice":
        space["y"] = Categorical(["a", "b", "c"])
        noise["y"] = meseta.Substitution([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.3, 0.4]])
    elif other == "environment":
        noise["y"] = Environment(Normal(0.2, mean=0.4))
    elif other == "log":
        space["y"] = Float(0.1, 10.0, log=True)
        noise["y"] = LogNormal(0.3)
    edges = {"x": edge} if edge != "allow" and other not in ("shared", "joint") else "allow"
    return Optimizer(space, noise=noise, edge=edges)


@given(
    law=st.sampled_from(sorted(laws)),
    other=st.sampled_from(others),
    edge=st.sampled_from(["allow", "clip", "reflect", "truncate"]),
    seed=st.integers(0, 1000),
)
@examples(60)
def test_draws_at_any_design_have_its_law(law, other, edge, seed):
    optimizer = made(law, other, edge)
    space, inside = optimizer.space, in_cube(optimizer.law, optimizer.space)
    generator = torch.Generator().manual_seed(seed)
    x = space.cube.sobol(3, generator)
    draws = draw(inside, space.num_columns, 4096, generator)
    z, weights = draws(x)
    assert torch.allclose(weights.sum(-1), torch.ones(3).double())
    again = draws(x)
    assert torch.equal(again.z, z)
    for row, mine, weight in zip(x, z, weights, strict=True):
        sample = perturbed(inside, row.expand(20000, -1), generator)
        for column in range(space.num_columns):
            # the distribution functions agree at all quantiles of the sample
            at = sample[:, column].quantile(torch.linspace(0.02, 0.98, 25).double())
            expected = (sample[:, column, None] <= at + 1e-9).double().mean(0)
            found = (weight[:, None] * (mine[:, column, None] <= at + 1e-9)).sum(0)
            effective = float(1 / weight.square().sum())
            room = 4 * math.sqrt(0.25 / 20000) + 3 * math.sqrt(0.25 / effective)
            assert (found - expected).abs().max() < room


@given(law=st.sampled_from(["normal", "uniform", "relative", "student"]), seed=st.integers(0, 99))
@examples(10)
def test_draws_move_smoothly_with_the_design(law, seed):
    optimizer = made(law, "none", "allow")
    inside = in_cube(optimizer.law, optimizer.space)
    draws = draw(inside, 2, 32, torch.Generator().manual_seed(seed))
    x = torch.rand(4, 2, generator=torch.Generator().manual_seed(seed)).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: draws(x).z, (x,))


def test_quantiles_of_laws_with_atoms():
    law = Discrete([-1.0, 0.5, 2.0], [0.25, 0.5, 0.25])
    u = torch.tensor([0.1, 0.24, 0.26, 0.74, 0.76, 0.99], dtype=torch.double)
    expected = torch.tensor([-1.0, -1.0, 0.5, 0.5, 2.0, 2.0], dtype=torch.double)
    assert torch.allclose(quantile(law.marginals[0], u), expected, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_extremes_are_the_corners_and_what_lies_between(d):
    draws = draw_extremes(Uniform(0.1), d, None, 64, torch.Generator().manual_seed(0))
    assert float(draws.own.abs().max()) == pytest.approx(0.1)
    corners = draws.own[(draws.own.abs() > 0.1 - 1e-9).all(-1)]
    assert len({tuple(row) for row in corners.round(decimals=6).tolist()}) >= min(2**d, 20)


def test_extremes_of_a_share_hold_that_share():
    rng = np.random.default_rng(0)
    draws = draw_extremes(Normal(1.0), 3, 0.9, 64, torch.Generator().manual_seed(0))
    low, high = draws.own.amin(0).numpy(), draws.own.amax(0).numpy()
    sample = rng.standard_normal((200000, 3))
    held = ((sample >= low) & (sample <= high)).all(-1).mean()
    assert held == pytest.approx(0.9, abs=0.005)


def test_extremes_of_atoms_are_atoms():
    law = Discrete([-1.0, 0.5, 2.0], [0.25, 0.5, 0.25])
    draws = draw_extremes(law, 1, None, 64, torch.Generator().manual_seed(0))
    assert set(draws.own[:, 0].tolist()) == {-1.0, 0.5, 2.0}


TAILED = [
    meseta.Normal(0.3),
    meseta.Uniform(0.5),
    meseta.Triangular(0.4),
    meseta.Laplace(0.2),
    meseta.StudentT(4, 0.2),
    meseta.Mixture([meseta.Normal(0.1), meseta.Uniform(0.4, mean=0.3)], [3, 1]),
]


@pytest.mark.parametrize("law", TAILED, ids=str)
@pytest.mark.parametrize(("tail", "d"), some(product([0.00135, 0.05], [3, 1]), 3))
def test_draws_of_a_tail_have_its_probability(law, tail, d):
    """Of a sum over all parameters, against a million plain draws."""
    each = law.in_dimension(d)
    plain = each.sample(1_000_000, torch.Generator().manual_seed(5)).sum(-1)
    limits = plain.quantile(torch.tensor([tail, 1 - tail]).double())
    drawn = draw(each, d, 4096, torch.Generator().manual_seed(1), tail)
    places = drawn(torch.zeros(1, d, dtype=torch.double))
    sums, weights = places.z[0].sum(-1), places.weights[0]
    assert weights.sum().item() == pytest.approx(1.0)
    off = (weights * sums).sum() - plain.mean()
    assert abs(float(off)) < 0.05 * float(plain.std())
    for beyond in (sums < limits[0], sums > limits[1]):
        assert (weights * beyond).sum().item() == pytest.approx(tail, rel=0.4)


def test_plain_draws_all_count_alike():
    drawn = draw(meseta.Normal(0.3).in_dimension(3), 3, 64, torch.Generator().manual_seed(1))
    assert (drawn.counts == 1).all()


@pytest.mark.parametrize("factor", some([2.5, 0.3], 2))
@pytest.mark.parametrize(
    ("law", "other"),
    [
        *((law, "none") for law in laws),
        *(("normal", other) for other in others if other not in ("none", "choice")),
    ],
)
def test_wider_draws_are_those_of_the_wider_law(law, other, factor):
    """Column by column, by their moments; and their slope by the factor is that of differences."""
    optimizer = made(law, other, "allow")
    generator = torch.Generator().manual_seed(0)
    inside = in_cube(optimizer.law, optimizer.space)
    x = torch.full((1, 2), 0.5, dtype=torch.double)
    for column in (0, 1):
        factors = torch.ones_like(x)
        factors[0, column] = factor
        places = draw(inside, 2, 2**13, generator)(x, factors)
        again = in_cube(widened(optimizer.law, column, factor), optimizer.space)
        z = draw(again, 2, 2**13, generator)(x).z[0]
        scale = z.std(0).clamp_min(1e-12)
        off = ((places.z[0].mean(0) - z.mean(0)) / scale).abs().max()
        assert float(off) < 0.05
        torch.testing.assert_close(places.z[0].std(0), z.std(0), rtol=0.05, atol=1e-12)

    def mean(by):
        drawn = draw(inside, 2, 64, torch.Generator().manual_seed(1))
        return drawn(x, by.expand(1, 2)).z.sin().mean()

    by = torch.tensor(factor, dtype=torch.double, requires_grad=True)
    (slope,) = torch.autograd.grad(mean(by), by)
    with torch.no_grad():
        expected = (mean(by + 1e-6) - mean(by - 1e-6)) / 2e-6
    assert float(slope) == pytest.approx(float(expected), rel=1e-4, abs=1e-8)


def aimed(d, places, num=2**14, seed=0, scatters=False):
    """Draws of standard normal scores around places, and what each counts for."""
    generator = torch.Generator().manual_seed(seed)
    drawn = draw(Normal(1.0).in_dimension(d), d, num, generator, 0.00135, scatters, places)
    return drawn, drawn.counts / num


def along(d):
    """A direction that no axis has."""
    direction = torch.arange(1.0, d + 1).double().sqrt()
    return direction / direction.norm()


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_draws_around_places_have_the_moments_of_the_law(d):
    places = torch.stack([3.0 * along(d), -4.0 * along(d), 3.0 * torch.eye(d).double()[-1]])
    drawn, counts = aimed(d, places)
    near = drawn.causes.abs().amax(-1) < 6  # further out numbers close to 1 are rounded
    assert torch.allclose(drawn.causes[near], drawn.own[near], atol=1e-5)
    assert float(drawn.counts.max()) <= 8 + 1e-9
    assert float(counts.sum()) == pytest.approx(1, abs=0.01)
    assert float((counts @ drawn.own).abs().max()) < 0.03
    off = drawn.own.T @ (counts[:, None] * drawn.own) - torch.eye(d).double()
    assert float(off.abs().max()) < 0.05


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("far", [2.6, 4.0, 5.0])
@pytest.mark.parametrize("sides", [1, 2])
def test_small_shares_beyond_linear_limits(d, far, sides):
    exact = float(torch.special.ndtr(torch.tensor(-far).double()))
    places = torch.stack([along(d), -along(d)][:sides]) * (far + 1 / far)
    for seed in range(3):
        drawn, counts = aimed(d, places, seed=seed)
        score = drawn.own @ along(d)
        for beyond in (score > far, score < -far)[:sides]:
            found = float(counts @ beyond.double())
            error = float((counts * (beyond.double() - exact)).norm())
            assert abs(found - exact) < 4 * error
            assert found == pytest.approx(exact, rel=0.02)


def test_a_place_that_is_a_little_off_does_no_harm():
    exact = float(torch.special.ndtr(torch.tensor(-4.0).double()))
    drawn, counts = aimed(2, torch.tensor([[3.0, 1.0]]).double())
    assert float(counts @ (drawn.own[:, 0] > 4).double()) == pytest.approx(exact, rel=0.05)


def test_a_small_share_beyond_a_bent_limit():
    """What lies beyond 3.5 + 0.2 v^2 along one direction, v across it; by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    beyond = torch.special.ndtr(-torch.from_numpy(3.5 + 0.2 * nodes**2)).numpy()
    exact = float(weights @ beyond / weights.sum())
    drawn, counts = aimed(2, torch.tensor([[3.7, 0.0]]).double())
    u, v = drawn.own.T
    assert float(counts @ (u > 3.5 + 0.2 * v**2).double()) == pytest.approx(exact, rel=0.02)


def test_the_score_of_a_single_value_is_a_cause_like_the_others():
    drawn, counts = aimed(1, torch.tensor([[2.2, 2.2]]).double(), scatters=True)
    exact = float(torch.special.ndtr(torch.tensor(-3.0).double()))
    score = (drawn.own[:, 0] + drawn.scores) / math.sqrt(2)
    assert float(counts @ (score > 3).double()) == pytest.approx(exact, rel=0.02)
    part = drawn.portion(3, 5)
    assert torch.equal(part.causes, drawn.causes[3:8])
    assert torch.allclose(part.causes[:, 1], part.scores)


def test_without_any_cause_there_is_nothing_to_aim():
    drawn = draw(
        Normal(0.0).in_dimension(2), 2, 64, torch.Generator(), around=torch.zeros(1, 0).double()
    )
    assert drawn.causes.shape == (64, 0)
    assert (drawn.counts == 1).all()
