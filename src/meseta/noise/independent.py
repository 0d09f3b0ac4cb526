"""Independent noise: each parameter has its own law."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.law import NoiseLaw, depends_on_x, unscented
from meseta.noise.normal import Normal
from meseta.noise.scipy_law import LawLike, as_law
from meseta.noise.uniform import Uniform


@dataclass(frozen=True, init=False)
class Independent:
    """xi_i ~ laws[i], independent; each in the units of its parameter.

    Normal(0) or Uniform(0) stands for a parameter without noise. A frozen distribution of
    scipy.stats is a law, too.
    """

    laws: tuple[NoiseLaw, ...]

    def __init__(self, laws: Sequence[LawLike]) -> None:
        object.__setattr__(self, "laws", read_laws(laws))

    def __repr__(self) -> str:
        return f"Independent({self.laws})"

    @property
    def independent(self) -> bool:
        return True

    @property
    def marginals(self) -> tuple[NoiseLaw, ...]:
        return tuple(law.marginals[0] for law in self.laws)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.cat([law.mean for law in self.laws])

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.block_diag(*[law.covariance_matrix for law in self.laws])

    def in_dimension(self, dimension: int) -> "Independent":
        if len(self.laws) != dimension:
            raise ValueError(
                f"Independent has {len(self.laws)} laws but x has {dimension} parameters; "
                "give exactly one per parameter, Normal(0) for one without noise"
            )
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Independent":
        return Independent(
            [law.scaled(part) for law, part in zip(self.laws, scale.split(1), strict=True)]
        )

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        return torch.cat([law.sample(num, generator) for law in self.laws], dim=1)

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """prod_i E exp(i omega_i xi_i)."""
        columns = zip(self.laws, omega.split(1, dim=1), strict=True)
        return torch.stack([law.characteristic(column) for law, column in columns]).prod(0)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix.sqrt(), kappa)


def independent(laws: Sequence[LawLike]) -> NoiseLaw:
    """The law with these independent coordinates: Normal or Uniform where all of them are.

    A parameter without noise, or with a constant bias only, goes with either.
    """
    composed = Independent(laws)
    plain = [
        law
        for law in composed.marginals
        if isinstance(law, Normal | Uniform) and not depends_on_x(law)
    ]
    families = {type(law) for law in plain if _width(law) > 0}
    if len(plain) < len(composed.laws) or len(families) > 1:
        return composed
    family = families.pop() if families else Normal
    return family([_width(law) for law in plain], composed.mean)


def _width(law: Normal | Uniform) -> float:
    return float(law.standard_deviation if isinstance(law, Normal) else law.half_widths)


def read_laws(laws: object) -> tuple[NoiseLaw, ...]:
    """One-dimensional laws as a tuple, refusing what is none."""
    if not isinstance(laws, Sequence) or not laws:
        raise TypeError(
            f"Independent takes a list with one noise law per parameter, got {laws!r}; "
            "for example Independent([Normal(0.1), Uniform(0.2)])"
        )
    read = [as_law(law) for law in laws]
    members = []
    for i, law in enumerate(read):
        if not isinstance(law, NoiseLaw) or isinstance(law, type):
            raise TypeError(
                "each member of Independent must be a noise law such as Normal(0.1), "
                f"but member {i} is {law!r}; give Normal(0) for a parameter without noise"
            )
        if len(law.mean) != 1:
            raise ValueError(
                f"each member of Independent must be one-dimensional, but member {i} is {law!r} "
                f"in {len(law.mean)} dimensions; give one law per parameter, or "
                "Normal(covariance=...) for all of them if they are correlated"
            )
        members.append(law)
    return tuple(members)
