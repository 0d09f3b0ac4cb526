"""The parameters of an Optuna study as a space of ours, values translated both ways."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from optuna import Study
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from meseta.integrations.optuna.amended import attributes_of
from meseta.integrations.optuna.attributes import DESIGNS
from meseta.noise import NoiseLaw
from meseta.noise.scipy_law import read_law
from meseta.space.parameter import Categorical, Float, Int, Parameter, Value, read_range
from meseta.space.space import Design, Space

Distributions = dict[str, BaseDistribution]
_NONE: Mapping[str, Any] = MappingProxyType({})


class StudySpace:
    """Distributions by name, the space they make, and translations between their values.

    A distribution with a single value is no part of the space. A parameter whose name an optimizer
    would refuse, such as "value", has another one inside. `designs` are the ranges of those whose
    designs have a narrower one than their trials.
    """

    def __init__(self, distributions: Distributions, designs: Mapping[str, Any] = _NONE) -> None:
        self.designs = designs
        self.fixed = {name: _only(d) for name, d in distributions.items() if d.single()}
        self.distributions = {n: d for n, d in distributions.items() if n not in self.fixed}
        self.labels = {
            name: _labels(d)
            for name, d in self.distributions.items()
            if isinstance(d, CategoricalDistribution)
        }
        self.inside = _names_inside(list(self.distributions))
        self.outside = {inside: name for name, inside in self.inside.items()}
        self.space = Space(
            {self.inside[name]: self._parameter(name) for name in self.distributions}
        )

    def to_meseta(self, params: Mapping[str, Any]) -> dict[str, Value]:
        """Those of the parameters that are in the space; a choice that is none is refused."""
        names = [name for name in self.distributions if name in params]
        return {self.inside[name]: self._value_inside(name, params[name]) for name in names}

    def to_optuna(self, design: Design) -> dict[str, Any]:
        named = {self.outside[inside]: value for inside, value in design.items()}
        return {name: self._value_outside(name, value) for name, value in named.items()}

    def _parameter(self, name: str) -> Parameter:
        d = self.distributions[name]
        if name in self.designs:
            return _narrower(name, d, self.designs[name])
        if isinstance(d, FloatDistribution):
            return Float(d.low, d.high, log=d.log, step=d.step)
        if isinstance(d, IntDistribution):
            return Int(d.low, d.high, log=d.log, step=d.step)
        if isinstance(d, CategoricalDistribution):
            return Categorical(self.labels[name])
        raise ValueError(f"{name!r} has a distribution that is not known here, {d!r}")

    def _value_inside(self, name: str, value: Any) -> Value:
        if name not in self.labels:
            return value
        return self.labels[name][int(self.distributions[name].to_internal_repr(value))]

    def _value_outside(self, name: str, value: Value) -> Any:
        if name not in self.labels:
            return value
        return self.distributions[name].to_external_repr(self.labels[name].index(value))


def designs_of(study: Study) -> Mapping[str, Any]:
    """The ranges of the designs that a study says, by the names of its parameters."""
    designs = attributes_of(study).get(DESIGNS, {})
    if not isinstance(designs, Mapping):
        raise TypeError(
            f"the attribute {DESIGNS!r} of the study must be a dict of ranges by name, such as "
            f"{{'x': [0.0, 1.0]}}, got {designs!r}"
        )
    return designs


def _narrower(name: str, distribution: BaseDistribution, ends: Any) -> Float:
    if not isinstance(distribution, FloatDistribution):
        raise ValueError(
            f"the attribute {DESIGNS!r} of the study has a range of {name!r}, which is no "
            f"FloatDistribution but {distribution!r}; leave it out"
        )
    d = distribution
    try:
        low, high = read_range(f"designs of {name!r}", ends)
        return Float(low, high, log=d.log, step=d.step, evaluate=(d.low, d.high))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name!r} in the attribute {DESIGNS!r} of the study: {error}") from None


def noise_within(noise: object, inside: Mapping[str, str]) -> Any:
    """The part of the noise that concerns these parameters, by the names they have inside.

    Where a joint law has only some of its parameters there, each of these has its marginal.
    """
    if not isinstance(noise, Mapping):
        return noise
    part: dict[Any, Any] = {}
    for key, law in noise.items():
        if not isinstance(key, tuple):
            if key in inside:
                part[inside[key]] = law
        elif all(name in inside for name in key):
            part[tuple(inside[name] for name in key)] = law
        else:
            marginals = zip(key, _joint(key, law).marginals, strict=True)
            part |= {(inside[name],): each for name, each in marginals if name in inside}
    return part


def edge_within(edge: object, inside: Mapping[str, str]) -> Any:
    """The part of the edges that concerns these parameters, by the names they have inside."""
    if not isinstance(edge, Mapping):
        return edge
    return {inside[name]: word for name, word in edge.items() if name in inside}


def names_in(noise: object, edge: object) -> list[str]:
    """Every parameter that they name."""
    keys = [*(noise if isinstance(noise, Mapping) else ())]
    keys += [*(edge if isinstance(edge, Mapping) else ())]
    flat = [name for key in keys for name in (key if isinstance(key, tuple) else (key,))]
    return list(dict.fromkeys(flat))


def _names_inside(names: list[str]) -> dict[str, str]:
    """The names themselves, but for those that the columns of a history have, or that are empty."""
    taken = {"value", "state", "best_mean", "best_std", *(f"best_{name}" for name in names)}
    inside: dict[str, str] = {}
    for name in names:
        other = name
        while other in taken or not other.strip() or (other != name and other in names):
            other += "_"
        inside[name] = other
        taken |= {other, f"best_{other}"}
    return inside


def _joint(names: tuple[str, ...], law: Any) -> NoiseLaw:
    return read_law(f"the noise of {names}", law).in_dimension(len(names))


def _only(distribution: BaseDistribution) -> Any:
    """The value of a distribution that has one."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return distribution.low


def _labels(distribution: CategoricalDistribution) -> tuple[Value, ...]:
    """The choices themselves; where they can't be told apart, or are none of ours, names."""
    choices = distribution.choices
    try:
        return Categorical(choices).choices
    except (TypeError, ValueError):
        return tuple(f"{index}: {choice!r}" for index, choice in enumerate(choices))
