"""Nodes and weights in place of the terms of a joint law, few where the kernel is smooth."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.spectrum import frequencies
from meseta.kernels.stationary import StationaryKernel
from meseta.noise.discrete import average_wave
from meseta.noise.law import OneDimensional, wave
from meseta.noise.panels import Panels, composite, panels
from meseta.noise.terms import Terms

ORDER = 16  # Gauss-Legendre nodes on a panel of a law
PIECE = 2.0  # lengthscales that a panel may have
MOST_PIECES = 512  # panels of one law
MOST_ALONG = 256  # nodes of one law
CERTAIN = 1e-6  # an error bound below this needs no estimate
WORK = 1e9  # operations that choosing nodes may take
FREQUENCIES, DESIGNS = 2**12, 32  # at which errors are estimated
# The weighted residual variance at which points are enough. Its root bounds the error of averages
# of the worst of all functions; those of covariances are some hundred times smaller.
ENOUGH = 1e-12
# Larger values for nodes that are paired, and for the pairs, since there are many of them.
ENOUGH_TO_PAIR, ENOUGH_OF_PAIRS = 1e-9, 1e-7
# The most pairs that are compressed, and the most that are left.
COMPRESSIBLE, MOST_DIFFERENCES = 2**13, 384

Kernel = Callable[[Tensor, Tensor], Tensor]


class Rule(NamedTuple):
    """Nodes and weights in place of a law; `error` bounds that of averages of unit functions."""

    nodes: Float[Tensor, "r d"]
    weights: Float[Tensor, " r"]
    error: float


class Limits(NamedTuple):
    """How many nodes and points a kernel can afford."""

    far: float  # lengthscales at which the kernel is 1e-17
    points: int  # among which nodes are chosen
    nodes: int
    paired: int  # nodes whose pairs are all considered


# The squared exponential is smooth and averaged by matrix products, so it can afford more.
SMOOTH = Limits(far=9.0, points=2**15, nodes=1024, paired=224)
ROUGH = Limits(far=21.0, points=2**12, nodes=256, paired=48)


def joint_rules(
    kernel: StationaryKernel,
    terms: Terms,
    smoothness: tuple[Kernel, Kernel],
    length: Callable[[Tensor], float],
    span: Float[Tensor, "2 d"],
) -> tuple[Rule, Rule]:
    """Rules of the terms other than Normal, and of their difference from an independent copy.

    `smoothness` are the kernels that the rules are for, with the Normal part in them, 1 where both
    points are the same; `length` is that of a direction in lengthscales.
    """
    limits = SMOOTH if kernel.gaussian else ROUGH
    # beyond this distance from 0, f has no covariance with f at any design
    reach = limits.far + float(((span[1] - span[0]) / kernel.lengthscale).norm())
    rules = [
        _along(*_discretised(law, length(direction), reach), direction, smoothness[0])
        for law, direction in terms.scalars
    ]
    rules += [
        compressed(*cloud, smoothness[0], _most(len(cloud[0]), limits)) for cloud in terms.clouds
    ]
    rule = _summed(rules, smoothness[0], limits)
    few = compressed(rule.nodes, rule.weights, smoothness[1], limits.paired, enough=ENOUGH_TO_PAIR)
    paired = Rule(few.nodes, few.weights, rule.error + few.error)
    differences = mirrored_differences(paired, smoothness[1])
    errors = rule.error, 2 * paired.error + differences.error
    if max(errors) > CERTAIN:  # the bound holds for the worst of all functions: estimate
        seen = _estimated(kernel, terms, rule, paired, differences, span)
        errors = min(errors[0], seen[0]), min(errors[1], seen[1])
    return (
        Rule(rule.nodes, rule.weights, errors[0]),
        Rule(differences.nodes, differences.weights, errors[1]),
    )


def _estimated(
    kernel: StationaryKernel,
    terms: Terms,
    rule: Rule,
    paired: Rule,
    differences: Rule,
    span: Float[Tensor, "2 d"],
) -> tuple[float, float]:
    """The largest errors of k_gf and k_g that are seen between designs.

    Averages over frequencies of (phi - phi') exp(i omega delta), phi the exact characteristic
    function and phi' that of the nodes, and twice their own standard error.
    """
    generator = torch.Generator().manual_seed(0)
    omega = frequencies(kernel, FREQUENCIES, generator)
    normal = (omega @ terms.covariance * omega).sum(-1)
    phi = torch.ones(len(omega), dtype=torch.cdouble)
    for law, direction in terms.scalars:
        phi = phi * law.characteristic((omega @ direction)[:, None])
    for cloud in terms.clouds:
        phi = phi * average_wave(omega, *cloud)
    d = len(kernel.lengthscale)
    unit = torch.rand(2, DESIGNS, d, dtype=torch.double, generator=generator)
    delta = (unit[0] - unit[1]) * (span[1] - span[0]) * torch.linspace(0, 1, DESIGNS)[:, None]
    waves = wave(omega @ delta.T)
    by_nodes = average_wave(omega, rule.nodes, rule.weights)
    if differences.error:
        by_pairs = average_wave(omega, differences.nodes, differences.weights)
    else:  # all pairs of nodes
        by_pairs = average_wave(omega, paired.nodes, paired.weights).abs().square()
    found = []
    for exact, wave_of, times in ((phi, by_nodes, 1), (phi.abs().square(), by_pairs, 2)):
        off = (exact - wave_of) * (-0.5 * times * normal).exp()
        noise = 2 * float(off.abs().square().mean().sqrt()) / len(omega) ** 0.5
        found.append(float((off[:, None] * waves).mean(0).real.abs().max()) + noise)
    return found[0], found[1]


def _summed(rules: Sequence[Rule], kernel: Kernel, limits: Limits) -> Rule:
    """The rule of a sum of independent terms, one after the other."""
    total, *others = sorted(rules, key=lambda rule: len(rule.nodes))
    for rule in others:
        # no more points than can be looked at: fewer nodes of the longer rule
        if len(total.nodes) * len(rule.nodes) > limits.points:
            most = max(1, limits.points // len(total.nodes))
            fewer = compressed(rule.nodes, rule.weights, kernel, most)
            rule = Rule(fewer.nodes, fewer.weights, rule.error + fewer.error)
        d = total.nodes.shape[1]
        points = (total.nodes[:, None] + rule.nodes).reshape(-1, d)
        weights = torch.outer(total.weights, rule.weights).reshape(-1)
        few = compressed(points, weights, kernel, _most(len(points), limits))
        total = Rule(few.nodes, few.weights, total.error + rule.error + few.error)
    return total


def _most(num: int, limits: Limits) -> int:
    """How many nodes may be chosen among `num` points within WORK operations."""
    return int(min(limits.nodes, max(32, math.sqrt(WORK / num))))


def _along(
    s: Float[Tensor, " n"],
    weights: Float[Tensor, " n"],
    lost: float,
    direction: Float[Tensor, " d"],
    kernel: Kernel,
) -> Rule:
    few = compressed(s[:, None] * direction, weights, kernel, MOST_ALONG)
    # what is beyond reach has no covariance with the data, and with itself its square at most
    return Rule(few.nodes, few.weights, few.error + lost**2)


def _discretised(
    law: OneDimensional, length: float, reach: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"], float]:
    """Points and weights of the law within reach, and the mass beyond; s = 1 has this length."""
    values, masses = law.atoms
    parts = [(values, masses)]
    if float(masses.sum()) < 1 - 1e-12:
        low, high = law.interval(1e-13)
        low, high = max(low, -reach / length), min(high, reach / length)
        if low < high:
            found = _split(panels(law, low, high, law.breaks), PIECE / length)
            parts.append(composite(law, found, ORDER))
    s, weights = torch.cat([p for p, _ in parts]), torch.cat([w for _, w in parts])
    near = s.abs() * length <= reach
    s, weights = s[near], weights[near]
    if not len(s):
        s, weights = torch.zeros(1, dtype=torch.double), torch.zeros(1, dtype=torch.double)
    return s, weights, max(0.0, 1 - float(weights.sum()))


def _split(found: Panels, width: float) -> Panels:
    """Panels no wider than this, as far as there are not too many."""
    sizes = found.high - found.low
    width = max(width, float(sizes.sum()) / MOST_PIECES)
    low, high, mass = [], [], []
    for a, b, m in zip(found.low.tolist(), found.high.tolist(), found.mass.tolist(), strict=True):
        pieces = max(1, math.ceil((b - a) / width))
        ends = torch.linspace(a, b, pieces + 1, dtype=torch.double)
        low.append(ends[:-1])
        high.append(ends[1:])
        mass.append(torch.full((pieces,), m / pieces, dtype=torch.double))
    return Panels(torch.cat(low), torch.cat(high), torch.cat(mass))


def compressed(
    points: Float[Tensor, "n d"],
    weights: Float[Tensor, " n"],
    kernel: Kernel,
    most: int,
    enough: float = ENOUGH,
) -> Rule:
    """At most `most` of the points; they average functions of the kernel's space like all of them.

    A pivoted Cholesky factorisation of the kernel between the points, until the conditional
    variances of the others, weighted, are rounding; then the weights with the least error for
    functions of unit norm, E h - sum w h = <h, mu - sum w k(., s)>. Whatever order rounding gives
    the pivots, the error is bounded by what is left.
    """
    n = len(points)
    residual = torch.ones(n, dtype=torch.double)  # k(s, s) = 1
    columns = torch.empty(min(most, n), n, dtype=torch.double)
    chosen: list[int] = []
    left = float(weights.abs() @ residual)
    for k in range(min(most, n)):
        if left <= enough * float(weights.abs().sum()):
            break
        pivot = int((weights.abs() * residual).argmax())
        column = kernel(points[pivot : pivot + 1], points)[0]
        column = (column - columns[:k, pivot] @ columns[:k]) / residual[pivot].sqrt()
        columns[k] = column
        residual = (residual - column.square()).clamp_min(0)
        residual[pivot] = 0
        chosen.append(pivot)
        left = float(weights.abs() @ residual)
    if len(chosen) == n:
        return Rule(points, weights, 0.0)
    L = columns[: len(chosen)]
    # K_SS w = K_S. W with K = L' L: L_S' (L_S w) = L_S' (L W)
    w = torch.linalg.solve_triangular(L[:, chosen], (L @ weights)[:, None], upper=True)[:, 0]
    return Rule(points[chosen], w, left**0.5)


def mirrored_differences(rule: Rule, kernel: Kernel) -> Rule:
    """Nodes of xi - xi' for independent xi and xi' on the nodes: one half, and its mirror image.

    They are all pairs if those are few, or if fewer points would not be accurate enough.
    """
    nodes, weights = rule.nodes, rule.weights
    first, second = torch.triu_indices(len(nodes), len(nodes), 1)
    pairs = torch.cat([nodes.new_zeros(1, nodes.shape[1]), nodes[first] - nodes[second]])
    shares = torch.cat([weights.square().sum()[None], 2 * weights[first] * weights[second]])
    half = Rule(pairs, shares, 0.0)
    if 2 <= len(pairs) <= COMPRESSIBLE:
        most = min(MOST_DIFFERENCES, len(pairs) // 2)
        few = compressed(pairs, shares, kernel, most, ENOUGH_OF_PAIRS)
        if few.error <= 2 * ENOUGH_OF_PAIRS**0.5:
            half = few
    return Rule(
        torch.cat([half.nodes, -half.nodes]),
        torch.cat([half.weights, half.weights]) / 2,
        half.error,
    )
