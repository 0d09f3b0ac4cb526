"""From trials to the model of an outcome: its values, and what is known about them."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.fit import fit_surrogates
from meseta.gp.observed import Acting, Unseen
from meseta.gp.quality import Quality, known_variances
from meseta.gp.varies import varying_quality
from meseta.noise import NoiseLaw
from meseta.optimizer.fitted import Fitted, in_cube
from meseta.optimizer.precision import VARIES, Part
from meseta.optimizer.record import Trial
from meseta.optimizer.settings import Settings
from meseta.space.space import Space


def fit_values(
    space: Space,
    law: NoiseLaw,
    settings: Settings,
    trials: Sequence[Trial],
    rows: Float[Tensor, "n d"],
    values: Float[Tensor, " n"],
    key: str,
    noise: Acting | None,
    noise_variance: float | str | None,
    scale: float | None = None,
    scatter: Part = "all",
) -> Fitted:
    """The model of the values of these trials, at rows of the unit cube.

    Args:
        key: The name of the outcome, VALUE for what is optimised.
        noise: That which acts in experiments; None: it acts on none of them.
        noise_variance: Of a measurement; None: inferred. "varies": it depends on the design.
        scale: How large a difference counts, for values that are all the same; None: 1.
        scatter: The part of their scatter that counts in use.
    """
    nan = math.nan
    std = torch.tensor([trial.std.get(key, nan) for trial in trials], dtype=torch.double)
    count = torch.tensor([trial.n for trial in trials], dtype=torch.double)
    unseen = torch.tensor([trial.unseen for trial in trials])
    acted = None if noise is None else Unseen(unseen, noise)
    new_unseen = settings.executed == "unseen"
    quality = Quality(known_variances(std, count), count, acted, new_unseen)
    message = ""
    if noise_variance == VARIES:
        quality, message = varying_quality(space.as_same(rows), values, std, quality)
        noise_variance = None
    assert not isinstance(noise_variance, str)
    fit = fit_surrogates(
        rows,
        values,
        space.cube.bounds,
        in_cube(law, space),
        kernel=settings.kernel,
        prior=settings.prior,
        noise_variance=noise_variance,
        scale=scale,
        quality=quality,
    )
    if message:
        messages = (*fit.info.messages, message)
        fit = fit._replace(info=fit.info._replace(messages=messages))
    return Fitted(space, law, fit, scatter)
