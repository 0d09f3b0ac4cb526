"""Laws of several parameters together, and how named parameters get them."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from torch.testing import assert_close

import meseta.noise
from meseta.kernels import StationaryKernel, smooth
from meseta.noise import (
    Discrete,
    Empirical,
    Independent,
    Joint,
    Laplace,
    LogNormal,
    NoiseLaw,
    Normal,
    Placed,
    Shared,
    Triangular,
    Uniform,
    from_scipy,
    names,
)
from meseta.noise.joint import joint
from meseta.space.named_noise import read_noise
from meseta.space.space import Space

COVARIANCE = ((0.04, 0.03), (0.03, 0.09))
TABLE = np.random.default_rng(0).gamma(2.0, size=(300, 2)) @ np.array([[0.3, 0.1], [0.0, 0.2]])
LAWS = {
    "empirical": Empirical(TABLE),
    "few rows": Empirical(TABLE[:5]),
    "common": Shared(Triangular(low=-1, high=2, mode=0), loads=[0.5, -0.2, 1.0]),
    "common, one still": Shared(stats.gamma(2, scale=0.1), loads=[1, 0, -1]),
    "common, all but one still": Shared(Laplace(0.1), loads=[0, 2]),
    "normal and own": Joint(Uniform([0.1, 0.0, 0.3]), [((2, 0), Normal(covariance=COVARIANCE))]),
    "empirical and own": Joint(
        Independent([Normal(0.1, mean=0.2), Laplace(0.1), Discrete([0, 1]), Normal(0.0)]),
        [((3, 1), Empirical(TABLE)), ((0, 2), Shared(Uniform(0.2)))],
    ),
    "sums": Joint(Normal([0.1, 0.2]), [((1,), Laplace(0.3)), ((0,), Uniform(0.5))]),
    "sum": Joint(Triangular(0.2), [((0,), stats.expon(scale=0.1))]),
}


def every(laws):
    return pytest.mark.parametrize("law", laws.values(), ids=laws.keys())


def tensor(*values):
    return torch.tensor(values, dtype=torch.double)


def generator(seed):
    return torch.Generator().manual_seed(seed)


@every(LAWS)
def test_every_law_keeps_the_protocol(law):
    assert isinstance(law, NoiseLaw)
    d = len(law.mean)
    assert law.covariance_matrix.shape == (d, d)
    assert law.in_dimension(d) == law
    assert eval(repr(law), {**vars(names), "scipy": __import__("scipy")}) == law
    assert hash(law) == hash(law.in_dimension(d))


@every(LAWS)
def test_samples_have_the_moments_and_the_characteristic_function_of_the_law(law):
    num = 20_000
    xi = law.sample(num, generator(0))
    assert torch.equal(xi, law.sample(num, generator(0)))
    centred = xi - law.mean
    for draws, exact in (
        (xi, law.mean),
        (centred[:, :, None] * centred[:, None, :], law.covariance_matrix),
    ):
        error = 5 * draws.std(0) / math.sqrt(num) + 1e-15
        assert bool(((draws.mean(0) - exact).abs() <= error).all())
    omega = 2 * torch.randn(12, len(law.mean), generator=generator(1), dtype=torch.double)
    value = law.characteristic(omega)
    phase = xi @ omega.T
    for part, draws in ((value.real, phase.cos()), (value.imag, phase.sin())):
        error = 5 * draws.std(0) / math.sqrt(num) + 1e-14
        assert bool(((draws.mean(0) - part).abs() <= error).all())


@every(LAWS)
def test_marginals_are_the_laws_of_the_coordinates(law):
    d = len(law.mean)
    assert len(law.marginals) == d
    for i, marginal in enumerate(law.marginals):
        omega = torch.zeros(5, d, dtype=torch.double)
        omega[:, i] = torch.randn(5, generator=generator(2), dtype=torch.double)
        assert_close(marginal.characteristic(omega[:, [i]]), law.characteristic(omega))
        assert_close(marginal.mean, law.mean[[i]])
        assert_close(marginal.covariance_matrix, law.covariance_matrix[[i]][:, [i]])


@every(LAWS)
def test_scaled_law_is_the_law_of_the_scaled_noise(law):
    scale = tensor(10.0, -0.1, 3.0, 0.5)[: len(law.mean)]
    omega = torch.randn(9, len(scale), generator=generator(3), dtype=torch.double)
    scaled = law.scaled(scale)
    assert_close(scaled.characteristic(omega), law.characteristic(scale * omega))
    assert_close(scaled.mean, scale * law.mean)
    assert_close(scaled.covariance_matrix, scale[:, None] * law.covariance_matrix * scale)


@every(LAWS)
def test_sigma_points_reproduce_mean_and_covariance(law):
    points, weights = law.sigma_points()
    mean = weights @ points
    assert_close(mean, law.mean, rtol=0, atol=1e-12)
    spread = points - mean
    assert_close(spread.T * weights @ spread, law.covariance_matrix, rtol=0, atol=1e-12)


LIMITS = {1: 5e-3, 2: 5e-3, 3: 0.02, 4: 0.08}  # about half of what as many samples would give


def test_a_common_shift_moves_parameters_together():
    law = Shared(Uniform(0.2)).in_dimension(3)
    assert law == Shared(Uniform(0.2), loads=[1, 1, 1])
    xi = law.sample(10, generator(5))
    assert bool((xi == xi[:, :1]).all())
    assert not law.independent
    assert law.marginals == (Uniform([0.2]),) * 3
    assert Shared(Uniform(0.2), loads=[0, 3]).independent
    with pytest.raises(ValueError, match=r"2 loads but x has 3 parameters; .* 0 for one"):
        Shared(Uniform(0.2), loads=[1, 2]).in_dimension(3)


def test_samples_come_as_lists_arrays_and_tables():
    table = [[1.0, 2], [3, 4], [5, 7]]
    frame = pd.DataFrame(table, columns=["a", "b"])
    for samples in (np.array(table), torch.tensor(table), frame, tuple(map(tuple, table))):
        assert Empirical(samples) == Empirical(table)
    assert Empirical(frame["b"]) == Empirical([2, 4, 7])
    assert Empirical(np.array([1, 2], dtype=np.float32)) == Empirical(range(1, 3))
    for wrong in ("1.0", ["1.0"], [[1, 2], ["a", 3]], {1.0: 2}, None):
        with pytest.raises(TypeError, match="a list of numbers, or a table"):
            Empirical(wrong)


def test_joint_samples_know_their_dimension():
    law = Empirical(TABLE)
    assert not law.independent
    assert [len(marginal.samples) for marginal in law.marginals] == [300, 300]
    with pytest.raises(ValueError, match="2 columns but x has 3 parameters"):
        law.in_dimension(3)
    with pytest.raises(AttributeError, match="take one of its marginals"):
        law.pdf(tensor(0.0))
    assert_close(Empirical(TABLE[:5]).table, torch.from_numpy(TABLE[:5]))


@pytest.mark.parametrize(
    ("laws", "parts", "simplest"),
    [
        ([Normal(1.0), Uniform(0.0)], [], Normal([1.0, 0.0])),
        (
            [Normal(0.0), Normal(0.0)],
            [((0, 1), Normal(covariance=COVARIANCE))],
            Normal(covariance=COVARIANCE),
        ),
        (
            [Normal(0.0), Normal(0.0)],
            [((1, 0), Normal(covariance=COVARIANCE, mean=[1, 2]))],
            Normal(covariance=((0.09, 0.03), (0.03, 0.04)), mean=[2, 1]),
        ),
        (
            [Normal(0.1, mean=1.0), Normal(0.0)],
            [((0, 1), Normal(covariance=COVARIANCE))],
            Normal(covariance=((0.04 + 0.1**2, 0.03), (0.03, 0.09)), mean=[1, 0]),
        ),
        (
            [Normal(0.0), Normal(0.0), Laplace(0.1)],
            [((1, 0), Independent([Normal(0.2), Uniform(0.3)]))],
            Independent([Uniform(0.3), Normal(0.2), Laplace(0.1)]),
        ),
        (
            [Normal(0.0), Normal(0.0)],
            [((0, 1), Empirical(TABLE))],
            Empirical(TABLE),
        ),
        ([Normal(0.0)] * 2, [((0, 1), Shared(Uniform(1.0)))], Shared(Uniform(1.0), [1, 1])),
    ],
)
def test_the_simplest_joint_law(laws, parts, simplest):
    parts = [(dims, law.in_dimension(len(dims))) for dims, law in parts]
    assert joint(laws, parts) == simplest


@pytest.mark.parametrize(
    ("biased", "centred"),
    [
        (Normal([0.1, 0.3], mean=[0.2, -0.5]), Normal([0.1, 0.3])),
        (Uniform([0.1, 0.3], mean=[0.2, -0.5]), Uniform([0.1, 0.3])),
        (Normal(covariance=COVARIANCE, mean=[0.2, -0.5]), Normal(covariance=COVARIANCE)),
    ],
    ids=repr,
)
def test_a_bias_shifts_the_robust_objective(biased, centred):
    kernel = StationaryKernel(tensor(1.5)[0], ("se", "se"), tensor(0.7, 0.9))
    A, B = torch.randn(2, 5, 2, generator=generator(7), dtype=torch.double)
    shifted, plain = smooth(kernel, biased), smooth(kernel, centred)
    assert_close(shifted.k_gf(A, B), plain.k_gf(A + biased.mean, B), rtol=0, atol=1e-9)
    assert_close(shifted.k_g(A, B), plain.k_g(A, B), rtol=0, atol=1e-9)


SPACE = Space({"x": (0, 1), "y": (-5, 5), "u": (0, 10), "v": (0, 2)})


def test_names_and_tuples_of_names_have_their_laws():
    law = read_noise(
        {
            "y": Normal(0.1),
            ("y", "x"): Shared(Uniform(0.2), loads=[1, 3]),
            ("u", "v"): Normal(covariance=COVARIANCE),
            "u": stats.gamma(2, scale=0.1),
        },
        SPACE,
    )
    gamma = from_scipy(stats.gamma(2, scale=0.1))
    assert law == Joint(
        Independent([Normal(0.0), Normal(0.1), gamma, Normal(0.0)]),
        [
            ((1, 0), Shared(Uniform(0.2), loads=[1, 3])),
            ((2, 3), Normal(covariance=COVARIANCE)),
        ],
    )
    variance = 0.2**2 / 3
    exact = torch.zeros(4, 4, dtype=torch.double)
    exact[:2, :2] = variance * tensor([9, 3], [3, 1])
    exact[2:, 2:] = tensor(*COVARIANCE)
    exact += torch.diag(tensor(0, 0.01, 0.02, 0))
    assert_close(law.covariance_matrix, exact)


@pytest.mark.parametrize(
    ("given", "law"),
    [
        (stats.norm(0, 0.1), Normal([0.1] * 4)),
        ({"x": stats.norm(0.2, 0.1)}, Normal([0.1, 0, 0, 0], mean=[0.2, 0, 0, 0])),
        ({("x",): Normal(0.1)}, Normal([0.1, 0, 0, 0])),
        (
            {"x": Normal(0.1, relative=True)},
            Independent(
                [Placed(Normal(0.1, relative=True), "relative", 0.0, 1.0), *[Normal(0.0)] * 3]
            ),
        ),
        (
            {("v", "u", "y", "x"): Normal(covariance=torch.diag(tensor(1, 2, 3, 4)))},
            Normal(covariance=torch.diag(tensor(4, 3, 2, 1))),
        ),
    ],
)
def test_named_noise_is_as_simple_as_it_can_be(given, law):
    assert read_noise(given, SPACE) == law


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({("x", "Z"): Normal(covariance=COVARIANCE)}, "unknown parameter: .* 'Z'"),
        ({("x", "vv"): Normal(covariance=COVARIANCE)}, "'vv'.*did you mean 'v'"),
        (
            {("x", "y"): Shared(Normal(1.0)), ("y", "u"): Shared(Normal(1.0))},
            r"'y' is in both \('x', 'y'\) and \('y', 'u'\); .* one joint law",
        ),
        ({("x", "x"): Shared(Normal(1.0))}, r"'x' is in \('x', 'x'\) twice"),
        (
            {("x", "y"): Normal(0.1)},
            r"\('x', 'y'\) must be a joint law of 2 .* Normal\(0.1\) is one of 1; "
            r"write Shared\(Normal\(0.1\)\) if they move together",
        ),
        (
            {("x", "y", "u"): Normal(covariance=COVARIANCE)},
            "joint law of 3 parameters, but .* is one of 2; name as many parameters as it has",
        ),
        ({("x", "y"): Shared(Normal(1.0), loads=[1, 2, 3])}, "is one of 3; name as many"),
        ({("x", "y"): 0.1}, r"noise of \('x', 'y'\) must be a law .* got 0.1"),
        ({("x", "y"): stats.gamma}, "scipy.stats.gamma is a family"),
        ({(): Shared(Normal(1.0))}, "a tuple must name at least one"),
        ({"x": Empirical(TABLE)}, "noise of 'x' must be the law of one number"),
        (Shared(Normal(1.0), loads=[1, 2]), "2 loads but x has 4"),
    ],
)
def test_named_noise_that_does_not_fit_is_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_noise(given, SPACE)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda: Joint(Normal(covariance=COVARIANCE), []), "must be independent, got"),
        (lambda: Joint(Normal([1.0, 1.0]), [((0, 2), Shared(Normal(1.0)))]), "from 0 to 1"),
        (lambda: Joint(Normal([1.0]), [((0,), Normal(1.0)), ((0,), Normal(1.0))]), "at most once"),
        (lambda: LAWS["sums"].in_dimension(3), "law of 2 parameters but x has 3"),
        (lambda: Shared(Normal([1.0, 2.0])), "the law of Shared must be one-dimensional"),
        (lambda: Shared(LogNormal(0.1)), "the law of Shared must not depend on x"),
        (lambda: Shared(Normal(1.0), loads=[]), "loads of Shared must be at least one"),
        (lambda: Shared(Normal(1.0), loads=[math.nan]), "loads of Shared must be finite"),
    ],
)
def test_joint_laws_that_are_none_are_refused(law, message):
    with pytest.raises(ValueError, match=message):
        law()


def test_every_law_is_a_name_of_the_package():
    inner = {"Substituted", "Edge", "Joint", "NoiseLaw", "OneDimensional", "Placed", "ScipyLaw"}
    inner |= {"FittedLaw", "NoiseFit"}
    for name in {*meseta.noise.__all__} - inner - {"LAWS", "in_units", "resolved"}:
        assert getattr(meseta, name) is getattr(meseta.noise, name)
        assert name in dir(meseta)
