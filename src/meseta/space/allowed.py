"""Known constraints on the design, which need no experiment: inequalities, or functions."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meseta.boundary import described_error, shown, unknown

if TYPE_CHECKING:
    from meseta.space.parameter import Design

    Rule = str | Callable[[Design], object]
    Rules = Rule | Sequence[Rule]
else:  # at run time they are read by hand, so that a mistake is named
    Rule = Rules = object

# What rounding may do to the sum of an inequality, relative to its largest term.
ROUNDING = 1e-9
_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d[\d.]*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)\s*\*?)?\s*")
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
        return read_linear(rule, numbers)

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
        raise ValueError(f"must be one inequality such as {EXAMPLE}, got {text!r}")
    left, sign, right = sides
    if sign in ("=", "=="):
        raise ValueError(
            f"must be an inequality with <= or >=, got {text!r}; leave out the parameter that "
            "follows from the others, and say <= for the rest"
        )
    weights: dict[str, float] = {}
    limit = 0.0
    for side, factor in ((left, 1.0), (right, -1.0)):
        for weight, name in _terms(side, numbers, text):
            if name is None:
                limit -= factor * weight
            else:
                weights[name] = weights.get(name, 0.0) + factor * weight
    if not any(weights.values()):
        raise ValueError(f"must name a parameter, got {text!r}")
    turn = operator.neg if sign in (">=", "≥", ">") else operator.pos
    return Linear(text, tuple((n, turn(w)) for n, w in weights.items()), turn(limit))


def _terms(side: str, numbers: Sequence[str], text: str) -> list[tuple[float, str | None]]:
    """Numbers, names, and numbers times names, with their signs."""
    longest = sorted(numbers, key=len, reverse=True)
    terms: list[tuple[float, str | None]] = []
    rest = side.strip()
    while rest:
        start = _TERM.match(rest)
        assert start is not None
        sign, number = start[1], start[2]
        after = rest[start.end() :]
        name = next((each for each in longest if _begins(after, each)), None)
        if name is None and number is None:
            word = re.split(r"[+\-*<>=\s]", after.strip())[0] or after
            raise ValueError(f"has a word that is not known: {unknown('number', word, numbers)}")
        if terms and not sign:
            raise ValueError(f"must have + or - between its terms, got {text!r}")
        weight = float(number or 1.0) * (-1.0 if sign == "-" else 1.0)
        terms.append((weight, name))
        rest = (after[len(name) :] if name else after).strip()
    if not terms:
        raise ValueError(f"must have something on both sides, such as {EXAMPLE}, got {text!r}")
    return terms


def _begins(text: str, name: str) -> bool:
    """Whether a text begins with a name, and not with a longer word."""
    return text.startswith(name) and not re.match(r"\w", text[len(name) : len(name) + 1])
