"""Sample paths against the posterior they are drawn from, and g~ against quadrature of f~."""

import inspect
import math
from dataclasses import dataclass

import pytest
import torch
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from torch.testing import assert_close

from meseta.gp.joint import condition
from meseta.gp.observed import Coming
from meseta.gp.paths import sample_paths
from meseta.kernels import StationaryKernel, smooth
from meseta.noise import Independent, Normal, Uniform
from meseta.noise.law import unscented

SAMPLERS = ["pathwise", "sparse-spectrum"]
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)
CORRELATED = [[0.02, 0.012], [0.012, 0.03]]


def tensor(values):
    return torch.tensor(values, dtype=torch.double)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def posterior_of(shapes, law, *, n=6, noise_variance=1e-2, seed=0, mean=0.4):
    d = len(shapes)
    kernel = StationaryKernel(tensor(1.5), shapes, tensor([0.3, 0.5, 0.4][:d]))
    X = torch.rand(n, d, generator=generator(seed), dtype=torch.double)
    smoothed, noise = smooth(kernel, law), torch.full((n,), noise_variance, dtype=torch.double)
    # data from the prior
    root = torch.linalg.cholesky(smoothed.k_f(X, X) + torch.diag(noise))
    y = mean + root @ torch.randn(n, generator=generator(seed + 1), dtype=torch.double)
    return condition(smoothed, tensor(mean), X, y, noise, Coming(tensor(noise_variance)))


@pytest.mark.parametrize(
    ("shapes", "law"),
    [
        (("se",), Normal(0.1)),
        (("matern52",), Uniform(0.2)),
        (("se", "matern32"), Normal((0.1, 0.2))),
        (("se", "se"), Normal(covariance=CORRELATED)),
        (("se", "matern52"), Independent([Normal(0.1), Uniform(0.2)])),
    ],
    ids=["se-normal", "matern52-uniform", "mixed-normal", "se-correlated", "normal-uniform"],
)
@every_sampler
def test_paths_have_the_joint_moments_of_the_posterior(shapes, law, sampler):
    posterior = posterior_of(shapes, law)
    num = 4000
    paths = sample_paths(posterior, num, 1500, generator(2), sampler)
    x = torch.rand(7, len(shapes), generator=generator(3), dtype=torch.double) * 1.6 - 0.3
    draws = torch.cat([paths.f(x), paths.g(x)], dim=1)
    mean = torch.cat([posterior.mean_f(x), posterior.mean_g(x)])
    c_gf = posterior.covariance_gf(x, x)
    covariance = torch.cat(
        [
            torch.cat([posterior.covariance_f(x, x), c_gf.T], dim=1),
            torch.cat([c_gf, posterior.covariance_g(x, x)], dim=1),
        ]
    )
    variance = covariance.diagonal()
    # 1500 features leave this much of the kernel: quasi-random frequencies little, random
    # phases 1 / sqrt(1500) of the variance 1.5
    features = {"pathwise": 0.01, "sparse-spectrum": 0.05}[sampler]
    # and 4.5 standard errors of Gaussian draws
    allowed = 4.5 * (variance / num).sqrt() + features
    assert torch.all((draws.mean(0) - mean).abs() <= allowed)
    error = ((torch.outer(variance, variance) + covariance**2) / num).sqrt()
    assert torch.all((draws.T.cov() - covariance).abs() <= 4.5 * error + features)


@every_sampler
def test_more_features_bring_the_prior_covariance_nearer_to_the_kernel(sampler):
    """The covariance given the frequencies, without Monte Carlo: far from the data."""
    posterior = posterior_of(("matern52",), Normal(0.1))
    x = torch.linspace(20, 21, 9, dtype=torch.double)[:, None]
    errors = []
    for num_features in (50, 5000):
        paths = sample_paths(posterior, 1, num_features, generator(4), sampler)
        waves = torch.cat([(x @ paths.omega.T).cos(), (x @ paths.omega.T).sin()], dim=1)
        approximate = 1.5 * waves @ waves.T / len(paths.omega)
        errors.append((approximate - posterior.covariance_f(x, x)).abs().max().item())
    assert errors[1] <= min(errors[0] / 10, 5e-3)


