"""Variances that came out negative: raised to a floor, and told about."""

import warnings
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

# Posterior variances come from a difference that is exact to about 1e-16 of the prior variance
# times the size of the problem: below this share of the prior there is only rounding.
FLOOR = 1e-14
# A variance that lies further below 0, as a share of the prior variance, is no rounding: the
# covariances of f and g do not belong together. Rounding stays below 1e-12.
TOLERANCE = 1e-9
# Kernels are exact to 1e-12 of the prior variance of f, also where that of g is much smaller.
LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Clamped:
    """What was raised by more than rounding, by name, and its lowest share of the prior variance.

    It fills while a posterior is used, and warns once for each name. `prior_variance` is that of f.
    """

    prior_variance: Float[Tensor, ""]
    error: float = 0.0  # of the covariances, which is told about by itself
    lowest: dict[str, float] = field(default_factory=dict)

    def sound(
        self, name: str, variance: Float[Tensor, "*m"], prior: Float[Tensor, "*#m"]
    ) -> Float[Tensor, "*m"]:
        """The variance, at least FLOOR of the prior one."""
        self.note(name, variance, prior)
        return variance.clamp_min(FLOOR * prior)

    @torch.no_grad()
    def note(self, name: str, variance: Float[Tensor, "*m"], prior: Float[Tensor, "*#m"]) -> None:
        """Record and warn if a variance is negative by more than rounding."""
        if not variance.numel():
            return
        share = float((variance / prior.clamp_min(LEAST_SHARE * self.prior_variance)).min())
        if share >= -TOLERANCE - self.error / LEAST_SHARE:
            return
        if name not in self.lowest:
            warnings.warn(
                f"{name} came out negative, {share:.1g} of its prior variance, and was raised to "
                "0: the intervals there are not to be relied on. Raise the observation noise of "
                "the model, or remove points that nearly coincide",
                RuntimeWarning,
                stacklevel=3,
            )
        self.lowest[name] = min(share, self.lowest.get(name, 0.0))
