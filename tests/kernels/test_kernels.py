"""Smoothed kernels against mpmath quadrature, from 1e-6 to 1e3 lengthscales."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath as mp
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from torch.testing import assert_close

from examples import examples
from meseta.kernels import StationaryKernel, smooth
from meseta.kernels.spectrum import frequencies
from meseta.noise import Independent, NoiseLaw, Normal, Uniform
from meseta.noise.law import unscented
from quadrature_reference import LENGTHSCALE, kappa, smoothed

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "smoothed_kernels.json").read_text())
SHAPES = ["se", "matern12", "matern32", "matern52"]
LAWS = {"normal": Normal, "uniform": Uniform}
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_law = pytest.mark.parametrize("law", LAWS)


def tensor(values):
    return torch.tensor(values, dtype=torch.double)


def kernel_1d(shape, law, variance=1.0, lengthscale=LENGTHSCALE):
    kernel = StationaryKernel(tensor(variance), (shape,), tensor([lengthscale]))
    return smooth(kernel, law)


def at(covariance, delta):
    """covariance(x, 0) at x = delta, a sequence of numbers or points."""
    x = torch.as_tensor(delta, dtype=torch.double)
    x = x[:, None] if x.ndim == 1 else x
    return covariance(x, torch.zeros(1, x.shape[1], dtype=torch.double))[:, 0]


@pytest.mark.parametrize(
    "case", REFERENCE["cases"], ids=lambda c: f"{c['shape']}-{c['law']}-{c['ratio']:g}"
)
def test_closed_forms_agree_with_stored_quadrature(case):
    assert REFERENCE["lengthscale"] == LENGTHSCALE
    variance = 2.5
    law = LAWS[case["law"]](case["ratio"] * LENGTHSCALE)
    kernel = kernel_1d(case["shape"], law, variance)
    delta = tensor(case["delta"])
    for sign in (1, -1):
        for name in ("k_gf", "k_g"):
            values = at(getattr(kernel, name), sign * delta)
            exact = variance * tensor(case[name])
            assert_close(values, exact, rtol=0, atol=1e-12 * variance)


@pytest.mark.parametrize(
    ("shape", "law", "ratio", "delta"),
    [
        ("se", "normal", 0.8, 0.9),
        ("se", "uniform", 0.249, 0.1),
        ("se", "uniform", 0.251, 0.1),
        ("se", "uniform", 7.0, 3.0),
        ("matern12", "normal", 2.0, 0.4),
        ("matern12", "uniform", 0.5, 0.35),
        ("matern32", "normal", 6.9, 2.0),
        ("matern32", "normal", 6.95, 2.0),
        ("matern32", "uniform", 0.02, 0.02),
        ("matern52", "normal", 5.36, 11.0),
        ("matern52", "normal", 5.37, 11.0),
        ("matern52", "uniform", 3.0, 1.0),
    ],
)
def test_closed_forms_agree_with_quadrature_between_the_stored_values(shape, law, ratio, delta):
    width = ratio * LENGTHSCALE
    kernel = kernel_1d(shape, LAWS[law](width))
    for covariance, perturbed in ((kernel.k_gf, 1), (kernel.k_g, 2)):
        exact = smoothed(shape, law, width, delta, perturbed)
        assert at(covariance, [delta]).item() == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("index", [5, 47, 66, 90])
def test_stored_values_are_what_the_quadrature_gives(index):
    case = REFERENCE["cases"][index]
    width = case["ratio"] * LENGTHSCALE
    for i in (2, 7):
        for name, perturbed in (("k_gf", 1), ("k_g", 2)):
            again = smoothed(case["shape"], case["law"], width, case["delta"][i], perturbed)
            assert case[name][i] == pytest.approx(again, abs=1e-15)


@every_shape
def test_k_f_is_the_textbook_kernel(shape):
    delta = [0.0, 1e-9, 0.2, -0.2, 1.0, 5.0, -40.0]
    with mp.workdps(30):
        exact = tensor([float(kappa(shape, d)) for d in delta])
    # exp(-s) has a relative error of s roundings, and s is 130 at the end
    assert_close(at(kernel_1d(shape, Normal(0.1)).k_f, delta), exact, rtol=3e-14, atol=0)


@every_law
def test_several_dimensions_are_the_product_of_one_dimensional_values(law):
    """With shapes mixed, some dimensions without noise, and widths on both sides of each switch."""
    shapes = ("se", "matern52", "se", "matern32", "matern52", "matern12", "se")
    lengthscale = tensor([0.7, 0.3, 1.2, 0.5, 0.9, 2.0, 0.4])
    width = tensor([0.1, 0.2, 0.0, 9.0, 0.0, 1.0, 0.35])
    whole = smooth(StationaryKernel(tensor(1.7), shapes, lengthscale), LAWS[law](width))
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(5, 7, generator=generator, dtype=torch.double)
    B = torch.randn(3, 7, generator=generator, dtype=torch.double)
    for name in ("k_f", "k_gf", "k_g"):
        product = torch.full((5, 3), 1.7, dtype=torch.double)
        for i, shape in enumerate(shapes):
            one = kernel_1d(shape, LAWS[law](width[i]), 1.0, lengthscale[i].item())
            product = product * getattr(one, name)(A[:, i : i + 1], B[:, i : i + 1])
        assert_close(getattr(whole, name)(A, B), product, rtol=1e-13, atol=1e-300)


# two dimensions of either law, Uniform on both sides of its switch, and one without noise
MIXED = [("normal", 0.3), ("uniform", 0.1), ("normal", 0.0), ("uniform", 0.5), ("normal", 0.2)]


def mixed_reference(shapes, delta, perturbed):
    """The product of one-dimensional quadratures."""
    return math.prod(
        smoothed(shape, law, width, d, perturbed) if perturbed * width else float(kappa(shape, d))
        for shape, (law, width), d in zip(shapes, MIXED, delta, strict=True)
    )


@pytest.mark.parametrize(
    "shapes",
    [("se",) * 5, ("matern52",) * 5, ("matern32", "se", "matern12", "matern52", "se")],
    ids=["se", "matern52", "mixed"],
)
def test_a_law_for_each_dimension_is_smoothed_in_closed_form(shapes):
    variance = 1.7
    base = StationaryKernel(tensor(variance), shapes, tensor([LENGTHSCALE] * 5))
    kernel = smooth(base, Independent([LAWS[law](width) for law, width in MIXED]))
    deltas = [[0.2, -0.3, 0.1, 0.4, -0.1], [-0.9, 0.1, -0.2, 0.6, 0.5]]
    for covariance, perturbed in ((kernel.k_f, 0), (kernel.k_gf, 1), (kernel.k_g, 2)):
        exact = [variance * mixed_reference(shapes, delta, perturbed) for delta in deltas]
        assert_close(at(covariance, deltas), tensor(exact), rtol=0, atol=1e-12 * variance)


def test_dimensions_with_the_same_formula_share_a_factor():
    base = StationaryKernel(tensor(1.0), ("matern52",) * 5, tensor([LENGTHSCALE] * 5))
    kernel = smooth(base, Independent([LAWS[law](width) for law, width in MIXED]))
    assert [dims for dims, _ in kernel.factors] == [[0, 4], [1, 3], [2]]


@every_shape
@every_law
def test_one_law_given_for_each_dimension_is_that_law(shape, law):
    base = StationaryKernel(tensor(1.2), (shape,) * 3, tensor([0.7, 0.3, 0.5]))
    widths = (0.2, 0.0, 0.6)
    direct = smooth(base, LAWS[law](widths))
    composed = smooth(base, Independent([LAWS[law](width) for width in widths]))
    A, B = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(11), dtype=torch.double)
    for name in ("k_f", "k_gf", "k_g"):
        assert torch.equal(getattr(composed, name)(A, B), getattr(direct, name)(A, B))


@every_law
def test_batches_and_single_points_agree(law):
    kernel = StationaryKernel(tensor(0.8), ("matern32", "se"), tensor([0.7, 0.4]))
    kernel = smooth(kernel, LAWS[law]((0.2, 0.3)))
    generator = torch.Generator().manual_seed(1)
    A = torch.randn(4, 1, 3, 2, generator=generator, dtype=torch.double)
    B = torch.randn(2, 5, 2, generator=generator, dtype=torch.double)
    for covariance in (kernel.k_f, kernel.k_gf, kernel.k_g):
        whole = covariance(A, B)
        assert whole.shape == (4, 2, 3, 5)
        assert_close(whole[3, 1], covariance(A[3, 0], B[1]), rtol=1e-14, atol=0)


@every_shape
@every_law
def test_values_at_the_same_point_are_the_diagonal(shape, law):
    kernel = kernel_1d(shape, LAWS[law](0.4), variance=1.3)
    x = tensor([[0.3]])
    diagonal = torch.cat([kernel.k_f(x, x), kernel.k_gf(x, x), kernel.k_g(x, x)]).ravel()
    found = torch.cat([kernel.prior_variance[None], *kernel.at_same_point(x)])
    assert_close(found, diagonal, rtol=1e-14, atol=0)


def hermite_grid(covariance, num=40):
    """Nodes and weights of N(0, covariance), a product rule turned by the Cholesky factor."""
    points, weights = (torch.from_numpy(a) for a in hermegauss(num))
    weights = weights / weights.sum()
    d = len(covariance)
    grid = torch.cartesian_prod(*[points] * d).reshape(-1, d)
    product = torch.cartesian_prod(*[weights] * d).reshape(-1, d).prod(-1)
    return grid @ torch.linalg.cholesky(covariance).T, product


CORRELATED = tensor([[0.16, 0.09], [0.09, 0.09]])


def test_correlated_normal_noise_agrees_with_quadrature():
    base = StationaryKernel(tensor(1.9), ("se", "se"), tensor([0.7, 0.5]))
    kernel = smooth(base, Normal(covariance=CORRELATED))
    delta = tensor([[0.0, 0.0], [0.3, -0.2], [1.0, 0.8], [-2.0, 1.0]])
    for covariance, perturbed in ((kernel.k_gf, 1), (kernel.k_g, 2)):
        xi, weights = hermite_grid(perturbed * CORRELATED)
        exact = kernel.k_f(delta[:, None, :] + xi, torch.zeros(1, 1, 2).double())[..., 0] @ weights
        assert_close(at(covariance, delta), exact, rtol=0, atol=1e-12)


@examples(60)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 5))
def test_uncorrelated_covariance_is_the_independent_law(seed, d):
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(3, d, generator=generator, dtype=torch.double)
    std, lengthscale = 10 ** (4 * uniform[0] - 3), 10 ** (2 * uniform[1] - 1)
    base = StationaryKernel(tensor(0.6), ("se",) * d, lengthscale)
    independent = smooth(base, Normal(std))
    joint = smooth(base, Normal(covariance=torch.diag(std**2)))
    assert not joint.law.independent
    A, B = torch.randn(2, 4, d, generator=generator, dtype=torch.double)
    for name in ("k_f", "k_gf", "k_g"):
        assert_close(
            getattr(joint, name)(A, B), getattr(independent, name)(A, B), rtol=0, atol=1e-13
        )


@pytest.mark.parametrize("shapes", [("matern52", "matern52"), ("se", "matern12")], ids=str)
def test_matern_with_correlated_noise_is_that_of_samples(shapes):
    """No closed form, but nodes: here for noise of about a third of a lengthscale."""
    base = StationaryKernel(tensor(1.0), shapes, tensor([0.7, 0.5]))
    covariance = tensor([[0.06, 0.03], [0.03, 0.04]])
    kernel = smooth(base, Normal(covariance=covariance))
    delta = tensor([[0.0, 0.0], [0.3, -0.2], [0.6, 0.7], [-1.5, 0.4]])
    num, generator = 20_000, torch.Generator().manual_seed(2)
    root = torch.linalg.cholesky(covariance)
    xi, other = torch.randn(2, num, 2, generator=generator, dtype=torch.double) @ root.T
    origin = torch.zeros(1, 1, 2, dtype=torch.double)
    for values, noise in ((kernel.k_gf, xi), (kernel.k_g, xi - other)):
        draws = kernel.k_f(delta[:, None, :] + noise, origin)[..., 0]
        error = 4 * draws.std(-1) / math.sqrt(num)
        assert torch.all((at(values, delta) - draws.mean(-1)).abs() <= 1e-4 + error)


def test_correlated_noise_is_split_into_independent_and_common_parts():
    root = torch.randn(3, 3, generator=torch.Generator().manual_seed(3), dtype=torch.double) / 4
    law = Normal(covariance=root @ root.T)
    independent, directions = law.split()
    common = directions @ directions.T
    assert_close(independent.covariance_matrix + common, law.covariance_matrix)
    assert torch.linalg.matrix_rank(common, rtol=1e-9) < 3


def test_two_correlated_parameters_need_one_common_dimension_only():
    """Nodes in one dimension over closed forms: as good as exact for smooth kernels."""
    base = StationaryKernel(tensor(1.4), ("matern52", "matern52"), tensor([0.7, 0.5]))
    law = Normal(covariance=[[0.04, 0.024], [0.024, 0.09]])
    independent, directions = law.split()
    assert directions.shape == (2, 1)
    t = torch.linspace(-9, 9, 4001, dtype=torch.double)
    weight = (-0.5 * t.square()).exp()
    step = directions[:, 0]
    apart = smooth(base, independent)
    A = torch.randn(5, 2, generator=torch.Generator().manual_seed(4), dtype=torch.double)
    B = torch.zeros(1, 2, dtype=torch.double)
    for a, value in zip(A, smooth(base, law).k_gf(A, B), strict=True):
        exact = weight @ apart.k_gf(a + t[:, None] * step, B)[:, 0] / weight.sum()
        assert value.item() == pytest.approx(exact.item(), abs=1e-9)


@dataclass(frozen=True)
class Triangular:
    """xi_i with a triangular density on centre +- half_width: a law of the user's own."""

    half_width: tuple[float, ...]
    centre: float = 0.0

    independent = True

    @property
    def marginals(self):
        return tuple(replace(self, half_width=(width,)) for width in self.half_width)

    @property
    def mean(self):
        return torch.full((len(self.half_width),), self.centre, dtype=torch.double)

    @property
    def covariance_matrix(self):
        return torch.diag(tensor(self.half_width) ** 2 / 6)

    def in_dimension(self, dimension):
        return replace(self, half_width=self.half_width * (dimension // len(self.half_width)))

    def scaled(self, scale):
        raise NotImplementedError

    def sample(self, num, generator):
        raise NotImplementedError

    def characteristic(self, omega):
        """The square of that of a uniform number within half of the half-width."""
        half = tensor(self.half_width) / 2
        phase = (omega * self.mean).sum(-1)
        return torch.sinc(omega * half / torch.pi).square().prod(-1) * torch.exp(1j * phase)

    def sigma_points(self, kappa=1.0):
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)


def triangular_reference(shape, half_width, delta, perturbed):
    if perturbed == 1:  # the difference of two uniform numbers within +-half_width / 2
        return smoothed(shape, "uniform", half_width / 2, delta, 2)
    with mp.workdps(20):
        h = mp.mpf(half_width)

        def density(u):  # of the difference of two triangular numbers, a cubic B-spline
            t = abs(u) / h
            return ((2 - t) ** 3 - (4 * (1 - t) ** 3 if t < 1 else 0)) / (6 * h)

        corners = sorted({-2 * h, -h, mp.mpf(0), h, 2 * h, *([-mp.mpf(delta)] * (delta < 2 * h))})
        return float(mp.quad(lambda u: density(u) * kappa(shape, delta + u), corners))


@pytest.mark.parametrize(
    # the waves of a kernel with a kink have no end: what is left out is known
    ("shape", "accuracy"),
    [("se", 1e-12), ("matern52", 1e-10), ("matern32", 1e-8), ("matern12", 1e-5)],
)
def test_a_law_of_the_users_own_is_smoothed_by_its_characteristic_function(shape, accuracy):
    law = Triangular((0.5,))
    assert isinstance(law, NoiseLaw)
    kernel = kernel_1d(shape, law)
    for delta in (0.0, 0.13, 0.8):
        for covariance, perturbed in ((kernel.k_gf, 1), (kernel.k_g, 2)):
            exact = triangular_reference(shape, 0.5, delta, perturbed)
            assert at(covariance, [delta]).item() == pytest.approx(exact, abs=accuracy)


@pytest.mark.parametrize("width", [3.0, 15.0])
def test_wide_noise_is_smoothed_as_exactly(width):
    """Up to some 20 lengthscales; the closed form of a triangular law is that of a difference."""
    kernel = kernel_1d("se", Triangular((width,)))
    for delta in (0.0, 0.8, 5.0):
        exact = smoothed("se", "uniform", width / 2, delta, 2)
        assert at(kernel.k_gf, [delta]).item() == pytest.approx(exact, abs=1e-9)


def test_k_gf_has_g_at_its_first_argument_and_f_at_its_second():
    """Only a law that is not symmetric can tell: here xi lies in 0.6 +- 0.5."""
    kernel = kernel_1d("se", Triangular((0.5,), centre=0.6))
    a, b = 0.2, 1.1
    value = kernel.k_gf(tensor([[a]]), tensor([[b]])).item()
    exact = triangular_reference("se", 0.5, a + 0.6 - b, 1)  # E k_f(a + xi, b)
    assert value == pytest.approx(exact, abs=1e-12)
    swapped = triangular_reference("se", 0.5, b + 0.6 - a, 1)
    assert abs(value - swapped) > 0.1
    # xi - xi' is symmetric again, and the centre cancels
    k_g = kernel.k_g(tensor([[a]]), tensor([[b]])).item()
    assert k_g == pytest.approx(triangular_reference("se", 0.5, b - a, 2), abs=1e-12)


def test_quadrature_in_several_dimensions_is_a_product_too():
    shapes = ("se", "matern52", "se")
    base = StationaryKernel(tensor(1.1), shapes, tensor([0.7, 0.7, 0.3]))
    kernel = smooth(base, Triangular((0.2, 0.5, 0.0)))
    A, B = torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(5), dtype=torch.double)
    for name in ("k_f", "k_gf", "k_g"):
        product = 1.1 * torch.ones(4, 4, dtype=torch.double)
        for i, (half_width, lengthscale) in enumerate([(0.2, 0.7), (0.5, 0.7), (0.0, 0.3)]):
            one = kernel_1d(shapes[i], Triangular((half_width,)), 1.0, lengthscale)
            product = product * getattr(one, name)(A[:, i : i + 1], B[:, i : i + 1])
        assert_close(getattr(kernel, name)(A, B), product, rtol=1e-13, atol=0)


