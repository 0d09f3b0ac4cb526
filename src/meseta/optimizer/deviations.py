"""Planned and executed values: how far they differ, beside the noise that is assumed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from meseta.noise import NoiseLaw
from meseta.noise.moments import moments_at
from meseta.optimizer.record import Trial
from meseta.space.parameter import Categorical
from meseta.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["parameter", "pairs", "mean", "std", "assumed_mean", "assumed_std", "ratio"]


def deviations(trials: Sequence[Trial], space: Space, noise: NoiseLaw) -> "pd.DataFrame":
    """For each parameter that is a number: executed minus planned values, and what was assumed.

    `std` is the root mean square around the mean that the noise has, and `ratio` that by the
    assumed one: much above 1, the noise is taken too small. On a logarithmic scale all are those of
    the logarithm. Only trials that were asked for count, also those carried out as planned.
    """
    import pandas as pd

    done = [trial for trial in trials if trial.asked and trial.state in ("complete", "failed")]
    if not done:
        return pd.DataFrame(columns=COLUMNS)
    executed, planned = (
        torch.tensor([space.to_columns(design) for design in designs], dtype=torch.double)
        for designs in zip(*((t.params, t.planned or t.params) for t in done), strict=True)
    )
    means, stds = moments_at(noise, planned)
    rows = []
    for name, parameter in space.items():
        if isinstance(parameter, Categorical):
            continue
        column = space.columns_of(name).start
        away, mean = (executed - planned)[:, column], means[:, column]
        spread = float((away - mean).square().mean().sqrt())
        assumed = float(stds[:, column].square().mean().sqrt())
        ratio = spread / assumed if assumed > 0 else float("nan")
        label = f"log {name}" if parameter.log else name
        rows.append(
            [label, len(done), float(away.mean()), spread, float(mean.mean()), assumed, ratio]
        )
    return pd.DataFrame(rows, columns=COLUMNS)
