"""Beyond the ranges: experiments there, and how much of the noise falls where none was made."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.measures import Measure, WorstCase
from meseta.noise import NoiseLaw, Placed
from meseta.noise.draws import unlimited
from meseta.noise.perturbed import perturbed
from meseta.space.domain import Domain
from meseta.space.environments import Environments
from meseta.space.space import Space

EXPLORED = 2e-2  # share of the ranges: what lies this close to an evaluation is explored
DRAWS = 2**13
FEW = 16  # perturbed designs: the furthest lies about two standard deviations away
# From this share of the noise on, a robust value is mostly extrapolation, and a warning says so.
MUCH = 0.2


def check_wider(space: Space, law: NoiseLaw, environments: Environments, method: str) -> None:
    """Refuse experiments beyond the ranges that tell nothing, or that the method can't weigh."""
    for name in space.wider:
        if name in environments.variables:
            raise ValueError(
                f"evaluate=... of {name!r}: an Environment is no part of the design, so that its "
                "range is that of the experiments; widen low and high instead"
            )
        marginal = law.in_dimension(space.num_columns).marginals[space.columns_of(name).start]
        if isinstance(marginal, Placed) and marginal.edge != "allow":
            raise ValueError(
                f"evaluate=... of {name!r}: edge={marginal.edge!r} keeps it in its range, so that "
                "experiments beyond tell nothing; leave one of them out"
            )
    if space.wider and not methods.get(method).beyond:
        able = [name for name, each in methods.METHODS.items() if each.beyond]
        raise ValueError(
            f"evaluate=... of {', '.join(map(repr, space.wider))}: the method {method!r} weighs "
            f"designs only; take one of {', '.join(map(repr, able))}, or leave evaluate out"
        )


def check_worst_case(measure: Measure, law: NoiseLaw, space: Space) -> None:
    """Refuse the worst case of noise that has none."""
    if not isinstance(measure, WorstCase):
        return

    def named(columns: list[int]) -> str:
        return ", ".join(repr(n) for n in space.names if space.columns_of(n).start in columns)

    if joint := named(unlimited(law, space.num_columns, alone=True)):
        raise ValueError(
            f"{measure}: the noise of {joint} moves several parameters together, and its limits "
            "are not known; take Quantile(0.001) or CVaR(0.01)"
        )
    if measure.share is None and (without := named(unlimited(law, space.num_columns))):
        raise ValueError(
            f"WorstCase(): the noise of {without} has no limits, so that there "
            "is no worst case; say how much of the noise counts, WorstCase(0.99), or take a law "
            "with limits, such as TruncatedNormal"
        )


class Beyond(NamedTuple):
    """How much of the noise at a design falls beyond everything that was evaluated."""

    share: float
    outside: float  # the part of it that falls where no experiment is allowed


def beyond(
    law: NoiseLaw, x: Float[Tensor, " d"], evaluated: Float[Tensor, "n d"], space: Space
) -> Beyond:
    """Return how much of the noise at x falls outside the box of all evaluations.

    Args:
        law: The noise of all columns.
        x: A design, a row of the unit cube.
        evaluated: Where f was evaluated, rows of the unit cube.
        space: The parameters.
    """
    low, high = space.bounds
    lowest, highest = low + (high - low) * space.experiments.bounds
    rows, slack = space.columns(evaluated), EXPLORED * (high - low)
    generator = torch.Generator().manual_seed(0)
    z = perturbed(law, space.columns(x).expand(DRAWS, -1), generator)
    further = (z < rows.amin(0) - slack) | (z > rows.amax(0) + slack)
    outside = further & ((z < lowest) | (z > highest))
    share, part = (float(each.any(-1).double().mean()) for each in (further, outside))
    return Beyond(share, part)


def unexplored(
    law: NoiseLaw,
    x: Float[Tensor, " d"],
    evaluated: Float[Tensor, "n d"],
    experiments: Domain,
    generator: torch.Generator,
) -> Float[Tensor, " d"] | None:
    """Where the noise may take x beyond all evaluations, and an experiment can be made.

    Of FEW perturbed designs the one that lies furthest beyond; None: none of them does. All in the
    unit cube.
    """
    z = experiments.snap(perturbed(law, x.expand(FEW, -1), generator))
    further = torch.maximum(evaluated.amin(0) - z, z - evaluated.amax(0)).amax(-1)
    furthest = int(further.argmax())
    return z[furthest] if further[furthest] > EXPLORED else None


def advice(beyond: float, outside: float) -> str:
    """What to do about noise beyond all evaluations, by where most of it falls."""
    if outside >= beyond / 2:
        return "Allow experiments there (evaluate), or narrow the ranges"
    return "Few values so far: more trials there, within the ranges, would tell"


def in_words(beyond: float, outside: float) -> str:
    """What a reader should know; empty: nothing."""
    if beyond < MUCH:
        return ""
    return (
        f"{100 * beyond:.0f} % of the noise at the robust optimum falls beyond everything that was "
        f"evaluated, where the model extrapolates. {advice(beyond, outside)}"
    )
