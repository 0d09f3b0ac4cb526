"""Values that people type or paste: parameters and results."""

from collections.abc import Mapping
from typing import Any

from meseta.boundary import read_number, unknown
from meseta.space.parameter import Categorical, Parameter, Value
from meseta.study.decimals import ALONE


def read_text_number(what: str, text: str) -> float:
    """A number that a person typed, with a decimal point or, where that is clear, a comma."""
    try:
        plain = ALONE.read(text).strip().replace("\u2212", "-")
    except ValueError as error:
        raise ValueError(f"{what} is not clear: {error}") from None
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
    if text in spelled:
        return parameter.choices[spelled.index(text)]
    for choice in parameter.choices:
        if _is_respelled(choice, text):
            return choice
    raise ValueError(f"{name!r}: {unknown('choice', text, spelled)}")


def _is_respelled(choice: object, text: str) -> bool:
    """Whether a spreadsheet or a person may spell a choice so: TRUE, or 2 and 2,0 for 2.0."""
    if isinstance(choice, bool):
        return text.lower() == _spelled(choice)
    if not isinstance(choice, int | float):
        return False
    try:
        return read_text_number("the choice", text) == choice
    except ValueError:
        return False


def _spelled(choice: object) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)
