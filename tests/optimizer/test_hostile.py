"""Hostile states give a finite answer or a clear error, never NaN."""

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, some
from gp_models import log_uniform, normal, tensor, uniform, unit_box
from hostile_states import STATES, data
from meseta import Categorical, Int, Normal, Optimizer, Uniform
from meseta.integrations.botorch import RobustPosterior, nominal, recommend, suggest
from meseta.optimizer.loop import run_all
from meseta.optimizer.workers import Here


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


# What users may pass in place of a number, a design or a text.
ANYTHING = [
    *(0.3, 1, -1, 0, 2.5, -0.0, 1e300, 1e-320, 10**400, 10**5000, 1j, True, False, None),
    *(math.nan, math.inf, -math.inf, "0.3", "", "a", "known", "unseen", b"1", "x" * 5000),
    *(np.float32(0.4), np.int8(1), np.uint64(2**63), np.bool_(True), np.str_("a")),
    *(np.array(0.5), np.array([[0.5]]), np.array([0.5, 0.6]), np.array([]), np.array(None)),
    *(np.array(["a"]), np.ma.masked, np.datetime64("2020"), np.timedelta64(3, "s")),
    *(torch.tensor(0.5), torch.tensor([1]), torch.tensor(True), torch.tensor([1.0, 2.0])),
    *(pd.Series([0.5]), pd.Series([0.5, 0.6]), pd.NA, pd.NaT, Decimal("0.5"), Fraction(1, 3)),
    *([], [0.5], (0.5,), {1}, range(3), iter([1.0]), (x for x in [1.0]), object(), float),
    *({}, {"value": 0.5}, {"mass": 0.5}, {"value": None}, {"value": 0.5, "mass": 1}, {3: 4}),
    *({"value": 0.5, "mas": 1}, {"value": np.array([0.7]), "mass": math.nan}, {"x": 0.5}),
]
anything = st.sampled_from(ANYTHING)
sound = {"x": st.floats(0, 1), "n": st.integers(0, 5), "k": st.sampled_from(["a", "b", True])}
designs = st.one_of(
    st.fixed_dictionaries(sound),
    st.fixed_dictionaries({**sound, "x": anything}),
    st.fixed_dictionaries({**sound, "n": anything}),
    st.fixed_dictionaries({**sound, "k": anything}),
    st.fixed_dictionaries({**sound, "y": anything}),
    st.fixed_dictionaries({"x": sound["x"]}),
    anything,
)
outcomes = st.one_of(anything, st.fixed_dictionaries({"value": anything, "mass": anything}))
said = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("error", "std", "n", "executed"), anything)
)


def hostile():
    space = {"x": (0.0, 1.0), "n": Int(0, 5), "k": Categorical(["a", "b", True])}
    return Optimizer(space, noise={"x": Normal(0.05)}, outcomes=["mass"], method="sobol")


def check_plain(trials):
    """What is stored is of Python's own types, finite, and complete."""
    for trial in trials:
        assert {name: type(value) for name, value in trial.params.items() if name != "k"} == {
            "x": float,
            "n": int,
        }
        assert any(trial.params["k"] is choice for choice in (True, "a", "b"))
        numbers = [trial.params["x"], *trial.outcomes.values(), *trial.std.values()]
        numbers += [] if trial.value is None else [trial.value]
        assert all(type(number) is float and math.isfinite(number) for number in numbers)
        assert all(std >= 0 for std in trial.std.values())
        assert type(trial.n) is int
        assert trial.n >= 1
        assert (trial.state == "complete") == (trial.value is not None)
        assert trial.error is None or type(trial.error) is str


def attempt(optimizer, call):
    """All of it is stored, or it is refused in a sentence that is not long, and nothing is."""
    before, refused = optimizer.trials, ""
    try:
        call()
    except (TypeError, ValueError) as error:
        refused = str(error)
    if refused:
        assert len(refused) < 1000
        assert "ambiguous" not in refused
        assert "not a mapping" not in refused
        assert optimizer.trials == before
    check_plain(optimizer.trials)
    counted = [trial for trial in optimizer.trials if trial.state in ("complete", "failed")]
    assert len(optimizer.history) == len(counted)
    return not refused


@examples(60)
@given(params=designs, value=outcomes, said=said, trial=st.one_of(st.none(), anything))
def test_whatever_is_told_is_stored_as_meant_or_refused(params, value, said, trial):
    optimizer = hostile()
    optimizer.ask(2)
    said = said if trial is None else {**said, "trial": trial}
    stored = attempt(optimizer, lambda: optimizer.tell(params, value, **said))
    if stored and not isinstance(params, list):
        told = [trial for trial in optimizer.trials if trial.state != "pending"]
        assert len(told) == 1


@examples(60)
@given(
    several=st.lists(st.tuples(designs, outcomes), min_size=1, max_size=3),
    said=said,
    shorter=st.booleans(),
)
def test_whatever_is_told_at_once_is_stored_whole_or_refused(several, said, shorter):
    optimizer = hostile()
    params, values = ([*each] for each in zip(*several, strict=True))
    if shorter:
        values = values[1:]
    stored = attempt(optimizer, lambda: optimizer.tell(params, values, **said))
    assert not (stored and shorter)
    assert len(optimizer.trials) == (len(several) if stored else 0)


@examples(60)
@given(
    number=st.one_of(st.integers(0, 2), anything),
    value=st.one_of(st.none(), outcomes),
    params=st.one_of(st.none(), anything, st.fixed_dictionaries({"x": anything}), designs),
    said=said,
    why=st.one_of(st.just("typed wrongly"), anything),
)
def test_whatever_is_corrected_or_withdrawn_is_stored_as_meant_or_refused(
    number, value, params, said, why
):
    optimizer = hostile()
    optimizer.tell(optimizer.ask(), {"value": 1.0, "mass": 2.0})
    optimizer.tell(optimizer.ask(), None)
    optimizer.ask()
    attempt(optimizer, lambda: optimizer.correct(number, value, why=why, params=params, **said))
    attempt(optimizer, lambda: optimizer.withdraw(number, why=why))
    attempt(optimizer, lambda: optimizer.comment(number, why))


@examples(8)
@given(results=st.lists(outcomes, min_size=6, max_size=6), said=said)
def test_whatever_f_returns_is_a_value_or_a_failure_with_a_reason(results, said):
    left = iter(results)

    def f(params):
        result = next(left)
        return {**result, **said} if isinstance(result, dict) else result

    optimizer = hostile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_all(optimizer, Here(f, optimizer.outcomes), len(results), False, None)
    check_plain(optimizer.trials)
    assert all(trial.error for trial in optimizer.trials if trial.state == "failed")
