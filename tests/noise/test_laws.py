"""Laws of one number against scipy.stats, mpmath, quadrature and Monte Carlo."""

import math
import subprocess
import sys
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
import torch
from scipy import stats
from torch.testing import assert_close

from declared_laws import untested
from examples import some
from meseta.noise import (
    Discrete,
    Empirical,
    Independent,
    Laplace,
    LearnedNormal,
    LogNormal,
    Mixture,
    NoiseLaw,
    Normal,
    OneDimensional,
    ScipyLaw,
    StudentT,
    Triangular,
    TruncatedNormal,
    Uniform,
    from_scipy,
    names,
)

SAMPLES = np.random.default_rng(0).gamma(2, 0.3, size=200)
# A law of ours, and the same one by scipy
TWINS = {
    "normal": (Normal(0.3, mean=0.2), stats.norm(0.2, 0.3)),
    "uniform": (Uniform(0.4, mean=-0.1), stats.uniform(-0.5, 0.8)),
    "triangular": (Triangular(0.5), stats.triang(0.5, -0.5, 1)),
    "skewed triangle": (
        Triangular(low=-1, high=2, mode=1.5),
        stats.triang(2.5 / 3, loc=-1, scale=3),
    ),
    "ramp": (Triangular(low=0, high=0.5), stats.triang(0, 0, 0.5)),
    "laplace": (Laplace(0.3, mean=0.1), stats.laplace(0.1, 0.3)),
    "student": (StudentT(5, 0.2), stats.t(5, scale=0.2)),
    "biased student": (StudentT(2.5, 0.2, mean=-1), stats.t(2.5, loc=-1, scale=0.2)),
    "learned": (LearnedNormal(0.2, worth=5, mean=0.1), stats.t(5, loc=0.1, scale=0.2)),
    "nearly normal student": (StudentT(300, 0.2), stats.t(300, scale=0.2)),
    "truncated": (TruncatedNormal(1.0, -1, 2, mean=0.3), stats.truncnorm(-1.3, 1.7, 0.3, 1)),
    "truncated above": (TruncatedNormal(0.1, 0.5, 0.9), stats.truncnorm(5, 9, 0, 0.1)),
    "truncated below": (TruncatedNormal(0.1, -0.3, -0.2), stats.truncnorm(-3, -2, 0, 0.1)),
    "half": (TruncatedNormal(2.0, 0, math.inf), stats.truncnorm(0, math.inf, scale=2)),
    "hardly truncated": (TruncatedNormal(0.1, -50, 50), stats.norm(0, 0.1)),
    "narrow window": (TruncatedNormal(1.0, -1e-3, 2e-3), stats.truncnorm(-1e-3, 2e-3)),
    "gamma": (from_scipy(stats.gamma(2, scale=0.1)), stats.gamma(2, scale=0.1)),
    "pole": (from_scipy(stats.beta(0.5, 0.7)), stats.beta(0.5, 0.7)),
    "skewnorm": (from_scipy(stats.skewnorm(4)), stats.skewnorm(4)),
    "lognorm": (from_scipy(stats.lognorm(0.5)), stats.lognorm(0.5)),
    "kink": (from_scipy(stats.dgamma(1.5)), stats.dgamma(1.5)),
    "concentrated": (from_scipy(stats.beta(500, 400)), stats.beta(500, 400)),
}
OTHERS = {
    "log-normal": LogNormal(0.2),
    "discrete": Discrete([0.5, -1, 0.0, 0.5], weights=[1, 2, 3, 4]),
    "a constant": Discrete([0.3]),
    "still": Normal(0.0, mean=0.2),
    "still uniform": Uniform(0.0),
    "empirical": Empirical(SAMPLES),
    "outliers": Mixture([Normal(0.1), Normal(1.0, mean=0.5)], weights=[95, 5]),
    "partly discrete": Mixture(
        [Normal(1e-3, mean=0.3), Uniform(2.0), Discrete([0.0, 0.7])], weights=[0.3, 0.4, 0.3]
    ),
    "mixture of mixtures": Mixture(
        [Mixture([Laplace(0.1), stats.expon(scale=0.3)]), Triangular(0.2)], weights=[0.2, 0.8]
    ),
    "poisson": from_scipy(stats.poisson(3)),
    "histogram": from_scipy(stats.rv_histogram(np.histogram(SAMPLES, bins=7))),
}
LAWS = {name: law for name, (law, _) in TWINS.items()} | OTHERS
LAWS |= untested(LAWS.values())


