"""A study file whose parameters have changed: what the study can take over, and what it cannot."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from meseta.boundary import are, unknown
from meseta.integrations.optuna.attributes import DESIGNS, executed_of
from meseta.integrations.optuna.changed import (
    Change,
    Stated,
    changes_of,
    compatible,
    store_change,
)
from meseta.space.parameter import Categorical, Parameter
from meseta.study.digits import is_equal
from meseta.study.entries import read_values
from meseta.study.ledger import (
    designs_of,
    distributions_of,
    kept_designs,
    kept_study,
    raise_format,
    stored_names,
    trials_of,
)
from meseta.study.progress import kind_of
from meseta.study.toml.file import LONGEST_NAME, StudyFile
from meseta.study.toml.unchanged import in_words, kept_parameters

ELSEWHERE = (
    "`meseta status {label} --csv > trials.csv` writes the trials out: give the study another name "
    "in the file, and take them over with `meseta import`"
)


def plan_change(file: StudyFile, old: Mapping[str, str]) -> tuple[optuna.Study, Change | None]:
    """The study, and the change that makes it follow its file; None: it does already.

    A ValueError says what cannot be taken over. Nothing is stored.

    Args:
        file: Its parameters are those that are wanted.
        old: What earlier trials had of parameters that are new, as text.
    """
    study, database = kept_study(file)
    trials = trials_of(study, database)
    if study.direction.name.lower() != file.direction:
        raise ValueError(
            f"the study is one to {study.direction.name.lower()}, but {file.label} says "
            f"{file.direction}, which cannot be changed. {_elsewhere(file)}"
        )
    parameters = file.ranges()
    wanted, kept = distributions_of(parameters), kept_parameters(study, trials)
    designs = designs_of(parameters)
    for name in old:
        if name not in wanted or name in kept:
            new = [each for each in wanted if each not in kept]
            if name in kept and name in wanted:
                raise ValueError(
                    f"--old: {name!r} is a parameter of the study already; `meseta correct "
                    f"{file.label} TRIAL --set {name}=... --why REASON` puts a trial right"
                )
            raise ValueError(f"--old: {unknown('new parameter', name, new)}")
    if not kept or (wanted == kept and designs == kept_designs(study)):
        return study, None
    running = [trial.number for trial in trials if kind_of(trial) == "running"]
    if running:
        raise ValueError(
            f"workers evaluate trials now ({', '.join(map(str, running))}), by the parameters as "
            "they were; stop them first"
        )
    refused = [*_refusals(kept, wanted, parameters, trials)]
    if refused:
        raise ValueError(f"{'; '.join(refused)}. {_elsewhere(file)}")
    stated = _stated(file, [name for name in wanted if name not in kept], old)
    aliases = _aliases(study, kept, wanted)
    if aliases != stored_names(study) and any(kind_of(trial) == "waiting" for trial in trials):
        raise ValueError(
            "trials are enqueued, and would lose their values of "
            f"{', '.join(map(repr, aliases))}; ask for them first"
        )
    count = sum(bool(trial.params) for trial in trials)
    words = [*_words(kept, wanted, stated, count)]
    if designs != kept_designs(study):
        words.append(f"the ranges of designs: {kept_designs(study)} -> {designs}")
    order = len(changes_of(study))
    return study, Change(wanted, designs, aliases, stated, order, len(trials), tuple(words))


def store(file: StudyFile, old: Mapping[str, str], agreed: Change) -> list[str]:
    """Store a change, if it is still the one that was agreed to; the study follows its file then.

    Returns what was told at the very moment, and what the new ranges do not have. A ValueError says
    why nothing was changed.
    """
    try:
        study, change = plan_change(file, old)
    except ValueError:
        study, _ = kept_study(file)
        if changes_of(study)[agreed.order :]:  # which is why it is refused
            raise ValueError(_meanwhile(study, agreed)) from None
        raise
    if change is None or not change.is_like(agreed):
        raise ValueError(_meanwhile(study, agreed))
    raise_format(study)
    if not store_change(study, change):
        raise ValueError(_meanwhile(study, agreed))
    study.set_user_attr(DESIGNS, change.designs)
    _, database = kept_study(file)
    parameters, trials = file.ranges(), trials_of(study, database)
    return [
        f"{sentence}, told at this moment; models leave out what lies outside"
        for name, distribution in change.parameters.items()
        for sentence in _excluded(name, parameters[name], distribution, trials)
    ]


def _meanwhile(study: optuna.Study, agreed: Change) -> str:
    """Says that somebody else has changed the parameters since a change was planned."""
    others = changes_of(study)[agreed.order :]
    said = "; ".join(map(str, others)) or "the change is not needed any more"
    return (
        f"the parameters of the study were changed meanwhile: {said}. Nothing of yours was "
        "changed; start the same command again to see what is left to change"
    )


def _elsewhere(file: StudyFile) -> str:
    return f"Nothing was changed. {ELSEWHERE.format(label=file.label)}"


def _refusals(
    kept: Mapping[str, BaseDistribution],
    wanted: Mapping[str, BaseDistribution],
    parameters: Mapping[str, Parameter],
    trials: Sequence[FrozenTrial],
) -> Iterator[str]:
    for name, distribution in kept.items():
        if name not in wanted:
            yield (
                f"{name!r} is not in the file any more, but all trials have it; put it back, with "
                "a range as narrow as you like"
            )
        elif type(distribution) is not type(wanted[name]):
            yield (
                f"{name!r} is {in_words(distribution)}, and cannot become {in_words(wanted[name])}"
            )
        elif distribution != wanted[name]:
            yield from _excluded(name, parameters[name], wanted[name], trials)


def _excluded(
    name: str,
    parameter: Parameter,
    wanted: BaseDistribution,
    trials: Sequence[FrozenTrial],
) -> Iterator[str]:
    """Says which trials the new range does not have."""
    counted = [each for each in trials if name in each.params and kind_of(each) != "void"]
    without = [each for each in counted if not _has(parameter, each.params[name])]
    if without:
        numbers = ", ".join(str(each.number) for each in without[:5])
        more = f" and {len(without) - 5} more" if len(without) > 5 else ""
        yield (
            f"{name!r} would be {in_words(wanted)}, without {without[0].params[name]!r}, which "
            f"trial {numbers}{more} has"
        )
    for each in counted:
        try:
            if name in executed_of(each):
                parameter.read(f"{name!r} of trial {each.number}", executed_of(each)[name])
        except (TypeError, ValueError) as error:
            yield str(error)
            return


def _has(parameter: Parameter, value: Any) -> bool:
    """Whether a trial may be asked for there."""
    if isinstance(parameter, Categorical):
        try:
            parameter.read("", value)
        except ValueError:
            return False
        return True
    wide = parameter.experiments
    return wide.low <= value <= wide.high and is_equal(wide.nearest(value), value)


def _stated(file: StudyFile, new: Sequence[str], old: Mapping[str, str]) -> dict[str, Stated]:
    missing = [name for name in new if name not in old]
    if missing:
        options = " ".join(f"--old {name}=..." for name in missing)
        raise ValueError(
            f"{are([*map(repr, missing)])} new: say which value the trials so far had, "
            f"`meseta change {file.label} {options}`"
        )
    parameters = file.ranges()
    stated = {}
    for name, value in read_values(parameters, old).items():
        nearest = parameters[name].experiments.nearest(value)
        stated[name] = Stated(value, nearest, name in file.observed)
    return stated


def _words(
    kept: Mapping[str, BaseDistribution],
    wanted: Mapping[str, BaseDistribution],
    stated: Mapping[str, Stated],
    count: int,
) -> Iterator[str]:
    for name, distribution in wanted.items():
        if name not in kept:
            had = f"the {count} trials so far had" if count != 1 else "the trial so far had"
            yield f"{name!r} is new, {in_words(distribution)}; {had} {stated[name].value!r}"
        elif kept[name] != distribution:
            yield f"{name!r}: {in_words(kept[name])} -> {in_words(distribution)}"


def _aliases(
    study: optuna.Study,
    kept: Mapping[str, BaseDistribution],
    wanted: Mapping[str, BaseDistribution],
) -> dict[str, str]:
    """Names for parameters whose trials Optuna would not take under the name they have."""
    stored = stored_names(study)
    taken = {name for trial in study.get_trials(deepcopy=False) for name in trial.params}
    taken |= {*wanted, *stored.values()}
    for name, distribution in wanted.items():
        if name in kept and not compatible(kept[name], distribution):
            # as long as columns of databases
            named = (
                f"{name[: LONGEST_NAME - len(end)]}{end}" for end in map(" ({})".format, count(2))
            )
            stored[name] = next(each for each in named if each not in taken)
            taken.add(stored[name])
    return stored
