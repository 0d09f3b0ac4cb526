"""The places that decide whether a design keeps a limit: where the noise most likely breaks it.

In the normal scores of all causes, draws around such places tell small shares (importance sampling
by cross-entropy, from one limit that is easier to break to the next). What is not known of f may
break the limit elsewhere: f less two standard deviations has a say, too.
"""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.blocks import in_blocks
from meseta.gp.joint import JointPosterior
from meseta.gp.mixture import Mixture
from meseta.measures.capability import BEYOND
from meseta.measures.measure import Room
from meseta.noise import NoiseLaw
from meseta.noise.draws import Draws, draw

MOST, FURTHEST = 4, 6.0  # places, and how far out they may lie
ROUNDS, LOOKED = 5, 2**11  # of draws, and how many each time
ELITE = 64  # draws that are nearest to breaking a limit, where few do
LOWERED = 2.0  # standard deviations of f
ASIDE = 0.5  # the cosine below which a direction is another one
RARE = 0.05  # of the share that is broken: not worth a place of its own
APART = 1.0  # standard deviations between two places


@torch.no_grad()
def decisive(
    mixture: Mixture,
    law: NoiseLaw,
    x: Float[Tensor, " d"],
    rooms: Sequence[Room],
    generator: torch.Generator,
) -> Float[Tensor, "c k"]:
    """Return normal scores for `draw(..., around=)`. A room changes as f does, up or down."""
    posterior = mixture.heaviest
    found = torch.empty(0, 0, dtype=torch.double)
    for _ in range(ROUNDS):
        draws = draw(law, len(x), LOOKED, generator, BEYOND, posterior.scatters, found)
        assert draws.causes is not None
        weights, left = draws(x[None]).weights[0], _left(mixture, draws, x, rooms)
        levels = [float(room.kthvalue(ELITE).values.clamp_min(0)) for room in left]
        each = [
            _directions(draws.causes, weights * (room <= level))
            for room, level in zip(left, levels, strict=True)
        ]
        settled = len(found) and not any(levels[: len(rooms)])
        found = _apart([*(places[0] for places in each), *(p for e in each for p in e[1:])])
        if settled:
            break
    return found


def _left(
    mixture: Mixture, draws: Draws, x: Float[Tensor, " d"], rooms: Sequence[Room]
) -> list[Float[Tensor, " m"]]:
    """The room to each limit, by the best guess of f, and then where f is worse than that."""
    z, n = draws(x[None]).z[0], len(mixture.heaviest.X)
    values = draws.in_use(in_blocks(mixture.mean_f, z, n)[None], mixture.scatter(x[None]))[0]
    std = in_blocks(partial(_variance, mixture.heaviest), z, n).sqrt()
    guess = [room(values) for room in rooms]
    return [*guess, *(room - LOWERED * std for room in guess)]


def _variance(posterior: JointPosterior, z: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
    known = posterior.whiten(posterior.k_f_data(z)).square().sum(-1)
    return (posterior.kernel.prior_variance - known).clamp_min(0.0)


def _directions(
    causes: Float[Tensor, "m k"], weights: Float[Tensor, " m"]
) -> list[Float[Tensor, " k"]]:
    """Weighted means of scores, each of those that lie in about the same direction."""
    lengths = causes.norm(dim=-1).clamp_min(1e-300)
    found: list[Tensor] = []
    rest, whole = weights, float(weights.sum())
    while len(found) < MOST and float(rest.sum()) > (RARE * whole if found else -1.0):
        leader = causes[torch.where(rest > 0, lengths, torch.inf).argmin()]
        for _ in range(2):  # once more around their mean
            cosine = causes @ leader / (lengths * leader.norm().clamp_min(1e-300))
            near = rest * (cosine > ASIDE)
            if not near.any():
                break
            leader = (near @ causes) / near.sum()
        found.append(leader * min(1.0, FURTHEST / max(float(leader.norm()), 1e-300)))
        if not near.any():
            break
        rest = rest * (cosine <= ASIDE)
    return found


def _apart(places: Sequence[Float[Tensor, " k"]]) -> Float[Tensor, "c k"]:
    """The first of them that are not next to each other."""
    found: list[Tensor] = []
    for place in places:
        if len(found) < MOST and all(float((place - f).norm()) > APART for f in found):
            found.append(place)
    return torch.stack(found)
