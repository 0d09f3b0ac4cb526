"""Quadrature rules of laws against exact moments, and the functions beneath them against mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss, legvander
from scipy import stats
from torch.testing import assert_close

from meseta.noise import (
    Discrete,
    Empirical,
    Laplace,
    Mixture,
    Normal,
    StudentT,
    Triangular,
    TruncatedNormal,
    Uniform,
    from_scipy,
)
from meseta.noise.bessel import spherical_bessel
from meseta.noise.cubature import cubature, highest_degree
from meseta.noise.gauss import gauss_rule
from meseta.noise.panels import composite, panels


def tensor(*values):
    return torch.tensor(values, dtype=torch.double)


def generator(seed):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(1, 300),
    num=st.integers(1, 20),
    spread=st.floats(-6, 6),
    far=st.sampled_from([0.0, 1.0, 1e3]),
)
def test_gauss_rule_has_the_moments_of_any_values(seed, size, num, spread, far):
    """An isolated value far from the others is where Lanczos without care fails."""
    values = torch.randn(size, generator=generator(seed), dtype=torch.double)
    values[0] += far
    values = 10**spread * values
    weights = torch.rand(size, generator=generator(seed + 1), dtype=torch.double)
    nodes, shares = gauss_rule(values, weights, num)
    assert len(nodes) <= num
    assert bool((shares >= 0).all())
    middle, half = (values.max() + values.min()) / 2, (values.max() - values.min()) / 2
    degree = 2 * num - 1

    def moments(points, masses):
        t = (points - middle) / half if half > 0 else points * 0
        return torch.from_numpy(legvander(t.numpy(), degree).T @ masses.numpy())

    exact = moments(values, weights)
    assert_close(moments(nodes, shares), exact, rtol=0, atol=1e-11 * float(weights.sum()))


def test_gauss_rule_of_many_values_is_reduced_in_parts():
    values = torch.randn(50_000, generator=generator(0), dtype=torch.double)
    weights = torch.full_like(values, 1 / len(values))
    nodes, shares = gauss_rule(values, weights, 6)
    for degree in range(12):
        exact = float((weights * values**degree).sum())
        size = float((weights * values.abs() ** degree).sum())
        assert float((shares * nodes**degree).sum()) == pytest.approx(exact, abs=1e-11 * size)


def test_few_values_are_their_own_rule():
    nodes, weights = gauss_rule(tensor(3, 1, 3, 2), tensor(1, 2, 3, 0), 5)
    assert_close((nodes, weights), (tensor(1, 3), tensor(2, 4)))
    points, weights = Discrete([0.5, -1, 0.5], weights=[1, 2, 1]).nodes(24)
    assert_close((points[:, 0], weights), (tensor(-1, 0.5), tensor(0.5, 0.5)))


def test_a_value_without_weight_worth_a_rounding_error_gets_no_node():
    values = torch.linspace(-1, 1, 40, dtype=torch.double)
    weights = torch.full_like(values, 1e-40)
    weights[::10] = 1.0
    nodes, shares = gauss_rule(values, weights, 10)
    assert len(nodes) < 10
    for degree in range(8):
        exact = float((weights * values**degree).sum())
        assert float((shares * nodes**degree).sum()) == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize("num", [2, 5, 24, 64])
def test_gauss_rules_of_known_densities_are_the_known_ones(num):
    """Through the route of every other law, as members of a mixture."""
    points, weights = Mixture([Uniform(2.0, mean=1.0)]).nodes(num)
    t, w = leggauss(num)
    assert_close(points[:, 0], torch.from_numpy(1 + 2 * t), rtol=0, atol=1e-13)
    assert_close(weights, torch.from_numpy(w / 2), rtol=0, atol=1e-13)
    if num <= 24:  # beyond, the tails are cut at 1e-64
        points, weights = Mixture([Normal(2.0)]).nodes(num)
        t, w = hermegauss(num)
        assert_close(points[:, 0], torch.from_numpy(2 * t), rtol=0, atol=1e-11)
        assert_close(weights, torch.from_numpy(w / w.sum()), rtol=0, atol=1e-13)


def truncated_moment(alpha, beta, k):
    """m_k = (k - 1) m_{k-2} + (alpha^(k-1) phi(alpha) - beta^(k-1) phi(beta)) / mass."""
    if k < 1:
        return mp.mpf(k == 0)
    with mp.workdps(60):
        mass = (mp.erfc(alpha / mp.sqrt(2)) - mp.erfc(beta / mp.sqrt(2))) / 2
        ends = alpha ** (k - 1) * mp.npdf(alpha)
        ends -= mp.mpf(beta) ** (k - 1) * mp.npdf(beta) if beta < mp.inf else 0
        return (k - 1) * truncated_moment(alpha, beta, k - 2) + ends / mass


# E xi^k by formula or to 50 digits by mpmath
MOMENTS = {
    "laplace": (Laplace(0.3), lambda k: 0.3**k * math.factorial(k) * (k % 2 == 0)),
    "triangular": (
        Triangular(low=0, high=1, mode=1),  # density 2 x
        lambda k: 2 / (k + 2),
    ),
    "truncated": (TruncatedNormal(1, -0.5, 2), lambda k: truncated_moment(-0.5, 2, k)),
    "tail": (
        TruncatedNormal(1, 3, math.inf),
        lambda k: truncated_moment(3, mp.inf, k),
    ),
    "gamma": (from_scipy(stats.gamma(0.7)), lambda k: mp.gamma(0.7 + k) / mp.gamma(0.7)),
    "weibull": (from_scipy(stats.weibull_min(1.5)), lambda k: mp.gamma(1 + k / 1.5)),
    "beta": (
        from_scipy(stats.beta(0.5, 0.5)),
        lambda k: mp.beta(0.5 + k, 0.5) / mp.beta(0.5, 0.5),
    ),
    "mixture": (
        Mixture([Laplace(0.3), Uniform(1e-3), Discrete([1, 2])], weights=[0.5, 0.25, 0.25]),
        lambda k: (
            (0.5 * 0.3**k * math.factorial(k) + 0.25 * 1e-3**k / (k + 1)) * (k % 2 == 0)
            + (1 + 2**k) / 8
        ),
    ),
    "student": (
        StudentT(16.5, 1.0),
        lambda k: (
            mp.gamma((k + 1) / 2) * mp.gamma((16.5 - k) / 2) * 16.5 ** (k / 2)
            / (mp.sqrt(mp.pi) * mp.gamma(16.5 / 2))
            if k % 2 == 0
            else 0
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("num", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("law", "moment"), MOMENTS.values(), ids=MOMENTS.keys())
def test_nodes_integrate_polynomials_exactly(law, moment, num):
    points, weights = law.nodes(num)
    assert points.shape == (num, 1)
    assert weights.shape == (num,)
    assert bool((weights > 0).all())
    for degree in range(2 * num):
        found = float((weights * points[:, 0] ** degree).sum())
        exact = float(moment(degree))
        even = degree + degree % 2
        size = float(moment(even)) ** (degree / even) if even else 1.0
        assert found == pytest.approx(exact, abs=2e-10 * size)


@pytest.mark.parametrize("num", [9, 24, 64])
def test_heavy_tails_are_cut_where_nodes_are_many(num):
    """And bounded integrands lose no more than the mass beyond."""
    for law, lost in ((StudentT(3, 1.0), 3e-4), (from_scipy(stats.lognorm(1.0)), 2e-3)):
        mean, sd = law.mean, law.covariance_matrix.sqrt()[0]
        points, weights = law.nodes(num)
        assert bool(((points - mean).abs() <= 12 * sd).all())
        omega = 1 / (3 * sd)
        wave = (weights * torch.exp(1j * omega * points[:, 0])).sum()
        assert abs(wave - law.characteristic(omega[:, None])[0]) <= lost


def test_student_with_few_nodes_has_its_variance_though_no_fourth_moment():
    points, weights = StudentT(3, 1.0).nodes(2)
    assert_close(points[:, 0], tensor(-1, 1) * math.sqrt(3), rtol=1e-9, atol=0)
    assert_close(weights, tensor(0.5, 0.5))


def test_nodes_of_a_sample_are_a_gauss_rule_of_it():
    samples = np.random.default_rng(1).normal(size=400)
    points, weights = Empirical(samples).nodes(7)
    for degree in range(14):
        found = float((weights * points[:, 0] ** degree).sum())
        assert found == pytest.approx(np.mean(samples**degree), rel=1e-9)


@pytest.mark.parametrize(
    ("law", "places", "error"),
    [
        (from_scipy(stats.gamma(0.5)), 1, 1e-13),
        # a pole away from 0 is as sharp as the rounding of its place lets it be
        (from_scipy(stats.beta(0.3, 0.6, loc=5)), 2, 1e-9),
        (from_scipy(stats.lognorm(1.5)), 1, 1e-13),
    ],
    ids=repr,
)
def test_panels_hold_all_the_mass_even_at_a_pole(law, places, error):
    assert len(law.breaks) == places
    found = panels(law, *law.interval(1e-16), law.breaks)
    assert len(found.low) < 600
    for order in (16, 33):
        points, weights = composite(law, found, order)
        assert float(weights.sum()) == pytest.approx(1, abs=error)
        assert float(weights @ points) == pytest.approx(law.mean.item(), rel=max(error, 1e-11))


def test_spherical_bessel_functions_are_those_of_mpmath():
    kappa = np.array([[0, 1e-12, 0.3, 1, math.pi, 4.4934094579], [10, 30.9, 31.1, 300, -3, -40]])
    found = spherical_bessel(torch.tensor(kappa), 31)
    for place in np.ndindex(kappa.shape):
        x = mp.mpf(abs(kappa[place]))
        for k in range(32):
            with mp.workdps(40):
                exact = mp.sqrt(mp.pi / (2 * x)) * mp.besselj(k + 0.5, x) if x else mp.mpf(k == 0)
            sign = -1 if kappa[place] < 0 and k % 2 else 1
            assert found[(k, *place)] == pytest.approx(sign * float(exact), abs=1e-15)


def monomials(points, degree):
    d = points.shape[1]
    powers = [p for p in np.ndindex(*[degree + 1] * d) if sum(p) <= degree]
    return torch.stack([(points ** tensor(*p)).prod(-1) for p in powers], dim=1)


@pytest.mark.parametrize(
    ("dimension", "num", "degree"), [(2, 64, 9), (2, 6, 2), (3, 64, 5), (6, 64, 2), (10, 64, 1)]
)
def test_cubature_has_the_moments_of_all_points(dimension, num, degree):
    assert highest_degree(dimension, num) == degree
    points = torch.randn(3000, dimension, generator=generator(2), dtype=torch.double)
    points[:, 0] += 0.5 * points[:, 1] ** 2
    weights = torch.rand(3000, generator=generator(3), dtype=torch.double)
    weights /= weights.sum()
    nodes, shares = cubature(points, weights, num)
    assert len(nodes) <= num
    assert bool((shares > 0).all())
    assert bool((nodes[:, None] == points).all(-1).any(-1).all())
    scale = points.std(0)
    found = shares @ monomials(nodes / scale, degree)
    size = weights @ monomials((points / scale).abs(), degree)
    assert_close(
        found / size, weights @ monomials(points / scale, degree) / size, rtol=0, atol=1e-9
    )


def test_cubature_of_points_on_a_line_or_a_lattice():
    s = torch.randn(500, 1, generator=generator(4), dtype=torch.double)
    lattice = torch.randint(3, (500, 2), generator=generator(5)).double()
    for points in (s * tensor(1.0, -2.0), lattice):
        weights = torch.full((500,), 1 / 500, dtype=torch.double)
        nodes, shares = cubature(points, weights, 40)
        assert len(nodes) <= 40
        for power in (1, 2, 3):
            assert_close(shares @ nodes**power, weights @ points**power, rtol=1e-9, atol=1e-9)


def test_too_few_nodes_for_a_plane_are_the_mean():
    points = torch.randn(50, 3, generator=generator(6), dtype=torch.double)
    weights = torch.full((50,), 0.02, dtype=torch.double)
    nodes, shares = cubature(points, weights, 3)
    assert_close((nodes, shares), (points.mean(0, keepdim=True), tensor(1.0)))
