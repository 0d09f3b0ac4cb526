"""Weighted values: their percentiles, and how they scatter. The weights are 1 together."""

from meseta.measures.measure import Rho, Values, Weights


def percentiles(values: Values, weights: Weights, shares: tuple[float, ...]) -> list[Rho]:
    """The least values with at least these shares at or below them."""
    ranked, order = values.sort(-1)
    below = weights.expand(values.shape).gather(-1, order).cumsum(-1)
    last = values.shape[-1] - 1
    found = []
    for share in shares:
        index = (below < share * (1 - 1e-12)).sum(-1, keepdim=True).clamp_max(last)
        found.append(ranked.gather(-1, index)[..., 0])
    return found


def std(values: Values, weights: Weights) -> Rho:
    """The standard deviation."""
    mean = (weights * values).sum(-1, keepdim=True)
    return (weights * (values - mean).square()).sum(-1).sqrt()
