"""The landscape: f and g along one parameter and over two, through the robust optimum."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from jaxtyping import Float
from torch import Tensor

from meseta.optimizer.record import Trial
from meseta.report.views.axis import Axis, axis, places
from meseta.report.views.next_point import NextPoint, next_point
from meseta.report.views.subject import Subject
from meseta.space.space import Design

ALONG = 101  # places in a slice
SQUARE, SMALL_SQUARE = 61, 31  # places along each side: of a single map, of one of several
MOST_MAPS = 10

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Mark:
    """An optimum as a point of a slice or a map."""

    x: Any
    y: Any  # in a slice the mean of g or f, on a map the second parameter


@dataclass(frozen=True)
class PlottedTrial:
    """A complete trial as a point of a slice or a map."""

    number: int
    x: Any
    y: Any  # in a slice the value, on a map the second parameter
    value: float


@dataclass(frozen=True)
class Slice:
    """f and g along one parameter; the others are those of the robust optimum."""

    axis: Axis
    f_mean: tuple[float, ...]
    f_std: tuple[float, ...]
    g_mean: tuple[float, ...]
    g_std: tuple[float, ...]
    robust: Mark  # at the mean of g
    nominal: Mark  # at the mean of f
    data: tuple[PlottedTrial, ...]
    exact: bool  # whether all data lie in the slice, as there is no other parameter


@dataclass(frozen=True)
class Map:
    """f and g over two parameters; the others are those of the robust optimum.

    Each row of the tables belongs to one value of y.
    """

    x: Axis
    y: Axis
    f_mean: Rows
    f_std: Rows
    g_mean: Rows
    g_std: Rows
    robust: Mark
    nominal: Mark
    data: tuple[PlottedTrial, ...]
    exact: bool  # whether all data lie on the map, as there is no third parameter


@dataclass(frozen=True)
class Landscape:
    """All slices and maps, and the next evaluation."""

    slices: tuple[Slice, ...]  # one for each parameter of the design
    maps: tuple[Map, ...]  # one for each pair of parameters, most important first
    left_out: int  # the number of pairs without a map
    next_point: NextPoint | None


def landscape(subject: Subject, num_along: int = ALONG) -> Landscape:
    """Slices along all parameters, and maps of the pairs along which g changes most."""
    slices = {name: slice_along(subject, name, num_along) for name in subject.design}
    by_range = sorted(subject.design, key=lambda name: -_range(slices[name]))
    pairs = sorted(
        combinations(subject.design, 2), key=lambda pair: sum(by_range.index(n) for n in pair)
    )
    side = SQUARE if len(pairs) == 1 else SMALL_SQUARE
    maps = tuple(map_over(subject, *pair, num=side) for pair in pairs[:MOST_MAPS])
    return Landscape(
        tuple(slices.values()), maps, len(pairs) - len(maps), next_point(subject, num_along)
    )


def slice_along(subject: Subject, name: str, num: int = ALONG) -> Slice:
    values = places(subject, name, num)
    x = subject.rows([{**subject.robust.params, name: value} for value in values])
    moments = subject.moments(x)
    robust, nominal = subject.robust, subject.nominal
    return Slice(
        axis=axis(subject, name, values),
        f_mean=tuple(moments.m_f.tolist()),
        f_std=tuple(moments.v_f.sqrt().tolist()),
        g_mean=tuple(moments.m_g.tolist()),
        g_std=tuple(moments.v_g.sqrt().tolist()),
        robust=Mark(subject.value(name, robust.params[name]), robust.mean),
        nominal=Mark(subject.value(name, nominal.params[name]), nominal.nominal_mean),
        data=tuple(
            PlottedTrial(subject.number(t), subject.value(name, t.params[name]), value, value)
            for t, value in _complete(subject)
        ),
        exact=subject.optimizer.space.dimension == 1,
    )


def map_over(subject: Subject, across: str, up: str, num: int = SQUARE) -> Map:
    xs, ys = places(subject, across, num), places(subject, up, num)
    held = subject.robust.params
    x = subject.rows([{**held, across: a, up: b} for b in ys for a in xs])
    moments = subject.moments(x)
    robust, nominal = subject.robust.params, subject.nominal.params
    return Map(
        x=axis(subject, across, xs),
        y=axis(subject, up, ys),
        f_mean=_table(moments.m_f, len(ys)),
        f_std=_table(moments.v_f.sqrt(), len(ys)),
        g_mean=_table(moments.m_g, len(ys)),
        g_std=_table(moments.v_g.sqrt(), len(ys)),
        robust=_mark(subject, across, up, robust),
        nominal=_mark(subject, across, up, nominal),
        data=tuple(
            PlottedTrial(
                subject.number(t),
                subject.value(across, t.params[across]),
                subject.value(up, t.params[up]),
                value,
            )
            for t, value in _complete(subject)
        ),
        exact=subject.optimizer.space.dimension == 2,
    )


def _mark(subject: Subject, across: str, up: str, params: Design) -> Mark:
    return Mark(subject.value(across, params[across]), subject.value(up, params[up]))


def _complete(subject: Subject) -> list[tuple[Trial, float]]:
    return [(t, t.value) for t in subject.optimizer.trials if t.value is not None]


def _range(view: Slice) -> float:
    """The highest mean of g minus the lowest."""
    return max(view.g_mean) - min(view.g_mean)


def _table(values: Float[Tensor, " m"], rows: int) -> Rows:
    return tuple(tuple(row) for row in values.reshape(rows, -1).tolist())
