"""How far told values can be trusted: how much they scatter, of how many they are the mean."""

from collections.abc import Mapping
from typing import Literal, cast

from meseta.boundary import (
    LARGEST_WHOLE,
    read_count,
    read_number,
    read_value,
    shown,
    unknown,
)
from meseta.optimizer.outcomes import VALUE, Outcomes

# What is known about where an experiment was carried out: as it was told, or not, since the noise
# acted on it and nobody saw how.
Execution = Literal["known", "unseen"]
VARIES = "varies"  # in place of a noise variance: it depends on the design
STD, COUNT = "std", "n"  # in what an evaluation returns, and columns of tables
# Which part of the scatter of single values the parts have in use: "all", "none", or the standard
# deviation of the gauge, whose variance is not theirs.
Part = float | Literal["all", "none"]
ScatterInUse = Part | Mapping[str, Part]
EXPECTED = (
    '"all" (the parts scatter as the values do), "none" (it is error of the gauge), or the '
    "standard deviation of the gauge, a positive number"
)


def read_std(std: object, outcomes: Outcomes) -> dict[str, float]:
    """The standard deviations of a measurement by outcome; one number is that of what is optimised.

    What is optimised has the name VALUE here.
    """
    return {name: each for name, each in read_new_std(std, outcomes).items() if each is not None}


def read_new_std(std: object, outcomes: Outcomes) -> dict[str, float | None]:
    """The same of a correction, in which None stands for one that is not known in fact."""
    if std is None:
        return {}
    if not isinstance(std, Mapping):
        return {VALUE: _read_one("std", std)}
    known = (outcomes.objective, *outcomes.names)
    read: dict[str, float | None] = {}
    for name, each in std.items():
        if name not in (*known, VALUE):
            raise ValueError(f"std: {unknown('outcome', name, known)}")
        own = name in (outcomes.objective, VALUE)
        read[VALUE if own else name] = None if each is None else _read_one(f"std of {name!r}", each)
    return read


def _read_one(what: str, std: object) -> float:
    remedy = "leave it out if it is not known"
    number = read_value(std, what, remedy)
    if number < 0:
        raise ValueError(f"{what} must not be negative, got {shown(std)}; {remedy}")
    return number


def read_n(n: object) -> int:
    """The number of measurements whose mean was told."""
    return 1 if n is None else read_count(COUNT, n, most=LARGEST_WHOLE)


def check_of_values(std: Mapping[str, float], known: tuple[str, ...], objective: str) -> None:
    """Refuse the standard deviation of what has no value."""
    for name in std:
        if name not in known:
            own = objective if name == VALUE else name
            raise ValueError(f"there is a std of {own!r}, but no value of it; give both, or none")


def read_execution(executed: object) -> Execution | None:
    """What `tell` is given; None: as the settings say."""
    if executed is None or (isinstance(executed, str) and executed in ("known", "unseen")):
        return cast(Execution | None, executed)
    raise ValueError(
        f"executed must be 'known' (what is told was carried out) or 'unseen' (the noise acted on "
        f"it, and nobody saw how), got {shown(executed)}"
    )


def read_scatter(scatter: object, outcomes: tuple[str, ...]) -> ScatterInUse:
    """One for all outcomes, or a dict by their names."""
    if not isinstance(scatter, Mapping):
        return _read_part("scatter_in_use", scatter)
    for name in scatter:
        if name not in outcomes:
            raise ValueError(f"scatter_in_use: {unknown('outcome', name, outcomes)}")
    return {name: _read_part(f"scatter_in_use of {name!r}", p) for name, p in scatter.items()}


def _read_part(what: str, part: object) -> Part:
    if isinstance(part, str) and part in ("all", "none"):
        return "none" if part == "none" else "all"
    if isinstance(part, str):
        raise ValueError(f"{what} must be {EXPECTED}; got {shown(part)}")
    number = read_number(what, part, f"it is {EXPECTED}")
    if number <= 0:
        raise ValueError(f'{what} must be {EXPECTED}; got {number:g}: an exact gauge is "all"')
    return number


def part_of(scatter: ScatterInUse, outcome: str) -> Part:
    """That of one outcome; where a dict does not name it, all."""
    return scatter.get(outcome, "all") if isinstance(scatter, Mapping) else scatter
