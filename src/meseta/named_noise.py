"""The law of xi for named parameters: one law each, one law for all, or none."""

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from meseta.boundary import unknown
from meseta.noise import NoiseLaw, Normal
from meseta.noise.independent import independent
from meseta.space import Space

WIDEST = 1e100  # in widths of the range

if TYPE_CHECKING:
    NamedNoise = NoiseLaw | Mapping[str, NoiseLaw] | None
else:  # at run time it is read by hand, so that a mistake is named
    NamedNoise = object


def read_noise(noise: NamedNoise, space: Space) -> NoiseLaw:
    """The joint law of all parameters, in the order of the space and in its units.

    A dict names the parameters that are perturbed, each with a law of its own; the others are
    not. A single law holds for all of them. None: nothing is perturbed, and g = f.
    """
    if noise is None:
        noise = {}
    if not isinstance(noise, Mapping):
        return _fitting(_read_law("noise", noise).in_dimension(space.dimension), space)
    for name in noise:
        if name not in space.names:
            raise ValueError(
                f"noise for an unknown parameter: {unknown('parameter', name, space.names)}"
            )
    laws = {name: _read_marginal(name, law) for name, law in noise.items()}
    return _fitting(independent([laws.get(name, Normal(0.0)) for name in space.names]), space)


def _fitting(law: NoiseLaw, space: Space) -> NoiseLaw:
    """Refuse noise whose width, in shares of the ranges, is beyond floating point."""
    low, high = space.bounds
    share = law.covariance_matrix.diagonal().sqrt() / (high - low)
    for name, value in zip(space.names, share.tolist(), strict=True):
        if not value < WIDEST:
            raise ValueError(
                f"the noise of {name!r} is {value:.3g} times as wide as its range; "
                "give both in the same units"
            )
    return law


def _read_marginal(name: str, law: object) -> NoiseLaw:
    law = _read_law(f"the noise of {name!r}", law)
    if len(law.mean) != 1:
        raise ValueError(
            f"the noise of {name!r} must be the law of one number such as Normal(0.1), got {law}; "
            "pass a joint law for all parameters as noise itself, not in a dict"
        )
    return law


def _read_law(what: str, law: object) -> NoiseLaw:
    if isinstance(law, NoiseLaw) and not isinstance(law, type):
        return law
    number = isinstance(law, Real) and not isinstance(law, (bool, np.bool_))
    remedy = f"write Normal({law})" if number else "write Normal(standard deviation)"
    raise TypeError(
        f"{what} must be a law such as Normal(0.1) or Uniform(0.1), got {law!r}; {remedy}"
    )
