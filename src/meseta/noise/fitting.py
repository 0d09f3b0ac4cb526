"""Noise laws from measured deviations: which of them fit, and how well their widths are known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from meseta.boundary import is_array, shown
from meseta.noise.catalogue import LAWS
from meseta.noise.families import FAMILIES, NORMAL, UNIFORM, Estimate, Family, Values, standardised
from meseta.noise.goodness import LEAST, goodness
from meseta.noise.suspicions import FEW, FEW_VALUES, step_of, suspicions

if TYPE_CHECKING:
    from meseta.noise.law import NoiseLaw

LEAST_VALUES = 3
REFUSED = 0.05  # a law whose p-value is smaller does not fit
# Differences of AICc that are no reason to prefer a law that is less simple [Burnham and Anderson
# 2002, Sec. 2.6].
ALIKE = 2.0
MOST_DISCRETE = 5  # different values that are taken for values of their own, such as notches
VARIED = 0.05  # share by which planned values must differ to tell errors in per cent from others
LOG_NORMAL = "log-normal"
PILED = 0.3  # share of equal values, at which the likelihood of Student's law has no end
LARGEST, SMALLEST = 1e100, 1e-100  # values, and their range: squares must be numbers


@dataclass(frozen=True)
class Width:
    """The width of a fitted law."""

    name: str  # as in study files: std, half_width, scale or sigma
    value: float
    interval: tuple[float, float]  # 95 %; the upper end may be infinite

    @property
    def number(self) -> str:
        """The value and its interval."""
        low, high = self.interval
        reach = f"{low:.3g} to {high:.3g}" if math.isfinite(high) else f"{low:.3g} or more"
        return f"{self.value:.4g} ({reach})"

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


@dataclass(frozen=True)
class FittedLaw:
    """A noise law whose numbers are fitted to measured deviations."""

    name: str  # in study files
    arguments: Mapping[str, Any]  # by the keys of study files, which are those of Python
    width: Width | None = None  # None: the law is that of the values themselves
    parameters: int = 0  # the number of fitted ones
    aicc: float = math.nan  # Akaike's criterion for few values: the smallest is the best
    bic: float = math.nan  # the Bayesian criterion, which asks more of further parameters
    p_value: float | None = None  # the probability of a worse fit, if the law is true
    centre: float = 0.0
    shape: float = math.nan

    @property
    def fits(self) -> bool:
        """Whether the values do not speak against it."""
        return self.p_value is None or self.p_value >= REFUSED

    @property
    def relative(self) -> bool:
        """Whether it is the law of an error in proportion to the value."""
        return bool(self.arguments.get("relative"))

    @property
    def title(self) -> str:
        """Its name, and what is special about it."""
        offset = " + offset" if self.centre else ""
        return f"{'relative ' if self.relative else ''}{self.name}{offset}"

    @cached_property
    def law(self) -> "NoiseLaw":
        """The law itself, to be passed as noise."""
        (declared,) = (law for law in LAWS if law.name == self.name)
        return declared.load()(**self.arguments)

    def __str__(self) -> str:
        if self.width is None:
            return self.title
        others = {k: v for k, v in self.arguments.items() if k not in (self.width.name, "relative")}
        return f"{self.title}: {self.width}" + "".join(f", {k} {v:.4g}" for k, v in others.items())

    def density(self, values: Values) -> Values:
        """That of the values; see `NoiseFit.seen_by` for laws that depend on the planned value."""
        family, z, shape, width = self._standardised(values)
        return np.exp(family.log_density(z, shape)[0]) / width

    def scores(self, values: Values) -> Values:
        """The values as those of a standard normal law, by their probabilities."""
        family, z, shape, _ = self._standardised(values)
        return np.asarray(ndtri(np.clip(family.cdf(z, shape)[0], LEAST, 1 - LEAST)))

    def quantile(self, shares: Values) -> Values:
        family, _, shape, width = self._standardised(np.zeros(1))
        return self.centre + width * np.asarray(family.quantile(shares[None], shape)[0])

    def _standardised(self, values: Values) -> tuple[Family, Any, Any, float]:
        if self.width is None:
            raise ValueError(f"{self.name} has the values themselves, and no density")
        (family,) = (f for f in FAMILIES if f.name == self.name.replace(LOG_NORMAL, "normal"))
        numbers = (np.array([n]) for n in (self.centre, self.width.value, self.shape))
        return family, *standardised(values[None], Estimate(*numbers)), self.width.value


@dataclass(frozen=True)
class NoiseFit:
    """What measured deviations of one parameter say about its noise."""

    values: tuple[float, ...]  # executed minus planned, in their order
    planned: tuple[float, ...] | None
    mean: float
    mean_interval: tuple[float, float]  # 95 %
    std: float
    laws: tuple[FittedLaw, ...]  # all that were fitted, the smallest AICc first
    best: FittedLaw  # the one to take
    remarks: tuple[str, ...]  # what to know before it is used

    @property
    def law(self) -> "NoiseLaw":
        """The law to take, to be passed as noise."""
        return self.best.law

    @property
    def as_good(self) -> tuple[FittedLaw, ...]:
        """Other laws that fit, and that the values do not tell from the best one."""
        fitting = [each for each in self.laws if each.fits]
        smallest = min((each.aicc for each in fitting), default=math.inf)
        return tuple(e for e in fitting if e.aicc <= smallest + ALIKE and e is not self.best)

    @property
    def verdict(self) -> str:
        """Which law to take, and why, in words."""
        best, num = self.best, len(self.values)
        if num < FEW:
            return f"{num} values are too few to tell laws apart: take {best}"
        if best.name == "discrete":
            return f"there are only {len(best.arguments['values'])} different values: take discrete"
        if best.width is None:
            return "no law fits: take the measured values themselves, law empirical"
        verdict = f"{best}, fits (p = {best.p_value:.2g})"
        if self.as_good:
            others = ", ".join(each.title for each in self.as_good)
            verdict += f"; {num} values do not tell it from {others}"
        return verdict

    def seen_by(self, law: FittedLaw) -> Values:
        """The values as the law counts them: shares of the planned value, where it is relative."""
        return _seen_by(law.name, law.relative, np.array(self.values), self._plan)

    @property
    def _plan(self) -> Values | None:
        return None if self.planned is None else np.array(self.planned)

    def __str__(self) -> str:
        low, high = self.mean_interval
        return "\n".join(
            [
                f"{len(self.values)} values: mean {self.mean:.3g} ({low:.3g} to {high:.3g}), "
                f"standard deviation {self.std:.4g}",
                self.verdict,
                *self.remarks,
            ]
        )


def fit_noise(
    executed: Sequence[float] | np.ndarray,
    planned: Sequence[float] | np.ndarray | None = None,
    *,
    seed: int = 0,
) -> NoiseFit:
    """The noise law of measured deviations: which laws fit, and which one to take.

    Laws of the catalogue are fitted by maximum likelihood, with and without an offset, and tested
    by Anderson and Darling's statistic with a bootstrap, so that the p-value is right for fitted
    numbers. The simplest one is taken among those that fit and whose AICc is within 2 of the
    smallest. If none fits, the measured values themselves are the law. Fewer than 10 values are
    taken for normal.

    Args:
        executed: Deviations, in the order of the measurements; or executed values, with `planned`.
        planned: The values that were planned: deviations are the differences. Errors in proportion
            to the value, and LogNormal, are compared, too.
        seed: Of the bootstrap.
    """
    values, plan = _read(executed, planned)
    _check(values)
    laws = _fitted(values, plan, np.random.default_rng(seed))
    best = _best(values, laws)
    mean, std = float(values.mean()), float(values.std(ddof=1))
    reach = float(stdtrit(len(values) - 1, 0.975)) * std / math.sqrt(len(values))
    return NoiseFit(
        tuple(values.tolist()),
        None if plan is None else tuple(plan.tolist()),
        mean,
        (mean - reach, mean + reach),
        std,
        tuple(sorted(laws, key=lambda each: each.aicc)),
        best,
        suspicions(values, plan, _scores(best, values, plan)),
    )


def _scores(best: FittedLaw, values: Values, plan: Values | None) -> Values:
    """The values as those of a standard normal law, to see which of them are far off.

    Student's law takes every mistake for its tail: there they are those of the Laplace law that
    half of the values have.
    """
    seen = _seen_by(best.name, best.relative, values, plan)
    if best.name == "student-t":
        middle = float(np.median(seen))
        scale = float(np.median(np.abs(seen - middle))) / math.log(2)
        law = FittedLaw("laplace", {}, Width("scale", scale, (scale, scale)), centre=middle)
        return law.scores(seen) if scale else seen
    return seen if best.width is None else best.scores(seen)


def _seen_by(name: str, relative: bool, values: Values, plan: Values | None) -> Values:
    """xi, or zeta where xi = x zeta, or xi = x (exp(zeta) - 1)."""
    if plan is None or not (relative or name == LOG_NORMAL):
        return values
    return values / plan if relative else np.log1p(values / plan)


def _check(values: Values) -> None:
    if len(values) < LEAST_VALUES:
        raise ValueError(f"at least {LEAST_VALUES} values are needed, got {len(values)}")
    if np.abs(values).max() > LARGEST or 0 < np.ptp(values) < SMALLEST:
        raise ValueError(
            f"values must lie within ±{LARGEST:g}, and differ by {SMALLEST:g} or more; give them "
            "in another unit"
        )
    if not np.ptp(values):
        one = f"{values[0]:.6g}"
        remedy = (
            f"take Discrete([{one}]), a constant offset" if values[0] else "measure more finely"
        )
        raise ValueError(f"all {len(values)} values are {one}, so that there is no width; {remedy}")


def _fitted(values: Values, plan: Values | None, random: np.random.Generator) -> list[FittedLaw]:
    def both(family: Family, seen: Values, step: float, **further: Any) -> list[FittedLaw]:
        return [_one(family, seen, offset, random, step, **further) for offset in (False, True)]

    enough = len(values) >= FEW
    step = step_of(values) or 0.0
    piled = np.unique(values, return_counts=True)[1].max() > PILED * len(values)
    families = [each for each in FAMILIES if not (piled and each.name == "student-t")]
    laws = [law for each in (families if enough else (NORMAL,)) for law in both(each, values, step)]
    if plan is not None and _varied(plan):
        # the densities of xi are those of zeta by the unit of zeta
        unit = float(np.log(np.abs(plan)).sum())
        for family in (NORMAL, UNIFORM) if enough else (NORMAL,):
            seen = _seen_by(family.name, True, values, plan)
            laws += both(family, seen, 0.0, unit=unit, further={"relative": True})
        if np.all(values / plan > -1):
            unit = float(np.log(np.abs(plan + values)).sum())
            found = _one(NORMAL, np.log1p(values / plan), False, random, 0.0, unit=unit)
            assert found.width is not None
            width = replace(found.width, name="sigma")
            arguments = {"sigma": width.value}
            laws.append(replace(found, name=LOG_NORMAL, arguments=arguments, width=width))
    return [law for law in laws if math.isfinite(law.aicc)]


def _varied(plan: Values) -> bool:
    """Whether planned values differ so much that errors in per cent are different ones."""
    size = np.abs(plan)
    return bool(size.min() > 0 and np.ptp(size) > VARIED * size.min())


def _one(
    family: Family,
    values: Values,
    offset: bool,
    random: np.random.Generator,
    step: float,
    *,
    unit: float = 0.0,
    further: Mapping[str, Any] | None = None,
) -> FittedLaw:
    """A family with its criteria; `unit` is the sum of the logarithms of the units of values."""
    n, k = len(values), family.counted(offset)
    likely = family.estimate(values[None], offset)
    log_likelihood = float(family.log_likelihood(values[None], likely)[0]) - unit
    centre, width, shape = (float(each[0]) for each in family.fitted(values[None], offset))
    tested = goodness(family, values, offset, random, step)
    return FittedLaw(
        family.name,
        {**family.arguments(centre, width, shape), **(further or {})},
        Width(family.width, width, tested.interval),
        family.parameters + offset,
        2 * k - 2 * log_likelihood + (2 * k * (k + 1) / (n - k - 1) if n > k + 1 else math.inf),
        k * math.log(n) - 2 * log_likelihood,
        tested.p_value,
        centre,
        shape,
    )


def _best(values: Values, laws: Sequence[FittedLaw]) -> FittedLaw:
    """The simplest one of those that fit and are about as likely as any."""
    different, counts = np.unique(values, return_counts=True)
    if len(different) <= MOST_DISCRETE and len(values) >= FEW_VALUES:
        found = {"values": different.tolist(), "weights": counts.astype(float).tolist()}
        return FittedLaw("discrete", found)
    fitting = [law for law in laws if law.fits] or (laws if len(values) < FEW else [])
    if not fitting:
        return FittedLaw("empirical", {"samples": values.tolist()})
    smallest = min(law.aicc for law in fitting)
    alike = [law for law in fitting if law.aicc <= smallest + ALIKE]
    return min(alike, key=lambda law: law.parameters)  # the first of several, in their order


def _read(executed: object, planned: object) -> tuple[Values, Values | None]:
    values = _numbers("executed", executed)
    if planned is None:
        return values, None
    plan = _numbers("planned", planned)
    if len(plan) != len(values):
        raise ValueError(
            f"there are {len(values)} executed values, but {len(plan)} planned ones; give one for "
            "each"
        )
    return values - plan, plan


def _numbers(what: str, values: object) -> Values:
    expected = f"{what} values must be a list of numbers"
    if isinstance(values, (str, bytes)) or not (is_array(values) or isinstance(values, Sequence)):
        raise TypeError(f"{expected}, got {shown(values)}")
    try:
        read = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{expected}, got {shown(values)}") from None
    if read.ndim != 1:
        raise TypeError(f"{expected}, one for each measurement, got {shown(values)}")
    if not np.isfinite(read).all():
        missing = int((~np.isfinite(read)).sum())
        raise ValueError(f"{what} values must be finite, but {missing} are not; leave those out")
    return read
