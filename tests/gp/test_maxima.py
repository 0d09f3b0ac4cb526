"""Maxima of sample paths of g against dense grids."""

import pytest
import torch
from torch.testing import assert_close

from meseta.gp.joint import condition
from meseta.gp.maxima import maximize_paths, percentile_values
from meseta.gp.observed import Coming
from meseta.gp.paths import sample_paths
from meseta.kernels import StationaryKernel, smooth
from meseta.nes_plain import select_max_values
from meseta.noise import Normal, Uniform


def tensor(values):
    return torch.tensor(values, dtype=torch.double)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def paths_of(shapes, lengthscale, law, num_paths, *, n=6, seed=0, sampler="pathwise"):
    d = len(shapes)
    kernel = smooth(StationaryKernel(tensor(1.3), shapes, tensor(lengthscale)), law)
    X = torch.rand(n, d, generator=generator(seed), dtype=torch.double)
    noise = torch.full((n,), 1e-4, dtype=torch.double)
    root = torch.linalg.cholesky(kernel.k_f(X, X) + torch.diag(noise))
    y = 0.2 + root @ torch.randn(n, generator=generator(seed + 1), dtype=torch.double)
    posterior = condition(kernel, tensor(0.2), X, y, noise, Coming(tensor(1e-4)))
    return sample_paths(posterior, num_paths, 500, generator(seed + 2), sampler)


def unit_box(d):
    return torch.stack([torch.zeros(d), torch.ones(d)]).double()


def on_grid(paths, grid):
    with torch.no_grad():
        return torch.cat([paths.g(part) for part in grid.split(4096)], dim=1).amax(1)


@pytest.mark.parametrize(
    ("shape", "lengthscale", "law"),
    [("se", 0.2, Normal(0.05)), ("matern52", 0.1, Normal(0.03)), ("matern32", 0.2, Uniform(0.1))],
    ids=["se", "matern52", "matern32"],
)
@pytest.mark.parametrize("sampler", ["pathwise", "sparse-spectrum"])
def test_maxima_in_one_dimension_are_those_of_a_dense_grid(shape, lengthscale, law, sampler):
    paths = paths_of((shape,), [lengthscale], law, 50, sampler=sampler)
    maxima = maximize_paths(paths, unit_box(1), generator(3))
    best = on_grid(paths, torch.linspace(0, 1, 4001, dtype=torch.double)[:, None])
    size, spread = best.abs().max().item(), best.std().item()
    # a few thousandths of the spread: PRECISION, and that a small gain is not yet the end
    assert torch.all(maxima.value >= best - 3e-3 * spread)
    # a grid point lies within 1.25e-4 of the top, where g is flat: curvatures are below 300
    assert torch.all(maxima.value <= best + 3e-6 * size)


def test_maxima_in_two_dimensions_are_those_of_a_dense_grid():
    paths = paths_of(("se", "se"), [0.6, 0.5], Normal((0.1, 0.05)), 30, n=8)
    maxima = maximize_paths(paths, unit_box(2), generator(4))
    axis = torch.linspace(0, 1, 101, dtype=torch.double)
    best = on_grid(paths, torch.cartesian_prod(axis, axis))
    assert torch.all(maxima.value >= best - 3e-3 * best.std())
    assert torch.all(maxima.value <= best + 2e-3)


def test_values_are_those_of_the_paths_at_the_points_found():
    paths = paths_of(("se", "matern52"), [0.3, 0.5], Normal((0.1, 0.05)), 40)
    maxima = maximize_paths(paths, unit_box(2), generator(5))
    assert_close(maxima.value, paths.g_of(torch.arange(40), maxima.x), rtol=0, atol=1e-12)
    assert torch.all((maxima.x >= 0) & (maxima.x <= 1))
    assert maxima.unfinished <= 0.03 * 2 * 40


