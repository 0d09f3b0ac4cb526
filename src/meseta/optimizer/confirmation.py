"""Confirmation: whether runs of a design, as it will be used, keep what was promised of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from jaxtyping import Float
from scipy.special import bdtr, betaincinv
from torch import Tensor

from meseta.boundary import SEEDS, read_count, read_list, shown
from meseta.gp.exact_draws import draw_f
from meseta.gp.in_use import sampled_f, shared
from meseta.gp.mixture import Mixture
from meseta.noise.perturbed import perturbed
from meseta.optimizer.fitted import Fitted
from meseta.optimizer.outcomes import Told
from meseta.optimizer.record import Recommendation, percent
from meseta.space.space import Design, Params

if TYPE_CHECKING:
    from meseta.optimizer.ask_tell import Optimizer

Verdict = Literal["held", "worse", "better"]
SIMULATED = 2000  # sets of runs that the model expects
POOL = 256  # places that the noise takes runs to
TAIL = 0.025  # on each side
LEAST = 2  # runs that say anything
ALL_SCATTER = (
    "Measured values have all of their scatter, that of the gauge included, and so has what the "
    "model expects of them; scatter_in_use leaves some of it out of what is promised"
)


class KeptRuns(NamedTuple):
    """How often runs kept the limits of an outcome."""

    kept: int
    runs: int  # that told the outcome
    probability: float  # the share that is to be kept
    least: float  # of the share kept, by these runs alone, 95 %
    verdict: Verdict  # by what was asked for

    def __str__(self) -> str:
        return (
            f"kept in {self.kept} of {self.runs} runs (asked: {percent(self.probability)}); by "
            f"these alone, in at least {percent(self.least)} of the cases"
        )


@dataclass(frozen=True)
class Confirmation:
    """The results of runs of a design beside what the model had promised."""

    design: Design
    words: str  # what is measured of the values
    runs: int  # that gave a value
    failed: int
    found: float  # the measure of their values
    expected: tuple[float, float]  # in which it lies in 95 % of the cases, if the promise holds
    promised: Recommendation
    verdict: Verdict
    constraints: Mapping[str, KeptRuns]
    note: str = ""  # of what values scatter by, where the promise does not count all of it

    @property
    def held(self) -> bool:
        """Whether nothing was worse than promised."""
        return all(
            v != "worse" for v in (self.verdict, *(k.verdict for k in self.constraints.values()))
        )

    def __str__(self) -> str:
        low, high = self.expected
        said = {
            "held": "as promised",
            "worse": "worse than promised",
            "better": "better than promised",
        }
        lines = [
            f"{'the promise held' if self.held else 'the promise did not hold'}: "
            f"{self.runs} runs{f', and {self.failed} that failed' if self.failed else ''}",
            f"{self.words} of their values: {self.found:.5g}, {said[self.verdict]}. "
            f"If the model is right, {self.runs} runs give {low:.5g} to {high:.5g} "
            "in 95 % of the cases",
        ]
        for name, kept in self.constraints.items():
            fewer = ". That is fewer than was asked for" if kept.verdict == "worse" else ""
            lines.append(f"{name}: {kept}{fewer}")
        if self.note:
            lines.append(f"({self.note}.)")
        return "\n".join(lines)


def confirmation(
    optimizer: "Optimizer",
    params: Params,
    results: Sequence[object],
    executed: Sequence[Params] | None = None,
    seed: int = 0,
) -> Confirmation:
    """What the results of runs of a design say about what the model promises of it.

    Args:
        optimizer: As it was when the promise was made, without these results.
        params: The design.
        results: Of each run what `tell` takes: a value, a dict of outcomes, None if it failed.
        executed: What was carried out in each run; None: the noise acted unseen.
        seed: Of what is simulated.
    """
    seed = read_count("seed", seed, least=0, most=SEEDS)
    runs = read_list(results)
    if runs is None:
        raise TypeError(f"results must be a list, one of each run, got {shown(results)}")
    told = [optimizer.outcomes.read(each, optimizer.settings.possible) for each in runs]
    if executed is not None and read_list(executed) is None:
        raise TypeError(f"executed must be a list of designs, got {shown(executed)}")
    if executed is not None and len(executed) != len(told):
        raise ValueError(
            f"there are {len(told)} results, but {len(executed)} designs that were executed; give "
            "one for each"
        )
    promised = optimizer.promise(params)
    complete = [i for i, each in enumerate(told) if each.value is not None]
    if len(complete) < LEAST:
        raise ValueError(
            f"{len(complete)} of the runs gave a value, which says nothing; {LEAST} are needed, "
            "and ten say more"
        )
    offset, scale = optimizer.user_units
    measure = optimizer.measure.in_units(offset, scale)
    places = _places(optimizer, params, executed)
    simulated = _simulated(optimizer.fitted, places, complete, seed)
    values = torch.tensor([told[i].value for i in complete], dtype=torch.double)
    weights = torch.full((len(complete),), 1 / len(complete), dtype=torch.double)
    rho = measure.exactly(simulated, weights)
    found = measure.exactly((values - offset) / scale, weights)

    def raw(each: Tensor) -> float:
        return optimizer.measure.raw(float(each), offset, scale)

    ends = rho.quantile(torch.tensor([TAIL, 1 - TAIL], dtype=torch.double))
    low, high = sorted(raw(end) for end in ends)
    return Confirmation(
        promised.params,
        optimizer.measure.in_words(),
        len(complete),
        len(told) - len(complete),
        raw(found),
        (low, high),
        promised,
        _verdict(rho, found),
        _constraints(optimizer, told),
        "" if optimizer.settings.scatter_in_use == "all" else ALL_SCATTER,
    )


class _Places(NamedTuple):
    """Where runs were carried out; z None: somewhere around x, by the noise."""

    x: Float[Tensor, " d"]
    z: Float[Tensor, "n d"] | None


def _places(optimizer: "Optimizer", params: Params, executed: Sequence[Params] | None) -> _Places:
    space, x = optimizer.space, optimizer.environments.to_row(params)
    if executed is None:
        return _Places(x, None)
    rows = [space.to_cube(space.read(each)) for each in executed]
    return _Places(x, torch.stack(rows))


def _simulated(
    fitted: Fitted, places: _Places, runs: Sequence[int], seed: int
) -> Float[Tensor, "s n"]:
    """Values of these runs that the model thinks possible, in its units."""
    generator = torch.Generator().manual_seed(seed)
    mixture = fitted.mixture
    s2 = mixture.heaviest.observation_variance(places.x[None])
    if places.z is None:
        values = _around(mixture, places.x, len(runs), generator)
    else:
        values = sampled_f(mixture, places.z[list(runs)], SIMULATED, generator)
    eps = torch.randn(values.shape, generator=generator, dtype=torch.double)
    return values + s2.sqrt() * eps


@torch.no_grad()
def _around(
    mixture: Mixture, x: Float[Tensor, " d"], n: int, generator: torch.Generator
) -> Float[Tensor, "s n"]:
    """At places that the noise takes runs to; each sample of f has POOL of them to choose from."""
    law, drawn = mixture.heaviest.kernel.law, []
    for part, num in shared(mixture.promised, SIMULATED):
        z = perturbed(law, x.expand(max(POOL, n), -1), generator)
        some = torch.rand(num, len(z), generator=generator).argsort(-1)[:, :n]
        drawn.append(draw_f(part, z, num, generator).gather(-1, some))
    return torch.cat(drawn)


def _verdict(expected: Float[Tensor, " s"], found: Float[Tensor, ""]) -> Verdict:
    """Ties, as counts have them, speak for the promise."""
    room = 1e-9 * (1 + float(found.abs()))
    if float((expected <= found + room).double().mean()) < TAIL:
        return "worse"
    return "better" if float((expected >= found - room).double().mean()) < TAIL else "held"


def _constraints(optimizer: "Optimizer", told: Sequence[Told]) -> dict[str, KeptRuns]:
    found = {}
    for name, constraint in optimizer.outcomes.constraints:
        own = name == optimizer.outcomes.objective
        values = [each.value if own else each.others.get(name) for each in told]
        known = [value for value in values if value is not None]
        if not known:
            continue
        kept, runs = sum(constraint.low <= each <= constraint.high for each in known), len(known)
        # the lower end of the interval of Clopper and Pearson
        least = float(betaincinv(kept, runs - kept + 1, 0.05)) if kept else 0.0
        worse = float(bdtr(kept, runs, constraint.probability)) < TAIL
        verdict: Verdict = "worse" if worse else "held"
        found[name] = KeptRuns(kept, runs, constraint.probability, least, verdict)
    return found
