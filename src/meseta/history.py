"""The record of a run as a table, one row per value that was told."""

import math
from collections import Counter

import pandas as pd

from meseta.record import Recommendation, Record
from meseta.space import Space


def columns(space: Space) -> list[str]:
    """Names of the columns: parameters, value, state, and the recommendation after the row."""
    names = [
        *space.names,
        "value",
        "state",
        *(f"best_{name}" for name in space.names),
        "best_mean",
        "best_std",
    ]
    for name, times in Counter(names).items():
        if times > 1:
            clash = name if name in space.names else name.removeprefix("best_")
            raise ValueError(
                f"a parameter cannot be named {clash!r} here: the history would have two columns "
                f"{name!r}; rename it"
            )
    return names


def history(record: Record, space: Space) -> pd.DataFrame:
    """In the order of telling; NaN for what failed or was not computed."""
    rows = []
    for number, best in zip(record.told, record.best, strict=True):
        trial = record.trials[number]
        value = math.nan if trial.value is None else trial.value
        rows.append([*trial.params.values(), value, trial.state, *_best(best, space)])
    table = pd.DataFrame(rows, columns=columns(space))
    return table.astype({name: "str" if name == "state" else "float" for name in table.columns})


def _best(best: Recommendation | None, space: Space) -> list[float]:
    if best is None:
        return [math.nan] * (space.dimension + 2)
    return [*best.params.values(), best.mean, best.std]
