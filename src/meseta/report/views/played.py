"""What the page computes from its model, in Python: the two must agree, and tests see to it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.kernels.shapes import SHAPES
from meseta.kernels.stationary import Factor
from meseta.noise import Normal
from meseta.report.views.estimate import Estimate
from meseta.report.views.playground import (
    TOGETHER,
    Column,
    Confused,
    Knob,
    Part,
    Place,
    Playground,
    Together,
)

STILL = Column(0.0, 0.0, (), (), None)  # a column without noise


@dataclass(frozen=True)
class Played:
    """The figures of one design under one noise, in the user's units and sign."""

    robust: Estimate
    nominal: Estimate
    values: tuple[float, ...]  # the mean of f where draws of the noise take the design
    weights: tuple[float, ...]  # 1 together


def row_of(ground: Playground, settings: Sequence[float]) -> Float[Tensor, " d"]:
    """The row of the unit cube for a value of each parameter; see `Knob.robust`."""
    row = _tensor(ground.row)
    for knob, value in zip(ground.knobs, settings, strict=True):
        if len(knob.choices) > 2:
            for i in range(len(knob.choices)):
                row[knob.column + i] = float(i == value)
        else:
            row[knob.column] = share_of(knob, value)
    return row


def share_of(knob: Knob, value: float) -> float:
    """Where a value lies between both ends of its range, from 0 to 1."""
    low, high, at = (
        _tensor([knob.low, knob.high, value]).log()
        if knob.log
        else _tensor([knob.low, knob.high, value])
    )
    return float((at - low) / (high - low))


@torch.no_grad()
def played(ground: Playground, row: Float[Tensor, " d"], factors: Sequence[float]) -> Played:
    """The figures at a row of the unit cube; `factors` are those of the noise of each parameter."""
    times = _by_column(ground, factors)
    chance = [_confused(each, times[each.dims[0]]) for each in ground.noise.confused]
    f, g = (
        [_moments(p, ground, row, times, chance, noisy) for p in ground.parts]
        for noisy in (False, True)
    )
    z, weights = _places(ground, row, times, chance)
    share = [part.weight for part in ground.parts]
    mean = sum(w * _mean_f(part, ground, z) for w, part in zip(share, ground.parts, strict=True))
    assert isinstance(mean, Tensor)
    if ground.noise.added:
        mean = mean + _tensor(ground.noise.added)
    values = (ground.sign * (ground.y_offset + ground.y_scale * mean)).clamp(*ground.possible)
    return Played(_mixed(ground, share, g), _mixed(ground, share, f), _row(values), _row(weights))


def _by_column(ground: Playground, factors: Sequence[float]) -> list[float]:
    times = [1.0] * len(ground.row)
    for knob, factor in zip(ground.knobs, factors, strict=True):
        for i in range(max(1, len(knob.choices) if len(knob.choices) > 2 else 1)):
            times[knob.column + i] = 1.0 if knob.fixed else factor
    return times


def _mixed(ground: Playground, share: list[float], each: list[tuple[float, float]]) -> Estimate:
    """Var = sum_i w_i (Var_i + (m_i - m)^2)."""
    mean = sum(w * m for w, (m, _) in zip(share, each, strict=True))
    variance = sum(w * (v + (m - mean) ** 2) for w, (m, v) in zip(share, each, strict=True))
    value = ground.sign * (ground.y_offset + ground.y_scale * mean)
    moved = min(max(value, ground.possible[0]), ground.possible[1])
    # a model that is wrong by so much cannot be surer than that
    return Estimate(
        moved, math.hypot(ground.y_scale * variance**0.5, moved - value), ground.possible
    )


def _moments(
    part: Part,
    ground: Playground,
    row: Float[Tensor, " d"],
    times: list[float],
    chance: list[Float[Tensor, "c c"]],
    noisy: bool,
) -> tuple[float, float]:
    """Mean and variance of f, or of g with the noise, at a row."""
    points = torch.tensor(ground.data.points, dtype=torch.double)
    k, same = torch.ones(len(points), dtype=torch.double), torch.ones((), dtype=torch.double)
    joint = ground.noise.joint
    for i, column in enumerate(ground.noise.columns):
        if noisy and i in joint:
            continue
        acting = column if noisy else STILL
        of_data, of_self = _alone(part, i, acting, row[i], times[i], points[:, i])
        k, same = k * of_data, same * of_self
    for dims, z, weights in _groups(ground, row, times, chance) if noisy else ():
        k = k * (weights @ _kernel(part, dims, z[:, None] - points[:, dims]))
        same = same * (weights @ _kernel(part, dims, z[:, None] - z) @ weights)
    k = _observed(ground, part.variance * k)
    mean = part.mean + float(k @ _tensor(part.alpha))
    if not part.noise:
        return mean, float("nan")
    explained = torch.linalg.solve_triangular(_factor(ground, part), k[:, None], upper=False)
    return mean, max(0.0, float(part.variance * same - explained.square().sum()))


