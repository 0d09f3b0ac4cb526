"""The law of xi for named parameters: one law each, one law for all, or none."""

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from meseta.boundary import unknown
from meseta.noise import NoiseLaw, Normal
from meseta.noise.independent import independent
from meseta.parameters import Category, Int, Parameter
from meseta.space import Space

WIDEST = 1e100  # in widths of the range
UNPERTURBED = Normal(0.0)

if TYPE_CHECKING:
    NamedNoise = NoiseLaw | Mapping[str, NoiseLaw] | None
else:  # at run time it is read by hand, so that a mistake is named
    NamedNoise = object


def read_noise(noise: NamedNoise, space: Space) -> NoiseLaw:
    """The joint law of all columns of the space, in their order and units.

    A dict names the parameters that are perturbed, each with a law of its own; the others are
    not. A single law holds for all of them. None: nothing is perturbed, and g = f.
    """
    if noise is None:
        noise = {}
    if not isinstance(noise, Mapping):
        law = _read_law("noise", noise)
        for name, parameter in space.items():
            _check_perturbed_alike(name, parameter)
        return _fitting(law.in_dimension(space.num_columns), space)
    for name in noise:
        if name not in space.names:
            raise ValueError(
                f"noise for an unknown parameter: {unknown('parameter', name, space.names)}"
            )
    laws = [
        law
        for name, parameter in space.items()
        for law in _laws_of_columns(name, parameter, noise.get(name, UNPERTURBED))
    ]
    return _fitting(independent(laws), space)


def _laws_of_columns(name: str, parameter: Parameter, law: object) -> list[NoiseLaw]:
    """The law of each column of a parameter, given the law of its value."""
    if law is UNPERTURBED:
        return [UNPERTURBED] * len(parameter.ends)
    if isinstance(parameter, Category):
        raise ValueError(
            f"{name!r} is a choice, and noise is added to numbers only, got {law!r}; leave it out"
        )
    if parameter.log:
        raise ValueError(
            f"{name!r} has a logarithmic scale, on which noise is not supported yet, got {law!r}; "
            "leave its noise or log out"
        )
    return [_read_marginal(name, law)]


def _check_perturbed_alike(name: str, parameter: Parameter) -> None:
    """Refuse a parameter that one law for all of them would not suit."""
    if isinstance(parameter, Category | Int) or parameter.log:
        raise ValueError(
            f"one law perturbs all parameters, but {name!r} is {parameter}; name those that are "
            "perturbed, noise={'speed': Normal(0.1)}"
        )


def _fitting(law: NoiseLaw, space: Space) -> NoiseLaw:
    """Refuse noise whose width, in shares of the ranges, is beyond floating point."""
    low, high = space.bounds
    share = law.covariance_matrix.diagonal().sqrt() / (high - low)
    for name in space.names:
        value = float(share[space.columns_of(name)].max())
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
