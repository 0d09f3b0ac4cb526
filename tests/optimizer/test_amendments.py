"""What was told can be put right: nothing is lost, and the model follows."""

import contextlib
import json
import time
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meseta
from meseta import AtMost, LearnedNormal, Normal, Optimizer
from meseta.optimizer.amendment import (
    Amendment,
    Entry,
    applied,
    local_time,
    read_amendment,
    user_name,
)
from meseta.optimizer.record import Trial

LINE = {"x": (0.0, 1.0)}
NOISE = Normal(0.05)


def told(values, **keywords):
    optimizer = Optimizer(LINE, noise=NOISE, num_initial=len(values), **keywords)
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    return optimizer


def test_a_corrected_record_gives_the_same_model_as_one_that_was_right():
    right, wrong = told([0.1, 0.5, 0.2, 0.7, 0.4]), told([0.1, 0.5, 1000.0, 0.7, 0.4])
    wrong.recommend()
    wrong.correct(2, 0.2, why="typed 1e3")
    assert wrong.recommend() == right.recommend()
    assert wrong.ask() == right.ask()
    (amendment,) = wrong.trials[2].amendments
    assert (amendment.what, amendment.why, amendment.who) == ("correct", "typed 1e3", user_name())
    assert amendment.changes == [("value", 1000.0, 0.2)]
    assert wrong.trials[2].value == 0.2


def test_a_withdrawn_trial_is_as_if_it_had_never_been():
    optimizer = told([0.1, 0.5, 9.0, 0.7])
    optimizer.withdraw(2, why="wrong sample")
    others = [trial for trial in optimizer.trials if trial.number != 2]
    again = Optimizer(LINE, noise=NOISE).with_trials(
        [Trial(i, t.params, t.value, t.state, t.origin) for i, t in enumerate(others)]
    )
    assert optimizer.recommend().params == pytest.approx(again.recommend().params)
    assert list(optimizer.history["value"]) == [0.1, 0.5, 0.7]
    assert optimizer.trials[2].state == "withdrawn"
    assert optimizer.trials[2].value is None
    assert optimizer.trials[2].amendments[0].before.value == 9.0
    assert "1 withdrawn" in repr(optimizer)
    with pytest.raises(ValueError, match="withdrawn before"):
        optimizer.withdraw(2, why="again")
    optimizer.correct(2, 0.3, why="the right sample after all")
    assert optimizer.trials[2].state == "complete"
    assert sorted(optimizer.history["value"]) == [0.1, 0.3, 0.5, 0.7]


def test_a_design_that_was_withdrawn_may_be_asked_for_again():
    optimizer = Optimizer(LINE, noise=NOISE, initial=[{"x": 0.25}, {"x": 0.75}])
    for value in (1.0, 2.0):
        optimizer.tell(optimizer.ask(), value)
    optimizer.withdraw(0, why="wrong sample")
    assert optimizer.ask() == {"x": 0.25}


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("method", ["rkg", "sobol"])
def test_a_withdrawn_trial_makes_no_other_design_come_twice(gone, method):
    """Trials of another tool are numbered anew, so that the sequence is some points behind."""
    first = 20 if method == "rkg" else 1
    optimizer = Optimizer(LINE, noise=NOISE, method=method, num_initial=first)
    designs = [optimizer.ask() for _ in range(4)]
    left = [design for i, design in enumerate(designs) if i != gone]
    trials = [Trial(i, design, 1.0, "complete", "method") for i, design in enumerate(left)]
    more = optimizer.with_trials(trials).ask(3)
    assert not [design for design in more if design in left]


