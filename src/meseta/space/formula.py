"""Formulas in one quantity, as users write them: "12 / width", "3 + 0.5 * width ^ -1.2".

They are read, never executed as Python. A formula takes a number, or a tensor, by which it can be
differentiated. torch is not loaded here: study files are read by this, too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from meseta.boundary import shown
from meseta.space.tokens import tokens

Term = Callable[[Any], Any]  # of the quantity: a float, or a tensor
SIGNS = ("+", "-", "*", "/", "^", "**", "(", ")")
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda value: value**0.5,
    "exp": lambda value: math.e**value,
    "log": lambda value: value.log() if hasattr(value, "log") else math.log(value),
}
DEEPEST = 40  # brackets within brackets


@dataclass(frozen=True)
class Formula:
    """A function of one quantity. Two are equal if their texts are."""

    text: str
    quantity: str
    term: Term = field(repr=False, compare=False)

    def __call__(self, value: Any) -> Any:
        return self.term(value)

    def number(self, value: float) -> float | None:
        """The value where it is a finite number, otherwise None."""
        try:
            found = self.term(float(value))
        except (ArithmeticError, ValueError):
            return None
        sound = isinstance(found, float | int) and math.isfinite(found)
        return float(found) if sound else None

    def __str__(self) -> str:
        return self.text


def read_formula(text: str, quantity: str) -> Formula:
    """The formula that a text says; a ValueError says what is wrong with it."""
    words = (quantity, *FUNCTIONS)
    rest = tokens(text, words, SIGNS, "word")
    if not rest:
        raise ValueError(f"must be a formula such as '12 / {quantity}', got {shown(text)}")
    term = _sum(rest, quantity, 0)
    if rest:
        raise ValueError(f"must have a sign before {_shown(rest[0])}")
    if f"'{quantity}" not in tokens(text, words, SIGNS, "word"):
        raise ValueError(f"must have {quantity} in it, such as '12 / {quantity}'")
    return Formula(text, quantity, term)


def _sum(rest: list[str | float], quantity: str, depth: int) -> Term:
    if depth > DEEPEST:
        raise ValueError("has too many brackets within brackets")
    term = _product(rest, quantity, depth)
    while rest and rest[0] in ("+", "-"):
        sign, next_ = rest.pop(0), _product(rest, quantity, depth)
        term = _added(term, next_) if sign == "+" else _taken(term, next_)
    return term


def _product(rest: list[str | float], quantity: str, depth: int) -> Term:
    term = _signed(rest, quantity, depth)
    while rest and rest[0] in ("*", "/"):
        sign, next_ = rest.pop(0), _signed(rest, quantity, depth)
        term = _times(term, next_) if sign == "*" else _over(term, next_)
    return term


def _signed(rest: list[str | float], quantity: str, depth: int) -> Term:
    negative = False
    while rest and rest[0] in ("+", "-"):
        negative ^= rest.pop(0) == "-"
    base = _atom(rest, quantity, depth)
    if rest and rest[0] in ("^", "**"):
        rest.pop(0)
        base = _power(base, _signed(rest, quantity, depth + 1))
    return _times(lambda value: -1.0, base) if negative else base


def _atom(rest: list[str | float], quantity: str, depth: int) -> Term:
    if not rest:
        raise ValueError("ends where a number is expected")
    first = rest.pop(0)
    if isinstance(first, float):
        return lambda value: first
    if first == f"'{quantity}":
        return lambda value: value
    if first == "(":
        return _bracket(rest, quantity, depth)
    if first.startswith("'"):
        name = first[1:]
        if not rest or rest.pop(0) != "(":
            raise ValueError(f"must have brackets after {name}, such as {name}({quantity})")
        function, inner = FUNCTIONS[name], _bracket(rest, quantity, depth)
        return lambda value: function(inner(value))
    raise ValueError(f"has {_shown(first)} where a number is expected")


def _bracket(rest: list[str | float], quantity: str, depth: int) -> Term:
    inner = _sum(rest, quantity, depth + 1)
    if not rest or rest.pop(0) != ")":
        raise ValueError("has a bracket that is not closed")
    return inner


def _added(a: Term, b: Term) -> Term:
    return lambda value: a(value) + b(value)


def _taken(a: Term, b: Term) -> Term:
    return lambda value: a(value) - b(value)


def _times(a: Term, b: Term) -> Term:
    return lambda value: a(value) * b(value)


def _over(a: Term, b: Term) -> Term:
    return lambda value: a(value) / b(value)


def _power(a: Term, b: Term) -> Term:
    return lambda value: a(value) ** b(value)


def _shown(token: str | float) -> str:
    return f"{token:g}" if isinstance(token, float) else repr(token.removeprefix("'"))
