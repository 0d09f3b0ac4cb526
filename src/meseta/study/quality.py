"""The quality of values that people tell: how much they scatter, of how many they are the mean."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial

from meseta.integrations.optuna.attributes import EXECUTION, PRECISION, precision_of, stds_of
from meseta.optimizer.outcomes import EXECUTED, VALUE
from meseta.optimizer.precision import (
    COUNT,
    STD,
    Execution,
    check_of_values,
    read_execution,
    read_n,
    read_std,
)
from meseta.study.digits import is_same
from meseta.study.entries import read_text_number
from meseta.study.toml.file import StudyFile

OF = f"{STD} of "  # and the name of a further outcome: a column, or before = on the command line


class Quality(NamedTuple):
    """What is said of a value besides itself."""

    std: dict[str, float]
    n: int
    execution: Execution | None  # None: as the study says

    @property
    def said(self) -> dict[str, Any]:
        """The attributes of its trial."""
        n = {} if self.n == 1 else {COUNT: self.n}
        std = {STD: self.std} if self.std else {}
        return {PRECISION: {**std, **n}, EXECUTION: self.execution}


NONE = Quality({}, 1, None)


def unit_of(file: StudyFile, column: str) -> str | None:
    """The unit of a column that says so; None: it has none."""
    if column == STD:
        return file.unit
    limits = file.constraints.get(column.removeprefix(OF))
    return None if limits is None else limits.unit


def columns(file: StudyFile) -> dict[str, bool]:
    """Columns of a table that say so, and whether they have numbers; others may have such names."""
    outcomes = file.outcomes
    every = {STD: True, **{f"{OF}{name}": True for name in outcomes.names}}
    every |= {COUNT: True, EXECUTED: False}
    taken = (*file.parameters, outcomes.objective, *outcomes.names)
    return {name: numbers for name, numbers in every.items() if name not in taken}


def texts_in(file: StudyFile, cells: Mapping[str, str]) -> dict[str, str]:
    """The cells of a row that say so."""
    return {name: cells[name] for name in columns(file) if cells.get(name)}


def texts_of(std: Sequence[str], n: str | None, executed: str | None) -> dict[str, str]:
    """What was said by options: 0.1, or stress=5, as often as needed."""
    found: dict[str, str] = {}
    for each in std:
        name, sign, text = (part.strip() for part in each.rpartition("="))
        key = f"{OF}{name}" if sign and name != VALUE else STD
        if key in found:
            raise ValueError(f"--std is given twice for {name or VALUE!r}; give it once")
        found[key] = text
    said = {COUNT: n, EXECUTED: executed}
    return found | {key: text for key, text in said.items() if text is not None}


def read_quality(
    texts: Mapping[str, str], file: StudyFile, known: Sequence[str], executed: Iterable[str]
) -> Quality:
    """What is said about the values of a trial.

    `known` are those that it has, and `executed` the parameters that were told as carried out.
    """
    outcomes = file.outcomes
    numbers = {
        name.removeprefix(OF) if name.startswith(OF) else VALUE: read_text_number(repr(name), text)
        for name, text in texts.items()
        if name == STD or name.startswith(OF)
    }
    std = read_std(numbers, outcomes)
    check_of_values(std, tuple(known), outcomes.objective)
    n = read_text_number(repr(COUNT), texts[COUNT]) if COUNT in texts else 1
    whole = int(n) if n == int(n) else n
    said = read_execution(texts.get(EXECUTED)) or usual_execution(file, executed)
    return Quality(std, read_n(whole), said)


def quality_of(trial: FrozenTrial) -> dict[str, Any]:
    """What a trial says about its values, by column."""
    std = {STD if name == VALUE else f"{OF}{name}": each for name, each in stds_of(trial).items()}
    n, execution = precision_of(trial).get(COUNT), trial.user_attrs.get(EXECUTION)
    said = {**std, COUNT: n, EXECUTED: execution}
    return {name: each for name, each in said.items() if each is not None}


def agrees(quality: Quality, trial: FrozenTrial, file: StudyFile, executed: Iterable[str]) -> bool:
    """Whether a trial has all that is said here; what is not said here it may have."""
    kept, n = stds_of(trial), precision_of(trial).get(COUNT, 1)
    usual, said = usual_execution(file, executed), quality.execution
    return (
        all(is_same(kept.get(name), each) for name, each in quality.std.items())
        and quality.n in (1, n)
        and said in (None, usual, trial.user_attrs.get(EXECUTION))
    )


def usual_execution(file: StudyFile, executed: Iterable[str]) -> Execution | None:
    """What the file says about trials that do not say it; what was told was seen.

    It is stored with each of them: what the file says later is about later ones.
    """
    usual = file.chosen.executed
    if usual is None:
        return None
    return "known" if tells_design(file, executed) else usual


def tells_design(file: StudyFile, executed: Iterable[str]) -> bool:
    """Whether what was carried out is told of a parameter that is no environment."""
    return any(not file.parameters[name].environment for name in executed)


def told_columns(file: StudyFile, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns in which a row of `show.trial_data` says how good its values are."""
    return [
        name for name in columns(file) if any(quality_cell(row, name) is not None for row in rows)
    ]


def quality_cell(row: Mapping[str, Any], column: str) -> Any:
    """The cell of a column that says how good the values are; None: nothing is said."""
    if column in (STD, EXECUTED, COUNT):
        said = row["std"].get(VALUE) if column == STD else row[column]
        return None if column == COUNT and said == 1 else said
    return row["std"].get(column.removeprefix(OF))
