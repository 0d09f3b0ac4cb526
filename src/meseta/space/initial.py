"""The points to evaluate before the model takes over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import read_count, unknown
from meseta.space.environments import Environments
from meseta.space.parameter import Categorical
from meseta.space.space import Design, Params, Space

Spread = Literal["sobol", "uniform"]
if TYPE_CHECKING:
    Initial = Spread | Sequence[Params]
else:  # at run time it is read by hand, so that a mistake is named
    Initial = object
ROUNDING = 1e-9  # of the range: what a sum of decimal fractions may be off


@dataclass(frozen=True)
class InitialDesign:
    """Given points, then points spread over the box, `num` in all."""

    given: tuple[Design, ...]
    num: int
    spread: Spread


def check_initial(initial: Initial) -> None:
    """Refuse what is neither a way to spread points nor a list of them."""
    if isinstance(initial, str):
        if initial not in get_args(Spread):
            raise ValueError(unknown("initial design", initial, get_args(Spread)))
    elif not isinstance(initial, Sequence) or not initial:
        raise TypeError(
            f"initial must be one of {', '.join(map(repr, get_args(Spread)))} or a list of one or "
            f"more points, got {initial!r}"
        )


def read_initial(initial: Initial, num: int | None, environments: Environments) -> InitialDesign:
    """`initial` names how points are spread, or lists the points themselves.

    Given points may leave out what an experiment cannot set.
    """
    check_initial(initial)
    given: tuple[Design, ...] = ()
    spread: Spread = "sobol"
    space = environments.space
    if isinstance(initial, str):
        spread = initial
    else:
        given = tuple(_read_given(params, environments) for params in initial)
    if num is None:
        num = len(given) or _default_num(space)
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


def _default_num(space: Space) -> int:
    """No more than there are designs."""
    num, domain = default_num(space.dimension), space.cube
    return min(num, domain.combinations) if domain.finite else num


def spread_points(
    spread: Spread, space: Space, start: int, num: int, seed: int
) -> Float[Tensor, "num d"]:
    """Points number start, ..., start + num - 1 of the sequence of `seed`, in the unit cube."""
    domain = space.cube
    if spread == "sobol":
        return domain.sobol_sequence(start, num, seed)

    def uniform(many: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        shape = many, domain.num_coordinates
        return domain.placed(torch.rand(*shape, generator=generator, dtype=torch.double))

    return domain.sifted(uniform, start + num)[start:]


def _read_given(params: Params, environments: Environments) -> Design:
    if isinstance(params, Mapping):
        params = environments.complete(params)
    return _admissible(environments.space.read(params), environments.space)


def _admissible(params: Design, space: Space) -> Design:
    """Refused unless it is a design; rounding off the steps is mended."""
    nearest = {name: p.experiments.nearest(params[name]) for name, p in space.items()}
    for name, parameter in space.items():
        if isinstance(parameter, Categorical):
            continue
        low, high = parameter.experiments.low, parameter.experiments.high
        value = params[name]
        if not low <= value <= high:
            raise ValueError(
                f"initial points must lie in the box, but {name!r} is {value} and its "
                f"range ({low}, {high}); tell such a point with its value instead"
            )
        if abs(value - nearest[name]) > ROUNDING * (high - low):
            raise ValueError(
                f"initial points must lie on the steps, but {name!r} is {value}, and the next "
                f"step {nearest[name]}; tell such a point with its value instead"
            )
    if not space.allows(nearest):
        raise ValueError(
            f"initial points must be allowed, but {nearest} is not; tell such a point with its "
            "value instead"
        )
    return nearest
