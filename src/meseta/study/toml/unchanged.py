"""Whether a study file still describes the study that its storage holds."""

import json
from collections.abc import Iterator, Mapping, Sequence

from optuna import Study
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.changed import Distributions, changes_of, read_written

# An attribute of studies: the parameters by name, as Optuna writes distributions. A trial that is
# just begun does not have all of its parameters yet, so trials alone cannot tell.
PARAMETERS = "meseta:parameters"


def kept_parameters(study: Study, trials: Sequence[FrozenTrial]) -> Distributions:
    """The parameters that the study has trials of; empty: there are none yet."""
    if not any(trial.distributions for trial in trials):
        return {}
    changed = changes_of(study)
    if changed:
        return changed[-1].parameters
    kept = study.user_attrs.get(PARAMETERS)
    if isinstance(kept, Mapping):
        return read_written(kept)
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    return dict(max(complete or trials, key=lambda trial: len(trial.distributions)).distributions)


def changes(study: Study, trials: Sequence[FrozenTrial], wanted: Distributions) -> list[str]:
    """The differences between the parameters of file and study, a sentence each."""
    kept = kept_parameters(study, trials)
    if not kept:
        return []
    found = list(_differences(kept, wanted))
    for trial in trials:
        for name, distribution in trial.distributions.items():
            if not found and (name not in kept or kept[name] != distribution):
                found.append(f"in trial {trial.number} {name!r} is {in_words(distribution)}")
    return found


def _differences(kept: Distributions, wanted: Distributions) -> Iterator[str]:
    for name, distribution in kept.items():
        if name not in wanted:
            yield f"the study has {name!r} ({in_words(distribution)}), which is not in the file"
        elif wanted[name] != distribution:
            yield f"{name!r} is {in_words(distribution)}, in the file {in_words(wanted[name])}"
    for name, distribution in wanted.items():
        if name not in kept:
            yield f"the file has {name!r} ({in_words(distribution)}), which is not in the study"


def in_words(distribution: BaseDistribution) -> str:
    if isinstance(distribution, CategoricalDistribution):
        return f"one of {json.dumps(distribution.choices, ensure_ascii=False)}"
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    kind = "a whole number" if isinstance(distribution, IntDistribution) else "a number"
    steps = distribution.step not in (None, 1) and f" in steps of {distribution.step}"
    scale = distribution.log and " on a logarithmic scale"
    return f"{kind} from {distribution.low} to {distribution.high}{steps or ''}{scale or ''}"
