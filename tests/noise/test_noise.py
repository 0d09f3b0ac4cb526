"""Laws of the input noise against their moments, Monte Carlo and exact integrals."""

import inspect
import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal
from torch.testing import assert_close

from examples import examples
from meseta.noise import Independent, NoiseLaw, Normal, Uniform
from meseta.noise.independent import independent, read_laws
from meseta.noise.law import read_width
from meseta.noise.panels import composite, panels

CORRELATED = torch.tensor(
    [[0.09, 0.05, 0.0], [0.05, 0.04, 0.01], [0.0, 0.01, 0.25]], dtype=torch.double
)
SINGULAR = torch.tensor([[0.04, 0.06], [0.06, 0.09]], dtype=torch.double)  # xi_2 = 1.5 xi_1
LAWS = {
    "normal": Normal((0.3, 0.05)),
    "normal in one dimension": Normal(0.2),
    "normal with a still dimension": Normal((0.3, 0.0, 0.1)),
    "correlated": Normal(covariance=CORRELATED),
    "singular": Normal(covariance=SINGULAR),
    "uniform": Uniform((0.5, 0.02, 0.0)),
    "mixed": Independent((Normal(0.3), Uniform(0.05), Normal(0.0))),
    "nested": Independent((Independent((Uniform(0.4),)), Normal(covariance=[[0.09]]))),
}
INDEPENDENT = {name: law for name, law in LAWS.items() if law.independent}
JOINT = {name: law for name, law in LAWS.items() if not law.independent}


def every(laws):
    return pytest.mark.parametrize("law", laws.values(), ids=laws.keys())


def generator(seed):
    return torch.Generator().manual_seed(seed)


def exact_covariance(law):
    if isinstance(law, Independent):
        return torch.block_diag(*[exact_covariance(member) for member in law.laws])
    if isinstance(law, Uniform):
        # int t^2 dt / 2h over +-h
        return torch.diag(law.half_widths**3 / (3 * law.half_widths.clamp_min(1e-300)))
    if law.covariance is not None:
        return torch.tensor(law.covariance, dtype=torch.double)
    return torch.diag(torch.tensor(law.std, dtype=torch.double).reshape(-1) ** 2)


@every(LAWS)
def test_every_law_keeps_the_protocol(law):
    assert isinstance(law, NoiseLaw)


@every(LAWS)
def test_moments_are_those_of_the_density(law):
    assert_close(law.covariance_matrix, exact_covariance(law), rtol=1e-14, atol=0)
    assert_close(law.mean, torch.zeros(len(law.covariance_matrix), dtype=torch.double))


@every(LAWS)
def test_samples_have_the_mean_and_covariance_of_the_law(law):
    num = 40_000
    xi = law.sample(num, generator(0))
    products = xi[:, :, None] * xi[:, None, :]
    for draws, exact in ((xi, law.mean), (products, law.covariance_matrix)):
        # 5 standard errors, from the draws themselves; rounding where the noise is still
        error = 5 * draws.std(0) / math.sqrt(num) + 1e-15
        assert torch.all((draws.mean(0) - exact).abs() <= error)


@every(LAWS)
def test_samples_have_the_characteristic_function_of_the_law(law):
    num = 40_000
    xi = law.sample(num, generator(1))
    omega = 4 * torch.randn(12, xi.shape[1], generator=generator(2), dtype=torch.double)
    exact = law.characteristic(omega)
    phase = xi @ omega.T
    for part, draws in ((exact.real, phase.cos()), (exact.imag, phase.sin())):
        error = 5 * draws.std(0) / math.sqrt(num) + 1e-15
        assert torch.all((draws.mean(0) - part).abs() <= error)


@every(LAWS)
def test_characteristic_function_is_one_at_zero(law):
    value = law.characteristic(torch.zeros(1, len(law.mean), dtype=torch.double))
    assert_close(value, torch.ones(1, dtype=torch.cdouble), rtol=0, atol=0)


@every(INDEPENDENT)
def test_characteristic_function_is_the_quadrature_of_the_wave(law):
    d = len(law.mean)
    omega = 3 * torch.randn(7, d, generator=generator(3), dtype=torch.double)
    columns = [
        composite(marginal, panels(marginal, *marginal.interval(1e-15), marginal.breaks), 40)
        if marginal.covariance_matrix.any()
        else marginal.atoms
        for marginal in law.marginals
    ]
    rules = zip(omega.T, columns, strict=True)
    waves = [(at[:, None] * xi).cos() @ weights for at, (xi, weights) in rules]
    per_dimension = torch.stack(waves, dim=-1)
    value = law.characteristic(omega)
    assert_close(value.real, per_dimension.prod(-1), rtol=0, atol=1e-13)
    assert_close(value.imag, torch.zeros(7, dtype=torch.double))


