"""The highest mean among the designs that keep all limits."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from scipy.optimize import minimize
from torch import Tensor

from meseta.gp.mixture import Mean
from meseta.space.domain import Domain

SWEEP = 512
CLOSER_LOOK, STARTS = 24, 2
TRIED, HOPS = 2, 12  # neighbours in discrete values, by two orders, and how often in a row
SHORTFALL = 10.0  # what a shortfall costs where climbs start
STEPS, MOST = 20, 24  # steps of a climb, and points that it looks at
ROOM = 1e-4  # that a climb keeps to a limit, so that it ends on its right side

# The room to each limit, (limits, m) at m points; what is negative is missing.
Room = Callable[[Float[Tensor, "m d"]], Float[Tensor, "c m"]]


class Found(NamedTuple):
    """A design, its value, and whether it keeps all limits; else what is missing, negative."""

    x: Float[Tensor, " d"]
    value: float
    kept: bool
    short: float


def maximize_within(
    value: Mean,
    room: Room,
    domain: Domain,
    generator: torch.Generator,
    first: Float[Tensor, "n d"],
    scale: Float[Tensor, " d"],
    quick: Room | None = None,
    num_starts: int = STARTS,
) -> Found:
    """The best design that keeps all limits; if none is found, one that comes close.

    A sweep, then climbs. Limits leave little room for each combination of discrete values, and a
    sweep misses most: so the best end climbs once more as if steps were continuous, and then goes
    on to neighbours in one discrete value, while these are better. `first` are points that come
    first among equals; `quick` may stand for `room` in the sweep.
    """
    sweep = torch.cat([domain.snap(first), domain.sobol(SWEEP, generator)])
    with torch.no_grad():
        values = value(sweep)
        best = _promising(values, (quick or room)(sweep), CLOSER_LOOK)
        best = torch.cat([best, domain.best_of_each(sweep, values)]).unique()
        closer = _promising(values[best], room(sweep[best]), num_starts).unique()
    ends = [climb_within(value, room, domain, start, scale) for start in sweep[best[closer]]]
    highest = max(ends, key=_rank)
    if len(domain.relaxed) > len(domain.continuous):
        between = climb_within(value, room, domain, highest.x, scale, domain.relaxed)
        snapped = climb_within(value, room, domain, domain.snap(between.x), scale)
        highest = max(highest, snapped, key=_rank)
    return _hop(value, room, domain, highest, scale, quick or room)


def _hop(
    value: Mean, room: Room, domain: Domain, found: Found, scale: Float[Tensor, " d"], quick: Room
) -> Found:
    """On from a design, from neighbour to neighbour in the discrete values."""
    for _ in range(HOPS if domain.discrete else 0):
        near = domain.snap(domain.neighbours(found.x[None])[0])
        with torch.no_grad():
            values = value(near)
            # the highest, too, whatever they lack: a climb may find the room
            highest = values.sort(descending=True, stable=True).indices[:TRIED]
            tried = torch.cat([highest, _promising(values, quick(near), TRIED)]).unique()
        ends = [climb_within(value, room, domain, start, scale) for start in near[tried]]
        best = max([found, *ends], key=_rank)
        if best is found:
            break
        found = best
    return found


def climb_within(
    value: Mean,
    room: Room,
    domain: Domain,
    start: Float[Tensor, " d"],
    scale: Float[Tensor, " d"],
    free: Int[Tensor, " c"] | None = None,
) -> Found:
    """The best point on a climb from one; what is discrete stays, or all but `free` columns.

    By sequential quadratic programming, which does not mind how values and rooms are scaled.
    Margins have kinks where draws of the noise change places, and at these it may stop.
    """
    free = domain.continuous if free is None else free
    low, high = domain.bounds[:, free]
    unit = torch.minimum(scale[free], high - low)
    rules = domain.allowed

    def rooms(x: Tensor) -> Tensor:
        """Inequalities of designs are limits as well."""
        return room(x) if rules is None else torch.cat([room(x), rules.room(x)])

    seen: dict[bytes, _Seen] = {}

    def at(u: Float64[np.ndarray, " c"]) -> _Seen:
        key = u.tobytes()
        if key not in seen:
            if len(seen) == MOST:
                raise _EnoughError
            here = torch.minimum(torch.maximum(low + unit * torch.from_numpy(u), low), high)
            x = start.index_copy(0, free, here)
            if rules is not None and rules.others is not None:
                x = domain.snap(x)
            seen[key] = _look(value, rooms, x, free, unit)
        return seen[key]

    begin = ((start[free] - low) / unit).numpy()
    at(begin)
    if len(free):
        with suppress(_EnoughError):
            minimize(
                lambda u: (-at(u).value, -at(u).slope),
                begin,
                jac=True,
                method="SLSQP",
                bounds=[(0.0, float(top)) for top in (high - low) / unit],
                constraints={
                    "type": "ineq",
                    "fun": lambda u: at(u).room - ROOM,
                    "jac": lambda u: at(u).slopes,
                },
                options={"maxiter": STEPS, "ftol": 1e-7},
            )
    return max((point.found() for point in seen.values()), key=_rank)


class _EnoughError(Exception):
    """A climb has looked at as many points as it may."""


class _Seen(NamedTuple):
    """A point of a climb; slopes are those of its free columns."""

    x: Float[Tensor, " d"]
    value: float
    slope: Float64[np.ndarray, " c"]
    room: Float64[np.ndarray, " r"]
    slopes: Float64[np.ndarray, "r c"]

    def found(self) -> Found:
        short = float(np.minimum(self.room, 0.0).sum())
        return Found(self.x, self.value, short >= 0, short)


def _look(
    value: Mean,
    room: Room,
    x: Float[Tensor, " d"],
    free: Int[Tensor, " c"],
    unit: Float[Tensor, " c"],
) -> _Seen:
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        rows = [value(x[None])[0], *room(x[None])[:, 0]]
        slopes = [torch.autograd.grad(row, x, retain_graph=True)[0][free] * unit for row in rows]
    numbers = torch.stack(rows).detach().numpy()
    each = torch.stack(slopes).numpy()
    return _Seen(x.detach(), float(numbers[0]), each[0], numbers[1:], each[1:])


def _rank(found: Found) -> tuple[bool, float]:
    return found.kept, found.value if found.kept else found.short


def _promising(
    values: Float[Tensor, " m"], room: Float[Tensor, "c m"], num: int
) -> Int[Tensor, " s"]:
    """As many of the best that keep all limits, and of the best but for some shortfall."""
    spread = room.std(-1, correction=0, keepdim=True).clamp_min(1e-300)
    short = (room / spread).clamp_max(0).sum(0)
    kept = torch.where(short < 0, -torch.inf, values)
    nearly = (values - values.mean()) / values.std(correction=0).clamp_min(
        1e-300
    ) + SHORTFALL * short
    orders = [each.sort(descending=True, stable=True).indices[:num] for each in (kept, nearly)]
    return torch.cat(orders)
