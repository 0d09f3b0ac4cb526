"""A noise law of several parameters as a sum of independent terms of simple kinds."""

from dataclasses import dataclass, field
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.noise.empirical import Empirical
from meseta.noise.independent import Independent
from meseta.noise.joint import Joint
from meseta.noise.law import NoiseLaw, OneDimensional
from meseta.noise.normal import Normal
from meseta.noise.shared import Shared
from meseta.noise.sums import Sum


@dataclass
class Terms:
    """xi = mean + a Normal part + sum of s_k direction_k + one row of each cloud, independent."""

    mean: Float[Tensor, " d"]
    covariance: Float[Tensor, "d d"]
    scalars: list[tuple[OneDimensional, Float[Tensor, " d"]]] = field(default_factory=list)
    clouds: list[tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]] = field(default_factory=list)


@lru_cache(maxsize=64)
def terms(law: NoiseLaw) -> Terms:
    """The terms of a law whose coordinates may depend on each other; kept, laws being values."""
    d = len(law.mean)
    found = Terms(torch.zeros(d, dtype=torch.double), torch.zeros(d, d, dtype=torch.double))
    _add(found, law, torch.eye(d, dtype=torch.double))
    return found


def _add(found: Terms, law: NoiseLaw, directions: Float[Tensor, "k d"]) -> None:
    """Add xi' directions, xi ~ law of k numbers."""
    if isinstance(law, Normal):
        found.mean += law.mean @ directions
        found.covariance += directions.T @ law.covariance_matrix @ directions
    elif isinstance(law, Joint):
        _add(found, law.own, directions)
        for dims, part in law.parts:
            _add(found, part, directions[list(dims)])
    elif isinstance(law, Shared):
        loads = law.covariance_matrix.new_tensor(law.loads or (1.0,) * len(directions))
        _add(found, law.law, (loads @ directions)[None])
    elif isinstance(law, Independent) or (law.independent and len(directions) > 1):
        for marginal, direction in zip(law.marginals, directions, strict=True):
            _add(found, marginal, direction[None])
    elif isinstance(law, Sum):
        for part in law.laws:
            _add(found, part, directions)
    elif isinstance(law, OneDimensional):
        found.scalars.append((law, directions[0]))
    elif isinstance(law, Empirical):
        table = law.table
        weights = torch.full((len(table),), 1 / len(table), dtype=torch.double)
        found.clouds.append((table @ directions, weights))
    else:
        raise TypeError(
            f"noise that moves several parameters together must be made of Normal, Shared, "
            f"Empirical and laws of one number, got {law!r}; "
            "draw from it and give Empirical(samples)"
        )
