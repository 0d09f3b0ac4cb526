"""Batched ascent in a box against SciPy and known maxima."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch.testing import assert_close

from examples import examples
from meseta.space.ascent import _direction, ascend


def tensor(values):
    return torch.tensor(values, dtype=torch.double)


def unit_box(d):
    return torch.stack([torch.zeros(d), torch.ones(d)]).double()


def concave_quadratics(seed, b, d, condition=100.0):
    """-1/2 (x - c)' A (x - c) with c partly outside of the box, and A, c."""
    generator = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(b, d, d, generator=generator, dtype=torch.double)).Q
    eigenvalues = condition ** torch.rand(b, d, generator=generator, dtype=torch.double)
    A = basis * eigenvalues[:, None, :] @ basis.mT
    c = 2.4 * torch.rand(b, d, generator=generator, dtype=torch.double) - 0.7

    def objective(problem, x):
        z = x - c[problem]
        return -0.5 * (z[:, None, :] @ A[problem] @ z[:, :, None])[:, 0, 0]

    return objective, A, c


def best_by_scipy(A, c, start):
    """The maximum of a concave quadratic is unique, so one start is enough."""
    result = minimize(
        lambda x: (0.5 * (x - c) @ A @ (x - c), A @ (x - c)),
        start,
        jac=True,
        bounds=[(-40, 40)] * len(c),
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10_000},
    )
    return -result.fun, result.x


@examples(40)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 6))
def test_round_quadratics_reach_the_point_of_the_box_nearest_to_their_top(seed, d):
    objective, _, c = concave_quadratics(seed, 5, d, condition=1.0)
    start = torch.rand(5, d, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    ascent = ascend(
        objective,
        start,
        unit_box(d),
        max_iterations=300,
        gradient_tolerance=1e-9,
        value_tolerance=1e-13,
    )
    assert ascent.converged == 5
    every, scale = torch.arange(5), objective(torch.arange(5), start).abs().max().item()
    assert_close(ascent.value, objective(every, c.clamp(0, 1)), rtol=0, atol=1e-10 * scale)
    # a gain of 1e-10 is a distance of its root, eigenvalues being at least 1
    assert_close(ascent.x, c.clamp(0, 1), rtol=0, atol=2e-5 * max(1, scale) ** 0.5)


@examples(40)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 6))
def test_quadratics_with_their_top_inside_agree_with_scipy(seed, d):
    """In a box so wide that the way to the top does not meet it."""
    b = 4
    objective, A, c = concave_quadratics(seed, b, d)
    start = torch.rand(b, d, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    ascent = ascend(
        objective,
        start,
        torch.stack([torch.full((d,), -40.0), torch.full((d,), 40.0)]).double(),
        max_iterations=300,
        gradient_tolerance=1e-11,
        value_tolerance=1e-15,
    )
    assert ascent.converged == b
    assert_close(ascent.x, c, rtol=0, atol=1e-5)
    for i in range(b):
        value, x = best_by_scipy(A[i].numpy(), c[i].numpy(), start[i].numpy())
        assert ascent.value[i].item() >= value - 1e-9
        assert_close(ascent.x[i], torch.from_numpy(x), rtol=0, atol=1e-5)


def test_default_tolerances_are_relative_to_the_largest_starting_value():
    objective, _, c = concave_quadratics(4, 50, 3)
    c.clamp_(0.1, 0.9)
    start = torch.rand(50, 3, generator=torch.Generator().manual_seed(5), dtype=torch.double)
    ascent = ascend(objective, start, unit_box(3))
    scale = objective(torch.arange(50), start).abs().max()
    assert ascent.converged == 50
    assert ascent.value.min() >= -1e-6 * scale


def rosenbrock(problem, x):
    return -(100 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1 - x[:, 0]) ** 2)


