"""The robust optimum of a study, beside the nominal one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from meseta.boundary import unknown
from meseta.integrations.optuna.amended import amended_trials
from meseta.integrations.optuna.study_outcomes import unnamed, with_constraints
from meseta.integrations.optuna.study_settings import observed, optimizer_of
from meseta.integrations.optuna.study_space import StudySpace, designs_of, names_in
from meseta.integrations.optuna.study_trials import check_one_objective, read_trials
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.comparison import comparison
from meseta.optimizer.record import Recommendation
from meseta.optimizer.settings import Settings


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudyAnswer(Recommendation):
    """A recommendation in the terms of the study; printed, it has the nominal optimum beside it."""

    nominal: Recommendation  # the best point if nothing perturbed it
    notes: tuple[str, ...]  # what was left out, and why
    optimizer: Optimizer  # with the complete trials, for its posterior; in our terms
    space: StudySpace  # from our terms to those of the study

    def __repr__(self) -> str:
        trials = sum(trial.state == "complete" for trial in self.optimizer.trials)
        counted = f"{trials} complete {'trial' if trials == 1 else 'trials'}"
        title = [f"{self.optimizer.direction}", counted]
        return "\n".join(
            [comparison(title, self, self.nominal, self.optimizer.measure), *self.notes]
        )


def answer(study: Study, settings: Settings, *, without: Collection[int] = ()) -> StudyAnswer:
    """What the complete trials speak for; `without` these, by their numbers."""
    space, optimizer, notes, _ = modelled(study, settings, without=without)
    order, said = order_of(study), optimizer.untold_scatter
    robust = _outside(optimizer.recommend(), space, order)
    return StudyAnswer(
        **{each.name: getattr(robust, each.name) for each in fields(Recommendation)},
        nominal=_outside(optimizer.nominal(), space, order),
        notes=(*notes, *([said] if said else [])),
        optimizer=optimizer,
        space=space,
    )


class Modelled(NamedTuple):
    """The parameters of a study that count, and an optimizer with its trials."""

    space: StudySpace
    optimizer: Optimizer
    notes: tuple[str, ...]  # what was left out, and why
    numbers: tuple[int, ...]  # that the trials have in the study


def modelled(
    study: Study,
    settings: Settings,
    *,
    unfinished: bool = False,
    without: Collection[int] = (),
) -> Modelled:
    """With all complete trials, and with `unfinished` also those that run or failed."""
    # one that failed or was pruned may have other outcomes
    finished = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)
    states = None if unfinished else finished
    check_one_objective(study)
    every = [trial for trial in amended_trials(study, states) if trial.number not in without]
    trials = [trial for trial in every if trial.state == TrialState.COMPLETE]
    if not trials:
        raise ValueError(
            f"the study {study.study_name!r} has no complete trial to go by; run it first"
        )
    space = _space(trials, designs_of(study))
    dropped = _dropped(trials, space)
    _check_names(names_in(settings.noise, settings.edge), "noise or edge", trials)
    _check_names(list(designs_of(study)), "designs", trials)
    settings = with_constraints(settings, every)
    optimizer = optimizer_of(study, space, settings)
    read = read_trials(
        every,
        space,
        observed(settings),
        settings.possible,
        optimizer.outcomes,
        settings.executed,
        tuple(optimizer.environments.variables),
    )
    optimizer = optimizer.with_trials(read.trials)
    if not optimizer.has_values:
        raise ValueError(
            f"no trial of the study {study.study_name!r} has a value to go by: "
            f"{'; '.join(read.left_out)}"
        )
    ignored = unnamed(every, optimizer.outcomes)
    return Modelled(space, optimizer, (*dropped, *read.left_out, *ignored), read.numbers)


def _space(trials: list[FrozenTrial], designs: Mapping[str, Any]) -> StudySpace:
    shared = optuna.search_space.intersection_search_space(trials)
    if all(each.single() for each in shared.values()):
        everywhere = set.intersection(*(set(trial.distributions) for trial in trials))
        changed = sorted(everywhere - set(shared))
        remedy = (
            "look at one branch of a conditional study at a time, copied into a study of its own"
        )
        if changed:
            remedy = (
                f"the range, or the kind, of {', '.join(map(repr, changed))} changed meanwhile: "
                "copy the trials into a study with one range for all"
            )
        raise ValueError(
            "the complete trials have no parameter in common that varies, so that there is nothing "
            f"to recommend; {remedy}"
        )
    return StudySpace(shared, designs)


def _dropped(trials: list[FrozenTrial], space: StudySpace) -> tuple[str, ...]:
    """Says which parameters only some trials have."""
    names = dict.fromkeys(name for trial in trials for name in trial.distributions)
    others = [n for n in names if n not in space.distributions and n not in space.fixed]
    if not others:
        return ()
    return (
        f"left out, since not all complete trials have them with the same range: "
        f"{', '.join(others)}",
    )


def _check_names(said: list[str], what: str, trials: list[FrozenTrial]) -> None:
    names = list(dict.fromkeys(name for trial in trials for name in trial.distributions))
    for name in said:
        if name not in names:
            raise ValueError(
                f"{what} of a parameter that no complete trial has: "
                f"{unknown('parameter', name, names)}"
            )


def order_of(study: Study) -> tuple[str, ...]:
    """The names of the parameters as the trials have them; those of Optuna's space are sorted."""
    trials = amended_trials(study, (TrialState.COMPLETE,))
    return tuple(dict.fromkeys(name for trial in trials for name in trial.params))


def _outside(best: Recommendation, space: StudySpace, order: tuple[str, ...]) -> Recommendation:
    """In the terms of the study, with the parameters that have a single value."""
    params: dict[str, Any] = {**space.to_optuna(best.params), **space.fixed}
    return replace(best, params={name: params[name] for name in order if name in params})
