"""What to know before measured deviations are made a law: few, rounded, drifting, far off."""

import math

import numpy as np
from scipy.special import ndtr, stdtrit

from meseta.noise.families import Values

FEW = 10  # with fewer values laws cannot be told apart
FEW_VALUES = 20  # with fewer, only laws that differ much can be told apart
SURE = 0.01  # p-value below which an order or a correlation is no accident
TIED = 0.2  # share of values that are repeated, from which on they look rounded
COARSE = 0.5  # a step, in standard deviations, that hides the shape of a law
ORDERED = 8  # values that are needed to look at their order
MOST_SHOWN = 5  # outliers that are listed


def suspicions(
    values: Values, plan: Values | None = None, scores: Values | None = None
) -> tuple[str, ...]:
    """In sentences; empty: there are none. `scores` are the values by the law that is taken."""
    found = (
        _few(values),
        _rounded(values),
        _far(values, values if scores is None else scores),
        *_ordered(values),
        _growing(values, plan),
    )
    return tuple(sentence for sentence in found if sentence)


def _few(values: Values) -> str:
    n = len(values)
    if n < FEW:
        return (
            f"{n} values are few: the width is known to within the interval only, and the form of "
            f"the law not at all. Measure more, {FEW_VALUES} or better 50; until then "
            f"learned-normal with worth = {n} carries what is not known into the answer"
        )
    if n < FEW_VALUES:
        return (
            f"{n} values tell only laws apart that differ much. Measure {FEW_VALUES} or more if "
            "rare large deviations matter"
        )
    return ""


def step_of(values: Values) -> float | None:
    """The step on which all values lie, where many of them are equal; None: they look exact."""
    different = np.unique(values)
    if len(different) < 2 or len(values) - len(different) < TIED * len(values):
        return None
    gaps = np.diff(different)
    step = float(gaps.min())
    # 0.3 - 0.2 is not 0.2 - 0.1 in floating point
    return step if np.abs(gaps / step - np.round(gaps / step)).max() < 1e-3 else None


def _rounded(values: Values) -> str:
    different = len(np.unique(values))
    if len(values) - different < TIED * len(values):
        return ""
    step = step_of(values)
    several = f"there are {different} different values among {len(values)}"
    if step is None:
        return f"{several}: check that none was copied"
    std = float(values.std())
    if step < COARSE * std:
        return f"{several}, in steps of {step:.3g}: for the test they are spread over these steps"
    return (
        f"{several}, in steps of {step:.3g}, which are {step / std:.2g} standard deviations. If "
        "the instrument rounds, it is too coarse to show the form of the law, and the width is too "
        "large by its rounding. If these values are real (notches, backlash), take Discrete"
    )


def _far(values: Values, scores: Values) -> str:
    places = outliers(scores)
    if not places:
        return ""
    shown = ", ".join(f"{values[i]:.4g} (value {i + 1})" for i in places[:MOST_SHOWN])
    more = f" and {len(places) - MOST_SHOWN} more" if len(places) > MOST_SHOWN else ""
    return (
        f"far from the others: {shown}{more}. If these were mishaps of the measurement, leave them "
        "out. If they happen in use, keep them, and prefer a law with wide tails or empirical"
    )


def outliers(values: Values, sure: float = 0.05) -> list[int]:
    """The places of values that a normal law does not have, for up to a tenth of the values.

    The generalised test of extreme studentised deviates [Rosner 1983].
    """
    order = np.argsort(values, kind="stable")
    rest = values[order]  # the farthest is at one of its ends
    first = 0
    removed: list[int] = []
    found = 0
    for _ in range(max(1, len(values) // 10)):
        n = len(rest)
        if n < 6:
            break
        std = float(rest.std(ddof=1))
        if not std:
            break
        mean = float(rest.mean())
        below, above = mean - float(rest[0]), float(rest[-1]) - mean
        t = float(stdtrit(n - 2, 1 - sure / (2 * n)))
        critical = (n - 1) * t / math.sqrt((n - 2 + t**2) * n)
        if below >= above:
            removed.append(int(order[first]))
            first, rest = first + 1, rest[1:]
        else:
            removed.append(int(order[first + n - 1]))
            rest = rest[:-1]
        if max(below, above) / std > critical:
            found = len(removed)
    return sorted(removed[:found])


def in_order(one: Values, other: Values) -> tuple[float, float]:
    """The rank correlation of two columns, and its p-value."""
    from scipy.stats import spearmanr  # late: it loads all of scipy's distributions

    found = spearmanr(one, other)
    return float(found.statistic), float(found.pvalue)


def _ordered(values: Values) -> tuple[str, str]:
    if len(values) < ORDERED:
        return "", ""
    drift, p = in_order(np.arange(len(values)), values)
    drifting = ""
    if p < SURE:
        word = "rise" if drift > 0 else "fall"
        drifting = (
            f"the values {word} with their order (rank correlation {drift:.2f}): a drift"
            ". The law has it in its width, and intervals are too narrow. Adjust the machine more "
            "often, or measure over a longer time"
        )
    lag, p = neighbours(values)
    following = ""
    if p < SURE and not drifting:
        word = "resemble" if lag > 0 else "alternate with"
        following = (
            f"neighbouring values {word} each other (correlation {lag:.2f}): they are no "
            "independent measurements, and count for less than their number. Intervals are too "
            "narrow" + ("" if lag > 0 else ", or somebody adjusts after every measurement")
        )
    return drifting, following


def neighbours(values: Values) -> tuple[float, float]:
    """The correlation of the ranks of neighbours, and its p-value [Wald and Wolfowitz 1943]."""
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(float)
    n = len(order)
    centred = order - order.mean()
    lag = float((centred[1:] * centred[:-1]).sum() / np.square(centred).sum())
    # of a random order: mean -1 / n, variance about 1 / n
    z = (lag + 1 / n) * math.sqrt(n)
    return lag, 2 * float(ndtr(-abs(z)))


def _growing(values: Values, plan: Values | None) -> str:
    if plan is None or len(values) < ORDERED or not np.ptp(plan):
        return ""
    away = np.abs(values - values.mean())
    grows, p = in_order(np.abs(plan), away)
    if not p < SURE:
        return ""
    if grows < 0:
        return "deviations are smaller where the planned value is larger"
    return (
        "deviations grow with the planned value: an error in per cent, or a width that depends on "
        "the value, suits them better than one width for all"
    )
