"""Smoothings against brute force, over everything that users may combine; nothing is exempt.

Law x width x lengthscale x edge x scale, in one dimension by slices whose masses are scipy's, where
the kernel lives; laws of several parameters, alone and on top of each other, by samples.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from examples import examples, thorough
from meseta.gp.robust import check_error
from meseta.kernels import StationaryKernel, smooth
from meseta.kernels.nodes import compressed
from meseta.kernels.smoothed import NOTICEABLE
from meseta.noise import (
    Discrete,
    Empirical,
    Independent,
    Joint,
    Laplace,
    Mixture,
    Normal,
    Placed,
    Shared,
    StudentT,
    Triangular,
    TruncatedNormal,
    Uniform,
    from_scipy,
)
from meseta.noise.placed import LEAST_INSIDE
from meseta.noise.placing import placed as placed_at

DRAWS = np.random.default_rng(0).normal(size=60)

# a law of unit width, times `width`; and its twin in scipy, or its atoms, with shares
LAWS = {
    "normal": lambda w: (Normal(w), [(1, stats.norm(scale=w))]),
    "biased": lambda w: (Normal(w, mean=w / 3), [(1, stats.norm(w / 3, w))]),
    "uniform": lambda w: (Uniform(w), [(1, stats.uniform(-w, 2 * w))]),
    "triangular": lambda w: (
        Triangular(low=-w, high=2 * w, mode=0.0),
        [(1, stats.triang(1 / 3, -w, 3 * w))],
    ),
    "laplace": lambda w: (Laplace(w), [(1, stats.laplace(scale=w))]),
    "student 2.5": lambda w: (StudentT(2.5, w), [(1, stats.t(2.5, scale=w))]),
    "student 5": lambda w: (StudentT(5, w, mean=w), [(1, stats.t(5, w, w))]),
    "truncated": lambda w: (
        TruncatedNormal(w, -w / 2, 2 * w),
        [(1, stats.truncnorm(-0.5, 2, scale=w))],
    ),
    "mixture": lambda w: (
        Mixture([Normal(w / 300), Normal(w)], [0.9, 0.1]),
        [(0.9, stats.norm(scale=w / 300)), (0.1, stats.norm(scale=w))],
    ),
    "discrete": lambda w: (
        Discrete([-w, 0, w / 2], [1, 2, 1]),
        [(0.25, -w), (0.5, 0.0), (0.25, w / 2)],
    ),
    "measured": lambda w: (Empirical(w * DRAWS), [(1 / 60, float(w * v)) for v in DRAWS]),
    "half discrete": lambda w: (
        Mixture([Laplace(w), Discrete([w])], [0.5, 0.5]),
        [(0.5, stats.laplace(scale=w)), (0.5, w)],
    ),
    "gamma": lambda w: (
        from_scipy(stats.gamma(2, scale=w)),
        [(1, stats.gamma(2, scale=w))],
    ),
    "pole": lambda w: (
        from_scipy(stats.gamma(0.5, scale=w)),
        [(1, stats.gamma(0.5, scale=w))],
    ),
    "johnsonsu": lambda w: (
        from_scipy(stats.johnsonsu(0.5, 1.2, scale=w)),
        [(1, stats.johnsonsu(0.5, 1.2, scale=w))],
    ),
    "vonmises": lambda w: (
        from_scipy(stats.vonmises(3.0, scale=w)),
        [(1, stats.vonmises_line(3.0, scale=w))],
    ),
}
KINDS = {
    "shift": lambda raw, zeta: raw + zeta,
    "relative": lambda raw, zeta: raw * (1 + zeta),
    "width": lambda raw, zeta: raw + (0.5 + raw) * zeta,
    "replace": lambda raw, zeta: 0 * raw + zeta,
}
INVERSE = {
    "shift": lambda raw, y: y - raw,
    "relative": lambda raw, y: y / raw - 1,
    "width": lambda raw, y: (y - raw) / (0.5 + raw),
    "replace": lambda raw, y: y + 0 * raw,
}
LOG = {"log": True, "offset": math.log(0.5), "unit": math.log(3)}
SCALES = {
    "plain": (0.5, 1.5, {"offset": 0.5, "unit": 1.0}),
    "stretched": (20.0, 70.0, {"offset": 20.0, "unit": 50.0}),
    "log": (0.5, 1.5, LOG),
}


# what users may combine in one dimension; widths and lengthscales by their logarithms
ONE_DIMENSION = {
    "law": st.sampled_from(sorted(LAWS)),
    "width": st.floats(-4, 1),
    "lengthscale": st.floats(-2, 0.5),
    "kind": st.sampled_from(sorted(KINDS)),
    "edge": st.sampled_from(["allow", "clip", "reflect", "truncate"]),
    "scale": st.sampled_from(sorted(SCALES)),
}


def width_of_x(x):
    return 0.5 + x


def brute_force(parts, placed, x, other, lengthscale, slices=4_000):
    """E kappa(z(x) - other) over slices of z within nine lengthscales, masses by scipy."""
    raw = placed.offset + placed.unit * x
    raw = math.exp(raw) if placed.log else raw

    def to_raw(z):
        u = placed.offset + placed.unit * z
        return np.exp(u) if placed.log else u

    def to_z(y):
        u = np.log(np.maximum(y, 1e-6 * placed.low)) if placed.log else y
        return (u - placed.offset) / placed.unit

    def kappa(z):
        return np.exp(-0.5 * ((z - other) / lengthscale) ** 2)

    box = to_z(np.array([placed.low, placed.high]))
    low, high = other - 9 * lengthscale, other + 9 * lengthscale
    if placed.edge != "allow":
        low, high = np.clip([low, high], *box)
    total, mass = 0.0, 0.0
    for share, law in parts:
        if isinstance(law, float):
            y = float(KINDS[placed.kind](raw, law))
            if placed.edge == "clip":
                y = min(max(y, placed.low), placed.high)
            if placed.edge == "reflect":
                turn = (y - placed.low) % (2 * (placed.high - placed.low))
                y = placed.low + min(turn, 2 * (placed.high - placed.low) - turn)
            z = float(to_z(np.array(y)))
            if placed.edge == "truncate":
                if not box[0] - 1e-12 <= z <= box[1] + 1e-12:
                    continue
                mass += share
            total += share * kappa(z)
            continue
        # ends of slices: fine where the kernel lives, and where the law does
        tails = [law.ppf(q) for q in (1e-4, 1e-6, 1 - 1e-6, 1 - 1e-4)]
        quantiles = np.concatenate([law.ppf(np.linspace(1e-9, 1 - 1e-9, 1001)), tails])
        lived = to_z(KINDS[placed.kind](raw, quantiles))
        ends = np.concatenate([np.linspace(low, high, slices), lived])
        if placed.edge == "reflect":
            y = KINDS[placed.kind](raw, quantiles)
            turn = (y - placed.low) % (2 * (placed.high - placed.low))
            folded = placed.low + np.minimum(turn, 2 * (placed.high - placed.low) - turn)
            ends = np.concatenate([ends, to_z(folded)])
        ends = np.unique(np.clip(ends, low, high))
        y = to_raw(ends)
        images = [y]
        if placed.edge == "reflect":
            width = placed.high - placed.low
            far = np.abs(KINDS[placed.kind](raw, law.ppf([1e-7, 1 - 1e-7])) - placed.low).max()
            folds = min(400, math.ceil(far / (2 * width)) + 1)
            images = [
                image + 2 * k * width
                for k in range(-folds, folds + 1)
                for image in (y, 2 * placed.low - y)
            ]
        middle = (ends[1:] + ends[:-1]) / 2
        # Simpson's rule of kappa on each slice, which may be wide against the lengthscale
        average = (kappa(ends[1:]) + 4 * kappa(middle) + kappa(ends[:-1])) / 6
        for image in images:
            masses = np.abs(np.diff(law.cdf(INVERSE[placed.kind](raw, image))))
            total += share * (masses * average).sum()
        if placed.edge == "clip":
            edges = law.cdf(INVERSE[placed.kind](raw, np.array([placed.low, placed.high])))
            total += share * (edges[0] * kappa(box[0]) + (1 - edges[1]) * kappa(box[1]))
        if placed.edge == "truncate":
            edges = law.cdf(INVERSE[placed.kind](raw, np.array([placed.low, placed.high])))
            mass += share * (edges[1] - edges[0])
    return total / mass if placed.edge == "truncate" else total


def case(law, width, lengthscale, kind, edge, scale, shape="se"):
    low, high, units = SCALES[scale]
    unit = 50.0 if scale == "stretched" and kind != "relative" else 1.0
    own, parts = LAWS[law](width * unit / (10 if kind == "width" else 1))
    if kind == "replace":
        own, parts = LAWS[law](width * unit)
        own = Mixture([own, own]) if isinstance(own, Uniform) else own
    placed = Placed(own, kind, low, high, edge, width_of_x if kind == "width" else None, **units)
    kernel = StationaryKernel(
        torch.tensor(1.0, dtype=torch.double),
        (shape,),
        torch.tensor([lengthscale], dtype=torch.double),
    )
    return placed, parts, kernel


def is_possible(placed):
    """What is refused before anything is smoothed."""
    if placed.log and placed.edge == "allow":
        lowest = placed.law.interval(1e-6)[0]
        if not min(KINDS[placed.kind](placed.low, lowest), 1.0) > 0:
            return False
    if placed.edge == "truncate":
        x = torch.linspace(0, 1, 129, dtype=torch.double)
        return bool((placed.inside(x) >= LEAST_INSIDE).all())
    return True


@examples(3)
@given(
    **ONE_DIMENSION,
    x=st.floats(0, 1),
    other=st.floats(0, 1),
)
def test_k_gf_is_that_of_brute_force(law, width, lengthscale, kind, edge, scale, x, other):
    """A smoothing is right, or it says how far it may be off."""
    placed, parts, kernel = case(law, 10**width, 10**lengthscale, kind, edge, scale)
    assume(is_possible(placed))
    span = torch.tensor([[0.0], [1.0]], dtype=torch.double)
    smoothed = smooth(kernel, placed, span)
    at, b = (torch.tensor([[v]], dtype=torch.double) for v in (x, other))
    exact = brute_force(parts, placed, x, other, 10**lengthscale)
    found = float(smoothed.k_gf(at, b))
    assert found == pytest.approx(exact, abs=2e-6 + smoothed.error)
    assert float(smoothed.gf_with(b)(at)) == pytest.approx(found, abs=1e-9 + smoothed.error)


@thorough
@examples(3)
@given(
    **ONE_DIMENSION,
    shape=st.sampled_from(["se", "matern52", "matern32"]),
    seed=st.integers(0, 100),
)
def test_the_posterior_of_g_is_that_of_samples(
    law, width, lengthscale, kind, edge, scale, shape, seed
):
    """k_gf and k_g against averages over draws of z(x) and z(x')."""
    placed, _, kernel = case(law, 10**width, 10**lengthscale, kind, edge, scale, shape)
    assume(is_possible(placed))
    generator = torch.Generator().manual_seed(seed)
    smoothed = smooth(kernel, placed, torch.tensor([[0.0], [1.0]], dtype=torch.double))
    num = 40_000
    A, B = torch.rand(2, 3, 1, dtype=torch.double, generator=generator)
    gf, g = smoothed.k_gf(A, B), smoothed.k_g(A, B)
    at_gf, at_g = smoothed.at_same_point(A)
    slack = 1e-9 + smoothed.error
    np.testing.assert_allclose(at_gf, smoothed.k_gf(A, A).diagonal(), atol=slack)
    np.testing.assert_allclose(at_g, smoothed.k_g(A, A).diagonal(), atol=slack)
    for i in range(3):
        z, w = (placed.sample_at(v.expand(num), generator)[:, None] for v in (A[i], B[i]))
        for found, draws in (
            (gf[i, i], smoothed.k_f(z, B[i : i + 1])[:, 0]),
            (g[i, i], smoothed.k_f((z - w), torch.zeros(1, 1, dtype=torch.double))[:, 0]),
        ):
            # rare draws that all were missed: a share of 10 / num may hide
            limit = 5 * float(draws.std()) / math.sqrt(num) + 10 / num + smoothed.error
            assert float(found) == pytest.approx(float(draws.mean()), abs=limit)


SHARED = {
    "correlated": lambda d, w, rng: Normal(
        covariance=_covariance(rng.normal(size=(d, d)) * w), mean=(w * rng.normal(size=d)).tolist()
    ),
    "common": lambda d, w, rng: Shared(
        list(LAWS.values())[rng.integers(len(LAWS))](w)[0], loads=rng.normal(size=d).tolist()
    ),
    "sample": lambda d, w, rng: Empirical(w * rng.normal(size=(rng.choice([5, 60, 200]), d))),
}


def _covariance(root):
    return (root @ root.T).tolist()


@thorough
@examples(4)
@given(
    shared=st.sampled_from(sorted(SHARED)),
    dimension=st.sampled_from([2, 3]),
    width=st.floats(-2.5, 0.3),
    lengthscale=st.floats(-1.3, 0.5),
    shape=st.sampled_from(["se", "se", "se", "matern52"]),
    on_top=st.lists(st.tuples(st.sampled_from(sorted(LAWS)), st.floats(-2.5, 0.3)), max_size=2),
    seed=st.integers(0, 1000),
)
def test_joint_laws_with_others_on_top_are_those_of_samples(
    shared, dimension, width, lengthscale, shape, on_top, seed
):
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    part = SHARED[shared](dimension, 10**width, rng)
    own = [Normal(0.0)] * dimension
    for i, (name, size) in enumerate(on_top):
        own[i] = LAWS[name](10**size)[0]
    law = Joint(Independent(own), [(range(dimension), part)])
    kernel = StationaryKernel(
        torch.tensor(1.0, dtype=torch.double),
        (shape,) * dimension,
        torch.full((dimension,), 10**lengthscale, dtype=torch.double),
    )
    unit = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, dimension)
    smoothed = smooth(kernel, law, unit)
    if shape == "se" and shared != "sample" and len(on_top) <= (shared == "correlated"):
        assert smoothed.error < 1e-10  # exact: one term along a line at most
    A, B = torch.rand(2, 4, dimension, dtype=torch.double, generator=generator)
    num = 40_000
    xi, other = law.sample(num, generator), law.sample(num, generator)
    for covariance, shift, with_B in (
        (smoothed.k_gf(A, B), xi, smoothed.gf_with(B)),
        (smoothed.k_g(A, B), xi - other, smoothed.g_with(B)),
    ):
        np.testing.assert_allclose(with_B(A), covariance, atol=1e-9)
        for i in range(4):
            origin = torch.zeros(1, dimension, dtype=torch.double)
            draws = smoothed.k_f(A[i] - B[i] + shift, origin)[:, 0]
            limit = 5 * float(draws.std()) / math.sqrt(num) + 10 / num + smoothed.error
            assert float(covariance[i, i]) == pytest.approx(float(draws.mean()), abs=limit)


