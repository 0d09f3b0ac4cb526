"""The box of designs, and its named parameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import read_number, unknown

SMALLEST = 1e-290  # the width of a range whose reciprocal is still a sound number

if TYPE_CHECKING:
    Ranges = Mapping[str, tuple[float, float]]
    Params = Mapping[str, float]
else:  # at run time they are read by hand, so that a mistake is named
    Ranges = Params = object


@dataclass(frozen=True, init=False)
class Space:
    """Named parameters with their ranges: `Space({"angle": (-10, 45), "speed": (4.1, 5.0)})`.

    A design is one number per parameter, in raw units: a dict for users, a tensor in the order of
    `names` for the mathematics.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __init__(self, ranges: Ranges) -> None:
        expected = "a space is a dict with one range per parameter, such as {'speed': (4.1, 5.0)}"
        if not isinstance(ranges, Mapping):
            raise TypeError(f"{expected}, got {ranges!r}")
        if not ranges:
            raise ValueError(f"{expected}, got an empty one")
        ends = [_read_range(name, ends) for name, ends in ranges.items()]
        object.__setattr__(self, "names", tuple(ranges))
        object.__setattr__(self, "low", tuple(low for low, _ in ends))
        object.__setattr__(self, "high", tuple(high for _, high in ends))

    def __repr__(self) -> str:
        return f"Space({self.ranges})"

    @property
    def dimension(self) -> int:
        return len(self.names)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        ends = zip(self.low, self.high, strict=True)
        return dict(zip(self.names, ends, strict=True))

    @property
    def bounds(self) -> Float[Tensor, "2 d"]:
        """Lower and upper ends of the box."""
        return torch.tensor([self.low, self.high], dtype=torch.double)

    def read(self, params: Params) -> dict[str, float]:
        """Params as plain floats in the order of `names`; refused unless they are all there.

        They may lie outside the ranges.
        """
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict with one number per parameter, got {params!r}")
        for name in params:
            if name not in self.names:
                raise ValueError(unknown("parameter", name, self.names))
        missing = [name for name in self.names if name not in params]
        if missing:
            raise ValueError(
                f"params must have a number for every parameter, but {', '.join(missing)} is "
                f"missing in {dict(params)}"
            )
        design = {name: read_number(f"the value of {name!r}", params[name]) for name in self.names}
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            if not math.isfinite((design[name] - low) / (high - low)):
                raise ValueError(
                    f"the value of {name!r} is too far outside its range ({low}, {high}) for "
                    f"floating point, got {params[name]!r}"
                )
        return design

    def to_tensor(self, params: Params) -> Float[Tensor, " d"]:
        return torch.tensor(list(self.read(params).values()), dtype=torch.double)

    def to_params(self, x: Float[Tensor, " d"]) -> dict[str, float]:
        return dict(zip(self.names, x.tolist(), strict=True))


def _read_range(name: object, ends: object) -> tuple[float, float]:
    if not isinstance(name, str):
        raise TypeError(f"the name of a parameter must be a string, got {name!r}")
    if not name.strip():
        raise ValueError(f"a parameter needs a name, got {name!r}")
    if isinstance(ends, (np.ndarray, Tensor)):
        ends = ends.tolist()
    if not isinstance(ends, Sequence) or len(ends) != 2:
        raise TypeError(f"the range of {name!r} must be (low, high), got {ends!r}")
    low, high = (read_number(f"each end of the range of {name!r}", end) for end in ends)
    if not low < high:
        raise ValueError(
            f"the range of {name!r} must run from a lower to a higher number, got {ends!r}; "
            + ("leave a fixed parameter out" if low == high else "swap its ends")
        )
    if not SMALLEST <= high - low < math.inf:
        size = "narrow" if high - low < 1 else "wide"
        raise ValueError(f"the range of {name!r} is too {size} for floating point, got {ends!r}")
    return low, high


def checked_bounds(bounds: Tensor, dimension: int) -> Float[Tensor, "2 d"]:
    """The lower and upper ends of the box in double precision, refused where they make no box."""
    bounds = torch.as_tensor(bounds, dtype=torch.double)
    if bounds.shape != (2, dimension):
        raise ValueError(
            f"x has {dimension} parameters, so bounds must have shape (2, {dimension}), lower and "
            f"upper ends of the box, got {tuple(bounds.shape)}"
        )
    if not (bounds.isfinite().all() and (bounds[0] < bounds[1]).all()):
        raise ValueError(
            f"every lower bound must be finite and below its upper bound, got {bounds.tolist()}"
        )
    return bounds
