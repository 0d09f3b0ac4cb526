"""RobustSampler and recommend in Optuna: every kind of parameter, trial and worker."""

import itertools
import math
import subprocess
import sys
import threading

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import meseta
from examples import thorough
from meseta.integrations.optuna import EXECUTED, OUTCOMES, RobustSampler, recommend
from meseta.integrations.optuna.study_space import StudySpace, noise_within
from meseta.integrations.optuna.study_trials import read_trials

NOISE = {"x": meseta.Normal(0.05)}
FAST = {"method": "uu-ucb", "num_initial": 3, "seed": 7}


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def needle(x):
    """The needle at 0.2 is twice as tall as the plateau at 0.7, and lost under noise of 0.05."""
    return math.exp(-(((x - 0.2) / 0.02) ** 2)) + 0.5 * math.exp(-(((x - 0.7) / 0.15) ** 2))


def objective(trial):
    return needle(trial.suggest_float("x", 0, 1))


def study_of(sampler=None, direction="maximize", **options):
    sampler = sampler or RobustSampler(noise=NOISE, **FAST)
    return optuna.create_study(direction=direction, sampler=sampler, **options)


def filled(values=None, sampler=None, **options):
    """A study with a value every 0.1 of x."""
    study = study_of(sampler, **options)
    for i in range(1, 10):
        add(study, {"x": i / 10}, math.sin(i / 3) if values is None else values)
    return study


def add(study, params, value=None, **options):
    distributions = {name: FloatDistribution(0, 1) for name in params}
    trial = create_trial(params=params, distributions=distributions, value=value, **options)
    study.add_trial(trial)


def suggested(study):
    return study.ask().suggest_float("x", 0, 1)


# A whole run


def test_a_run_finds_the_plateau_and_not_the_needle():
    known = {"noise": NOISE, "noise_variance": 0.0}  # otherwise a single high value may be scatter
    study = study_of(RobustSampler(**known, seed=1, method="uu-ei", num_initial=6))
    study.enqueue_trial({"x": 0.2})  # where the needle is
    study.optimize(objective, n_trials=12)
    assert study.best_params["x"] == 0.2
    best = recommend(study, **known)
    assert best.params["x"] == pytest.approx(0.7, abs=0.03)
    assert best.nominal.params["x"] == pytest.approx(0.2, abs=0.03)
    # E of the plateau at its top: a Gaussian bump of variance 0.15**2 / 2, smoothed by 0.05**2
    expected = 0.5 * (0.5 * 0.15**2 / (0.5 * 0.15**2 + 0.05**2)) ** 0.5
    assert best.mean == pytest.approx(expected, abs=0.03)


def test_minimising_is_maximising_the_mirror_image():
    up, down = filled(), study_of(direction="minimize")
    for trial in up.trials:
        add(down, trial.params, -trial.value)
    assert suggested(up) == suggested(down)
    assert recommend(up, noise=NOISE).mean == -recommend(down, noise=NOISE).mean


def test_yesterdays_study_by_another_sampler():
    study = study_of(optuna.samplers.TPESampler(seed=0, n_startup_trials=15))
    study.enqueue_trial({"x": 0.19})
    study.optimize(objective, n_trials=40)
    assert study.best_params["x"] == pytest.approx(0.2, abs=0.03)
    assert recommend(study, noise=NOISE).params["x"] == pytest.approx(0.7, abs=0.05)


# Every kind of parameter


def mixed(trial):
    total = trial.suggest_float("float", -1, 1)
    total += math.log10(trial.suggest_float("log", 1e-5, 1e-1, log=True))
    total += trial.suggest_float("step", 0, 1, step=0.1)
    total += trial.suggest_int("int", 1, 9, step=2)
    total += math.log(trial.suggest_int("wide", 1, 1000, log=True))
    total += {None: 0, True: 1, 1.5: 2, "a": 3}[
        trial.suggest_categorical("any", [None, True, 1.5, "a"])
    ]
    trial.suggest_float("fixed", 3.0, 3.0)
    return total


