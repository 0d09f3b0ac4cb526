"""Frozen distributions of scipy.stats as noise laws."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.discrete import Discrete
from meseta.noise.laplace import Laplace
from meseta.noise.law import NoiseLaw, numpy_generator
from meseta.noise.normal import Normal
from meseta.noise.panels import Panels, narrowest, panels, wave_over_panels
from meseta.noise.scalar import ScalarLaw
from meseta.noise.student import StudentT
from meseta.noise.triangular import Triangular
from meseta.noise.truncated_normal import TruncatedNormal
from meseta.noise.uniform import Uniform

# A law, or a frozen distribution of scipy.stats; read by hand, so that a mistake is named.
LawLike = object

# More values of a discrete distribution are better served by a density.
MOST_ATOMS = 100_000

# scipy's parameters of distributions that have a law of their own here, closed forms included
_OWN: dict[str, Callable[..., NoiseLaw]] = {
    "norm": lambda loc=0.0, scale=1.0: Normal(scale, loc),
    "uniform": lambda loc=0.0, scale=1.0: Uniform(scale / 2, loc + scale / 2),
    "laplace": lambda loc=0.0, scale=1.0: Laplace(scale, loc),
    "t": lambda df, loc=0.0, scale=1.0: StudentT(df, scale, loc),
    "triang": lambda c, loc=0.0, scale=1.0: Triangular(
        low=loc, high=loc + scale, mode=loc + c * scale
    ),
    "truncnorm": lambda a, b, loc=0.0, scale=1.0: TruncatedNormal(
        scale, loc + a * scale, loc + b * scale, loc
    ),
}


@dataclass(frozen=True, init=False, eq=False)
class ScipyLaw(ScalarLaw):
    """factor times a continuous frozen distribution such as scipy.stats.gamma(2, scale=0.1).

    Its characteristic function is a quadrature, accurate to about 1e-13 where scipy's density is.
    """

    distribution: Any
    factor: float

    def __init__(self, distribution: Any, factor: float = 1.0) -> None:
        mean, variance = distribution.stats(moments="mv")
        if np.ndim(mean) != 0:
            raise ValueError(
                "a noise law is that of one number, but the parameters of "
                f"{_spelled(distribution)} are arrays; give one law per parameter"
            )
        if not (math.isfinite(mean) and math.isfinite(variance)):
            raise ValueError(
                f"{_spelled(distribution)} has mean {float(mean)} and variance {float(variance)}, "
                "but the width of the noise must be finite; check its parameters, or cut its "
                "tails: TruncatedNormal, Empirical(samples)"
            )
        object.__setattr__(self, "distribution", distribution)
        object.__setattr__(self, "factor", factor)

    def __repr__(self) -> str:
        factor = f", factor={self.factor}" if self.factor != 1 else ""
        return f"ScipyLaw({_spelled(self.distribution)}{factor})"

    @cached_property
    def _key(self) -> tuple[object, ...]:
        """scipy compares frozen distributions by identity; those with a public name have values."""
        if not _is_public(self.distribution):
            return (id(self.distribution), self.factor)
        arguments = _arguments(self.distribution)
        return (self.distribution.dist.name, tuple(sorted(arguments.items())), self.factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScipyLaw) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def moments(self) -> tuple[float, float]:
        mean, variance = self.distribution.stats(moments="mv")
        return self.factor * float(mean), self.factor**2 * float(variance)

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """The ends of the support, and where else the density jumps or has a kink: by bisection."""
        ends = sorted(self.factor * end for end in self._support)
        known = tuple(end for end in ends if math.isfinite(end))
        low, high = self.interval(1e-12)
        width = 1e-5 * math.sqrt(self.moments[1])
        inner = [
            place
            for place in narrowest(panels(self, low, high, known), width)
            if low + width < place < high - width
        ]
        return tuple(sorted([*known, *inner]))

    @cached_property
    def _support(self) -> tuple[float, float]:
        low, high = self.distribution.support()
        return float(low), float(high)

    @cached_property
    def _panels(self) -> Panels:
        return panels(self, *self.interval(1e-15), self.breaks)

    def interval(self, tail: float) -> tuple[float, float]:
        frozen = self.distribution
        mean, variance = self.moments
        mean, std = mean / self.factor, math.sqrt(variance) / abs(self.factor)
        low, high = self._support
        left, right = float(frozen.ppf(tail / 2)), float(frozen.isf(tail / 2))
        # the end of the support, unless an empty stretch lies before it
        low = low if math.isfinite(low) and left - low < std else left
        high = high if math.isfinite(high) and high - right < std else right
        if not math.isfinite(low):
            low = _where(frozen.cdf, mean, -std, tail / 2)
        if not math.isfinite(high):
            high = _where(frozen.sf, mean, std, tail / 2)
        low, high = sorted((self.factor * low, self.factor * high))
        return low, high

    def scaled(self, scale: Float[Tensor, " 1"]) -> "ScipyLaw":
        return ScipyLaw(self.distribution, self.factor * float(scale))

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        draws = _drawn(self.distribution, num, numpy_generator(generator))
        return self.factor * torch.as_tensor(draws, dtype=torch.double)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        zero = torch.zeros(1, dtype=torch.double)
        value = wave_over_panels(self, self._panels, torch.cat([zero, omega[:, 0]]))
        return value[1:] / value[0].real

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        density = self.distribution.pdf((xi / self.factor).numpy())
        return torch.as_tensor(density, dtype=torch.double) / abs(self.factor)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        below = self.distribution.cdf if self.factor > 0 else self.distribution.sf
        return torch.as_tensor(below((xi / self.factor).numpy()), dtype=torch.double)


def _drawn(distribution: Any, num: int, generator: np.random.Generator) -> np.ndarray:
    if distribution.dist.name == "vonmises_line" and _is_public(distribution):
        # scipy inverts its distribution function draw by draw; NumPy has the law itself
        given = {"loc": 0.0, "scale": 1.0, **_arguments(distribution)}
        return given["loc"] + given["scale"] * generator.vonmises(0.0, given["kappa"], (num, 1))
    return distribution.rvs(size=(num, 1), random_state=generator)


def from_scipy(distribution: object) -> NoiseLaw:
    """The law of a frozen distribution: `from_scipy(scipy.stats.gamma(2, scale=0.1))`.

    A law of our own where there is one, with its closed forms; a discrete distribution becomes
    Discrete, without values whose probability is a rounding error.
    """
    law = as_law(distribution)
    if law is distribution or not isinstance(law, NoiseLaw):
        raise TypeError(
            "from_scipy takes a frozen distribution of one number, such as "
            f"scipy.stats.gamma(2, scale=0.1), got {distribution!r}"
        )
    return law


def read_law(what: str, law: LawLike) -> NoiseLaw:
    """A law, or a frozen distribution of scipy.stats as one; anything else is refused by name."""
    law = as_law(law)
    if isinstance(law, NoiseLaw) and not isinstance(law, type):
        return law
    number = isinstance(law, Real) and not isinstance(law, (bool, np.bool_))
    remedy = f"write Normal({law})" if number else "write Normal(standard deviation)"
    raise TypeError(
        f"{what} must be a law such as Normal(0.1) or Uniform(0.1), got {law!r}; {remedy}"
    )


def as_law(law: LawLike) -> object:
    """The law of a frozen distribution; anything else is returned unchanged."""
    if "scipy.stats" not in sys.modules:  # loading it takes long, and nobody has used it
        return law
    from scipy import stats

    if isinstance(law, stats.rv_histogram):
        law = law()
    if isinstance(law, (stats.rv_continuous, stats.rv_discrete)):
        raise TypeError(
            f"scipy.stats.{law.name} is a family of distributions; call it with its parameters, "
            "such as scipy.stats.gamma(2, scale=0.1)"
        )
    family = getattr(law, "dist", None)
    if isinstance(family, stats.rv_continuous):
        if family.name == "vonmises" and _is_public(law):
            # of angles, its density goes round and round; once round, from -pi to pi, is the law
            law = stats.vonmises_line(**_arguments(law))
        own = _OWN.get(family.name) if _is_public(law) else None
        return ScipyLaw(law) if own is None else own(**_arguments(law))
    return _atoms(law) if isinstance(family, stats.rv_discrete) else law


def _atoms(distribution: Any) -> Discrete:
    """The values whose probability is more than a rounding error."""
    mean, variance = distribution.stats(moments="mv")
    low, high = distribution.support()
    if np.ndim(mean) == 0 and math.isfinite(mean) and math.isfinite(variance):
        step = max(1.0, math.sqrt(variance))
        low = max(low, math.floor(_where(distribution.cdf, mean, -step, 1e-17)))
        high = min(high, math.ceil(_where(distribution.sf, mean, step, 1e-17)))
    if not (np.ndim(mean) == 0 and high - low < MOST_ATOMS):
        raise ValueError(
            f"{_spelled(distribution)} is not the law of one number with at most {MOST_ATOMS} "
            "values; check its parameters, or give a continuous law such as Uniform or Normal"
        )
    values = np.arange(low, high + 1, dtype=float)
    probabilities = distribution.pmf(values)
    likely = probabilities > 1e-18
    return Discrete(values[likely], probabilities[likely])


def _where(mass_beyond: Callable[[float], float], start: float, step: float, tail: float) -> float:
    """The first of start + step, start + 2 step, start + 4 step, ... with at most this tail."""
    for _ in range(60):
        if mass_beyond(start + step) <= tail:
            break
        step *= 2
    return start + step


def _arguments(distribution: Any) -> dict[str, Any]:
    """The parameters of a frozen distribution by name."""
    shapes = distribution.dist.shapes
    names = [*(shapes.split(", ") if shapes else []), "loc", "scale"]
    given = {**dict(zip(names, distribution.args, strict=False)), **distribution.kwds}
    return {name: _plain(value) for name, value in given.items()}


def _is_public(distribution: Any) -> bool:
    """Whether scipy.stats has this family by name, rather than the user."""
    from scipy import stats

    family = distribution.dist
    return type(getattr(stats, str(family.name), None)) is type(family)


def _spelled(distribution: Any) -> str:
    if not _is_public(distribution):
        return repr(distribution)
    arguments = [
        *(repr(_plain(value)) for value in distribution.args),
        *(f"{name}={_plain(value)!r}" for name, value in distribution.kwds.items()),
    ]
    return f"scipy.stats.{distribution.dist.name}({', '.join(arguments)})"


def _plain(value: object) -> object:
    return value.item() if isinstance(value, (np.generic, np.ndarray)) and not value.ndim else value
