"""Measures by their words, as in study files and on the command line."""

import math

from meseta.boundary import unknown
from meseta.measures.catalogue import (
    CVaR,
    Mean,
    MeanStd,
    OnTarget,
    Quantile,
    WorstCase,
    Yield,
)
from meseta.measures.measure import Measure

WORDS = {
    "mean": Mean,
    "quantile": Quantile,
    "cvar": CVaR,
    "mean-std": MeanStd,
    "worst-case": WorstCase,
    "on-target": OnTarget,
    "yield": Yield,
}


def read_measure(measure: object) -> Measure:
    """A measure as it is, or by its words as in study files: "quantile 0.05", "yield 0.8 inf"."""
    if isinstance(measure, Measure):
        return measure
    expected = (
        "measure must be meseta.Quantile(0.05) or another measure, or its words, such as "
        f'"quantile 0.05", got {measure!r}'
    )
    if not isinstance(measure, str):
        raise TypeError(expected)
    name, *texts = measure.split() or [""]
    if name not in WORDS:
        raise ValueError(unknown("measure", name, list(WORDS)))
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        raise ValueError(expected) from None
    if name == "yield":
        if len(numbers) != 2:
            raise ValueError(f'"yield" takes two limits, "yield 0.8 inf", got {measure!r}')
        low, high = numbers
        return Yield(None if low == -math.inf else low, None if high == math.inf else high)
    least, most = {"mean": (0, 0), "worst-case": (0, 1)}.get(name, (1, 1))
    if not least <= len(numbers) <= most:
        raise ValueError(f'"{name}" takes {"no" if not most else "one"} number, got {measure!r}')
    made: Measure = WORDS[name](*numbers)
    return made
