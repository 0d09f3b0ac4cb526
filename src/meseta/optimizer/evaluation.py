"""What an evaluation gives: a value, what was carried out, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from meseta.boundary import cut, read_number, read_value, shown, unknown

LONGEST = 500  # letters of a reason
MOST_KEYS = 20  # that are listed


@dataclass(frozen=True)
class Evaluation:
    """The value of a trial, and the parameters that were carried out where they are told."""

    value: float
    executed: dict[str, float | int | str | bool | None] = field(default_factory=dict)


class EvaluationFailed(RuntimeError):
    """A trial has no value: `reason` in a sentence, `stderr` the last lines a program wrote."""

    def __init__(self, reason: str, stderr: str = "") -> None:
        self.reason = reason
        self.stderr = stderr
        super().__init__(f"{reason}; it wrote:\n{stderr}" if stderr else reason)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.stderr)


def read_evaluation(result: Any, what: str, key: str = "value") -> Evaluation:
    """A number, or a mapping with the number under `key` and what was carried out as `executed`."""
    executed: Any = {}
    if isinstance(result, Mapping):
        if key not in result:
            known = [cut(str(name), LONGEST) for name in list(result)[:MOST_KEYS]]
            raise EvaluationFailed(f"{what} must have a {key!r}: {unknown('key', key, known)}")
        what, executed, result = f"{key!r} of {what}", result.get("executed", {}), result[key]
    try:
        return Evaluation(read_value(result, what, remedy=""), _read_executed(executed))
    except (TypeError, ValueError) as error:
        raise EvaluationFailed(cut(str(error), LONGEST)) from None


def _read_executed(executed: Any) -> dict[str, Any]:
    if not isinstance(executed, Mapping):
        raise TypeError(
            "executed must have the values that were carried out by name, such as "
            f'{{"angle": 1.02}}, got {shown(executed)}'
        )
    read: dict[str, Any] = {}
    for name, value in executed.items():
        if not isinstance(name, str):
            raise TypeError(f"executed must have names of parameters, got {shown(name)}")
        plain = value is None or isinstance(value, (str, bool, int))
        read[name] = value if plain else read_number(f"executed {name!r}", value)
    return read
