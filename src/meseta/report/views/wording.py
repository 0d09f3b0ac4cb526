"""The words of a report: names, units, notes, and the specification limits of the value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from meseta.boundary import read_number, unknown


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

    def unit_of(self, name: str) -> str:
        """The unit of a parameter; empty if it has none."""
        return self.units.get(name, "")

    @property
    def has_spec(self) -> bool:
        return self.at_least is not None or self.at_most is not None


def read_terms(words: Mapping[str, Any], parameters: Sequence[str] | None = None) -> Terms:
    """Reads what a user says; `parameters` are those that may have units and notes."""
    known = Words.__annotations__
    read: dict[str, Any] = {}
    for key, said in words.items():
        if key not in known:
            raise TypeError(unknown("argument of a report", key, known))
        if key in ("at_least", "at_most"):
            read[key] = None if said is None else read_number(key, said)
        elif key in ("units", "notes"):
            read[key] = _read_texts(key, said, parameters)
        else:
            read[key] = _read_text(key, said)
    terms = Terms(**read)
    if terms.at_least is not None and terms.at_most is not None and terms.at_least > terms.at_most:
        raise ValueError(
            f"at_least must not be greater than at_most, got {terms.at_least} and {terms.at_most}"
        )
    return terms


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
