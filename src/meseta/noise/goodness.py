"""Whether a family of laws fits: a test by bootstrap, and the interval of its width.

The p-values of tables are those of laws whose numbers were known before. Numbers that are fitted to
the same values follow them, and hardly any law would ever be refused. So samples of the fitted law
are drawn, fitted in the same way, and their statistic is compared [Stute, Manteiga and Quindimil
1993]. The widths of these samples give the interval of the width, too.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, stdtrit

from meseta.noise.families import Estimate, Family, PerRow, Rows, Values, standardised

SAMPLES = 399  # drawn from each fitted law
MOST_TESTED = 500  # values; more are not needed to refuse a law, and take long
LEAST = 1e-12  # of a probability, so that its logarithm exists


@dataclass(frozen=True)
class Goodness:
    """How well a law fits."""

    p_value: float  # the probability of a worse fit, if the law is true
    interval: tuple[float, float]  # of the width, 95 %; its upper end may be infinite


def goodness(
    family: Family, values: Values, offset: bool, random: np.random.Generator, step: float = 0.0
) -> Goodness:
    """The test of Anderson and Darling for a family that is fitted to the values.

    Args:
        family: The family of laws.
        values: Measured deviations.
        offset: Whether the centre is fitted, too; else it is 0.
        random: For the samples.
        step: That of rounded values: for the test they are spread evenly over it. Otherwise every
            law that has a density would be refused.
    """
    n = min(len(values), MOST_TESTED)
    tested = values if n == len(values) else random.choice(values, n, False)
    tested = tested + step * random.uniform(-0.5, 0.5, n)
    found = family.fitted(tested[None], offset)
    u = random.uniform(size=(SAMPLES, n))
    samples = np.asarray(family.quantile(u, np.full((SAMPLES, 1), found.shape[0])))
    again = family.fitted(samples, offset)
    worse = _statistic(family, samples, again) >= _statistic(family, tested[None], found)
    p_value = (1 + int(worse.sum())) / (SAMPLES + 1)
    return Goodness(p_value, _interval(family, values, offset, again.width, n))


def _statistic(family: Family, rows: Rows, estimate: Estimate) -> PerRow:
    """A^2 = -n - mean_i (2 i - 1) (log u_i + log(1 - u_(n+1-i))) [Anderson and Darling 1954]."""
    u = np.sort(np.clip(family.cdf(*standardised(rows, estimate)), LEAST, 1 - LEAST), -1)
    n = rows.shape[-1]
    weights = (2 * np.arange(1, n + 1) - 1) / n
    return -n - (weights * (np.log(u) + np.log1p(-u[:, ::-1]))).sum(-1)


def _interval(
    family: Family, values: Values, offset: bool, drawn: PerRow, tested: int
) -> tuple[float, float]:
    """The 95 % interval of the width.

    `drawn` are the widths of samples of `tested` values of the law of width 1: as the fitted width
    is to the true one. For the normal law it is known: n s^2 / std^2 has a chi-square law. A shape
    that is fitted, too, makes both depend on it: then the interval is that of the likelihood.
    """
    n = len(values)
    if family.profile is not None:
        return _likely(*family.profile(values, offset), n, family.parameters + offset)
    width = float(family.fitted(values[None], offset).width[0])
    if family.name == "normal":
        free = n - 1 if offset else n
        low, high = (width * math.sqrt(free / float(chdtri(free, t))) for t in (0.025, 0.975))
        return low, high
    # samples of fewer values scatter more
    high, low = (1 + (q - 1) * math.sqrt(tested / n) for q in np.quantile(drawn, [0.025, 0.975]))
    return width / float(low), width / float(high)


def _likely(widths: Values, log_likelihood: Values, n: int, parameters: int) -> tuple[float, float]:
    """The widths whose likelihood is not much below the largest one.

    As in regression, where 2 log likelihood ratios are n log(1 + t^2 / free).
    """
    free = max(1, n - parameters)
    below = n / 2 * math.log1p(float(stdtrit(free, 0.975)) ** 2 / free)
    likely = widths[log_likelihood >= log_likelihood.max() - below]
    low, high = float(likely.min()), float(likely.max())
    return low, math.inf if high >= widths.max() else high