def test_all_kinds_of_parameters_keep_their_types():
    study = study_of(RobustSampler(noise={"float": meseta.Normal(0.1)}, **FAST))
    study.optimize(mixed, n_trials=5)
    for params in [trial.params for trial in study.trials]:
        assert [type(params[n]) for n in ("float", "log", "step", "int", "wide")] == [
            float,
            float,
            float,
            int,
            int,
        ]
        assert params["step"] in [round(0.1 * i, 1) for i in range(11)]
        assert params["int"] in (1, 3, 5, 7, 9)
        assert any(params["any"] is each for each in (None, True, "a")) or params["any"] == 1.5
        assert params["fixed"] == 3.0
    best = recommend(study, noise={"float": meseta.Normal(0.1)})
    assert best.params.keys() == study.trials[0].params.keys()
    study.enqueue_trial(best.params)
    study.optimize(mixed, n_trials=1)
    assert study.trials[-1].params == best.params


def test_choices_that_look_alike_or_are_no_choices_of_ours():
    choices = (1, True, math.nan, "1")
    space = StudySpace({"c": CategoricalDistribution(choices), "one": IntDistribution(2, 2)})
    assert space.fixed == {"one": 2}
    for index, label in enumerate(space.labels["c"]):
        assert space.to_optuna({"c": label})["c"] is choices[index]
    assert space.to_meseta({"c": "1"}) == {"c": "3: '1'"}
    plain = StudySpace({"c": CategoricalDistribution((None, False, 2, "x"))})
    assert plain.labels["c"] == (None, False, 2, "x")


def test_conditional_parameters_are_sampled_at_random_and_the_common_ones_modelled():
    def conditional(trial):
        x = trial.suggest_float("x", 0, 1)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return x + trial.suggest_float(kind, 0, 1)

    # "a" has noise, but not all trials have "a"
    noise = {"x": meseta.Normal(0.05), "a": meseta.Normal(0.1)}
    study = study_of(RobustSampler(noise=noise, **FAST))
    study.optimize(conditional, n_trials=6)
    assert {"a", "b"} <= {name for trial in study.trials for name in trial.params}
    best = recommend(study, noise=noise)
    assert set(best.params) == {"x", "kind"}
    assert "left out" in best.notes[0]
    assert "a, b" in str(best) or "b, a" in str(best)


def test_a_joint_law_of_which_a_part_is_there_has_its_marginal():
    joint = meseta.Normal(covariance=[[0.04, 0.01], [0.01, 0.09]])
    part = noise_within({("x", "y"): joint, "z": meseta.Normal(1.0)}, {"y": "y"})
    assert list(part) == [("y",)]
    assert float(part["y",].covariance_matrix) == pytest.approx(0.09)
    both = noise_within({("x", "y"): joint}, {"x": "x", "y": "y_", "z": "z"})
    assert both == {("x", "y_"): joint}


def test_names_that_an_optimizer_would_refuse():
    names = ["value", "state", "x", "best_x", "value_", " "]
    study = study_of(
        RobustSampler(noise={"value": meseta.Normal(0.1)}, edge={"state": "clip"}, **FAST)
    )
    for i in range(4):
        add(study, {name: (0.3 * i + 0.1 * k) % 1 for k, name in enumerate(names)}, float(i))
    trial = study.ask({name: FloatDistribution(0, 1) for name in names})
    assert set(trial.params) == set(names)
    best = recommend(study, noise={"value": meseta.Normal(0.1)})
    assert set(best.params) == set(names)


def test_names_of_noise_that_never_occur_are_pointed_out():
    study = filled(sampler=RobustSampler(noise={"X": meseta.Normal(0.1)}, **FAST))
    with pytest.warns(RuntimeWarning, match=r"no trial has had.*did you mean 'x'"):
        suggested(study)
    with pytest.raises(ValueError, match=r"no complete trial has.*did you mean 'x'"):
        recommend(study, noise={"X": meseta.Normal(0.1)})
    with pytest.raises(ValueError, match="no complete trial has"):
        recommend(study, noise=NOISE, edge={"y": "clip"})


def test_an_environment_is_set_in_trials_and_no_part_of_the_answer():
    noise = {"x": meseta.Normal(0.05), "load": meseta.Environment(meseta.Normal(0.1, mean=0.5))}
    study = study_of(RobustSampler(noise=noise, **FAST))
    study.optimize(
        lambda t: -((t.suggest_float("x", 0, 1) - t.suggest_float("load", 0, 1)) ** 2), n_trials=8
    )
    best = recommend(study, noise=noise)
    assert list(best.params) == ["x"]
    assert best.params["x"] == pytest.approx(0.5, abs=0.1)


# What was carried out


