"""Mistakes in a study file: a sentence for people, and its line."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from meseta.boundary import shown, unknown
from meseta.study.toml.lines import Place, spelled

_EXPECTED = {
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "string_type": 'must be a text in quotes, "..."',
    "bool_type": "must be true or false",
    "tuple_type": "must be a list, [...]",
    "dict_type": "must be a table",
    "model_type": "must be a table, { ... }",
    "model_attributes_type": "must be a table, { ... }",
}
_LIMITS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


class Mistake(NamedTuple):
    """A mistake at a place; `says` follows its name: "must be a number, got 'wide'"."""

    line: int | None  # None: the file as a whole
    place: Place
    says: str

    def in_file(self, label: str) -> str:
        where = label if self.line is None else f"{label}:{self.line}"
        return f"{where}: {' '.join(filter(None, [spelled(self.place), self.says]))}"


class StudyError(ValueError):
    """A study file cannot be used; `mistakes` has what is wrong, one text each."""

    def __init__(self, label: str, mistakes: Iterable[Mistake]) -> None:
        self.label = label
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(mistake.in_file(label) for mistake in self.mistakes))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.label, self.mistakes)


def sentence(error: Mapping[str, Any]) -> str:
    """The sentence after the place for an error of pydantic: what was expected, what came."""
    kind, context = error["type"], error.get("ctx", {})
    got = f", got {shown(error['input'])}"
    if kind == "refused":
        return str(context["says"])
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        known = [word.strip(" '") for word in context["expected"].replace(" or ", ",").split(",")]
        return not_among("value", error["input"], known)
    if kind == "string_pattern_mismatch":  # a Text
        return "must not be empty; leave it out, or write something"
    if kind in _LIMITS:
        return _LIMITS[kind].format(**context) + got
    expected = _EXPECTED.get(kind) or str(error["msg"]).lower().replace("input should", "must")
    return expected + got


def not_among(what: str, value: object, known: Iterable[str]) -> str:
    """The sentence that refuses a word, and suggests another."""
    if isinstance(value, str):
        return f"is not known: {unknown(what, value, known)}"
    return f"must be one of {', '.join(map(repr, known))}, got {shown(value)}"


def _has(raw: object, part: str | int) -> bool:
    if isinstance(raw, list):
        return isinstance(part, int) and part < len(raw)
    return isinstance(raw, Mapping) and part in raw


def trimmed(error: Mapping[str, Any], raw: Any) -> Place:
    """The place of an error, without the names of alternatives that pydantic puts between."""
    place: Place = ()
    location = list(error["loc"])
    for position, part in enumerate(location):
        last = position == len(location) - 1
        if _has(raw, part):
            raw = raw[part]
        elif not (last and error["type"] == "missing"):
            continue
        place = (*place, part)
    key = error.get("ctx", {}).get("key") if error["type"] == "refused" else None
    return place if key is None else (*place, key)
