"""The arguments of a noise law as users pass them: read, or refused by name."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from meseta.boundary import read_number
from meseta.noise.law import Width

WidthOfX = Callable[[Any], Any]  # a width that depends on the value of its own parameter

if TYPE_CHECKING:
    Number = float | np.floating | np.integer | Tensor | np.ndarray
    Numbers = Sequence[float] | Tensor | np.ndarray
    Flag = bool
else:  # at run time they are read by hand, so that a mistake is named
    Number = Numbers = Flag = object


def read_positive(what: str, value: object) -> float:
    """A width that is not 0."""
    number = read_number(what, value)
    if not number > 0:
        raise ValueError(
            f"{what} must be greater than 0, got {value!r}; "
            "for a parameter without noise write Normal(0)"
        )
    return number


def as_numbers(values: object) -> Tensor:
    """Lists, arrays and pandas tables as a tensor; anything else as one without dimensions."""
    if isinstance(values, Tensor):
        return values.detach().to(torch.double)
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different length
        return torch.empty(())
    return torch.tensor(array.astype(float)) if array.dtype.kind in "fiu" else torch.empty(())


def read_numbers(what: str, values: object) -> tuple[float, ...]:
    """A list of finite numbers, at least one."""
    numbers = as_numbers(values)
    if numbers.ndim != 1:
        raise TypeError(f"{what} must be a list of numbers, got {values!r}")
    if not len(numbers):
        raise ValueError(f"{what} must be at least one number, got {values!r}")
    if not numbers.isfinite().all():
        raise ValueError(f"{what} must be finite, got {values!r}; leave out what is missing")
    return tuple(numbers.tolist())


def read_weights(what: str, weights: object, num: int) -> tuple[float, ...]:
    """Weights scaled so that they sum to 1; None: equal weights."""
    if weights is None:
        return (1 / num,) * num
    values = read_numbers(what, weights)
    if len(values) != num:
        raise ValueError(f"{what} must be {num} numbers, one for each, got {len(values)}")
    total = math.fsum(values)
    if min(values) < 0 or not 0 < total < math.inf:
        raise ValueError(
            f"{what} must not be negative, and at least one must be greater than 0, got {weights!r}"
        )
    # so that weights read a second time stay as they are
    return values if abs(total - 1) <= 1e-14 else tuple(value / total for value in values)


def read_flag(what: str, flag: object) -> bool:
    if not isinstance(flag, (bool, np.bool_)):
        raise TypeError(f"{what} must be True or False, got {flag!r}")
    return bool(flag)


def read_mean(
    name: str, mean: Width, width: float | tuple[float, ...]
) -> tuple[float | tuple[float, ...], float | tuple[float, ...]]:
    """Width and mean, both one number or both one per parameter."""
    try:
        values = torch.as_tensor(mean, dtype=torch.double)
    except (TypeError, ValueError, RuntimeError):
        values = torch.empty(0, 0)
    if values.ndim > 1 or not values.numel() or isinstance(mean, (str, bytes, bool)):
        raise TypeError(
            f"{name} mean must be a number, or a list with one number per parameter, got {mean!r}"
        )
    if not values.isfinite().all():
        raise ValueError(f"{name} mean must be finite, got {mean!r}; give it in the units of x")
    if values.ndim == 0:
        bias = float(values)
        return width, bias if isinstance(width, float) else (bias,) * len(width)
    if isinstance(width, float):
        width = (width,) * len(values)
    if len(width) != len(values):
        raise ValueError(
            f"{name} has {len(width)} widths but {len(values)} means; "
            "give one number for all parameters, or exactly one per parameter, in both"
        )
    return width, tuple(values.tolist())


def read_width_of_x(
    name: str, width: Width | WidthOfX, mean: Width, relative: bool
) -> WidthOfX | None:
    """The width if it is a function of x, else None; refuses arguments that contradict it."""
    if not callable(width) or isinstance(width, type):
        return None
    if relative:
        raise ValueError(
            f"{name} with a width that is a function of x cannot be relative as well; "
            "let the function return the width in the units of x"
        )
    if not (isinstance(mean, (float, int)) and mean == 0):
        raise ValueError(
            f"{name} with a width that is a function of x has no mean, got {mean!r}; leave it out"
        )
    return width