def test_the_model_learns_from_what_was_executed():
    study, plain = study_of(), study_of()
    for i in range(1, 10):
        x = i / 10
        add(study, {"x": x}, needle(x + 0.05), user_attrs={EXECUTED: {"x": x + 0.05}})
        add(plain, {"x": x + 0.05 if i < 10 else 1.0}, needle(x + 0.05))
    best = recommend(study, noise=NOISE)
    assert best.params == recommend(plain, noise=NOISE).params
    executed = best.optimizer.trials[0]
    assert (executed.params["x"], executed.planned["x"]) == (pytest.approx(0.15), 0.1)
    assert best.optimizer.deviations["mean"].tolist() == pytest.approx([0.05])


def test_an_observed_variable_comes_with_the_trial():
    wind = meseta.Environment(meseta.Normal(0.1, mean=0.4), observed=True)
    noise = {"x": meseta.Normal(0.05), "wind": wind}

    def observing(trial):
        x, _ = trial.suggest_float("x", 0, 1), trial.suggest_float("wind", 0, 1)
        observed = 0.3 + 0.02 * trial.number
        trial.set_user_attr(EXECUTED, {"wind": observed})
        return -((x - observed) ** 2)

    study = study_of(RobustSampler(noise=noise, **FAST))
    study.optimize(observing, n_trials=6)
    best = recommend(study, noise=noise)
    assert best.optimizer.trials[3].params["wind"] == pytest.approx(0.36)
    assert best.params["x"] == pytest.approx(0.4, abs=0.1)
    add(study, {"x": 0.5, "wind": 0.5}, 0.0)  # that does not say
    assert "'wind' is observed" in recommend(study, noise=noise).notes[0]
    with pytest.warns(RuntimeWarning, match="'wind' is observed"):
        study.ask().suggest_float("x", 0, 1)


@pytest.mark.parametrize(
    ("executed", "expected"),
    [
        (3, "must be a dict of values by name, got 3"),
        ({"X": 0.3}, "did you mean 'x'"),
        ({"x": "far"}, "must be a number"),
        ({"x": None}, "must be a number"),
    ],
)
def test_trials_with_unreadable_executed_values_are_left_out(executed, expected):
    study = filled()
    add(study, {"x": 0.55}, 99.0, user_attrs={EXECUTED: executed})
    space = StudySpace({"x": FloatDistribution(0, 1)})
    read = read_trials(study.trials, space)
    assert len(read.left_out) == 1
    assert expected in read.left_out[0]
    assert read.left_out[0].startswith("trial 9 is left out")
    assert [trial.state for trial in read.trials] == ["complete"] * 9 + ["failed"]
    assert read.trials[9].params == {"x": 0.55}


# Every kind of trial


def test_running_trials_are_pending():
    study = filled()
    first, second = suggested(study), suggested(study)
    assert abs(first - second) > 1e-3


def test_trials_that_have_started_without_params_are_reckoned_with():
    alone, crowd = filled(), filled()
    waiting = [crowd.ask() for _ in range(2)]
    assert abs(suggested(alone) - suggested(crowd)) > 1e-3
    later = [trial.suggest_float("x", 0, 1) for trial in waiting]
    assert min(abs(a - b) for i, a in enumerate(later) for b in later[:i]) > 1e-3


def test_what_a_running_trial_has_not_suggested_yet_is_guessed():
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    study = study_of()
    for x, y in [(0.1, 0.2), (0.5, 0.9), (0.8, 0.3), (0.3, 0.6)]:
        add(study, {"x": x, "y": y}, x * y)
    half = study.ask()
    x = half.suggest_float("x", 0, 1)
    other = study.ask(space).params
    assert abs(other["x"] - x) > 1e-3 or abs(other["y"] - half.suggest_float("y", 0, 1)) > 1e-3


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.PRUNED])
def test_failed_and_pruned_trials_are_avoided_and_have_no_value(state):
    study = filled()
    tempting = suggested(filled())
    for _ in range(2):
        add(study, {"x": tempting}, state=state)
    assert abs(suggested(study) - tempting) > 1e-3
    assert recommend(study, noise=NOISE).params == recommend(filled(), noise=NOISE).params


