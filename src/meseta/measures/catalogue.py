"""The measures that there are."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from meseta.boundary import read_number
from meseta.measures.measure import Measure, Rho, Room, Values, Weights
from meseta.measures.weighted import percentiles

if TYPE_CHECKING:
    Number = float
else:  # at run time they are read by hand, so that a mistake is named
    Number = object

# The width of the step that stands for a limit, in standard deviations of the values; it shrinks
# with the number of values, since that many tell where the limit lies.
STEP_WIDTH = 0.5
SHRINKS = 1 / 3


@dataclass(frozen=True)
class Mean(Measure):
    """The mean: what a design is worth on average. This is the default."""

    def of(self, values: Values, weights: Weights) -> Rho:
        return (weights * values).sum(-1)

    def in_words(self) -> str:
        return "mean"


@dataclass(frozen=True, init=False)
class Quantile(Measure):
    """The value that all but the worst `share` reach: Quantile(0.05) is kept by 95 % of the parts.

    Where f is maximised the worst are the lowest values, where it is minimised the highest.
    """

    share: float

    def __init__(self, share: Number) -> None:
        object.__setattr__(self, "share", _read_share("Quantile", share, "0.05"))

    @property
    def tail(self) -> float:
        return self.share

    def of(self, values: Values, weights: Weights) -> Rho:
        # a weighted average of the values near the quantile, as far as n values leave it open
        # [Harrell and Davis 1982]; 2 asin sqrt(mass) has the variance 1/n there, whatever the share
        def cumulated(mass: Tensor) -> Tensor:
            ends = torch.tensor([0.0, self.share, 1.0], dtype=torch.double)
            at, (first, here, last) = (m.sqrt().asin() for m in (mass, ends))
            sharp = 2 * _number_behind(mass, self.share) ** 0.5
            below, above = torch.special.ndtr(sharp * torch.stack([first - here, last - here]))
            return (torch.special.ndtr(sharp * (at - here)) - below) / (above - below)

        return _by_rank(values, weights, cumulated)

    def exactly(self, values: Values, weights: Weights) -> Rho:
        return percentiles(values, weights, (self.share,))[0]

    def in_words(self) -> str:
        return f"value that {100 * (1 - self.share):g} % reach"


@dataclass(frozen=True, init=False)
class CVaR(Measure):
    """The mean of the worst `share` of the values: CVaR(0.1) is that of the worst tenth."""

    share: float

    def __init__(self, share: Number) -> None:
        object.__setattr__(self, "share", _read_share("CVaR", share, "0.1", whole=True))

    @property
    def tail(self) -> float:
        return min(self.share, 0.5)

    def of(self, values: Values, weights: Weights) -> Rho:
        return _by_rank(values, weights, lambda c: (c / self.share).clamp_max(1.0))

    def in_words(self) -> str:
        return f"mean of the worst {100 * self.share:g} %"


@dataclass(frozen=True, init=False)
class MeanStd(Measure):
    """The mean less `k` standard deviations of the values; plus, where f is minimised."""

    k: float

    def __init__(self, k: Number) -> None:
        number = read_number("the k of MeanStd", k, "write MeanStd(2.0)")
        if number < 0:
            raise ValueError(f"the k of MeanStd must not be negative, got {k!r}: it looks for bad")
        object.__setattr__(self, "k", number)

    @property
    def within_values(self) -> bool:
        return False

    def of(self, values: Values, weights: Weights) -> Rho:
        mean = (weights * values).sum(-1, keepdim=True)
        variance = (weights * (values - mean).square()).sum(-1)
        return mean[..., 0] - self.k * (variance + 1e-18).sqrt()

    def in_words(self) -> str:
        return f"mean, {self.k:g} standard deviations towards the bad side"


@dataclass(frozen=True, init=False)
class WorstCase(Measure):
    """The worst value that the noise can bring about, wherever it does.

    With `share` it is sought where so much of the noise lies: in the box of central intervals of
    all parameters that holds this share. Laws without limits, such as Normal, need it.
    """

    share: float | None

    def __init__(self, share: Number | None = None) -> None:
        if share is not None:
            share = read_number("the share of WorstCase", share, "write WorstCase(0.99)")
            if not 0 < share < 1:
                raise ValueError(
                    f"the share of WorstCase must lie between 0 and 1, got {share!r}; leave it out "
                    "for all of the noise"
                )
        object.__setattr__(self, "share", share)

    @property
    def around_mean(self) -> bool:
        return False  # it looks at other draws than those of the noise

    def of(self, values: Values, weights: Weights) -> Rho:
        counts = weights > 0
        return torch.where(counts, values, torch.inf).amin(-1)

    def in_words(self) -> str:
        return "worst case" + ("" if self.share is None else f" of {100 * self.share:g} % of noise")


@dataclass(frozen=True, init=False)
class OnTarget(Measure):
    """The mean squared distance from `target`, to be as small as possible."""

    target: float

    def __init__(self, target: Number) -> None:
        object.__setattr__(self, "target", read_number("the target of OnTarget", target))

    @property
    def within_values(self) -> bool:
        return False

    def nominal(self, mean: Rho, variance: Rho) -> Rho:
        return -((mean - self.target).square() + variance)

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        return "minimize"

    @property
    def around_mean(self) -> bool:
        return False

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, math.inf

    def in_units(self, offset: float, scale: float) -> "OnTarget":
        return OnTarget((self.target - offset) / scale)

    def raw(self, rho: float, offset: float, scale: float) -> float:
        return -(scale**2) * rho

    def raw_std(self, std: float, scale: float) -> float:
        return scale**2 * std

    def of(self, values: Values, weights: Weights) -> Rho:
        return -(weights * (values - self.target).square()).sum(-1)

    def in_words(self) -> str:
        return f"mean squared distance from {self.target:g}"


@dataclass(frozen=True, init=False)
class Yield(Measure):
    """The probability to meet the specification: at least `low`, at most `high`."""

    low: float
    high: float

    def __init__(self, low: Number | None = None, high: Number | None = None) -> None:
        if low is None and high is None:
            raise TypeError("Yield needs a limit: Yield(low=0.8), Yield(high=1.2), or both")
        least = -math.inf if low is None else read_number("the low of Yield", low)
        most = math.inf if high is None else read_number("the high of Yield", high)
        if not least < most:
            raise ValueError(f"Yield(low, high) must run from low to high, got {low!r}, {high!r}")
        self._set(least, most)

    def _set(self, low: float, high: float) -> "Yield":
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        return self

    def __repr__(self) -> str:
        ends = (("low", self.low), ("high", self.high))
        return f"Yield({', '.join(f'{name}={end}' for name, end in ends if math.isfinite(end))})"

    @property
    def within_values(self) -> bool:
        return False

    def nominal(self, mean: Rho, variance: Rho) -> Rho:
        """By how many standard deviations it keeps the nearer limit."""
        std = (variance + 1e-8).sqrt()
        kept = [(mean - self.low, self.low), (self.high - mean, self.high)]
        return torch.stack([by / std for by, limit in kept if math.isfinite(limit)]).amin(0)

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        return "maximize"

    @property
    def around_mean(self) -> bool:
        return False

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, 1.0

    def in_units(self, offset: float, scale: float) -> "Yield":
        low, high = sorted(((self.low - offset) / scale, (self.high - offset) / scale))
        return Yield.__new__(Yield)._set(low, high)

    def raw(self, rho: float, offset: float, scale: float) -> float:
        return rho

    def raw_std(self, std: float, scale: float) -> float:
        return std

    def of(self, values: Values, weights: Weights) -> Rho:
        mean = (weights * values).sum(-1, keepdim=True)
        spread = (weights * (values - mean).square()).sum(-1, keepdim=True).sqrt().detach()
        num = 1 / weights.square().sum(-1, keepdim=True)
        width = (STEP_WIDTH * spread * num ** (-SHRINKS)).clamp_min(1e-9)
        inside = torch.special.ndtr((self.high - values) / width)
        return (weights * (inside - torch.special.ndtr((self.low - values) / width))).sum(-1)

    @property
    def room(self) -> Room:
        return lambda values: torch.minimum(values - self.low, self.high - values)

    def exactly(self, values: Values, weights: Weights) -> Rho:
        return (weights * ((values >= self.low) & (values <= self.high))).sum(-1)

    def in_words(self) -> str:
        limits = (("at least", self.low), ("at most", self.high))
        return "yield: " + " and ".join(f"{w} {v:g}" for w, v in limits if math.isfinite(v))


def _by_rank(values: Values, weights: Weights, cumulated: Callable[[Tensor], Tensor]) -> Rho:
    """sum_k a_k v_(k) over the values in their order, the lowest first.

    a_k is what `cumulated` gains over the mass of the k-th value. Ranks do not change with a small
    change of the values, so the a_k are the derivative.
    """
    ranked, order = values.sort(-1)
    if weights.numel() and bool(weights.min() == weights.max()):  # then their order does not matter
        mass = weights.detach().reshape(-1, weights.shape[-1])[0].cumsum(-1)
    else:
        mass = weights.detach().expand(values.shape).gather(-1, order).cumsum(-1)
    ends = cumulated(mass.clamp(0, 1))
    a = torch.diff(ends, dim=-1, prepend=torch.zeros_like(ends[..., :1]))
    return (a * ranked).sum(-1)


def _number_behind(mass: Tensor, share: float) -> float:
    """The number of equal values that would tell the mass below the quantile as well as these do.

    `mass` is cumulated. Of n equal ones each has 1/n: the sum of their squares up to the share is
    share/n.
    """
    each = torch.diff(mass, dim=-1, prepend=torch.zeros_like(mass[..., :1]))
    below = torch.where(mass - each / 2 <= share, each.square(), 0.0).sum(-1).mean()
    return float(share / below.clamp_min(1e-12))


def _read_share(name: str, share: object, example: str, whole: bool = False) -> float:
    number = read_number(f"the share of {name}", share, f"write {name}({example})")
    if not 0 < number < 1 and not (whole and number == 1):
        raise ValueError(
            f"the share of {name} must lie between 0 and 1, got {share!r}: the worst part of the "
            f"values, such as {example}"
        )
    if number > 0.5 and not (whole and number == 1):
        raise ValueError(
            f"the share of {name} is that of the worst values, got {share!r}, which is most of "
            f"them; {name}({1 - number:.4g}) looks at the others"
        )
    return number