def test_a_law_of_the_users_own_goes_together_with_closed_forms():
    shapes, delta = ("matern52", "se", "se"), [0.3, -0.2, 0.4]
    base = StationaryKernel(tensor(1.0), shapes, tensor([LENGTHSCALE] * 3))
    law = Independent([Normal(0.2), Triangular((0.5,), centre=0.6), Uniform(0.3)])
    kernel = smooth(base, law)
    # k_g = E k_f(x + xi, x' + xi'): the centre cancels
    for covariance, perturbed, centre in ((kernel.k_gf, 1, 0.6), (kernel.k_g, 2, 0.0)):
        exact = (
            smoothed("matern52", "normal", 0.2, delta[0], perturbed)
            * triangular_reference("se", 0.5, delta[1] + centre, perturbed)
            * smoothed("se", "uniform", 0.3, delta[2], perturbed)
        )
        assert at(covariance, [delta]).item() == pytest.approx(exact, abs=1e-12)


def gradient(covariance, delta):
    x = tensor(delta).reshape(-1, 1).requires_grad_()
    (slope,) = torch.autograd.grad(covariance(x, torch.zeros(1, 1).double()).sum(), x)
    return slope[:, 0]


@examples(60)
@given(
    shape=st.sampled_from(SHAPES),
    law=st.sampled_from(sorted(LAWS)),
    log_ratio=st.floats(-6, 3),
    place=st.floats(-4, 4),
    unit=st.sampled_from(["width", "lengthscale"]),
)
def test_gradients_are_the_slopes_of_the_values(shape, law, log_ratio, place, unit):
    width = 10**log_ratio * LENGTHSCALE
    delta = place * (width if unit == "width" else LENGTHSCALE)
    small = min(width, LENGTHSCALE)
    step = 3e-3 * small
    # at the ends of the uniform law higher derivatives jump, and differences see both sides
    for end in (width, 2 * width):
        assume(law == "normal" or abs(abs(delta) - end) > 3 * step)
    assume(abs(delta) > 3 * step)
    kernel = kernel_1d(shape, LAWS[law](width))
    for covariance in (kernel.k_f, kernel.k_gf, kernel.k_g):
        left2, left, right, right2 = at(covariance, [delta + k * step for k in (-2, -1, 1, 2)])
        slope = (left2 - 8 * left + 8 * right - right2).item() / (12 * step)
        # values are good to 1e-12 at worst, see above, mostly to 1e-15; slopes are of size 1 / l
        tolerance = 1e-6 / LENGTHSCALE + 1e-15 / step
        assert gradient(covariance, [delta]).item() == pytest.approx(slope, abs=tolerance)


