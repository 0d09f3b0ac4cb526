"""Ask and tell: nothing told is lost, nothing asked twice, and the seed determines it all."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import meseta.optimizer.ask_tell
from examples import examples
from meseta import Int, Normal, Optimizer, Uniform
from meseta.gp.fit import AUTO, MOST_DRAWN, fit_surrogates
from meseta.integrations.botorch import RobustPosterior, fit_surrogate, nominal, recommend
from meseta.space.initial import default_num
from meseta.space.sobol import sobol_sequence
from meseta.space.space import Space

LINE = {"x": (0.0, 1.0)}
PLANE = {"angle": (-10, 45), "speed": (4.1, 5.0)}
NOISE = {"angle": Normal(3.0), "speed": Uniform(0.05)}


def f(params):
    """A hill at 20 degrees and 4.5."""
    return -(((params["angle"] - 20) / 30) ** 2) - (params["speed"] - 4.5) ** 2


def wave(params):
    return math.sin(5 * params["x"])


def run(optimizer, objective, evaluations):
    """The points asked for, each told before the next."""
    points = []
    for _ in range(evaluations):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], objective(points[-1]))
    return points


def told(values, space=LINE, **options):
    """An Optimizer that was told these values at evenly spaced points, unasked."""
    optimizer = Optimizer(space, noise=Normal(0.05), **options)
    for number, value in enumerate(values):
        optimizer.tell({"x": (number + 0.5) / len(values)}, value)
    return optimizer


# Initial points


def test_initial_points_grow_with_the_number_of_parameters():
    nums = [default_num(d) for d in range(1, 30)]
    assert nums[:4] == [3, 5, 10, 12]
    assert nums == sorted(nums)


def test_sobol_points_come_first_then_the_method():
    optimizer = Optimizer(PLANE, noise=NOISE, seed=4)
    points = run(optimizer, f, 6)
    expected = sobol_sequence(optimizer.space.bounds, 0, 5, seed=4)
    assert [list(point.values()) for point in points[:5]] == expected.tolist()
    assert [trial.origin for trial in optimizer.trials] == ["space-filling"] * 5 + ["method"]
    assert all(type(value) is float for point in points for value in point.values())
    assert all(trial.asked for trial in optimizer.trials)


def test_the_method_sobol_continues_the_initial_sequence():
    optimizer = Optimizer(LINE, method="sobol", seed=2, num_initial=2)
    points = run(optimizer, wave, 6)
    expected = sobol_sequence(optimizer.space.bounds, 0, 6, seed=2)
    assert [list(point.values()) for point in points] == expected.tolist()


def test_uniform_points_lie_in_the_box_and_follow_the_seed():
    first, again, other = (
        Optimizer(PLANE, initial="uniform", num_initial=40, seed=seed).ask(40) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    angles = np.array([point["angle"] for point in first])
    assert angles.min() >= -10
    assert angles.max() <= 45
    assert abs(angles.mean() - 17.5) < 4 * 55 / math.sqrt(12 * 40)  # four standard errors
    assert len(set(angles)) == 40


def test_given_points_come_first_in_their_order():
    given = [{"x": 0.2}, {"x": 1}, {"x": 0.0}]
    optimizer = Optimizer(LINE, initial=given)
    optimizer.tell({"x": 0.7}, 1.0)
    points = run(optimizer, wave, 4)
    assert points[:3] == given
    assert [t.origin for t in optimizer.trials] == ["told", "given", "given", "given", "method"]


def test_given_points_may_be_followed_by_sobol_points():
    optimizer = Optimizer(LINE, initial=[{"x": 0.2}], num_initial=3)
    run(optimizer, wave, 4)
    origins = [trial.origin for trial in optimizer.trials]
    assert origins == ["given", "space-filling", "space-filling", "method"]


def test_a_given_design_that_was_told_as_it_was_typed_is_not_asked_for_again():
    optimizer = Optimizer(LINE, initial=[{"x": 1 / 3}, {"x": 2 / 3}])
    optimizer.tell({"x": 0.3333}, 1.0)  # 1e-4 of the range is the same design
    assert optimizer.ask() == {"x": 2 / 3}


def test_points_told_unasked_count_as_initial():
    optimizer = told([0.0, 1.0, 0.5])
    optimizer.ask()
    assert optimizer.trials[-1].origin == "method"


def test_without_any_value_the_sequence_goes_on():
    optimizer = Optimizer(LINE, num_initial=2)
    points = optimizer.ask(4)
    optimizer.tell(points[0], None)
    points.append(optimizer.ask())
    assert {trial.origin for trial in optimizer.trials} == {"space-filling"}
    assert len({point["x"] for point in points}) == 5
    optimizer.tell(points[3], 1.0)
    optimizer.ask()
    assert optimizer.trials[-1].origin == "method"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"initial": "sobl"}, "no initial design 'sobl'.*mean 'sobol'"),
        ({"initial": []}, "one or more points"),
        ({"initial": {"x": 0.5}}, "one or more points"),
        ({"initial": [{"y": 0.5}]}, "no parameter 'y'"),
        ({"initial": [{"x": 1.5}]}, "must lie in the box.*'x' is 1.5"),
        ({"initial": [{"x": 0.1}, {"x": 0.2}], "num_initial": 1}, "num_initial is 1 but 2"),
        ({"num_initial": 0}, "num_initial must be at least 1"),
        ({"num_initial": 2.5}, "num_initial"),
        ({"num_initial": True}, "num_initial must be a whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 0.5}, "seed"),
        ({"direction": "up"}, "maximize"),
        ({"method": "nes-pe"}, "nes-ep"),
        ({"method": "nes-ep", "options": {"num_max_value": 2}}, "num_max_values"),
        ({"prior": "guess"}, "paper"),
        ({"noise_variance": -1.0}, "not be negative.*leave it out"),
        ({"noise_variance": math.nan}, "finite.*leave it out"),
        ({"noise": {"y": Normal(0.1)}}, "unknown parameter"),
        ({"noise": 0.1}, r"write Normal\(0.1\)"),
        ({"space": {"x": (1, 0)}}, "swap"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        Optimizer(**{"space": LINE, "noise": Normal(0.1), **options})


# Asking


def global_randomness():
    return torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002


def test_the_same_calls_give_the_same_points_and_touch_no_global_randomness():
    before = global_randomness()
    first, again, other = (run(Optimizer(PLANE, noise=NOISE, seed=s), f, 7) for s in (0, 0, 1))
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))
    assert global_randomness() == before


def test_a_batch_is_as_many_single_questions():
    batch, single = told([0.0, 1.0, 0.5]), told([0.0, 1.0, 0.5])
    points = batch.ask(3)
    assert points == [single.ask() for _ in range(3)]
    assert batch.ask(1) == [single.ask()]
    assert len({round(point["x"], 3) for point in points}) == 3


def test_recommending_does_not_change_what_is_asked():
    plain, curious = Optimizer(LINE, noise=Normal(0.05)), Optimizer(LINE, noise=Normal(0.05))
    for _ in range(3):
        batch = plain.ask(2)
        assert batch == curious.ask(2)
        for params in batch:
            plain.tell(params, wave(params))
            curious.tell(params, wave(params))
            curious.recommend()
            curious.nominal()


def test_the_surrogate_is_fitted_once_per_set_of_data(monkeypatch):
    fits = []

    def counted(*args, **options):
        fits.append(args)
        return fit_surrogates(*args, **options)

    monkeypatch.setattr(meseta.optimizer.fitting, "fit_surrogates", counted)
    optimizer = told([0.0, 1.0, 0.5])
    optimizer.recommend()
    optimizer.nominal()
    params, _ = optimizer.ask(2)
    optimizer.tell({"x": 0.3}, None)
    optimizer.recommend()
    assert len(fits) == 1
    optimizer.tell(params, 0.7)
    optimizer.recommend()
    assert len(fits) == 2


def test_a_fit_has_one_posterior_for_the_method_the_recommendation_and_the_report(monkeypatch):
    made = []
    real = meseta.optimizer.fitted.joint_posterior
    monkeypatch.setattr(
        meseta.optimizer.fitted, "joint_posterior", lambda *a, **k: made.append(a) or real(*a, **k)
    )
    optimizer = told([0.0, 1.0, 0.5])
    optimizer.recommend(quick=True)
    optimizer.ask(2)
    optimizer.posterior.joint(torch.tensor([[0.5]], dtype=torch.double))
    assert len(made) == len(optimizer.fitted.info.weights)
    optimizer.recommend()
    promised = len(made)
    assert promised <= len(optimizer.fitted.info.weights) + MOST_DRAWN + len(AUTO)
    optimizer.nominal()
    optimizer.recommend()
    assert len(made) == promised


def test_many_points_at_once_do_not_place_every_trial_again_for_each(monkeypatch):
    placed = []
    to_columns = Space.to_columns
    monkeypatch.setattr(Space, "to_columns", lambda *args: placed.append(args) or to_columns(*args))
    optimizer = Optimizer(LINE, method="sobol")
    optimizer.ask(60)
    assert len(placed) < 3 * 60  # and not 60 * 60 / 2
    optimizer.tell({"x": 0.123}, 1.0, trial=7)  # carried out elsewhere: its columns are other ones
    assert optimizer.trials[7].params == {"x": 0.123}
    assert optimizer._points(optimizer._record.complete).tolist() == [[0.123]]


def test_a_batch_that_fails_leaves_nothing_pending(monkeypatch):
    optimizer = Optimizer(LINE, num_initial=1)
    run(optimizer, wave, 1)
    real = meseta.optimizer.ask_tell.suggest

    def once(posterior, domain, prepare, stream, pending, *others):
        if len(pending):
            raise KeyboardInterrupt
        return real(posterior, domain, prepare, stream, pending, *others)

    monkeypatch.setattr(meseta.optimizer.ask_tell, "suggest", once)
    with pytest.raises(KeyboardInterrupt):
        optimizer.ask(2)
    assert len(optimizer.trials) == 1


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_a_batch_is_a_positive_number(n):
    optimizer = Optimizer(LINE)
    with pytest.raises((TypeError, ValueError), match=r"\bn\b"):
        optimizer.ask(n)
    assert not optimizer.trials


def test_a_point_is_never_beside_a_pending_or_failed_one(monkeypatch):
    """Even if the method insists, as it may where observations are noisy."""
    optimizer = told([0.0, 1.0, 0.5])
    optimizer.tell({"x": 0.25}, None)
    insist = torch.tensor([0.25 + 1e-5], dtype=torch.double)
    real = meseta.optimizer.ask_tell.suggest
    monkeypatch.setattr(meseta.optimizer.ask_tell, "suggest", lambda *a: (insist, *real(*a)[1:]))
    points = [point["x"] for point in optimizer.ask(5)]
    assert {trial.origin for trial in optimizer.trials[-5:]} == {"space-filling"}
    points = sorted([*points, 0.25])
    assert min(np.diff(points)) > 1e-4


def test_the_sequence_skips_a_point_that_failed():
    optimizer = Optimizer(LINE)
    failing, following = sobol_sequence(optimizer.space.bounds, 1, 2, seed=0)[:, 0].tolist()
    optimizer.tell({"x": failing}, None)
    assert optimizer.ask() == {"x": following}


def test_a_box_of_a_few_floats_can_still_be_asked():
    low = 1.0
    high = math.nextafter(math.nextafter(low, 2), 2)
    points = Optimizer({"x": (low, high)}).ask(5)
    assert all(low <= point["x"] <= high for point in points)


# Telling


def test_a_told_point_is_matched_with_the_pending_one():
    optimizer = Optimizer(PLANE)
    first, second = optimizer.ask(2)
    optimizer.tell(dict(reversed(second.items())), np.float32(2.5))
    optimizer.tell(first, torch.tensor(1.5))
    states = [(t.number, t.params, t.value, t.state, t.asked) for t in optimizer.trials]
    assert states == [(0, first, 1.5, "complete", True), (1, second, 2.5, "complete", True)]
    assert optimizer.history["value"].tolist() == [2.5, 1.5]  # in the order of telling


def test_late_workers_and_strangers_are_welcome():
    optimizer = told([0.0, 1.0, 0.5])
    late = optimizer.ask()
    run(optimizer, wave, 2)
    optimizer.tell({"x": -3.0}, 0.1)  # outside the box
    optimizer.tell(late, 0.2)
    trial = optimizer.trials[3]
    assert (trial.params, trial.value, trial.state, trial.asked) == (late, 0.2, "complete", True)
    stranger = optimizer.trials[6]
    assert (stranger.params, stranger.value, stranger.asked) == ({"x": -3.0}, 0.1, False)
    assert optimizer.history["x"].tolist()[-2:] == [-3.0, late["x"]]
    assert 0 <= optimizer.ask()["x"] <= 1
    assert 0 <= optimizer.recommend().params["x"] <= 1


def test_telling_again_is_another_observation():
    optimizer = Optimizer(LINE)
    params = optimizer.ask()
    optimizer.tell(params, 1.0)
    optimizer.tell(params, 2.0)
    assert [(t.value, t.asked) for t in optimizer.trials] == [(1.0, True), (2.0, False)]
    assert 1.0 < optimizer.recommend().nominal_mean < 2.0


def test_twins_among_given_points_are_told_one_by_one():
    optimizer = Optimizer(LINE, initial=[{"x": 0.5}, {"x": 0.5}])
    first, second = optimizer.ask(2)
    optimizer.tell(first, 1.0)
    assert [trial.state for trial in optimizer.trials] == ["complete", "pending"]
    optimizer.tell(second, 2.0)
    assert [trial.value for trial in optimizer.trials] == [1.0, 2.0]


def test_a_failure_is_recorded_and_kept_out_of_the_model():
    healthy, hurt = told([0.0, 1.0, 0.5]), told([0.0, 1.0, 0.5])
    params = hurt.ask()
    hurt.tell(params, None, error="it broke")
    hurt.tell({"x": 0.9}, None)
    failed = hurt.trials[3]
    assert (failed.state, failed.value, failed.error) == ("failed", None, "it broke")
    assert hurt.recommend() == healthy.recommend()
    assert math.isnan(hurt.history["value"][3])
    assert abs(hurt.ask()["x"] - params["x"]) > 1e-3


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.inf,
        np.float64("nan"),
        "1.0",
        True,
        np.True_,
        [1.0],
        1j,
        torch.zeros(2),
        np.zeros((0, 1)),
        np.array(["1.0"]),
        np.ma.masked,
        np.timedelta64(5, "ns"),
        np.array(5, "timedelta64[ns]"),
        {},
    ],
    ids=repr,
)
def test_what_is_no_value_is_refused_before_anything_is_stored(value):
    optimizer = Optimizer(LINE)
    params = optimizer.ask()
    with pytest.raises((TypeError, ValueError), match="pass None if the evaluation failed"):
        optimizer.tell(params, value)
    with pytest.raises(ValueError, match="'x'"):
        optimizer.tell({"x": math.nan}, 1.0)
    with pytest.raises(ValueError, match="missing"):
        optimizer.tell({}, 1.0)
    with pytest.raises(ValueError, match="drop one"):
        optimizer.tell(params, 1.0, error="it broke")
    assert [trial.state for trial in optimizer.trials] == ["pending"]
    assert optimizer.history.empty


@pytest.mark.parametrize(
    "value",
    [
        np.float32(45.25),
        np.array(45.25),
        np.array([45.25]),
        np.array([[45.25]], np.float32),
        torch.tensor([45.25]),
        torch.full((1, 1), 45.25, requires_grad=True),
    ],
    ids=repr,
)
def test_an_array_with_one_number_is_that_number(value):
    optimizer = Optimizer(LINE)
    optimizer.tell({"x": 0.5}, value)
    optimizer.tell({"x": np.array([0.75])}, {"value": value}, std=value, n=np.array([3]))
    values = [trial.value for trial in optimizer.trials]
    assert values == [45.25, 45.25]
    assert {type(value) for value in values} == {float}
    last = optimizer.trials[1]
    assert (last.params, last.std, last.n) == ({"x": 0.75}, {"value": 45.25}, 3)


def same(one, other):
    """Whether two optimizers have the same record, and the same model."""
    return one.trials == other.trials and one.recommend() == other.recommend()


@pytest.mark.parametrize(
    "listed", [list, tuple, np.array, pd.Series], ids=lambda kind: kind.__name__
)
def test_several_designs_are_told_at_once(listed):
    together, single = Optimizer(LINE), Optimizer(LINE)
    designs = together.ask(3)
    single.ask(3)
    together.tell(designs, listed([1.0, 2.5, 2.0]), std=0.1, n=listed([1, 4, 2]))
    for design, value, n in zip(designs, (1.0, 2.5, 2.0), (1, 4, 2), strict=True):
        single.tell(design, value, std=0.1, n=n)
    assert same(together, single)


def test_several_designs_fail_have_outcomes_and_were_carried_out_otherwise():
    settings = {"outcomes": ["mass"], "noise": Normal(0.05)}
    together, single = Optimizer(LINE, **settings), Optimizer(LINE, **settings)
    designs = together.ask(4)
    single.ask(4)
    values = [{"value": 1.0, "mass": 3.0}, None, {"value": 2.0, "mass": None}, {"value": 3.0}]
    said = {
        "error": [None, "spilled", None, None],
        "std": [{"value": 0.1, "mass": 0.2}, None, 0.3, None],
        "executed": ["unseen", None, {"x": 0.6}, None],
        "trial": [3, 2, 1, 0],
    }
    together.tell(designs[::-1], values, **said)
    for number, design in enumerate(designs[::-1]):
        one = {name: each[number] for name, each in said.items()}
        single.tell(design, values[number], **one)
    assert same(together, single)
    assert [trial.state for trial in together.trials] == ["complete"] * 2 + ["failed", "complete"]


@pytest.mark.parametrize(
    ("designs", "values", "said", "words"),
    [
        ([0.1, 0.2], [1.0], {}, "value has 1 for 2 designs"),
        ([0.1, 0.2], [1.0, 2.0, 3.0], {}, "value has 3 for 2 designs"),
        ([0.1, 0.2], 1.0, {}, "needs a list with a value for each"),
        ([0.1, 0.2], {"value": [1.0, 2.0]}, {}, "needs a list with a value for each"),
        ([0.1, 0.2], {1.0, 2.0}, {}, "needs a list with a value for each"),
        ([0.1, 0.2], "12", {}, "needs a list with a value for each"),
        ([0.1, 0.2], (v for v in (1.0, 2.0)), {}, "needs a list with a value for each"),
        ([], [], {}, "no design in the list"),
        ([0.1, 0.2], [1.0, math.nan], {}, "design 1 of the list: .*must be finite"),
        ([0.1, math.inf], [1.0, 2.0], {}, "design 1 of the list: .*'x' must be finite"),
        ([0.1, None], [1.0, 2.0], {}, "design 1 of the list: .*'x' must be a number"),
        ([0.1, 0.2], [1.0, 2.0], {"std": [0.1]}, "std has 1 for 2 designs"),
        ([0.1, 0.2], [1.0, 2.0], {"std": [0.1, -0.1]}, "design 1 .*must not be negative"),
        ([0.1, 0.2], [1.0, 2.0], {"n": [2, 2.5]}, "design 1 of the list: n must be a whole"),
        ([0.1, 0.2], [1.0, None], {"error": "it broke"}, "design 0 of the list: .*drop one"),
        ([0.1, 0.2], [1.0, 2.0], {"trial": 0}, "design 1 of the list: trial 0 is not pending"),
        ([0.1, 0.2], [1.0, 2.0], {"executed": ["known", "seen"]}, "design 1 .*executed must be"),
    ],
)
def test_of_several_designs_all_are_told_or_none(designs, values, said, words):
    optimizer, untouched = (told([0.3, 0.8, 0.1], seed=1) for _ in range(2))
    pending = optimizer.ask()
    untouched.ask()
    number = optimizer.trials[-1].number
    said = {**said, "trial": number} if "trial" in said else said
    words = words.replace("trial 0", f"trial {number}")
    given = [{"x": x} for x in designs]
    with pytest.raises((TypeError, ValueError), match=words):
        optimizer.tell(given, values, **said)
    assert same(optimizer, untouched)
    optimizer.tell(pending, 0.5)
    untouched.tell(pending, 0.5)
    assert optimizer.ask() == untouched.ask()


def test_widths_learned_from_designs_that_were_not_stored_are_forgotten():
    optimizer = Optimizer(LINE, noise=meseta.LearnedNormal(0.05, worth=3))
    planned = optimizer.ask(3)
    before = optimizer.learned
    executed = [{"x": params["x"] + 0.009} for params in planned]
    with pytest.raises(ValueError, match="design 2"):
        optimizer.tell(planned, [1.0, 2.0, math.inf], executed=executed)
    assert optimizer.learned == before
    optimizer.tell(planned, [1.0, 2.0, 3.0], executed=executed)
    assert optimizer.learned != before


@pytest.mark.parametrize(
    "call",
    [
        lambda o: o.tell([0.5], [1.0]),
        lambda o: o.tell(0.5, 1.0, executed={"x": 0.4}),
        lambda o: o.promise([0.5]),
        lambda o: o.perturbed("x = 0.5", 3),
        lambda o: o.confirm(pd.Series({"x": 0.5}), [1.0, 2.0, 1.5]),
    ],
)
def test_what_is_no_design_is_refused_everywhere(call):
    optimizer = told([0.3, 0.8, 0.1])
    with pytest.raises(TypeError, match="params must be a dict with one value per parameter"):
        call(optimizer)
    with pytest.raises(TypeError, match="results must be a list"):
        optimizer.confirm({"x": 0.5}, 1.0)


def test_records_cannot_be_changed_from_outside():
    optimizer = told([0.0, 1.0, 0.5])
    params = optimizer.ask()
    number, x = optimizer.trials[-1].number, params["x"]
    params["x"] = 7.0
    optimizer.trials[0].params["x"] = 7.0
    best = optimizer.recommend()
    best.params["x"] = 7.0
    assert optimizer.history["best_x"].iloc[-1] != 7.0
    assert optimizer.trials[number].params == {"x": x}
    assert optimizer.trials[0].params != {"x": 7.0}
    assert optimizer.recommend().params != {"x": 7.0}
    with pytest.raises(AttributeError):
        optimizer.trials[0].value = 3.0


def test_an_optimizer_can_be_pickled_and_goes_on():
    optimizer = told([0.0, 1.0, 0.5])
    optimizer.tell(optimizer.ask(), 0.3)
    optimizer.recommend()
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.trials == optimizer.trials
    assert again.ask(2) == optimizer.ask(2)


# Recommending


@pytest.mark.parametrize("call", ["recommend", "nominal"])
def test_there_is_nothing_to_recommend_without_values(call):
    optimizer = Optimizer(LINE)
    optimizer.tell(optimizer.ask(), None)
    optimizer.ask()
    with pytest.raises(RuntimeError, match=r"0 complete, 1 pending, 1 failed.*tell the value"):
        getattr(optimizer, call)()


@pytest.mark.parametrize("method", ["nes-ep", "ei"])
def test_a_recommendation_is_that_of_the_pure_functions(method):
    optimizer = Optimizer(PLANE, noise=NOISE, method=method, seed=3, kernel="se")
    run(optimizer, f, 5)
    X = torch.tensor([list(t.params.values()) for t in optimizer.trials], dtype=torch.double)
    y = torch.tensor([t.value for t in optimizer.trials], dtype=torch.double)
    bounds, law = optimizer.space.bounds, optimizer.noise
    posterior = RobustPosterior.from_model(fit_surrogate(X, y, bounds, law, kernel="se")[0], law)
    for found, expected in (
        (optimizer.recommend(), recommend(posterior, bounds, method=method, seed=3)),
        (optimizer.nominal(), nominal(posterior, bounds, seed=3)),
    ):
        assert list(found.params.values()) == expected.x.tolist()
        assert found.mean == pytest.approx(expected.mean)
        assert found.nominal_mean == pytest.approx(expected.nominal_mean)
    quick = optimizer.recommend(quick=True)  # hyper-parameters count as known there as well
    expected = recommend(posterior, bounds, method=method, seed=3)
    assert quick.std == pytest.approx(expected.std, rel=0.02)
    assert quick.nominal_std == pytest.approx(expected.nominal_std)


def test_without_noise_the_robust_optimum_is_the_nominal_one():
    optimizer = Optimizer(LINE)
    run(optimizer, wave, 4)
    best = optimizer.recommend()
    assert best.mean == pytest.approx(best.nominal_mean)
    nominal = optimizer.nominal()
    assert best.params == pytest.approx(nominal.params, abs=1e-5)
    assert (best.mean, best.std) == pytest.approx((nominal.mean, nominal.std), rel=1e-6)


def test_minimising_mirrors_maximising():
    up, down = (
        Optimizer(LINE, noise=Normal(0.05)),
        Optimizer(LINE, noise=Normal(0.05), direction="minimize"),
    )
    points = run(up, wave, 6)
    assert points == run(down, lambda params: -wave(params), 6)
    for high, low in ((up.recommend(), down.recommend()), (up.nominal(), down.nominal())):
        assert high.params == low.params
        assert (high.mean, high.nominal_mean) == (-low.mean, -low.nominal_mean)
        assert (high.std, high.nominal_std) == (low.std, low.nominal_std)
    assert up.history["value"].tolist() == [-value for value in down.history["value"]]


# The history


def test_the_history_has_what_was_recommended():
    optimizer = Optimizer(PLANE, noise=NOISE)
    assert optimizer.history.empty
    run(optimizer, f, 2)
    best = optimizer.recommend()
    optimizer.ask()
    run(optimizer, lambda _: None, 1)
    table = optimizer.history
    expected = "angle speed value state best_angle best_speed best_mean best_std"
    assert list(table.columns) == expected.split()
    assert table["state"].tolist() == ["complete", "complete", "failed"]
    recommended = table.filter(like="best_")
    assert recommended.loc[1].tolist() == [*best.params.values(), best.mean, best.std]
    assert recommended.loc[[0, 2]].isna().all(axis=None)
    optimizer.recommend()
    assert optimizer.history.loc[2, "best_mean"] == best.mean
    numeric = table.drop(columns="state")
    assert all(kind.kind == "f" for kind in numeric.dtypes)


@pytest.mark.parametrize(
    ("names", "clash"),
    [(["value"], "value"), (["state"], "state"), (["mean"], "mean"), (["x", "best_x"], "best_x")],
)
def test_names_that_clash_with_the_history_are_refused(names, clash):
    with pytest.raises(ValueError, match=f"cannot be named '{clash}'.*rename"):
        Optimizer(dict.fromkeys(names, (0, 1)))


def test_names_that_do_not_clash_are_welcome():
    optimizer = Optimizer(dict.fromkeys(["best_x", "number", "params", "self", "x y"], (0, 1)))
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.history.columns.is_unique


# Any interleaving


class AskTell(RuleBasedStateMachine):
    """A user with several workers, some slow, some failing, and results from elsewhere."""

    def __init__(self):
        super().__init__()
        self.optimizer = Optimizer(LINE, noise=Normal(0.05), num_initial=2)
        self.pending, self.told = [], []

    @rule(n=st.integers(1, 2))
    def ask(self, n):
        self.pending += self.optimizer.ask(n)

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), value=st.floats(-1e3, 1e3))
    def tell(self, data, value):
        self._tell(self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1))), value)

    @precondition(lambda self: self.pending)
    @rule()
    def fail(self):
        self._tell(self.pending.pop(), None)

    @rule(x=st.floats(-1, 2), value=st.none() | st.floats(-1e3, 1e3))
    def tell_unasked(self, x, value):
        # one that is close to a pending one would be that one
        if all(abs(x - each["x"]) > 0.011 for each in self.pending):
            self._tell({"x": x}, value)

    @precondition(lambda self: any(value is not None for _, value in self.told))
    @rule()
    def recommend(self):
        best = self.optimizer.recommend()
        assert 0 <= best.params["x"] <= 1
        assert all(map(math.isfinite, (best.mean, best.std, best.nominal_mean, best.nominal_std)))

    def _tell(self, params, value):
        self.optimizer.tell(params, value)
        self.told.append((params["x"], value))

    @invariant()
    def nothing_is_lost(self):
        table = self.optimizer.history
        values = [None if math.isnan(value) else value for value in table["value"]]
        assert list(zip(table["x"], values, strict=True)) == self.told
        trials = self.optimizer.trials
        assert [trial.number for trial in trials] == list(range(len(trials)))
        waiting = sorted(t.params["x"] for t in trials if t.state == "pending")
        assert waiting == sorted(each["x"] for each in self.pending)
        assert len(trials) == len(self.told) + len(self.pending)

    @invariant()
    def asked_points_are_inside_and_apart(self):
        trials = [t for t in self.optimizer.trials if t.asked]
        assert all(0 <= t.params["x"] <= 1 for t in trials)
        pending = sorted(t.params["x"] for t in trials if t.state == "pending")
        assert all(b - a > 1e-4 for a, b in itertools.pairwise(pending))


AskTell.TestCase.settings = settings(examples(10), stateful_step_count=12)
TestAnyInterleaving = AskTell.TestCase


def test_a_point_typed_back_with_few_digits_is_the_pending_one():
    optimizer = Optimizer(LINE, noise=Normal(0.05), num_initial=3)
    for _ in range(5):
        params = {"x": round(optimizer.ask()["x"], 2)}
        optimizer.tell(params, wave(params))
        assert optimizer.trials[-1].params == params  # the model learns from what was carried out
    assert [trial.state for trial in optimizer.trials] == ["complete"] * 5
    assert [trial.origin for trial in optimizer.trials[:4]] == ["space-filling"] * 3 + ["method"]


def test_of_several_pending_points_the_nearest_is_told():
    optimizer = Optimizer(LINE, initial=[{"x": 0.5}, {"x": 0.505}, {"x": 0.9}])
    optimizer.ask(3)
    optimizer.tell({"x": 0.504}, 1.0)
    assert [trial.state for trial in optimizer.trials] == ["pending", "complete", "pending"]
    optimizer.tell({"x": 0.7}, 2.0)
    assert [trial.origin for trial in optimizer.trials][-1] == "told"


def test_given_points_that_were_told_are_not_asked_for_again():
    optimizer = Optimizer(LINE, initial=[{"x": 0.3}, {"x": 0.6}])
    optimizer.tell({"x": 0.3}, 1.0)
    assert optimizer.ask() == {"x": 0.6}


@pytest.mark.parametrize("value", [1e101, -1.7e308])
def test_values_whose_squares_overflow_are_refused_before_anything_is_stored(value):
    optimizer = told([0.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"within ±1e\+100.*pass None if"):
        optimizer.tell({"x": 0.9}, value)
    assert len(optimizer.trials) == 3
    optimizer.tell({"x": 0.9}, -1e100)
    assert math.isfinite(optimizer.recommend().mean)


def test_with_one_value_the_evaluated_point_is_recommended():
    optimizer = Optimizer(LINE, noise=Normal(0.1))
    optimizer.tell({"x": 0.9}, 5.0)
    assert optimizer.recommend().params == {"x": 0.9}


def test_numbers_of_numpy_are_numbers_as_options_too():
    optimizer = Optimizer(LINE, method="nes-ep", options={"num_max_values": np.int64(3)})
    assert optimizer.options.num_max_values == 3
    optimizer = Optimizer(LINE, method="uu-ucb", options={"num_deviations": np.float32(3)})
    assert optimizer.options.num_deviations == 3.0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"seed": 2**64}, "seed must be at most"),
        ({"method": "uu-ucb", "options": {"num_deviations": 1e300}}, "between 0 and"),
    ],
)
def test_what_would_fail_later_is_refused_at_once(options, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        Optimizer(LINE, noise=Normal(0.1), **options)


def test_a_design_can_be_perturbed_as_it_will_be_in_use():
    space = {
        "x": (0.0, 1.0),
        "rate": meseta.Float(0.1, 10.0, log=True),
        "dose": meseta.Float(0.0, 1.0, step=0.5),
        "kind": meseta.Categorical(["a", "b", "c"]),
        "heat": (10.0, 30.0),
        "still": meseta.Int(1, 5),
    }
    noise = {
        "x": meseta.Normal(0.1),
        "rate": meseta.LogNormal(0.2),
        "dose": meseta.Uniform(0.1),
        "kind": meseta.Substitution(0.3),
        "heat": meseta.Environment(meseta.Normal(2.0, mean=20.0)),
    }
    optimizer = meseta.Optimizer(space, noise=noise)
    design = {"x": 0.5, "rate": 1.0, "dose": 0.5, "kind": "b", "still": 3}
    drawn = pd.DataFrame(optimizer.perturbed(design, 4000, seed=1))
    assert list(drawn.columns) == list(space)
    assert drawn["x"].std() == pytest.approx(0.1, rel=0.05)
    assert np.log(drawn["rate"]).std() == pytest.approx(0.2, rel=0.05)
    assert drawn["dose"].between(0.4, 0.6).all()
    assert drawn["dose"].nunique() > 1000
    assert (drawn["kind"] == "b").mean() == pytest.approx(0.7, abs=0.03)
    assert drawn["heat"].mean() == pytest.approx(20.0, abs=0.2)
    assert (drawn["still"] == 3).all()
    again = optimizer.perturbed(design, 4000, seed=1)
    assert again == drawn.to_dict("records")
    with pytest.raises(ValueError, match="rate"):
        optimizer.perturbed({"x": 0.5}, 3)


@pytest.mark.parametrize("initial", ["sobol", "uniform"])
@pytest.mark.parametrize(
    "space",
    [{"x": (0.0, 1.0), "y": (1.0, 3.0)}, {"x": (0.0, 1.0), "k": Int(1, 4)}, {"k": Int(1, 7)}],
    ids=["box", "mixed", "finite"],
)
def test_many_points_at_once_are_those_of_one_at_a_time(space, initial):
    at_once, one_by_one = (Optimizer(space, initial=initial, seed=3) for _ in range(2))
    num = 140 if "x" in space else 30  # more than a block of the sequence, or than there are
    designs = at_once.ask(num)
    assert designs == [one_by_one.ask() for _ in range(num)]
    assert at_once.trials == one_by_one.trials
    if "x" in space:
        assert len({tuple(design.values()) for design in designs}) == num
    else:
        assert {design["k"] for design in designs[:7]} == set(range(1, 8))


def test_asking_and_telling_many_converts_each_design_a_few_times(monkeypatch):
    """Each step once converted all designs again, which is quadratic."""
    num, calls = 150, []
    to_columns = Space.to_columns

    def counted(self, params):
        calls.append(params)
        return to_columns(self, params)

    monkeypatch.setattr(Space, "to_columns", counted)
    optimizer = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    designs = optimizer.ask(num)
    assert len(calls) <= 3 * num
    calls.clear()
    for design in designs:
        optimizer.tell(design, 0.0)
    assert len(calls) <= 3 * num


def test_a_given_point_that_was_carried_out_otherwise_is_not_asked_for_again():
    given = [{"x": 0.5}, {"x": 0.9}, {"x": 0.5}]
    optimizer = Optimizer({"x": (0.0, 1.0)}, initial=given)
    first = optimizer.ask()
    optimizer.tell({"x": 0.504}, 1.0)
    assert first == {"x": 0.5}
    assert optimizer.ask() == {"x": 0.9}
    optimizer.tell({"x": 0.9}, 2.0)
    assert optimizer.ask() not in given
