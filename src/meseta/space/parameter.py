"""Parameters as users have them: numbers, whole numbers, choices.

Each is one or more columns of the box in which the mathematics happens: a number is itself or its
logarithm, one of two choices is 0 or 1, one of more is a column for each, 1 in its own.

torch is not loaded here: study files are read by this, too.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from meseta.boundary import is_array, read_number, read_whole, unknown

FARTHEST = 1e100  # widths of its range by which a number may lie outside
SMALLEST = 1e-290  # the width of a range whose reciprocal is still a sound number
MOST_STEPS = 2**31  # beyond, steps are finer than anyone means
ROUNDING = 1e-9  # of a step: what a sum of decimal fractions may be off
# Designs that differ by no more than this share of the ranges are the same one.
SAME_DESIGN = 1e-4

if TYPE_CHECKING:
    Number = float
    Flag = bool
    Ends = tuple[float, float]
    Choices = Sequence[str | bool | int | float | None]
    Value = Any  # to a type checker, so that x["speed"] * 2 needs no cast
else:  # at run time they are read by hand, so that a mistake is named
    Number = Flag = Ends = Choices = object
    Value = float | int | str | bool | None
Design = dict[str, Value]  # a value for each parameter, in the order of the space


@dataclass(frozen=True, init=False, repr=False)
class Float:
    """A number from low to high.

    With `log` it is searched on a logarithmic scale, as suits a learning rate; with `step` it takes
    the values low, low + step, ..., high only, such as a dose in tenths of a millilitre.

    `evaluate=(lower, upper)` lets experiments go beyond the range of the designs, to where the
    noise takes them.
    """

    low: float
    high: float
    log: bool
    step: float | None
    evaluate: tuple[float, float] | None

    def __init__(
        self,
        low: Number,
        high: Number,
        *,
        log: Flag = False,
        step: Number | None = None,
        evaluate: Ends | None = None,
    ) -> None:
        lower, upper = read_range("a Float", (low, high))
        _check_log("a Float", log, lower, step is not None)
        if log and not math.log(upper) > math.log(lower):
            raise ValueError(f"the range ({lower}, {upper}) is too narrow for a logarithmic scale")
        if step is not None:
            step = _read_step(lower, upper, step)
        if evaluate is not None:
            evaluate = _read_evaluate(lower, upper, evaluate, log, step)
        _set(self, low=lower, high=upper, log=log, step=step, evaluate=evaluate)

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        step = "" if self.step is None else f", step={self.step}"
        evaluate = "" if self.evaluate is None else f", evaluate={self.evaluate}"
        return f"Float({self.low}, {self.high}{log}{step}{evaluate})"

    @property
    def experiments(self) -> "Float":
        """The range of what may be evaluated."""
        if self.evaluate is None:
            return self
        return Float(*self.evaluate, log=self.log, step=self.step)

    @property
    def count(self) -> int | None:
        """How many values there are; None: any number in the range."""
        return None if self.step is None else round((self.high - self.low) / self.step) + 1

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end of each column."""
        return (_ends(self.low, self.high, self.log),)

    def read(self, what: str, value: object) -> float:
        """A told value: it may lie outside the range, or between the steps, as it was executed."""
        number = read_number(what, value)
        _check_distance(what, value, number, self)
        return number

    def to_columns(self, value: float) -> list[float]:
        return [math.log(value) if self.log else value]

    def from_columns(self, x: Sequence[float]) -> float:
        """The value, on the next step; outside the range it stays outside."""
        if self.step is not None:
            return self._stepped(round((x[0] - self.low) / self.step), self.step)
        if not self.log:
            return x[0]
        ((low, high),) = self.ends
        return _unlog(x[0], self if low <= x[0] <= high else self.experiments)

    def nearest(self, value: float) -> float:
        """The admissible value that is nearest."""
        inside = min(max(value, self.low), self.high)
        return inside if self.step is None else self.from_columns([inside])

    def _stepped(self, index: int, step: float) -> float:
        if index + 1 == self.count:
            return self.high
        # as people write it: 0.3, where 3 * 0.1 would be 0.30000000000000004
        return float(Decimal(repr(self.low)) + index * Decimal(repr(step)))