def test_points_found_are_local_maxima():
    paths = paths_of(("se", "matern52"), [0.3, 0.5], Normal((0.1, 0.05)), 40)
    maxima = maximize_paths(paths, unit_box(2), generator(6))
    x = maxima.x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(paths.g_of(torch.arange(40), x).sum(), x)
    held = ((x <= 0) & (slope < 0)) | ((x >= 1) & (slope > 0))
    assert torch.where(held, 0, slope).abs().max() <= 0.1
    near = 1e-2 * torch.randn(20, 40, 2, generator=generator(7), dtype=torch.double)
    for step in near:
        neighbour = paths.g_of(torch.arange(40), (maxima.x + step).clamp(0, 1))
        assert torch.all(neighbour <= maxima.value + 3e-3 * maxima.value.std())


def test_maxima_are_no_lower_than_at_the_data_inside_the_box():
    paths = paths_of(("se",) * 4, [0.3] * 4, Normal(0.05), 30, n=25)
    maxima = maximize_paths(paths, unit_box(4), generator(8))
    assert torch.all(maxima.value >= paths.g(paths.X).amax(1))


def test_only_the_box_counts():
    """The data and the higher values beside the box are not looked at."""
    paths = paths_of(("se",), [0.2], Normal(0.05), 40)
    bounds = tensor([[0.4], [0.5]])
    maxima = maximize_paths(paths, bounds, generator(9))
    assert torch.all((maxima.x >= 0.4 - 1e-15) & (maxima.x <= 0.5 + 1e-15))
    best = on_grid(paths, torch.linspace(0.4, 0.5, 1001, dtype=torch.double)[:, None])
    assert_close(maxima.value, best, rtol=0, atol=3e-3 * best.std().item())


def test_maxima_follow_the_generator():
    paths = paths_of(("se", "se"), [0.3, 0.5], Normal(0.1), 10)
    first = maximize_paths(paths, unit_box(2), generator(10))
    again = maximize_paths(paths, unit_box(2), generator(10))
    assert torch.equal(first.value, again.value)
    assert torch.equal(first.x, again.x)


def test_maxima_of_a_flat_posterior_are_finite():
    """Everything known: the paths hardly differ, and neither do their maxima."""
    paths = paths_of(("se",), [2.0], Normal(0.05), 20, n=30)
    maxima = maximize_paths(paths, unit_box(1), generator(11))
    assert maxima.value.isfinite().all()
    assert maxima.value.std() < 0.05


def test_one_value_is_the_median_and_three_are_the_quartiles():
    maxima = torch.randperm(101, generator=generator(12)).double()  # its percentiles are 0..100
    assert_close(percentile_values(maxima, 1), tensor([50.0]))
    assert_close(percentile_values(maxima, 2), tensor([25.0, 75.0]))
    assert_close(percentile_values(maxima, 3), tensor([25.0, 50.0, 75.0]))
    assert_close(percentile_values(maxima, 5), tensor([25.0, 37.5, 50.0, 62.5, 75.0]))


@pytest.mark.parametrize("num_values", [1, 2, 3, 10])
@pytest.mark.parametrize("num_paths", [1, 2, 99, 100])
def test_values_agree_with_the_readable_twin(num_values, num_paths):
    maxima = torch.randn(num_paths, generator=generator(13), dtype=torch.double)
    exact = torch.from_numpy(select_max_values(maxima.numpy(), num_values))
    assert_close(percentile_values(maxima, num_values), exact, rtol=0, atol=1e-14)


@pytest.mark.parametrize("num_values", [0, -1])
def test_fewer_than_one_value_is_refused(num_values):
    with pytest.raises(ValueError, match=f"must be at least 1, got {num_values}"):
        percentile_values(torch.zeros(5, dtype=torch.double), num_values)


@pytest.mark.parametrize(("lengthscale", "std"), [(0.3, 0.1), (0.1, 0.03)])
def test_maxima_of_paths_with_several_tops_are_those_of_a_dense_grid(lengthscale, std):
    paths = paths_of(("se", "se"), [lengthscale] * 2, Normal(std), 100, n=10)
    maxima = maximize_paths(paths, unit_box(2), torch.Generator().manual_seed(6))
    axis = torch.linspace(0, 1, 101, dtype=torch.double)
    best = on_grid(paths, torch.cartesian_prod(axis, axis))
    # two starts per path miss the top of a few; the quantiles that are used hardly notice
    assert (maxima.value < best - 1e-6).sum() <= 5
    assert maxima.value.median() == pytest.approx(best.median().item(), abs=0.01)
