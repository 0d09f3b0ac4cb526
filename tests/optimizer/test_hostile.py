"""Hostile states give a finite answer or a clear error, never NaN."""

import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, some
from gp_models import log_uniform, normal, tensor, uniform, unit_box
from hostile_states import STATES, data
from meseta import Normal, Optimizer, Uniform
from meseta.integrations.botorch import RobustPosterior, nominal, recommend, suggest


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("law", some([Uniform(0.1), Normal(0.1)], 2), ids=repr)
def test_an_iteration_survives(state, law):
    X, y = STATES[state]()
    bounds = unit_box(X.shape[1])
    x, info = suggest(X, y, bounds, law, options={"num_max_values": 2}, method="nes-ep")
    assert x.isfinite().all()
    assert ((x >= bounds[0]) & (x <= bounds[1])).all()
    assert torch.tensor(info.maximize.value).isfinite()
    posterior = RobustPosterior.from_model(info.model, law)
    for optimum in (recommend(posterior, bounds), nominal(posterior, bounds)):
        assert optimum.x.isfinite().all()
        assert tensor([optimum.mean, optimum.std, optimum.nominal_mean]).isfinite().all()


def test_twenty_dimensions():
    X, y = data(30, 20)
    x, _ = suggest(X, y, unit_box(20), Normal(0.05))
    assert x.shape == (20,)
    assert x.isfinite().all()


def hostile_values(kind, X, seed):
    """Values of f that a surrogate has trouble with."""
    smooth, scatter = torch.sin(5 * X).sum(-1), normal(len(X), seed=seed)
    spike = smooth.clone()
    spike[seed % len(X)] = 1e6
    step = (X[:, 0] > 0.5).double()
    return {
        "smooth": smooth,
        "scatter": scatter,
        "a spike": spike,
        "a step": step,
        "constant": torch.ones_like(smooth),
        "far from zero": 1e6 + smooth,
        "many decades": (20 * scatter).exp(),
    }[kind]


@examples(8)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 40),
    d=st.integers(1, 8),
    kind=st.sampled_from(
        ["smooth", "scatter", "a spike", "a step", "constant", "far from zero", "many decades"]
    ),
    scale=log_uniform(-9, 9),
    repeated=st.sampled_from([0.0, 1e-12, 1e-9, 1e-5, None]),
    noise_variance=st.sampled_from([None, None, 0.0, 1e-6]),
    method=st.sampled_from(["rkg", "nes-ep", "uu-ei", "ei"]),
)
def test_whatever_was_told_designs_are_finite(
    seed, n, d, kind, scale, repeated, noise_variance, method
):
    """The one refusal that is allowed says that repeated points contradict each other."""
    X = uniform(n, d, seed=seed)
    if repeated is not None:
        X[n // 2 :] = (X[: n - n // 2] + repeated).clamp_max(1.0)
    names = [f"x{i}" for i in range(d)]
    given_noise = None if noise_variance is None else noise_variance * scale**2
    optimizer = Optimizer(
        dict.fromkeys(names, (0.0, 1.0)),
        noise=Normal(0.05),
        method=method,
        options={"num_paths": 8, "num_features": 50} if method in ("rkg", "nes-ep") else None,
        num_initial=1,
        noise_variance=given_noise,
    )
    for x, value in zip(X.tolist(), (scale * hostile_values(kind, X, seed)).tolist(), strict=True):
        optimizer.tell(dict(zip(names, x, strict=True)), value)
    refusal = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what was repaired
        try:
            designs = [optimizer.ask(), optimizer.recommend().params, optimizer.nominal().params]
            best = optimizer.recommend()
        except ValueError as error:
            refusal = str(error)
    if refusal is not None:
        assert noise_variance == 0.0
        assert "remove repeated points" in refusal
        return
    for design in designs:
        assert all(0 <= value <= 1 for value in design.values())
    assert tensor([best.mean, best.std, best.nominal_mean, best.nominal_std]).isfinite().all()
