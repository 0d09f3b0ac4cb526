"""Chooses the smoothing for a kernel and a noise law: closed form, frequencies, grid or nodes."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.chebyshev import Interval
from meseta.kernels.joined import AlongLine, JointNodes, OnNodes, Whitened, whitened
from meseta.kernels.nodes import Kernel, Rule, joint_rules
from meseta.kernels.shapes import SHAPES
from meseta.kernels.smoothed import Part, SmoothedKernel
from meseta.kernels.spectrum import Spectrum, spectrum
from meseta.kernels.squared_exponential import SQUARED_EXPONENTIAL, CorrelatedNormalNoise
from meseta.kernels.stationary import Factor, Factors, Form, StationaryKernel, product
from meseta.kernels.zone import Grid, confused_grid, placed_grid
from meseta.noise import Independent, Joint, NoiseLaw, Normal, Placed, Substituted, Uniform
from meseta.noise.joint import own_and_shared
from meseta.noise.terms import Terms, terms
from meseta.space.recording import check_recordable


def smooth(
    kernel: StationaryKernel, law: NoiseLaw, span: Float[Tensor, "2 d"] | None = None
) -> SmoothedKernel:
    """The smoothings of `kernel` under `law`, in closed form where there is one.

    `span` holds all designs at which g is evaluated (default: -1 to 2 in each dimension); only laws
    without a closed form need it.
    """
    check_recordable()
    d = len(kernel.lengthscale)
    law = law.in_dimension(d)
    span = torch.tensor([[-1.0], [2.0]], dtype=torch.double).expand(2, d) if span is None else span
    marginals, shared = own_and_shared(law, d)
    joint = {i for dims, _ in shared for i in dims}
    forms = _forms(kernel, marginals)
    alone = [i for i in range(d) if i not in joint and forms[i] is not None]
    bias = torch.zeros(d, dtype=torch.double)
    # smoothings that are functions of the difference, or ignore the design, hold everywhere
    confined = [i for i in range(d) if i not in joint and i not in alone and _moves(marginals[i])]
    for i in alone:
        bias[i] = float(marginals[i].mean)
    factors = list(_factors(kernel, marginals, forms, alone))
    parts = [
        Part([i], *_one_dimension(kernel, marginals[i], i, _interval(span, [i])))
        for i in range(d)
        if i not in joint and forms[i] is None
    ]
    for dims, part in shared:
        inner = StationaryKernel(
            kernel.variance, tuple(kernel.shapes[i] for i in dims), kernel.lengthscale[dims]
        )
        if isinstance(part, Substituted):
            parts.append(Part(dims, _confused(inner, part), False))
            continue
        own = Independent([marginals[i] for i in dims])
        together = Joint(own, [(range(len(dims)), part)])
        joined = _joined(inner, together, span[:, dims])
        if not isinstance(joined, CorrelatedNormalNoise):
            confined += dims
        if isinstance(joined, AlongLine | OnNodes):
            parts.append(Part(dims, joined, True))
        else:
            factors.append((dims, joined))
            bias[dims] = terms(together).mean
    room = torch.tensor([[-math.inf], [math.inf]], dtype=torch.double).repeat(1, d)
    room[:, confined] = span[:, confined]
    return SmoothedKernel(
        kernel=kernel,
        law=law,
        whole=_unmoved(kernel),
        factors=tuple(factors),
        parts=tuple(parts),
        bias=bias if bias.any() else None,
        room=room if confined else None,
    )


def _moves(law: NoiseLaw) -> bool:
    """Whether what a design becomes depends on it."""
    return not (isinstance(law, Placed) and law.kind == "replace")


def _one_dimension(
    kernel: StationaryKernel, law: NoiseLaw, i: int, span: Interval
) -> tuple[Spectrum | Grid, bool]:
    """The smoothing of dimension i, and whether xi is added to x."""
    shape, lengthscale = SHAPES[kernel.shapes[i]], float(kernel.lengthscale[i])
    if not isinstance(law, Placed):
        return spectrum(shape, lengthscale, law, 1.0, span), True
    if law.kind == "replace" and law.edge == "allow" and not law.log:
        return spectrum(shape, lengthscale, law.as_added(), 0.0, span), False
    base = shape.unperturbed(kernel.lengthscale[[i]])
    return placed_grid(base, law, span, lengthscale, shape), False


def _joined(
    kernel: StationaryKernel, law: Joint, span: Float[Tensor, "2 d"]
) -> Factor | AlongLine | OnNodes:
    """The smoothing of dimensions that are moved together."""
    together = terms(law)
    others = len(together.scalars) + len(together.clouds)
    if kernel.gaussian and not others:
        return CorrelatedNormalNoise(kernel.lengthscale, together.covariance)
    if kernel.gaussian and len(together.scalars) == others == 1:
        return _along_line(kernel, together, span)
    # nodes for slightly shorter lengthscales serve all longer ones; few different ones, so that a
    # run finds them again when a fit has moved on
    shorter = tuple(2.0 ** (math.floor(4 * math.log2(l)) / 4) for l in kernel.lengthscale.tolist())
    ends = tuple(map(tuple, span.tolist()))
    if kernel.gaussian:
        return _on_nodes(kernel, together, _node_rules(law, kernel.shapes, shorter, ends))
    independent, _ = Normal(covariance=together.covariance).split()
    bases = _bases(kernel, independent)
    return JointNodes(bases, *_node_rules(law, kernel.shapes, shorter, ends))


@lru_cache(maxsize=64)
def _node_rules(
    law: Joint,
    shapes: tuple[str, ...],
    lengthscale: tuple[float, ...],
    span: tuple[tuple[float, ...], ...],
) -> tuple[Rule, Rule]:
    """Nodes of the terms without a closed form, for these lengthscales or longer ones."""
    together = terms(law)
    lengths = torch.tensor(lengthscale, dtype=torch.double)
    kernel = StationaryKernel(torch.tensor(1.0, dtype=torch.double), shapes, lengths)
    box = torch.tensor(span, dtype=torch.double)
    if kernel.gaussian:
        narrow, wide = (whitened(lengths, together.covariance, i) for i in (1, 2))
        bells = partial(_bell, narrow), partial(_bell, wide)
        return joint_rules(kernel, together, bells, lambda s: float(narrow(s[None]).norm()), box)
    # all terms but independent Normal noise, which has closed forms
    independent, common = Normal(covariance=together.covariance).split()
    rest = Terms(
        together.mean,
        independent.covariance_matrix,
        [*together.scalars, *((Normal(1.0), direction) for direction in common.T)],
        together.clouds,
    )
    if not (rest.scalars or rest.clouds):
        still = Rule(torch.zeros(1, len(lengths)).double(), torch.ones(1).double(), 0.0)
        return still, still
    bases = _bases(kernel, independent)
    gf, g = (_normalised(partial(_product, bases, which)) for which in ("gf", "g"))
    return joint_rules(kernel, rest, (gf, g), lambda s: float((s / lengths).norm()), box)


def _bases(kernel: StationaryKernel, law: Normal) -> Factors:
    """Closed forms of independent Normal noise."""
    forms = _forms(kernel, law.marginals)
    return _factors(kernel, law.marginals, forms, list(range(len(forms))))


def _along_line(kernel: StationaryKernel, together: Terms, span: Float[Tensor, "2 d"]) -> AlongLine:
    ((law, direction),) = together.scalars
    coordinates = tuple(whitened(kernel.lengthscale, together.covariance, i) for i in (1, 2))
    axes, spectra = [], []
    for coordinate in coordinates:
        along = coordinate(direction[None])[0]
        axis = along / along.norm()
        # the coordinate along the line is linear in x: its ends are at corners of the span
        slopes = coordinate(torch.eye(len(axis), dtype=torch.double)) @ axis
        wider = slopes * torch.cat([span, span + together.mean, span - together.mean])
        interval = float(wider.amin(0).sum()), float(wider.amax(0).sum())
        scaled = law.scaled(along.norm()[None])
        spectra.append(spectrum(SQUARED_EXPONENTIAL, 1.0, scaled, 1.0, interval))
        axes.append(axis)
    return AlongLine(
        (coordinates[0], coordinates[1]),
        (axes[0], axes[1]),
        (spectra[0], spectra[1]),
        together.mean,
    )


def _on_nodes(kernel: StationaryKernel, together: Terms, rules: tuple[Rule, Rule]) -> OnNodes:
    narrow, wide = (whitened(kernel.lengthscale, together.covariance, i) for i in (1, 2))
    gf, g = rules
    moved = (
        Rule(narrow(gf.nodes + together.mean), gf.weights, gf.error),
        Rule(wide(g.nodes), g.weights, g.error),
    )
    return OnNodes((narrow, wide), moved, max(gf.error, g.error))


def _bell(coordinates: Whitened, s: Tensor, t: Tensor) -> Tensor:
    return (-0.5 * (coordinates(s)[:, None] - coordinates(t)).square().sum(-1)).exp()


def _product(bases: Factors, which: str, delta: Tensor) -> Tensor:
    if which == "gf":
        return product(bases, delta, lambda base, part: base.gf(part))
    return product(bases, delta, lambda base, part: base.g(part))


def _normalised(of_difference: Callable[[Tensor], Tensor]) -> Kernel:
    """A function of differences as a kernel between rows of points, 1 where they are the same."""

    def kernel(s: Tensor, t: Tensor) -> Tensor:
        delta = s[:, None] - t
        return of_difference(delta) / of_difference(torch.zeros_like(delta[:1, :1]))

    return kernel


def _factors(
    kernel: StationaryKernel,
    marginals: Sequence[NoiseLaw],
    forms: Sequence[Form | None],
    dims: list[int],
) -> Factors:
    """Dimensions with the same closed form share a factor, so that it is evaluated once for all."""
    groups: dict[Form, list[int]] = defaultdict(list)
    for i in dims:
        if (form := forms[i]) is not None:
            groups[form].append(i)
    return tuple(
        (group, form(kernel.lengthscale[group], torch.cat([_width(marginals[i]) for i in group])))
        for form, group in groups.items()
    )


def _confused(kernel: StationaryKernel, law: Substituted) -> Grid:
    zero = torch.zeros(1, len(kernel.shapes), dtype=torch.double)
    still = Rule(zero, torch.ones(1, dtype=torch.double), 0.0)
    base = JointNodes(_unmoved(kernel), still, still)
    choices, matrix = (torch.tensor(a, dtype=torch.double) for a in (law.choices, law.matrix))
    return confused_grid(base, choices, matrix)


def _unmoved(kernel: StationaryKernel) -> Factors:
    """All dimensions without noise."""
    return _bases(kernel, Normal((0.0,) * len(kernel.shapes)))


def _forms(kernel: StationaryKernel, marginals: Sequence[NoiseLaw]) -> list[Form | None]:
    """The closed form of each dimension; most noise laws have none."""
    lengthscale = kernel.lengthscale.tolist()
    return [
        None if isinstance(law, Placed) else SHAPES[name].form(law, float(_width(law)) / length)
        for name, law, length in zip(kernel.shapes, marginals, lengthscale, strict=True)
    ]


def _width(law: NoiseLaw) -> Float[Tensor, " 1"]:
    """The number that the closed forms of this law of one dimension take."""
    return law.half_widths if isinstance(law, Uniform) else law.covariance_matrix.diagonal().sqrt()


def _interval(span: Float[Tensor, "2 d"], dims: list[int]) -> Interval:
    low, high = span[:, dims[0]].tolist()
    return low, high