def test_half_of_the_pathwise_features_are_sines():
    paths = sample_paths(posterior_of(("se",), Normal(0.1)), 3, 101, generator(5))
    assert paths.omega.shape == (51, 1)
    assert paths.f_cosine.shape == paths.f_sine.shape == (3, 51)


@pytest.mark.parametrize("shape", ["se", "matern12", "matern52"])
@every_sampler
def test_paths_interpolate_data_without_noise(shape, sampler):
    posterior = posterior_of((shape,), Normal(0.1), noise_variance=1e-8)
    values = sample_paths(posterior, 50, 1000, generator(6), sampler).f(posterior.X)
    # f(X) - y is at most the noise: 6 of its standard deviations of 1e-4
    assert (values - posterior.y).abs().max() <= 6e-4


@every_sampler
def test_paths_differ_where_there_are_no_data(sampler):
    posterior = posterior_of(("se",), Normal(0.1), noise_variance=1e-8)
    paths = sample_paths(posterior, 50, 500, generator(7), sampler)
    far = tensor([[5.0]])
    assert paths.f(far).std().item() == pytest.approx(math.sqrt(1.5), rel=0.4)
    # k_g(x, x) = 1.5 l / sqrt(l^2 + 2 s^2)
    assert paths.g(far).std().item() == pytest.approx(
        math.sqrt(1.5 * 0.3 / math.sqrt(0.11)), rel=0.4
    )


def hermite_nodes(covariance, num):
    points, weights = (torch.from_numpy(a) for a in hermegauss(num))
    d = len(covariance)
    grid = torch.cartesian_prod(*[points] * d).reshape(-1, d)
    product = torch.cartesian_prod(*[weights / weights.sum()] * d).reshape(-1, d).prod(-1)
    return grid @ torch.linalg.cholesky(covariance).T, product


def legendre_nodes(half_widths, num):
    points, weights = (torch.from_numpy(a) for a in leggauss(num))
    d = len(half_widths)
    grid = torch.cartesian_prod(*[points] * d).reshape(-1, d)
    return grid * half_widths, torch.cartesian_prod(*[weights / 2] * d).reshape(-1, d).prod(-1)


def assert_g_is_the_average_of_f(paths, xi, weights, d):
    x = torch.rand(5, d, generator=generator(8), dtype=torch.double)
    moved = (x[:, None, :] + xi).reshape(-1, d)
    average = paths.f(moved).reshape(-1, 5, len(weights)) @ weights
    assert_close(paths.g(x), average, rtol=0, atol=1e-8)
    assert (paths.g(x) - paths.f(x)).abs().max() > 1e-2


@every_sampler
def test_g_is_the_exact_smoothing_of_f_under_normal_noise(sampler):
    posterior = posterior_of(("se", "se"), Normal((0.08, 0.2)))
    paths = sample_paths(posterior, 4, 200, generator(9), sampler)
    assert_g_is_the_average_of_f(paths, *hermite_nodes(tensor([[0.0064, 0], [0, 0.04]]), 40), 2)


@every_sampler
def test_g_is_the_exact_smoothing_of_f_under_uniform_noise(sampler):
    posterior = posterior_of(("se", "se"), Uniform((0.2, 0.1)))
    paths = sample_paths(posterior, 4, 200, generator(10), sampler)
    assert_g_is_the_average_of_f(paths, *legendre_nodes(tensor([0.2, 0.1]), 40), 2)


@every_sampler
def test_g_is_the_exact_smoothing_of_f_under_correlated_noise(sampler):
    posterior = posterior_of(("se", "se"), Normal(covariance=CORRELATED))
    paths = sample_paths(posterior, 4, 200, generator(11), sampler)
    assert_g_is_the_average_of_f(paths, *hermite_nodes(tensor(CORRELATED), 40), 2)


