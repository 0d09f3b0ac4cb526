"""The words of a report: names, units, notes, and the specification limits of the value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from meseta.boundary import read_number, unknown
from meseta.measures import Measure, Yield
from meseta.measures.constraints import PROBABILITY, Constraint, limits
from meseta.space.price import Costs, Price, Widths, read_prices


class Words(TypedDict, total=False):
    """What a user may say about a report."""

    title: str
    value: str  # what is measured: "holding force"
    unit: str  # the unit of the value
    units: Mapping[str, str]  # units by parameter
    notes: Mapping[str, str]  # notes by parameter
    note: str  # a note on the study
    at_least: float | None  # lower specification limit of the value
    at_most: float | None  # upper specification limit of the value
    target: float | None  # what the value should be, between the limits
    probability: float  # how often the limits are to be met in use
    costs: Costs  # what tolerances cost, by parameter: "12 / width", {0.01: 40, 0.02: 25}
    widths: Widths  # between which widths to choose, by parameter


@dataclass(frozen=True)
class Terms:
    """The words of one report: plain text of a user, never markup."""

    title: str = "Robust optimization"
    value: str = "f"
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    at_least: float | None = None
    at_most: float | None = None
    target: float | None = None
    probability: float = PROBABILITY
    prices: Mapping[str, Price] = field(default_factory=dict)  # of tolerances, by parameter

    def unit_of(self, name: str) -> str:
        """The unit of a parameter; empty if it has none."""
        return self.units.get(name, "")

    def with_limits_of(self, measure: Measure) -> "Terms":
        """With those of a yield that is maximised, where no others are said."""
        if self.goal is not None or not isinstance(measure, Yield):
            return self
        low, high = (end if math.isfinite(end) else None for end in (measure.low, measure.high))
        return replace(self, at_least=low, at_most=high)

    @property
    def goal(self) -> Constraint | None:
        """The specification, and how often it is to be met; None without limits."""
        if self.at_least is None and self.at_most is None:
            return None
        return limits(self.at_least, self.at_most, self.probability)


def read_terms(words: Mapping[str, Any], parameters: Sequence[str] | None = None) -> Terms:
    """Reads what a user says; `parameters` are those that may have units and notes."""
    known = Words.__annotations__
    read: dict[str, Any] = {}
    for key, said in words.items():
        if key not in known:
            raise TypeError(unknown("argument of a report", key, known))
        if key in ("costs", "widths"):
            continue
        if key == "probability":
            read[key] = read_number(key, said)
        elif key in ("at_least", "at_most", "target"):
            read[key] = None if said is None else read_number(key, said)
        elif key in ("units", "notes"):
            read[key] = _read_texts(key, said, parameters)
        else:
            read[key] = _read_text(key, said)
    if words.get("costs") is not None or words.get("widths") is not None:
        read["prices"] = read_prices(words.get("costs") or {}, words.get("widths"), parameters)
    terms = Terms(**read)
    _check_limits(terms, words)
    return terms


def _check_limits(terms: Terms, words: Mapping[str, Any]) -> None:
    low, high = terms.at_least, terms.at_most
    if low is not None and high is not None and low >= high:
        raise ValueError(f"at_least must be less than at_most, got {low} and {high}")
    if terms.goal is None:
        said = [key for key in ("target", "probability") if words.get(key) is not None]
        if said:
            raise ValueError(f"{said[0]} needs limits to be met: give at_least, at_most, or both")
        return
    at = terms.target
    if at is not None and not ((low is None or low <= at) and (high is None or at <= high)):
        raise ValueError(f"target must lie between the limits, got {at}")


def _read_text(key: str, said: object) -> str:
    if not isinstance(said, str):
        raise TypeError(f"{key} must be a text, got {said!r}")
    return said


def _read_texts(key: str, said: object, parameters: Sequence[str] | None) -> dict[str, str]:
    if not isinstance(said, Mapping):
        raise TypeError(f"{key} must be a dict with a text for each parameter, got {said!r}")
    for name in said:
        if parameters is not None and name not in parameters:
            raise ValueError(f"{key}: {unknown('parameter', name, parameters)}")
    return {name: _read_text(f"{key} of {name!r}", text) for name, text in said.items()}
