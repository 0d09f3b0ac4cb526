"""A study of Optuna that is put right: its own trials stay, ours follow."""

import threading

import numpy as np
import optuna
import pytest

import meseta
from meseta.integrations.optuna import (
    EXECUTED,
    OUTCOMES,
    RobustSampler,
    comment,
    correct,
    recommend,
    report,
    withdraw,
)
from meseta.integrations.optuna.amended import amended_trials
from meseta.integrations.optuna.attributes import (
    AMENDMENT,
    ERROR,
    amendments_of,
    is_withdrawn,
    versions,
)

COMPLETE = optuna.trial.TrialState.COMPLETE
NOISE = {"x": meseta.Normal(0.05)}
X = optuna.distributions.FloatDistribution(0.0, 1.0)
SWITCH = optuna.distributions.CategoricalDistribution(["auto", False, True])
OIL = optuna.distributions.CategoricalDistribution(["mineral", "synthetic"])


def study_of(values, **attributes):
    study = optuna.create_study(direction="maximize")
    for i, value in enumerate(values):
        state = optuna.trial.TrialState.FAIL if value is None else COMPLETE
        study.add_trial(
            optuna.trial.create_trial(
                state=state,
                value=value,
                params={"x": 0.1 + i / 7, "oil": "mineral"},
                distributions={"x": X, "oil": OIL},
                user_attrs=attributes,
            )
        )
    return study


def test_a_corrected_study_recommends_as_one_that_was_right():
    wrong, right = study_of([0.1, 0.6, 1000.0, 0.7, 0.2]), study_of([0.1, 0.6, 0.9, 0.7, 0.2])
    said = correct(wrong, 2, 0.9, why="typed 1e3", who="Ann")
    assert said.changes == [("value", 1000.0, 0.9)]
    one, other = (recommend(study, noise=NOISE, seed=0) for study in (wrong, right))
    assert (one.params, one.mean) == (other.params, other.mean)
    designs = []
    for study in (wrong, right):
        study.sampler = RobustSampler(noise=NOISE, seed=3)
        designs.append(study.ask({"x": X, "oil": OIL}).params)
    assert designs[0] == designs[1]
    assert wrong.trials[2].value == 1000.0  # Optuna's own


def test_a_withdrawn_trial_is_left_out_and_shown_in_the_report():
    study = study_of([0.1, 0.6, 1000.0, 0.7])
    withdraw(study, 2, why="wrong sample")
    assert is_withdrawn(amended_trials(study)[2])
    assert len(recommend(study, noise=NOISE).optimizer.trials) == 3
    page = report(study, noise=NOISE)
    assert [trial.state for trial in page.report.search.trials].count("withdrawn") == 1
    assert "Corrections and comments" in page.html
    assert "wrong sample" in page.html
    with pytest.raises(ValueError, match="trial 2 was withdrawn before"):
        withdraw(study, 2, why="again")
    correct(study, 2, 0.8, why="the right one after all")
    assert amended_trials(study)[2].value == 0.8
    assert [each.value for each in versions(amended_trials(study)[2])] == [1000.0, 0.8]


def test_everything_that_a_trial_says_can_be_put_right():
    study = study_of([0.5, None], **{EXECUTED: {"x": 0.3}, OUTCOMES: {"u": 1.0}})
    correct(study, 0, {"u": None, "v": 2.0}, why="other gauge", params={"oil": "synthetic"})
    first, second = amended_trials(study)
    assert first.user_attrs[OUTCOMES] == {"u": None, "v": 2.0}
    assert first.user_attrs[EXECUTED] == {"x": 0.3, "oil": "synthetic"}
    correct(study, 0, None, why="cracked")
    correct(study, 1, 0.25, why="it held")
    first, second = amended_trials(study)
    assert (first.state.name, first.value, first.user_attrs[ERROR]) == ("FAIL", None, "cracked")
    assert (second.state.name, second.value) == ("COMPLETE", 0.25)
    correct(study, 0, 0.75, why="no, it held")
    assert amended_trials(study)[0].value == 0.75
    assert len(amendments_of(amended_trials(study)[0])) == 3


def test_an_unknown_outcome_is_unknown_also_where_optuna_has_it_as_a_constraint():
    study = optuna.create_study(direction="maximize")
    for i in range(4):
        trial = study.ask({"x": X})
        trial.set_constraint("load", float(i) - 2)
        study.tell(trial, float(i))
    correct(study, 3, {"load": None}, why="the gauge was off")
    (amendment,) = amendments_of(amended_trials(study)[3])
    assert amendment.changes == [("load", 1.0, None)]
    optimizer = recommend(study, noise=NOISE).optimizer
    assert [dict(trial.outcomes) for trial in optimizer.trials][3] == {}


def test_how_good_values_are_and_how_they_were_carried_out_is_put_right():
    """The same as by Optimizer.correct."""
    study = study_of([0.1, 0.6, 0.9, 0.7], **{OUTCOMES: {"mass": 2.0}})
    correct(study, 1, why="read off anew", std={"value": 0.2, "mass": 0.1}, n=4)
    correct(study, 2, 0.8, why="nobody measured", std=0.1, executed="unseen")
    correct(study, 1, why="not known", std={"mass": None})
    said = {"noise": NOISE, "outcomes": ["mass"], "seed": 0}
    trials = recommend(study, **said).optimizer.trials
    assert (dict(trials[1].std), trials[1].n, trials[1].unseen) == ({"value": 0.2}, 4, False)
    assert (dict(trials[2].std), trials[2].n, trials[2].unseen) == ({"value": 0.1}, 1, True)
    by_hand = recommend(
        study_of([0.1, 0.6, 0.9, 0.7], **{OUTCOMES: {"mass": 2.0}}), **said
    ).optimizer
    by_hand.correct(1, why="read off anew", std=0.2, n=4)
    by_hand.correct(2, 0.8, why="nobody measured", std=0.1, executed="unseen")
    assert recommend(study, **said).mean == by_hand.recommend().mean
    with pytest.raises(ValueError, match="say executed='known' if params were carried out"):
        correct(study, 2, why="seen", params={"x": 0.4})
    correct(study, 2, why="seen", params={"x": 0.4}, executed="known")
    seen = recommend(study, **said).optimizer.trials[2]
    assert (seen.params["x"], seen.unseen) == (0.4, False)