def test_g_is_the_exact_smoothing_of_a_rough_f_too():
    """With features alone the kernel does not matter; those of Matern kernels reach far."""
    posterior = posterior_of(("matern52",), Uniform(0.2))
    paths = sample_paths(posterior, 4, 200, generator(12), "sparse-spectrum")
    assert_g_is_the_average_of_f(paths, *legendre_nodes(tensor([0.2]), 200), 1)


@dataclass(frozen=True)
class OffCentre:
    """xi uniform on [0.05, 0.25]: not symmetric, so its characteristic function is complex."""

    independent = True
    mean = tensor([0.15])
    covariance_matrix = tensor([[0.1**2 / 3]])

    @property
    def marginals(self):
        return (self,)

    def in_dimension(self, dimension):
        return self

    def scaled(self, scale):
        raise NotImplementedError

    def sample(self, num, generator):
        raise NotImplementedError

    def characteristic(self, omega):
        phase = 0.15 * omega[:, 0]
        return torch.sinc(0.1 * omega[:, 0] / torch.pi) * torch.complex(phase.cos(), phase.sin())

    def sigma_points(self, kappa=1.0):
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)


def off_centre_nodes(num):
    points, weights = (torch.from_numpy(a) for a in leggauss(num))
    return 0.15 + 0.1 * points[:, None], weights / 2


@every_sampler
def test_noise_off_centre_shifts_the_phase_of_each_feature(sampler):
    posterior = posterior_of(("se",), OffCentre())
    paths = sample_paths(posterior, 4, 200, generator(13), sampler)
    xi, weights = off_centre_nodes(40)
    assert_g_is_the_average_of_f(paths, xi, weights, 1)


@every_sampler
def test_g_is_the_exact_smoothing_of_f_under_a_law_for_each_dimension(sampler):
    law = Independent([OffCentre(), Normal(0.1), Uniform(0.2)])
    paths = sample_paths(posterior_of(("se",) * 3, law), 4, 200, generator(25), sampler)
    normal, uniform = hermite_nodes(tensor([[0.01]]), 24), legendre_nodes(tensor([0.2]), 16)
    points, weights = zip(off_centre_nodes(12), normal, uniform, strict=True)
    xi = torch.cartesian_prod(*[column[:, 0] for column in points])
    assert_g_is_the_average_of_f(paths, xi, torch.cartesian_prod(*weights).prod(-1), 3)


@every_sampler
def test_g_is_the_average_of_f_over_samples_of_a_law_for_each_dimension(sampler):
    law = Independent([Normal(0.1), Uniform(0.2), Normal(0.0)])
    shapes = ("matern52", "se", "matern32")
    paths = sample_paths(posterior_of(shapes, law), 4, 200, generator(26), sampler)
    num = 10_000
    xi = law.sample(num, generator(27))
    x = torch.rand(3, 3, generator=generator(28), dtype=torch.double)
    draws = paths.f((x[:, None, :] + xi).reshape(-1, 3)).reshape(4, 3, num)
    error = draws.std(-1) / math.sqrt(num)
    # 4.5 standard errors for 12 values, all far below the effect of the noise
    assert torch.all((paths.g(x) - draws.mean(-1)).abs() <= 4.5 * error)
    assert (paths.g(x) - paths.f(x)).abs().max() > 10 * error.max()


@every_sampler
def test_without_input_noise_g_is_f(sampler):
    posterior = posterior_of(("matern32", "se"), Normal(0.0))
    paths = sample_paths(posterior, 5, 100, generator(14), sampler)
    x = torch.rand(9, 2, generator=generator(15), dtype=torch.double)
    assert torch.equal(paths.g(x), paths.f(x))


