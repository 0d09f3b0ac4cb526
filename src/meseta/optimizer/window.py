"""The operating window: how far settings may go around a design while the goal is still met."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float
from scipy.optimize import minimize
from torch import Tensor

from meseta.gp.limited import Assessed, sure_of
from meseta.measures.constraints import Constraint
from meseta.optimizer.allocation import experiment, in_a_line, kept_by
from meseta.optimizer.empty_box import Box, largest_box
from meseta.optimizer.goals import Goal, deviations, goals_of, margins, read_confidence
from meseta.optimizer.record import SURE, Kept, percent
from meseta.space.sobol import unit_sobol
from meseta.space.space import Design, Params

if TYPE_CHECKING:
    from meseta.optimizer.ask_tell import Optimizer

DRAWS, QUICK = 256, 64  # of the noise, and while a box is still too large
RAYS, ALONG = 48, 9  # from the design outwards, and points on each
BISECTIONS = 7  # towards where a goal is missed first
INSIDE = 128  # points in a box at which it is looked for a place that misses a goal
CORNERS = 7  # parameters up to which all corners of a box are looked at
DESCENTS, STEPS = 2, 12  # to such a place, for each goal, and steps of each
ROUNDS = 40  # of boxes
CLOSE = 0.01  # of the spread of an outcome: a margin that is left and need not be used
CHECKED, CHECKS = 3, 4  # places that samples check, and how often the goal is moved by that
# What a box is smaller than the first places that miss a goal: at first, and more from time to time
SHRUNK, MORE = 3e-3, 1.15
SMALLER = 0.015  # and so on, where the rounds are over
EDGE = 1e-9  # a margin that counts as kept
NARROW = 1e-6  # of a range: a box that is narrower is none


class Side(NamedTuple):
    """The settings of one parameter in a window."""

    low: float
    high: float
    share: float  # of its range, on the scale on which it is searched
    at_ends: tuple[bool, bool]  # whether a side is the end of the range; otherwise a goal sets it


@dataclass(frozen=True)
class Window:
    """A box of settings: wherever a design lies in it, the goal is met in use.

    The confidence is that of each single design in the box, also of the worst that was found. It
    is not the probability that all of them meet the goal at once.
    """

    confidence: float  # that was asked for
    sure: float  # that the worst place found meets all goals as often as is asked for, together
    params: Design  # the design inside
    sides: Mapping[str, Side]  # empty: there is no window
    fixed: Design  # settings that stay as they are: whole numbers, steps, choices
    kept: Mapping[str, Kept]  # how the design itself meets the goals
    worst: Design  # the worst place that was found in the window, its design if there is none
    worst_kept: Mapping[str, Kept]
    looked_at: int  # places in the last box that were looked at
    experiment: Design | None  # where a value would tell most; None: there is a window

    @property
    def found(self) -> bool:
        return bool(self.sides)

    @property
    def share(self) -> float:
        """Of all ranges together."""
        return math.prod(side.share for side in self.sides.values()) if self.sides else 0.0

    @property
    def verdict(self) -> str:
        """In a sentence."""
        if self.found:
            share = float(f"{100 * self.share:.2g}")
            return (
                f"the goal is met wherever these settings lie, {share:g} % of the "
                f"ranges; at the worst place that was found with a probability of "
                f"{percent(self.sure)} by what is known (asked: {percent(self.confidence)})"
            )
        if self.sure >= self.confidence:
            return (
                "there is no window: the design lies at the very edge of what meets the goal, or "
                "none of its settings takes any value"
            )
        if all((k.share or 0.0) >= k.constraint.probability for k in self.kept.values()):
            return (
                f"there is no window: the goal is met at the design by the best guess, but that "
                f"is sure with a probability of {percent(self.sure)} only (asked: "
                f"{percent(self.confidence)}). More experiments would tell"
            )
        return (
            "there is no window: the goal is not met even at the design. Narrower tolerances, or a "
            "lower probability of the goal, would help"
        )

    def __str__(self) -> str:
        lines = [self.verdict]
        for name, side in self.sides.items():
            ends = [" (end of the range)" if end else "" for end in side.at_ends]
            lines.append(f"  {name}: {side.low:.5g}{ends[0]} to {side.high:.5g}{ends[1]}")
        if self.fixed:
            lines.append(f"  as they are: {in_a_line(self.fixed)}")
        lines.append(f"design: {in_a_line(self.params)}")
        lines += [f"  {name}: {kept}" for name, kept in self.kept.items()]
        if self.found:
            lines.append(f"worst of {self.looked_at} places: {in_a_line(self.worst)}")
            lines += [f"  {name}: {kept}" for name, kept in self.worst_kept.items()]
        if self.experiment is not None:
            lines.append(f"an experiment that would tell most: {in_a_line(self.experiment)}")
        return "\n".join(lines)


def window(
    optimizer: "Optimizer",
    goal: Constraint | None,
    params: Params | None = None,
    confidence: float = SURE,
) -> Window:
    """The largest box of settings around a design in which all goals are met.

    Largest is the product of its sides, relative to the ranges. Numbers that take any value make
    up the box; whole numbers, steps and choices stay as they are in the design, which is the
    recommended one unless another is given. The noise acts on whatever is set.
    """
    confidence = read_confidence(confidence)
    goals = goals_of(optimizer, goal)
    given = optimizer.recommend().params if params is None else optimizer.promise(params).params
    center = optimizer.environments.to_row(given).clamp(0, 1)
    look = _Look(optimizer, goals, confidence, center)
    assessed = look.assessed(center)
    kept = kept_by(optimizer, goals, assessed, center)
    sure = sure_of(assessed) >= confidence
    if sure and len(look.free):
        box, worst, of_worst, seen = _found(look, assessed)
        sides = _sides(optimizer, look, box)
        if sides:
            fixed = {name: value for name, value in given.items() if name not in sides}
            row = look.rows(worst[None])[0]
            at_worst = kept_by(optimizer, goals, of_worst, row)
            place = optimizer.environments.from_row(row)
            at = sure_of(of_worst), given, sides, fixed, kept, place, at_worst, seen
            return Window(confidence, *at, None)
    where = None if sure else experiment(optimizer, goals, assessed, center)
    return Window(
        confidence, sure_of(assessed), given, {}, dict(given), kept, given, kept, 1, where
    )


class _Look:
    """Looks at rows around a center for places that miss a goal.

    These are rows of the free columns alone.
    """

    def __init__(
        self,
        optimizer: "Optimizer",
        goals: tuple[Goal, ...],
        confidence: float,
        center: Float[Tensor, " d"],
    ) -> None:
        self.domain, self.goals, self.row = optimizer.space.cube, goals, center
        self.confidence, self.seed = confidence, optimizer.seed
        self.environments = optimizer.environments
        variables = [optimizer.space.columns_of(name) for name in self.environments.variables]
        held = {i for place in variables for i in range(place.start, place.stop)}
        self.free = torch.tensor([i for i in self.domain.continuous.tolist() if i not in held])
        self.by = deviations(confidence, len(goals))
        generator = torch.Generator().manual_seed(self.seed)
        self.all = [goal.limited(DRAWS, generator) for goal in goals]
        self.few = [limit.with_fewer(QUICK) for limit in self.all]
        self.limits = self.few
        self.moved = torch.zeros(len(goals), 1, dtype=torch.double)
        self.seen = 0  # places that were looked at in the last box

    @property
    def center(self) -> Float[Tensor, " f"]:
        return self.row[self.free]

    def rows(self, u: Float[Tensor, "m f"]) -> Float[Tensor, "m d"]:
        return self.row.expand(len(u), -1).index_copy(1, self.free, u)

    def room(self, u: Float[Tensor, "m f"]) -> Float[Tensor, "c m"]:
        """The margins of the goals, and the room to rules; negative is what is missed."""
        x = self.rows(u)
        room = margins(self.limits, x, self.by) + self.moved
        rules = self.domain.allowed
        if rules is None:
            return room
        room = torch.cat([room, rules.room(x) + EDGE])
        if rules.others is not None:
            kept = rules.others(x.detach())
            room = torch.cat([room, torch.where(kept, 1.0, -1.0)[None].double()])
        return room

    @torch.no_grad()
    def least(self, u: Float[Tensor, "m f"]) -> Float[Tensor, " m"]:
        return self.room(u).amin(0)

    @torch.no_grad()
    def roughly(self, u: Float[Tensor, "m f"]) -> Float[Tensor, " m"]:
        """The same by few draws: what is found so is looked at again by more of them."""
        known, self.limits = self.limits, self.few
        try:
            return self.least(u)
        finally:
            self.limits = known

    @torch.no_grad()
    def keep_center(self) -> None:
        """Moves margins so that the center is on a border at most: samples are sure of it."""
        self.moved = torch.zeros_like(self.moved)
        self.moved = (EDGE - self.room(self.center[None])[: len(self.goals)]).clamp_min(0.0)

    def move(self, u: Float[Tensor, " f"], of: tuple[Assessed, ...], *, outwards: bool) -> bool:
        """Moves margins to what samples say of a place, where the center then meets the goals."""
        exact = self.exact(of)
        with torch.no_grad():
            off = exact - self.room(u[None])[: len(exact)]
            off = off if outwards else off.clamp_max(0.0)
            known, self.moved = self.moved, self.moved + off
            if bool((self.room(self.center[None]) < 0).any()):
                self.moved = known
                return False
        return True

    def exact(self, of: tuple[Assessed, ...]) -> Float[Tensor, "c 1"]:
        """The margins that samples leave."""
        return torch.tensor([[each.room(self.by)] for each in of], dtype=torch.double)

    def assessed(self, x: Float[Tensor, " d"]) -> tuple[Assessed, ...]:
        """By samples of f."""
        return tuple(goal.assessed(x) for goal in self.goals)

    def first_missed(
        self, ends: Float[Tensor, "m f"], along: int = ALONG, *, rough: bool = False
    ) -> Tensor:
        """On the way from the center to each of the ends: where a goal is missed first, if at all.

        Every box that holds the center and a place further on holds that one as well.
        """
        steps = torch.linspace(0, 1, along, dtype=torch.double)[1:]
        way = ends - self.center
        on_way = self.center + steps[None, :, None] * way[:, None]
        least = self.roughly if rough else self.least
        missed = least(on_way.flatten(0, 1)).view(len(ends), -1) < 0
        some = missed.any(-1)
        way = way[some]
        high = steps[missed[some].int().argmax(-1)]
        low = high - steps[0]
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            bad = least(self.center + middle[:, None] * way) < 0
            low, high = torch.where(bad, low, middle), torch.where(bad, middle, high)
        return self.center + high[:, None] * way

    def descend(self, u: Float[Tensor, " f"], row: int, box: Box) -> Float[Tensor, " f"]:
        """Where in a box one goal is missed by most, or met by least, starting from a place."""
        width = (box.high - box.low).clamp_min(1e-12)

        def value(share: Any) -> tuple[float, Any]:
            at = torch.from_numpy(share).requires_grad_()
            with torch.enable_grad():
                room = self.room((box.low + width * at)[None])[row, 0]
                (slope,) = torch.autograd.grad(room, at)
            return float(room.detach()), slope.numpy()

        begin = ((u - box.low) / width).clamp(0, 1).numpy()
        found = minimize(
            value,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(u),
            options={"maxiter": STEPS},
        )
        return box.low + width * torch.from_numpy(found.x).clamp(0, 1)

    def inside(self, box: Box) -> Float[Tensor, "m f"]:
        """Places all over a box."""
        unit = unit_sobol(len(self.free), INSIDE, torch.Generator().manual_seed(self.seed))
        return box.low + (box.high - box.low) * unit

    def corners(self, box: Box) -> Float[Tensor, "m f"]:
        """All, or some if there are many."""
        f = len(self.free)
        if f <= CORNERS:
            unit = ((torch.arange(2**f)[:, None] >> torch.arange(f)) & 1).double()
        else:
            unit = unit_sobol(f, INSIDE, torch.Generator().manual_seed(self.seed)).round()
        return box.low + (box.high - box.low) * unit


def _found(
    look: _Look, assessed: tuple[Assessed, ...]
) -> tuple[Box, Float[Tensor, " f"], tuple[Assessed, ...], int]:
    """The largest box, the worst of so many places in it, and what samples say about that.

    By cutting planes: the largest box without any place that is known to miss a goal; then such
    places are looked for in it.
    """
    center, f = look.center, len(look.free)
    look.keep_center()
    whole = Box(torch.zeros(f, dtype=torch.double), torch.ones(f, dtype=torch.double))
    points = look.first_missed(_ends(look, whole), rough=True)
    shrunk, checks = SHRUNK, 0
    box, best = whole, (Box(center, center), center, assessed, 1)
    for number in range(2 * ROUNDS):
        if number < ROUNDS:
            box = _shrunk(largest_box(center, points, whole), center, shrunk)
        else:
            box = _shrunk(box, center, SMALLER)
        places, room = _worst(look, box)
        bad = places[room < 0]
        if len(bad):
            # on the way there, from what is inside, there is hardly more than one border
            points = torch.cat([points, look.first_missed(bad, 2)])
            shrunk *= MORE
            continue
        if len(look.limits[0].draws.own) < DRAWS:  # now with all of them
            look.limits = look.all
            look.keep_center()
            continue
        order = room.argsort()[:CHECKED]
        each = [(place, look.assessed(look.rows(place[None])[0])) for place in places[order]]
        worst, of_worst = min(each, key=lambda pair: sure_of(pair[1]))
        checks += 1
        if sure_of(of_worst) >= look.confidence:
            best = max(best, (box, worst, of_worst, look.seen), key=lambda found: found[0].volume)
            spare = float(look.exact(of_worst).amin())
            if checks > CHECKS or number >= ROUNDS or spare < CLOSE:
                return best
            if not look.move(worst, of_worst, outwards=True):
                return best
            points, shrunk = look.first_missed(_ends(look, whole)), SHRUNK
        elif checks <= CHECKS and look.move(worst, of_worst, outwards=False):
            points = torch.cat([points, look.first_missed(_ends(look, whole))])
        elif best[0].volume > 0:
            return best
        else:
            points = torch.cat([points, worst[None]])
            shrunk *= MORE
    return best


def _worst(look: _Look, box: Box) -> tuple[Float[Tensor, "m f"], Float[Tensor, " m"]]:
    """Places in a box with their room; where none misses a goal, also those of descents."""
    places = look.corners(box)
    with torch.no_grad():
        rooms = look.room(places)
    if bool((rooms >= 0).all()):
        more = look.inside(box)
        with torch.no_grad():
            places, rooms = torch.cat([places, more]), torch.cat([rooms, look.room(more)], dim=1)
    look.seen = len(places)
    least = rooms.amin(0)
    if bool((least < 0).any()):
        return places, least
    further = []
    for row in range(len(look.goals)):
        for start in rooms[row].argsort()[:DESCENTS]:
            further.append(look.descend(places[start], row, box))
            look.seen += STEPS
    more = torch.stack(further)
    return torch.cat([places, more]), torch.cat([least, look.least(more)])


def _ends(look: _Look, whole: Box) -> Float[Tensor, "m f"]:
    """The ends of rays from the center: on the sides of the whole, in its corners, along axes."""
    f, center = len(look.free), look.center
    unit = unit_sobol(f, RAYS, torch.Generator().manual_seed(look.seed))
    way = unit - center
    reach = torch.where(way > 0, (1 - center) / way, torch.where(way < 0, -center / way, torch.inf))
    on_sides = center + reach.amin(-1, keepdim=True).clamp_max(1e9) * way
    axes = center.repeat(2 * f, 1)
    axes[range(f), range(f)] = 0.0
    axes[range(f, 2 * f), range(f)] = 1.0
    return torch.cat([on_sides.clamp(0, 1).nan_to_num(0.5), axes, look.corners(whole)])


def _shrunk(box: Box, center: Float[Tensor, " f"], share: float) -> Box:
    """By a share of its width on each side, but for ends of ranges, and with the center still."""
    less = share * (box.high - box.low)
    low = torch.where(box.low > 0, torch.minimum(center, box.low + less), box.low)
    high = torch.where(box.high < 1, torch.maximum(center, box.high - less), box.high)
    return Box(low, high)


def _sides(optimizer: "Optimizer", look: _Look, box: Box) -> dict[str, Side]:
    """In the units of the parameters; empty where the box has no volume."""
    if bool((box.high - box.low < NARROW).any()):
        return {}
    space = optimizer.space
    low, high = (space.to_values(space.columns(look.rows(u[None])[0])) for u in box)
    names = {space.columns_of(name).start: name for name in space.names}
    sides = {}
    for i, column in enumerate(look.free.tolist()):
        name, ends = names[column], (float(box.low[i]), float(box.high[i]))
        at_ends = (ends[0] <= 0, ends[1] >= 1)
        sides[name] = Side(float(low[name]), float(high[name]), ends[1] - ends[0], at_ends)
    return {name: sides[name] for name in space.names if name in sides}
