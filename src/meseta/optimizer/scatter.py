"""Which part of the scatter of single values the parts have in use."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import read_number, shown, unknown

if TYPE_CHECKING:
    from meseta.optimizer.fitted import Fitted

# "all" of it, "none", or the standard deviation of the gauge, whose variance is not that of parts.
Part = float | Literal["all", "none"]
ScatterInUse = Part | Mapping[str, Part]
EXPECTED = (
    '"all" (the parts scatter as the values do), "none" (it is error of the gauge), or the '
    "standard deviation of the gauge, a positive number"
)


def read_scatter(scatter: object, outcomes: tuple[str, ...]) -> ScatterInUse:
    """One for all outcomes, or a dict by their names."""
    if not isinstance(scatter, Mapping):
        return _read_part("scatter_in_use", scatter)
    for name in scatter:
        if name not in outcomes:
            raise ValueError(f"scatter_in_use: {unknown('outcome', name, outcomes)}")
    return {name: _read_part(f"scatter_in_use of {name!r}", p) for name, p in scatter.items()}


def _read_part(what: str, part: object) -> Part:
    if isinstance(part, str) and part in ("all", "none"):
        return "none" if part == "none" else "all"
    if isinstance(part, str):
        raise ValueError(f"{what} must be {EXPECTED}; got {shown(part)}")
    number = read_number(what, part, f"it is {EXPECTED}")
    if number <= 0:
        raise ValueError(f'{what} must be {EXPECTED}; got {number:g}: an exact gauge is "all"')
    return number


def part_of(scatter: ScatterInUse, outcome: str) -> Part:
    """That of one outcome; where a dict does not name it, all."""
    return scatter.get(outcome, "all") if isinstance(scatter, Mapping) else scatter


@torch.no_grad()
def in_words(fitted: "Fitted", x: Float[Tensor, " d"]) -> str:
    """What figures of the values in use at a row count of the scatter; empty: nothing scatters."""
    mixture, scale = fitted.mixture, float(fitted.surrogate.units.y_scale)
    single = scale * float(mixture.heaviest.coming.variance_at(x[None])[0].sqrt())
    if not single:
        return ""
    if fitted.scatter == "none":
        return "without the scatter of single values, as error of the gauge"
    if not fitted.fit.scatter.told:
        return "without scatter of single values, which cannot be told from none"
    parts = scale * float(mixture.scatter(x[None])[0])
    if fitted.scatter == "all":
        return f"with the scatter of single values, {parts:.2g}"
    if not parts > 1e-9 * single:
        return f"without scatter of single values, {single:.2g}: the gauge has as much"
    return (
        f"with the scatter of single values beyond that of the gauge, {parts:.2g} of "
        f"{math.hypot(parts, fitted.scatter):.2g}"
    )