def every(laws):
    return pytest.mark.parametrize("law", laws.values(), ids=laws.keys())


def every_twin():
    return pytest.mark.parametrize(("law", "twin"), TWINS.values(), ids=TWINS.keys())


def generator(seed):
    return torch.Generator().manual_seed(seed)


def tensor(*values):
    return torch.tensor(values, dtype=torch.double)


def deviation(law):
    return float(law.covariance_matrix.sqrt())


@every(LAWS)
def test_every_law_keeps_the_protocol(law):
    assert isinstance(law, NoiseLaw)
    assert isinstance(law, OneDimensional)
    assert law.independent
    assert law.marginals == (law,)
    assert law.mean.shape == (1,)
    assert law.covariance_matrix.shape == (1, 1)


@every_twin()
def test_density_distribution_and_moments_are_those_of_scipy(law, twin):
    # not at the ends, where a density is what one likes
    xi = torch.from_numpy(twin.ppf(np.linspace(1e-3, 1 - 1e-3, 25)))
    outside = torch.from_numpy(twin.ppf([1e-9, 1 - 1e-9])) + tensor(-5, 5) * deviation(law)
    xi = torch.cat([xi, outside])
    density = torch.from_numpy(twin.pdf(xi.numpy()))
    assert_close(law.pdf(xi), density, rtol=1e-9, atol=1e-12)
    assert_close(law.cdf(xi), torch.from_numpy(twin.cdf(xi.numpy())), rtol=1e-9, atol=1e-12)
    sd = twin.std()
    assert law.mean.item() == pytest.approx(twin.mean(), rel=1e-8, abs=1e-8 * sd)
    assert deviation(law) == pytest.approx(sd, rel=1e-7)


@every(LAWS)
def test_density_is_the_derivative_of_the_distribution(law):
    low, high = law.interval(1e-6)
    step = 1e-5 * deviation(law)
    xi = low + (high - low) * torch.rand(200, generator=generator(0), dtype=torch.double)
    kinks = tensor(*law.breaks)
    away = ((xi[:, None] - kinks).abs() > 100 * step).all(-1)
    xi = xi[away]
    slope = (law.cdf(xi + step) - law.cdf(xi - step)) / (2 * step) if step else law.cdf(xi)
    size = 1 / max(deviation(law), 1e-300)
    assert_close(law.pdf(xi), slope, rtol=1e-4, atol=1e-6 * size)


@every(LAWS)
def test_density_and_atoms_have_all_the_mass(law):
    low, high = law.interval(1e-16)
    values, weights = law.atoms
    ends = law.cdf(tensor(low, high))
    assert float(ends[1] - ends[0] + weights.sum()) == pytest.approx(1, abs=1e-14)
    assert bool((weights > 0).all())
    assert values.tolist() == sorted(set(values.tolist()))
    assert law.breaks == tuple(sorted(law.breaks))


@pytest.mark.parametrize("tail", [1e-12, 1e-6, 0.01, 0.3])
@every(LAWS)
def test_intervals_leave_no_more_than_the_tail_outside(law, tail):
    low, high = law.interval(tail)
    assert math.isfinite(low)
    assert math.isfinite(high)
    ends = law.cdf(tensor(low, high))
    values, weights = law.atoms
    inside = weights[(low <= values) & (values <= high)].sum()
    assert float(ends[1] - ends[0] + inside) >= 1 - tail * (1 + 1e-6) - 1e-15


def test_finite_support_is_the_interval():
    assert Uniform(0.4, mean=-0.1).interval(1e-6) == pytest.approx((-0.5, 0.3))
    assert Triangular(0.5).interval(0.1) == (-0.5, 0.5)
    assert TruncatedNormal(1, -1, 2).interval(1e-6) == (-1, 2)
    assert from_scipy(stats.beta(2, 3)).interval(1e-9) == (0, 1)
    assert Discrete([3, -1]).interval(0.1) == (-1, 3)


