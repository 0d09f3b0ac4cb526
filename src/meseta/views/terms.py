"""The words of a report: what things are called, their units, and what is asked of the value."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Terms:
    """All of it is text of users: never markup."""

    title: str = "Robust optimization"
    value: str = "f"  # what is measured: "holding force"
    unit: str = ""  # of that
    units: Mapping[str, str] = field(default_factory=dict)  # of parameters, for those that have one
    notes: Mapping[str, str] = field(default_factory=dict)  # on parameters
    note: str = ""  # on the whole
    at_least: float | None = None  # a specification of the value: its limits
    at_most: float | None = None

    def unit_of(self, name: str) -> str:
        """Of a parameter; empty where it has none."""
        return self.units.get(name, "")

    @property
    def has_spec(self) -> bool:
        return self.at_least is not None or self.at_most is not None
