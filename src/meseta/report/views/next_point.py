"""The design that would be evaluated next, and the acquisition function behind it."""

from dataclasses import dataclass
from typing import Any

import torch

from meseta.optimizer.suggest import SuggestInfo
from meseta.report.views.axis import Axis, axis, places
from meseta.report.views.subject import Subject
from meseta.space.parameter import Value


@dataclass(frozen=True)
class NextPoint:
    """The design that would be evaluated next; with one parameter, also why."""

    method: str
    params: dict[str, Any]
    axis: Axis | None  # None: there are several parameters, or the method has no model
    acquisition: tuple[float, ...]  # along the axis; empty without one


def next_point(subject: Subject, num: int) -> NextPoint:
    """Asks a copy, so that the optimizer itself stays as it is."""
    params, info = subject.next_design
    along: Axis | None = None
    values: tuple[float, ...] = ()
    if subject.optimizer.space.dimension == 1 and info.acquisition is not None:
        (name,) = subject.optimizer.space.names
        inside = places(subject, name, num)
        along = axis(subject, name, inside)
        values = _acquisition(subject, info, inside)
    return NextPoint(subject.optimizer.method, subject.called(params), along, values)


def _acquisition(subject: Subject, info: SuggestInfo, values: list[Value]) -> tuple[float, ...]:
    assert info.acquisition is not None
    (name,) = subject.optimizer.space.names
    x = subject.rows([{name: value} for value in values])
    with torch.no_grad():
        return tuple(info.acquisition.value(x).tolist())