@every_shape
@every_law
@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.1, 0.24, 0.26, 1.0, 5.5, 30.0, 1e3])
def test_gradients_vanish_at_the_same_point(shape, law, ratio):
    kernel = kernel_1d(shape, LAWS[law](ratio * LENGTHSCALE))
    for covariance in (kernel.k_gf, kernel.k_g):
        assert gradient(covariance, [0.0]).item() == pytest.approx(0, abs=1e-12)


@every_shape
@pytest.mark.parametrize("ratio", [0.24, 1.0, 30.0])
def test_gradients_next_to_the_ends_of_the_interval_are_differences_of_the_kernel(shape, ratio):
    h = ratio * LENGTHSCALE
    kernel = kernel_1d(shape, Uniform(h))
    for nudge in (1 - 1e-12, 1 + 1e-12):
        # k_gf' = [kappa(d + h) - kappa(d - h)] / 2h
        d = nudge * h
        exact = float(kappa(shape, d + h) - kappa(shape, d - h)) / (2 * h)
        assert gradient(kernel.k_gf, [d]).item() == pytest.approx(exact, abs=1e-10 / h)
        # k_g' = [k_gf(d + h) - k_gf(d - h)] / 2h
        d = nudge * 2 * h
        far, near = (smoothed(shape, "uniform", h, d + e, 1) for e in (h, -h))
        exact = (far - near) / (2 * h)
        assert gradient(kernel.k_g, [d]).item() == pytest.approx(exact, abs=1e-10 / h)


