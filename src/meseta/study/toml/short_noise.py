"""Noise as people write it: "5 %", "± 0.1", "0.1", or just 0.1."""

import re
from decimal import Decimal

_SHORT = re.compile(
    r"(?P<tolerance>±|\+-|\+/-)?\s*(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"\s*(?P<unit>.*)",
    re.ASCII,
)
FORMS = 'a number such as 0.1 (a standard deviation), "± 0.1" (a tolerance), "5 %", or a table'


def read_short(text: str, unit: str | None = None, choices: bool = False) -> dict[str, object]:
    """The table that a short text stands for.

    A number is a standard deviation, ± a tolerance, both in per cent of the parameter or in its
    unit. For `choices` it is the probability that another choice is carried out.
    """
    example = 'noise = { law = "normal", std = 0.1 }'
    match = _SHORT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"must be {FORMS}, {example}, got {text!r}")
    if match["unit"] not in ("", "%", unit):
        known = f"the unit {unit!r}" if unit else 'none, since the parameter has no unit = "..."'
        raise ValueError(
            f"has the unit {match['unit']!r} in {text!r}, but must have {known}, or be in %; for "
            f"anything else write a table, {example}"
        )
    percent = match["unit"] == "%"
    number = float(Decimal(match["number"]) / (100 if percent else 1))
    if choices:
        if match["tolerance"]:
            raise ValueError(
                f"must be a probability such as 0.05 or '5 %' where there are choices, got {text!r}"
            )
        return {"law": "substitution", "probability": number}
    law = ("uniform", "half_width") if match["tolerance"] else ("normal", "std")
    return {"law": law[0], law[1]: number, **({"relative": True} if percent else {})}


def read_short_number(number: float | int, choices: bool = False) -> dict[str, object]:
    """The table that a bare number stands for."""
    if choices:
        return {"law": "substitution", "probability": number}
    return {"law": "normal", "std": number}