def test_an_empty_stretch_of_the_support_is_left_out():
    low, high = TruncatedNormal(0.1, -50, 50).interval(1e-16)
    assert (low, high) == pytest.approx((-0.83, 0.83), abs=0.01)
    low, high = from_scipy(stats.beta(500, 400)).interval(1e-16)
    assert 0.3 < low < 0.45
    assert 0.65 < high < 0.8


@pytest.mark.parametrize(
    ("law", "breaks"),
    [
        (Normal(1.0), ()),
        (Uniform(1.0, mean=2.0), (1.0, 3.0)),
        (Triangular(low=0, high=3, mode=1), (0, 1, 3)),
        (Triangular(low=0, high=3, mode=3), (0, 3)),
        (Laplace(1, mean=0.5), (0.5,)),
        (StudentT(3, 1), ()),
        (TruncatedNormal(1, 0, math.inf), (0,)),
        (Mixture([Uniform(1.0), Laplace(1.0), Uniform(1.0)]), (-1, 0, 1)),
        (Discrete([0, 1]), ()),
        (from_scipy(stats.gamma(2)), (0,)),
        (from_scipy(stats.skewnorm(4)), ()),
    ],
    ids=repr,
)
def test_breaks_are_where_the_density_is_not_smooth(law, breaks):
    assert law.breaks == breaks


def test_breaks_that_scipy_does_not_tell_are_found():
    edges = np.array([-1.0, -0.3, 0.1, 0.9, 2.0])
    law = from_scipy(stats.rv_histogram((np.array([1, 5, 2, 4]), edges), density=False))
    assert law.breaks == pytest.approx(edges, abs=1e-9)
    assert from_scipy(stats.dgamma(1.5, loc=0.3)).breaks == pytest.approx((0.3,), abs=1e-9)


@every(LAWS)
def test_samples_have_the_mean_variance_and_distribution_of_the_law(law):
    num = 20_000
    xi = law.sample(num, generator(1))
    assert xi.shape == (num, 1)
    assert torch.equal(xi, law.sample(num, generator(1)))
    error = 5 * xi.std(0) / math.sqrt(num) + 1e-15
    assert bool(((xi.mean(0) - law.mean).abs() <= error).all())
    # Kolmogorov: the largest gap exceeds 2 / sqrt(n) once in 1500 times
    values, weights = law.atoms
    ordered = xi[:, 0].sort().values
    share = torch.searchsorted(ordered, ordered, right=True) / num
    exact = law.cdf(ordered) + ((values <= ordered[:, None]) * weights).sum(-1)
    assert float((share - exact).abs().max()) <= 2 / math.sqrt(num)


@every(LAWS)
def test_samples_have_the_characteristic_function_of_the_law(law):
    num = 20_000
    xi = law.sample(num, generator(2))
    sd = deviation(law) or 1.0
    omega = torch.randn(12, 1, generator=generator(3), dtype=torch.double) / sd
    exact = law.characteristic(omega)
    phase = xi @ omega.T
    for part, draws in ((exact.real, phase.cos()), (exact.imag, phase.sin())):
        error = 5 * draws.std(0) / math.sqrt(num) + 1e-14
        assert bool(((draws.mean(0) - part).abs() <= error).all())


def wave_by_brute_force(law, omega):
    """Gauss-Legendre on 25 pieces per standard deviation between the breaks: 0.2 turns each."""
    sd = deviation(law)
    low, high = law.interval(1e-15)
    edges = sorted({low, high, *(place for place in law.breaks if low < place < high)})
    grids = [np.linspace(a, b, 9 + int(25 * (b - a) / sd)) for a, b in pairwise(edges)]
    starts = np.concatenate([grid[:-1] for grid in grids] or [[]])
    widths = np.concatenate([np.diff(grid) for grid in grids] or [[]])
    t, weights = np.polynomial.legendre.leggauss(20)
    points = torch.from_numpy(starts[:, None] + widths[:, None] * (1 + t) / 2).reshape(-1)
    mass = torch.from_numpy(widths[:, None] / 2 * weights).reshape(-1) * law.pdf(points)
    values, shares = law.atoms
    points, mass = torch.cat([points, values]), torch.cat([mass, shares])
    return torch.stack([(mass * torch.exp(1j * at * points)).sum() for at in omega])


BRUTE_FORCE = {
    name: law
    for name, law in LAWS.items()
    # a pole, a root, a narrow member and long tails are not for brute force
    if name not in ("pole", "kink", "partly discrete") and "student" not in name
}