def test_rosenbrock_valley_is_followed_to_its_end():
    start = tensor([[-1.2, 1.0], [-1.9, -1.9], [1.9, -1.0], [0.0, 0.0]])
    bounds = tensor([[-2.0, -2.0], [2.0, 2.0]])
    ascent = ascend(
        rosenbrock,
        start,
        bounds,
        max_iterations=500,
        gradient_tolerance=1e-9,
        value_tolerance=1e-15,
    )
    assert ascent.converged == 4
    assert ascent.iterations < 500
    assert_close(ascent.x, torch.ones(4, 2).double(), rtol=0, atol=1e-3)


def test_a_maximum_of_rosenbrock_on_the_edge_is_found():
    """With x_1 <= 0.5 the maximum is at (0.5, 0.25), on the edge of the box."""
    ascent = ascend(
        rosenbrock,
        tensor([[-1.2, 1.0], [0.3, -1.0]]),
        tensor([[-2.0, -2.0], [0.5, 2.0]]),
        max_iterations=500,
        gradient_tolerance=1e-9,
        value_tolerance=1e-15,
    )
    assert_close(ascent.x, tensor([[0.5, 0.25]] * 2), rtol=0, atol=1e-5)
    assert_close(ascent.value, tensor([-0.25] * 2), rtol=0, atol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_linear_functions_end_in_the_right_corner(d):
    b = 12
    generator = torch.Generator().manual_seed(d)
    slope = torch.randn(b, d, generator=generator, dtype=torch.double)
    bounds = torch.stack([torch.full((d,), -3.0), torch.full((d,), 5.0)]).double()
    start = -3 + 8 * torch.rand(b, d, generator=generator, dtype=torch.double)
    ascent = ascend(
        lambda problem, x: (slope[problem] * x).sum(-1), start, bounds, max_iterations=100
    )
    corner = torch.where(slope > 0, bounds[1], bounds[0])
    assert ascent.converged == b
    assert_close(ascent.x, corner, rtol=0, atol=1e-12)


def test_starts_on_the_wrong_side_leave_the_boundary():
    """At a corner whose gradient points inwards nothing is held fixed."""
    ascent = ascend(
        lambda problem, x: -((x - 0.3) ** 2).sum(-1),
        tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.3]]),
        unit_box(2),
    )
    assert_close(ascent.x, torch.full((4, 2), 0.3).double(), rtol=0, atol=1e-4)


def test_constant_functions_stay_where_they_start():
    start = torch.rand(6, 2, generator=torch.Generator().manual_seed(7), dtype=torch.double)
    for level in (0.0, 3.0, -1e6):
        ascent = ascend(lambda problem, x, level=level: level + 0 * x.sum(-1), start, unit_box(2))
        assert ascent.converged == 6
        assert ascent.iterations == 0
        assert_close(ascent.x, start, rtol=0, atol=1e-15)
        assert_close(ascent.value, torch.full((6,), level).double())


def test_starts_outside_of_the_box_are_clamped_into_it():
    seen = []

    def objective(problem, x):
        seen.append(x.detach())
        return -((x - 0.5) ** 2).sum(-1)

    bounds = tensor([[0.0, -1.0], [1.0, 2.0]])
    ascent = ascend(objective, tensor([[-7.0, 30.0], [1.2, 0.5]]), bounds)
    visited = torch.cat(seen)
    assert torch.all((visited >= bounds[0]) & (visited <= bounds[1]))
    assert torch.equal(visited[0], tensor([0.0, 2.0]))
    assert_close(ascent.x, torch.full((2, 2), 0.5).double(), rtol=0, atol=1e-4)


def bumpy(problem, x):
    """Many local maxima, of another frequency for each problem."""
    return torch.sin((7 + problem[:, None]) * x).prod(-1) + 0.1 * x.sum(-1)


@examples(40)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 4), budget=st.integers(1, 40))
def test_values_never_decrease_and_points_stay_in_the_box(seed, d, budget):
    generator = torch.Generator().manual_seed(seed)
    start = torch.rand(8, d, generator=generator, dtype=torch.double)
    before = bumpy(torch.arange(8), start)
    ascent = ascend(bumpy, start, unit_box(d), max_iterations=budget)
    assert torch.all(ascent.value >= before)
    assert torch.all((ascent.x >= 0) & (ascent.x <= 1))
    assert_close(ascent.value, bumpy(torch.arange(8), ascent.x), rtol=0, atol=1e-12)
    assert ascent.iterations <= budget
    assert 0 <= ascent.converged <= 8


