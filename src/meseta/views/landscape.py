"""The landscape: f and g along one parameter, and over two, through the robust optimum."""

from dataclasses import dataclass

from meseta.parameters import Value
from meseta.views.axis import Axis


@dataclass(frozen=True)
class Mark:
    """A point in a plot: where it is, and what is shown there."""

    x: Value
    y: Value  # the mean of g or f in a slice; a parameter on a map


@dataclass(frozen=True)
class Observation:
    """An evaluation: number of the trial, where it was, what came out."""

    number: int
    x: Value
    y: Value  # the second parameter on a map; the value in a slice
    value: float


@dataclass(frozen=True)
class Slice:
    """f and g along one parameter, the others as in the robust optimum."""

    axis: Axis
    f_mean: tuple[float, ...]
    f_std: tuple[float, ...]
    g_mean: tuple[float, ...]
    g_std: tuple[float, ...]
    robust: Mark  # at the mean of g
    nominal: Mark  # at the mean of f
    data: tuple[Observation, ...]
    exact: bool  # whether all data lie in the slice: there is no other parameter


@dataclass(frozen=True)
class Map:
    """f and g over two parameters, the others as in the robust optimum; rows go along y."""

    x: Axis
    y: Axis
    f_mean: tuple[tuple[float, ...], ...]
    f_std: tuple[tuple[float, ...], ...]
    g_mean: tuple[tuple[float, ...], ...]
    g_std: tuple[tuple[float, ...], ...]
    robust: Mark
    nominal: Mark
    data: tuple[Observation, ...]
    exact: bool  # whether all data lie on the map: there is no third parameter


@dataclass(frozen=True)
class NextPoint:
    """What would be evaluated next, and for one parameter why."""

    method: str
    params: dict[str, Value]
    axis: Axis | None  # None: there is more than one parameter, or the method has no model
    acquisition: tuple[float, ...]


@dataclass(frozen=True)
class Landscape:
    slices: tuple[Slice, ...]  # one for each parameter of the design
    maps: tuple[Map, ...]  # of pairs, those that matter most first
    left_out: int  # pairs that have no map: too many
    next_point: NextPoint | None
