"""Parameters handed to a program: by arguments, by its environment, or as JSON."""

import json
import re
from collections.abc import Mapping, Sequence

from meseta.boundary import unknown

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
PREFIX = "MESETA_"


def placeholders(argument: str) -> list[str]:
    """The names in braces; {{ and }} are braces themselves."""
    names = []
    for match in _PIECE.finditer(argument):
        if match[1] is not None:
            names.append(match[1])
        elif len(match[0]) == 1:
            raise ValueError(
                f"has a brace without its other half in {argument!r}; write {{{{ or }}}} for a "
                "brace itself"
            )
    return names


def filled(argument: str, params: Mapping[str, object]) -> str:
    """The argument with the values in place of their names, each of them once."""

    def piece(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else as_text(params[match[1]])

    return _PIECE.sub(piece, argument)


def as_text(value: object) -> str:
    """A value that reads back as the same: floats by all their digits, true and false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def variable(name: str) -> str:
    """The environment variable of a parameter: MESETA_FLOW_RATE for flow rate.

    Letters become capitals; everything but A to Z and 0 to 9 becomes _.
    """
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


def as_environment(params: Mapping[str, object]) -> dict[str, str]:
    """A variable for each parameter, and MESETA_PARAMS with all of them as JSON."""
    texts = {variable(name): as_text(value) for name, value in params.items()}
    return {**texts, PREFIX + "PARAMS": as_json(params)}


def as_json(params: Mapping[str, object]) -> str:
    return json.dumps(dict(params), allow_nan=False)


def check_arguments(argument: str, names: Sequence[str], observed: Sequence[str]) -> list[str]:
    """The parameters in an argument; refused unless they are known and can be set."""
    found = placeholders(argument)
    for name in found:
        if name not in names:
            raise ValueError(
                f"has a placeholder {{{name}}} in {argument!r}, but "
                f"{unknown('parameter', name, names)}; write {{{{ and }}}} for braces themselves"
            )
        if name in observed:
            raise ValueError(
                f"has a placeholder {{{name}}}, but {name!r} is observed = true: it cannot be set"
            )
    return found


def check_variables(names: Sequence[str]) -> None:
    """Refuse names that would share an environment variable."""
    seen = {PREFIX + "PARAMS": "all parameters as JSON"}
    for name in names:
        mine = variable(name)
        if mine in seen:
            raise ValueError(
                f"cannot be 'environment': {name!r} would be {mine}, as is {seen[mine]}; rename "
                "it, or write input = 'json'"
            )
        seen[mine] = repr(name)
