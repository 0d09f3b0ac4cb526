"""Shares of the variance: against exact Sobol indices, and never negative."""

import math

import pytest
import torch

import meseta
from examples import some
from meseta.report.views.shares import _indices, shares
from meseta.report.views.subject import Subject


def test_indices_of_the_function_of_ishigami():
    """Exact values by Saltelli et al., Global Sensitivity Analysis (2008), a = 7, b = 0.1."""

    def f(z):
        return z[:, 0].sin() + 7 * z[:, 1].sin() ** 2 + 0.1 * z[:, 2] ** 4 * z[:, 0].sin()

    generator = torch.Generator().manual_seed(0)
    a, b = (
        math.pi * (2 * torch.rand(2**17, 3, generator=generator, dtype=torch.double) - 1)
        for _ in "ab"
    )
    for column, (first, whole) in enumerate(((0.3139, 0.5576), (0.4424, 0.4424), (0.0, 0.2437))):
        mixed = a.clone()
        mixed[:, column] = b[:, column]
        alone, total = _indices(*(f(z)[None] for z in (a, b, mixed)))
        assert float(alone) == pytest.approx(first, abs=0.01)
        assert float(total) == pytest.approx(whole, abs=0.01)


def told(f, space, noise, num=24, **settings):
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=num, kernel="se", **settings)
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return Subject(optimizer)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_shares_of_a_product_have_an_interaction(direction):
    """f = u v with independent noise: Var = v*^2 s_u^2 + u*^2 s_v^2 + s_u^2 s_v^2."""
    su, sv = 0.6, 0.3
    subject = told(
        lambda p: p["u"] * p["v"],
        {"u": (-1.0, 1.0), "v": (-1.0, 1.0)},
        {"u": meseta.Normal(su), "v": meseta.Environment(meseta.Normal(sv, mean=0.3))},
        direction=direction,
    )
    found = shares(subject, ["u", "v"])
    u = subject.robust.params["u"]
    parts = {"u": (0.3 * su) ** 2, "v": (u * sv) ** 2}
    whole = sum(parts.values()) + (su * sv) ** 2
    for name, part in parts.items():
        assert found[name].alone.value == pytest.approx(part / whole, abs=0.04)
        assert found[name].total.value == pytest.approx((part + (su * sv) ** 2) / whole, abs=0.04)


def test_what_moves_together_has_one_share():
    subject = told(
        lambda p: p["a"] - p["b"] + p["c"],
        {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)},
        {("a", "b"): meseta.Shared(meseta.Normal(0.2), [1.0, 0.5]), "c": meseta.Normal(0.1)},
    )
    found = shares(subject, ["a", "b", "c"])
    assert found["a"] == found["b"]
    assert found["c"].total.value == pytest.approx(0.5, abs=0.04)
    assert found["a"].alone.value == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("seed", some(range(12), 3))
def test_shares_are_shares_also_where_little_is_known(seed):
    """Few values of a function that the noise does not move: intervals do not go below 0."""
    random = torch.Generator().manual_seed(seed)
    values = torch.randn(5, generator=random).tolist()
    subject = told(
        lambda p: values.pop(),
        {"a": (0.0, 1.0), "k": meseta.Categorical(["u", "v"]), "e": (0.0, 1.0)},
        {
            "a": meseta.Uniform(0.1 * seed + 1e-6),
            "k": meseta.Substitution(0.2),
            "e": meseta.Environment(meseta.Uniform(0.3, mean=0.5)),
        },
        num=5,
    )
    for each in shares(subject, ["a", "k", "e"]).values():
        for share in each:
            assert 0 <= share.low <= share.value <= share.high <= 1
        assert each.alone.value <= each.total.value
        assert each.alone.low <= each.total.high


def test_a_constant_has_no_scatter_to_share():
    subject = told(lambda p: 3.0, {"a": (0.0, 1.0)}, {"a": meseta.Normal(0.1)}, num=4)
    assert shares(subject, ["a"])["a"].total.value <= 1.0