@every(BRUTE_FORCE)
def test_characteristic_function_is_the_integral_of_the_wave(law):
    omega = tensor(0.0, 1e-3, 0.7, -3.0, 20.0, 100.0) / (deviation(law) or 1.0)
    value = law.characteristic(omega[:, None])
    assert value[0].item() == pytest.approx(1, abs=1e-14)
    # the ends of a window, some widths from 0, are themselves rounded
    assert_close(value, wave_by_brute_force(law, omega), rtol=0, atol=1e-12)


def truncated_by_mpmath(alpha, beta, s):
    """int_alpha^beta exp(i s t - t^2 / 2) dt, with digits to spare."""
    if beta < 0:  # towards the side where the tail is small
        return mp.conj(truncated_by_mpmath(-beta, -alpha, s))

    def beyond(a):
        if abs(a) == mp.inf:
            return mp.mpf(1 - mp.sign(a))
        return mp.erfc((a - 1j * mp.mpf(s)) / mp.sqrt(2))

    return mp.sqrt(mp.pi / 2) * mp.exp(-(mp.mpf(s) ** 2) / 2) * (beyond(alpha) - beyond(beta))


@pytest.mark.parametrize(
    ("std", "low", "high", "mean"),
    [
        (1.0, 0.5, 4.0, 0.0),
        (1.0, -4.0, -0.5, 0.0),
        (1.0, 12.0, math.inf, 0.0),
        (1.0, -math.inf, -30.0, 0.0),
        (1.0, 200.0, math.inf, 0.0),
        (1.0, 8.0, 8.01, 0.0),
        (1.0, -1e-8, 3e-8, 0.0),
        (0.1, -0.2, 0.01, 0.3),
        (1.0, -0.4, 0.7, 0.0),
        (1.0, -0.4, 0.5, 0.0),
    ],
)
def test_truncated_normal_is_right_far_in_the_tail_and_in_narrow_windows(std, low, high, mean):
    law = TruncatedNormal(std, low, high, mean)
    sd = deviation(law)
    farthest = max(abs(end) for end in (low, high, mean) if math.isfinite(end))
    with mp.workdps(120):
        alpha, beta = (mp.mpf(low) - mean) / std, (mp.mpf(high) - mean) / std
        mass = truncated_by_mpmath(alpha, beta, 0).real

        def density(t):
            return mp.exp(-(t**2) / 2) / mass if abs(t) < mp.inf else mp.mpf(0)

        def slope(t):
            return t * density(t) if abs(t) < mp.inf else mp.mpf(0)

        first = density(alpha) - density(beta)
        second = 1 + slope(alpha) - slope(beta) - first**2
        for at in (0.0, 0.3 / sd, -2 / sd, 17 / sd, 100 / sd):
            exact = truncated_by_mpmath(alpha, beta, std * mp.mpf(at)) / mass
            exact = complex(exact * mp.expj(mp.mpf(at) * mean))
            found = law.characteristic(tensor(at)[:, None]).item()
            # exp(i omega x) itself is only known to the rounding of omega x
            assert found == pytest.approx(exact, abs=2e-13 + 1e-15 * abs(at) * farthest)
        first, second = float(mean + std * first), float(std * mp.sqrt(second))
    assert law.mean.item() == pytest.approx(first, rel=1e-15, abs=1e-12 * sd)
    assert sd == pytest.approx(second, rel=1e-12 + 1e-15 * farthest / sd)
    draws = law.sample(1000, generator(4))
    assert bool(((low <= draws) & (draws <= high)).all())
    assert float(draws.std()) == pytest.approx(sd, rel=0.15)


@pytest.mark.parametrize("df", [2.0001, 2.5, 3, 10, 200])
def test_characteristic_function_of_student_is_a_bessel_function(df):
    law = StudentT(df, 0.7)
    omega = tensor(0.0, 1e-9, 1e-3, 0.1, 1, 5, 30)
    value = law.characteristic(omega[:, None])
    for at, found in zip(omega.tolist(), value.real.tolist(), strict=True):
        with mp.workdps(40):
            a, z = mp.mpf(df) / 2, mp.sqrt(df) * mp.mpf(0.7) * mp.mpf(at)
            exact = 2 * (z / 2) ** a * mp.besselk(a, z) / mp.gamma(a) if at else mp.mpf(1)
        assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-14)
    assert bool((value.imag == 0).all())


