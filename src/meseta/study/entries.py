"""Values that people type or paste: parameters and results."""

from collections.abc import Mapping
from typing import Any

from meseta.boundary import read_number, unknown
from meseta.space.parameter import Categorical, Parameter, Value


def read_text_number(what: str, text: str) -> float:
    """A number that a person typed."""
    plain = text.strip().replace("\u2212", "-")
    try:
        if "_" in plain:  # 1_5 is 15 to Python, and a slip to people
            raise ValueError
        return read_number(what, float(plain))
    except ValueError:
        raise ValueError(f"{what} must be a finite number such as 0.82, got {text!r}") from None


def read_values(parameters: Mapping[str, Parameter], texts: Mapping[str, str]) -> dict[str, Value]:
    """The values of some parameters, read from texts."""
    values: dict[str, Value] = {}
    for name, text in texts.items():
        if name not in parameters:
            raise ValueError(unknown("parameter", name, parameters))
        parameter = parameters[name]
        if isinstance(parameter, Categorical):
            values[name] = _choice(name, parameter, text)
        else:
            values[name] = parameter.read(f"{name!r}", read_text_number(f"{name!r}", text))
    return values


def _choice(name: str, parameter: Categorical, text: str) -> Any:
    text, spelled = text.strip(), [_spelled(choice).strip() for choice in parameter.choices]
    if spelled.count(text) > 1:
        raise ValueError(f"{name!r} has several choices that are spelled {text!r}; rename one")
    if text not in spelled:
        raise ValueError(f"{name!r}: {unknown('choice', text, spelled)}")
    return parameter.choices[spelled.index(text)]


def _spelled(choice: object) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def differs(planned: Any, executed: Any) -> bool:
    """Whether what was carried out is other than what was asked for."""
    if isinstance(planned, float) and isinstance(executed, (int, float)):
        return abs(planned - executed) > 1e-12 * max(abs(planned), abs(executed))
    return bool(planned != executed)
