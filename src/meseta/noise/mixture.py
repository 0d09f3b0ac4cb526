"""Now one law, now another: two suppliers, a rare fault."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.arguments import Numbers, read_weights
from meseta.noise.discrete import merged
from meseta.noise.law import OneDimensional, depends_on_x
from meseta.noise.scalar import ScalarLaw
from meseta.noise.scipy_law import LawLike, read_law


@dataclass(frozen=True, init=False)
class Mixture(ScalarLaw):
    """xi ~ laws[i] with probability weights[i]; all the same without weights.

    Mixture([Normal(0.1), Normal(1.0)], weights=[0.95, 0.05]) is noise with one outlier in twenty.
    Integrals over its density are best taken over that of each member: a narrow one is lost beside
    a wide one.
    """

    laws: tuple[OneDimensional, ...]
    weights: tuple[float, ...]

    def __init__(self, laws: Sequence[LawLike], weights: Numbers | None = None) -> None:
        members = read_members(laws)
        object.__setattr__(self, "laws", members)
        shares = read_weights("the weights of Mixture", weights, len(members))
        object.__setattr__(self, "weights", shares)

    def __repr__(self) -> str:
        return f"Mixture({self.laws}, weights={self.weights})"

    @property
    def _shares(self) -> Float[Tensor, " k"]:
        return torch.tensor(self.weights, dtype=torch.double)

    @property
    def moments(self) -> tuple[float, float]:
        means = torch.cat([law.mean for law in self.laws])
        variances = torch.cat([law.covariance_matrix[0] for law in self.laws])
        mean = self._shares @ means
        return float(mean), float(self._shares @ (variances + (means - mean) ** 2))

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        values, weights = zip(*[law.atoms for law in self.laws], strict=True)
        shared = [share * weight for share, weight in zip(self.weights, weights, strict=True)]
        return merged(torch.cat(values), torch.cat(shared))

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({place for law in self.laws for place in law.breaks}))

    def interval(self, tail: float) -> tuple[float, float]:
        lows, highs = zip(*[law.interval(tail) for law in self.laws], strict=True)
        return min(lows), max(highs)

    def scaled(self, scale: Float[Tensor, " 1"]) -> "Mixture":
        return Mixture([law.scaled(scale) for law in self.laws], self.weights)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num 1"]:
        choice = torch.multinomial(self._shares, num, replacement=True, generator=generator)
        draws = torch.cat([law.sample(num, generator) for law in self.laws], dim=1)
        return draws.gather(1, choice[:, None])

    def characteristic(self, omega: Float[Tensor, "m 1"]) -> Complex[Tensor, " m"]:
        values = torch.stack([law.characteristic(omega) for law in self.laws])
        return self._shares.to(values.dtype) @ values

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return sum(
            (share * law.pdf(xi) for share, law in zip(self.weights, self.laws, strict=True)),
            torch.zeros_like(xi),
        )

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return sum(
            (share * law.cdf(xi) for share, law in zip(self.weights, self.laws, strict=True)),
            torch.zeros_like(xi),
        )


def read_members(laws: object) -> tuple[OneDimensional, ...]:
    """Laws of one number as a tuple, refusing what is none."""
    if not isinstance(laws, Sequence) or not laws:
        raise TypeError(
            f"Mixture takes a list of noise laws, got {laws!r}; "
            "for example Mixture([Normal(0.1), Normal(1.0)], weights=[0.95, 0.05])"
        )
    return tuple(read_one_dimensional(f"member {i} of Mixture", law) for i, law in enumerate(laws))


def read_one_dimensional(what: str, law: LawLike) -> OneDimensional:
    """The law of one number, with a density or atoms, that does not depend on x."""
    read = read_law(what, law)
    if len(read.mean) != 1:
        raise ValueError(
            f"{what} must be one-dimensional, but {read!r} has {len(read.mean)} dimensions; "
            "give the law of one number"
        )
    if depends_on_x(read):
        raise ValueError(
            f"{what} must not depend on x, but {read!r} does; "
            "give its width in the units of the parameter"
        )
    marginal = read.marginals[0]
    if not isinstance(marginal, OneDimensional):
        raise TypeError(
            f"{what} must have a density or atoms (pdf, cdf, atoms, breaks, interval), but "
            f"{read!r} has not; give Empirical(samples) of it"
        )
    return marginal
