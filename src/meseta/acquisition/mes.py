"""Max-value entropy search [Wang and Jegelka 2017] looking at g."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.nes import NESOptions
from meseta.gp.joint import JointPosterior
from meseta.gp.maxima import Maxima, percentile_values, sample_maxima
from meseta.gp.surrogate import Units
from meseta.inference import standard_truncation
from meseta.space.domain import Box


class MESInfo(NamedTuple):
    """What stands behind an acquisition function."""

    max_values: Float[Tensor, " k"]
    maxima: Maxima  # of the sampled paths, in the model's units
    jitter: float  # added to the diagonal of the data's covariance
    clamped: dict[str, float]  # variances that were negative by more than rounding, so far

    def raw(self, units: Units) -> "MESInfo":
        return self._replace(max_values=units.y_to_raw(self.max_values))


@dataclass(frozen=True, eq=False)
class MES:
    """MES of g in the units of the model, as if g were observed without noise."""

    posterior: JointPosterior
    g_star: Float[Tensor, " k"]
    starts: Float[Tensor, "s d"]
    info: MESInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """mean_k [beta r / 2 - log Phi(beta)], beta = (g* - m_g) / sqrt(v_g), r = phi / Phi."""
        moments = self.posterior.moments(x)
        beta = (self.g_star[:, None] - moments.m_g) / moments.v_g.sqrt()
        r = standard_truncation(beta).r
        return (beta * r / 2 - torch.special.log_ndtr(beta)).mean(0)


def prepare_mes(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: NESOptions,
) -> MES:
    """The same samples of g* as in NES: BoTorch's MES would seek maxima on a set of candidates."""
    maxima = sample_maxima(posterior, bounds, generator, options)
    g_star = percentile_values(maxima.value, options.num_max_values)
    return MES(
        posterior,
        g_star,
        maxima.x,
        MESInfo(g_star, maxima, posterior.jitter, posterior.clamped.lowest),
    )