def test_student_with_much_freedom_is_normal():
    omega = tensor(0.0, 0.1, 1, 3)[:, None]
    normal = Normal(0.7).characteristic(omega)
    # E exp(-q V), V = df / chi^2_df with mean 1 + 2 / df and variance 2 / df
    q = (0.7 * omega[:, 0]) ** 2 / 2
    expected = normal * (1 + (q**2 - 2 * q) / 1e8)
    assert_close(StudentT(1e8, 0.7).characteristic(omega), expected, rtol=0, atol=1e-12)


def wave_by_mpmath(density, edges, omega, pieces=8):
    """int exp(i omega x) density(x) dx to 20 digits, the density normalised here."""
    with mp.workdps(25):
        grid = [mp.mpf(edges[0])]
        for a, b in pairwise(edges):
            grid += [mp.mpf(a) + (mp.mpf(b) - a) * i / pieces for i in range(1, pieces + 1)]
        mass = mp.quad(density, grid)
        return complex(mp.quad(lambda x: density(x) * mp.expj(omega * x), grid) / mass)


@pytest.mark.parametrize("edge", [0.0, 1e-9, 0.5, 0.999, 1.0, 1.001, 40.0])
def test_characteristic_function_of_a_triangle_does_not_cancel(edge):
    """At omega = edge / side the formula changes from a series to a closed form."""
    law = Triangular(low=-1, high=2, mode=0.5)
    found = law.characteristic(tensor(edge / 1.5)[:, None]).item()
    exact = wave_by_mpmath(lambda x: min((x + 1), (2 - x)), (-1, 0.5, 2), edge / 1.5)
    assert found == pytest.approx(exact, abs=1e-15)


@pytest.mark.parametrize("scale", [3.0, -0.2])
@every(LAWS)
def test_scaled_law_is_the_law_of_the_scaled_noise(law, scale):
    scaled = law.scaled(tensor(scale))
    if isinstance(law, LogNormal):
        assert scaled == law
        return
    sd = deviation(law) or 1.0
    omega = torch.randn(9, 1, generator=generator(5), dtype=torch.double) / sd
    assert_close(
        scaled.characteristic(omega), law.characteristic(scale * omega), atol=1e-12, rtol=0
    )
    assert_close(scaled.mean, scale * law.mean)
    assert_close(scaled.covariance_matrix, scale**2 * law.covariance_matrix)
    assert sorted(scale * place for place in law.breaks) == pytest.approx(scaled.breaks, abs=1e-9)
    low, high = law.interval(0.1)
    xi = low + (high - low) * torch.linspace(0.03, 0.96, 7, dtype=torch.double)
    assert_close(scaled.pdf(scale * xi) * abs(scale), law.pdf(xi))
    values, weights = law.atoms
    order = (scale * values).argsort()
    assert_close(scaled.atoms, ((scale * values)[order], weights[order]))


@pytest.mark.parametrize("scale", some([1e-200, 1e-100, 1e100, 1e150], 3))
@every(LAWS)
def test_units_may_be_of_any_size(law, scale):
    """Down to where the variance is 0 in floating point: then the noise is still."""
    if isinstance(law, LogNormal):
        return
    scaled = law.scaled(tensor(scale))
    assert bool(scaled.mean.isfinite().all())
    if scaled.covariance_matrix.any():
        omega = tensor(0.3, 1.0, 4.0)[:, None] / deviation(law)
        value = scaled.characteristic(omega / scale)
        assert_close(value, law.characteristic(omega), rtol=0, atol=1e-9)


@every(LAWS)
def test_one_law_holds_for_every_dimension(law):
    three = law.in_dimension(3)
    assert len(three.mean) == 3
    assert three.independent
    assert three.marginals == (law,) * 3
    assert three.in_dimension(3) == three
    assert law.in_dimension(1).marginals == (law,)
    assert three.sample(6, generator(3)).shape == (6, 3)


