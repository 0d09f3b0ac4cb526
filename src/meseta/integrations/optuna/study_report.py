"""What a report of a study shows, also of one in which nothing has finished."""

from collections.abc import Sequence
from dataclasses import replace

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.amended import amended_trials
from meseta.integrations.optuna.attributes import ERROR, amendments_of, is_void, is_withdrawn
from meseta.integrations.optuna.study_answer import modelled, order_of
from meseta.integrations.optuna.study_trials import check_one_objective
from meseta.optimizer.record import State, Trial
from meseta.optimizer.settings import Settings
from meseta.report.views.health import Finding
from meseta.report.views.report import Report, nothing_yet, report
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

STATES: dict[TrialState, State] = {
    TrialState.COMPLETE: "complete",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "failed",
    TrialState.RUNNING: "pending",
    TrialState.WAITING: "pending",
}


def study_report(
    study: Study,
    settings: Settings,
    terms: Terms,
    order: Sequence[str] = (),
) -> Report:
    """Everything that the trials say; parameters in that order, where it is given."""
    check_one_objective(study)
    trials = amended_trials(study)
    if not any(trial.state == TrialState.COMPLETE for trial in trials):
        return _unfinished(study, settings, terms, trials, order)
    subject, notes = study_subject(study, settings, order)
    made = report(subject, terms)
    remarks = tuple(Finding("note", "data", note) for note in notes)
    withdrawn = [_trial(trial) for trial in trials if is_withdrawn(trial)]
    every = sorted([*made.search.trials, *withdrawn], key=lambda trial: trial.number)
    findings = (*made.search.findings, *remarks)
    return replace(made, search=replace(made.search, trials=tuple(every), findings=findings))


def study_subject(
    study: Study, settings: Settings, order: Sequence[str] = ()
) -> tuple[Subject, tuple[str, ...]]:
    """The subject of a report on a study with complete trials, and what was left out, and why."""
    space, optimizer, notes, numbers = modelled(study, settings, unfinished=True)
    names = order or order_of(study)
    subject = Subject(optimizer, space.outside, space.to_optuna, space.fixed, numbers, names)
    return subject, notes


def _unfinished(
    study: Study,
    settings: Settings,
    terms: Terms,
    trials: list[FrozenTrial],
    order: Sequence[str],
) -> Report:
    shown = tuple(_trial(each) for each in trials if not is_void(each) or is_withdrawn(each))
    names = dict.fromkeys([*order, *(name for trial in trials for name in trial.params)])
    maximize = study.direction == optuna.study.StudyDirection.MAXIMIZE
    return nothing_yet(terms, maximize, settings.method, settings.kernel, tuple(names), shown)


def _trial(trial: FrozenTrial) -> Trial:
    error = trial.user_attrs.get(ERROR)
    return Trial(
        trial.number,
        dict(trial.params),
        None,
        "withdrawn" if is_withdrawn(trial) else STATES[trial.state],
        None,
        None if error is None or is_withdrawn(trial) else str(error),
        amendments=amendments_of(trial),
    )
