"""Environment variables of a space: where they are among the columns, and what they are."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from meseta.domain import Held
from meseta.noise import Environment
from meseta.noise.scipy_law import read_law
from meseta.parameters import Category
from meseta.space import Design, Space


@dataclass(frozen=True)
class Surroundings:
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
        """All variables where they are on average; None: there are none."""
        return self._held(tuple(self.variables), self._usual)

    def drawn(self, generator: torch.Generator) -> Held | None:
        """The observed variables as they may turn out."""
        return self._held(self.observed, lambda name: self._draw(name, generator))

    def without(self, params: Design, names: tuple[str, ...]) -> Design:
        return {name: value for name, value in params.items() if name not in names}

    def complete(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """With usual values for observed variables that are not there."""
        missing = [name for name in self.observed if name not in params]
        return {**params, **{name: self._value(name) for name in missing}}

    def _held(self, names: tuple[str, ...], values: object) -> Held | None:
        if not names:
            return None
        columns = [i for name in names for i in range(*self._ends(name))]
        row = [x for name in names for x in values(name)]  # type: ignore[operator]
        return Held(torch.tensor(columns), torch.tensor(row, dtype=torch.double))

    def _ends(self, name: str) -> tuple[int, int]:
        place = self.space.columns_of(name)
        return place.start, place.stop

    def _value(self, name: str) -> object:
        """What it usually is, within its range."""
        parameter = self.space.parameters[self.space.names.index(name)]
        law = self.variables[name].law
        if isinstance(parameter, Category):
            assert isinstance(law, Mapping)
            return max(law, key=lambda choice: law[choice])
        assert not isinstance(law, Mapping)
        return parameter.nearest(_within(float(read_law(name, law).mean), parameter))

    def _usual(self, name: str) -> list[float]:
        parameter = self.space.parameters[self.space.names.index(name)]
        return parameter.to_columns(self._value(name))

    def _draw(self, name: str, generator: torch.Generator) -> list[float]:
        parameter = self.space.parameters[self.space.names.index(name)]
        law = self.variables[name].law
        if isinstance(law, Mapping):
            shares = torch.tensor([float(law.get(c, 0.0)) for c in parameter.choices])
            index = int(torch.multinomial(shares, 1, generator=generator))
            return parameter.to_columns(parameter.choices[index])
        value = float(read_law(name, law).sample(1, generator))
        return parameter.to_columns(parameter.nearest(_within(value, parameter)))


def _within(value: float, parameter: object) -> float:
    low, high = parameter.low, parameter.high  # type: ignore[attr-defined]
    return min(max(value, low), high)