@dataclass(frozen=True, init=False, repr=False)
class Int:
    """A whole number from low to high, both included, in steps.

    With `log` it is searched on a logarithmic scale.
    """

    low: int
    high: int
    log: bool
    step: int

    def __init__(self, low: Number, high: Number, *, log: Flag = False, step: Number = 1) -> None:
        each = "each end of the range of an Int"
        lower, upper = read_whole(each, low), read_whole(each, high)
        _check_order("an Int", lower, upper)
        width = read_whole("the step of an Int", step)
        if width < 1:
            raise ValueError(f"the step of an Int must be at least 1, got {width}")
        _check_log("an Int", log, lower, width != 1)
        if (upper - lower) % width:
            fitting = lower + max(1, round((upper - lower) / width)) * width
            raise ValueError(_unfitting("an Int", lower, upper, width, fitting))
        _set(self, low=lower, high=upper, log=log, step=width)

    def __repr__(self) -> str:
        step = "" if self.step == 1 else f", step={self.step}"
        return f"Int({self.low}, {self.high}{', log=True' if self.log else ''}{step})"

    @property
    def experiments(self) -> "Int":
        """The range of what may be evaluated."""
        return self

    @property
    def count(self) -> int:
        """How many values there are."""
        return (self.high - self.low) // self.step + 1

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end of each column."""
        return (_ends(self.low, self.high, self.log),)

    def read(self, what: str, value: object) -> int:
        """A told value: a whole number, which may lie outside the range or between the steps."""
        number = read_whole(what, value)
        _check_distance(what, value, number, self)
        return number

    def to_columns(self, value: int) -> list[float]:
        return [math.log(value) if self.log else float(value)]

    def from_columns(self, x: Sequence[float]) -> int:
        """The value, on the next step; outside the range it stays outside."""
        number = _unlog(x[0], self) if self.log else x[0]
        return self.low + self.step * round((number - self.low) / self.step)

    def nearest(self, value: int) -> int:
        """The admissible value that is nearest."""
        inside = min(max(value, self.low), self.high)
        return self.low + self.step * round((inside - self.low) / self.step)


@dataclass(frozen=True, init=False, repr=False)
class Categorical:
    """One of several choices without order: strings, numbers, True, False, None."""

    choices: tuple[str | bool | int | float | None, ...]

    def __init__(self, choices: Choices) -> None:
        expected = "a Categorical takes a list of two or more choices, such as ['water', 'ethanol']"
        if isinstance(choices, (str, bytes)) or not isinstance(choices, (Sequence, np.ndarray)):
            raise TypeError(f"{expected}, got {choices!r}")
        plain = [_plain(choice) for choice in choices]
        for i, choice in enumerate(plain):
            if not _is_choice(choice):
                raise TypeError(
                    f"each choice must be a string, a finite number, True, False or None, got "
                    f"{choice!r}; give it a name, and look it up by that"
                )
            if choice in plain[:i]:
                same = plain[plain.index(choice)]
                raise ValueError(
                    f"choices must be distinct, got {same!r} and {choice!r}, which are equal"
                )
        if len(plain) < 2:
            remedy = "leave a fixed parameter out" if plain else "name them"
            raise ValueError(f"{expected}, got {plain}; {remedy}")
        _set(self, choices=tuple(plain))

    def __repr__(self) -> str:
        return f"Categorical({list(self.choices)})"

    @property
    def experiments(self) -> "Categorical":
        """What may be evaluated."""
        return self

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.choices)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end of each column."""
        return ((0.0, 1.0),) * (1 if self.count == 2 else self.count)

    def read(self, what: str, value: object) -> Value:
        """A told value, as it stands among the choices."""
        plain = _plain(value)
        for choice in self.choices:
            if _is_choice(plain) and plain == choice and _same_kind(plain, choice):
                return choice
        known = unknown("choice", plain, self.choices)
        raise ValueError(f"{what} must be one of its choices: {known}")

    def to_columns(self, value: Value) -> list[float]:
        index = self.choices.index(value)
        if self.count == 2:
            return [float(index)]
        return [float(i == index) for i in range(self.count)]

    def from_columns(self, x: Sequence[float]) -> Value:
        """The choice that is nearest."""
        if self.count == 2:
            return self.choices[x[0] > 0.5]
        return self.choices[max(range(self.count), key=x.__getitem__)]

    def nearest(self, value: Value) -> Value:
        """The value itself: only choices are read."""
        return value


Parameter = Float | Int | Categorical


def read_range(what: str, ends: Any) -> tuple[float, float]:
    """The ends of a range of numbers."""
    if is_array(ends):
        ends = ends.tolist()
    if not isinstance(ends, Sequence) or len(ends) != 2:
        raise TypeError(
            f"the range of {what} must be (low, high), got {ends!r}; for several choices write "
            "Categorical([...])"
        )
    text = any(isinstance(end, str) for end in ends)
    remedy = f"for choices write Categorical({list(ends)})" if text else ""
    low, high = (read_number(f"each end of the range of {what}", end, remedy) for end in ends)
    _check_order(what, low, high, ends)
    if not SMALLEST <= high - low < math.inf:
        size = "narrow" if high - low < 1 else "wide"
        raise ValueError(f"the range of {what} is too {size} for floating point, got {ends!r}")
    return low, high