def test_characteristic_function_of_correlated_noise_is_the_integral_of_the_wave():
    covariance = np.array([[0.09, 0.04], [0.04, 0.0625]])
    omega = np.array([2.0, -3.0])
    density = multivariate_normal(cov=covariance).pdf
    exact, error = dblquad(
        lambda b, a: density([a, b]) * math.cos(omega @ [a, b]), -2.4, 2.4, -2, 2, epsabs=1e-7
    )
    assert error < 1e-6
    value = Normal(covariance=covariance).characteristic(torch.from_numpy(omega)[None])
    assert value.real.item() == pytest.approx(exact, abs=1e-6)


@every(LAWS)
def test_samples_depend_on_the_generator_alone(law):
    assert torch.equal(law.sample(5, generator(4)), law.sample(5, generator(4)))
    moving = law.covariance_matrix.diagonal() > 0
    other = law.sample(5, generator(5)) != law.sample(5, generator(4))
    assert torch.all(other == moving)


def test_uniform_samples_fill_their_interval_and_stay_in_it():
    xi = Uniform((0.5, 2.0)).sample(20_000, generator(6)) / torch.tensor([0.5, 2.0])
    assert xi.abs().max() <= 1
    # the largest of n uniform numbers is below 1 - t with probability (1 - t / 2)^n = 5e-5 here
    assert torch.all(xi.amax(0) > 1 - 1e-3)
    assert torch.all(xi.amin(0) < -1 + 1e-3)


