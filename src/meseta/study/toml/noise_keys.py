"""Noise laws as they stand in a study file; `laws.py` makes noise of them.

The keys are those of the laws in Python: { law = "student-t", df = 4, scale = 0.05 }. The catalogue
of noise laws has them. Written out here are only the tables that are more than a list of keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    create_model,
    model_validator,
)

from meseta.boundary import shown
from meseta.noise.catalogue import LAWS, Declared, Kind
from meseta.study.toml.sentences import not_among
from meseta.study.toml.table import Numbers, Rows, Table, Text, Texts, refusal


@dataclass(frozen=True)
class NumberNoise:
    """The noise of one parameter that is a number: the law, and the arguments that its table has.

    With `environment` it is the law of the quantity itself, which nobody controls at deployment;
    with `observed` nobody can set it in an experiment either.
    """

    law: str  # its name in the catalogue
    values: Mapping[str, Any]
    environment: bool = False
    observed: bool = False


class NumberTable(Table):
    """The keys that every table of a noise law of a number may have."""

    environment: bool = False
    observed: bool = False
    law: str


class EmpiricalTable(NumberTable):
    """Measured deviations, here or in a column of a CSV file."""

    samples: Numbers | None = None
    csv: Text | None = None
    column: Text | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "EmpiricalTable":
        if (self.samples is None) == (self.csv is None):
            raise refusal('must have either samples = [...] or csv = "file.csv"')
        if self.column is not None and self.csv is None:
            raise refusal("names a column, but there is no csv = ...; leave it out", "column")
        return self


class ConfusionNoise(Table):
    """Another choice is carried out with this probability, or by a row for each choice."""

    law: Literal["substitution"]
    probability: float | None = None
    matrix: Rows | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "ConfusionNoise":
        if (self.probability is None) == (self.matrix is None):
            raise refusal("must have either probability = 0.05 or matrix = [[...], ...]")
        return self


class ChoicesNoise(Table):
    """Choices that nobody makes at deployment, and how often each of them occurs."""

    law: Literal["choices"]
    shares: dict[str, float]
    environment: bool = True
    observed: bool = False

    @model_validator(mode="after")
    def _is_environment(self) -> "ChoicesNoise":
        if not self.environment:
            raise refusal('must be true with law = "choices", or be left out', "environment")
        return self


class JointNormalNoise(Table):
    law: Literal["normal"]
    parameters: Texts
    covariance: Rows
    mean: Numbers | None = None
    note: str | None = None


class CommonNoise(Table):
    """One cause moves several parameters, each by its load."""

    law: Literal["common"]
    parameters: Texts
    of: "Member"
    loads: Numbers | None = None
    note: str | None = None


class JointEmpiricalNoise(Table):
    """Measured deviations of several parameters, a row each time."""

    law: Literal["empirical"]
    parameters: Texts
    rows: Rows | None = None
    csv: Text | None = None
    columns: Texts | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "JointEmpiricalNoise":
        if (self.rows is None) == (self.csv is None):
            raise refusal('must have either rows = [[...], ...] or csv = "file.csv"')
        if self.columns is not None and self.csv is None:
            raise refusal("names columns, but there is no csv = ...; leave it out", "columns")
        if self.columns is not None and len(self.columns) != len(self.parameters):
            raise refusal(
                f"must name {len(self.parameters)} columns, one for each of parameters, got "
                f"{len(self.columns)}",
                "columns",
            )
        return self


def table_of(law: Declared) -> type[NumberTable]:
    """The table that the declaration of a noise law describes."""
    fields: dict[str, Any] = {key: (_TYPES[kind], ...) for key, kind in law.required.items()}
    fields |= {key: (_TYPES[kind], None) for key, kind in law.optional.items()}
    return create_model(f"{law.python}Table", __base__=NumberTable, **fields)


def _named(table: Any, known: tuple[str, ...], example: str) -> Any:
    if not isinstance(table, dict):
        raise refusal(f"must be a table such as {example}, got {shown(table)}")
    if "law" not in table:
        raise refusal(f"must say which law it is, such as {example}")
    if table["law"] not in known:
        raise refusal(not_among("law", table["law"], known), "law")
    return table


def _number(table: Any) -> NumberNoise:
    checked = TABLES[table["law"]].model_validate(table)
    values = {key: getattr(checked, key) for key in checked.model_fields_set}
    law = values.pop("law")
    environment, observed = (values.pop(key, False) for key in ("environment", "observed"))
    return NumberNoise(law, values, environment, observed)


def _member(table: Any) -> NumberNoise:
    named = _named(table, tuple(TABLES), '{ law = "normal", std = 0.1 }')
    for key in ("environment", "observed"):
        if key in named:
            raise refusal("belongs into the table around this one; write it there", key)
    return _number(named)


def _own(table: Any) -> "NumberNoise | ConfusionNoise | ChoicesNoise":
    named = _named(table, (*TABLES, *_OF_CHOICES), '{ law = "normal", std = 0.1 }')
    of_choices = _OF_CHOICES.get(named["law"])
    return _number(named) if of_choices is None else of_choices.model_validate(named)


def _joint(table: Any) -> Any:
    return _named(table, JOINT, '{ law = "normal", covariance = [[...], ...] }')


JOINT = ("normal", "common", "empirical")
_OF_CHOICES: dict[str, type[ConfusionNoise] | type[ChoicesNoise]] = {
    "substitution": ConfusionNoise,
    "choices": ChoicesNoise,
}
Member = Annotated[NumberNoise, PlainValidator(_member)]
OwnNoise = Annotated[NumberNoise | ConfusionNoise | ChoicesNoise, PlainValidator(_own)]
JointNoise = Annotated[
    JointNormalNoise | CommonNoise | JointEmpiricalNoise,
    Discriminator("law"),
    BeforeValidator(_joint),
]
_TYPES: dict[Kind, Any] = {
    "number": float,
    "limit": Annotated[float, Field(allow_inf_nan=True)],
    "numbers": Numbers,
    "flag": bool,
    "laws": Annotated[tuple[Member, ...], Field(strict=False)],
}
# A noise law whose table is more than its keys stands here with a class of its own.
TABLES: dict[str, type[NumberTable]] = {law.name: table_of(law) for law in LAWS} | {
    "empirical": EmpiricalTable
}
CommonNoise.model_rebuild()
