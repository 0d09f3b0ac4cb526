"""Domain: the box of designs together with what in it is discrete."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.space.ascent import Ascent, Objective, ascend
from meseta.space.grid import Discrete
from meseta.space.rows_allowed import Allowed
from meseta.space.sobol import sobol, sobol_sequence, unit_sobol, unit_sobol_sequence

# Domains with at most this many discrete combinations are searched exhaustively.
FEW = 64
# Where the maxima compete, this number of the best ends try their neighbours.
ENDS = 3
# The number of neighbours of an end that are climbed from, and how often in a row.
TRIED = 2
HOPS = 16
# Neighbours that are evaluated at a time.
CHUNK = 4096
# Rows among which allowed ones are known, and those that are brought back where they are few; the
# share of allowed ones from which on others are left out; and steps to the border.
KNOWN, SOME, LEAST_SHARE, BISECTIONS = 4096, 256, 0.05, 20
# Searches along the border, for few ends and for many; points of each for a column; how far off at
# first, in scales, and how much further or closer after a success or a failure.
SEARCHES, FEW_ENDS, FEWER_SEARCHES, PER_COLUMN = 40, 16, 10, 8
AROUND, WIDER, NARROWER = 0.2, 1.5, 0.6


@dataclass(frozen=True, eq=False)
class Domain:
    """Designs as rows of columns: a box, and which of its columns take certain values only.

    It holds in any units: those of the user, and those of the model after `mapped`. Without
    anything discrete it is the box and nothing else.
    """

    bounds: Float[Tensor, "2 d"]
    discrete: tuple[Discrete, ...] = ()
    allowed: Allowed | None = None  # which rows may be; None: all

    @property
    def dimension(self) -> int:
        """Columns."""
        return self.bounds.shape[1]

    @property
    def continuous(self) -> Int[Tensor, " c"]:
        """Columns that take any value."""
        return self._columns(self.discrete)

    @property
    def relaxed(self) -> Int[Tensor, " c"]:
        """Continuous columns, and those where values between two steps mean something."""
        return self._columns([part for part in self.discrete if not part.ordered])

    @property
    def num_coordinates(self) -> int:
        """Numbers that say where a point is: one for each continuous column and discrete value."""
        return len(self.continuous) + len(self.discrete)

    @property
    def combinations(self) -> int:
        """The number of combinations of discrete values; 1 if there are none."""
        return math.prod(part.count for part in self.discrete)

    @property
    def finite(self) -> bool:
        """Whether everything is discrete."""
        return not len(self.continuous)

    @cached_property
    def known(self) -> Float[Tensor, "k d"]:
        """Some allowed rows all over the box; none of them: none is found."""
        found = self._hits
        if len(found) >= FEW:
            return found
        assert self.allowed is not None
        if not len(found):
            inner = self.allowed.inner()
            if inner is None or not self.allowed(inner := self._on_steps(inner[None])).all():
                return found
            found = inner
        raw = replace(self, allowed=None).sobol_sequence(0, SOME, 0)
        return torch.cat([found, self._brought_back(raw, found)])

    @cached_property
    def _hits(self) -> Float[Tensor, "k d"]:
        """Those of many points that happen to be allowed."""
        raw = replace(self, allowed=None).sobol_sequence(0, KNOWN, 0)
        assert self.allowed is not None
        return raw[self.allowed(raw)]

    def mapped(self, to_units: Callable[[Tensor], Tensor]) -> "Domain":
        """The same designs in other units, by an increasing affine map of each column."""
        assert self.allowed is None
        return replace(self, bounds=to_units(self.bounds))

    def snap(self, x: Float[Tensor, "*m d"]) -> Float[Tensor, "*m d"]:
        """The admissible designs next to x."""
        x = self._on_steps(x.clamp(self.bounds[0], self.bounds[1]))
        if self.allowed is None or not x.numel():
            return x
        rows = x.reshape(-1, self.dimension)
        wrong = ~self.allowed(rows)
        if wrong.any():
            rows = rows.clone()
            rows[wrong] = self._brought_back(rows[wrong], self.known)
        return rows.view(x.shape)

    def _on_steps(self, x: Float[Tensor, "*m d"]) -> Float[Tensor, "*m d"]:
        for part in self.discrete:
            ends = self.bounds[:, part.columns]
            x[..., part.columns] = part.values(part.nearest(x[..., part.columns], ends), ends)
        return x

    def _brought_back(
        self, x: Float[Tensor, "m d"], known: Float[Tensor, "k d"]
    ) -> Float[Tensor, "m d"]:
        """Allowed rows between x and the nearest one that is known, close to the border."""
        assert self.allowed is not None
        width = self.bounds[1] - self.bounds[0]
        inside = known[torch.cdist(x / width, known / width).argmin(-1)]
        share, step = torch.zeros(len(x), 1, dtype=x.dtype), 0.5
        for _ in range(BISECTIONS):
            further = self._on_steps(inside + (share + step) * (x - inside))
            share = share + step * self.allowed(further)[:, None]
            step /= 2
        found = self._on_steps(inside + share * (x - inside))
        return torch.where(self.allowed(found)[:, None], found, inside)

    def every(self) -> Float[Tensor, "m d"]:
        """All combinations of the discrete values; continuous columns at their lower ends."""
        return self._admitted(
            self._at(torch.arange(self.combinations), self.bounds[:1, self.continuous])
        )

    def _admitted(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "k d"]:
        """Those rows that are allowed."""
        return x if self.allowed is None else x[self.allowed(x)]

    def sifted(self, draw: Callable[[int], Tensor], num: int) -> Float[Tensor, "num d"]:
        """Allowed ones of rows that `draw` makes so many of as it takes, in their order.

        Where few are allowed, these and what the others are brought back to.
        """
        if self.allowed is None:
            return draw(num)
        if len(self._hits) < LEAST_SHARE * KNOWN:
            return self.snap(draw(num))
        many = num
        while len(found := self._admitted(draw(many))) < num:
            many = 2 * many + 8
        return found[:num]

    def sobol(self, num: int, generator: torch.Generator) -> Float[Tensor, "m d"]:
        """Scrambled Sobol points; every combination once where that is not more.

        A few combinations of discrete values are one coordinate, so that each has its share.
        """
        if self.allowed is not None:
            if self.finite and self.combinations <= num:
                return self.every()
            free = replace(self, allowed=None)
            return self.sifted(lambda many: free.sobol(many, generator), num)
        if not self.discrete:
            return sobol(self.bounds, num, generator)
        if self.finite and self.combinations <= num:
            return self.every()
        if self.combinations > FEW:
            return self.placed(unit_sobol(self.num_coordinates, num, generator))
        unit = unit_sobol(1 + len(self.continuous), num, generator)
        low, high = self.bounds[:, self.continuous]
        combination = (unit[:, 0] * self.combinations).long().clamp_max(self.combinations - 1)
        return self._at(combination, low + (high - low) * unit[:, 1:])

    def sobol_sequence(self, start: int, num: int, seed: int) -> Float[Tensor, "num d"]:
        """Points number start, ..., start + num - 1 of the scrambled sequence of `seed`."""
        if self.allowed is not None:
            free = replace(self, allowed=None)
            return self.sifted(lambda many: free.sobol_sequence(0, many, seed), start + num)[start:]
        if not self.discrete:
            return sobol_sequence(self.bounds, start, num, seed)
        return self.placed(unit_sobol_sequence(self.num_coordinates, start, num, seed))

    def placed(self, unit: Float[Tensor, "m c"]) -> Float[Tensor, "m d"]:
        """From the unit cube of the coordinates, continuous ones first."""
        free = self.continuous
        x = self.bounds[0].repeat(len(unit), 1)
        low, high = self.bounds[:, free]
        # low + width u may round to the next number above the upper end
        x[:, free] = (low + (high - low) * unit[:, : len(free)]).clamp(low, high)
        for part, share in zip(self.discrete, unit[:, len(free) :].unbind(1), strict=True):
            x[:, part.columns] = part.values(part.spread(share), self.bounds[:, part.columns])
        return x

    def best_of_each(
        self, x: Float[Tensor, "m d"], values: Float[Tensor, " m"]
    ) -> Int[Tensor, " s"]:
        """The row with the highest value of each combination of discrete values, if there are few.

        Where all is continuous that is none.
        """
        if not self.discrete or self.combinations > FEW:
            return torch.empty(0, dtype=torch.long)
        combination = self._combination(x)
        best = [
            values.masked_fill(combination != each, -torch.inf).argmax()
            for each in combination.unique()
        ]
        return torch.stack(best)

    def ascend(
        self,
        objective: Objective,
        start: Float[Tensor, "b d"],
        *,
        scale: Float[Tensor, " d"] | None = None,
        compete: bool = False,
        stragglers: float = 0.0,
        max_iterations: int = 30,
        gradient_tolerance: float = 1e-6,
        value_tolerance: float = 1e-9,
    ) -> Ascent:
        """As `ascent.ascend`, over admissible designs.

        First grids climb like continuous columns, and snap where they end. Then discrete values are
        held while the continuous columns climb; then neighbours in one discrete value are climbed
        from, and taken while they are higher. With `compete` the neighbours of the best ends only.
        `converged` counts the climbs with discrete values held.
        """
        if self.allowed is not None:
            free = replace(self, allowed=None)
            inside = _within(objective, self.allowed)
            ends = free.ascend(
                inside,
                self.snap(start),
                scale=scale,
                compete=compete,
                stragglers=stragglers,
                max_iterations=max_iterations,
                gradient_tolerance=gradient_tolerance,
                value_tolerance=value_tolerance,
            )
            return self._along_border(inside, ends, scale, compete)
        climb = partial(
            ascend,
            compete=compete,
            stragglers=stragglers,
            max_iterations=max_iterations,
            gradient_tolerance=gradient_tolerance,
            value_tolerance=value_tolerance,
        )
        if not self.discrete:
            return climb(objective, start, self.bounds, scale=scale)

        def climb_along(free: Tensor, problem: Tensor, start: Tensor) -> Ascent:
            """The others are held."""
            if not len(free):
                with torch.no_grad():
                    return Ascent(start, objective(problem, start), 0, len(start))
            ascent = climb(
                lambda i, x: objective(problem[i], start[i].index_copy(1, free, x)),
                start[:, free],
                self.bounds[:, free],
                scale=None if scale is None else scale[free],
            )
            return ascent._replace(x=start.index_copy(1, free, ascent.x))

        every, start = torch.arange(len(start)), self.snap(start)
        relaxed, iterations = self.relaxed, 0
        if len(relaxed) > len(self.continuous):
            along = climb_along(relaxed, every, start)
            start = _higher(objective, every, start, self.snap(along.x))
            iterations = along.iterations
        held = partial(climb_along, self.continuous)
        ends = held(every, start)
        hopping = _ranked(ends.value)[:ENDS] if compete else every
        hopped = self._hop(objective, held, ends, hopping, stragglers, value_tolerance)
        return hopped._replace(iterations=iterations + hopped.iterations)

    @torch.no_grad()
    def _along_border(
        self, inside: Objective, ends: Ascent, scale: Float[Tensor, " d"] | None, compete: bool
    ) -> Ascent:
        """On from those ends by a search around them: a climb stops where it meets the border."""
        free = self.continuous
        if not len(free):
            return ends
        width = (self.bounds[1] - self.bounds[0])[free]
        reach = width if scale is None else torch.minimum(scale[free], width)
        some = _ranked(ends.value)[:1] if compete else torch.arange(len(ends.x))
        few = not compete and len(some) <= FEW_ENDS
        x, value = ends.x.clone(), ends.value.clone()
        size = torch.full((len(some), 1, 1), AROUND, dtype=x.dtype)
        num = PER_COLUMN * len(free)
        for number in range(SEARCHES if few else FEWER_SEARCHES):
            seeded = torch.Generator().manual_seed(number)
            off = torch.randn(num, len(free), generator=seeded, dtype=x.dtype)
            near = x[some][:, None].repeat(1, num, 1)
            near[..., free] = near[..., free] + size * off * reach
            near = near.clamp(self.bounds[0], self.bounds[1])
            heights = inside(some.repeat_interleave(num), near.flatten(0, 1)).view(-1, num)
            top, which = heights.max(-1)
            higher = top > value[some]
            x[some[higher]] = near[higher, which[higher]]
            value[some[higher]] = top[higher]
            size = size * torch.where(higher, WIDER, NARROWER)[:, None, None]
        return ends._replace(x=x, value=value)

    def _hop(
        self,
        objective: Objective,
        climb: Callable[[Tensor, Tensor], Ascent],
        ends: Ascent,
        hopping: Int[Tensor, " h"],
        stragglers: float,
        value_tolerance: float,
    ) -> Ascent:
        """On from those ends, from neighbour to neighbour in the discrete values."""
        x, value, iterations = ends.x, ends.value.clone(), ends.iterations
        least = value_tolerance * max([0.0, *value[hopping].abs().tolist()])
        for _ in range(HOPS):
            if len(hopping) <= stragglers * len(x):
                break
            near = self.neighbours(x[hopping])
            h, k, d = near.shape
            heights = _heights(objective, hopping.repeat_interleave(k), near.flatten(0, 1))
            tried = _ranked(heights.view(h, k))[:, :TRIED]
            start = near.gather(1, tried[:, :, None].expand(-1, -1, d)).flatten(0, 1)
            climbed = climb(hopping.repeat_interleave(tried.shape[1]), start)
            iterations += climbed.iterations
            top, which = climbed.value.view(h, -1).max(-1)
            which = which + torch.arange(h) * tried.shape[1]
            higher = top > value[hopping] + least
            hopping = hopping[higher]
            x[hopping], value[hopping] = climbed.x[which[higher]], top[higher]
        return Ascent(x, value, iterations, ends.converged)

    def neighbours(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "m k d"]:
        """Designs that differ in one discrete value."""
        near = []
        for part in self.discrete:
            ends = self.bounds[:, part.columns]
            index = part.nearest(x[:, part.columns], ends)
            for shift in part.shifts:
                moved = x.clone()
                moved[:, part.columns] = part.values(part.shifted(index, shift), ends)
                near.append(moved)
        return torch.stack(near, dim=1)

    def _columns(self, held: Iterable[Discrete]) -> Int[Tensor, " c"]:
        """All columns but those of the held ones."""
        free = torch.ones(self.dimension, dtype=torch.bool)
        for part in held:
            free[part.columns] = False
        return free.nonzero().flatten()

    def _at(
        self, combination: Int[Tensor, " m"], free: Float[Tensor, "#m c"]
    ) -> Float[Tensor, "m d"]:
        """The designs with these combinations of discrete values, and these continuous ones."""
        x = self.bounds[0].repeat(len(combination), 1)
        x[:, self.continuous] = free.expand(len(combination), -1)
        for part in reversed(self.discrete):
            index, combination = combination % part.count, combination // part.count
            x[:, part.columns] = part.values(index, self.bounds[:, part.columns])
        return x

    def _combination(self, x: Float[Tensor, "m d"]) -> Int[Tensor, " m"]:
        """The number of each design's combination of discrete values."""
        number = torch.zeros(len(x), dtype=torch.long)
        for part in self.discrete:
            ends = self.bounds[:, part.columns]
            number = number * part.count + part.nearest(x[:, part.columns], ends)
        return number