def test_samples_of_a_singular_covariance_stay_on_its_line():
    xi = Normal(covariance=SINGULAR).sample(100, generator(7))
    assert_close(xi[:, 1], 1.5 * xi[:, 0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("kappa", [-0.5, 0.0, 1.0, 2.0, 10.0])
@every(LAWS)
def test_sigma_points_reproduce_mean_and_covariance(law, kappa):
    points, weights = law.sigma_points(kappa)
    assert points.shape == (2 * len(law.mean) + 1, len(law.mean))
    assert weights.sum().item() == pytest.approx(1, abs=1e-14)
    mean = weights @ points
    assert_close(mean, law.mean, rtol=0, atol=1e-15)
    centred = points - mean
    assert_close(centred.T * weights @ centred, law.covariance_matrix, rtol=0, atol=1e-14)


def test_sigma_points_match_the_fourth_moment_of_one_normal_with_kappa_two():
    points, weights = Normal(0.7).sigma_points(2.0)
    assert (weights @ points**4).item() == pytest.approx(3 * 0.7**4, rel=1e-13)


@every(LAWS)
def test_sigma_points_refuse_a_kappa_without_a_real_root(law):
    with pytest.raises(ValueError, match=f"kappa must be greater than -{len(law.mean)}"):
        law.sigma_points(-float(len(law.mean)))


@every(LAWS)
def test_marginals_are_the_laws_of_the_coordinates(law):
    d = len(law.mean)
    assert len(law.marginals) == d
    omega = torch.zeros(d, 5, d, dtype=torch.double)  # waves along one axis each
    for i, marginal in enumerate(law.marginals):
        assert isinstance(marginal, NoiseLaw)
        assert marginal.marginals == (marginal,)
        assert_close(marginal.mean, law.mean[[i]])
        assert_close(marginal.covariance_matrix, law.covariance_matrix[[i]][:, [i]])
        omega[i, :, i] = 3 * torch.randn(5, generator=generator(11), dtype=torch.double)
        assert_close(marginal.characteristic(omega[i, :, [i]]), law.characteristic(omega[i]))


@every(INDEPENDENT)
def test_independent_laws_are_made_of_their_marginals(law):
    omega = 3 * torch.randn(7, len(law.mean), generator=generator(12), dtype=torch.double)
    again = Independent(law.marginals)
    assert again.independent
    assert again.marginals == law.marginals
    assert_close(again.characteristic(omega), law.characteristic(omega), rtol=1e-14, atol=0)
    assert_close(again.covariance_matrix, law.covariance_matrix, rtol=0, atol=0)


@every(LAWS)
def test_scaled_law_is_the_law_of_the_scaled_noise(law):
    d = len(law.mean)
    scale = torch.tensor([10.0, -0.1, 3.0], dtype=torch.double)[:d]
    scaled = law.scaled(scale)
    omega = torch.randn(9, d, generator=generator(9), dtype=torch.double)
    # E exp(i omega' (s xi)) = E exp(i (s omega)' xi)
    assert_close(scaled.characteristic(omega), law.characteristic(scale * omega))
    assert_close(scaled.covariance_matrix, scale[:, None] * law.covariance_matrix * scale)
    assert scaled.independent == law.independent


@pytest.mark.parametrize("law", [Normal(0.2), Uniform(0.2)], ids=["normal", "uniform"])
def test_one_number_holds_for_every_dimension(law):
    assert law.in_dimension(3) == type(law)((0.2, 0.2, 0.2))
    assert law.in_dimension(1) == type(law)((0.2,))
    assert law.in_dimension(3).in_dimension(3) == law.in_dimension(3)


def test_covariance_knows_its_dimension():
    law = Normal(covariance=CORRELATED)
    assert law.in_dimension(3) == law
    assert not law.independent


def test_independent_laws_know_their_dimension():
    assert LAWS["mixed"].in_dimension(3) == LAWS["mixed"]


@pytest.mark.parametrize(
    ("law", "dimension", "message"),
    [
        (Normal((0.1, 0.2)), 3, "Normal std has 2 values but x has 3 parameters"),
        (Normal((0.1,)), 2, "Normal std has 1 values but x has 2 parameters"),
        (Uniform((0.1, 0.2, 0.3)), 1, "Uniform half_width has 3 values but x has 1 parameters"),
        (Normal(covariance=SINGULAR), 4, "covariance is 2 x 2 but x has 4 parameters"),
        (LAWS["mixed"], 2, "Independent has 3 laws but x has 2 parameters; .* Normal.0. for one"),
        (Independent([Normal(0.1)]), 2, "Independent has 1 laws but x has 2 parameters"),
    ],
    ids=["normal", "one-value tuple", "uniform", "covariance", "mixed", "one law"],
)
def test_wrong_number_of_widths_is_refused_with_both_numbers(law, dimension, message):
    with pytest.raises(ValueError, match=message):
        law.in_dimension(dimension)


def test_laws_are_values():
    assert Normal((0.1, 0.2)) == Normal([0.1, 0.2])
    assert Normal((0.1, 0.2)) == Normal(torch.tensor([0.1, 0.2], dtype=torch.double))
    assert Normal(0.1) != Normal(0.2)
    assert Normal(0.1) != Uniform(0.1)
    assert Uniform(0.1) == Uniform(torch.tensor(0.1, dtype=torch.double))
    assert Normal(covariance=CORRELATED) == Normal(covariance=CORRELATED.numpy())
    assert Normal(covariance=CORRELATED) == Normal(covariance=CORRELATED.tolist())
    assert Normal(covariance=CORRELATED) != Normal(covariance=2 * CORRELATED)
    assert len({Normal(0.1), Normal(0.1), Uniform(0.1), Uniform((0.1,)), Uniform((0.1,))}) == 3
    assert len({Normal(covariance=SINGULAR), Normal(covariance=SINGULAR.numpy())}) == 1
    assert Independent([Normal(0.1), Uniform(0.2)]) == Independent((Normal(0.1), Uniform(0.2)))
    assert Independent([Normal(0.1), Uniform(0.2)]) != Independent([Uniform(0.2), Normal(0.1)])
    assert len({Independent([Normal(0.1)]), Independent([Normal(0.1)])}) == 1
    with pytest.raises(AttributeError):
        Independent([Normal(0.1)]).laws = ()
    with pytest.raises(AttributeError):
        Normal(0.1).std = 0.2
    with pytest.raises(AttributeError):
        Uniform(0.1).half_width = 0.2


@every(LAWS)
def test_repr_is_code_that_gives_the_law_back(law):
    text = repr(law)
    assert text.startswith(type(law).__name__)
    names = {"Normal": Normal, "Uniform": Uniform, "Independent": Independent}
    assert eval(text, names) == law


@pytest.mark.parametrize(
    ("laws", "simplest"),
    [
        ([Normal(3.0), Normal(0.1)], Normal((3.0, 0.1))),
        ([Normal(3.0), Normal(0.0)], Normal((3.0, 0.0))),
        ([Uniform(0.0), Normal(3.0)], Normal((0.0, 3.0))),
        ([Normal((3.0,)), Normal(covariance=[[0.25]])], Normal((3.0, 0.5))),
        ([Uniform(0.05), Uniform(0.2)], Uniform((0.05, 0.2))),
        ([Uniform(0.05), Normal(0.0), Uniform(0.0)], Uniform((0.05, 0.0, 0.0))),
        ([Uniform(0.0), Normal(0.0)], Normal((0.0, 0.0))),
        ([Uniform(0.0)], Normal((0.0,))),
        ([Independent([Normal(0.1)]), Normal(0.2)], Normal((0.1, 0.2))),
        ([Normal(3.0), Uniform(0.05)], Independent((Normal(3.0), Uniform(0.05)))),
        (
            [Normal(0.0), Uniform(1e-200), Normal(1e-200)],
            Independent((Normal(0.0), Uniform(1e-200), Normal(1e-200))),
        ),
    ],
    ids=str,
)
def test_the_simplest_law_with_the_given_coordinates(laws, simplest):
    assert independent(laws) == simplest


@examples(60)
@given(
    st.lists(
        st.tuples(st.sampled_from([Normal, Uniform]), st.sampled_from([0.0, 1e-9, 0.3, 40.0])),
        min_size=1,
        max_size=4,
    )
)
def test_the_simplest_law_is_the_same_law(members):
    laws = [family(width) for family, width in members]
    d = len(laws)
    omega = torch.randn(5, d, generator=generator(13), dtype=torch.double)
    simple, composed = independent(laws), Independent(laws)
    mixed = len({family for family, width in members if width}) > 1
    assert isinstance(simple, Independent) == mixed
    assert simple.in_dimension(d) == simple
    assert_close(simple.characteristic(omega), composed.characteristic(omega))
    assert_close(simple.covariance_matrix, composed.covariance_matrix, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("law", "dimension"),
    [(Normal((0.1, 0.2)), 2), (Normal(covariance=CORRELATED), 3), (LAWS["mixed"], 3)],
    ids=["normal", "correlated", "mixed"],
)
@pytest.mark.parametrize("compose", [Independent, independent])
def test_members_in_several_dimensions_are_refused_by_name(compose, law, dimension):
    message = (
        f"member 1 is {law!r} in {dimension} dimensions; give one law per parameter, or "
        "Normal(covariance=...) for all"
    )
    with pytest.raises(ValueError, match="must be one-dimensional, but " + re.escape(message)):
        compose([Normal(0.1), law])


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ([], "a list with one noise law per parameter, got []"),
        (Normal(0.1), "a list with one noise law per parameter, got Normal(0.1)"),
        ({"speed": Normal(0.1)}, "per parameter, got {'speed': Normal(0.1)}"),
        ([Normal(0.1), 0.2], "must be a noise law such as Normal(0.1), but member 1 is 0.2"),
        ([None], "member 0 is None; give Normal(0) for a parameter without noise"),
        ([Normal], "member 0 is <class"),
    ],
    ids=str,
)
def test_what_is_no_list_of_laws_is_refused_by_name(laws, message):
    """Through the function behind the constructor, which tests would refuse by type alone."""
    with pytest.raises(TypeError, match=re.escape(message)):
        read_laws(laws)


