"""What figures of the values in use count of the scatter of single values, in words."""

import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from meseta.optimizer.fitted import Fitted


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
