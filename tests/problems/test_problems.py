"""Benchmark problems: g against brute force, optima against dense search, f against rivals."""

import cmath
import dataclasses
import math
import pickle
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import torch
from botorch.test_functions import Hartmann
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize
from scipy.stats import norm, qmc

from meseta.noise import Normal
from meseta.problems import Problem, flight, get, gp_draw, names, of_paper, within_model

SMOOTH = ["sin-linear", "rkhs", "gmm", "polynomial", "hartmann3", "hartmann6"]


def problem(name):
    return within_model(int(name[-1])) if name.startswith("within-model") else get(name)


def every(*names_of_problems):
    return pytest.mark.parametrize("name", names_of_problems)


def random_designs(p, num, seed):
    return np.random.default_rng(seed).uniform(*p.bounds, size=(num, p.dimension))


def trapezoid_expectation(p, x, per_std, reach=9):
    """E f(x + xi) for Normal xi by the trapezoidal rule in every coordinate."""
    z = np.arange(-reach * per_std, reach * per_std + 1) / per_std
    w = norm.pdf(z) / per_std
    nodes = np.array(list(product(z, repeat=p.dimension)))
    weights = np.array(list(product(w, repeat=p.dimension))).prod(-1)
    std = p.noise.standard_deviation.numpy()
    return np.array([weights @ p.f(row + std * nodes) for row in x])


def best_of_many_starts(p, num_starts=12):
    """The optimum of g by L-BFGS-B from the best of many Sobol points: x and g(x)."""
    sign = -1 if p.direction == "maximize" else 1
    low, width = p.bounds[0], p.bounds[1] - p.bounds[0]
    points = qmc.Sobol(p.dimension, seed=1).random(2048)
    start = points[np.argsort(sign * p.g(low + width * points))[:num_starts]]
    runs = [
        minimize(
            lambda u: sign * p.g(np.clip(low + width * u, *p.bounds)[None])[0],
            u,
            bounds=[(0, 1)] * p.dimension,
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        for u in start
    ]
    best = min(runs, key=lambda run: run.fun)
    return low + width * best.x, sign * best.fun


# The record


def test_names_are_known_without_loading_torch():
    code = "import sys, meseta.problems as p; print(*p.names(), 'torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [*names(), "False"]


@every(*of_paper(), "within-model-0")
def test_record_is_complete_and_in_order(name):
    p = problem(name)
    d = p.dimension
    assert isinstance(p, Problem)
    assert p.name == name
    assert p.bounds.shape == (2, d)
    assert (p.bounds[0] <= p.x_star).all()
    assert (p.x_star <= p.bounds[1]).all()
    assert p.space == {n: (*p.bounds[:, j].tolist(),) for j, n in enumerate(p.names)}
    assert list(p.noise_by_name) == list(p.names)
    assert all(isinstance(law, Normal) for law in p.noise_by_name.values())
    assert [law.std for law in p.noise_by_name.values()] == list(p.noise.std)
    assert p.num_initial == {1: 3, 2: 5, 3: 10, 6: 10}[d]
    assert p.num_initial < p.budget
    assert p.noise_variance == 1e-6
    assert p.title
    assert p.source


def test_constants_of_the_paper():
    budgets = {"sin-linear": 20, "rkhs": 30, "gmm": 30, "polynomial": 70, "hartmann3": 100}
    budgets |= {"hartmann6": 60, "gravity": 50}
    widths = {"sin-linear": 0.05, "rkhs": 0.03, "gmm": 0.1, "polynomial": 0.6, "hartmann3": 0.1}
    assert {name: get(name).budget for name in of_paper()} == budgets
    for name, width in widths.items():
        assert set(get(name).noise.std) == {width}
    assert get("gravity").noise == Normal((3.0, 0.05))
    assert [name for name in of_paper() if get(name).direction == "minimize"] == ["gravity"]


@every(*SMOOTH, "within-model-3")
def test_arrays_lists_and_tensors_give_the_same_values(name):
    p = problem(name)
    x = random_designs(p, 5, seed=0)
    for function in (p.f, p.g, p.regret):
        values = function(x)
        assert values.shape == (5,)
        assert values.dtype == np.float64
        for same in (x.tolist(), torch.from_numpy(x), [list(row) for row in x], x.T.copy().T):
            assert_allclose(function(same), values, rtol=0, atol=1e-15)
        assert function(np.zeros((0, p.dimension))).shape == (0,)
        one_by_one = np.concatenate([function(row[None]) for row in x])
        assert_allclose(one_by_one, values, rtol=1e-13, atol=1e-13)


@every(*SMOOTH, "within-model-3")
def test_regret_is_the_distance_to_the_optimum(name):
    p = problem(name)
    x = random_designs(p, 200, seed=1)
    assert_allclose(p.regret(x), np.abs(p.g(x) - p.g_star), rtol=0, atol=0)
    gap = p.g_star - p.g(x)
    assert ((gap if p.direction == "maximize" else -gap) > 0).all()


@every("sin-linear", "gravity", "hartmann3", "within-model-1")
def test_problems_travel_between_processes(name):
    p = problem(name)
    q = pickle.loads(pickle.dumps(p))
    x = random_designs(p, 3, seed=0)
    assert_allclose(q.f(x), p.f(x), rtol=0, atol=0)
    assert (q.name, q.g_star, q.noise) == (p.name, p.g_star, p.noise)


@pytest.mark.parametrize(
    ("x", "says"),
    [
        ([0.1, 0.2, 0.3], r"shape \(m, 3\).*x1, x2, x3.*got shape \(3,\).*x\[None, :\]"),
        ([[0.1, 0.2]], r"got shape \(1, 2\)"),
        (np.array(0.5), r"got shape \(\)"),
        ([[[0.1, 0.2, 0.3]]], r"got shape \(1, 1, 3\)"),
        ([[0.1, 0.2, 0.3], [0.1, math.nan, 0.3]], "nan or infinity in row 1"),
        ([[0.1, 0.2, math.inf]], "nan or infinity in row 0"),
    ],
)
def test_wrong_points_are_refused(x, says):
    p = get("hartmann3")
    for function in (p.f, p.g, p.regret):
        with pytest.raises(ValueError, match=says):
            function(x)


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="no array of numbers"):
        get("gmm").f([["left", "right"]])
    with pytest.raises(ValueError, match=r"reshape\(-1, 1\)"):
        get("rkhs").f(np.linspace(0, 1, 5))


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'hartman3'; did you mean 'hartmann3'.*sin-linear, rkhs"):
        get("hartman3")
    with pytest.raises(ValueError, match="did you mean 'sin-linear'"):
        get("Sin + Linear")
    with pytest.raises(ValueError, match="'zzz'; available: sin-linear"):
        get("zzz")