@pytest.mark.parametrize("law", [Normal, Uniform])
@pytest.mark.parametrize(
    "width",
    [-0.1, math.nan, math.inf, -math.inf, (0.1, -0.1), [0.1, math.nan], torch.tensor([math.inf])],
    ids=repr,
)
def test_widths_that_are_no_widths_are_refused_by_name(law, width):
    with pytest.raises(ValueError, match=f"{law.__name__} .* must be finite and not negative, got"):
        law(width)


@pytest.mark.parametrize("law", [Normal, Uniform])
@pytest.mark.parametrize("width", [(), [], torch.tensor([])], ids=repr)
def test_no_width_at_all_is_refused(law, width):
    with pytest.raises(TypeError, match="one number per parameter"):
        law(width)


@pytest.mark.parametrize("law", [Normal, Uniform])
@pytest.mark.parametrize("width", ["0.1", ["0.1", "0.2"], {0.1: 1}, 1j, object])
def test_what_is_not_a_number_is_refused(law, width):
    with pytest.raises((TypeError, ValueError)):
        law(width)


def test_uniform_without_a_width_is_refused():
    with pytest.raises(TypeError):
        Uniform(None)


@pytest.mark.parametrize(
    ("width", "message"),
    [
        ("0.1", "got '0.1'"),
        (["a"], "got .'a'."),
        ("", "got ''"),
        (None, "got None"),
        (1j, "got 1j"),
        ({}, "got {}"),
    ],
)
def test_without_type_checks_the_message_still_names_what_came(width, message):
    """The checks of shapes and types are on in tests only: a user meets these messages."""
    with pytest.raises(TypeError, match=f"std must be a number, or a list .* {message}"):
        inspect.unwrap(read_width)("std", width)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (1, 1.0),
        ([1, 2], (1.0, 2.0)),
        (0, 0.0),
        (np.float32(0.5), 0.5),
        (np.int64(2), 2.0),
        (np.array([0.1, 0.2]), (0.1, 0.2)),
        (np.array(0.1), 0.1),
        (torch.tensor([1, 2]), (1.0, 2.0)),
    ],
    ids=str,
)
def test_widths_are_read_from_integers_and_arrays(width, expected):
    assert inspect.unwrap(read_width)("std", width) == expected