def test_corrected_params_are_what_their_distributions_have():
    study = optuna.create_study(direction="maximize")
    trial = study.ask({"n": optuna.distributions.IntDistribution(0, 5), "k": SWITCH})
    study.tell(trial, 1.0)
    for params, message in (
        ({"n": 2.5}, "'n' must be a whole number"),
        ({"k": 1}, "no choice 1"),
        ({"k": [True]}, "no choice"),
        ([("n", 2)], "params must be a dict"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            correct(study, 0, why="read off anew", params=params)
    correct(study, 0, why="read off anew", params={"n": np.int64(3), "k": np.bool_(True)})
    (amendment,) = amendments_of(amended_trials(study)[0])
    assert {type(value) for value in amendment.params.values()} == {int, bool}


def test_pruned_trials_comments_and_trials_that_run():
    study = study_of([0.5, 0.6, 0.7])
    running = study.ask({"x": X, "oil": OIL})
    comment(study, running.number, "new batch")
    assert str(amendments_of(amended_trials(study)[3])[0]).startswith("new batch (")
    with pytest.raises(ValueError, match="trial 3 is not finished"):
        correct(study, 3, 1.0, why="x")
    study.tell(running, state=optuna.trial.TrialState.PRUNED)
    correct(study, 3, 1.0, why="it went on by hand")
    trial = amended_trials(study)[3]
    assert (trial.state.name, trial.value) == ("COMPLETE", 1.0)
    assert [each.what for each in amendments_of(trial)] == ["comment", "correct"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: correct(s, 7, 1.0, why="x"), "there is no trial 7"),
        (lambda s: correct(s, 0, "much", why="x"), "must be a number"),
        (lambda s: correct(s, 0, 1e101, why="x"), "within"),
        (lambda s: correct(s, 0, 1.0, why=""), "why must be a text"),
        (lambda s: correct(s, 0, why="x", params={"y": 1.0}), "no parameter 'y'"),
        (lambda s: correct(s, 0, why="x", params={"oil": "olive"}), "no choice 'olive'"),
        (lambda s: correct(s, 0, why="x", params={"x": float("inf")}), "must be finite"),
        (lambda s: correct(s, 0, 0.5, why="x"), "already has all of that"),
        (lambda s: correct(s, 0, why="x", std=-0.1), "std must not be negative"),
        (lambda s: correct(s, 0, why="x", std="rough"), "std must be a number"),
        (lambda s: correct(s, 0, why="x", std={"mass": 0.1}), "there is no outcome 'mass'"),
        (lambda s: correct(s, 0, None, why="x", std=0.1), "a std of 'value', but no value"),
        (lambda s: correct(s, 0, why="x", n=0), "n must be at least 1"),
        (lambda s: correct(s, 0, why="x", n=1.5), "n must be a whole number"),
        (lambda s: correct(s, 0, why="x", executed="seen"), "executed must be 'known'"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, message):
    study = study_of([0.5])
    with pytest.raises((TypeError, ValueError), match=message):
        call(study)
    assert not study.user_attrs


def test_two_who_amend_at_the_same_moment_both_stay_on_record(tmp_path):
    storage = f"sqlite:///{tmp_path / 'a.db'}"
    optuna.create_study(study_name="a", storage=storage).add_trials(study_of([0.5]).trials)
    start, answers = threading.Barrier(4), {}

    def amend(i):
        study = optuna.load_study(study_name="a", storage=storage)
        start.wait()
        try:
            answers[i] = correct(study, 0, float(i), why=f"by {i}", who=str(i)).value
        except RuntimeError as error:
            answers[i] = str(error)

    threads = [threading.Thread(target=amend, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    study = optuna.load_study(study_name="a", storage=storage)
    (trial,) = amended_trials(study)
    known = amendments_of(trial)
    assert sorted(each.who for each in known) == ["0", "1", "2", "3"]
    assert trial.value == known[-1].value
    # whose correction does not hold is told so
    for i, answer in answers.items():
        assert answer == i or "was put right by somebody else at the same moment" in str(answer)
    assert answers[int(trial.value)] == trial.value
    # a clock that goes wrong does not put a later correction before an earlier one
    key = next(key for key in study.user_attrs if key.startswith(AMENDMENT))
    late = {**study.user_attrs[key], "when": "2999-01-01T00:00:00.000+00:00"}
    study.set_user_attr(key, late)
    correct(study, 0, 9.0, why="the last word")
    assert amended_trials(study)[0].value == 9.0


def test_an_amendment_of_a_newer_version_is_not_passed_over():
    study = study_of([0.5])
    study.set_user_attr(f"{AMENDMENT}0:abc", {"trial": 0, "what": "split", "why": "x"})
    with pytest.raises(ValueError, match="no amendment that is known here"):
        amended_trials(study)


def test_the_study_that_hyperband_shows_to_samplers_works():
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    sampler = RobustSampler(noise=NOISE, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=3)
    assert len(study.trials) == 3
