"""Planned and measured values: how far they differ, beside the noise that is assumed."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from scipy.special import chdtri
from torch import Tensor

from meseta.noise import NoiseLaw
from meseta.noise.moments import moments_at
from meseta.optimizer.record import Trial
from meseta.space.parameter import Categorical
from meseta.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    "parameter",
    "pairs",
    "mean",
    "std",
    "assumed_mean",
    "assumed_std",
    "ratio",
    "ratio_low",
    "ratio_high",
]
UNKNOWN = (math.nan,) * 7


def deviations(
    trials: Sequence[Trial], space: Space, noise: NoiseLaw, design: Sequence[str]
) -> "pd.DataFrame":
    """For each number of the design: measured minus planned values, and what was assumed.

    A trial is a pair for the parameters that it has `measured`, and for no others. `std` is the
    root mean square around the mean that the noise has. `ratio` is the root mean square in standard
    deviations of the assumed noise: much above 1, the noise is taken too small. `ratio_low` and
    `ratio_high` are the ends of its 95 % interval. On a logarithmic scale all are those of the
    logarithm. Without pairs they are not known: NaN.
    """
    import pandas as pd

    rows = []
    for name in design:
        parameter = space.parameters[space.names.index(name)]
        if isinstance(parameter, Categorical):
            continue
        pairs = [trial for trial in trials if name in trial.measured]
        known = _compared(pairs, space, noise, space.columns_of(name).start) if pairs else UNKNOWN
        rows.append([f"log {name}" if parameter.log else name, len(pairs), *known])
    return pd.DataFrame(rows, columns=COLUMNS)


def _compared(
    pairs: Sequence[Trial], space: Space, noise: NoiseLaw, column: int
) -> tuple[float, ...]:
    executed, planned = (
        torch.tensor([space.to_columns(design) for design in designs], dtype=torch.double)
        for designs in zip(*((t.params, t.planned or t.params) for t in pairs), strict=True)
    )
    means, stds = (each[:, column] for each in moments_at(noise, planned))
    away = (executed - planned)[:, column]
    ratio, low, high = _ratio(away - means, stds)
    return (
        float(away.mean()),
        _root_mean_square(away - means),
        float(means.mean()),
        _root_mean_square(stds),
        ratio,
        low,
        high,
    )


def _ratio(away: Float[Tensor, " n"], stds: Float[Tensor, " n"]) -> tuple[float, float, float]:
    """How many times as wide as assumed the noise is, and the 95 % interval of that.

    For Normal noise of a known mean n ratio^2 / (true ratio)^2 has the chi-square law with n
    degrees of freedom. Where no noise is assumed there is no ratio.
    """
    noisy = stds > 0
    n = int(noisy.sum())
    if not n:
        return math.nan, math.nan, math.nan
    ratio = _root_mean_square(away[noisy] / stds[noisy])
    # chdtri is the inverse of the upper tail
    low, high = (ratio * math.sqrt(n / float(chdtri(n, tail))) for tail in (0.025, 0.975))
    return ratio, low, high


def _root_mean_square(values: Float[Tensor, " n"]) -> float:
    return float(values.square().mean().sqrt())