def test_normal_wants_exactly_one_of_std_and_covariance():
    with pytest.raises(ValueError, match="either std or covariance"):
        Normal()
    with pytest.raises(ValueError, match="either std or covariance"):
        Normal(None)
    with pytest.raises(ValueError, match="either std or covariance"):
        Normal(0.1, covariance=[[0.01]])


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1.0, 0.0]], "square matrix, got shape .1, 2."),
        (torch.tensor([1.0, 2.0]), "square matrix, got shape .2,."),
        (torch.zeros(0, 0), "square matrix, got shape .0, 0."),
        (torch.zeros(2, 2, 2), "square matrix, got shape .2, 2, 2."),
        ([[1.0, 0.2], [0.1, 1.0]], "must be symmetric, got"),
        ([[1.0, 1.1], [1.1, 1.0]], "semi-definite, but its smallest eigenvalue is -0.1"),
        ([[-1e-3]], "semi-definite, but its smallest eigenvalue is -0.001"),
        ([[0.0, 0.1], [0.1, 1.0]], "semi-definite"),
        ([[1.0, math.nan], [math.nan, 1.0]], "must be finite, got"),
        ([[math.inf]], "must be finite, got"),
    ],
    ids=[
        "not square",
        "a vector",
        "empty",
        "three axes",
        "not symmetric",
        "correlation above 1",
        "negative variance",
        "correlated without variance",
        "nan",
        "infinite",
    ],
)
def test_covariances_that_are_none_are_refused_with_the_reason(covariance, message):
    with pytest.raises(ValueError, match=message):
        Normal(covariance=covariance)


@pytest.mark.parametrize(
    "covariance",
    [SINGULAR, torch.zeros(2, 2), torch.ones(4, 4), 1e-12 * SINGULAR, 1e12 * SINGULAR],
    ids=["a line", "no noise at all", "rank one", "tiny", "huge"],
)
def test_singular_covariances_are_accepted(covariance):
    law = Normal(covariance=covariance)
    xi = law.sample(10, generator(10))
    assert xi.isfinite().all()
    points, weights = law.sigma_points()
    scale = covariance.abs().max().item()
    assert_close(
        points.T * weights @ points, covariance.double(), rtol=0, atol=1e-14 * scale + 1e-300
    )


def test_rounding_of_a_symmetric_matrix_is_forgiven():
    skewed = CORRELATED.clone()
    skewed[0, 1] += 1e-16
    assert_close(Normal(covariance=skewed).covariance_matrix, CORRELATED, rtol=0, atol=1e-16)


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 5),
    rank=st.integers(1, 5),
    size=st.floats(-6, 6),
)
def test_every_gram_matrix_is_a_covariance(seed, d, rank, size):
    root = 10**size * torch.randn(d, rank, generator=generator(seed), dtype=torch.double)
    covariance = root @ root.T
    law = Normal(covariance=covariance).in_dimension(d)
    points, weights = law.sigma_points(0.5)
    scale = covariance.abs().max()
    assert_close(points.T * weights @ points, covariance, rtol=0, atol=1e-12 * scale.item())
    omega = torch.randn(3, d, generator=generator(seed + 1), dtype=torch.double) / scale.sqrt()
    exact = (-0.5 * ((omega @ root) ** 2).sum(-1)).exp()
    assert_close(law.characteristic(omega).real, exact, rtol=0, atol=1e-12)


def test_a_negative_variance_beside_a_large_one_is_refused():
    with pytest.raises(ValueError, match="semi-definite"):
        Normal(covariance=[[1e12, 0.0], [0.0, -0.5]])


@pytest.mark.parametrize("width", [torch.ones(2, 1), [[0.1, 0.2]], [None]], ids=str)
def test_nested_widths_are_refused_by_name(width):
    with pytest.raises((TypeError, ValueError), match="std must be"):
        inspect.unwrap(read_width)("std", width)


def test_bytes_are_no_widths():
    with pytest.raises((TypeError, ValueError)):
        inspect.unwrap(read_width)("std", b"12")


@pytest.mark.parametrize("width", [1, [1, 2], np.array([0.1, 0.2]), np.float32(0.5)], ids=str)
def test_integers_and_arrays_pass_the_type_checks(width):
    Normal(width)
    Uniform(width)
