"""Designs and experiments as entrants name them, checked."""

import math
import reprlib
from collections.abc import Mapping
from typing import Any

from meseta.arena.guest import EntrantError
from meseta.space.parameter import Categorical, Parameter
from meseta.space.space import Space

ROUNDING = 1e-6  # of a range: so far beyond its end, or off a step, is rounding


def allowed(space: Space, names: tuple[str, ...], answer: object, do: str) -> dict[str, Any]:
    """The params that an entrant named, put on the ends and steps that they are beside."""
    if not isinstance(answer, Mapping):
        raise EntrantError(f"{do} must return a dict, got {_shown(answer)}")
    if set(answer) != set(names):
        raise EntrantError(
            f"{do} must return {', '.join(names)} and nothing else, "
            f"got {', '.join(map(str, answer))[:200] or '{}'}"
        )
    parameters = dict(space.items())
    return {name: _value(name, parameters[name], answer[name], do) for name in names}


def _value(name: str, parameter: Parameter, value: Any, do: str) -> Any:
    if isinstance(parameter, Categorical):
        if value not in parameter.choices:
            raise EntrantError(
                f"{do}: {name} must be one of {parameter.choices}, got {_shown(value)}"
            )
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise EntrantError(f"{do}: {name} must be a finite number, got {_shown(value)}")
    low, high = parameter.low, parameter.high
    room = ROUNDING * (high - low)
    if not low - room <= value <= high + room:
        raise EntrantError(f"{do}: {name} must lie from {low:g} to {high:g}, got {_shown(value)}")
    inside = min(max(value, low), high)
    if parameter.step is None:
        return float(inside)
    stepped = parameter.from_columns([math.log(inside) if parameter.log else inside])
    if abs(stepped - inside) > room:
        raise EntrantError(
            f"{do}: {name} must lie on a step of {parameter.step:g} from {low:g}, "
            f"got {_shown(value)}"
        )
    return stepped


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _shown(value: object) -> str:
    """What was returned, cut where it is long."""
    return reprlib.repr(value)
