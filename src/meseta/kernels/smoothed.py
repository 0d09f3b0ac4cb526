"""k_f, k_gf and k_g of one kernel under one law of the input noise."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels import matern, squared_exponential
from meseta.kernels.quadrature import IndependentNodes, JointNodes
from meseta.kernels.stationary import Factor, Factors, Shape, StationaryKernel, product
from meseta.noise import NoiseLaw, Normal, Uniform

# Gauss nodes per dimension of the quadrature route, at least and at most; joint nodes.
NODES, MOST_NODES = 24, 256
JOINT_NODES = 64

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class SmoothedKernel:
    """Covariances of f and g: index order is argument order, k_gf(A, B) has g at A and f at B."""

    kernel: StationaryKernel
    law: NoiseLaw
    factors: Factors

    def k_f(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._product(_differences(A, B), lambda factor, delta: factor.f(delta))

    def k_gf(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._product(_differences(A, B), lambda factor, delta: factor.gf(delta))

    def k_g(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        return self._product(_differences(A, B), lambda factor, delta: factor.g(delta))

    @cached_property
    def at_same_point(self) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, ""]]:
        """k_f(x, x), k_gf(x, x) and k_g(x, x): the same for every x."""
        zero = torch.zeros_like(self.kernel.lengthscale)
        return (
            self._product(zero, lambda factor, delta: factor.f(delta)),
            self._product(zero, lambda factor, delta: factor.gf(delta)),
            self._product(zero, lambda factor, delta: factor.g(delta)),
        )

    def _product(self, delta: Tensor, part: Callable[[Factor, Tensor], Tensor]) -> Tensor:
        return self.kernel.variance * product(self.factors, delta, part)


def smooth(kernel: StationaryKernel, law: NoiseLaw) -> SmoothedKernel:
    """The smoothings of `kernel` under `law`, in closed form where there is one."""
    law = law.in_dimension(len(kernel.lengthscale))
    if law.independent:
        return SmoothedKernel(kernel, law, _independent_factors(kernel, law))
    everything = list(range(len(kernel.lengthscale)))
    joint: Factor
    if not isinstance(law, Normal):
        still = Normal([0.0] * len(everything))
        joint = JointNodes(_independent_factors(kernel, still), *law.nodes(JOINT_NODES))
    elif set(kernel.shapes) == {"se"} and not law.mean.any():
        joint = squared_exponential.CorrelatedNormalNoise(kernel.lengthscale, law.covariance_matrix)
    else:
        independent, nodes, weights = law.split()
        joint = JointNodes(_independent_factors(kernel, independent), nodes, weights)
    return SmoothedKernel(kernel, law, ((everything, joint),))


def _independent_factors(kernel: StationaryKernel, law: NoiseLaw) -> Factors:
    """Dimensions with the same formula share a factor, so that it is evaluated once for all."""
    marginals = law.marginals
    width = torch.cat([_width(marginal) for marginal in marginals])
    ratio = (width / kernel.lengthscale).tolist()
    still = ((law.mean == 0) & (law.covariance_matrix.diagonal() == 0)).tolist()
    formulas = [
        "still" if still[i] else _formula(shape, marginals[i], ratio[i])
        for i, shape in enumerate(kernel.shapes)
    ]
    # the nodes of one dimension are not those of another
    keys = [
        (formula, shape, i if formula == "nodes" else None)
        for i, (formula, shape) in enumerate(zip(formulas, kernel.shapes, strict=True))
    ]
    factors: list[tuple[list[int], Factor]] = []
    for (formula, shape, i), dims in _dims_by(keys).items():
        lengthscale = kernel.lengthscale[dims]
        if formula == "still":
            factor = _unperturbed(shape, lengthscale)
        elif i is not None:
            nodes, weights = marginals[i].nodes(_num_nodes(ratio[i]))
            factor = IndependentNodes(_unperturbed(shape, lengthscale), nodes, weights)
        elif shape == "se":
            factor = _SE_FORMULAS[formula](lengthscale, width[dims])
        else:
            factor = _MATERN_FORMULAS[formula](shape, lengthscale, width[dims])
        factors.append((dims, factor))
    return tuple(factors)


_SE_FORMULAS: dict[str, Callable[[Tensor, Tensor], Factor]] = {
    "normal": squared_exponential.NormalNoise,
    "uniform": squared_exponential.UniformNoise,
    "narrow uniform": squared_exponential.NarrowUniformNoise,
}
_MATERN_FORMULAS: dict[str, Callable[[Shape, Tensor, Tensor], Factor]] = {
    "normal": matern.NormalNoise,
    "wide normal": matern.WideNormalNoise,
    "uniform": matern.UniformNoise,
}


def _formula(shape: Shape, law: NoiseLaw, width_in_lengthscales: float) -> str:
    """The closed form of one dimension, or "nodes" where there is none."""
    if law.mean.any():
        return "nodes"  # the closed forms are those of noise around 0
    if isinstance(law, Normal):
        if shape == "se":
            return "normal"
        width = width_in_lengthscales * (2 * matern.SMOOTHNESS[shape]) ** 0.5
        return "wide normal" if width > matern.WIDE else "normal"
    if isinstance(law, Uniform):
        narrow = shape == "se" and width_in_lengthscales < squared_exponential.NARROW
        return "narrow uniform" if narrow else "uniform"
    return "nodes"


def _num_nodes(width_in_lengthscales: float) -> int:
    """Enough to place a node in every fraction of a lengthscale where the noise may go."""
    return min(MOST_NODES, max(NODES, math.ceil(12 * width_in_lengthscales)))


def _width(law: NoiseLaw) -> Float[Tensor, " 1"]:
    """The number that the closed forms of this law of one dimension take."""
    if isinstance(law, Uniform):
        return law.half_widths
    if isinstance(law, Normal):
        return law.standard_deviation
    return law.covariance_matrix.diagonal().sqrt()


def _unperturbed(shape: Shape, lengthscale: Tensor) -> Factor:
    if shape == "se":
        return squared_exponential.Unperturbed(lengthscale)
    return matern.Unperturbed(shape, lengthscale)


def _dims_by(keys: Sequence[Key]) -> dict[Key, list[int]]:
    groups: dict[Key, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        groups[key].append(i)
    return groups


def _differences(A: Tensor, B: Tensor) -> Tensor:
    return A.unsqueeze(-2) - B.unsqueeze(-3)