def test_what_a_value_was_told_with_stays_or_is_put_right():
    optimizer = Optimizer(LINE, noise=NOISE, constraints={"stress": AtMost(3.0)})
    for _ in range(3):
        value = {"value": 1.0, "stress": 2.0}
        std = {"value": 0.1, "stress": 0.2}
        optimizer.tell(optimizer.ask(), value, std=std, n=3, executed="unseen")

    def quality(number):
        trial = optimizer.trials[number]
        return dict(trial.std), trial.n, trial.unseen

    optimizer.correct(0, 1.5, why="typed")
    assert quality(0) == (std, 3, True)
    optimizer.correct(0, why="the gauge", std=0.3, n=5)
    assert quality(0) == ({"value": 0.3, "stress": 0.2}, 5, True)
    assert optimizer.trials[0].amendments[1].in_words() == "std 0.1 -> 0.3, n 3 -> 5"
    optimizer.correct(0, why="seen", executed="known", std={"stress": None}, params={"x": 0.5})
    assert quality(0) == ({"value": 0.3}, 5, False)
    told = optimizer.trials[0].amendments[2].in_words()
    assert told.endswith("std of stress 0.2 -> none, executed unseen -> known")
    optimizer.correct(1, why="read off after all", params={"x": 0.4})
    assert (quality(1), optimizer.trials[1].measured) == ((std, 3, False), ("x",))
    optimizer.correct(1, None, why="cracked", executed="unseen")
    assert quality(1) == ({"stress": 0.2}, 3, True)
    with pytest.raises(ValueError, match="std of 'value', but no value of it"):
        optimizer.correct(1, why="x", std=0.1)
    optimizer.withdraw(2, why="wrong sample")
    assert quality(2) == ({}, 1, False)
    optimizer.correct(2, 1.1, why="no, the right one")
    assert quality(2) == (std, 3, True)
    with pytest.raises(ValueError, match="already has all of that"):
        optimizer.correct(2, why="x", std=0.1, n=3, executed="unseen")
    kept = [
        Trial(**{**vars(t), "amendments": [asdict(a) for a in t.amendments]})
        for t in optimizer.trials
    ]
    again = optimizer.with_trials(kept)
    assert again.trials == optimizer.trials
    assert again.recommend() == optimizer.recommend()


def test_what_was_measured_follows_what_was_carried_out_in_fact():
    optimizer = Optimizer({**LINE, "y": (0.0, 1.0)}, noise=NOISE)

    def pairs():
        return dict(zip(*optimizer.deviations[["parameter", "pairs"]].T.to_numpy(), strict=True))

    for _ in range(3):
        design = optimizer.ask()
        optimizer.tell(design, 1.0, executed={"x": design["x"]})
    assert pairs() == {"x": 3, "y": 0}
    optimizer.correct(0, why="read off anew", params={"y": 0.5})
    assert optimizer.trials[0].measured == ("x", "y")
    optimizer.withdraw(0, why="wrong sample")
    optimizer.correct(1, why="nobody saw it", executed="unseen")
    assert pairs() == {"x": 1, "y": 0}
    optimizer.correct(0, 1.0, why="no, the right one")
    assert pairs() == {"x": 2, "y": 1}
    optimizer.tell({"x": 0.3, "y": 0.3}, 1.0)
    optimizer.correct(3, why="there was no plan", params={"x": 0.4})
    assert pairs() == {"x": 2, "y": 1}
    said = json.loads(json.dumps([asdict(trial) for trial in optimizer.trials]))
    again = optimizer.with_trials(
        [Trial(**{**each, "measured": tuple(each["measured"])}) for each in said]
    )
    assert again.trials == optimizer.trials


def test_a_learned_width_follows_corrections():
    noise = {"x": LearnedNormal(0.05, worth=5)}
    right, wrong = (Optimizer(LINE, noise=noise) for _ in range(2))
    for optimizer, x in ((right, 0.52), (wrong, 0.9)):
        optimizer.tell({"x": 0.5}, 1.0, executed={"x": x})
        optimizer.tell({"x": 0.2}, 0.5)
    wrong.correct(0, why="typed", params={"x": 0.52})
    assert wrong.learned == right.learned
    assert wrong.recommend() == right.recommend()
    wrong.withdraw(0, why="wrong sample")
    assert wrong.learned == noise


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"std": -1.0}, "std must not be negative"),
        ({"std": {"mass": 1.0}}, "there is no outcome 'mass'"),
        ({"n": 0}, "n must be"),
        ({"executed": "seen"}, "executed must be 'known'"),
        ({"executed": "unseen"}, "noise"),
    ],
)
def test_what_a_value_cannot_have_been_told_with_is_refused(wrong, says):
    optimizer = Optimizer(LINE, noise={})
    optimizer.tell(optimizer.ask(), 1.0)
    before = optimizer.trials
    with pytest.raises(ValueError, match=says):
        optimizer.correct(0, why="x", **wrong)
    assert optimizer.trials == before


