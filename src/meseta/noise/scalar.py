"""What laws of one number share: the rest of the protocol follows from a few methods."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.law import NoiseLaw, no_atoms, unscented


class ScalarLaw(ABC):
    """A law of one number; for several parameters it holds for each, independently."""

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """Mean and variance."""

    @abstractmethod
    def scaled(self, scale: Float[Tensor, " d"]) -> "ScalarLaw": ...

    @abstractmethod
    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]: ...

    @abstractmethod
    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]: ...

    @abstractmethod
    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]: ...

    @abstractmethod
    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]: ...

    @property
    @abstractmethod
    def breaks(self) -> tuple[float, ...]: ...

    @abstractmethod
    def interval(self, tail: float) -> tuple[float, float]: ...

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        return no_atoms()

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple["ScalarLaw", ...]:
        return (self,)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.tensor([self.moments[0]], dtype=torch.double)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.tensor([[self.moments[1]]], dtype=torch.double)

    def in_dimension(self, dimension: int) -> NoiseLaw:
        from meseta.noise.independent import Independent  # which knows these laws

        return self if dimension == 1 else Independent([self] * dimension)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)