@every({**LAWS, "relative": Normal(0.1, relative=True), "share": Uniform(0.1, 0.2, relative=True)})
def test_repr_is_code_that_gives_the_law_back(law):
    if isinstance(law, ScipyLaw) and "rv_continuous_frozen" in repr(law):
        pytest.skip("a distribution without a name")
    known = {**vars(names), "scipy": scipy}
    again = eval(repr(law), known)
    assert again == law
    assert hash(again) == hash(law)
    assert repr(law).startswith(type(law).__name__)


def test_long_samples_are_not_spelled_out():
    assert repr(Empirical(np.zeros(2000))) == "Empirical(<2000 samples of 1>)"
    assert repr(Empirical(np.zeros((2000, 3)))) == "Empirical(<2000 samples of 3>)"


def test_laws_are_values():
    assert Laplace(1) == Laplace(1.0, mean=0)
    assert Laplace(1) != Laplace(2)
    assert Triangular(1) == Triangular(low=-1, high=1, mode=0.0)
    assert Discrete([0, 1]) == Discrete(np.array([0.0, 1.0]), weights=[2, 2])
    assert Empirical([1, 2]) == Empirical(torch.tensor([[1.0], [2.0]]))
    assert Mixture([Normal(1), stats.expon()]) == Mixture([Normal(1), stats.expon()], [1, 1])
    assert from_scipy(stats.gamma(2)) == from_scipy(stats.gamma(a=2))
    assert from_scipy(stats.gamma(2)) != from_scipy(stats.gamma(2, scale=3))
    assert from_scipy(stats.gamma(2)) != Normal(1)
    with pytest.raises(AttributeError):
        Laplace(1).scale = 2


@pytest.mark.parametrize(
    ("distribution", "law"),
    [
        (stats.norm(0.2, 0.3), Normal(0.3, mean=0.2)),
        (stats.norm(scale=2), Normal(2)),
        (stats.uniform(-1, 2), Uniform(1)),
        (stats.laplace(0.5, 2), Laplace(2, mean=0.5)),
        (stats.t(3, loc=1), StudentT(3, 1, mean=1)),
        (stats.t(df=3, scale=2), StudentT(3, 2)),
        (stats.triang(0.25, scale=4), Triangular(low=0, high=4, mode=1)),
        (stats.truncnorm(-1, 2, loc=1, scale=3), TruncatedNormal(3, -2, 7, mean=1)),
        (stats.randint(0, 3), Discrete([0, 1, 2])),
        (stats.bernoulli(0.25), Discrete([0, 1], weights=[3, 1])),
    ],
)
def test_scipy_s_distributions_become_our_own_where_there_is_one(distribution, law):
    assert from_scipy(distribution) == law


def test_a_distribution_of_the_user_s_own_is_a_law():
    class Ramp(stats.rv_continuous):
        def _pdf(self, x):
            return 2 * x

        def _cdf(self, x):
            return x**2

        def _ppf(self, q):
            return q**0.5

        def _stats(self):
            return 2 / 3, 1 / 18, None, None

    law = from_scipy(Ramp(a=0, b=1, name="norm")())
    assert isinstance(law, ScipyLaw)
    assert law.mean.item() == pytest.approx(2 / 3)
    omega = tensor(0.3, 7.0)[:, None]
    triangle = Triangular(low=0, high=1, mode=1)
    assert_close(law.characteristic(omega), triangle.characteristic(omega), atol=1e-13, rtol=0)


def test_frozen_distributions_are_laws_wherever_one_is_taken():
    gamma = stats.gamma(2, scale=0.1)
    law = from_scipy(gamma)
    assert Independent([gamma, Normal(0.1)]).laws == (law, Normal(0.1))
    assert Mixture([gamma, Normal(0.1)]).laws == (law, Normal(0.1))


def test_noise_that_depends_on_x_is_kept_as_it_is():
    law = Normal(0.05, mean=0.01, relative=True)
    assert law.scaled(tensor(7.0)) == law
    assert law.in_dimension(2) == Normal((0.05, 0.05), mean=0.01, relative=True)
    assert law.in_dimension(2).marginals == (law, law)
    assert law != Normal(0.05, mean=0.01)
    assert Normal(covariance=[[1.0, 0.5], [0.5, 1.0]], relative=True).marginals[1].relative
    share = Uniform(0.05, relative=True)
    assert share.scaled(tensor(7.0)) == share
    assert share.in_dimension(2).marginals == (share, share)
    assert Independent([law, share]).scaled(tensor(2.0, 3.0)) == Independent([law, share])