def test_gradients_of_correlated_noise_are_the_slopes_of_the_values():
    base = StationaryKernel(tensor(1.9), ("se", "se"), tensor([0.7, 0.5]))
    kernel = smooth(base, Normal(covariance=CORRELATED))
    A, B = torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(6), dtype=torch.double)
    for covariance in (kernel.k_f, kernel.k_gf, kernel.k_g):
        assert torch.autograd.gradcheck(
            covariance, (A.requires_grad_(), B.requires_grad_()), eps=1e-6, atol=1e-9
        )


def joint_covariance(kernel, x):
    k_gf = kernel.k_gf(x, x)
    return torch.cat(
        [torch.cat([kernel.k_f(x, x), k_gf.T], dim=1), torch.cat([k_gf, kernel.k_g(x, x)], dim=1)]
    )


@every_shape
@every_law
@examples(60)
@given(
    seed=st.integers(0, 10_000),
    log_ratio=st.floats(-6, 3),
    log_spread=st.floats(-3, 3),
    n=st.integers(1, 8),
)
def test_f_and_g_have_a_joint_covariance(shape, law, seed, log_ratio, log_spread, n):
    variance = 1.6
    kernel = kernel_1d(shape, LAWS[law](10**log_ratio * LENGTHSCALE), variance)
    generator = torch.Generator().manual_seed(seed)
    x = 10**log_spread * torch.randn(n, 1, generator=generator, dtype=torch.double)
    K = joint_covariance(kernel, x)
    assert K.isfinite().all()
    assert_close(K, K.T, rtol=0, atol=1e-13)
    assert torch.linalg.eigvalsh(K).min() >= -1e-9 * variance


