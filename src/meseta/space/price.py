"""What tolerances cost, by their width: a formula, or a table of grades.

torch is not loaded here: study files are read by this, too.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from meseta.boundary import read_number, shown, unknown
from meseta.space.formula import Formula, read_formula

if TYPE_CHECKING:
    Cost = str | Mapping[float, float] | Mapping[str, float]
    Costs = Mapping[str, Cost]
    Widths = Mapping[str, tuple[float, float]]
else:  # at run time they are read by hand, so that a mistake is named
    Cost = Costs = Widths = object

WIDTH = "width"  # what a formula is about
EXAMPLE = '"12 / width", or a table of grades, {"0.01": 40, "0.02": 25}'
REACH = 10.0  # times today's width, or a part of it: how far widths may go if nobody says
LOOKED_AT = 1025  # widths at which a formula is looked at before it is used
ROUNDING = 1e-9  # relative: a cost that grows by less does not grow


@dataclass(frozen=True)
class Grades:
    """A few widths that there are, narrow ones first, and what each of them costs."""

    widths: tuple[float, ...]
    costs: tuple[float, ...]

    def number(self, width: float) -> float | None:
        """The cost of a grade; None: there is no such grade."""
        place = bisect_right(self.widths, width * (1 + 1e-9))
        found = place > 0 and math.isclose(self.widths[place - 1], width, rel_tol=1e-6)
        return self.costs[place - 1] if found else None

    def __str__(self) -> str:
        pairs = zip(self.widths, self.costs, strict=True)
        return ", ".join(f"{cost:g} for {width:g}" for width, cost in pairs)


@dataclass(frozen=True)
class Price:
    """The cost of a tolerance, and between which widths it may be chosen.

    `between` None: from a tenth of today's width to ten times as much; of grades their ends.
    """

    cost: Formula | Grades
    between: tuple[float, float] | None = None

    def ends(self, today: float) -> tuple[float, float]:
        """The narrowest and the widest that may be chosen."""
        if isinstance(self.cost, Grades):
            return self.cost.widths[0], self.cost.widths[-1]
        return (today / REACH, today * REACH) if self.between is None else self.between

    def check(self, today: float) -> None:
        """Refuse a formula that does not give the cost of a tolerance between the ends."""
        if isinstance(self.cost, Grades):
            return
        low, high = self.ends(today)
        inner = [low * (high / low) ** (i / (LOOKED_AT - 1)) for i in range(1, LOOKED_AT - 1)]
        costs: list[tuple[float, float]] = []
        for width in (low, *inner, high):
            cost = self.cost.number(width)
            if cost is None or cost < 0:
                what = "no finite number" if cost is None else f"negative ({cost:.4g})"
                raise ValueError(
                    f"the cost {self.cost.text!r} is {what} where width is {width:.4g}; "
                    f"widths from {low:.4g} to {high:.4g} are looked at: say width = [low, high] "
                    "to choose among others"
                )
            costs.append((width, cost))
        for (narrow, more), (wide, less) in pairwise(costs):
            if less > more * (1 + ROUNDING):
                raise ValueError(
                    f"the cost {self.cost.text!r} grows with the width, from {more:.6g} where "
                    f"width is {narrow:.6g} to {less:.6g} where it is {wide:.6g}, but a wider "
                    "tolerance must not cost more; did you mean '... / width'? Or say "
                    "width = [low, high] to choose where it falls"
                )


def read_prices(
    costs: Costs, widths: Widths | None = None, names: Sequence[str] | None = None
) -> dict[str, Price]:
    """Prices by parameter; `names` are those that there are."""
    for what, given in (("costs", costs), ("widths", {} if widths is None else widths)):
        if not isinstance(given, Mapping):
            raise TypeError(f'{what} must be a dict such as {{"shaft": ...}}, got {shown(given)}')
        for name in given:
            if names is not None and name not in names:
                raise ValueError(f"{what}: {unknown('parameter', name, names)}")
    between = {} if widths is None else widths
    for name in between:
        if name not in costs:
            raise ValueError(f"widths has {name!r}, which has no cost; say what it costs, too")
    found = {}
    for name, cost in costs.items():
        try:
            found[name] = read_price(cost, between.get(name))
        except (TypeError, ValueError) as error:
            raise type(error)(f"the cost of {name!r} {error}") from None
    return found


def read_price(cost: Cost, between: Sequence[float] | None = None) -> Price:
    """The cost of one tolerance; an error says what is wrong with it."""
    if isinstance(cost, str):
        return Price(read_formula(cost, WIDTH), _read_between(between))
    if isinstance(cost, Mapping):
        if between is not None:
            raise ValueError("is a table of grades, which are all the widths there are: drop width")
        return Price(_read_grades(cost))
    raise TypeError(f"must be a formula such as {EXAMPLE}, got {shown(cost)}")


def _read_grades(grades: Mapping[Any, Any]) -> Grades:
    if not grades:
        raise ValueError(f"must have at least one grade, as in {EXAMPLE}")
    read: dict[float, float] = {}
    for width, cost in grades.items():
        number = _read_width(width)
        if number in read:
            raise ValueError(f"has the width {number:g} twice")
        price = read_number(f"must have a number for each width; that of {width!r}", cost)
        if price < 0:
            raise ValueError(f"must have costs of 0 or more; that of {width!r} is {price:g}")
        read[number] = price
    widths = tuple(sorted(read))
    return Grades(widths, tuple(read[width] for width in widths))


def _read_width(width: object) -> float:
    """A width, also as a text, as keys of TOML are."""
    try:
        number = float(width) if isinstance(width, str) else read_number("a width", width)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        hint = ""
        if isinstance(width, str) and "," in width:
            hint = f"; write {width.replace(',', '.')!r}"
        raise ValueError(f"must have widths above 0 as its keys, got {shown(width)}{hint}")
    return number


def _read_between(between: object) -> tuple[float, float] | None:
    if between is None:
        return None
    expected = "needs width = [low, high], two numbers above 0"
    if isinstance(between, str) or not isinstance(between, Sequence) or len(between) != 2:
        raise TypeError(f"{expected}, got {shown(between)}")
    low, high = (read_number(expected, end) for end in between)
    if not 0 < low < high < math.inf:
        raise ValueError(f"{expected}, the lower one first, got {shown(between)}")
    return low, high