def _groups(
    ground: Playground,
    row: Float[Tensor, " d"],
    times: list[float],
    chance: list[Float[Tensor, "c c"]],
) -> list[tuple[list[int], Float[Tensor, "m k"], Float[Tensor, " m"]]]:
    """Columns that are moved together, the places where they are taken, and weights."""
    noise = ground.noise
    together = [
        (list(each.dims), *_nodes_together(ground, each, row, times)) for each in noise.together
    ]
    confused = [
        (list(each.dims), *_nodes_confused(each, matrix, row))
        for each, matrix in zip(noise.confused, chance, strict=True)
    ]
    return together + confused


def _alone(
    part: Part, i: int, column: Column, x: Tensor, factor: float, points: Float[Tensor, " p"]
) -> tuple[Float[Tensor, " p"], Float[Tensor, ""]]:
    """The factor of one column: between g(x) and f(points), and between g(x) and itself."""
    lengthscale = _tensor([part.lengthscale[i]])
    zero = torch.zeros(1, dtype=torch.double)
    if column.nodes:
        z, weights = placed(column, x, factor)
        kappa = SHAPES[part.shapes[i]].unperturbed(lengthscale)
        between = kappa.f((z[:, None] - points)[..., None])
        return weights @ between, weights @ kappa.f((z[:, None] - z)[..., None]) @ weights
    std = _tensor([factor * column.std])
    form = SHAPES[part.shapes[i]].form(Normal(1.0), float(std / lengthscale))
    assert form is not None
    smoothed: Factor = form(lengthscale, std)
    delta = x + factor * column.bias - points
    return smoothed.gf(delta[:, None]), smoothed.g(zero)