def smallest_eigenvalue_in_several_dimensions(seed, shapes, noise):
    d = len(shapes)
    kernel = smooth(StationaryKernel(tensor(1.0), tuple(shapes), torch.ones(d).double()), noise)
    generator = torch.Generator().manual_seed(seed)
    x = 3 * torch.rand(5, d, generator=generator, dtype=torch.double)
    return torch.linalg.eigvalsh(joint_covariance(kernel, x)).min()


def log_widths(d):
    return st.lists(st.floats(-6, 3), min_size=d, max_size=d)


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=4, max_size=4),
    exponents=log_widths(4),
    law=st.sampled_from([Normal, Uniform]),
)
def test_f_and_g_have_a_joint_covariance_in_several_dimensions(seed, shapes, exponents, law):
    noise = law(10 ** tensor(exponents))
    assert smallest_eigenvalue_in_several_dimensions(seed, shapes, noise) >= -1e-9


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=3, max_size=3),
    exponents=log_widths(3),
    laws=st.lists(st.sampled_from([Normal, Uniform]), min_size=3, max_size=3),
)
def test_f_and_g_have_a_joint_covariance_under_mixed_noise(seed, shapes, exponents, laws):
    noise = Independent([law(10**e) for law, e in zip(laws, exponents, strict=True)])
    assert smallest_eigenvalue_in_several_dimensions(seed, shapes, noise) >= -1e-9