@thorough
def test_what_was_wrong_before():
    """Cases that once were off by 5 to 155 % without a word, against brute force."""
    for law, width, lengthscale in (
        ("student 2.5", 0.1, 0.05),
        ("student 2.5", 0.2, 0.1),
        ("laplace", 0.1, 0.005),
        ("mixture", 1.0, 0.0136),
        ("vonmises", 0.1, 0.05),
        ("johnsonsu", 0.3, 0.1),
    ):
        placed, parts, kernel = case(law, width, lengthscale, "shift", "allow", "plain")
        law = placed.law
        smoothed = smooth(kernel, law, torch.tensor([[0.0], [1.0]], dtype=torch.double))
        assert smoothed.error < 1e-11
        for x, other in ((0.2, 0.25), (0.9, 0.1), (0.5, 0.5)):
            at, b = (torch.tensor([[v]], dtype=torch.double) for v in (x, other))
            exact = brute_force(parts, placed, x, other, lengthscale, slices=40_000)
            assert float(smoothed.k_gf(at, b)) == pytest.approx(exact, abs=1e-7)


def test_a_joint_sample_is_averaged_whatever_the_lengthscale():
    """Three dimensions, lengthscale half of the standard deviation: once 32 % off."""
    table = 0.1 * np.random.default_rng(2).normal(size=(200, 3))
    lengthscale = torch.full((3,), 0.05, dtype=torch.double)
    kernel = StationaryKernel(torch.tensor(1.0, dtype=torch.double), ("se",) * 3, lengthscale)
    smoothed = smooth(kernel, Empirical(table))
    A, B = torch.rand(2, 6, 3, dtype=torch.double, generator=torch.Generator().manual_seed(1)) / 4
    rows = torch.from_numpy(table)
    delta = A[:, None, None] - B[:, None] + rows
    exact = (-0.5 * (delta / 0.05).square().sum(-1)).exp().mean(-1)
    np.testing.assert_allclose(smoothed.k_gf(A, B), exact, atol=1e-12)
    assert smoothed.error < NOTICEABLE