def test_failures_params_and_outcomes_are_put_right():
    optimizer = Optimizer(LINE, noise=NOISE, constraints={"stress": AtMost(3.0)})
    for _ in range(3):
        optimizer.tell(optimizer.ask(), {"value": 1.0, "stress": 2.0})
    optimizer.tell(optimizer.ask(), None, error="cracked")
    optimizer.correct(0, None, why="it cracked, too")
    assert (optimizer.trials[0].state, optimizer.trials[0].error) == ("failed", "it cracked, too")
    assert optimizer.trials[0].outcomes == {"stress": 2.0}
    planned = optimizer.trials[1].params
    optimizer.correct(1, why="read anew", params={"x": 1.25})
    assert (optimizer.trials[1].params, optimizer.trials[1].planned) == ({"x": 1.25}, planned)
    optimizer.correct(1, why="no, as planned", params=planned)
    assert optimizer.trials[1].planned is None
    optimizer.correct(2, {"stress": None}, why="the gauge was off")
    assert optimizer.trials[2].outcomes == {}
    optimizer.correct(3, {"value": 0.5, "stress": 1.0}, why="it held")
    assert (optimizer.trials[3].state, optimizer.trials[3].error) == ("complete", None)
    assert [dict(t.outcomes) for t in optimizer.trials] == [
        {"stress": 2.0},
        {"stress": 2.0},
        {},
        {"stress": 1.0},
    ]
    assert optimizer.outcome("stress")


def test_a_comment_changes_no_model():
    optimizer = told([0.1, 0.5, 0.2])
    best, fitted = optimizer.recommend(), optimizer.fitted
    optimizer.comment(1, "new batch of resin", who="Ann")
    optimizer.ask()
    optimizer.comment(3, "on Monday")
    assert optimizer.fitted is fitted
    assert optimizer.history["best_mean"].iloc[-1] == best.mean
    assert str(optimizer.trials[1].amendments[0]).startswith("new batch of resin (Ann, ")
    assert optimizer.trials[3].state == "pending"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: o.correct(3, 1.0, why="x"), "trial 3 is pending; tell its value"),
        (lambda o: o.correct(9, 1.0, why="x"), "there is no trial 9; the last one is 3"),
        (lambda o: o.correct(-1, 1.0, why="x"), "number must be at least 0"),
        (lambda o: o.correct(0, 0.1, why="x"), "already has all of that"),
        (lambda o: o.correct(0, why="x"), "there is nothing to correct of trial 0"),
        (lambda o: o.correct(0, 1.0, why=" "), "why must be a text"),
        (lambda o: o.correct(0, float("nan"), why="x"), "must be finite"),
        (lambda o: o.correct(0, 2e100, why="x"), "within"),
        (lambda o: o.correct(0, {"stress": 1.0}, why="x"), "no outcome 'stress'"),
        (lambda o: o.correct(0, why="x", params={"z": 1}), "no parameter 'z'"),
        (lambda o: o.correct(0, why="x", params=3), "params must be a dict"),
        (lambda o: o.correct(0, 1.0, why="x", error="e"), "is for trials that failed"),
        (lambda o: o.withdraw(3, why="x"), "is pending"),
        (lambda o: o.comment(0, ""), "text must be a text"),
        (lambda o: o.comment(0, 3), "text must be a text, got 3"),
        (lambda o: o.comment(0, "x", who=3), "who must be a text"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(call, message):
    optimizer = told([0.1, 0.5, 0.2])
    optimizer.ask()
    before = optimizer.trials
    with pytest.raises((TypeError, ValueError), match=message):
        call(optimizer)
    assert optimizer.trials == before


def test_trials_that_were_put_right_are_kept_in_a_file_and_taken_up_again():
    optimizer = told([0.1, 0.5, 0.2, None])
    optimizer.correct(0, 0.3, why="typed")
    optimizer.withdraw(1, why="wrong sample")
    optimizer.comment(2, "é\n=")
    rows = json.loads(json.dumps([asdict(trial) for trial in optimizer.trials]))
    again = Optimizer(LINE, noise=NOISE).with_trials([Trial(**row) for row in rows])
    assert again.trials == optimizer.trials
    again.correct(1, 0.4, why="right after all")
    assert again.trials[1].value == 0.4
    wrong = [Trial(0, {"x": 0.5}, 1.0, "complete", "told", amendments=({"what": "erase"},))]
    with pytest.raises(ValueError, match="trial 0: an amendment must be"):
        again.with_trials(wrong)


values = st.none() | st.floats(-10, 10)
amendments = st.one_of(
    st.builds(lambda why: Amendment("comment", why, "a", ""), st.text(min_size=1)),
    st.just(Amendment("withdraw", "w", "a", "")),
    st.builds(
        lambda value, error, params, outcomes: Amendment(
            "correct", "c", "a", "", value, error if value is None else None, params, outcomes
        ),
        values,
        st.none() | st.just("cracked"),
        st.dictionaries(st.just("x"), st.floats(0, 1)),
        st.dictionaries(st.sampled_from(["u", "v"]), values),
    ),
)


@given(values, st.lists(amendments, max_size=6))
def test_amendments_of_any_kind_in_any_order_can_be_applied(value, said):
    """Two people may say contrary things at the same moment: the last one counts."""
    entry = Entry(value, None if value is not None else "e", {"x": 0.5}, {"u": 1.0})
    steps = applied(entry, said)
    before = entry
    for now, known in steps:
        assert known.before == before
        assert read_amendment(json.loads(json.dumps(asdict(known)))) == known
        assert str(known)
        assert None not in now.outcomes.values()
        before = now
    counts = [a for a in said if a.counts or a.what == "withdraw"]
    assert before.withdrawn == (bool(counts) and counts[-1].what == "withdraw")
    given_values = [a for a in said if a.counts]
    assert before.value == (given_values[-1].value if given_values else value)


steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "tell", "fail", "correct", "set", "void", "comment"]),
        st.integers(0, 7),
        st.floats(-1, 1),
    ),
    max_size=25,
)


