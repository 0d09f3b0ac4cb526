"""One parameter as an axis of a plot."""

from dataclasses import dataclass
from typing import Literal

from meseta.parameters import Value

Scale = Literal["linear", "log", "choices"]


@dataclass(frozen=True)
class Axis:
    """Values of a parameter, in their order, in the terms of the user."""

    name: str
    scale: Scale  # "choices" have no order: labels
    values: tuple[Value, ...]