def test_converged_problems_are_local_maxima():
    start = torch.rand(30, 2, generator=torch.Generator().manual_seed(8), dtype=torch.double)
    ascent = ascend(bumpy, start, unit_box(2), max_iterations=200, gradient_tolerance=1e-7)
    assert ascent.converged == 30
    x = ascent.x.clone().requires_grad_()
    (g,) = torch.autograd.grad(bumpy(torch.arange(30), x).sum(), x)
    held = ((x <= 0) & (g < 0)) | ((x >= 1) & (g > 0))
    assert torch.where(held, 0, g).abs().max() <= 1e-2  # curvatures are up to 36^2
    for step in 1e-3 * torch.eye(2).double():
        for sign in (1, -1):
            neighbour = bumpy(torch.arange(30), (ascent.x + sign * step).clamp(0, 1))
            assert torch.all(neighbour <= ascent.value + 1e-9)


def test_problems_that_ran_out_of_iterations_do_not_count_as_converged():
    bounds = tensor([[-2.0, -2.0], [2.0, 2.0]])
    start = tensor([[-1.2, 1.0], [1.0, 1.0]])  # the second is the maximum
    ascent = ascend(rosenbrock, start, bounds, max_iterations=3)
    assert ascent.iterations == 3
    assert ascent.converged == 1
    assert torch.equal(ascent.x[1], start[1])


def test_each_problem_goes_its_own_way():
    """Problems of a batch end where they would end alone, up to the shared tolerance."""
    objective, _, _ = concave_quadratics(9, 6, 3)
    start = torch.rand(6, 3, generator=torch.Generator().manual_seed(10), dtype=torch.double)
    options = {"max_iterations": 200, "gradient_tolerance": 1e-9, "value_tolerance": 1e-13}
    together = ascend(objective, start, unit_box(3), **options)
    for i in range(6):
        alone = ascend(
            lambda problem, x, i=i: objective(problem + i, x),
            start[i : i + 1],
            unit_box(3),
            **options,
        )
        assert_close(together.x[i], alone.x[0], rtol=0, atol=1e-5)


