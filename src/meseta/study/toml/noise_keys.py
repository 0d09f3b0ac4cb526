"""Laws of noise as they stand in a study file; `laws.py` makes noise of them.

The keys are those of the laws in Python: { law = "student-t", df = 4, scale = 0.05 }.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from meseta.boundary import shown
from meseta.study.toml.sentences import not_among
from meseta.study.toml.table import Numbers, Rows, Table, Text, Texts, refusal

Infinite = Annotated[float, Field(allow_inf_nan=True)]


class OneNumber(Table):
    """Of one parameter that is a number.

    With `environment` it is the law of the quantity itself, which nobody controls at deployment;
    with `observed` nobody can set it in an experiment either.
    """

    environment: bool = False
    observed: bool = False


class NormalNoise(OneNumber):
    law: Literal["normal"]
    std: float
    mean: float = 0.0
    relative: bool = False


class UniformNoise(OneNumber):
    law: Literal["uniform"]
    half_width: float
    mean: float = 0.0
    relative: bool = False


class TriangularNoise(OneNumber):
    law: Literal["triangular"]
    half_width: float | None = None
    low: float | None = None
    high: float | None = None
    mode: float = 0.0


class LaplaceNoise(OneNumber):
    law: Literal["laplace"]
    scale: float
    mean: float = 0.0


class StudentNoise(OneNumber):
    law: Literal["student-t"]
    df: float
    scale: float
    mean: float = 0.0


class TruncatedNormalNoise(OneNumber):
    law: Literal["truncated-normal"]
    std: float
    low: Infinite
    high: Infinite
    mean: float = 0.0


class LogNormalNoise(OneNumber):
    law: Literal["log-normal"]
    sigma: float


class DiscreteNoise(OneNumber):
    law: Literal["discrete"]
    values: Numbers
    weights: Numbers | None = None


class EmpiricalNoise(OneNumber):
    """Measured deviations, here or in a column of a CSV file."""

    law: Literal["empirical"]
    samples: Numbers | None = None
    csv: Text | None = None
    column: Text | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "EmpiricalNoise":
        if (self.samples is None) == (self.csv is None):
            raise refusal('must have either samples = [...] or csv = "file.csv"')
        if self.column is not None and self.csv is None:
            raise refusal("names a column, but there is no csv = ...; leave it out", "column")
        return self


class MixtureNoise(OneNumber):
    law: Literal["mixture"]
    laws: Annotated[tuple["Member", ...], Field(strict=False)]
    weights: Numbers | None = None


class ConfusionNoise(Table):
    """Of choices: another one is carried out with this probability, or by a row for each choice."""

    law: Literal["substitution"]
    probability: float | None = None
    matrix: Rows | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "ConfusionNoise":
        if (self.probability is None) == (self.matrix is None):
            raise refusal("must have either probability = 0.05 or matrix = [[...], ...]")
        return self


class ChoicesNoise(Table):
    """Of choices that nobody makes at deployment: how often each of them occurs."""

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


_Scalar = (
    NormalNoise
    | UniformNoise
    | TriangularNoise
    | LaplaceNoise
    | StudentNoise
    | TruncatedNormalNoise
    | LogNormalNoise
    | DiscreteNoise
    | EmpiricalNoise
    | MixtureNoise
)
SCALAR = (
    "normal",
    "uniform",
    "triangular",
    "laplace",
    "student-t",
    "truncated-normal",
    "log-normal",
    "discrete",
    "empirical",
    "mixture",
)
JOINT = ("normal", "common", "empirical")


def _named(table: Any, known: tuple[str, ...], example: str) -> Any:
    if not isinstance(table, dict):
        raise refusal(f"must be a table such as {example}, got {shown(table)}")
    if "law" not in table:
        raise refusal(f"must say which law it is, such as {example}")
    if table["law"] not in known:
        raise refusal(not_among("law", table["law"], known), "law")
    return table


def _member(table: Any) -> Any:
    named = _named(table, SCALAR, '{ law = "normal", std = 0.1 }')
    for key in ("environment", "observed"):
        if key in named:
            raise refusal("belongs into the table around this one; write it there", key)
    return named


def _own(table: Any) -> Any:
    return _named(table, (*SCALAR, "substitution", "choices"), '{ law = "normal", std = 0.1 }')


def _joint(table: Any) -> Any:
    return _named(table, JOINT, '{ law = "normal", covariance = [[...], ...] }')


Member = Annotated[_Scalar, Field(discriminator="law"), BeforeValidator(_member)]
OwnNoise = Annotated[
    _Scalar | ConfusionNoise | ChoicesNoise, Field(discriminator="law"), BeforeValidator(_own)
]
JointNoise = Annotated[
    JointNormalNoise | CommonNoise | JointEmpiricalNoise,
    Field(discriminator="law"),
    BeforeValidator(_joint),
]
MixtureNoise.model_rebuild()
CommonNoise.model_rebuild()
