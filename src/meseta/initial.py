"""The points to evaluate before the model takes over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import read_count, unknown
from meseta.sobol import sobol_sequence
from meseta.space import Params, Space

Spread = Literal["sobol", "uniform"]
if TYPE_CHECKING:
    Initial = Spread | Sequence[Params]
else:  # at run time it is read by hand, so that a mistake is named
    Initial = object


@dataclass(frozen=True)
class InitialDesign:
    """Given points, then points spread over the box, `num` in all."""

    given: tuple[dict[str, float], ...]
    num: int
    spread: Spread


def read_initial(initial: Initial, num: int | None, space: Space) -> InitialDesign:
    """`initial` names how points are spread, or lists the points themselves."""
    given: tuple[dict[str, float], ...] = ()
    spread: Spread = "sobol"
    if not isinstance(initial, str):
        given = _read_given(initial, space)
    elif initial in get_args(Spread):
        spread = initial
    else:
        raise ValueError(unknown("initial design", initial, get_args(Spread)))
    if num is None:
        num = len(given) or default_num(space.dimension)
    num = read_count("num_initial", num)
    if num < len(given):
        raise ValueError(
            f"num_initial is {num} but {len(given)} initial points are given; leave num_initial "
            "out, or raise it to have further points spread over the box"
        )
    return InitialDesign(given, num, spread)


def default_num(dimension: int) -> int:
    """3, 5, 10 for one to three parameters, as in the paper; beyond, two more for each."""
    return {1: 3, 2: 5, 3: 10}.get(dimension, 2 * dimension + 4)


def spread_point(spread: Spread, space: Space, index: int, seed: int) -> Float[Tensor, " d"]:
    """Point number `index` of the sequence that `seed` gives, in the box."""
    bounds = space.bounds
    if spread == "sobol":
        return sobol_sequence(bounds, index, 1, seed)[0]
    generator = torch.Generator().manual_seed(seed)
    unit = torch.rand(index + 1, space.dimension, generator=generator, dtype=torch.double)[index]
    return (bounds[0] + (bounds[1] - bounds[0]) * unit).clamp(bounds[0], bounds[1])


def _read_given(initial: object, space: Space) -> tuple[dict[str, float], ...]:
    if not isinstance(initial, Sequence) or not initial:
        raise TypeError(
            f"initial must be one of {', '.join(map(repr, get_args(Spread)))} or a list of one or "
            f"more points, got {initial!r}"
        )
    given = tuple(space.read(params) for params in initial)
    for params in given:
        for name, (low, high) in space.ranges.items():
            if not low <= params[name] <= high:
                raise ValueError(
                    f"initial points must lie in the box, but {name!r} is {params[name]} and its "
                    f"range ({low}, {high}); tell such a point with its value instead"
                )
    return given
