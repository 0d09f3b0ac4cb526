"""Moments of a Gaussian truncated from above, sound for every truncation point."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

# From t = -beta = 12 on, the asymptotic series in 1/t^2 has more digits than the plain formula.
FAR = 12.0
# From beta = 50 on, phi(beta) underflows: a bound that far above changes nothing.
INERT = 50.0


def _asymptotic_series(num: int) -> tuple[list[float], list[float]]:
    """Coefficients of S and D in u = 1/t^2: r = t (1 + u S(u)) and 1 - r (r - t) = u D(u).

    Phi(-t) / phi(t) = sum_k (-1)^k (2k - 1)!! u^k / t [Abramowitz and Stegun 26.2.12], and
    r / t is the reciprocal of that series in u.
    """
    mills = [1]
    for k in range(1, num + 2):
        mills.append(-mills[-1] * (2 * k - 1))
    ratio = [1]
    for k in range(1, num + 2):
        ratio.append(-sum(mills[j] * ratio[k - j] for j in range(1, k + 1)))
    S = ratio[1:]
    product = [sum(ratio[j] * S[k - j] for j in range(k + 1)) for k in range(num + 1)]
    # 1 - ratio * S has no constant term
    return [float(c) for c in S[:num]], [-float(c) for c in product[1:]]


# at t = 12 the terms fall until the seventieth; the thirtieth is below 1e-14 of the first
_S, _D = _asymptotic_series(30)


class TruncatedMoments(NamedTuple):
    """Moments of z ~ N(mean, variance) given z <= upper."""

    mean: Float[Tensor, "*batch"]
    variance: Float[Tensor, "*batch"]
    explained: Float[Tensor, "*batch"]  # 1 - variance / (variance before), in [0, 1]


class _Standard(NamedTuple):
    """What follows for z ~ N(0, 1) given z <= beta, with r = phi(beta) / Phi(beta)."""

    r: Tensor  # -E z
    gap: Tensor  # beta - E z = r + beta, for beta up to INERT
    explained: Tensor  # r (r + beta)
    remaining: Tensor  # 1 - r (r + beta)


def truncate_above(
    mean: Float[Tensor, "*batch"],
    variance: Float[Tensor, "*batch"],
    upper: Float[Tensor, "*batch"],
) -> TruncatedMoments:
    """Mean and variance after truncation, m - sqrt(v) r and v (1 - r (r + beta)).

    Paper, Sec. 3.2.2, step 3 (the mean as in the main text; the appendix misprints it).
    Relative accuracy 1e-11 or better for beta = (upper - mean) / sd from -1e8 to infinity.
    """
    sd = variance.sqrt()
    beta = (upper - mean) / sd
    standard = standard_truncation(beta)
    # next to the truncation point, measured from there; far below it, from the mean
    new_mean = torch.where(beta < 0, upper - sd * standard.gap, mean - sd * standard.r)
    return TruncatedMoments(new_mean, variance * standard.remaining, standard.explained)


def standard_truncation(beta: Float[Tensor, "*batch"]) -> _Standard:
    """r = phi / Phi and what follows from it, without cancellation for beta << 0."""
    beta = beta.clamp_max(INERT)
    r = _hazard(beta.clamp_min(-FAR))
    explained = r * (r + beta)
    near = _Standard(r, r + beta, explained, 1 - explained)
    if not (beta < -FAR).any():
        return near
    t = (-beta).clamp_min(FAR)
    u = t.reciprocal().square()
    gap, remaining = _horner(_S, u) / t, u * _horner(_D, u)
    far = _Standard(t + gap, gap, 1 - remaining, remaining)
    return _Standard(*(torch.where(beta < -FAR, b, a) for a, b in zip(near, far, strict=True)))


def _hazard(beta: Tensor) -> Tensor:
    """phi(beta) / Phi(beta) for beta >= -FAR."""
    below = math.sqrt(2 / math.pi) / torch.special.erfcx(-beta.clamp_max(0) / math.sqrt(2))
    above = beta.clamp_min(0)
    density = (-0.5 * above.square()).exp() / math.sqrt(2 * math.pi)
    return torch.where(beta < 0, below, density / torch.special.ndtr(above))


def _horner(coefficients: list[float], u: Tensor) -> Tensor:
    total = torch.zeros_like(u)
    for coefficient in reversed(coefficients):
        total = total * u + coefficient
    return total
