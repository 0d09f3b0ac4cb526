"""Measured deviations: planned and executed values, beside the noise that is assumed."""

import math
from dataclasses import dataclass

from meseta.report.views.subject import Subject

# With as many pairs the 95 % interval of a width reaches from 0.7 to 1.8 times its estimate.
ENOUGH_PAIRS = 10


@dataclass(frozen=True)
class Deviation:
    """Measured minus planned values of a parameter, and the assumed noise."""

    name: str
    pairs: int  # at least one
    mean: float
    std: float
    assumed_mean: float
    assumed_std: float
    ratio: float  # how many times as wide as assumed; NaN without assumed noise
    interval: tuple[float, float]  # of the ratio, 95 %

    @property
    def verdict(self) -> str:
        """How the measured noise compares with the assumed noise, in words."""
        low, high = self.interval
        if math.isnan(self.ratio):
            return "no noise is assumed"
        if not self.ratio:
            return "no deviation at all: the instrument may be too coarse to show it"
        if low > 1:
            return "larger than assumed"
        if high < 1:
            return "smaller than assumed"
        few = self.pairs < ENOUGH_PAIRS
        return "too few pairs to tell it from the assumed noise" if few else "as assumed"


def measured_deviations(subject: Subject) -> tuple[Deviation, ...]:
    """Those of each parameter that has any, in the terms of the user."""
    table = subject.optimizer.deviations
    return tuple(
        Deviation(
            _outer(subject, row["parameter"]),
            row["pairs"],
            row["mean"],
            row["std"],
            row["assumed_mean"],
            row["assumed_std"],
            row["ratio"],
            (row["ratio_low"], row["ratio_high"]),
        )
        for row in table[table["pairs"] > 0].to_dict("records")
    )


def _outer(subject: Subject, label: str) -> str:
    """The user's name of a parameter, with "log" where deviations are those of the logarithm."""
    inside = label.removeprefix("log ")
    if label in subject.optimizer.space.names:
        return subject.name(label)
    return f"log {subject.name(inside)}"
