"""One cause that moves several parameters together: a temperature, a worn jig."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.arguments import Numbers, read_numbers
from meseta.noise.law import NoiseLaw, OneDimensional, symmetric_root, unscented
from meseta.noise.mixture import read_one_dimensional
from meseta.noise.normal import Normal
from meseta.noise.scipy_law import LawLike


@dataclass(frozen=True, init=False)
class Shared:
    """xi_i = loads[i] s with one s ~ law for all parameters.

    Without loads all parameters move by s itself. A load is how much its parameter moves for
    one unit of s: Shared(Normal(2.0), loads=[0.1, -0.3]) may be the expansion of two parts by
    a temperature that varies by 2 degrees.
    """

    law: OneDimensional
    loads: tuple[float, ...] | None

    def __init__(self, law: LawLike, loads: Numbers | None = None) -> None:
        object.__setattr__(self, "law", read_one_dimensional("the law of Shared", law))
        read = None if loads is None else read_numbers("the loads of Shared", loads)
        object.__setattr__(self, "loads", read)

    def __repr__(self) -> str:
        return f"Shared({self.law}{'' if self.loads is None else f', loads={self.loads}'})"

    @property
    def _loads(self) -> Float[Tensor, " d"]:
        return torch.tensor(self.loads or (1.0,), dtype=torch.double)

    @property
    def independent(self) -> bool:
        return int(self._loads.count_nonzero()) <= 1

    @property
    def marginals(self) -> tuple[NoiseLaw, ...]:
        return tuple(
            self.law.scaled(load) if bool(load) else Normal(0.0) for load in self._loads.split(1)
        )

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return self.law.mean * self._loads

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return self.law.covariance_matrix * torch.outer(self._loads, self._loads)

    def in_dimension(self, dimension: int) -> "Shared":
        loads = (1.0,) * dimension if self.loads is None else self.loads
        if len(loads) != dimension:
            raise ValueError(
                f"Shared has {len(loads)} loads but x has {dimension} parameters; "
                "give exactly one per parameter, 0 for one that does not move"
            )
        return Shared(self.law, loads)

    def scaled(self, scale: Float[Tensor, " d"]) -> "Shared":
        return Shared(self.law, self._loads * scale)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        return self.law.sample(num, generator) * self._loads

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """The characteristic function of s at omega' loads."""
        return self.law.characteristic((omega @ self._loads)[:, None])

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, symmetric_root(self.covariance_matrix), kappa)
