"""Environment variables of a space: where they are among the columns, and what they are."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from meseta.noise import Environment
from meseta.noise.scipy_law import read_law
from meseta.space.domain import Held
from meseta.space.parameter import Categorical, Value
from meseta.space.space import Design, Space, check_params


@dataclass(frozen=True)
class Environments:
    """Which parameters of a space are no part of the design."""

    space: Space
    variables: dict[str, Environment]

    @property
    def design(self) -> tuple[str, ...]:
        """The parameters that are."""
        return tuple(name for name in self.space.names if name not in self.variables)

    @property
    def observed(self) -> tuple[str, ...]:
        """Variables that cannot be set."""
        return tuple(name for name, variable in self.variables.items() if variable.observed)

    @property
    def settable(self) -> Bool[Tensor, " d"]:
        """Columns that an experiment can choose."""
        free = torch.ones(self.space.num_columns, dtype=torch.bool)
        for name in self.observed:
            free[self.space.columns_of(name)] = False
        return free

    def typical(self) -> Held | None:
        """All variables where they are on average, in the unit cube; None: there are none."""
        return self._held(tuple(self.variables), self._usual)

    def drawn(self, generator: torch.Generator) -> Held | None:
        """The observed variables as they may turn out, in the unit cube."""
        return self._held(self.observed, lambda name: self._draw(name, generator))

    def without(self, params: Design, names: tuple[str, ...]) -> Design:
        return {name: value for name, value in params.items() if name not in names}

    def complete(
        self, params: Mapping[str, object], names: Iterable[str] | None = None
    ) -> Mapping[str, object]:
        """With usual values for those of the variables that are not there; None: observed ones."""
        check_params(params)
        missing = [n for n in (self.observed if names is None else names) if n not in params]
        return {**params, **{name: self._value(name) for name in missing}}

    def to_row(self, params: Mapping[str, Any]) -> Float[Tensor, " d"]:
        """A design as a row of the unit cube, with typical values of the variables."""
        return self.space.to_cube(self.space.read(self.complete(params, self.variables)))

    def from_row(self, x: Float[Tensor, " d"]) -> Design:
        """The design at a row of the unit cube."""
        return self.without(self.space.from_cube(x), tuple(self.variables))

    def _held(self, names: tuple[str, ...], values: Callable[[str], list[float]]) -> Held | None:
        if not names:
            return None
        places = [self.space.columns_of(name) for name in names]
        columns = [i for place in places for i in range(place.start, place.stop)]
        low, high = self.space.bounds[:, columns]
        row = torch.tensor([x for name in names for x in values(name)], dtype=torch.double)
        return Held(torch.tensor(columns), (row - low) / (high - low))

    def _value(self, name: str) -> Value:
        """What it usually is, within its range."""
        parameter, law = self._parameter(name), self.variables[name].law
        if isinstance(law, Mapping):
            return max(law, key=lambda choice: law[choice])
        return _nearest(parameter, float(read_law(name, law).mean))

    def _usual(self, name: str) -> list[float]:
        return self._parameter(name).to_columns(self._value(name))

    def _draw(self, name: str, generator: torch.Generator) -> list[float]:
        parameter, law = self._parameter(name), self.variables[name].law
        if isinstance(parameter, Categorical):
            assert isinstance(law, Mapping)
            shares = torch.tensor([float(law.get(c, 0.0)) for c in parameter.choices])
            index = int(torch.multinomial(shares, 1, generator=generator))
            return parameter.to_columns(parameter.choices[index])
        assert not isinstance(law, Mapping)
        value = _nearest(parameter, float(read_law(name, law).sample(1, generator)))
        return parameter.to_columns(value)

    def _parameter(self, name: str) -> Any:
        return self.space.parameters[self.space.names.index(name)]


def _nearest(parameter: Any, value: float) -> Value:
    """The admissible value next to it."""
    inside = min(max(value, parameter.low), parameter.high)
    return parameter.nearest(inside)
