"""Confirmation: runs of the recommended design as it will be used, planned and judged."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from optuna.trial import FrozenTrial

from meseta.integrations.optuna.attributes import executed_of, outcomes_of, stated_of
from meseta.optimizer.record import Trial
from meseta.space.parameter import Float, Int, Parameter
from meseta.study.answer import answer_of, answer_without
from meseta.study.digits import with_few_digits
from meseta.study.lab import check_num
from meseta.study.ledger import Ledger
from meseta.study.marks import BY_HAND, CONFIRMS
from meseta.study.progress import kind_of
from meseta.study.telling import begin_all

if TYPE_CHECKING:
    from meseta.integrations.optuna.study_answer import StudyAnswer
    from meseta.optimizer.confirmation import Confirmation

# Perturbed on purpose, each run set where the law takes the design; or the design itself is set,
# and the noise acts by itself.
How = Literal["on-purpose", "as-it-comes"]
MORE_DIGITS = 1  # than designs have: what is perturbed differs by less


class Plan(NamedTuple):
    """The runs that were planned together."""

    design: dict[str, Any]
    how: How
    trials: list[FrozenTrial]  # without void ones

    @property
    def told(self) -> list[FrozenTrial]:
        return [trial for trial in self.trials if kind_of(trial) in ("complete", "failed")]

    @property
    def pending(self) -> list[int]:
        return [trial.number for trial in self.trials if not trial.state.is_finished()]


def plan_runs(ledger: Ledger, num: int, how: How) -> tuple[list[Trial], "StudyAnswer"]:
    """Plan runs of the recommended design; they are pending until they are told.

    Returns them with the recommendation.
    """
    check_num(num)
    answer = answer_of(ledger)
    design = dict(answer.params)
    places = [_settable(ledger, design)] * num
    if how == "on-purpose":
        inside = answer.space.to_meseta(design)
        drawn = answer.optimizer.perturbed(inside, num, seed=len(ledger.trials))
        places = [_settable(ledger, {**design, **answer.space.to_optuna(z)}) for z in drawn]
    mark = {"plan": uuid.uuid4().hex, "how": how, "design": design}
    runs = [
        (
            _within(ledger, place, answer),
            {BY_HAND: True, CONFIRMS: {**mark, "place": place if how == "on-purpose" else {}}},
        )
        for place in places
    ]
    planned = [
        Trial(number, place, None, "pending", "test")
        for number, place in zip(begin_all(ledger, runs), places, strict=True)
    ]
    return planned, answer


def _settable(ledger: Ledger, place: Mapping[str, Any]) -> dict[str, Any]:
    """What can be set of a place, with readable digits."""
    return {
        name: _readable(parameter, place[name])
        for name, parameter in ledger.parameters.items()
        if name in place and name not in ledger.file.observed
    }


def _readable(parameter: Parameter, value: Any) -> Any:
    if isinstance(parameter, Int) and value == int(value):
        return int(value)
    if isinstance(parameter, Float | Int):  # noise on whole numbers may give others
        return with_few_digits(parameter, value, MORE_DIGITS)
    return value


def _within(ledger: Ledger, place: Mapping[str, Any], answer: "StudyAnswer") -> dict[str, Any]:
    """The nearest values that a trial of the study may have; what cannot be set has its usual."""
    environments = answer.optimizer.environments
    usual = answer.space.to_optuna(dict(environments.complete({}, environments.variables)))
    return {
        name: parameter.nearest({**usual, **place}[name])
        for name, parameter in ledger.parameters.items()
    }


def last_plan(ledger: Ledger) -> Plan:
    """The runs that were planned last."""
    marked = [
        trial
        for trial in ledger.trials
        if CONFIRMS in trial.user_attrs and kind_of(trial) != "void"
    ]
    if not marked:
        raise ValueError(
            f"no runs are planned yet; `meseta confirm {ledger.file.label} -n 10` plans ten"
        )
    mark = marked[-1].user_attrs[CONFIRMS]
    same = [each for each in marked if each.user_attrs[CONFIRMS]["plan"] == mark["plan"]]
    # the study may have parameters by now that the design is older than
    return Plan({**stated_of(marked[-1]), **mark["design"]}, mark["how"], same)


def judged(ledger: Ledger, plan: Plan) -> "Confirmation":
    """Whether the runs that were told kept what was promised before them.

    The promise is that of the trials before the plan: its own runs, and what came later, have no
    say.
    """
    first = min(trial.number for trial in plan.trials)
    answer = answer_without(ledger, {t.number for t in ledger.trials if t.number >= first})
    objective = ledger.file.outcomes.objective
    results = [
        {objective: trial.value if kind_of(trial) == "complete" else None, **outcomes_of(trial)}
        for trial in plan.told
    ]
    space = answer.space
    executed = None
    if plan.how == "on-purpose":
        executed = [space.to_meseta({**trial.params, **executed_of(trial)}) for trial in plan.told]
    design = space.to_meseta(plan.design)
    return answer.optimizer.confirm(design, results, executed=executed)