def test_objectives_that_fail_or_prune_do_not_stop_a_study():
    def fragile(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number % 3 == 1:
            raise RuntimeError("broken")
        trial.report(x, 0)
        if trial.number % 3 == 2:
            raise optuna.TrialPruned
        return x

    study = study_of()
    study.optimize(fragile, n_trials=8, catch=RuntimeError)
    xs = [trial.params["x"] for trial in study.trials]
    assert min(abs(a - b) for i, a in enumerate(xs) for b in xs[:i]) > 1e-4


def test_infinite_values_are_left_out():
    study = filled()
    add(study, {"x": 0.55}, math.inf)
    with pytest.warns(
        RuntimeWarning, match="trial 9 is left out of the model: its value must be finite, got inf"
    ):
        suggested(study)
    best = recommend(study, noise=NOISE)
    assert "its value must be finite, got inf" in str(best)
    assert best.mean == recommend(filled(), noise=NOISE).mean
    add(study, {"x": 0.65}, 1e200)
    assert "trial 11 is left out of the model: its value must be within ±1e+100" in str(
        recommend(study, noise=NOISE)
    )
    only = study_of()
    add(only, {"x": 0.5}, -math.inf)
    with pytest.raises(
        ValueError, match=r"no trial .* has a value to go by: .* its value must be finite, got -inf"
    ):
        recommend(only, noise=NOISE)


def test_enqueued_trials_are_carried_out_first():
    study = study_of()
    study.enqueue_trial({"x": 0.123})
    study.optimize(objective, n_trials=2)
    assert study.trials[0].params == {"x": 0.123}


def test_a_pruner_that_shows_a_part_of_the_study():
    study = study_of(pruner=optuna.pruners.HyperbandPruner(1, 4))
    study.optimize(objective, n_trials=6)
    assert len(study.trials) == 6


# Seeds, processes, threads


def test_the_storage_and_the_seed_determine_the_suggestion():
    first, again = suggested(filled()), suggested(filled())
    assert first == again
    other = RobustSampler(noise=NOISE, **{**FAST, "seed": 8, "num_initial": 20})
    assert suggested(filled(sampler=other)) != suggested(
        filled(sampler=RobustSampler(noise=NOISE, **{**FAST, "num_initial": 20}))
    )


def test_random_values_depend_on_trial_and_parameter():
    study = study_of()
    trials = [study.ask() for _ in range(2)]
    values = [trial.suggest_float(name, 0, 1) for trial in trials for name in ("x", "y")]
    assert len(set(values)) == 4
    again = study_of()
    assert again.ask().suggest_float("x", 0, 1) == values[0]


def test_no_seed_and_a_new_seed_are_random():
    free = [study_of(RobustSampler(noise=NOISE)).ask().suggest_float("x", 0, 1) for _ in range(2)]
    assert free[0] != free[1]
    sampler = RobustSampler(noise=NOISE, seed=1)
    before = study_of(sampler).ask().suggest_float("x", 0, 1)
    sampler.reseed_rng()
    assert study_of(sampler).ask().suggest_float("x", 0, 1) != before


TAKE_OVER = """
import optuna, meseta
from meseta.integrations.optuna import RobustSampler
sampler = RobustSampler(noise={"x": meseta.Normal(0.05)}, method="uu-ucb", num_initial=3, seed=7)
study = optuna.load_study(study_name="s", storage="%s", sampler=sampler)
print(repr(study.ask().suggest_float("x", 0, 1)))
"""


def test_another_process_takes_over(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    study = study_of(study_name="s", storage=storage)
    study.optimize(objective, n_trials=5)
    twin = study_of()
    twin.add_trials(study.trials)
    code = TAKE_OVER % storage
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == suggested(twin)


def test_two_workers_on_one_storage_do_not_propose_nearly_the_same(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    filled(study_name="s", storage=storage)
    ready, points = threading.Barrier(2), []

    def work():
        sampler = RobustSampler(noise=NOISE, **FAST)  # the same seed in both
        study = optuna.load_study(study_name="s", storage=storage, sampler=sampler)
        trial = study.ask()
        ready.wait()
        points.append(trial.suggest_float("x", 0, 1))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(points) == 2
    assert abs(points[0] - points[1]) > 1e-3


def test_several_jobs_in_one_process():
    study = study_of()
    study.optimize(objective, n_trials=8, n_jobs=2)
    xs = sorted(trial.params["x"] for trial in study.trials)
    assert len(xs) == 8
    assert min(b - a for a, b in itertools.pairwise(xs)) > 1e-4


# Refusals


def test_several_objectives_are_refused_and_constraints_by_some_methods():
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RobustSampler(noise=NOISE))
    with pytest.raises(ValueError, match="one objective is supported, but the study has 2"):
        study.ask().suggest_float("x", 0, 1)
    with pytest.raises(ValueError, match="one objective"):
        recommend(study, noise=NOISE)
    bound = filled()
    add(bound, {"x": 0.5}, 1.0, system_attrs={"constraints": [1.0], "constraints:c": 1.0})
    with pytest.raises(ValueError, match="the method 'nes-ep' knows of one outcome only"):
        recommend(bound, noise=NOISE, method="nes-ep")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"noise": {"x": 0.1}}, "the noise of 'x'"),
        ({"noise": {3: meseta.Normal(0.1)}}, "noise must name parameters, got 3"),
        ({"noise": "Normal"}, "noise"),
        ({"method": "gp"}, "no method 'gp'"),
        ({"options": {"beta": "much"}, "method": "uu-ucb"}, "beta"),
        ({"edge": "stop"}, "no edge 'stop'"),
        ({"edge": {"x": "stop"}}, "no edge 'stop'"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"num_initial": 0}, "num_initial must be at least 1"),
        ({"prior": "flat"}, "prior"),
        ({"noise_variance": -1.0}, "noise_variance must not be negative"),
        ({"initial": "grid"}, "no initial design 'grid'"),
        ({"initial": [{"x": 0.5}]}, r"by study.enqueue_trial\(...\)"),
        ({"kernel": "rbf"}, "no kernel 'rbf', only 'auto', 'se', 'matern52'"),
        ({"direction": "minimize"}, "no setting 'direction'"),
        ({"settings": {"seed": 1}}, "settings must be meseta.Settings"),
    ],
)
def test_bad_settings_are_refused_at_once(arguments, expected):
    arguments = {"noise": NOISE, **arguments}
    with pytest.raises((TypeError, ValueError), match=expected):
        RobustSampler(**arguments)


