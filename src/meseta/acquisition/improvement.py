"""BoTorch's expected improvement and upper confidence bound, looking at g or at f."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound
from gpytorch.settings import min_variance
from jaxtyping import Float
from torch import Tensor

from meseta.gp.botorch_model import RobustModel
from meseta.gp.clamped import FLOOR
from meseta.gp.incumbent import Incumbent, maximize_mean
from meseta.gp.joint import JointPosterior
from meseta.gp.robust import RobustPosterior
from meseta.gp.surrogate import Units
from meseta.kernels import smooth
from meseta.noise import Normal
from meseta.space.domain import Box

# Starting points around the incumbent: so many, at distances from a lengthscale to a thousandth.
CLOUD = 32
MOST_DEVIATIONS = 1e6  # beyond, the bound is the standard deviation and nothing else


@dataclass(frozen=True)
class EIOptions:
    """Expected improvement has no settings: its incumbent is the maximum of the mean."""


@dataclass(frozen=True)
class UCBOptions:
    """Settings of the upper confidence bound."""

    num_deviations: float = 2.0  # mean + so many standard deviations

    def __post_init__(self) -> None:
        if not 0 <= self.num_deviations <= MOST_DEVIATIONS:
            raise ValueError(
                f"num_deviations must lie between 0 and {MOST_DEVIATIONS:g}, got "
                f"{self.num_deviations}: "
                "the bound is the mean plus so many standard deviations"
            )


class IncumbentInfo(NamedTuple):
    """The highest mean, which an observation is to improve upon."""

    incumbent: Incumbent
    jitter: float  # added to the diagonal of the data's covariance
    clamped: dict[str, float]  # variances that were negative by more than rounding, so far

    def raw(self, units: Units) -> "IncumbentInfo":
        return self._replace(incumbent=self.incumbent.raw(units))


@dataclass(frozen=True, eq=False)
class Improvement:
    """A BoTorch acquisition function in the units of the model."""

    acquisition: AcquisitionFunction
    starts: Float[Tensor, "s d"]
    info: IncumbentInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        # GPyTorch would raise variances below 1e-10, and call them negative
        with min_variance(double_value=FLOOR):
            return self.acquisition(x[:, None, :])


def prepare_ei(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: EIOptions,
) -> Improvement:
    """log EI over the highest mean of g, as if g were observed without noise."""
    incumbent = maximize_mean(posterior, posterior.mean_g, bounds, generator)
    acquisition = LogExpectedImprovement(view(posterior), best_f=incumbent.value)
    return _improvement(posterior, acquisition, incumbent, generator)


def prepare_ei_of_f(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: EIOptions,
) -> Improvement:
    """log EI over the highest mean of f: standard Bayesian optimization."""
    return prepare_ei(without_noise(posterior), bounds, generator, options)


def prepare_ucb(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: UCBOptions,
) -> Improvement:
    """m_g + 2 sqrt(v_g)."""
    incumbent = maximize_mean(posterior, posterior.mean_g, bounds, generator)
    acquisition = UpperConfidenceBound(view(posterior), beta=options.num_deviations**2)
    return _improvement(posterior, acquisition, incumbent, generator)


def _improvement(
    posterior: JointPosterior,
    acquisition: AcquisitionFunction,
    incumbent: Incumbent,
    generator: torch.Generator,
) -> Improvement:
    info = IncumbentInfo(incumbent, posterior.jitter, posterior.clamped.lowest)
    return Improvement(acquisition, around(incumbent.x, posterior, generator), info)


def view(posterior: JointPosterior) -> RobustModel:
    """g as a BoTorch model in the units of the posterior: BoTorch clamps variances at 1e-12."""
    d = posterior.X.shape[1]
    zero, one = torch.zeros((), dtype=torch.double), torch.ones((), dtype=torch.double)
    return RobustModel(RobustPosterior(posterior, Units(zero.expand(d), one.expand(d), zero, one)))


def without_noise(posterior: JointPosterior) -> JointPosterior:
    """The same posterior with xi = 0, so that g is f."""
    return replace(posterior, kernel=smooth(posterior.kernel.kernel, Normal(0.0)))


def around(
    x: Float[Tensor, " d"], posterior: JointPosterior, generator: torch.Generator
) -> Float[Tensor, "s d"]:
    """x and a cloud around it, at all distances from a lengthscale to a thousandth of it."""
    radius = 10 ** (-3 * torch.rand(CLOUD, 1, generator=generator, dtype=torch.double))
    steps = torch.randn(CLOUD, len(x), generator=generator, dtype=torch.double)
    return torch.cat([x[None], x + radius * posterior.kernel.kernel.lengthscale * steps])
