"""Planned and executed values: how far they differ, beside the noise that is assumed."""

from collections.abc import Sequence

import pandas as pd
import torch

from meseta.noise import NoiseLaw
from meseta.noise.moments import moments_at
from meseta.parameters import Category
from meseta.record import Trial
from meseta.space import Space

COLUMNS = ["parameter", "pairs", "mean", "std", "assumed_mean", "assumed_std", "ratio"]


def deviations(trials: Sequence[Trial], space: Space, noise: NoiseLaw) -> pd.DataFrame:
    """For each parameter that is a number: executed minus planned values, and what was assumed.

    `std` is the root mean square around the mean that the noise has, and `ratio` that by the
    assumed one: much above 1, the noise is taken too small. On a logarithmic scale all are those of
    the logarithm. Only trials that were asked for count, also those carried out as planned.
    """
    done = [trial for trial in trials if trial.asked and trial.state != "pending"]
    rows = []
    for name, parameter in space.items():
        if isinstance(parameter, Category) or not done:
            continue
        column = space.columns_of(name).start
        executed = _column(space, [trial.params for trial in done], column)
        planned = _column(space, [trial.planned or trial.params for trial in done], column)
        x = torch.tensor([space.to_columns(t.planned or t.params) for t in done]).double()
        mean, std = (moment[:, column] for moment in moments_at(noise, x))
        away = executed - planned
        spread = float((away - mean).square().mean().sqrt())
        assumed = float(std.square().mean().sqrt())
        ratio = spread / assumed if assumed > 0 else float("nan")
        label = f"log {name}" if parameter.log else name
        rows.append(
            [label, len(done), float(away.mean()), spread, float(mean.mean()), assumed, ratio]
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _column(space: Space, designs: list[dict], column: int) -> torch.Tensor:  # type: ignore[type-arg]
    return torch.tensor([space.to_columns(d)[column] for d in designs], dtype=torch.double)