def test_a_study_without_anything_to_go_by_is_refused():
    with pytest.raises(ValueError, match="has no complete trial to go by"):
        recommend(study_of(), noise=NOISE)
    apart = study_of()
    add(apart, {"x": 0.5}, 1.0)
    add(apart, {"y": 0.5}, 1.0)
    with pytest.raises(ValueError, match=r"no parameter in common.* one branch of a conditional"):
        recommend(apart, noise=None)
    moved = study_of()
    for high in (1.0, 2.0):
        moved.enqueue_trial({"x": 0.5})
        trial = moved.ask({"x": FloatDistribution(0.0, high)})
        moved.tell(trial, 1.0)
    with pytest.raises(ValueError, match="or the kind, of 'x' changed meanwhile"):
        recommend(moved, noise=NOISE)


# The answer, and imports


def test_the_answer_prints_both_optima():
    text = str(recommend(filled(), noise=NOISE))
    for part in ("maximize, 9 complete trials", "robust optimum", "nominal optimum", "E f(x + xi)"):
        assert part in text


def test_importing_the_module_does_not_import_torch():
    code = "import sys, meseta.integrations.optuna.sampler; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("dashboard", "optuna_dashboard", r"meseta\[dashboard\]"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, module, library, extra):
    name = f"meseta.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without(library), *sys.meta_path])
    for loaded in [each for each in sys.modules if each.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, loaded)
    with pytest.raises(ImportError, match=f"pip install '{extra}'"):
        __import__(name)


class Without:
    """A finder that does not find one library."""

    def __init__(self, library):
        self.library = library

    def find_spec(self, name, path=None, target=None):
        if name == self.library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_noise_that_was_forgotten_is_asked_for():
    study = optuna.create_study()
    for door in (RobustSampler, lambda **keywords: recommend(study, **keywords)):
        with pytest.raises(TypeError, match=r"noise is missing.*noise=None if nothing does"):
            door(seed=0)
    RobustSampler(noise=None)
    RobustSampler(settings=meseta.Settings(seed=1))


# Constraints and other outcomes


def constrained_study(n=9, sampler=None, constraints=None):
    sampler = sampler or RobustSampler(noise=NOISE, seed=1, constraints=constraints or {})
    study = optuna.create_study(sampler=sampler, direction="maximize")

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        set_constraint(trial, x)
        if 0.3 < x < 0.4:
            raise optuna.TrialPruned
        return x

    study.optimize(objective, n_trials=n)
    return study


