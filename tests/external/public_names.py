"""What the cases ask of the library, by the names that it has for it: the only place to rename."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import meseta
from meseta.report.views.capability import Capability, capability_of
from meseta.report.views.estimate import SampledEstimate as Share
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

__all__ = ["Capability", "Design", "Share", "Study", "told"]
Design = Mapping[str, float]


@dataclass(frozen=True)
class Study:
    """An optimizer that was told values, and a design that is asked about."""

    optimizer: meseta.Optimizer
    design: Design

    def capability(
        self, at_least: float | None = None, at_most: float | None = None, **terms: Any
    ) -> Capability:
        """How the design keeps the limits in use."""
        subject = Subject(self.optimizer)
        goal = Terms(at_least=at_least, at_most=at_most).goal
        found = self.optimizer.promise(self.design)
        return capability_of(subject, found, subject.rows([self.design]), goal, terms.get("target"))


def told(
    f: Callable[[Design], float],
    space: Mapping[str, tuple[float, float]],
    noise: Any,
    runs: int,
    design: Design,
    **settings: Any,
) -> Study:
    """A study of a space-filling plan of so many runs."""
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=runs, **settings)
    for params in optimizer.ask(runs):
        optimizer.tell(params, float(f(params)))
    return Study(optimizer, design)
