"""Numbers with fewer digits: designs that people carry out, and what spreadsheets leave of them."""

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from meseta.space.allowed import Linear, read_rule
from meseta.space.parameter import SAME_DESIGN, Categorical, Float, Int, Parameter
from meseta.study.toml.file import StudyFile

FEWEST, MOST = 6, 17  # significant digits of what spreadsheets write
ROUNDING = 1e-12  # relative: what arithmetic may do to a number
PRECISION = 60  # digits of Decimal: more than any number here has


def readable(
    file: StudyFile, parameters: Mapping[str, Parameter], params: Mapping[str, Any]
) -> dict[str, Any]:
    """A design that is written with few digits, so that what is stored is what is carried out.

    Its numbers are rounded to 1e-4 of their ranges, or finer where a rule of the file needs it.
    Designs that the file itself lists stay as they are, and so do steps, whole numbers and choices.
    """
    exact = dict(params)
    if _is_listed(file, params):
        return exact
    rules, ways = _rules(file, parameters)
    free = {
        name: parameter
        for name, parameter in parameters.items()
        if isinstance(parameter, Float) and parameter.step is None and name not in file.observed
    }
    for more in range(MOST - FEWEST):
        for way in ({}, ways):
            rounded = {
                name: _rounded(parameter, exact[name], more, way.get(name, ROUND_HALF_UP))
                for name, parameter in free.items()
            }
            design = {**exact, **rounded}
            if all(holds(design) for holds in rules):
                return design
    return exact


def _is_listed(file: StudyFile, params: Mapping[str, Any]) -> bool:
    """Whether the file has this design to begin with: it is asked for until it was carried out."""
    listed = file.chosen.initial
    if listed is None or isinstance(listed, str):
        return False
    return any(
        all(name in params and is_equal(each, params[name]) for name, each in design.items())
        for design in listed
    )


def _rules(
    file: StudyFile, parameters: Mapping[str, Parameter]
) -> tuple[list[Callable[[dict[str, Any]], bool]], dict[str, str]]:
    """The rules for designs, and the ways to round that keep them."""
    numbers = [name for name, each in parameters.items() if not isinstance(each, Categorical)]
    rules = [read_rule(rule, numbers) for rule in file.chosen.allowed or ()]
    signs: dict[str, set[bool]] = {}
    for rule in rules:
        for name, weight in rule.weights if isinstance(rule, Linear) else ():
            signs.setdefault(name, set()).add(weight > 0)
    ways = {
        name: ROUND_FLOOR if True in some else ROUND_CEILING
        for name, some in signs.items()
        if len(some) == 1
    }
    return rules, ways


def with_few_digits(
    parameter: Float | Int, value: float, more: int = 0, way: str = ROUND_HALF_UP
) -> float:
    """The value to the resolution of the parameter, or with `more` digits; in no range."""
    ((low, high),) = parameter.ends
    resolution = SAME_DESIGN * (high - low) * (value if parameter.log else 1.0)
    place = math.floor(math.log10(resolution)) - more
    with localcontext(prec=PRECISION):
        return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(place), way))


def _rounded(parameter: Float, value: float, more: int, way: str) -> float:
    """The value with few digits, in the same range; `more` digits where these are too few."""
    number = with_few_digits(parameter, value, more, way)
    inside = parameter.low <= value <= parameter.high
    ends = parameter if inside else parameter.experiments
    return min(max(number, ends.low), ends.high)


def is_same(kept: Any, given: Any, parameter: Parameter | None = None) -> bool:
    """Whether a value is the kept one, perhaps rounded by a spreadsheet to six digits or more.

    Where that would move it by more than the resolution of the parameter, it is another.
    """
    if is_equal(kept, given):
        return True
    if not isinstance(kept, float) or isinstance(given, bool) or not isinstance(given, int | float):
        return False
    if abs(kept - given) > 10.0 ** (1 - FEWEST) * abs(kept):
        return False
    if all(float(f"{kept:.{digits}g}") != given for digits in range(FEWEST, MOST)):
        return False
    if not isinstance(parameter, Float):
        return True
    ((low, high),), (one,), (two,) = parameter.ends, *map(parameter.to_columns, (kept, given))
    return abs(one - two) <= SAME_DESIGN * (high - low)


def is_rounded(planned: Any, text: str) -> bool:
    """Whether a cell is the planned value, rounded to the digits of the cell."""
    if not isinstance(planned, float):
        return False
    try:
        cell = Decimal(text.strip().replace("\u2212", "-"))
        step = Decimal(1).scaleb(int(cell.as_tuple().exponent))
        return abs(Decimal(repr(planned)) - cell) <= step / 2
    except (ArithmeticError, TypeError, ValueError):  # a text that a number is written by otherwise
        return False


def is_equal(kept: Any, given: Any) -> bool:
    """Whether a value is the kept one, but for what arithmetic may have done to it."""
    if isinstance(kept, float) and isinstance(given, int | float):
        return abs(kept - given) <= ROUNDING * max(abs(kept), abs(given))
    return bool(kept == given)
