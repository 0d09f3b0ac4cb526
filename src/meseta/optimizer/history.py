"""The record of a run as a table, one row per value that was told."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from meseta.optimizer.outcomes import ONE, Outcomes
from meseta.optimizer.record import Recommendation, Record
from meseta.space.parameter import Categorical, Int, Value
from meseta.space.space import Space

if TYPE_CHECKING:  # a third of a second that most commands have no use for
    import pandas as pd


def check_names(space: Space, outcomes: Outcomes) -> None:
    """Refuse names that would give the history two columns of one name."""
    columns(space, None, outcomes)
    if outcomes.objective in space.names:
        raise ValueError(
            f"objective is {outcomes.objective!r}, which is a parameter; name the outcome that is "
            "optimised"
        )


def columns(
    space: Space, design: Sequence[str] | None = None, outcomes: Outcomes = ONE
) -> list[str]:
    """Names of the columns: parameters, value, state, and the recommendation after the row.

    `design` are the parameters that are recommended: all, unless some are an environment.
    """
    names = [
        *space.names,
        "value",
        *outcomes.names,
        "state",
        *(f"best_{name}" for name in (space.names if design is None else design)),
        "best_mean",
        "best_std",
        *(["best_sure"] if outcomes.constraints else []),
    ]
    for name, times in Counter(names).items():
        if times > 1:
            if name in outcomes.names:
                raise ValueError(
                    f"an outcome cannot be named {name!r} here: the history would have two such "
                    "columns; rename it"
                )
            clash = name if name in space.names else name.removeprefix("best_")
            raise ValueError(
                f"a parameter cannot be named {clash!r} here: the history would have two columns "
                f"{name!r}; rename it"
            )
    return names


def history(
    record: Record,
    space: Space,
    design: Sequence[str] | None = None,
    outcomes: Outcomes = ONE,
) -> "pd.DataFrame":
    """In the order of telling; missing is what failed or was not computed."""
    import pandas as pd

    names = space.names if design is None else design
    rows = []
    for number, best in zip(record.told, record.best, strict=True):
        trial = record.trials[number]
        values = [trial.params.get(name) for name in space.names]
        others = [trial.outcomes.get(name) for name in outcomes.names]
        row = [*values, trial.value, *others, trial.state, *_best(best, len(names))]
        if outcomes.constraints:
            row.append(None if best is None else best.sure)
        rows.append(row)
    table = pd.DataFrame(rows, columns=columns(space, names, outcomes), dtype=object)
    types = _types(space, outcomes)
    return table.astype({name: types[name] for name in table.columns})


def _best(best: Recommendation | None, num: int) -> list[Value]:
    if best is None:
        return [None] * (num + 2)
    return [*best.params.values(), best.mean, best.std]


def _types(space: Space, outcomes: Outcomes) -> dict[str, str]:
    """The type of each column; whole numbers that may be missing are nullable."""
    types = dict.fromkeys(columns(space, None, outcomes), "float")
    types["state"] = "str"
    for name, parameter in space.items():
        if isinstance(parameter, Int):
            types[name], types[f"best_{name}"] = "int64", "Int64"
        elif isinstance(parameter, Categorical):
            text = all(isinstance(choice, str) for choice in parameter.choices)
            types[name] = "str" if text else "object"
            # where "str" is no type of its own, before pandas 3, a missing one would be "None"
            types[f"best_{name}"] = "object"
    return types
