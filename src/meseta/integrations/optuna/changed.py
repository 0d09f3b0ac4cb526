"""Studies whose parameters were changed: old trials as the parameters of today have them.

Optuna keeps the distributions of a trial as they were. A change is applied here, to copies. It is
stored as a trial that does not count: the storage gives such trials their numbers one by one, so
that of two changes planned at the same moment every reader takes the same one.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
    json_to_distribution,
)
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.integrations.optuna.attributes import (
    CHANGE,
    EXECUTED,
    STATED,
    UNMEASURED,
    VOID,
    executed_of,
    unmeasured_of,
)
from meseta.optimizer.amendment import local_time, user_name, utc_now

Distributions = dict[str, BaseDistribution]


@dataclass(frozen=True)
class Stated:
    """What earlier trials had of a parameter that was added."""

    value: Any
    nearest: Any  # the admissible value next to it
    observed: bool  # it cannot be set, so that only what was carried out counts


@dataclass(frozen=True)
class Change:
    """The parameters of a study from some moment on."""

    parameters: Distributions  # all of them
    designs: dict[str, list[float]]  # narrower ranges of designs, see DESIGNS
    # Trials have these under another name: Optuna lets neither choices nor the scale of a
    # parameter change.
    stored: dict[str, str]
    stated: dict[str, Stated]  # of the parameters that were added
    order: int  # the number of changes that were known when it was planned
    trials: int  # the number of trials before
    words: tuple[str, ...]  # what was changed, a sentence each
    who: str = field(default_factory=user_name)
    when: str = field(default_factory=utc_now)

    def __str__(self) -> str:
        return f"{'; '.join(self.words)} ({self.who}, {local_time(self.when)})"

    def is_like(self, other: "Change") -> bool:
        """Whether both change the same study in the same way, whoever planned them and when."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("parameters", "designs", "stored", "stated", "order")
        )


def changes_in(attributes: Mapping[str, Any], trials: Sequence[FrozenTrial]) -> list[Change]:
    """Return the changes that hold, in their order, from the attributes and trials of a study.

    A change that was planned before another one was stored does not hold.
    """
    # as they were stored at first
    found = [(each, key) for key, each in attributes.items() if key.startswith(CHANGE)]
    held: list[Change] = []
    try:
        ordered = sorted(found, key=lambda item: (item[0]["order"], item[0]["when"], item[1]))
        stored = [each for each, _ in ordered]
        for trial in trials:
            if CHANGE in trial.user_attrs:
                stored.append({**trial.user_attrs[CHANGE], "trials": trial.number})
        for change in map(_read, stored):
            if change.order == len(held):
                held.append(change)
    except (TypeError, ValueError, KeyError):
        raise ValueError(
            f"an attribute {CHANGE!r} of the study is no change of its parameters that is known "
            "here; a newer version of meseta may have made it: pip install -U meseta"
        ) from None
    return held


def changes_of(study: Study) -> list[Change]:
    """Return the changes of the parameters of a study that hold, in their order."""
    return changes_in(study.user_attrs, study.get_trials(deepcopy=False))


def store_change(study: Study, change: Change) -> bool:
    """Store a change, which holds from now on; False: another one was stored before it."""
    attributes = {VOID: "the parameters of the study were changed", CHANGE: as_stored(change)}
    study.add_trial(create_trial(state=TrialState.FAIL, user_attrs=attributes))
    held = changes_of(study)
    return len(held) > change.order and held[change.order].is_like(change)


def as_stored(change: Change) -> dict[str, Any]:
    """Return a change as it is stored."""
    return {
        "order": change.order,
        "parameters": written(change.parameters),
        "designs": change.designs,
        "stored": change.stored,
        "stated": {name: vars(each) for name, each in change.stated.items()},
        "words": list(change.words),
        "who": change.who,
        "when": change.when,
    }


def written(distributions: Distributions) -> dict[str, str]:
    """Distributions as Optuna writes them."""
    return {name: distribution_to_json(each) for name, each in distributions.items()}


def read_written(stored: Mapping[str, str]) -> Distributions:
    return {name: json_to_distribution(text) for name, text in stored.items()}


def _read(stored: Mapping[str, Any]) -> Change:
    return Change(
        read_written(stored["parameters"]),
        dict(stored["designs"]),
        dict(stored["stored"]),
        {name: Stated(**each) for name, each in stored["stated"].items()},
        int(stored["order"]),
        int(stored["trials"]),
        tuple(stored["words"]),
        str(stored["who"]),
        str(stored["when"]),
    )


def compatible(before: BaseDistribution, now: BaseDistribution) -> bool:
    """Whether Optuna takes both under one name."""
    if isinstance(before, CategoricalDistribution) or isinstance(now, CategoricalDistribution):
        return before == now
    assert isinstance(before, FloatDistribution | IntDistribution)
    assert isinstance(now, FloatDistribution | IntDistribution)
    return type(before) is type(now) and before.log == now.log


def changed(trial: FrozenTrial, changes: Sequence[Change]) -> FrozenTrial:
    """The trial as the parameters of today have it; itself, if they have always been so."""
    if not changes or not trial.params:
        return trial
    wanted = changes[-1].parameters
    names = {alias: name for each in changes for name, alias in each.stored.items()}
    params = {names.get(name, name): value for name, value in trial.params.items()}
    own = {names.get(name, name): each for name, each in trial.distributions.items()}
    stated = {
        name: each
        for change in changes
        # a finished one that is younger comes from a process that had begun before
        if trial.number < change.trials or trial.state.is_finished()
        for name, each in change.stated.items()
        if name not in params
    }
    params |= {name: each.nearest for name, each in stated.items()}
    order = [*(name for name in wanted if name in params), *(n for n in params if n not in wanted)]
    new = copy(trial)
    new.params = {name: params[name] for name in order}
    new.distributions = {name: wanted[name] if name in wanted else own[name] for name in order}
    if stated:
        carried_out = {
            name: each.value
            for name, each in stated.items()
            if each.observed or each.value != each.nearest
        }
        new.user_attrs = {
            **trial.user_attrs,
            STATED: {name: each.value for name, each in stated.items()},
            EXECUTED: {**carried_out, **executed_of(trial)},
            UNMEASURED: [*unmeasured_of(trial), *stated],  # nobody had planned them
        }
    return new
