"""Perturbations that depend on x, and the grid that smooths under them, against brute force."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from gp_models import uniform
from meseta.kernels import StationaryKernel, smooth
from meseta.kernels.squared_exponential import NormalNoise, Unperturbed
from meseta.kernels.zone import placed_grid
from meseta.noise import (
    Discrete,
    Empirical,
    Laplace,
    Mixture,
    Normal,
    Placed,
    StudentT,
    Triangular,
    TruncatedNormal,
    Uniform,
    from_scipy,
)

LENGTHSCALE = 0.3
LOG = {"log": True, "offset": math.log(0.1), "unit": math.log(10)}


def width(x):
    return 0.05 + 0.1 * x**2


CASES = {
    "shift": Placed(Laplace(0.05), "shift", 0.0, 1.0),
    "bias": Placed(Triangular(low=-0.05, high=0.2, mode=0.0), "shift", 0.0, 1.0),
    "clip": Placed(Normal(0.1), "shift", 0.0, 1.0, "clip"),
    "clip a kink": Placed(Laplace(0.1), "shift", 0.0, 1.0, "clip"),
    "reflect": Placed(Normal(0.1), "shift", 0.0, 1.0, "reflect"),
    "reflect often": Placed(Normal(0.5), "shift", 0.0, 1.0, "reflect"),
    "truncate": Placed(Normal(0.1), "shift", 0.0, 1.0, "truncate"),
    "truncate a uniform": Placed(Uniform(0.2), "shift", 0.0, 1.0, "truncate"),
    "relative": Placed(Normal(0.1), "relative", 0.0, 1.0),
    "relative, clip": Placed(Normal(0.1), "relative", 0.0, 1.0, "clip"),
    "relative, both signs": Placed(Normal(0.1), "relative", -1.0, 1.0, offset=-1.0, unit=2.0),
    "multiply": Placed(Normal(0.2), "multiply", 0.5, 2.0, offset=0.5, unit=1.5),
    "multiply, log": Placed(Normal(0.3), "multiply", 0.1, 1.0, **LOG),
    "shift, log": Placed(Normal(0.012), "shift", 0.1, 1.0, **LOG),
    "shift, log, clip": Placed(Normal(0.05), "shift", 0.1, 1.0, "clip", **LOG),
    "width": Placed(Normal(1.0), "width", 0.0, 1.0, width=width),
    "width, reflect": Placed(Uniform(1.0), "width", 0.0, 1.0, "reflect", width=width),
    "replace": Placed(Normal(0.2, mean=0.5), "replace", 0.0, 1.0),
    "replace, truncate": Placed(Normal(0.3, mean=0.5), "replace", 0.0, 1.0, "truncate"),
    "atoms": Placed(Discrete([-0.1, 0.0, 0.2], [0.2, 0.5, 0.3]), "shift", 0.0, 1.0),
    "atoms, clip": Placed(Discrete([-0.1, 0.0, 0.2], [0.2, 0.5, 0.3]), "shift", 0.0, 1.0, "clip"),
    "atoms, truncate": Placed(Discrete([-0.1, 0.0, 0.2]), "shift", 0.0, 1.0, "truncate"),
    "mixed, clip": Placed(
        Mixture([Normal(0.1), Discrete([-0.3])], [0.9, 0.1]), "shift", 0.0, 1.0, "clip"
    ),
    "truncated normal": Placed(TruncatedNormal(0.2, -0.1, 0.3), "shift", 0.0, 1.0),
    "heavy tails": Placed(StudentT(4, 0.05), "shift", 0.0, 1.0),
}


def place(placed, x, zeta):
    """z(x) for an array of zeta, written down once more; NaN: outside of a truncated range."""
    raw = placed.offset + placed.unit * x
    raw = math.exp(raw) if placed.log else raw
    y = {
        "shift": lambda: raw + zeta,
        "relative": lambda: raw * (1 + zeta),
        "multiply": lambda: raw * np.exp(zeta),
        "width": lambda: raw + width(raw) * zeta,
        "replace": lambda: zeta,
    }[placed.kind]()
    low, high = placed.low, placed.high
    if placed.edge == "clip":
        y = np.clip(y, low, high)
    for _ in range(9 if placed.edge == "reflect" else 0):
        y = np.where(y < low, 2 * low - y, y)
        y = np.where(y > high, 2 * high - y, y)
    if placed.edge == "truncate":
        y = np.where((y < low) | (y > high), np.nan, y)
    return ((np.log(np.maximum(y, 1e-9)) if placed.log else y) - placed.offset) / placed.unit


def expectation(placed, x, h):
    """E h(z(x)) by many panels between all places where the integrand may have a kink."""
    raw = placed.offset + placed.unit * x
    raw = math.exp(raw) if placed.log else raw
    span = placed.high - placed.low
    walls = [placed.low - k * span for k in range(9)] + [placed.high + k * span for k in range(9)]
    to_zeta = {
        "shift": lambda y: y - raw,
        "relative": lambda y: y / raw - 1 if raw else 0.0,
        "multiply": lambda y: math.log(y / raw) if y > 0 else -9.0,
        "width": lambda y: (y - raw) / width(raw),
        "replace": lambda y: y,
    }[placed.kind]
    low, high = placed.law.interval(1e-14)
    cores = [end for tail in (1e-6, 1e-3, 0.1) for end in placed.law.interval(tail)]
    kinks = sorted({low, high, *placed.law.breaks, *cores, *map(to_zeta, walls)})
    kinks = [k for k in kinks if low <= k <= high]
    node, weight = np.polynomial.legendre.leggauss(16)
    zeta, weights = [np.empty(0)], [np.empty(0)]
    for a, b in pairwise(kinks):
        ends = np.linspace(a, b, 41)
        half = np.diff(ends)[:, None] / 2
        zeta.append((ends[:-1, None] + half * (node + 1)).ravel())
        weights.append((half * weight).ravel())
    zeta, weights = np.concatenate(zeta), np.concatenate(weights)
    weights = weights * placed.law.pdf(torch.from_numpy(zeta)).numpy()
    atoms, masses = (part.numpy() for part in placed.law.atoms)
    z = place(placed, x, np.concatenate([zeta, atoms]))
    weights = np.concatenate([weights, masses])
    inside = ~np.isnan(z)
    total = weights[inside].sum() if placed.edge == "truncate" else 1.0
    return (weights[inside] * h(z[inside])).sum() / total


@pytest.mark.parametrize("name", CASES)
def test_smoothing_is_that_of_brute_force(name):
    placed = CASES[name]
    base = Unperturbed(torch.tensor([LENGTHSCALE], dtype=torch.double))
    grid = placed_grid(base, placed, (0.0, 1.0), LENGTHSCALE)
    x = [0.0, 0.03, 0.517, 1.0]
    other = 0.4
    found = grid.gf(*(torch.tensor(v, dtype=torch.double)[:, None] for v in (x, [other])))[:, 0]
    expected = [
        expectation(placed, at, lambda z: np.exp(-0.5 * ((z - other) / LENGTHSCALE) ** 2))
        for at in x
    ]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-11, rtol=0)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_differences(name):
    placed = CASES[name]
    base = Unperturbed(torch.tensor([LENGTHSCALE], dtype=torch.double))
    grid = placed_grid(base, placed, (0.0, 1.0), LENGTHSCALE)
    x = torch.tensor([[0.11], [0.517], [0.93]], dtype=torch.double)
    z = torch.tensor([[0.3], [0.8]], dtype=torch.double)
    for k in (lambda a: grid.gf(a, z), lambda a: grid.g(a, z), lambda a: grid.at_same_point(a)[1]):
        at = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(k(at).sum(), at)
        h = 1e-5
        difference = (k(x + h) - k(x - h)).reshape(3, -1).sum(-1) / (2 * h)
        np.testing.assert_allclose(found[:, 0], difference, atol=1e-7)


def test_normal_noise_on_a_grid_is_its_closed_form():
    for lengthscale in (0.05, 0.3, 2.0):
        for std in (0.01, 0.1):
            l, s = (torch.tensor([v], dtype=torch.double) for v in (lengthscale, std))
            placed = Placed(Normal(std), "shift", 0.0, 1.0)
            grid = placed_grid(Unperturbed(l), placed, (0.0, 1.0), lengthscale)
            closed = NormalNoise(l, s)
            A, B = uniform(9, 1, seed=0), uniform(9, 1, seed=1)
            delta = A[:, None] - B
            np.testing.assert_allclose(grid.gf(A, B), closed.gf(delta), atol=1e-13)
            np.testing.assert_allclose(grid.g(A, B), closed.g(delta), atol=1e-13)


@pytest.mark.parametrize("shape", ["se", "matern32", "matern52"])
@pytest.mark.parametrize("name", ["clip", "relative", "replace", "atoms, truncate", "heavy tails"])
def test_f_and_g_have_one_joint_law(name, shape):
    """The covariance of f and g at many points together has no negative eigenvalue."""
    kernel = StationaryKernel(
        torch.tensor(1.0, dtype=torch.double), (shape,), torch.tensor([0.3], dtype=torch.double)
    )
    smoothed = smooth(kernel, CASES[name], torch.tensor([[0.0], [1.0]], dtype=torch.double))
    x = torch.linspace(0, 1, 25, dtype=torch.double)[:, None]
    gf = smoothed.k_gf(x, x)
    joint = torch.cat(
        [
            torch.cat([smoothed.k_f(x, x), gf.T], dim=1),
            torch.cat([gf, smoothed.k_g(x, x)], dim=1),
        ]
    )
    assert torch.linalg.eigvalsh(joint).min() > -1e-12
    at_gf, at_g = smoothed.at_same_point(x)
    np.testing.assert_allclose(at_gf, gf.diagonal(), atol=1e-13)
    np.testing.assert_allclose(at_g, smoothed.k_g(x, x).diagonal(), atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_samples_follow_the_same_law(name):
    placed = CASES[name]
    generator = torch.Generator().manual_seed(3)
    for at in (0.02, 0.6):
        x = torch.full((200_000,), at, dtype=torch.double)
        z = placed.sample_at(x, generator)
        nodes, weights = placed.rule(x[:1], 64)
        assert float(weights.sum()) == pytest.approx(1, abs=1e-12)
        for h in (lambda z: z, torch.sin, lambda z: (5 * z).cos()):
            error = z.std() * 5 / len(z) ** 0.5 * 5
            assert float(h(z).mean()) == pytest.approx(
                float((weights * h(nodes)).sum()), abs=float(error) + 1e-12
            )


def test_units_change_nothing():
    placed = CASES["relative, clip"]
    other = placed.in_units(0.25, 2.0)
    x = torch.tensor([0.1, 0.9], dtype=torch.double)
    z, weights = placed.rule(x, 32)
    z_other, weights_other = other.rule((x - 0.25) / 2, 32)
    np.testing.assert_allclose((z - 0.25) / 2, z_other, atol=1e-14)
    np.testing.assert_allclose(weights, weights_other, atol=1e-14)


def test_a_measured_sample_is_an_average():
    samples = stats.norm(0, 0.1).rvs(500, random_state=np.random.default_rng(1))
    kernel = StationaryKernel(
        torch.tensor(1.0, dtype=torch.double), ("se",), torch.tensor([0.3], dtype=torch.double)
    )
    smoothed = smooth(kernel, Empirical(samples.tolist()))
    x, other = (torch.tensor([[v]], dtype=torch.double) for v in (0.4, 0.7))
    expected = np.exp(-0.5 * ((0.4 + samples - 0.7) / 0.3) ** 2).mean()
    assert float(smoothed.k_gf(x, other)) == pytest.approx(expected, abs=1e-13)


def test_an_infinite_density_is_integrated():
    law = stats.gamma(0.5, scale=0.1)
    base = Unperturbed(torch.tensor([LENGTHSCALE], dtype=torch.double))
    placed = Placed(from_scipy(law), "shift", 0.0, 1.0, "clip")
    grid = placed_grid(base, placed, (0.0, 1.0), LENGTHSCALE)
    x = np.array([0.1, 0.6, 0.95])
    found = grid.gf(torch.from_numpy(x)[:, None], torch.tensor([[0.5]], dtype=torch.double))[:, 0]
    zeta = law.ppf((np.arange(100_000) + 0.5) / 100_000)
    z = np.clip(x[:, None] + zeta, 0, 1)
    expected = np.exp(-0.5 * ((z - 0.5) / LENGTHSCALE) ** 2).mean(-1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
