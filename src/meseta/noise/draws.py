"""The same draws of the noise at every design: functions of x that can be differentiated."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from meseta.noise.joint import own_and_shared
from meseta.noise.law import NoiseLaw, OneDimensional, symmetric_root
from meseta.noise.normal import Normal
from meseta.noise.placed import Placed
from meseta.noise.shared import Shared
from meseta.noise.substitution import Substituted

BISECTIONS = 60
ROUNDED = 1e-15  # numbers between 0 and 1 do not come closer to these
TAIL = 1e-12  # mass of a law beyond the interval in which its quantiles are sought
WIDE, PLAIN = 1 / 8, 1 / 8  # of draws around centers: further out everywhere, and by the law itself


class Places(NamedTuple):
    """Values that designs have in use, and how much each of them counts."""

    z: Float[Tensor, "b m d"]
    weights: Float[Tensor, "b m"]  # 1 together, for each design


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of all that is random in z(x).

    `own` are those of each parameter by itself: zeta where it is `Placed`, otherwise xi. `shared`
    are those of laws that move several parameters: xi, or where another choice is carried out,
    numbers between 0 and 1.
    """

    own: Float[Tensor, "m d"]
    counts: Float[Tensor, " m"]  # how much each of them counts
    marginals: tuple[NoiseLaw, ...]
    shared: tuple[tuple[list[int], NoiseLaw, Tensor], ...]
    extreme: bool = False  # all that can be counts alike, however rare it is
    scores: Float[Tensor, " m"] | None = None  # of what single values scatter by; None: by nothing
    causes: Float[Tensor, "m k"] | None = None  # normal scores of all that can be aimed

    def portion(self, first: int, num: int) -> "Draws":
        """Some of them."""
        some = slice(first, first + num)
        shared = tuple((dims, law, drawn[some]) for dims, law, drawn in self.shared)
        scores, causes = (None if e is None else e[some] for e in (self.scores, self.causes))
        return replace(
            self,
            own=self.own[some],
            counts=self.counts[some],
            shared=shared,
            scores=scores,
            causes=causes,
        )

    def in_use(
        self, f: Float[Tensor, "*more b m"], scatter: Float[Tensor, " b"]
    ) -> Float[Tensor, "*more b m"]:
        """Return the values of designs: f at their places, and what single values scatter by."""
        return f if self.scores is None else f + scatter[:, None] * self.scores

    def __call__(
        self, x: Float[Tensor, "b d"], factors: Float[Tensor, "b d"] | None = None
    ) -> Places:
        """What designs become; with `factors` by noise that is so many times as wide.

        A function of both that can be differentiated. See `widened`: it means the same, but for
        choices, which stay as they are.
        """
        columns = []
        weights = self.counts.expand(len(x), -1)
        for i, marginal in enumerate(self.marginals):
            own = self.own[None, :, i]
            if factors is not None:
                own = _wider(marginal, own, factors[:, i, None])
            if not isinstance(marginal, Placed):
                columns.append(x[:, i, None] + own)
                continue
            z = marginal.place(x[:, i], own)
            if marginal.edge == "truncate":  # such values are made anew: they do not count
                low, high = marginal.box
                if not self.extreme:
                    weights = weights * ((z >= low) & (z <= high))
                z = z.clamp(low, high)
            columns.append(z)
        z = torch.stack(columns, dim=-1)
        for dims, law, drawn in self.shared:
            if isinstance(law, Substituted):
                z[..., dims] = _substituted(law, x[:, dims], drawn, self.extreme)
            elif factors is None:
                z[..., dims] = z[..., dims] + drawn
            else:
                z[..., dims] = z[..., dims] + factors[:, None, dims] * drawn
        # where nothing is inside, the nearest values stand for what would be made
        weights = torch.where(weights.any(-1, keepdim=True), weights, 1.0)
        return Places(z, weights / weights.sum(-1, keepdim=True))


def draw(
    law: NoiseLaw,
    d: int,
    num: int,
    generator: torch.Generator,
    tail: float = 0.5,
    scatters: bool = False,
    around: Float[Tensor, "c k"] | None = None,
) -> Draws:
    """Quasi-random for what has causes of known laws, random for clouds of points and choices.

    The smaller the `tail` that matters, the more of the draws are far out, and the less each of
    these counts (importance sampling). Where single values scatter, they have a score each. With
    `around` most lie around these normal scores, and each counts by the density of all of them.
    """
    marginals, shared = own_and_shared(law.in_dimension(d), d)
    causes = [_num_causes(part) for _, part in shared]
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    engine = SobolEngine(d + sum(causes) + scatters, scramble=True, seed=seed)
    unit = engine.draw(num, dtype=torch.double).clamp(ROUNDED, 1 - ROUNDED)
    still = [i for i, each in enumerate(marginals) if not float(each.covariance_matrix) > 0]
    moved = torch.ones(unit.shape[1], dtype=torch.bool)
    moved[still] = False
    normal, counts = _aimed(torch.special.ndtri(unit[:, moved]), tail, around)
    unit[:, moved] = torch.special.ndtr(normal).clamp(ROUNDED, 1 - ROUNDED)
    own = [quantile(_of_one(each), u) for each, u in zip(marginals, unit.T[:d], strict=True)]
    drawn = [
        _caused(part, each) if each.shape[1] else _drawn(part, num, generator)
        for (_, part), each in zip(
            shared, unit[:, d : d + sum(causes)].split(causes, dim=1), strict=True
        )
    ]
    parts = [(dims, part, xi) for (dims, part), xi in zip(shared, drawn, strict=True)]
    scores = torch.special.ndtri(unit[:, -1]) if scatters else None
    place = torch.stack(own, dim=-1)
    return Draws(place, counts, tuple(marginals), tuple(parts), scores=scores, causes=normal)