@pytest.mark.parametrize(
    ("shapes", "law"),
    [
        (("se",), Normal(0.1)),
        (("matern52", "matern52"), Uniform((0.2, 0.03))),
        (("se", "matern32", "se"), Normal((0.1, 0.0, 0.2))),
        (("se", "se"), Normal(covariance=CORRELATED)),
        (("se", "matern52"), Independent([Normal(0.1), Uniform(0.2)])),
    ],
    ids=["se-normal", "matern52-uniform", "mixed", "correlated", "normal-uniform"],
)
@every_sampler
def test_g_of_is_g_row_by_row_and_knows_its_gradient(shapes, law, sampler):
    d = len(shapes)
    paths = sample_paths(posterior_of(shapes, law), 6, 150, generator(16), sampler)
    x = torch.rand(10, d, generator=generator(17), dtype=torch.double)
    path = torch.randint(6, (10,), generator=generator(18))
    rows = torch.arange(10)
    assert_close(paths.g_of(path, x), paths.g(x)[path, rows], rtol=0, atol=1e-12)
    upstream = torch.randn(10, generator=generator(19), dtype=torch.double)
    x.requires_grad_()
    (gradient,) = torch.autograd.grad(paths.g_of(path, x) @ upstream, x)
    (by_autograd,) = torch.autograd.grad(paths.g(x)[path, rows] @ upstream, x)
    assert_close(gradient, by_autograd, rtol=0, atol=1e-10)
    step = 1e-5 * torch.eye(d, dtype=torch.double)
    for i in range(d):
        with torch.no_grad():
            slope = (paths.g_of(path, x + step[i]) - paths.g_of(path, x - step[i])) / 2e-5
        assert_close(gradient[:, i], upstream * slope, rtol=0, atol=1e-6)


@every_sampler
def test_paths_depend_on_the_generator_alone(sampler):
    posterior = posterior_of(("se", "matern52"), Normal(0.1))
    x = torch.rand(4, 2, generator=generator(20), dtype=torch.double)
    torch.manual_seed(0)
    first = sample_paths(posterior, 3, 64, generator(21), sampler)
    torch.manual_seed(1)
    again = sample_paths(posterior, 3, 64, generator(21), sampler)
    other = sample_paths(posterior, 3, 64, generator(22), sampler)
    assert torch.equal(first.f(x), again.f(x))
    assert torch.equal(first.g(x), again.g(x))
    assert not torch.equal(first.g(x), other.g(x))


def test_the_mean_of_the_model_is_the_level_far_from_the_data():
    posterior = posterior_of(("se",), Normal(0.1), mean=50.0)
    paths = sample_paths(posterior, 200, 500, generator(23))
    assert paths.g(tensor([[30.0]])).mean().item() == pytest.approx(50, abs=0.5)


def test_unknown_samplers_are_refused_with_the_known_ones():
    posterior = posterior_of(("se",), Normal(0.1))
    with pytest.raises(ValueError, match="unknown sampler 'exact'; use 'pathwise' or 'sparse-"):
        inspect.unwrap(sample_paths)(posterior, 2, 10, generator(24), "exact")


@pytest.mark.parametrize("noise_variance", [0.0, 1e-18, 1e-16])
@pytest.mark.parametrize("sampler", ["pathwise", "sparse-spectrum"])
def test_paths_without_observation_noise_interpolate(noise_variance, sampler):
    kernel = smooth(StationaryKernel(tensor(1.5), ("matern52",), tensor([0.3])), Normal(0.1))
    X = torch.rand(5, 1, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    y = (6 * X[:, 0]).sin()
    noise = torch.full((5,), noise_variance, dtype=torch.double)
    posterior = condition(kernel, tensor(0.0), X, y, noise, Coming(tensor(1e-6)))
    paths = sample_paths(posterior, 20, 500, torch.Generator().manual_seed(1), sampler)
    assert_close(paths.f(X), y.expand(20, 5), rtol=0, atol=1e-5)