def test_units_of_x_and_of_the_value_do_not_matter():
    objective, _, _ = concave_quadratics(11, 5, 2)
    start = torch.rand(5, 2, generator=torch.Generator().manual_seed(12), dtype=torch.double)
    plain = ascend(objective, start, unit_box(2))
    width, lower = tensor([1e4, 1e-3]), tensor([-50.0, 2.0])
    moved = ascend(
        lambda problem, x: 1e-5 * objective(problem, (x - lower) / width),
        lower + width * start,
        torch.stack([lower, lower + width]),
    )
    assert_close((moved.x - lower) / width, plain.x, rtol=0, atol=1e-6)
    assert_close(1e5 * moved.value, plain.value, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_rounded_functions_end(digits):
    calls = 0

    def objective(problem, x):
        nonlocal calls
        calls += 1
        exact = -((x - 0.37) ** 2).sum(-1)
        # the value is rounded, the gradient is not
        return exact + (torch.round(exact, decimals=digits) - exact).detach()

    start = torch.rand(10, 3, generator=torch.Generator().manual_seed(13), dtype=torch.double)
    ascent = ascend(objective, start, unit_box(3), max_iterations=1000)
    assert ascent.converged == 10
    assert ascent.iterations < 200
    assert calls < 2000
    assert torch.all(ascent.value >= -2 * 10.0**-digits - 1e-8)


def test_functions_with_noise_end_no_lower_than_they_started():
    rng = np.random.default_rng(14)

    def objective(problem, x):
        noise = torch.from_numpy(1e-3 * rng.standard_normal(len(x)))
        return -((x - 0.37) ** 2).sum(-1) + noise

    start = torch.rand(10, 2, generator=torch.Generator().manual_seed(15), dtype=torch.double)
    ascent = ascend(objective, start, unit_box(2), max_iterations=100)
    assert ascent.iterations <= 100
    before = -((start - 0.37) ** 2).sum(-1)
    after = -((ascent.x - 0.37) ** 2).sum(-1)
    assert torch.all(after >= before - 0.01)  # 5 standard deviations, at both ends
    assert after.min() > -0.05


@pytest.mark.parametrize("height", [1.0, 1e-100, 1e-165, 1e-200, 1e-290, 0.0])
def test_functions_that_are_all_but_flat_do_not_end_a_search(height):
    """Squares of their slopes are 0, and so is the curvature that is learned from them."""
    tall = tensor([1.0, 1.0, height])  # one batch, since the tallest sets the tolerances

    def objective(problem, x):
        return tall[problem] * -((x - 0.37) ** 2).sum(-1)

    start = tensor([[0.1, 0.8], [0.9, 0.9], [0.2, 0.5]])
    ascent = ascend(objective, start, unit_box(2))
    assert_close(ascent.x[:2], tensor([[0.37, 0.37]]).expand(2, 2), rtol=0, atol=1e-4)
    alone = ascend(lambda problem, x: objective(problem + 2, x), start[2:], unit_box(2))
    assert alone.x.isfinite().all()


def test_a_curvature_that_is_singular_is_forgotten():
    B, g = torch.zeros(2, 2, 2).double(), tensor([[1.0, 2.0], [0.5, 0.0]])
    B[1] = torch.eye(2).double()
    x, top, fresh = tensor([[0.5, 0.5]]).expand(2, 2), tensor([1.0, 1.0]), torch.zeros(2).bool()
    direction, _, fresh = _direction(B, g, x, top, fresh, 1e-9)
    assert fresh.tolist() == [True, False]
    assert_close(direction[0] / direction[0, 0], g[0])  # along the slope
    assert_close(direction[1], g[1])


def test_gradients_of_the_caller_are_left_alone():
    """Inside no_grad, as in a loop of acquisitions, ascent still differentiates."""
    centre = tensor([0.2, 0.9]).requires_grad_()
    with torch.no_grad():
        ascent = ascend(
            lambda problem, x: -((x - centre) ** 2).sum(-1), tensor([[0.5, 0.5]]), unit_box(2)
        )
    assert_close(ascent.x[0], centre.detach(), rtol=0, atol=1e-4)
    assert not ascent.x.requires_grad
    assert not ascent.value.requires_grad
    assert centre.grad is None


def best_in_unit_box(A, c, start):
    result = minimize(
        lambda x: (0.5 * (x - c) @ A @ (x - c), A @ (x - c)),
        start,
        jac=True,
        bounds=[(0, 1)] * len(c),
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10_000},
    )
    return -result.fun, result.x


@examples(60)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 6))
def test_concave_quadratics_in_a_box_reach_the_maximum_that_scipy_finds(seed, d):
    b = 5
    objective, A, c = concave_quadratics(seed, b, d)
    start = torch.rand(b, d, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    ascent = ascend(
        objective,
        start,
        unit_box(d),
        max_iterations=300,
        gradient_tolerance=1e-9,
        value_tolerance=1e-13,
    )
    scale = objective(torch.arange(b), start).abs().max().item()
    for i in range(b):
        value, _ = best_in_unit_box(A[i].numpy(), c[i].numpy(), start[i].numpy())
        assert ascent.value[i].item() == pytest.approx(value, abs=1e-9 * scale)


def test_a_direction_that_the_box_bends_is_shortened_until_it_climbs():
    A, c = tensor([[51.6, -32.4], [-32.4, 25.7]]), tensor([0.75, 1.32])
    ascent = ascend(
        lambda problem, x: -0.5 * ((x - c) @ A * (x - c)).sum(-1),
        tensor([[0.24, 0.76]]),
        unit_box(2),
        max_iterations=300,
    )
    value, _ = best_in_unit_box(A.numpy(), c.numpy(), np.array([0.24, 0.76]))
    assert ascent.value.item() == pytest.approx(value, abs=1e-6)