@examples(60)
@given(seed=st.integers(0, 10_000), exponents=log_widths(3))
def test_f_and_g_have_a_joint_covariance_under_correlated_noise(seed, exponents):
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(3, 3, generator=generator, dtype=torch.double)
    root = 10 ** tensor(exponents)[:, None] * root
    noise = Normal(covariance=root @ root.T)
    assert smallest_eigenvalue_in_several_dimensions(seed, ["se"] * 3, noise) >= -1e-9


@pytest.mark.parametrize("seed", [0, 1])
def test_f_and_g_have_a_joint_covariance_under_quadrature(seed):
    """Whatever the width: the nodes are a law of their own, and that is smoothed exactly."""
    generator = torch.Generator().manual_seed(seed)
    width = 10 ** (6 * torch.rand(2, generator=generator, dtype=torch.double) - 3)
    root = width[:, None] * torch.randn(2, 2, generator=generator, dtype=torch.double)
    for noise in (
        Triangular(tuple(width.tolist()), centre=0.3),
        Normal(covariance=root @ root.T),
    ):
        shapes = [SHAPES[seed % 4], "matern52"]
        assert smallest_eigenvalue_in_several_dimensions(seed, shapes, noise) >= -1e-9


@every_shape
@every_law
@pytest.mark.parametrize("ratio", [0.0, 1e-12, 1e-9, 1e-6])
def test_without_noise_g_is_f(shape, law, ratio):
    kernel = kernel_1d(shape, LAWS[law](ratio * LENGTHSCALE))
    delta = [0.0, 1e-3, 0.1, 0.7, 3.0]
    k_f = at(kernel.k_f, delta)
    # to first order in the width at the kink of Matern-1/2: E|xi - xi'| <= 2 / sqrt(pi) std
    for covariance in (kernel.k_gf, kernel.k_g):
        assert_close(at(covariance, delta), k_f, rtol=0, atol=1.2 * ratio + 2e-15)


