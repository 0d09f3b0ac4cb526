"""The values in use: the distribution of f(x + xi) at a design, sampled from the posterior."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.report.views.answer import NOMINAL, ROBUST
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 2000  # samples of the noise
BINS = 40
SHOWN = 0.999  # share of the samples of each design that the bins hold


@dataclass(frozen=True)
class Outcomes:
    """The values of one design in use.

    Intervals show how well the model knows the distribution, not how wide the distribution is.
    """

    name: str  # "robust optimum" or "nominal optimum"
    values: tuple[float, ...]  # samples of f(x + xi), over the noise and the posterior of f
    quantiles: tuple[SampledEstimate, ...]  # at LEVELS
    std: SampledEstimate  # of f(x + xi)
    meets: SampledEstimate | None  # probability to meet the specification; None without one


@dataclass(frozen=True)
class OutcomesOfBoth:
    """The values in use of both optima, counted in the same bins."""

    robust: Outcomes
    nominal: Outcomes
    edges: tuple[float, ...]  # of the bins, one more than there are bins
    robust_share: tuple[float, ...]  # share of the samples in each bin
    nominal_share: tuple[float, ...]
    outside: tuple[float, float]  # share of the samples beyond the bins, robust and nominal


def outcomes(subject: Subject, terms: Terms) -> OutcomesOfBoth:
    """Samples both optima with the same samples of the noise and of f."""
    robust, nominal = (
        subject.f_values(subject.perturbed(x, DRAWS, stream=2))
        for x in (subject.x_robust, subject.x_nominal)
    )
    edges = _edges(robust, nominal)
    shares = [_shares(values, edges) for values in (robust, nominal)]
    return OutcomesOfBoth(
        _outcomes(ROBUST, robust, terms),
        _outcomes(NOMINAL, nominal, terms),
        tuple(edges.tolist()),
        shares[0],
        shares[1],
        (1 - sum(shares[0]), 1 - sum(shares[1])),
    )


def central(pooled: float, of_each: Float[Tensor, " paths"]) -> SampledEstimate:
    """A value with the central 95 % interval of the values of single paths of f."""
    low, high = of_each.quantile(torch.tensor([0.025, 0.975], dtype=torch.double)).tolist()
    return SampledEstimate(pooled, min(low, pooled), max(high, pooled))


def _outcomes(name: str, values: Float[Tensor, "paths draws"], terms: Terms) -> Outcomes:
    levels = torch.tensor(LEVELS, dtype=torch.double)
    of_each, pooled = values.quantile(levels, dim=-1), values.flatten().quantile(levels)
    paths, draws = values.shape
    meets = None
    if terms.goal is not None:
        good = torch.ones_like(values, dtype=torch.bool)
        if terms.at_least is not None:
            good &= values >= terms.at_least
        if terms.at_most is not None:
            good &= values <= terms.at_most
        share = good.double().mean(-1)
        meets = central(float(share.mean()), share)
    return Outcomes(
        name,
        tuple(values[torch.arange(draws) % paths, torch.arange(draws)].tolist()),
        tuple(central(float(p), each) for p, each in zip(pooled, of_each, strict=True)),
        central(float(values.std(-1).mean()), values.std(-1)),
        meets,
    )


def _edges(*values: Float[Tensor, "paths draws"]) -> Float[Tensor, " edges"]:
    tails = torch.tensor([(1 - SHOWN) / 2, (1 + SHOWN) / 2], dtype=torch.double)
    ends = torch.stack([each.flatten().quantile(tails) for each in values])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if not high > low:  # nothing is perturbed, and f is known
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    return torch.linspace(low, high, BINS + 1, dtype=torch.double)


def _shares(
    values: Float[Tensor, "paths draws"], edges: Float[Tensor, " edges"]
) -> tuple[float, ...]:
    counts = torch.histogram(values.flatten(), edges).hist
    return tuple((counts / values.numel()).tolist())