@given(steps)
def test_any_order_of_asking_telling_and_putting_right_leaves_a_sound_record(done):
    optimizer = Optimizer(LINE, noise=NOISE, method="sobol")
    for what, number, x in done:
        with contextlib.suppress(ValueError):  # what cannot be meant is refused
            if what == "ask":
                optimizer.ask()
            elif what in ("tell", "fail"):
                optimizer.tell({"x": abs(x)}, None if what == "fail" else x)
            elif what == "correct":
                optimizer.correct(number, x if x > -0.5 else None, why="w")
            elif what == "set":
                optimizer.correct(number, why="w", params={"x": x})
            elif what == "void":
                optimizer.withdraw(number, why="w")
            else:
                optimizer.comment(number, "c")
    trials = optimizer.trials
    counted = [t for t in trials if t.state in ("complete", "failed")]
    assert len(optimizer.history) == len(counted)
    assert all((t.value is None) == (t.state != "complete") for t in trials)
    again = Optimizer(LINE, noise=NOISE, method="sobol").with_trials(trials)
    assert again.trials == trials
    assert again.ask(2) == optimizer.ask(2)
    for trial in trials:
        before = [each.before for each in trial.amendments]
        assert None not in before


def test_withdrawn_trials_are_not_drawn():
    optimizer = told([0.1, 0.5, 0.2, 0.4])
    optimizer.withdraw(0, why="wrong sample")
    view = meseta.report.for_optimizer(optimizer).report
    assert view.search.trials[0].state == "withdrawn"
    assert view.complete == 3
    meseta.plot.trials(view)


def test_a_user_without_a_name_may_correct_all_the_same(monkeypatch):
    def unnamed():
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", unnamed)
    optimizer = told([0.1])
    optimizer.correct(0, 0.2, why="typed")
    assert optimizer.trials[0].amendments[0].who == "unknown"


def test_times_are_kept_in_utc_and_shown_where_the_reader_is(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert local_time("2026-01-31T23:15:00.000+00:00") == "2026-02-01 04:45+05:30"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local_time("yesterday") == "yesterday"