@pytest.mark.parametrize("family", [Normal, Uniform])
def test_a_width_may_be_a_function_of_x(family):
    def width(x):
        return 0.1 + 0.02 * x

    law = family(width)
    assert law.width is width
    assert law.covariance_matrix == family(1.0).covariance_matrix
    assert law == family(width)
    assert law != family(1.0)
    assert law.scaled(tensor(7.0)) == law
    assert law.in_dimension(2).marginals == (law, law)
    assert "width" in repr(law)
    with pytest.raises(ValueError, match="function of x cannot be relative as well"):
        family(width, relative=True)
    with pytest.raises(ValueError, match=r"function of x has no mean, got 0.1; leave it out"):
        family(width, 0.1)


def test_log_normal_noise_is_normal_in_the_logarithm():
    law = LogNormal(0.2)
    assert law.multiplicative
    assert law.logarithm == Normal(0.2)
    assert law.in_dimension(2) == Independent([law, law])
    assert_close(law.covariance_matrix, tensor(0.04)[None])


@pytest.mark.parametrize("family", [Normal, Uniform])
def test_a_mean_for_each_parameter(family):
    law = family(0.1, mean=[0.0, 0.5])
    assert law == family([0.1, 0.1], mean=[0.0, 0.5])
    assert law.marginals == (family(0.1), family(0.1, mean=0.5))
    assert_close(law.mean, tensor(0.0, 0.5))
    assert family([0.1, 0.2], mean=0.5) == family([0.1, 0.2], mean=[0.5, 0.5])
    assert_close(law.scaled(tensor(2.0, -3.0)).mean, tensor(0.0, -1.5))
    with pytest.raises(ValueError, match="2 widths but 3 means"):
        family([0.1, 0.2], mean=[1, 2, 3])
    with pytest.raises(AttributeError, match=r"law of 2 parameters; .* take one of its marginals"):
        law.pdf(tensor(0.0))
    assert not hasattr(law, "breaks")
    assert not hasattr(law, "atoms")


def test_correlated_noise_has_a_mean():
    covariance = [[0.04, 0.02], [0.02, 0.09]]
    law = Normal(covariance=covariance, mean=[0.1, -0.3])
    assert_close(law.sample(50_000, generator(6)).mean(0), tensor(0.1, -0.3), atol=0.01, rtol=0)
    omega = tensor(1.0, 2.0)[None]
    still = Normal(covariance=covariance).characteristic(omega)
    assert_close(law.characteristic(omega), still * torch.exp(tensor(0.1 - 0.6) * 1j))
    assert law.marginals == (Normal(0.2, mean=0.1), Normal(0.3, mean=-0.3))
    assert law.scaled(tensor(1.0, -2.0)).bias == (0.1, 0.6)
    assert eval(repr(law), {"Normal": Normal}) == law


def test_laws_do_not_load_scipy_s_distributions():
    """Which takes as long as everything else."""
    code = "import sys, meseta.optimizer.ask_tell; from meseta.noise import *; "
    code += "sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


