"""Values and settings far from all that was said or seen, which are mostly slips of the pen."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.attributes import executed_of, outcomes_of
from meseta.optimizer.outcomes import VALUE
from meseta.space.parameter import Categorical, Parameter, Value
from meseta.study.ledger import Ledger

FEW = 5  # fewer values do not say what is usual
FAR = 10.0  # times the spread of the values that are known, away from all of them
BEYOND = 1.0  # times the width of its range: a setting that lies further out


class Said(NamedTuple):
    """What a person says of a trial."""

    label: str  # "trial 17", or a line of a file
    number: int | None  # of the trial; None: it is new
    values: Mapping[str, float]  # by outcome
    params: Mapping[str, Value]  # as they were carried out


def said_of(label: str, trial: FrozenTrial) -> Said:
    """What a trial says that is not stored yet."""
    return Said(label, None, _values(trial), {**trial.params, **executed_of(trial)})


def unusual(ledger: Ledger, every: Sequence[Said]) -> list[str]:
    """A sentence on each value and setting that is unusual; empty: none is.

    A value is compared with those of all other trials, stored or said at the same time.
    """
    mine = {each.number for each in every}
    stored = [_values(trial) for trial in ledger.trials if trial.number not in mine]
    together: dict[str, list[float]] = {}
    for values in (*stored, *(each.values for each in every)):
        for name, value in values.items():
            together.setdefault(name, []).append(value)
    ordered = {name: sorted(values) for name, values in together.items()}
    found = []
    for said in every:
        for name, value in said.values.items():
            known = _range_without(value, ordered[name])
            if is_far(value, known):
                what = "the value" if name == VALUE else repr(name)
                found.append(
                    f"{said.label}: {what} {value:.6g} is far from all {known.num} others, "
                    f"{known.low:.6g} to {known.high:.6g}"
                )
        for name, setting in said.params.items():
            parameter = ledger.parameters.get(name)
            if parameter is not None and is_beyond(setting, parameter):
                assert not isinstance(parameter, Categorical)
                found.append(
                    f"{said.label}: {name!r} = {setting:.6g} is far beyond its range, "
                    f"{parameter.low:.6g} to {parameter.high:.6g}"
                )
    return found


class Range(NamedTuple):
    """The range of some values."""

    low: float
    high: float
    num: int


def _range_without(value: float, ordered: Sequence[float]) -> Range:
    """The range of all values but one."""
    others = len(ordered) - 1
    if not others:
        return Range(value, value, 0)
    low = ordered[1] if value == ordered[0] else ordered[0]
    high = ordered[-2] if value == ordered[-1] else ordered[-1]
    return Range(low, high, others)


def is_far(value: float, known: Range) -> bool:
    """Whether a value is far from all others, measured by their spread.

    Values that are all the same have none: then by how large they are.
    """
    low, high, num = known
    scale = (high - low) or abs(high)
    return num >= FEW and scale > 0 and max(low - value, value - high) > FAR * scale


def is_beyond(setting: Value, parameter: Parameter) -> bool:
    """Whether a setting is far beyond what may be evaluated."""
    if isinstance(parameter, Categorical):
        return False
    wide = parameter.experiments
    low, high = float(wide.low), float(wide.high)
    x = float(setting)
    if wide.log:
        low, high, x = (math.log(each) for each in (low, high, x))
    return max(low - x, x - high) > BEYOND * (high - low)


def _values(trial: FrozenTrial) -> dict[str, float]:
    own = {VALUE: trial.value} if trial.state == TrialState.COMPLETE else {}
    both = {**own, **outcomes_of(trial)}
    return {name: each for name, each in both.items() if isinstance(each, (int, float))}
