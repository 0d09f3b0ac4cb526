"""The noise of one parameter that has several causes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.law import NoiseLaw, unscented


@dataclass(frozen=True, init=False)
class Sum:
    """xi = sum of independent numbers, one from each law.

    Its density is not known: it has a characteristic function and samples.
    """

    laws: tuple[NoiseLaw, ...]

    def __init__(self, laws: Sequence[NoiseLaw]) -> None:
        object.__setattr__(self, "laws", tuple(laws))

    def __repr__(self) -> str:
        return f"Sum({self.laws})"

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple["Sum", ...]:
        return (self,)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.stack([law.mean for law in self.laws]).sum(0)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.stack([law.covariance_matrix for law in self.laws]).sum(0)

    def in_dimension(self, dimension: int) -> NoiseLaw:
        from meseta.noise.independent import Independent  # which knows all laws

        return self if dimension == 1 else Independent([self] * dimension)

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Sum":
        return Sum([law.scaled(scale) for law in self.laws])

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        return torch.stack([law.sample(num, generator) for law in self.laws]).sum(0)

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        """The product of all characteristic functions."""
        return torch.stack([law.characteristic(omega) for law in self.laws]).prod(0)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points 1"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)