REFUSED = {
    "nan": (lambda: Laplace(math.nan), ValueError, "Laplace scale must be finite, got nan"),
    "negative": (lambda: Laplace(-1), ValueError, r"Laplace scale .* got -1; .*write Normal\(0\)"),
    "zero": (lambda: StudentT(3, 0), ValueError, "StudentT scale must be greater than 0, got 0"),
    "text": (lambda: Laplace("wide"), TypeError, "Laplace scale must be a number, got 'wide'"),
    "bias": (lambda: Laplace(1, mean=math.inf), ValueError, "Laplace mean must be finite"),
    "normal bias": (lambda: Normal(1, mean=math.nan), ValueError, "Normal mean must be finite"),
    "flag": (lambda: Uniform(1, 0.0, relative="yes"), TypeError, "relative must be True or False"),
    "freedom": (
        lambda: StudentT(2, 1),
        ValueError,
        "StudentT df must be greater than 2, got 2: .* no variance, .* width .* must be finite",
    ),
    "nan freedom": (lambda: StudentT(math.nan, 1), ValueError, "StudentT df must be finite"),
    "two widths": (
        lambda: Triangular(1, low=0, high=1),
        ValueError,
        "either a half-width or both low=... and high=..., got half_width=1, low=0, high=1",
    ),
    "one end": (lambda: Triangular(low=0), ValueError, "both low=... and high=..."),
    "no width": (lambda: Triangular(), ValueError, "either a half-width or both"),
    "swapped": (lambda: Triangular(low=1, high=-1), ValueError, "less than high, .*; swap them"),
    "empty": (lambda: Triangular(low=1, high=1), ValueError, r"write Discrete\(\[value\]\)"),
    "mode": (
        lambda: Triangular(low=1, high=2),
        ValueError,
        r"mode must lie between low and high, got 0.0 outside \(1.0, 2.0\); say mode=",
    ),
    "cut": (lambda: TruncatedNormal(1, 2, 1), ValueError, "low must be less than high.*swap"),
    "cut nan": (lambda: TruncatedNormal(1, math.nan, 1), ValueError, "low must be finite"),
    "cut away": (
        lambda: TruncatedNormal(1e-200, 1, 2),
        ValueError,
        r"more than 10000 standard deviations from its mean 0.0; move the mean towards them",
    ),
    "sigma": (lambda: LogNormal(-0.1), ValueError, "LogNormal sigma must be greater than 0"),
    "weights": (
        lambda: Discrete([0, 1], weights=[1, -1]),
        ValueError,
        "weights of Discrete must not be negative, .* got",
    ),
    "no weight": (lambda: Discrete([0, 1], [0, 0]), ValueError, "at least one must be greater"),
    "weight missing": (lambda: Discrete([0, 1], [1]), ValueError, "must be 2 numbers, .* got 1"),
    "no values": (lambda: Discrete([]), ValueError, "values of Discrete must be at least one"),
    "nan value": (lambda: Discrete([0, math.nan]), ValueError, "must be finite, .* leave out"),
    "no list": (lambda: Discrete(3), TypeError, "values of Discrete must be a list of numbers"),
    "no samples": (lambda: Empirical([]), ValueError, "samples of Empirical must be at least one"),
    "nan sample": (lambda: Empirical([1, math.nan]), ValueError, "but 1 are not; leave out"),
    "a number": (lambda: Empirical(1.0), TypeError, "a row for each sample and a column for each"),
    "ragged": (lambda: Empirical([[1, 2], [3]]), TypeError, "a row for each sample"),
    "no laws": (lambda: Mixture([]), TypeError, r"a list of noise laws, got \[\]"),
    "no law": (
        lambda: Mixture([Normal(1), 2.0]),
        TypeError,
        r"member 1 of Mixture must be a law .* got 2.0; write Normal\(2.0\)",
    ),
    "joint": (lambda: Mixture([Normal([1, 2])]), ValueError, "must be one-dimensional"),
    "relative": (
        lambda: Mixture([Normal(0.1, relative=True)]),
        ValueError,
        "member 0 of Mixture must not depend on x, but .*; give its width in the units",
    ),
    "family": (
        lambda: from_scipy(stats.gamma),
        TypeError,
        "scipy.stats.gamma is a family .* call it with its parameters",
    ),
    "not scipy": (lambda: from_scipy(3), TypeError, "takes a frozen distribution .* got 3"),
    "cauchy": (
        lambda: from_scipy(stats.cauchy()),
        ValueError,
        r"scipy.stats.cauchy\(\) has .* the width of the noise must be finite",
    ),
    "bad shape": (lambda: from_scipy(stats.gamma(-1)), ValueError, "check its parameters"),
    "arrays": (lambda: from_scipy(stats.gamma([1, 2])), ValueError, "give one law per parameter"),
    "many values": (
        lambda: from_scipy(stats.randint(0, 10**9)),
        ValueError,
        "at most 100000 values; .* continuous law such as Uniform",
    ),
}


@pytest.mark.parametrize(("law", "kind", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_law_is_refused_with_the_reason(law, kind, message):
    with pytest.raises(kind, match=message):
        law()


def test_a_law_without_a_density_cannot_be_mixed():
    class Own:
        independent = True
        mean = torch.zeros(1)
        covariance_matrix = torch.ones(1, 1)
        in_dimension = scaled = sample = characteristic = sigma_points = print

        @property
        def marginals(self):
            return (self,)

    with pytest.raises(TypeError, match="member 0 of Mixture must have a density or atoms"):
        Mixture([Own()])