def test_a_changed_copy_keeps_its_functions():
    p = get("sin-linear")
    q = dataclasses.replace(p, budget=5)
    assert (q.budget, q.f) == (5, p.f)


# g against brute force


@pytest.mark.parametrize(
    ("name", "per_std", "num"),
    [
        ("sin-linear", 8, 20),
        ("rkhs", 15, 20),
        ("within-model-0", 15, 20),
        ("within-model-5", 15, 20),
        ("gmm", 4, 6),
        ("hartmann3", 2, 3),
    ],
)
def test_g_is_the_expectation_of_f(name, per_std, num):
    p = problem(name)
    x = np.concatenate([random_designs(p, num, seed=2), p.bounds, p.x_star[None]])
    assert_allclose(p.g(x), trapezoid_expectation(p, x, per_std), rtol=0, atol=2e-13)


def hartmann_of_botorch(d):
    """Its constants are stored in single precision: rounded back to their decimals."""
    rival = Hartmann(dim=d, bounds=[(-0.5, 1.5)] * d)
    for constant in ("A", "ALPHA", "P"):
        setattr(rival, constant, getattr(rival, constant).double().round(decimals=4))
    return rival


@every("hartmann3", "hartmann6")
def test_hartmann_agrees_with_botorch(name):
    p = get(name)
    x = np.random.default_rng(3).uniform(-0.5, 1.5, size=(200, p.dimension))
    expected = -hartmann_of_botorch(p.dimension).evaluate_true(torch.from_numpy(x)).numpy()
    assert_allclose(p.f(x), expected, rtol=1e-13, atol=1e-15)


@every("hartmann3", "hartmann6")
def test_maximum_of_hartmann(name):
    """3.86278 and 3.32237 in the literature."""
    p = get(name)
    start = hartmann_of_botorch(p.dimension).optimizers[0].numpy()
    run = minimize(lambda x: -p.f(x[None])[0], start, options={"gtol": 1e-7})
    assert round(-run.fun, 5) == {"hartmann3": 3.86278, "hartmann6": 3.32237}[name]


