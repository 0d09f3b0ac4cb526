"""A run to be done: everything that its outcome depends on."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

Option = int | float | str


@dataclass(frozen=True)
class Job:
    """One method on one problem with one seed.

    `prior` is "default" or "paper", see `fit_surrogate`, or "known": hyper-parameters are fixed to
    those of the process that the function was drawn from.
    """

    problem: str
    method: str
    options: tuple[tuple[str, Option], ...]  # those that differ from the method's defaults
    seed: int
    prior: str
    evaluations: int

    @property
    def label(self) -> str:
        """The method with its options, "nes-ep:num_max_values=10"."""
        return write_method(self.method, self.options)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Job":
        known = {field.name: values[field.name] for field in fields(cls)}
        return cls(**{**known, "options": tuple(sorted(values["options"].items()))})


def write_method(name: str, options: tuple[tuple[str, Option], ...]) -> str:
    return ":".join([name, *(f"{key}={value}" for key, value in options)])


def read_method(label: str) -> tuple[str, tuple[tuple[str, Option], ...]]:
    """The name and options of "nes-ep:num_max_values=10"; unknown ones are refused.

    Options that are the method's defaults are dropped: they are the same method.
    """
    from meseta.acquisition import methods

    name, *settings = label.strip().split(":")
    given: dict[str, Option] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(
                f"options are written name=value, got {setting!r} in {label!r}; "
                "for example nes-ep:num_max_values=10"
            )
        given[key] = _value(text)
    checked, default = methods.checked_options(name, given), methods.checked_options(name)
    kept = {key: getattr(checked, key) for key in given}
    kept = {key: value for key, value in kept.items() if value != getattr(default, key)}
    return name, tuple(sorted(kept.items()))


def plain_label(label: str) -> str:
    """The label without options that are the method's defaults, as plans and records have it."""
    return write_method(*read_method(label))


def _value(text: str) -> Option:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, int | float) else text
