"""Which smoothing goes with a kernel and a law: closed forms, quadrature, or a grid."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels import matern, squared_exponential
from meseta.kernels.grid import Grid, confused_grid, placed_grid
from meseta.kernels.quadrature import IndependentNodes, JointNodes
from meseta.kernels.separable import SeparableNodes
from meseta.kernels.smoothed import OnGrid, SmoothedKernel
from meseta.kernels.stationary import Factor, Factors, Shape, StationaryKernel
from meseta.noise import Confused, Independent, Joint, NoiseLaw, Normal, Placed, Uniform
from meseta.noise.joint import own_and_shared
from meseta.noise.law import OneDimensional

# Gauss nodes per dimension of the quadrature route, at least and at most; joint nodes.
NODES, MOST_NODES = 24, 256
JOINT_NODES = 64

Key = TypeVar("Key", bound=Hashable)


def smooth(
    kernel: StationaryKernel, law: NoiseLaw, span: Float[Tensor, "2 d"] | None = None
) -> SmoothedKernel:
    """The smoothings of `kernel` under `law`, in closed form where there is one.

    `span` holds all designs at which g is looked at (default: the unit cube and as much again on
    either side); only laws without a closed form need it.
    """
    d = len(kernel.lengthscale)
    law = law.in_dimension(d)
    span = torch.tensor([[-1.0], [2.0]], dtype=torch.double).expand(2, d) if span is None else span
    marginals, everything = own_and_shared(law, d)
    together = [(dims, part) for dims, part in everything if not isinstance(part, Confused)]
    marginals, parts = _absorbed(marginals, together)
    confused = [(dims, part) for dims, part in everything if isinstance(part, Confused)]
    joint = [i for dims, _ in parts for i in dims]
    formulas = [
        _formula(shape, marginal, length, joined=i in joint)
        for i, (shape, marginal, length) in enumerate(
            zip(kernel.shapes, marginals, kernel.lengthscale.tolist(), strict=True)
        )
    ]
    on_grid = [i for i in range(d) if formulas[i] == "grid"]
    elsewhere = {*on_grid, *joint, *(i for dims, _ in confused for i in dims)}
    alone = [i for i in range(d) if i not in elsewhere]
    bias = _bias(marginals, parts, formulas, d)
    factors = list(_factors(kernel, marginals, formulas, alone))
    separable = []
    for dims, part in parts:
        joined = _joined(kernel, marginals, formulas, dims, part)
        own = [marginals[i] for i in dims]
        if isinstance(joined, JointNodes) and _is_gaussian(kernel, dims, own):
            separable.append((dims, _separated(joined, kernel.lengthscale[dims], own, bias[dims])))
            bias[dims] = 0
        else:
            factors.append((dims, joined))
    grids = tuple(
        OnGrid(
            [i], _grid(kernel, marginals[i], i, span[:, i]), not isinstance(marginals[i], Placed)
        )
        for i in on_grid
    ) + tuple(OnGrid(dims, _confused(kernel, part, dims), False) for dims, part in confused)
    return SmoothedKernel(
        kernel=kernel,
        law=law,
        whole=_unmoved(kernel, list(range(d))) if grids or separable else tuple(factors),
        factors=tuple(factors),
        grids=grids,
        separable=tuple(separable),
        bias=bias if bias.any() else None,
    )


def _absorbed(
    marginals: tuple[NoiseLaw, ...], parts: list[tuple[list[int], NoiseLaw]]
) -> tuple[tuple[NoiseLaw, ...], list[tuple[list[int], NoiseLaw]]]:
    """Own laws that are not Normal become part of what moves several dimensions together.

    One set of nodes for the sum is much smaller than nodes for each and for what they share.
    """
    own, merged = list(marginals), []
    for dims, part in parts:
        alone = [own[i] for i in dims]
        if not all(isinstance(law, Normal) for law in alone):
            rest = [Normal(0.0) if isinstance(law, Normal) else law for law in alone]
            part = Joint(Independent(rest), [(range(len(dims)), part)])
            for i, law in zip(dims, alone, strict=True):
                own[i] = law if isinstance(law, Normal) else Normal(0.0)
        merged.append((dims, part))
    return tuple(own), merged


def _factors(
    kernel: StationaryKernel,
    marginals: Sequence[NoiseLaw],
    formulas: Sequence[str],
    dims: list[int],
) -> Factors:
    """Dimensions with the same formula share a factor, so that it is evaluated once for all."""
    # the nodes of one dimension are not those of another
    keys = [(formulas[i], kernel.shapes[i], i if formulas[i] == "nodes" else None) for i in dims]
    factors: list[tuple[list[int], Factor]] = []
    for (formula, shape, own), places in _dims_by(keys).items():
        group = [dims[place] for place in places]
        lengthscale = kernel.lengthscale[group]
        if formula == "still":
            factor = _unperturbed(shape, lengthscale)
        elif own is not None:
            nodes, weights = marginals[own].nodes(_num_nodes(marginals[own], float(lengthscale)))
            factor = IndependentNodes(_unperturbed(shape, lengthscale), nodes, weights)
        else:
            width = torch.cat([_width(marginals[i]) for i in group])
            if shape == "se":
                factor = _SE_FORMULAS[formula](lengthscale, width)
            else:
                factor = _MATERN_FORMULAS[formula](shape, lengthscale, width)
        factors.append((group, factor))
    return tuple(factors)


def _joined(
    kernel: StationaryKernel,
    marginals: Sequence[NoiseLaw],
    formulas: Sequence[str],
    dims: list[int],
    part: NoiseLaw,
) -> Factor:
    """Some dimensions that are moved together by `part`, and each by its own law besides."""
    shapes = tuple(kernel.shapes[i] for i in dims)
    inner = StationaryKernel(kernel.variance, shapes, kernel.lengthscale[dims])
    own = [marginals[i] for i in dims]
    if isinstance(part, Normal) and all(isinstance(law, Normal) for law in own):
        # a sum of Normal laws is Normal
        variances = torch.cat([law.covariance_matrix.diagonal() for law in own])
        part = Normal(covariance=part.covariance_matrix + torch.diag(variances))
        if set(shapes) == {"se"}:
            covariance = part.covariance_matrix
            return squared_exponential.CorrelatedNormalNoise(inner.lengthscale, covariance)
        independent, nodes, weights = part.split()
        own = list(independent.marginals)
        differences = None
        names = [
            _formula(s, m, float(l), joined=True)
            for s, m, l in zip(shapes, own, inner.lengthscale, strict=True)
        ]
    else:
        nodes, weights = part.nodes(JOINT_NODES)
        names = [formulas[i] for i in dims]
        rule = getattr(part, "difference_nodes", None)
        differences = None if rule is None else rule(JOINT_NODES)
    bases = _factors(inner, own, names, list(range(len(dims))))
    return JointNodes(bases, nodes, weights, differences)


def _is_gaussian(kernel: StationaryKernel, dims: list[int], own: Sequence[NoiseLaw]) -> bool:
    """Whether the smoothing by their own laws leaves squared exponentials."""
    return {kernel.shapes[i] for i in dims} == {"se"} and all(
        isinstance(law, Normal) for law in own
    )


def _separated(
    joined: JointNodes,
    lengthscale: Float[Tensor, " d"],
    own: Sequence[NoiseLaw],
    bias: Float[Tensor, " d"],
) -> SeparableNodes:
    variance = torch.cat([law.covariance_matrix.diagonal() for law in own])
    narrow, wide = ((lengthscale**2 + i * variance).sqrt() for i in (1, 2))
    return SeparableNodes(replace(joined, nodes=joined.nodes + bias), (narrow, wide))


def _grid(kernel: StationaryKernel, law: NoiseLaw, i: int, ends: Float[Tensor, " 2"]) -> Grid:
    low, high = ends.tolist()
    if isinstance(law, Placed):
        placed = law
    else:
        assert isinstance(law, OneDimensional)  # or its formula would be another
        placed = Placed(law, "shift", low, high)
    base = _unperturbed(kernel.shapes[i], kernel.lengthscale[[i]])
    smooth = kernel.shapes[i] == "se"
    return placed_grid(base, placed, (low, high), float(kernel.lengthscale[i]), smooth=smooth)


def _confused(kernel: StationaryKernel, law: Confused, dims: list[int]) -> Grid:
    inner = StationaryKernel(
        kernel.variance, tuple(kernel.shapes[i] for i in dims), kernel.lengthscale[dims]
    )
    still = torch.zeros(1, len(dims), dtype=torch.double), torch.ones(1, dtype=torch.double)
    base = JointNodes(_unmoved(inner, list(range(len(dims)))), *still)
    choices, matrix = (torch.tensor(a, dtype=torch.double) for a in (law.choices, law.matrix))
    return confused_grid(base, choices, matrix)


def _unmoved(kernel: StationaryKernel, dims: list[int]) -> Factors:
    """All of these dimensions without noise."""
    still = (Normal(0.0),) * len(kernel.shapes)
    return _factors(kernel, still, ["still"] * len(still), dims)


def _bias(
    marginals: Sequence[NoiseLaw],
    parts: list[tuple[list[int], NoiseLaw]],
    formulas: Sequence[str],
    d: int,
) -> Float[Tensor, " d"]:
    """E xi where the formula is that of a centred law; nodes and grids have it in them."""
    bias = torch.zeros(d, dtype=torch.double)
    for i in range(d):
        if formulas[i] not in ("grid", "nodes"):
            bias[i] += float(marginals[i].mean)
    for dims, part in parts:
        if isinstance(part, Normal):
            bias[dims] += part.mean
    return bias


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


def _formula(shape: Shape, law: NoiseLaw, lengthscale: float, *, joined: bool) -> str:
    """The closed form of one dimension, or what stands in for it where there is none.

    Where several dimensions are moved together, nodes stand in, for a grid has no tails to shift.
    """
    if isinstance(law, Placed):
        return "grid"
    width = float(_width(law)) / lengthscale
    if width == 0:
        return "still"
    if isinstance(law, Normal):
        if shape == "se":
            return "normal"
        wide = width * (2 * matern.SMOOTHNESS[shape]) ** 0.5 > matern.WIDE
        return "wide normal" if wide else "normal"
    if isinstance(law, Uniform):
        narrow = shape == "se" and width < squared_exponential.NARROW
        return "narrow uniform" if narrow else "uniform"
    return "nodes" if joined or not isinstance(law, OneDimensional) else "grid"


def _num_nodes(law: NoiseLaw, lengthscale: float) -> int:
    """Enough to place a node in every fraction of a lengthscale where the noise may go."""
    width = float(_width(law)) / lengthscale
    return min(MOST_NODES, max(NODES, math.ceil(12 * width)))


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
