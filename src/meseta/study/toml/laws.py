"""Space and noise of a study, as `Optimizer` takes them; a refusal names its line of the file."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meseta import noise
from meseta.boundary import unknown
from meseta.noise import Environment, NoiseLaw, Substitution
from meseta.noise.catalogue import LAWS
from meseta.space.named_noise import NamedNoise, Names
from meseta.study.toml.keys import ParameterTable
from meseta.study.toml.measurements import read_columns
from meseta.study.toml.noise_keys import (
    ChoicesNoise,
    CommonNoise,
    ConfusionNoise,
    JointEmpiricalNoise,
    JointNoise,
    JointNormalNoise,
    NumberNoise,
)
from meseta.study.workers.hand_over import as_text

if TYPE_CHECKING:
    from meseta.study.toml.file import StudyFile

_DECLARED = {law.name: law for law in LAWS}


def build_noise(study: "StudyFile") -> NamedNoise | None:
    laws: dict[str | Names, Any] = {}
    for name, parameter in study.parameters.items():
        if parameter.noise is not None:
            laws[name] = build_own(study, name)
    for number, joint in enumerate(study.joint):
        laws[joint.parameters] = build_joint(study, number)
    return laws or None


def build_own(study: "StudyFile", name: str) -> NoiseLaw | Environment | Substitution:
    """The law of one parameter that has one."""
    with study.at(("parameters", name, "noise")):
        return _own(study.parameters[name], study.folder)


def build_joint(study: "StudyFile", number: int) -> NoiseLaw:
    """The law of one of the tables [[noise]]."""
    with study.at(("noise", number)):
        return _joint(study.joint[number], study.folder)


def _own(table: ParameterTable, folder: Path) -> NoiseLaw | Environment | Substitution:
    law = table.noise
    if isinstance(law, ConfusionNoise):
        probability: Any = law.matrix if law.probability is None else law.probability
        return Substitution(probability)
    if isinstance(law, ChoicesNoise):
        return Environment(_shares(law, table), law.observed)
    assert law is not None
    scalar = _scalar(law, folder)
    return Environment(scalar, law.observed) if table.environment else scalar


def _shares(law: ChoicesNoise, table: ParameterTable) -> dict[Any, float]:
    """By choice; keys of TOML are texts, so that 3 and true are found by how they are written."""
    by_text = {as_text(choice): choice for choice in table.choices or ()}
    for name in law.shares:
        if name not in by_text:
            raise ValueError(unknown("choice", name, by_text))
    return {by_text[name]: share for name, share in law.shares.items()}


def _scalar(law: NumberNoise, folder: Path) -> NoiseLaw:
    declared = _DECLARED[law.law]
    if "csv" in law.values:
        return noise.Empirical(_column(law.values, folder))
    kinds = {**declared.required, **declared.optional}
    values = {
        key: [_scalar(member, folder) for member in value] if kinds[key] == "laws" else value
        for key, value in law.values.items()
    }
    return declared.load()(**values)


def _column(values: Mapping[str, Any], folder: Path) -> np.ndarray:
    columns = [values["column"]] if "column" in values else None
    return read_columns(folder / values["csv"], columns, 1)[:, 0]


def _joint(law: JointNoise, folder: Path) -> NoiseLaw:
    if isinstance(law, JointNormalNoise):
        mean = 0.0 if law.mean is None else law.mean
        return noise.Normal(mean=mean, covariance=law.covariance)
    if isinstance(law, CommonNoise):
        return noise.Shared(_scalar(law.of, folder), law.loads)
    assert isinstance(law, JointEmpiricalNoise)
    rows: Any = law.rows
    if law.csv is not None:
        columns = law.columns or law.parameters
        rows = read_columns(folder / law.csv, columns, len(law.parameters))
    return noise.Empirical(rows)