def test_without_correlated_noise_g_is_f():
    base = StationaryKernel(tensor(1.3), ("se", "se"), tensor([0.7, 0.4]))
    A, B = torch.rand(2, 4, 2, generator=torch.Generator().manual_seed(7), dtype=torch.double)
    for size in (0.0, 1e-12):
        kernel = smooth(base, Normal(covariance=size * CORRELATED))
        for covariance in (kernel.k_gf, kernel.k_g):
            assert_close(covariance(A, B), kernel.k_f(A, B), rtol=0, atol=10 * size + 1e-15)


@every_shape
def test_smoothing_never_raises_the_prior_variance(shape):
    for law in LAWS.values():
        before = 1.0
        for ratio in 10 ** torch.linspace(-6, 3, 28).double():
            kernel = kernel_1d(shape, law(ratio.item() * LENGTHSCALE))
            k_gf, k_g = kernel.at_same_point(tensor([[0.0]]))
            assert 0 < k_g <= k_gf + 1e-15
            assert k_gf <= kernel.prior_variance
            assert k_g <= before + 1e-14  # wider noise, smoother g
            before = k_g.item()


@every_shape
def test_frequencies_average_to_the_kernel(shape):
    kernel = StationaryKernel(tensor(1.0), (shape, "se"), tensor([0.7, 0.3]))
    delta = tensor([[0.0, 0.0], [0.1, 0.0], [0.5, 0.1], [1.0, -0.3], [0.0, 0.6]])
    exact = at(smooth(kernel, Normal(0.1)).k_f, delta)
    omega = frequencies(kernel, 2**14, torch.Generator().manual_seed(8))
    # quasi-random: 6e-5 for the squared exponential, 7e-4 for the heavy tails of Matern-1/2,
    # where plain Monte Carlo is off by 0.7 / sqrt(2^14) = 5e-3
    assert_close((delta @ omega.T).cos().mean(-1), exact, rtol=0, atol=1e-3)
    assert (delta @ omega.T).sin().mean(-1).abs().max() <= 1e-3