def clouds(law: NoiseLaw, d: int) -> list[list[int]]:
    """The columns of laws of several parameters that can only be sampled."""
    _, shared = own_and_shared(law.in_dimension(d), d)
    return [
        dims for dims, part in shared if not _num_causes(part) and not isinstance(part, Substituted)
    ]


def draw_extremes(
    law: NoiseLaw,
    d: int,
    share: float | None,
    num: int,
    generator: torch.Generator,
    scatters: bool = False,
) -> Draws:
    """Corners of where the noise lies, and points between them: for the worst of all cases.

    With `share` of the central intervals of all parameters, whose box holds this share, and of what
    single values scatter by. Without it that is left out: it has no limits.
    """
    k = d + (scatters and share is not None)
    marginals, shared = own_and_shared(law.in_dimension(d), d)
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    unit = SobolEngine(k, scramble=True, seed=seed).draw(num, dtype=torch.double)
    half = torch.arange(num // 2)  # are corners; all of them, again and again, if there are few
    few = 2**k <= len(half)
    corners = (half[:, None] >> torch.arange(k)) & 1
    unit[: len(half)] = corners.double() if few else unit[: len(half)].round()
    rounds = max(1, len(half) // 2**k) if few else len(half)
    moved = k - d + sum(float(each.covariance_matrix) > 0 for each in marginals)
    each = None if share is None else share ** (1 / max(1, moved))
    own = [_between(_of_one(m), u, each) for m, u in zip(marginals, unit.T[:d], strict=True)]
    scores = _between(Normal(1.0), unit[:, d], each) if k > d else None
    others = []
    for number, (dims, part) in enumerate(shared):
        drawn = _drawn(part, num, generator)
        if isinstance(part, Substituted):  # with every corner every choice
            turn = (half // 2**k if few else half) * (2 * number + 1) % rounds
            drawn[: len(half)] = (turn + 0.5) / rounds
        others.append((dims, part, drawn))
    alike = torch.ones(num, dtype=torch.double)
    return Draws(torch.stack(own, dim=-1), alike, tuple(marginals), tuple(others), True, scores)


def _aimed(
    normal: Float[Tensor, "m k"], tail: float, around: Float[Tensor, "c k"] | None
) -> tuple[Float[Tensor, "m k"], Float[Tensor, " m"]]:
    """Normal scores of which more are further out, or around centers, and what each counts.

    Further out they are s times as wide. Beyond the quantile q of the tail these have the variance
    1 + q^2 / k along the average direction: the s of least cross-entropy. Around centers they have
    the density of a mixture, by which all of them count (balance heuristic). Some are those of the
    law itself, so that no count is large.
    """
    m, k = normal.shape
    if not k:
        return normal, normal.new_ones(m)
    q = torch.special.ndtri(torch.tensor(tail, dtype=torch.double))
    variance = 1 + q.square() / k
    if around is None or not len(around):
        lack = k * variance.log() / 2 - (variance - 1) * normal.square().sum(-1) / 2
        return variance.sqrt() * normal, lack.exp()
    wide, plain = round(WIDE * m), round(PLAIN * m)
    ends = [wide + plain + round((m - wide - plain) * i / len(around)) for i in range(len(around))]
    first, *parts = normal.tensor_split([wide, *ends])
    around = torch.cat([torch.zeros_like(around[:1]), around])
    aimed = [center + part @ _first_to(center) for center, part in zip(around, parts, strict=True)]
    scores = torch.cat([variance.sqrt() * first, *aimed])
    near = scores @ around.T - around.square().sum(-1) / 2  # logarithms, over the law itself
    far = (1 - 1 / variance) * scores.square().sum(-1) / 2 - k * variance.log() / 2
    shares = torch.tensor([len(first), *map(len, parts)], dtype=torch.double) / m
    over = torch.cat([far[:, None], near], dim=-1) + shares.log()
    return scores, (-over.logsumexp(-1)).exp()


def _first_to(center: Float[Tensor, " k"]) -> Float[Tensor, "k k"]:
    """A reflection of the first axis to a direction: the first number is the most even one."""
    length = float(center.norm())
    eye = torch.eye(len(center), dtype=torch.double)
    if not length:
        return eye
    off = eye[0] - center / length
    square = float(off.square().sum())
    return eye - 2 * torch.outer(off, off) / square if square > ROUNDED else eye


def unlimited(law: NoiseLaw, d: int, alone: bool = False) -> list[int]:
    """Columns whose noise has no limits, or moves with that of others so that none are known.

    With `alone` only the latter.
    """
    marginals, shared = own_and_shared(law.in_dimension(d), d)
    joint = {i for dims, part in shared if not isinstance(part, Substituted) for i in dims}
    return [
        i
        for i, each in enumerate(marginals)
        if i in joint or not (alone or _limited(_of_one(each)))
    ]


def _limited(law: OneDimensional) -> bool:
    return law.interval(1e-12) == law.interval(1e-6)


def _between(
    law: OneDimensional, u: Float[Tensor, " m"], share: float | None
) -> Float[Tensor, " m"]:
    """From 0 to 1 over the support of a law, or over the central interval with that share."""
    low, high = torch.tensor(law.interval(TAIL), dtype=torch.double)
    if share is not None:
        low, high = quantile(law, torch.tensor([(1 - share) / 2, (1 + share) / 2]).double())
    room = 1e-9 * (high - low)
    atoms, masses = law.atoms
    inside = atoms.sort().values
    inside = inside[(inside >= low - room) & (inside <= high + room)]
    if float(masses.sum()) > 1 - 1e-9:  # nothing lies between them
        return inside[(u * len(inside)).long().clamp_max(len(inside) - 1)]
    t = low + (high - low) * u
    at_ends = (u <= 0) | (u >= 1)
    # not where the law has a gap
    both = torch.stack([low, high])
    below = law.cdf(both) + ((atoms <= both[:, None]) * masses).sum(-1)
    reached = quantile(law, below[0] + (below[1] - below[0]) * u)
    t = torch.where((law.pdf(t) > 0) | at_ends, t, reached)
    every = torch.arange(len(u))
    if len(inside):
        t = torch.where(every % 4 == 3, inside[every // 4 % len(inside)], t)
    return t


def quantile(law: OneDimensional, u: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
    """The least value of xi with a probability of at least u to be at or below it."""
    if isinstance(law, Normal):
        mean, std = torch.as_tensor(law.bias).double(), law.covariance_matrix.sqrt()
        return mean.reshape(()) + std.reshape(()) * torch.special.ndtri(u)
    low, high = law.interval(TAIL)
    atoms, masses = law.atoms
    a, c = torch.full_like(u, low), torch.full_like(u, high)
    for _ in range(BISECTIONS):
        middle = (a + c) / 2
        below = law.cdf(middle) + (masses * (atoms <= middle[:, None])).sum(-1)
        a, c = torch.where(below < u, middle, a), torch.where(below < u, c, middle)
    return c


def _wider(
    law: NoiseLaw, own: Float[Tensor, "1 m"], factor: Float[Tensor, "b 1"]
) -> Float[Tensor, "b m"]:
    """Draws times a factor; those of an environment variable around its mean."""
    if isinstance(law, Placed) and law.kind == "replace":
        mean = float(law.law.mean)
        return mean + factor * (own - mean)
    return factor * own


def _of_one(law: NoiseLaw) -> OneDimensional:
    inner = law.law if isinstance(law, Placed) else law
    assert isinstance(inner, OneDimensional)
    return inner


def _num_causes(law: NoiseLaw) -> int:
    """The independent numbers behind a law of several parameters; 0: it can only be sampled."""
    if isinstance(law, Normal):
        return len(law.mean)
    return 1 if isinstance(law, Shared) else 0


def _caused(law: NoiseLaw, unit: Float[Tensor, "m k"]) -> Float[Tensor, "m d"]:
    """xi from numbers between 0 and 1."""
    if isinstance(law, Shared):
        s = quantile(_of_one(law.law), unit[:, 0])
        return s[:, None] * torch.tensor(law.loads or (1.0,), dtype=torch.double)
    return law.mean + torch.special.ndtri(unit) @ symmetric_root(law.covariance_matrix).T


def _drawn(law: NoiseLaw, num: int, generator: torch.Generator) -> Tensor:
    if isinstance(law, Substituted):
        return torch.rand(num, generator=generator, dtype=torch.double)
    return law.sample(num, generator)


def _substituted(
    law: Substituted, x: Float[Tensor, "b k"], drawn: Float[Tensor, " m"], extreme: bool
) -> Float[Tensor, "b m k"]:
    choices, matrix = (torch.tensor(a, dtype=torch.double) for a in (law.choices, law.matrix))
    if extreme:
        matrix = (matrix > 0) / (matrix > 0).sum(-1, keepdim=True)
    asked = (x[:, None] - choices).square().sum(-1).argmin(-1)
    ends = matrix.cumsum(-1)[asked]
    taken = (drawn[None, :, None] > ends[:, None, :-1]).sum(-1)
    return choices[taken]
