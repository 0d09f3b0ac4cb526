"""Whether any experiments are close enough to tell how much values scatter; without torch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from meseta.space.parameter import Parameter

FEWEST = 5  # values from which on it is worth a word
CLOSE = 0.02  # shares of the ranges: f is not taken to differ by much within these
UNTOLD = (
    "scatter and structure cannot be told apart, since no two experiments are close: repeat two or "
    "three settings, or say noise_variance = 0 if values repeat themselves exactly"
)


class Experiment(NamedTuple):
    """A design that has a value, and whether the standard deviation of that was told."""

    params: Mapping[str, Any]
    has_std: bool


def untold(
    parameters: Mapping[str, Parameter],
    experiments: Sequence[Experiment],
    noise_variance: object,
) -> str:
    """Return that scatter and structure cannot be told apart, where it is so; otherwise nothing."""
    if noise_variance is not None or len(experiments) < FEWEST:
        return ""
    if all(each.has_std for each in experiments) or _some_close(parameters, experiments):
        return ""
    return UNTOLD


def _some_close(parameters: Mapping[str, Parameter], experiments: Sequence[Experiment]) -> bool:
    rows = np.array(
        [
            [
                (x - low) / (high - low)
                for name, parameter in parameters.items()
                for x, (low, high) in zip(
                    parameter.to_columns(each.params[name]), parameter.ends, strict=True
                )
            ]
            for each in experiments
        ]
    )
    return any((abs(rows[i + 1 :] - row) <= CLOSE).all(-1).any() for i, row in enumerate(rows))
