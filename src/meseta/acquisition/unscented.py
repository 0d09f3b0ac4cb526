"""Unscented Bayesian optimization [Nogueira et al. 2016]: averages over sigma points."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.improvement import (
    EIOptions,
    Improvement,
    IncumbentInfo,
    around,
    prepare_ei_of_f,
)
from meseta.gp.incumbent import maximize_mean
from meseta.gp.joint import JointPosterior
from meseta.gp.mixture import Mean
from meseta.kernels import SmoothedKernel
from meseta.space.domain import Box


@dataclass(frozen=True)
class UnscentedOptions:
    """Settings of the unscented transformation."""

    kappa: float = 1.0  # the paper found 1 best

    def __post_init__(self) -> None:
        if not 0 <= self.kappa < math.inf:
            raise ValueError(
                f"kappa must be 0 or greater, got {self.kappa}: a negative weight of the centre "
                "would make the average of an improvement negative"
            )


@dataclass(frozen=True, eq=False)
class UnscentedImprovement:
    """log sum_i w_i EI(x + xi_i) in the units of the model."""

    of_f: Improvement
    kernel: SmoothedKernel
    kappa: float
    starts: Float[Tensor, "s d"]
    info: IncumbentInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        nearby, weights = self.kernel.sigma_points(x, self.kappa)
        values = self.of_f.value(nearby.reshape(-1, x.shape[-1])).view(nearby.shape[:-1])
        return (values + weights.log()).logsumexp(-1)


def unscented_mean(posterior: JointPosterior, kappa: float) -> Mean:
    """sum_i w_i m_f(x + xi_i), where the method believes the mean of g to be."""

    def mean(x: Tensor) -> Tensor:
        nearby, weights = posterior.kernel.sigma_points(x, kappa)
        return posterior.mean_f(nearby.reshape(-1, x.shape[-1])).view(len(x), -1) @ weights

    return mean


def prepare_unscented_ei(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: UnscentedOptions,
) -> UnscentedImprovement:
    """The unscented average of log EI of f; starting points lie around the method's belief."""
    of_f = prepare_ei_of_f(posterior, bounds, generator, EIOptions())
    believed = maximize_mean(posterior, unscented_mean(posterior, options.kappa), bounds, generator)
    starts = torch.cat([around(believed.x, posterior, generator), of_f.starts])
    return UnscentedImprovement(of_f, posterior.kernel, options.kappa, starts, of_f.info)
