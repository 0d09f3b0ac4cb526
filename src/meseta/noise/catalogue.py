"""The catalogue of noise laws: what everything outside a law's own file has to know about it.

Study files, the documentation and the tests ask the catalogue. It does not load torch, so that a
study file can be read quickly. The words of reports are in the law itself (`in_words`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from meseta.noise.law import NoiseLaw

# What a study file may have as the value of a key: a finite number, one that may be infinite, a
# list of numbers, true or false, a list of tables of other laws.
Kind = Literal["number", "limit", "numbers", "flag", "laws"]


@dataclass(frozen=True)
class Declared:
    """A noise law of one number. Its keys in study files are its arguments in Python."""

    name: str  # in study files
    home: str  # "module:Class"
    known: str  # what users know about their noise when this is the law to take
    example: str  # in Python
    required: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """The name of the class."""
        return self.home.split(":")[1]

    def load(self) -> "type[NoiseLaw]":
        """The class itself; loads torch."""
        module, name = self.home.split(":")
        return getattr(import_module(module), name)


LAWS: tuple[Declared, ...] = (
    Declared(
        name="normal",
        home="meseta.noise.normal:Normal",
        known="a standard deviation",
        example="Normal(0.1)",
        required={"std": "number"},
        optional={"mean": "number", "relative": "flag"},
    ),
    Declared(
        name="uniform",
        home="meseta.noise.uniform:Uniform",
        known="a tolerance ± h, nothing more",
        example="Uniform(0.1)",
        required={"half_width": "number"},
        optional={"mean": "number", "relative": "flag"},
    ),
    Declared(
        name="learned-normal",
        home="meseta.noise.learned_normal:LearnedNormal",
        known="roughly a standard deviation, which measured pairs make known",
        example="LearnedNormal(0.1, worth=5)",
        required={"std": "number", "worth": "number"},
        optional={"mean": "number"},
    ),
    Declared(
        name="triangular",
        home="meseta.noise.triangular:Triangular",
        known="a tolerance ± h, the middle more likely",
        example="Triangular(0.1)",
        optional={"half_width": "number", "low": "number", "high": "number", "mode": "number"},
    ),
    Declared(
        name="laplace",
        home="meseta.noise.laplace:Laplace",
        known="mostly small errors, now and then a large one",
        example="Laplace(0.05)",
        required={"scale": "number"},
        optional={"mean": "number"},
    ),
    Declared(
        name="student-t",
        home="meseta.noise.student:StudentT",
        known="the same, with heavier tails",
        example="StudentT(4, 0.05)",
        required={"df": "number", "scale": "number"},
        optional={"mean": "number"},
    ),
    Declared(
        name="truncated-normal",
        home="meseta.noise.truncated_normal:TruncatedNormal",
        known="a standard deviation, and parts outside two limits are sorted out",
        example="TruncatedNormal(0.1, -0.15, 0.15)",
        required={"std": "number", "low": "limit", "high": "limit"},
        optional={"mean": "number"},
    ),
    Declared(
        name="log-normal",
        home="meseta.noise.log_normal:LogNormal",
        known="a factor, up as often as down; on a logarithmic scale it is exactly Normal",
        example="LogNormal(0.1)",
        required={"sigma": "number"},
    ),
    Declared(
        name="discrete",
        home="meseta.noise.discrete:Discrete",
        known="a few values, such as backlash",
        example="Discrete([-0.1, 0.0, 0.1], [1, 2, 1])",
        required={"values": "numbers"},
        optional={"weights": "numbers"},
    ),
    Declared(
        name="empirical",
        home="meseta.noise.empirical:Empirical",
        known="measured deviations; those of several parameters at once as rows",
        example="Empirical([0.02, -0.05, 0.11])",
        required={"samples": "numbers"},
    ),
    Declared(
        name="mixture",
        home="meseta.noise.mixture:Mixture",
        known="two machines, two suppliers, a rare mishap",
        example="Mixture([Normal(0.05), Normal(0.2)], [0.9, 0.1])",
        required={"laws": "laws"},
        optional={"weights": "numbers"},
    ),
)