def _check_order(what: str, low: float | int, high: float | int, ends: object = None) -> None:
    if not low < high:
        raise ValueError(
            f"the range of {what} must run from a lower to a higher number, got "
            f"{(low, high) if ends is None else ends!r}; "
            + ("leave a fixed parameter out" if low == high else "swap its ends")
        )


def _check_log(what: str, log: object, low: float | int, stepped: bool) -> None:
    if not isinstance(log, bool):
        raise TypeError(f"log must be True or False, got {log!r}")
    if log and not low > 0:
        raise ValueError(
            f"{what} on a logarithmic scale must start above 0, got low={low}; "
            "raise low, or leave log out"
        )
    if log and stepped:
        raise ValueError(
            f"{what} has either a logarithmic scale or steps, got both; leave one of them out"
        )


def _read_step(low: float, high: float, step: object) -> float:
    width = read_number("the step of a Float", step)
    if width <= 0:
        raise ValueError(f"the step of a Float must be greater than 0, got {width}")
    steps = (high - low) / width
    if steps > MOST_STEPS:
        raise ValueError(f"there are {steps:.2g} steps of {width} in the range; leave step out")
    if steps < 0.5 or abs(steps - round(steps)) > ROUNDING * max(1.0, steps):
        fitting = Decimal(repr(low)) + max(1, round(steps)) * Decimal(repr(width))
        raise ValueError(_unfitting("a Float", low, high, width, float(fitting)))
    return width


def _read_evaluate(
    low: float, high: float, evaluate: object, log: bool, step: float | None
) -> tuple[float, float] | None:
    """The ends of what may be evaluated; None where these are the ends of the range."""
    lower, upper = read_range("evaluate=(lower, upper)", evaluate)
    if not (lower <= low and high <= upper):
        raise ValueError(
            f"evaluate=({lower}, {upper}) must hold the range of the designs, ({low}, {high})"
        )
    _check_log("evaluate=(lower, upper)", log, lower, False)
    for further in (low - lower, upper - high):
        if step is not None and abs(further / step - round(further / step)) > ROUNDING:
            raise ValueError(
                f"evaluate=({lower}, {upper}) must go beyond the range of the designs, ({low}, "
                f"{high}), by whole steps of {step}"
            )
    return None if (lower, upper) == (low, high) else (lower, upper)


def _unfitting(
    what: str, low: float | int, high: float | int, step: float | int, fitting: float | int
) -> str:
    return (
        f"the range of {what} must be a whole number of steps, but {high} is none of {low}, "
        f"{low} + {step}, ...; the nearest that fits is high={fitting}"
    )


def _check_distance(what: str, given: object, number: float | int, parameter: Float | Int) -> None:
    """Refuse what the mathematics cannot place beside the range."""
    low, high = parameter.low, parameter.high
    if parameter.log and not number > 0:
        raise ValueError(
            f"{what} must be greater than 0, since its scale is logarithmic, got {given!r}"
        )
    share = abs((number - low) / (high - low))
    # squares of distances must be numbers, too; on a logarithmic scale all distances are short
    if not share <= (sys.float_info.max if parameter.log else FARTHEST):
        raise ValueError(
            f"{what} is too far outside its range ({low}, {high}) for floating point, got {given!r}"
        )


def _ends(low: float | int, high: float | int, log: bool) -> tuple[float, float]:
    return (math.log(low), math.log(high)) if log else (float(low), float(high))


def _unlog(x: float, parameter: Float | Int) -> float | int:
    """exp(x); between the ends of the column also between those of the range, despite rounding."""
    ((low, high),) = parameter.ends
    value = math.exp(x)
    return min(max(value, parameter.low), parameter.high) if low <= x <= high else value


def _plain(value: Any) -> object:
    """Out of NumPy and torch, into what Python itself has."""
    if (isinstance(value, np.generic) or is_array(value)) and not value.ndim:
        return value.item()
    return value


def _is_choice(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, bool, int))


def _same_kind(value: object, choice: object) -> bool:
    """In Python True equals 1; as a choice it is another."""
    return isinstance(value, bool) == isinstance(choice, bool)


def _set(parameter: Parameter, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(parameter, name, value)
