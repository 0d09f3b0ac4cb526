"""One parameter as an axis of a plot."""

from dataclasses import dataclass
from typing import Any, Literal

import torch

from meseta.report.views.subject import Subject
from meseta.space.parameter import Categorical, Value

Scale = Literal["linear", "log", "choices"]


@dataclass(frozen=True)
class Axis:
    """The values of a parameter, sorted, in the user's terms."""

    name: str
    scale: Scale  # "choices": a categorical parameter, whose values are labels
    values: tuple[Any, ...]


def places(subject: Subject, name: str, num: int) -> list[Value]:
    """Distinct values over the range of a parameter, with that of the robust optimum.

    They are in the optimizer's terms.
    """
    parameter, best = subject.parameter(name), subject.robust.params[name]
    if isinstance(parameter, Categorical):
        return list(parameter.choices)
    ((low, high),) = parameter.ends
    spread = torch.linspace(low, high, num, dtype=torch.double).tolist()
    nearest: Any = parameter.nearest
    return sorted({nearest(parameter.from_columns([x])) for x in spread} | {best})


def axis(subject: Subject, name: str, values: list[Value]) -> Axis:
    parameter = subject.parameter(name)
    scale: Scale = "linear"
    if isinstance(parameter, Categorical):
        scale = "choices"
    elif parameter.log:
        scale = "log"
    return Axis(subject.name(name), scale, tuple(subject.value(name, value) for value in values))