@every("hartmann3", "hartmann6")
def test_g_of_hartmann_factor_by_factor(name):
    """botorch's constants; every one-dimensional factor integrated by adaptive quadrature."""
    p = get(name)
    rival = hartmann_of_botorch(p.dimension)
    A, P, alpha = (constant.numpy() for constant in (rival.A, rival.P, rival.ALPHA))

    def factor(t, a, center):
        def integrand(z):
            density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            return math.exp(-a * (t + 0.1 * z - 1e-4 * center) ** 2) * density

        return quad(integrand, -10, 10, epsabs=1e-14, epsrel=1e-12)[0]

    for x in (p.x_star, p.bounds[0], random_designs(p, 1, seed=4)[0]):
        terms = [
            w * math.prod(factor(t, a, c) for t, a, c in zip(x, A_i, P_i, strict=True))
            for w, A_i, P_i in zip(alpha, A, P, strict=True)
        ]
        assert_allclose(p.g(x[None])[0], sum(terms), rtol=0, atol=1e-12)


def bertsimas(x, z):
    """The function of the source, which minimises."""
    return (
        (2 * x**6 - 12.2 * x**5 + 21.2 * x**4 + 6.2 * x - 6.4 * x**3 - 4.7 * x**2)
        + (z**6 - 11 * z**5 + 43.3 * z**4 - 10 * z - 74.8 * z**3 + 56.9 * z**2)
        + (-4.1 * x * z - 0.1 * z**2 * x**2 + 0.4 * z**2 * x + 0.4 * x**2 * z)
    )


def gauss_panels(ends, num):
    """Gauss-Legendre nodes and weights on each interval between consecutive ends."""
    nodes, weights = leggauss(num)
    half = np.diff(ends)[:, None] / 2
    return ((ends[:-1, None] + half) + half * nodes).ravel(), (half * weights).ravel()


def test_polynomial_is_standardised_over_its_box():
    p = get("polynomial")
    x = np.random.default_rng(5).uniform([-0.95, -0.45], [3.2, 4.4], size=(300, 2))
    # mean and standard deviation of -bertsimas over the box: mpmath, exact moments, 40 digits
    expected = (-bertsimas(*x.T) + 12.064165131696429) / 9.4305422373940136
    assert_allclose(p.f(x), expected, rtol=0, atol=1e-11)
    (t, w), (s, v) = (gauss_panels(ends, 12) for ends in p.bounds.T)
    values = p.f(np.array(list(product(t, s)))).reshape(12, 12)
    area = np.prod(p.bounds[1] - p.bounds[0])
    assert abs(w @ values @ v / area) < 1e-13
    assert abs(w @ values**2 @ v / area - 1) < 1e-13


def test_polynomial_is_clipped():
    p = get("polynomial")
    far = np.array([[-9.0, 2.0], [9.0, 2.0], [1.0, -9.0], [1.0, 9.0]])
    edge = np.array([[-0.95, 2.0], [3.2, 2.0], [1.0, -0.45], [1.0, 4.4]])
    assert_allclose(p.f(far), p.f(edge), rtol=1e-14)


def test_g_of_the_polynomial():
    """Gauss-Legendre with a break where the clipping begins and ends."""
    p = get("polynomial")
    x = np.concatenate([random_designs(p, 8, seed=6), p.bounds, p.x_star[None], [[7.0, -3.0]]])
    for row in x:
        axes = [
            gauss_panels(np.unique([t - 6, min(max(lo, t - 6), t + 6), hi, max(t + 6, hi)]), 60)
            for t, lo, hi in zip(row, (-0.95, -0.45), (3.2, 4.4), strict=True)
        ]
        (t, w), (s, v) = axes
        w, v = w * norm.pdf(t, row[0], 0.6), v * norm.pdf(s, row[1], 0.6)
        values = p.f(np.array(list(product(t, s)))).reshape(len(t), len(s))
        assert_allclose(p.g(row[None])[0], w @ values @ v, rtol=0, atol=1e-11)


# Optima