@pytest.mark.parametrize("most", [4, 60, 300])
def test_fewer_points_average_like_all_of_them_as_far_as_their_error_says(most):
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(300, 2, dtype=torch.double, generator=generator)
    weights = torch.rand(300, dtype=torch.double, generator=generator)
    weights /= weights.sum()

    def kernel(s, t):
        return (-0.5 * (s[:, None] - t).square().sum(-1)).exp()

    rule = compressed(points, weights, kernel, most)
    assert len(rule.nodes) <= most
    centres = 3 * torch.randn(200, 2, dtype=torch.double, generator=generator)
    off = kernel(centres, rule.nodes) @ rule.weights - kernel(centres, points) @ weights
    assert float(off.abs().max()) <= rule.error + 1e-12
    if most >= 60:
        assert rule.error < 0.1


def test_a_truncated_range_without_noise_inside_is_refused():
    with pytest.raises(ValueError, match=r"from 0\.85\d* only 0 of Uniform.*edge='clip'"):
        placed_at(Uniform(0.05, mean=0.2), 0.0, 1.0, edge="truncate")


def test_an_error_that_matters_is_told_and_a_large_one_refused():
    law = Normal(0.1)
    check_error(NOTICEABLE, law)
    with pytest.warns(RuntimeWarning, match="error of about 0.001 of the prior"):
        check_error(1e-3, law)
    with pytest.raises(ValueError, match=r"error of about 0\.3 .*Empirical\(samples\)"):
        check_error(0.3, law)
