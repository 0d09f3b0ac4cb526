"""What an evaluation gives: a value, what was carried out, or the reason why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from meseta.boundary import cut, read_number, read_value, shown, unknown
from meseta.optimizer.outcomes import EXECUTED, ONE, VALUE, Outcomes
from meseta.optimizer.precision import (
    COUNT,
    STD,
    Execution,
    read_execution,
    read_n,
    read_std,
)

T = TypeVar("T")

LONGEST = 500  # letters of a reason
MOST_KEYS = 20  # that are listed
DEATHS = 3  # a design at which this many workers died has failed
GIVE_UP = 10  # evaluations that have all failed: a mistake in the objective is likelier than luck


@dataclass(frozen=True)
class Evaluation:
    """What a trial gave, and the parameters that were carried out where they are told.

    Without a value there is another outcome, and `wrong` says what is missing.
    """

    value: float | None
    executed: dict[str, float | int | str | bool | None] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)
    wrong: str | None = None
    absent: tuple[str, ...] = ()  # outcomes that the result does not even name
    std: dict[str, float] = field(default_factory=dict)  # see `Trial`
    n: int = 1
    execution: Execution | None = None  # None: as the settings say


class EvaluationFailed(RuntimeError):
    """A trial has no value: `reason` in a sentence, `stderr` the last lines a program wrote."""

    def __init__(self, reason: str, stderr: str = "") -> None:
        self.reason = reason
        self.stderr = stderr
        super().__init__(f"{reason}; it wrote:\n{stderr}" if stderr else reason)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.stderr)


def read_evaluation(
    result: Any, what: str, outcomes: Outcomes = ONE, key: str | None = None
) -> Evaluation:
    """A number, or a mapping with outcomes by name and what was carried out as `executed`.

    `key` is another name for what is optimised. A part of the outcomes is kept where there is one.
    """
    if not isinstance(result, Mapping):
        number = _attempt(lambda: read_value(result, what, remedy=""))
        return Evaluation(number, absent=outcomes.names)
    execution, executed = _attempt(lambda: read_executed(result.get(EXECUTED, {})))
    std, n = _attempt(lambda: _read_precision(result, outcomes))
    others: dict[str, float] = {}
    wrong = []
    for name in outcomes.names:
        if result.get(name) is not None:
            try:
                others[name] = read_value(result[name], f"{name!r} of {what}", remedy="")
            except (TypeError, ValueError) as error:
                wrong.append(cut(str(error), LONGEST))
    absent = tuple(name for name in outcomes.names if name not in result)
    value: float | None = None
    try:
        value = _value(result, what, outcomes, key)
    except EvaluationFailed as error:
        if not others:
            raise
        wrong = [error.reason, *wrong]
    given = others if value is None else (*others, VALUE)
    std = {name: each for name, each in std.items() if name in given}
    said = "; ".join(wrong) or None
    return Evaluation(value, executed, others, said, absent, std, n, execution)


def _value(result: Mapping[Any, Any], what: str, outcomes: Outcomes, key: str | None) -> float:
    found = next((k for k in (key, VALUE, outcomes.objective) if k in result), None)
    if found is None:
        wanted = key or outcomes.objective
        known = [cut(str(name), LONGEST) for name in list(result)[:MOST_KEYS]]
        raise EvaluationFailed(f"{what} must have a {wanted!r}: {unknown('key', wanted, known)}")
    return _attempt(lambda: read_value(result[found], f"{found!r} of {what}", remedy=""))


def _attempt(read: Callable[[], T]) -> T:
    try:
        return read()
    except (TypeError, ValueError) as error:
        raise EvaluationFailed(cut(str(error), LONGEST)) from None


def _read_precision(result: Mapping[Any, Any], outcomes: Outcomes) -> tuple[dict[str, float], int]:
    """What it says about the quality of its values; an outcome may have such a name."""
    known = (outcomes.objective, *outcomes.names)
    std, n = (None if name in known else result.get(name) for name in (STD, COUNT))
    return read_std(std, outcomes), read_n(n)


def read_executed(executed: Any) -> tuple[Execution | None, dict[str, Any]]:
    """What is known about where it was carried out, and values by name."""
    if isinstance(executed, str):
        return read_execution(executed), {}
    if not isinstance(executed, Mapping):
        raise TypeError(
            "executed must have the values that were measured by name, such as "
            f'{{"angle": 1.02}}, got {shown(executed)}'
        )
    read: dict[str, Any] = {}
    for name, value in executed.items():
        if not isinstance(name, str):
            raise TypeError(f"executed must have names of parameters, got {shown(name)}")
        plain = value is None or isinstance(value, (str, bool, int))
        read[name] = value if plain else read_number(f"executed {name!r}", value)
    return None, read