@every(*SMOOTH)
def test_stored_optimum_is_the_best_of_a_dense_search(name):
    p = get(name)
    x, value = best_of_many_starts(p)
    assert_allclose(p.g(p.x_star[None])[0], p.g_star, rtol=0, atol=5e-14)
    assert_allclose(value, p.g_star, rtol=0, atol=1e-10)
    assert_allclose(x, p.x_star, rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_optimum_of_a_draw_is_the_best_of_a_dense_grid(seed):
    p = within_model(seed)
    grid = np.linspace(0, 1, 20001)[:, None]
    values = p.g(grid)
    # a parabola between neighbours 5e-5 apart: |g''| < 500 makes 2e-7 at most
    assert 0 <= p.g_star - values.max() < 2e-7
    assert abs(grid[values.argmax(), 0] - p.x_star[0]) <= 5e-5


@every("sin-linear", "rkhs", "gmm", "polynomial")
def test_the_robust_optimum_is_far_from_the_optimum_of_f(name):
    p = get(name)
    points = qmc.scale(qmc.Sobol(p.dimension, seed=2).random(4096), *p.bounds)
    highest = points[p.f(points).argmax()]
    width = p.bounds[1] - p.bounds[0]
    assert (np.abs(highest - p.x_star) / width).max() > 0.4


def test_maximum_of_the_rkhs_function():
    """5.738 at 0.892: the values in the source."""
    x = np.linspace(0, 1, 100001)[:, None]
    values = get("rkhs").f(x)
    assert round(values.max(), 3) == 5.738
    assert round(x[values.argmax(), 0], 3) == 0.892


@every(*of_paper(), "within-model-2")
def test_f_is_finite_far_outside_the_box(name):
    p = problem(name)
    std = p.noise.standard_deviation.numpy()
    low, high = p.bounds + np.array([[-5], [5]]) * std
    x = np.random.default_rng(7).uniform(low, high, size=(50, p.dimension))
    assert np.isfinite(p.f(x)).all()


# Draws from the prior


def test_draws_have_the_covariance_of_the_kernel():
    omega, variances = gp_draw.spectrum()
    delta = np.linspace(0, 2, 401)  # the widest distance within [-0.5, 1.5]
    k = np.cos(delta[:, None] * omega) @ variances
    assert_allclose(k, 0.25 * np.exp(-0.5 * (delta / 0.05) ** 2), rtol=0, atol=1e-15)


def test_a_seed_gives_one_draw():
    x = np.linspace(0, 1, 7)[:, None]
    first, again, other = within_model(4), within_model(4), within_model(5)
    assert_allclose(first.f(x), again.f(x), rtol=0, atol=0)
    assert (first.x_star, first.g_star) == (again.x_star, again.g_star)
    assert np.abs(first.f(x) - other.f(x)).max() > 0.1
    with pytest.raises(ValueError, match="0 or more, got -1"):
        within_model(-1)


def test_many_draws_have_mean_0_and_the_variance_of_the_prior():
    x = np.array([[0.0], [0.31], [1.0]])
    values = np.array([gp_draw.draw(seed)(x) for seed in range(2000)])
    assert np.abs(values.mean(0)).max() < 4 * 0.5 / math.sqrt(2000)
    # the relative standard error of a variance is sqrt(2 / n)
    assert np.abs(values.var(0) / 0.25 - 1).max() < 4 * math.sqrt(2 / 2000)


# Gravity assist


def integrated_by_scipy(angle, speed, times=None):
    """Closest distance to D, and complex positions at times, by DOP853 with tight tolerances."""
    planets = {0: 1, 4 + 0.2j: 2, 5 - 1.5j: 8, 10: 10}

    def fall(t, state):
        z, v = state
        return [v, sum(mass * (p - z) / abs(p - z) ** 3 for p, mass in planets.items())]

    def recedes(t, state):
        z, v = state
        return (v * (z - 10).conjugate()).real

    start = [0.1 + 0j, cmath.rect(speed, math.radians(angle))]
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14, "events": recedes}
    run = solve_ivp(fall, (0, 4), start, t_eval=times, **options)
    places = np.concatenate([run.y_events[0].reshape(-1, 2)[:, 0], run.y[0, [0, -1]]])
    return np.abs(places - 10).min(), run.y[0]


@pytest.mark.parametrize(
    ("angle", "speed", "tolerance"),
    [
        (28.0, 4.78, 1e-7),
        (27.0, 4.9, 1e-7),  # passes D at 0.085
        (0.0, 4.34, 1e-6),
        (45.0, 5.0, 1e-7),  # nearest at the end of the flight
        (-10.0, 4.5, 1e-6),
        (20.0, 4.1, 1e-4),  # several orbits around A
        (14.0, 4.3, 1e-4),  # 2e-4 from B
        (10.0, 9.5, 1e-6),  # far outside the box
    ],
)
def test_closest_distance_agrees_with_scipy(angle, speed, tolerance):
    d, _ = integrated_by_scipy(angle, speed)
    assert_allclose(
        get("gravity").f([[angle, speed]])[0], math.log10(d + 2 * speed), atol=tolerance
    )
    assert_allclose(flight.closest_distance(np.array([angle]), np.array([speed])), d, atol=2e-4)


