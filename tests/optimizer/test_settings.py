"""Settings: one value for every door, checked when it is made."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import get_type_hints

import numpy as np
import pytest

import meseta
from gp_models import uniform, unit_box
from meseta import Normal, Optimizer, Settings
from meseta.integrations.botorch import suggest
from meseta.integrations.optuna import RobustSampler
from meseta.optimizer.settings import Keywords, OptimizerKeywords, StepKeywords, read_settings

LINE = {"x": (0.0, 1.0)}


def test_keywords_are_the_fields_with_their_types():
    names = [field.name for field in fields(Settings)]
    assert set(OptimizerKeywords.__annotations__) == set(names)
    assert set(names) - set(Keywords.__annotations__) == {"direction"}
    assert set(StepKeywords.__annotations__) < set(Keywords.__annotations__)
    assert get_type_hints(OptimizerKeywords) == {
        name: kind for name, kind in get_type_hints(Settings).items() if name in names
    }


def test_settings_are_frozen_values():
    settings = Settings(noise={"x": Normal(0.1)}, method="ei", seed=3)
    assert settings == Settings(noise={"x": Normal(0.1)}, method="ei", seed=3)
    assert settings != replace(settings, kernel="matern32")
    assert pickle.loads(pickle.dumps(settings)) == settings
    with pytest.raises(FrozenInstanceError):
        settings.seed = 4


def test_numbers_of_numpy_become_plain_ones():
    settings = Settings(seed=np.int64(3), num_initial=np.int32(4), noise_variance=np.float32(0.5))
    for value, kind in (
        (settings.seed, int),
        (settings.num_initial, int),
        (settings.noise_variance, float),
    ):
        assert type(value) is kind


def test_without_a_seed_each_time_has_another():
    settings = Settings(seed=None)
    assert settings.seed is None
    assert settings.drawn_seed() != settings.drawn_seed()
    assert Settings(seed=5).drawn_seed() == 5
    assert Optimizer(LINE, seed=None).ask() != Optimizer(LINE, seed=None).ask()


def test_keywords_count_more_than_settings():
    settings = Settings(seed=3, method="ei")
    assert read_settings(settings, {"method": "sobol"}) == Settings(seed=3, method="sobol")
    assert read_settings(None, {}) == Settings()
    optimizer = Optimizer(LINE, settings=settings, direction="minimize")
    assert optimizer.settings == Settings(seed=3, method="ei", direction="minimize")
    assert (optimizer.method, optimizer.direction, optimizer.seed) == ("ei", "minimize", 3)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"direction": "up"}, "no direction 'up', only 'maximize', 'minimize'"),
        ({"kernel": "matern"}, "no kernel 'matern'.*only 'auto', 'se', 'matern52', 'matern32'"),
        ({"kernel": ["se"]}, "no kernel"),
        ({"prior": "flat"}, "no prior 'flat'.*only 'default', 'paper'"),
        ({"noise": 0.1}, r"write Normal\(0.1\)"),
        ({"noise": {"x": 0.1}}, r"the noise of 'x'.*write Normal\(0.1\)"),
        ({"noise": {("x", 3): Normal(0.1)}}, r"noise must name parameters, got \('x', 3\)"),
        ({"edge": {"x": "stop"}}, "no edge 'stop'"),
        ({"method": "rgk"}, "mean 'rkg'"),
        ({"options": {"beta": 1}}, "option of 'rkg' called 'beta'"),
        ({"initial": "sobl"}, "mean 'sobol'"),
        ({"initial": []}, "one or more points"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"num_initial": 0}, "num_initial must be at least 1"),
        ({"noise_variance": float("nan")}, "finite.*leave it out"),
        ({"noise_variance": np.array([0.1, 0.2])}, "noise_variance must be a number, got array"),
        *(
            ({name: np.array([0.1, 0.2])}, rf"there is no {what} array\(\[0.1, 0.2\]\), only '")
            for name, what in {
                **{each: each for each in ("direction", "kernel", "prior", "edge")},
                "executed": "value of executed",
            }.items()
        ),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(settings, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        Settings(**settings)


def test_unknown_keywords_are_refused_with_the_known_ones():
    with pytest.raises(TypeError, match=r"no setting 'kernal' \(did you mean 'kernel'\?\), only"):
        Optimizer(LINE, kernal="se")
    with pytest.raises(TypeError, match="no setting 'direction'"):
        meseta.maximize(lambda x: 0.0, LINE, budget=3, direction="minimize")
    with pytest.raises(TypeError, match="no setting 'edge'"):
        suggest(uniform(3, 1, seed=0), uniform(3, seed=1), unit_box(1), Normal(0.1), edge="clip")
    with pytest.raises(TypeError, match=r"settings must be meseta.Settings\(...\), got 'rkg'"):
        Optimizer(LINE, settings="rkg")
    with pytest.raises(TypeError, match="positional"):
        Optimizer(LINE, Normal(0.1))


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("n_trials", "budget says how often"),  # Optuna
        ("total_trials", "budget says how often"),  # Ax
        ("n_calls", "budget says how often"),  # scikit-optimize
        ("n_iter", "budget says how often"),  # bayes_opt
        ("max_evals", "budget says how often"),
        ("init_points", "mean 'num_initial'"),
        ("n_initial_points", "mean 'num_initial'"),
        ("n_init", "mean 'num_initial'"),
        ("random_state", "mean 'seed'"),
        ("acq_func", "mean 'method'"),
        ("x0", "mean 'initial'"),
        ("y0", "told to a meseta.Optimizer"),
        ("pbounds", "the ranges are the argument space"),
        ("dimensions", "the ranges are the argument space"),
        ("bounds", "the ranges are the argument space"),
        ("n_jobs", "executor and workers"),
        ("callbacks", "callback is an argument"),
        ("timeout", "no limit of time"),
        ("outcome_constraints", "mean 'constraints'"),
        ("kernal", "mean 'kernel'"),
    ],
)
def test_words_of_other_optimizers_are_answered(word, says):
    for door in (
        lambda **said: meseta.maximize(lambda x: 0.0, LINE, **said),
        lambda **said: meseta.minimize(lambda x: 0.0, LINE, **said),
        lambda **said: Optimizer(LINE, **said),
        lambda **said: Settings(**said),
        lambda **said: RobustSampler(noise=None, **said),
    ):
        with pytest.raises(TypeError, match=f"there is no setting '{word}'.*{says}"):
            door(**{word: 20})


def test_a_direction_is_asked_for_where_it_belongs():
    with pytest.raises(TypeError, match=r"call meseta\.maximize or meseta\.minimize"):
        meseta.maximize(lambda x: 0.0, LINE, budget=3, minimize=True)
    with pytest.raises(TypeError, match="mean 'direction'"):
        Optimizer(LINE, minimize=True)
    with pytest.raises(TypeError, match="an Optuna study has its own direction"):
        RobustSampler(noise=None, direction="minimize")
    assert pickle.loads(pickle.dumps(Settings(seed=3))) == Settings(seed=3)


def test_settings_of_another_direction_are_refused():
    settings = Settings(direction="minimize")
    with pytest.raises(ValueError, match=r"call meseta\.minimize instead"):
        meseta.maximize(lambda x: 0.0, LINE, budget=3, settings=settings)
    result = meseta.minimize(
        lambda x: x["x"], LINE, budget=2, settings=Settings(method="sobol"), progress=False
    )
    assert result.optimizer.direction == "minimize"


def test_given_designs_may_leave_out_what_cannot_be_set():
    wind = meseta.Environment(Normal(0.1, mean=0.5), observed=True)
    space = {"x": (0.0, 1.0), "wind": (0.0, 1.0)}
    optimizer = Optimizer(space, noise={"wind": wind}, initial=[{"x": 0.2}, {"x": 0.8}])
    assert optimizer.ask() == {"x": 0.2}
    optimizer.tell({"x": 0.2, "wind": 0.9}, 1.0)
    assert optimizer.ask() == {"x": 0.8}
    # trials of another tool, which has put a value of its own where there is none to set
    kept = [replace(trial, params={**trial.params, "wind": 0.3}) for trial in optimizer.trials]
    again = optimizer.with_trials([replace(trial, planned=None) for trial in kept])
    assert again.ask() != {"x": 0.2}
