"""NES-RS: Noisy-Input Entropy Search by rejection sampling (paper, Sec. 3.2.1)."""

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from meseta.acquisition.nes import NESOptions
from meseta.gp.joint import JointPosterior
from meseta.gp.maxima import Maxima, maxima_below, percentile_values, sample_maxima
from meseta.gp.paths import SamplePaths, sample_paths
from meseta.gp.surrogate import Units
from meseta.inference.density import kde_entropy, normal_reference_bandwidth
from meseta.space.domain import Box

# Paths are drawn until enough are accepted, but at most this many times the number wanted.
MOST_PATHS = 16


@dataclass(frozen=True)
class RejectionOptions(NESOptions):
    """Settings of NES-RS."""

    num_accepted: int = 1000  # L

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_accepted < 2:
            raise ValueError(
                f"num_accepted must be at least 2, got {self.num_accepted}: the entropy is "
                "estimated from this number of samples (paper: 1000)"
            )


class RejectionInfo(NamedTuple):
    """What stands behind an acquisition function."""

    max_values: Float[Tensor, " k"]
    maxima: Maxima  # of the sampled paths, in the model's units
    drawn: int  # paths
    accepted: tuple[int, ...]  # of them, for each g*
    unconditioned: int  # values of g* for which too few were accepted, and all paths stand
    jitter: float  # added to the diagonal of the data's covariance
    clamped: dict[str, float]  # variances that were negative by more than rounding, so far

    def raw(self, units: Units) -> "RejectionInfo":
        return self._replace(max_values=units.y_to_raw(self.max_values))


@dataclass(frozen=True, eq=False)
class RejectionSampling:
    """NES-RS in the units of the model.

    alpha(x) = H[y(x) | D] - mean_k H[y(x) | D, g*_k], both entropies from samples f~(x) + eps:
    the first over paths as they come, the second over those whose g~ stays below g*_k. Many paths
    count in both, so that much of the sampling error cancels.
    """

    posterior: JointPosterior
    paths: SamplePaths
    eps: Float[Tensor, " paths"]  # in standard deviations of an observation
    as_they_come: Int[Tensor, " l"]
    accepted: tuple[Int[Tensor, " l"], ...]
    starts: Float[Tensor, "s d"]
    info: RejectionInfo

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        y = self.paths.f(x).mT + self.posterior.observation_variance(x).sqrt()[:, None] * self.eps
        # one bandwidth for all, so that the bias of the estimates cancels
        bandwidth = normal_reference_bandwidth(min(len(chosen) for chosen in self.accepted))
        after = [kde_entropy(y[:, chosen], bandwidth) for chosen in self.accepted]
        return kde_entropy(y[:, self.as_they_come], bandwidth) - torch.stack(after).mean(0)


def prepare_rejection(
    posterior: JointPosterior,
    bounds: Box,
    generator: torch.Generator,
    options: RejectionOptions,
) -> RejectionSampling:
    """Draw paths until L of them stay below each g*."""
    maxima = sample_maxima(posterior, bounds, generator, options)
    g_star = percentile_values(maxima.value, options.num_max_values)
    wanted = options.num_accepted
    # the share of maxima below the lowest g*, and some more for safety
    share = float((maxima.value <= g_star.min()).double().mean())
    drawn = min(math.ceil(1.25 * wanted / share), MOST_PATHS * wanted)
    while True:
        paths = sample_paths(posterior, drawn, options.num_features, generator, options.sampler)
        below = maxima_below(paths, g_star, bounds, generator)
        if below.sum(-1).min() >= wanted or drawn >= MOST_PATHS * wanted:
            break
        drawn = min(2 * drawn, MOST_PATHS * wanted)
    too_few = below.sum(-1) < 2
    unconditioned = int(too_few.sum())
    if unconditioned:
        below = below | too_few[:, None]
        warnings.warn(
            f"of {drawn} paths fewer than two stay below the sampled maximum g*, for "
            f"{unconditioned} of {len(g_star)} values of it, which therefore tell nothing about "
            "the next point; raise num_accepted, or take the method nes-ep",
            RuntimeWarning,
            stacklevel=2,
        )
    chosen = [torch.arange(min(wanted, drawn)), *(_first(row, wanted) for row in below)]
    used, places = torch.cat(chosen).unique(return_inverse=True)
    as_they_come, *accepted = places.split([len(part) for part in chosen])
    eps = torch.randn(len(used), generator=generator, dtype=torch.double)
    return RejectionSampling(
        posterior=posterior,
        paths=paths.subset(used),
        eps=eps,
        as_they_come=as_they_come,
        accepted=tuple(accepted),
        starts=maxima.x,
        info=RejectionInfo(
            g_star,
            maxima,
            drawn,
            tuple(map(len, accepted)),
            unconditioned,
            posterior.jitter,
            posterior.clamped.lowest,
        ),
    )


def _first(kept: Bool[Tensor, " paths"], num: int) -> Int[Tensor, " l"]:
    return kept.nonzero().flatten()[:num]
