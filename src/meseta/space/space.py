"""Named parameters: a dict for users, a row of columns for the mathematics."""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from meseta.boundary import are, shown, unknown
from meseta.space import parameter as parameters
from meseta.space.allowed import Linear, Rule, Rules, check_rules, read_rule
from meseta.space.domain import Domain
from meseta.space.grid import Discrete, Grid, OneOf
from meseta.space.parameter import SAME_DESIGN, Categorical, Int, Parameter, Value, read_range
from meseta.space.parameter import Design as Design
from meseta.space.rows_allowed import Allowed, inner_point

if TYPE_CHECKING:
    Ranges = Mapping[str, tuple[float, float] | Parameter]
    Params = Mapping[str, Value]
else:  # at run time they are read by hand, so that a mistake is named
    Ranges = Params = object


@dataclass(frozen=True, init=False)
class Space:
    """Named parameters: `Space({"angle": (-10, 45), "layers": Int(1, 8)})`.

    (low, high) is a number in that range, in raw units, the same as Float(low, high). The columns
    of a tensor are in the order of `names`; a parameter has one column, or one for each of more
    than two choices.
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...] = ()  # which of the designs are allowed; see `restricted`
    ruled: tuple[str, ...] = ()  # the parameters that rules are about

    def __init__(self, ranges: Ranges) -> None:
        expected = "a space is a dict with one range per parameter, such as {'speed': (4.1, 5.0)}"
        if not isinstance(ranges, Mapping):
            raise TypeError(f"{expected}, got {ranges!r}")
        if not ranges:
            raise ValueError(f"{expected}, got an empty one")
        read = tuple(_read_parameter(name, range_) for name, range_ in ranges.items())
        object.__setattr__(self, "names", tuple(ranges))
        object.__setattr__(self, "parameters", read)
        object.__setattr__(self, "rules", ())
        object.__setattr__(self, "ruled", ())

    def restricted(self, rules: Rules, design: Sequence[str] | None = None) -> "Space":
        """With the designs alone that keep all rules; refused where none is found.

        A rule is an inequality such as "water + 2 * acid <= 1", or a function of designs. `design`
        are the parameters that it may be about: all, unless some are an environment.
        """
        read = check_rules(rules)
        if not read:
            return self
        other = copy(self)
        for name in ("cube", "experiments", "_holds"):
            other.__dict__.pop(name, None)
        object.__setattr__(other, "rules", read)
        object.__setattr__(other, "ruled", tuple(self.names if design is None else design))
        if not len(other.cube.known):
            raise ValueError(
                f"no design is allowed by {', '.join(map(shown, read))}: none of some thousand all "
                "over the ranges; look at the rules, or narrow the ranges"
            )
        return other

    @cached_property
    def _holds(self) -> list[Callable[[Design], bool]]:
        numbers = [name for name in self.ranges if name in self.ruled]
        return [read_rule(rule, numbers) for rule in self.rules]

    def allows(self, design: Design) -> bool:
        """Whether a design keeps all rules."""
        ruled = {name: design[name] for name in self.ruled}
        return all(holds(ruled) for holds in self._holds)

    def _allowed(self) -> Allowed | None:
        """The same for rows of the unit cube."""
        if not self.rules:
            return None
        linear = [self._in_columns(each) for each in self._holds if isinstance(each, Linear)]
        others = [each for each in self._holds if not isinstance(each, Linear)]
        weights = torch.stack([w for w, _ in linear]) if linear else self.bounds[:0]
        limits = torch.tensor([limit for _, limit in linear], dtype=torch.double)
        log = torch.tensor([getattr(p, "log", False) for p in self.parameters for _ in p.ends])

        def values(x: Tensor) -> Tensor:
            columns = self.columns(x)
            return torch.where(log, columns.exp(), columns)

        def others_hold(x: Tensor) -> Tensor:
            designs = [
                {name: value for name, value in self.to_params(row).items() if name in self.ruled}
                for row in self.columns(x)
            ]
            return torch.tensor([all(holds(d) for holds in others) for d in designs]).bool()

        def inner() -> Tensor | None:
            if bool((weights[:, log] != 0).any()):
                return None
            row = inner_point(weights, limits, self.bounds)
            low, high = self.bounds
            return None if row is None else (row - low) / (high - low)

        return Allowed(values, weights, limits, others_hold if others else None, inner)

    def _in_columns(self, rule: Linear) -> tuple[Float[Tensor, " d"], float]:
        weights = torch.zeros(self.num_columns, dtype=torch.double)
        for name, weight in rule.weights:
            weights[self.columns_of(name)] = weight
        return weights, rule.limit

    def __repr__(self) -> str:
        shown = [self.ranges[n] if _is_plain(p) else p for n, p in self.items()]
        return f"Space({dict(zip(self.names, shown, strict=True))})"

    def items(self) -> tuple[tuple[str, Parameter], ...]:
        return tuple(zip(self.names, self.parameters, strict=True))

    @property
    def dimension(self) -> int:
        """How many parameters."""
        return len(self.names)

    @property
    def num_columns(self) -> int:
        """How many columns they have together."""
        return len(self.low)

    @property
    def ranges(self) -> dict[str, tuple[float | int, float | int]]:
        """The ranges of the parameters that are numbers."""
        return {name: (p.low, p.high) for name, p in self.items() if not isinstance(p, Categorical)}

    @property
    def low(self) -> tuple[float, ...]:
        """The lower end of every column."""
        return tuple(low for parameter in self.parameters for low, _ in parameter.ends)

    @property
    def high(self) -> tuple[float, ...]:
        """The upper end of every column."""
        return tuple(high for parameter in self.parameters for _, high in parameter.ends)

    @property
    def bounds(self) -> Float[Tensor, "2 d"]:
        """Lower and upper ends of the columns."""
        return torch.tensor([self.low, self.high], dtype=torch.double)

    @cached_property
    def cube(self) -> Domain:
        """The unit cube: every column from 0 to 1, and which rows of it are designs."""
        parts = (_discrete(self.columns_of(name).start, p) for name, p in self.items())
        box = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, self.num_columns)
        discrete = tuple(part for part in parts if part is not None)
        return Domain(box.clone(), discrete, self._allowed())

    @property
    def wider(self) -> tuple[str, ...]:
        """Parameters whose experiments may go beyond the range of the designs."""
        return tuple(name for name, p in self.items() if p.experiments is not p)

    @cached_property
    def experiments(self) -> Domain:
        """What may be evaluated, in the units of the unit cube, which it holds."""
        low, high = self.bounds
        bounds = (self._experiment_ends - low) / (high - low)
        discrete = (_discrete(self.columns_of(n).start, p.experiments) for n, p in self.items())
        parts = tuple(part for part in discrete if part is not None)
        return Domain(bounds, parts, self._allowed())

    @property
    def exact(self) -> Bool[Tensor, " d"]:
        """Columns in which every difference makes another experiment: whole numbers, choices."""
        return torch.tensor(
            [isinstance(p, Int | Categorical) for p in self.parameters for _ in p.ends]
        )

    @property
    def _experiment_ends(self) -> Float[Tensor, "2 d"]:
        """Lower and upper ends of the columns of what may be evaluated."""
        ends = [end for p in self.parameters for end in p.experiments.ends]
        return torch.tensor(ends, dtype=torch.double).T

    def columns_of(self, name: str) -> slice:
        """Where a parameter is among the columns."""
        if name not in self.names:
            raise ValueError(unknown("parameter", name, self.names))
        place = self.names.index(name)
        first = sum(len(parameter.ends) for parameter in self.parameters[:place])
        return slice(first, first + len(self.parameters[place].ends))

    def read(self, params: Params) -> Design:
        """Params as plain values in the order of `names`; refused unless they are all there.

        Numbers may lie outside their ranges; a choice must be one of those there are.
        """
        check_params(params)
        for name in params:
            if name not in self.names:
                raise ValueError(unknown("parameter", name, self.names))
        missing = [name for name in self.names if name not in params]
        if missing:
            raise ValueError(
                f"params must have a value for every parameter, but {are(missing)} missing in "
                f"{dict(params)}"
            )
        return {name: p.read(f"the value of {name!r}", params[name]) for name, p in self.items()}

    def apart(
        self, x: Float[Tensor, "*batch d"], z: Float[Tensor, "*#batch d"]
    ) -> Float[Tensor, "*batch d"]:
        """How far apart rows of the unit cube are in each column.

        Another whole number or another choice is infinitely far.
        """
        share = (x - z).abs()
        return share.masked_fill(self.exact & (share > 0), torch.inf)

    def as_same(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return rows of the unit cube with those of the same design equal to the first of them.

        Designs in a chain, each of which is the same as the next one, are all the same.
        """
        near = [(self.apart(rows, row).amax(-1) <= SAME_DESIGN).numpy() for row in rows]
        if not near:
            return rows
        _, label = connected_components(np.stack(near), directed=False)
        _, first, design = np.unique(label, return_index=True, return_inverse=True)
        return rows[torch.from_numpy(first[design])]

    def to_tensor(self, params: Params) -> Float[Tensor, " d"]:
        return torch.tensor(self.to_columns(self.read(params)), dtype=torch.double)

    def to_cube(self, design: Design) -> Float[Tensor, " d"]:
        """The row of a design that was read, in the unit cube; beyond it where it was told so."""
        low, high = self.bounds
        columns = torch.tensor(self.to_columns(design), dtype=torch.double)
        return (columns - low) / (high - low)

    def from_cube(self, row: Float[Tensor, " d"]) -> Design:
        """The design next to a row of the unit cube."""
        return self.to_params(self.columns(row))

    def columns(self, row: Float[Tensor, "*m d"]) -> Float[Tensor, "*m d"]:
        """Rows of the unit cube as columns of the parameters."""
        low, high = self.bounds
        x = low + (high - low) * row
        # rounding must not lead out of the box, nor out of what may be evaluated
        if self.wider:
            lowest, highest = self.experiments.bounds
            allowed = (row >= lowest) & (row <= highest)
            x = torch.where(allowed, x.clamp(*self._experiment_ends), x)
        inside = (row >= 0) & (row <= 1)
        return torch.where(inside, x.clamp(low, high), x)

    def to_columns(self, design: Design) -> list[float]:
        """The row of a design that was read."""
        return [x for name, p in self.items() for x in p.to_columns(design[name])]

    def to_params(self, x: Float[Tensor, " d"]) -> Design:
        """Floats, ints and choices; those that have steps on the next one."""
        row = x.tolist()
        return {name: p.from_columns(row[self.columns_of(name)]) for name, p in self.items()}

    def to_values(self, x: Float[Tensor, " d"]) -> Design:
        """As `to_params`, but what has steps may lie between them, as perturbed values do."""
        row = x.tolist()
        values = self.to_params(x)
        for name, p in self.items():
            if not isinstance(p, Categorical):
                (column,) = row[self.columns_of(name)]
                values[name] = math.exp(column) if p.log else column
        return values


def check_params(params: object) -> None:
    """Refuse what is no design at all."""
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict with one value per parameter, got {shown(params)}")


def _read_parameter(name: object, range_: object) -> Parameter:
    if not isinstance(name, str):
        raise TypeError(f"the name of a parameter must be a string, got {name!r}")
    if not name.strip():
        raise ValueError(f"a parameter needs a name, got {name!r}")
    if isinstance(range_, Parameter):
        return range_
    return parameters.Float(*read_range(repr(name), range_))


def _is_plain(parameter: Parameter) -> bool:
    """Whether (low, high) says it all."""
    return isinstance(parameter, parameters.Float) and not (
        parameter.log or parameter.step or parameter.evaluate
    )


def _discrete(column: int, parameter: Parameter) -> Discrete | None:
    if parameter.count is None:
        return None
    if isinstance(parameter, Categorical):
        few = parameter.count == 2
        return Grid(column, 2) if few else OneOf(column, parameter.count)
    log_of = parameter.low if isinstance(parameter, Int) and parameter.log else None
    return Grid(column, parameter.count, log_of)
