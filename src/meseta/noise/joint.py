"""The noise of all parameters: the own law of each, and the laws that several share."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.independent import independent
from meseta.noise.law import NoiseLaw, depends_on_x, symmetric_root, unscented
from meseta.noise.normal import Normal
from meseta.noise.scipy_law import LawLike, read_law
from meseta.noise.sums import Sum

Part = tuple[tuple[int, ...], NoiseLaw]


@dataclass(frozen=True, init=False)
class Joint:
    """xi = own noise of each parameter + the parts, all independent of each other.

    A part is the law of the parameters at `dims`; no parameter is in two of them. Where a
    parameter has noise of its own and is in a part as well, both contributions add up.
    """

    own: NoiseLaw
    parts: tuple[Part, ...]

    def __init__(self, own: LawLike, parts: Sequence[tuple[Sequence[int], LawLike]]) -> None:
        alone = read_law("the own noise of Joint", own)
        if not alone.independent:
            raise ValueError(
                f"the own noise of the parameters must be independent, got {alone!r}; "
                "give what they share as a part"
            )
        object.__setattr__(self, "own", alone)
        object.__setattr__(self, "parts", _read_parts(parts, len(alone.mean)))

    def __repr__(self) -> str:
        return f"Joint({self.own}, {self.parts})"

    @property
    def independent(self) -> bool:
        return all(law.independent for _, law in self.parts)

    @property
    def marginals(self) -> tuple[NoiseLaw, ...]:
        """The law of each coordinate: of a sum, where it has noise of its own and of a part."""
        laws = list(self.own.marginals)
        for dims, law in self.parts:
            for i, marginal in zip(dims, law.marginals, strict=True):
                laws[i] = marginal if _still(laws[i]) else Sum([laws[i], marginal])
        return tuple(laws)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        total = self.own.mean.clone()
        for dims, law in self.parts:
            total[list(dims)] += law.mean
        return total

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        total = self.own.covariance_matrix.clone()
        for dims, law in self.parts:
            index = torch.tensor(dims)
            total[index[:, None], index] += law.covariance_matrix
        return total

    def in_dimension(self, dimension: int) -> "Joint":
        if len(self.own.mean) != dimension:
            raise ValueError(
                f"Joint is the law of {len(self.own.mean)} parameters but x has {dimension}; "
                "give the own noise of every parameter, Normal(0) for one without"
            )
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Joint":
        parts = [(dims, law.scaled(scale[list(dims)])) for dims, law in self.parts]
        return Joint(self.own.scaled(scale), parts)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        total = self.own.sample(num, generator)
        for dims, law in self.parts:
            total[:, list(dims)] += law.sample(num, generator)
        return total

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """The product of all characteristic functions."""
        values = self.own.characteristic(omega)
        for dims, law in self.parts:
            values = values * law.characteristic(omega[:, list(dims)])
        return values

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, symmetric_root(self.covariance_matrix), kappa)


def joint(laws: Sequence[NoiseLaw], parts: Sequence[Part]) -> NoiseLaw:
    """The simplest law with these own laws and parts; dims within a part in any order."""
    own = [marginal for law in laws for marginal in law.marginals]
    shared = []
    for dims, law in parts:
        if law.independent and all(_still(own[i]) for i in dims):
            for i, marginal in zip(dims, law.marginals, strict=True):
                own[i] = marginal
        else:
            shared.append((dims, law))
    alone = independent(own)
    if not shared:
        return alone
    dims, law = shared[0]
    if len(dims) == len(own):
        if isinstance(law, Normal) and isinstance(alone, Normal) and not depends_on_x(law):
            whole = Joint(alone, shared)
            return Normal(covariance=whole.covariance_matrix, mean=whole.mean)
        if list(dims) == sorted(dims) and all(_still(marginal) for marginal in own):
            return law
    return Joint(alone, shared)


def own_and_shared(
    law: NoiseLaw, d: int
) -> tuple[tuple[NoiseLaw, ...], list[tuple[list[int], NoiseLaw]]]:
    """The independent law of each dimension, and what moves several dimensions together."""
    if law.independent:
        return law.marginals, []
    if isinstance(law, Joint):
        return law.own.marginals, [(list(dims), part) for dims, part in law.parts]
    return (Normal(0.0),) * d, [(list(range(d)), law)]


def _still(law: NoiseLaw) -> bool:
    return not (depends_on_x(law) or bool(law.mean.any()) or bool(law.covariance_matrix.any()))


def _read_parts(parts: Sequence[tuple[Sequence[int], LawLike]], dimension: int) -> tuple[Part, ...]:
    read = tuple(
        (tuple(dims), read_law("a part of Joint", law).in_dimension(len(dims)))
        for dims, law in parts
    )
    seen = [i for dims, _ in read for i in dims]
    if len(set(seen)) < len(seen) or not set(seen) <= set(range(dimension)):
        raise ValueError(
            f"the parts of Joint must name different parameters from 0 to {dimension - 1}, "
            f"each at most once, got {[dims for dims, _ in read]}"
        )
    return read
