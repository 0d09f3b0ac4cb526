"""What the cases ask of the library, by the names that it has for it: the only place to rename."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import meseta
from meseta.measures.capability import Indices, indices
from meseta.report.views.capability import Capability, capability_of
from meseta.report.views.estimate import SampledEstimate as Share
from meseta.report.views.stack_up import StackUp, stack_up
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

__all__ = ["Capability", "Design", "Share", "StackUp", "Study", "indices_of", "moments_of", "told"]
Design = Mapping[str, float]
MANY = 2000  # values that a model takes long for


@dataclass(frozen=True)
class Study:
    """An optimizer that was told values, and a design that is asked about."""

    optimizer: meseta.Optimizer
    design: Design

    def capability(self, **words: float | None) -> Capability:
        """How the design keeps limits in use: at_least, at_most, target."""
        terms, subject = Terms(**words), Subject(self.optimizer)
        promised = self.optimizer.promise(self.design)
        x = subject.rows([self.design])
        return capability_of(subject, promised, x, terms.goal, terms.target)

    def stack_up(self, **words: float | None) -> StackUp:
        """The tolerances of the recommended design, on paper."""
        return stack_up(Subject(self.optimizer), Terms(**words).goal)


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


def indices_of(values: Sequence[float], **words: float | None) -> Indices:
    """The capability of measured values, each of the same weight."""
    terms = Terms(**words)
    weights = torch.full((len(values),), 1 / len(values), dtype=torch.double)
    found = torch.tensor(values, dtype=torch.double)
    return indices(found, weights, terms.goal, terms.target)


def moments_of(values: Sequence[float]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation (n - 1) of values, by everything that computes them."""
    whole = math.sqrt(len(values) / (len(values) - 1))  # of those that divide by n
    law, fit = meseta.Empirical(values), meseta.fit_noise(values)
    seen = indices_of(values, at_least=min(values))
    found = {
        "sampled law": (float(law.mean[0]), whole * float(law.covariance_matrix[0, 0]) ** 0.5),
        "fitted noise": (fit.mean, fit.std),
        "capability": (float(seen.mean), whole * float(seen.std)),
    }
    if len(values) < MANY:
        found["told values"] = _of_told(values)
    return found


def _of_told(values: Sequence[float]) -> tuple[float, float]:
    optimizer = meseta.Optimizer({"x": (0.0, 1.0)}, noise=meseta.Normal(0.1))
    for x, value in zip(np.linspace(0, 1, len(values)).tolist(), values, strict=True):
        optimizer.tell({"x": x}, value)
    return optimizer.user_units