def _within(objective: Objective, allowed: Allowed) -> Objective:
    """Nothing is worse than what is not allowed."""

    def value(problem: Tensor, x: Tensor) -> Tensor:
        return torch.where(allowed(x.detach()), objective(problem, x), -torch.inf)

    return value


def _ranked(values: Float[Tensor, "*m k"]) -> Int[Tensor, "*m k"]:
    """Highest first, and equals in their order; topk takes any of them."""
    return values.sort(dim=-1, descending=True, stable=True).indices


@torch.no_grad()
def _heights(
    objective: Objective, problem: Int[Tensor, " m"], x: Float[Tensor, "m d"]
) -> Float[Tensor, " m"]:
    parts = zip(problem.split(CHUNK), x.split(CHUNK), strict=True)
    return torch.cat([objective(some, at) for some, at in parts])


@torch.no_grad()
def _higher(
    objective: Objective,
    problem: Int[Tensor, " b"],
    x: Float[Tensor, "b d"],
    other: Float[Tensor, "b d"],
) -> Float[Tensor, "b d"]:
    """For each problem the one of two points where it is higher."""
    return torch.where((objective(problem, other) > objective(problem, x))[:, None], other, x)


class Held(NamedTuple):
    """Columns that are not free, and where they are."""

    columns: Int[Tensor, " h"]
    values: Float[Tensor, " h"]

    def put(self, x: Float[Tensor, "*m d"]) -> Float[Tensor, "*m d"]:
        """x with these columns where they are held."""
        values = self.values.expand(*x.shape[:-1], -1)
        return x.index_copy(-1, self.columns, values)


Box = Domain | Float[Tensor, "2 d"]


def as_domain(box: Box) -> Domain:
    """A domain as it is; the ends of a box as a domain without anything discrete."""
    return box if isinstance(box, Domain) else Domain(box)


def checked_domain(box: Domain | Tensor, dimension: int) -> Domain:
    """The same, refused where it makes no box with that number of columns."""
    if isinstance(box, Domain):
        return replace(box, bounds=checked_bounds(box.bounds, dimension))
    return Domain(checked_bounds(box, dimension))


def checked_bounds(bounds: Tensor, dimension: int) -> Float[Tensor, "2 d"]:
    """The lower and upper ends of the box in double precision, refused where they make no box."""
    bounds = torch.as_tensor(bounds, dtype=torch.double).detach().clone()
    if bounds.shape != (2, dimension):
        raise ValueError(
            f"x has {dimension} parameters, so bounds must have shape (2, {dimension}), lower and "
            f"upper ends of the box, got {tuple(bounds.shape)}"
        )
    if not (bounds.isfinite().all() and (bounds[0] < bounds[1]).all()):
        raise ValueError(
            f"every lower bound must be finite and below its upper bound, got {bounds.tolist()}"
        )
    return bounds