@every_shape
def test_frequencies_are_finite_and_follow_the_generator(shape):
    kernel = StationaryKernel(tensor(1.0), (shape,) * 3, tensor([0.7, 0.3, 1e-3]))
    draw = frequencies(kernel, 100, torch.Generator().manual_seed(9))
    assert draw.shape == (100, 3)
    assert draw.isfinite().all()
    assert torch.equal(draw, frequencies(kernel, 100, torch.Generator().manual_seed(9)))
    assert not torch.equal(draw, frequencies(kernel, 100, torch.Generator().manual_seed(10)))


def test_a_law_for_another_number_of_parameters_is_refused():
    kernel = StationaryKernel(tensor(1.0), ("se", "se"), tensor([0.7, 0.3]))
    with pytest.raises(ValueError, match="has 3 values but x has 2 parameters"):
        smooth(kernel, Normal((0.1, 0.2, 0.3)))
    with pytest.raises(ValueError, match="has 3 laws but x has 2 parameters"):
        smooth(kernel, Independent([Normal(0.1), Uniform(0.2), Normal(0.3)]))


@every_shape
@pytest.mark.parametrize("ratio", [0.24, 0.26, 1.0, 30.0])
def test_gradients_at_the_ends_of_the_interval_are_differences_of_the_kernel(shape, ratio):
    h = ratio * LENGTHSCALE
    kernel = kernel_1d(shape, Uniform(h))
    value = float(kappa(shape, 2 * h) - 1) / (2 * h)
    assert gradient(kernel.k_gf, [h]).item() == pytest.approx(value, abs=1e-10 / h)
    far, near = (smoothed(shape, "uniform", h, e, 1) for e in (3 * h, h))
    value = (far - near) / (2 * h)
    assert gradient(kernel.k_g, [2 * h]).item() == pytest.approx(value, abs=1e-10 / h)
