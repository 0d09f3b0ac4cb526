"""Known constraints on the design, which need no experiment: inequalities, or functions."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meseta.boundary import described_error, shown
from meseta.space.tokens import is_name, tokens

if TYPE_CHECKING:
    from meseta.space.parameter import Design

    Rule = str | Callable[[Design], object]
    Rules = Rule | Sequence[Rule]
else:  # at run time they are read by hand, so that a mistake is named
    Rule = Rules = object

# What rounding may do to the sum of an inequality, relative to its largest term.
ROUNDING = 1e-9
EXAMPLE = '"water + 2 * acid <= 1"'


@dataclass(frozen=True)
class Linear:
    """sum_i weight_i x_i <= limit."""

    text: str
    weights: tuple[tuple[str, float], ...]
    limit: float

    def __call__(self, design: Mapping[str, Any]) -> bool:
        terms = [weight * design[name] for name, weight in self.weights]
        largest = max(abs(term) for term in (*terms, self.limit))
        return math.fsum(terms) <= self.limit + ROUNDING * largest

    def __str__(self) -> str:
        return self.text


def check_rules(rules: Rules) -> tuple[Rule, ...]:
    """A rule or several; refused unless each is a text or a function."""
    several = [rules] if isinstance(rules, str) or callable(rules) else rules
    expected = f"allowed must be an inequality such as {EXAMPLE}, a function of a design, or a list"
    if not isinstance(several, Sequence):
        raise TypeError(f"{expected}, got {shown(rules)}")
    for rule in several:
        if not isinstance(rule, str) and not callable(rule):
            raise TypeError(f"{expected}, got {shown(rule)} among them")
    return tuple(several)


def read_rule(rule: Rule, numbers: Sequence[str]) -> Callable[["Design"], bool]:
    """A rule as a function of designs; an inequality is one of parameters that are numbers."""
    if isinstance(rule, str):
        try:
            return read_linear(rule, numbers)
        except ValueError as error:
            raise ValueError(f"allowed: the rule {rule!r} {error}") from None

    def holds(design: "Design") -> bool:
        try:
            answer = rule(dict(design))
        except Exception as error:
            raise ValueError(
                f"the function that says which designs are allowed fails at {design}: "
                f"{described_error(error)}"
            ) from error
        if not isinstance(answer, (bool, np.bool_)):
            raise TypeError(
                f"the function that says which designs are allowed must return True or False, got "
                f"{shown(answer)} at {design}"
            )
        return bool(answer)

    return holds


def read_linear(text: str, numbers: Sequence[str]) -> Linear:
    """The inequality that a text says."""
    sides = re.split(r"(<=|>=|≤|≥|==|=|<|>)", text)
    if len(sides) != 3:
        raise ValueError(f"must be one inequality such as {EXAMPLE}")
    left, sign, right = sides
    if sign in ("=", "=="):
        raise ValueError(
            "must be an inequality with <= or >=; leave out the parameter that follows from the "
            "others, and say <= for the rest"
        )
    weights: dict[str, float] = {}
    limit = 0.0
    for side, factor in ((left, 1.0), (right, -1.0)):
        for weight, name in _terms(side, numbers):
            if name is None:
                limit -= factor * weight
            else:
                weights[name] = weights.get(name, 0.0) + factor * weight
    if not any(weights.values()):
        raise ValueError("must name a parameter")
    turn = operator.neg if sign in (">=", "≥", ">") else operator.pos
    return Linear(text, tuple((n, turn(w)) for n, w in weights.items()), turn(limit))


def _terms(side: str, numbers: Sequence[str]) -> list[tuple[float, str | None]]:
    """Numbers, names, and products of numbers and a name, with their signs."""
    rest = tokens(side, numbers, ("+", "-", "*"), "number")
    terms: list[tuple[float, str | None]] = []
    while rest:
        weight, name = 1.0, None
        if terms and rest[0] not in ("+", "-"):
            raise ValueError("must have + or - between its terms")
        while True:
            while rest and rest[0] in ("+", "-"):
                weight *= -1.0 if rest.pop(0) == "-" else 1.0
            if not rest or rest[0] == "*":
                raise ValueError("has a sign or a * with nothing behind it")
            factor = rest.pop(0)
            if isinstance(factor, float):
                weight *= factor
            elif name is not None:
                raise ValueError("must be linear: two parameters are multiplied")
            else:
                name = factor[1:]
            if rest and rest[0] == "*":
                rest.pop(0)
            elif not (rest and isinstance(factor, float) and is_name(rest[0])):
                break
        terms.append((weight, name))
    if not terms:
        raise ValueError(f"must have something on both sides, such as {EXAMPLE}")
    return terms
