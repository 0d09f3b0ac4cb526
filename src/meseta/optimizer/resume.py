"""A record from trials that were kept elsewhere: in a file, in the storage of another tool."""

from collections.abc import Iterable
from typing import get_args

from meseta.boundary import EVERY, read_value, unknown
from meseta.optimizer.amendment import Amendment, read_amendment
from meseta.optimizer.outcomes import ONE, Outcomes
from meseta.optimizer.precision import read_n, read_std
from meseta.optimizer.record import Origin, Record, State, Trial
from meseta.space.environments import Environments
from meseta.space.space import Design, Space


def read_record(
    trials: object,
    space: Space,
    environments: Environments,
    possible: tuple[float, float] = EVERY,
    outcomes: Outcomes = ONE,
) -> Record:
    """The trials, checked as `tell` checks them; told in the order of their numbers."""
    expected = "trials must be a list of meseta.optimizer.record.Trial"
    if not isinstance(trials, Iterable):
        raise TypeError(f"{expected}, got {trials!r}")
    read: list[Trial] = []
    for trial in trials:
        if not isinstance(trial, Trial):
            raise TypeError(f"{expected}, got {trial!r} among them")
        if trial.number != len(read):
            raise ValueError(
                f"trials must be numbered 0, 1, 2, ... in their order, got {trial.number} where "
                f"{len(read)} is due; number them anew"
            )
        read.append(_read_trial(trial, space, environments, possible, outcomes))
    told = tuple(t.number for t in read if t.state not in ("pending", "withdrawn"))
    return Record(tuple(read), told, (None,) * len(told))


def _read_trial(
    trial: Trial,
    space: Space,
    environments: Environments,
    possible: tuple[float, float],
    outcomes: Outcomes,
) -> Trial:
    what = f"trial {trial.number}"
    for kind, word, known in (
        ("state", trial.state, get_args(State)),
        ("origin", trial.origin, get_args(Origin)),
    ):
        if word not in known:
            raise ValueError(f"{what}: {unknown(kind, word, known)}")
    complete = trial.state == "complete"
    if not complete and trial.value is not None:
        raise ValueError(
            f"{what} is {trial.state} but has a value, {trial.value!r}; only complete trials do"
        )
    if trial.error is not None and trial.state != "failed":
        raise ValueError(
            f"{what} is {trial.state} but has an error, {trial.error!r}; only failed trials do"
        )
    params = trial.params if complete else environments.complete(trial.params)
    try:
        design = space.read(params)
        planned = None if trial.planned is None else _read_planned(trial, space, environments)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None
    return Trial(
        trial.number,
        design,
        read_value(trial.value, f"the value of {what}", possible=possible) if complete else None,
        trial.state,
        trial.origin,
        trial.error,
        None if planned == design else planned,
        _read_others(trial, outcomes),
        read_std(trial.std, outcomes),
        read_n(trial.n),
        trial.unseen,
        _read_measured(trial, space),
        _read_amendments(trial),
    )


def _read_amendments(trial: Trial) -> tuple[Amendment, ...]:
    try:
        return tuple(read_amendment(each) for each in trial.amendments)
    except (TypeError, ValueError) as error:
        raise type(error)(f"trial {trial.number}: {error}") from None


def _read_others(trial: Trial, outcomes: Outcomes) -> dict[str, float]:
    if trial.outcomes and trial.state in ("pending", "withdrawn"):
        raise ValueError(
            f"trial {trial.number} is {trial.state} but has outcomes; only complete and failed "
            "trials do"
        )
    for name in trial.outcomes:
        if name not in outcomes.names:
            raise ValueError(f"trial {trial.number}: {unknown('outcome', name, outcomes.names)}")
    return {
        name: read_value(value, f"{name!r} of trial {trial.number}")
        for name, value in trial.outcomes.items()
    }


def _read_measured(trial: Trial, space: Space) -> tuple[str, ...]:
    if trial.measured and trial.state in ("pending", "withdrawn"):
        raise ValueError(
            f"trial {trial.number} is {trial.state} but has measured {trial.measured}; only "
            "complete and failed trials do"
        )
    for name in trial.measured:
        if name not in space.names:
            raise ValueError(f"trial {trial.number}: {unknown('parameter', name, space.names)}")
    return tuple(trial.measured)


def _read_planned(trial: Trial, space: Space, environments: Environments) -> Design:
    assert trial.planned is not None
    return space.read(environments.complete(trial.planned))