def test_trajectory_agrees_with_scipy():
    t, positions = flight.trajectory(1, 4.3)
    assert (t[0], t[-1]) == (0.0, 4.0)
    assert (np.diff(t) > 0).all()
    assert np.linalg.norm(np.diff(positions, axis=0), axis=1).max() < 0.2
    _, expected = integrated_by_scipy(1, 4.3, t)
    assert_allclose(positions @ [1, 1j], expected, rtol=0, atol=1e-8)


def test_a_craft_that_falls_into_a_planet_turns_back(monkeypatch):
    """One planet, launched straight away from it: r = a (1 - cos E), t = sqrt(a^3) (E - sin E)."""
    monkeypatch.setattr(flight, "PLANETS", np.array([0.0 + 0j]))
    monkeypatch.setattr(flight, "MASSES", np.array([1.0]))
    t, positions = flight.trajectory(0, 4)
    a = 1 / (2 / 0.1 - 4**2)
    assert t[-1] == 4.0
    E_start = math.acos(1 - 0.1 / a)
    E = np.linspace(0, 40, 400001)
    times = a**1.5 * (E - np.sin(E) - E_start + math.sin(E_start))
    expected = a * (1 - np.cos(np.interp(t, times, E)))
    assert 5 * (2 * math.pi * a**1.5) < 4.0  # five collisions
    assert_allclose(positions[:, 1], 0, atol=1e-12)
    assert_allclose(positions[:, 0], expected, rtol=0, atol=1e-7)


def test_flights_are_finite_in_every_direction():
    """Low speeds fall into A again and again; at 180 degrees high speeds do at once."""
    rng = np.random.default_rng(8)
    angle, speed = rng.uniform(-180, 180, 300), rng.uniform(3, flight.MAX_SPEED, 300)
    angle[:20], speed[:40:2] = 180 + rng.normal(size=20), flight.MAX_SPEED
    d = flight.closest_distance(angle, speed)
    assert ((d >= 0) & (d <= 9.9)).all()


def test_g_of_gravity_agrees_with_another_lattice():
    """A lattice of other spacing and phase around each design, finer than that of the package."""
    p = get("gravity")
    std = np.array([3.0, 0.05])
    z, s = (np.arange(-5 * n, 5 * n) / n + 0.37 / n for n in (19, 5.7))
    weights = np.outer(norm.pdf(z), norm.pdf(s)).ravel()
    nodes = np.array(list(product(z, s))) * std
    for x, tolerance in ((p.x_star, 1e-5), (np.array([40.0, 4.5]), 1e-5)):
        value = weights @ p.f(x + nodes) / weights.sum()
        assert_allclose(p.g(x[None])[0], value, rtol=0, atol=tolerance)


def test_optimum_of_gravity():
    p = get("gravity")
    x, value = best_of_many_starts(p, num_starts=8)
    assert_allclose(value, p.g_star, rtol=0, atol=1e-8)
    assert_allclose(p.g(p.x_star[None])[0], p.g_star, rtol=0, atol=1e-8)
    assert_allclose(x, p.x_star, rtol=1e-3)
    # f is lowest elsewhere, in the valley of low angles and speeds
    assert p.f([[1.0, 4.3]])[0] < p.f(p.x_star[None])[0]
    assert p.g([[1.0, 4.3]])[0] > p.g_star + 0.02


def test_gravity_refuses_what_it_does_not_know():
    p = get("gravity")
    with pytest.raises(ValueError, match=r"above 0, at most 10\.0, got angle 3\.0 and speed -4\.5"):
        p.f([[1.0, 4.5], [3.0, -4.5]])
    with pytest.raises(ValueError, match="speed 1000"):
        flight.trajectory(3, 1000)
    with pytest.raises(ValueError, match="angle nan"):
        flight.trajectory(math.nan, 4.5)
    with pytest.raises(ValueError, match=r"got \[46.0, 4.5\]; move the design into the box"):
        p.g([[0.0, 4.5], [46.0, 4.5]])


@pytest.mark.parametrize("name", ["rkhs", "gmm", "hartmann3", "branin-williams", "piston"])
def test_every_problem_plots_itself(name):
    figure = get(name).plot(resolution=12)
    assert {1: 1, 2: 3, 3: 3}[get(name).dimension] == len(figure.axes)  # maps have a colour bar