def placed(
    column: Column, x: Tensor, factor: float, zeta: Float[Tensor, " m"] | None = None
) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Where the noise takes a column, and weights; `zeta` are draws in place of its nodes."""
    weights = _tensor(column.weights)
    if zeta is None:
        zeta = _tensor(column.nodes)
    else:
        weights = torch.full_like(zeta, 1 / len(zeta))
    place = column.place
    if place is None:
        return x + factor * zeta, weights
    z = _moved(place, x, factor * zeta)
    if place.edge == "truncate":
        low, high = _from_raw(place, _tensor([place.low, place.high]))
        slack = 1e-12 * (high - low)
        weights = weights * ((z >= low - slack) & (z <= high + slack))
        z = z.clamp(low, high)
    return z, weights / weights.sum() if float(weights.sum()) else torch.full_like(z, 1 / len(z))


def _moved(place: Place, x: Tensor, zeta: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
    raw = place.offset + place.unit * x
    raw = raw.exp() if place.log else raw
    if place.kind == "multiply":
        y = raw * zeta.exp()
    elif place.kind == "replace":
        y = zeta
    else:
        width = {"shift": torch.ones_like(raw), "relative": raw}.get(place.kind)
        y = raw + (_tabulated(place, x) if width is None else width) * zeta
    if place.edge == "clip":
        y = y.clamp(place.low, place.high)
    if place.edge == "reflect":
        wide = place.high - place.low
        turn = (y - place.low).remainder(2 * wide)
        y = place.low + torch.where(turn > wide, 2 * wide - turn, turn)
    return _from_raw(place, y)


def _from_raw(place: Place, y: Tensor) -> Tensor:
    u = y.clamp_min(1e-6 * place.low).log() if place.log else y
    return (u - place.offset) / place.unit


def _tabulated(place: Place, x: Tensor) -> Tensor:
    table = _tensor(place.width)
    at = x.clamp(0, 1) * (len(table) - 1)
    i = at.floor().clamp_max(len(table) - 2).long()
    return table[i] + (at - i) * (table[i + 1] - table[i])


def _confused(each: Confused, factor: float) -> Float[Tensor, "c c"]:
    """identity + factor (matrix - identity), no row with less than 0 for the choice itself."""
    matrix = torch.tensor(each.matrix, dtype=torch.double)
    same = torch.eye(len(matrix), dtype=torch.double)
    other = (1 - matrix.diagonal())[:, None]
    times = torch.where(other > 0, (1 / other.clamp_min(1e-300)).clamp_max(factor), 0.0)
    return (same + times * (matrix - same)).clamp(0, 1)


def _nodes_confused(
    each: Confused, matrix: Float[Tensor, "c c"], row: Float[Tensor, " d"]
) -> tuple[Float[Tensor, "c k"], Float[Tensor, " c"]]:
    choices = torch.tensor(each.choices, dtype=torch.double)
    asked = (row[list(each.dims)] - choices).square().sum(-1).argmin()
    return choices, matrix[asked]


def _nodes_together(
    ground: Playground, each: Together, row: Float[Tensor, " d"], times: list[float]
) -> tuple[Float[Tensor, "m k"], Float[Tensor, " m"]]:
    own = torch.tensor(ground.noise.own[:TOGETHER], dtype=torch.double)
    drawn = torch.tensor(each.drawn[:TOGETHER], dtype=torch.double)
    columns, weights = [], []
    for k, i in enumerate(each.dims):
        z, w = placed(ground.noise.columns[i], row[i], times[i], own[:, i])
        columns.append(z + times[i] * drawn[:, k])
        weights.append(w)
    weight = reduce(torch.mul, weights)
    return torch.stack(columns, dim=-1), _normalised(weight)


def _places(
    ground: Playground,
    row: Float[Tensor, " d"],
    times: list[float],
    chance: list[Float[Tensor, "c c"]],
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """Where draws of the noise take a design."""
    own = torch.tensor(ground.noise.own, dtype=torch.double)
    pairs = [
        placed(column, row[i], times[i], own[:, i]) for i, column in enumerate(ground.noise.columns)
    ]
    z = torch.stack([z for z, _ in pairs], dim=-1)
    for part in ground.noise.together:
        for k, i in enumerate(part.dims):
            z[:, i] += times[i] * torch.tensor([each[k] for each in part.drawn]).double()
    for each, matrix in zip(ground.noise.confused, chance, strict=True):
        choices, shares = _nodes_confused(each, matrix, row)
        taken = (_tensor(each.drawn)[:, None] > shares.cumsum(-1)[:-1]).sum(-1)
        z[:, list(each.dims)] = choices[taken]
    return z, _normalised(reduce(torch.mul, [w for _, w in pairs]))


def _normalised(weights: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
    """Where nothing is inside, all draws count alike."""
    weights = torch.where(weights.any(), weights, 1.0)
    return weights / weights.sum()


def _kernel(part: Part, dims: list[int], delta: Float[Tensor, "m p k"]) -> Float[Tensor, "m p"]:
    factors = [
        SHAPES[part.shapes[i]].unperturbed(_tensor([part.lengthscale[i]])).f(delta[..., [k]])
        for k, i in enumerate(dims)
    ]
    return reduce(torch.mul, factors)


def _mean_f(part: Part, ground: Playground, z: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
    points = torch.tensor(ground.data.points, dtype=torch.double)
    k = part.variance * _kernel(part, list(range(z.shape[1])), z[:, None] - points)
    return part.mean + _observed(ground, k) @ _tensor(part.alpha)


def _factor(ground: Playground, part: Part) -> Float[Tensor, "n n"]:
    points = torch.tensor(ground.data.points, dtype=torch.double)
    k = part.variance * _kernel(part, list(range(points.shape[1])), points[:, None] - points)
    K = _observed(ground, _observed(ground, k).mT)
    return torch.linalg.cholesky(K + torch.diag(_tensor(part.noise)))


def _observed(ground: Playground, k: Float[Tensor, "*m p"]) -> Float[Tensor, "*m n"]:
    """Averages over the points of each value."""
    sums = (k * _tensor(ground.data.weights)).split(ground.data.counts, dim=-1)
    return torch.stack([each.sum(-1) for each in sums], dim=-1)


def _tensor(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.double)


def _row(values: Tensor) -> tuple[float, ...]:
    return tuple(values.tolist())