def set_constraint(trial, x):
    """The value x - 0.6 is to stay at or below 0."""
    if hasattr(trial, "set_constraint"):
        trial.set_constraint("excess", x - 0.6)
    else:
        trial.set_user_attr(OUTCOMES, {"excess": x - 0.6})


LIMIT = 0.6 - 1.6449 * 0.05


def test_constraints_of_optuna_hold_in_use():
    own = {} if hasattr(optuna.trial.Trial, "set_constraint") else {"excess": meseta.AtMost(0)}
    study = constrained_study(constraints=own)
    answer = recommend(study, noise=NOISE, constraints=own)
    assert answer.feasible
    assert answer.params["x"] == pytest.approx(LIMIT, abs=0.02)
    assert answer.kept["excess"].constraint == meseta.AtMost(0.0)
    assert "excess at most 0: kept in" in repr(answer)
    stricter = {"excess": meseta.AtMost(0, probability=0.99)}
    answer = recommend(study, noise=NOISE, constraints=stricter)
    assert answer.params["x"] == pytest.approx(0.6 - 2.326 * 0.05, abs=0.02)


def test_numbered_constraints_of_older_studies():
    study = optuna.create_study(direction="maximize")
    for x in (0.05, 0.2, 0.45, 0.6, 0.8, 0.95):
        add(study, {"x": x}, x, system_attrs={"constraints": [x - 0.6, -1.0]})
    answer = recommend(study, noise=NOISE)
    assert set(answer.kept) == {"constraint 0", "constraint 1"}
    assert answer.params["x"] == pytest.approx(LIMIT, abs=0.02)


def test_other_outcomes_by_an_attribute():
    study = optuna.create_study(direction="maximize")
    for x in (0.05, 0.2, 0.45, 0.6, 0.8):
        add(study, {"x": x}, x, user_attrs={OUTCOMES: {"stress": 100 * x, "colour": "red"}})
    add(study, {"x": 0.95}, 0.95, user_attrs={OUTCOMES: {"stress": "high"}})
    add(study, {"x": 0.9}, 0.9, user_attrs={OUTCOMES: 3})
    limits = {"stress": meseta.AtMost(60)}
    answer = recommend(study, noise=NOISE, constraints=limits)
    assert LIMIT - 0.07 < answer.params["x"] < LIMIT + 0.01  # by five values of it
    assert any("'stress' must be a number, got 'high'" in note for note in answer.notes)
    assert any("must be a dict, got 3" in note for note in answer.notes)


@thorough
def test_suggestions_are_allowed_once_parameters_are_known():
    def rule(params):
        return params["x"] + params["y"] <= 1

    for allowed in ("x + y <= 1", rule):
        sampler = RobustSampler(noise=NOISE, seed=1, allowed=allowed)
        study = optuna.create_study(sampler=sampler)
        study.optimize(
            lambda t: t.suggest_float("x", 0, 1) - t.suggest_float("y", 0, 1), n_trials=8
        )
        assert all(t.params["x"] + t.params["y"] <= 1 + 1e-9 for t in study.trials[1:])
        best = recommend(study, noise=NOISE, allowed=allowed).params
        assert best["x"] + best["y"] <= 1 + 1e-9


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 5 has names")
@pytest.mark.parametrize("name", ["value", "x", "state", "x<=0.6", "7"])
def test_names_of_constraints_that_are_taken(name):
    """They cannot be changed any more, so other names are found for them."""
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint(name, x - 0.6)
        return x

    study.optimize(objective, n_trials=8)
    answer = recommend(study, noise=NOISE)
    assert answer.params["x"] == pytest.approx(LIMIT, abs=0.02)
    with pytest.raises(ValueError, match="which is also the name of what is optimised"):
        recommend(study, noise=NOISE, objective=next(iter(answer.kept)))


def test_outcomes_count_also_where_the_value_is_no_number():
    study = optuna.create_study(direction="maximize")
    for x in (0.05, 0.2, 0.45):
        add(study, {"x": x}, x, user_attrs={OUTCOMES: {"stress": x}})
    for x in (0.6, 0.8, 0.95):
        add(study, {"x": x}, math.inf, user_attrs={OUTCOMES: {"stress": x}})
    answer = recommend(study, noise=NOISE, constraints={"stress": meseta.AtMost(0.6)})
    assert answer.kept["stress"].counted.values == 6
