"""The width of a noise law: the one number by which a tolerance is written down."""

from collections.abc import Mapping
from dataclasses import dataclass

from meseta.noise.environment import Environment
from meseta.noise.laplace import Laplace
from meseta.noise.law import NoiseLaw
from meseta.noise.learned_normal import LearnedNormal
from meseta.noise.log_normal import LogNormal
from meseta.noise.normal import Normal
from meseta.noise.scipy_law import read_law
from meseta.noise.student import StudentT
from meseta.noise.substitution import Substitution
from meseta.noise.triangular import Triangular
from meseta.noise.truncated_normal import TruncatedNormal
from meseta.noise.uniform import Uniform
from meseta.noise.words import amount


@dataclass(frozen=True)
class Width:
    """The one number by which a tolerance is written down, and what it means."""

    value: float
    means: str  # "±", or std and the like
    relative: bool  # whether it is a share of the value

    def in_words(self, unit: str, times: float = 1.0) -> str:
        """So many times this width, with its unit or in per cent."""
        return f"{self.means} {amount(float(f'{times * self.value:.3g}'), unit, self.relative)}"


def read_width(law: object) -> Width:
    """The width of a law that has one; refused where it has none."""
    value = width_of(law)
    read = read_law("the law", law.law if isinstance(law, Environment) else law)
    means = "std"
    match read:
        case Uniform() | Triangular():
            means = "±"
        case LogNormal():
            means = "about ±"
        case Laplace() | StudentT():
            means = "scale"
    relative = isinstance(read, LogNormal) or bool(getattr(read, "relative", False))
    return Width(value, means, relative)


def width_of(law: object) -> float:
    """As it is written: std, half_width, scale or sigma; otherwise the standard deviation.

    Of a relative law it is a share of the value, 0.02 for 2 %. Of an environment variable it is
    that of its own law.
    """
    if isinstance(law, Substitution) or (
        isinstance(law, Environment) and isinstance(law.law, Mapping)
    ):
        raise ValueError(f"{law!r} is the noise of a choice, which has no width")
    read = read_law("the law", law.law if isinstance(law, Environment) else law)
    if getattr(read, "width", None) is not None:
        raise ValueError(f"{read!r} has a width that depends on the value, and so no single one")
    width = _written(read)
    if not width > 0:
        raise ValueError("there is no noise, so there is no width")
    return width


def _written(law: NoiseLaw) -> float:
    match law:
        case Normal():
            return float(law.standard_deviation)
        case Uniform():
            return float(law.half_widths)
        case Triangular():
            return (law.high - law.low) / 2
        case LearnedNormal() | TruncatedNormal():
            return law.std
        case Laplace() | StudentT():
            return law.scale
        case LogNormal():
            return law.sigma
    return float(law.covariance_matrix) ** 0.5
