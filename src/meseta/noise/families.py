"""The families of noise laws that are fitted to measured deviations, without torch.

Each is symmetric: xi = centre + width z, where z has a law without any number in it but the shape.
Estimates are made for many samples at once, a row each, as the bootstrap needs them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

Rows = Float64[np.ndarray, "m n"]
PerRow = Float64[np.ndarray, " m"]
Column = Float64[np.ndarray, "m 1"]
Values = Float64[np.ndarray, " n"]

LOG_ROOT = math.log(2 * math.pi) / 2
# Degrees of freedom that are tried. More than 30 look like the normal law.
FREEDOMS = (30.0, 20.0, 14.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.5, 3.0, 2.5, 2.1)
AT_ONCE = 2_000_000  # densities that are held in memory
STEPS = 6  # of the search for a scale; each starts from that of the freedom before
HALVINGS = 45  # of an interval: as many digits as there are
# Standard deviations, in half-widths, of truncated normal laws: beyond the ends it looks like the
# normal or the uniform law.
NARROWEST, WIDEST = 0.25, 3.0
ENDLESS = 20.0  # half-widths: a standard deviation that is as good as infinite


class Estimate(NamedTuple):
    """The numbers of a law for each row."""

    centre: PerRow
    width: PerRow
    shape: PerRow  # NaN where there is none


@dataclass(frozen=True)
class Family:
    """Noise laws of one form."""

    name: str  # in study files
    width: str  # the argument that is its width
    parameters: int  # the number of them without the centre
    limits: tuple[int, int]  # how many are ends of the law: without, and with a centre
    log_density: Callable[[Rows, Column], Rows]  # of z, by the shape
    cdf: Callable[[Rows, Column], Rows]
    quantile: Callable[[Rows, Column], Rows]
    estimate: Callable[[Rows, bool], Estimate]  # of maximum likelihood; with or without a centre
    unbiased: Callable[[Estimate, int, bool], Estimate]  # that, for n values, with its bias removed
    arguments: Callable[[float, float, float], Mapping[str, float]]  # by centre, width and shape
    # widths, and the log likelihood of each by the best shape; None: the law of z has no shape
    profile: Callable[[Values, bool], tuple[Values, Values]] | None = None

    def counted(self, offset: bool) -> int:
        """The number of parameters for a criterion.

        An end counts twice: n values tell it to 1 / n and not to 1 / sqrt(n), so that a fit gains
        twice as much by it.
        """
        return self.parameters + offset + self.limits[offset]

    def log_likelihood(self, rows: Rows, estimate: Estimate) -> PerRow:
        z, shape = standardised(rows, estimate)
        return self.log_density(z, shape).sum(-1) - rows.shape[-1] * np.log(estimate.width)

    def fitted(self, rows: Rows, offset: bool) -> Estimate:
        return self.unbiased(self.estimate(rows, offset), rows.shape[-1], offset)


def standardised(rows: Rows, estimate: Estimate) -> tuple[Rows, Column]:
    """z of each value, and the shapes as a column."""
    z = (rows - estimate.centre[:, None]) / estimate.width[:, None]
    return z, estimate.shape[:, None]


def _no_shape(centre: PerRow, width: PerRow) -> Estimate:
    return Estimate(centre, width, np.full_like(centre, math.nan))


def _middle(rows: Rows, offset: bool) -> PerRow:
    """Half-way between the smallest and the largest value."""
    return (rows.min(-1) + rows.max(-1)) / 2 if offset else np.zeros(len(rows))


def _mean(rows: Rows, offset: bool) -> PerRow:
    return rows.mean(-1) if offset else np.zeros(len(rows))


def _plain(key: str) -> Callable[[float, float, float], Mapping[str, float]]:
    """Arguments of a law that has a width and a mean."""

    def arguments(centre: float, width: float, shape: float) -> Mapping[str, float]:
        return {key: width, **({"mean": centre} if centre else {})}

    return arguments


def _as_it_is(estimate: Estimate, n: int, offset: bool) -> Estimate:
    return estimate


def _normal_estimate(rows: Rows, offset: bool) -> Estimate:
    centre = _mean(rows, offset)
    return _no_shape(centre, np.sqrt(np.square(rows - centre[:, None]).mean(-1)))


def _normal_unbiased(estimate: Estimate, n: int, offset: bool) -> Estimate:
    """The variance divides by n - 1 where the mean is estimated, too."""
    return estimate._replace(width=estimate.width * math.sqrt(n / (n - 1) if offset else 1))


def _uniform_estimate(rows: Rows, offset: bool) -> Estimate:
    centre = _middle(rows, offset)
    return _no_shape(centre, np.abs(rows - centre[:, None]).max(-1))


def _reach(n: int, offset: bool) -> float:
    """The half-width by the largest value: E max|xi| = n h / (n + 1), E range = 2 h (n-1)/(n+1)."""
    return (n + 1) / (n - 1 if offset else n)


def _uniform_unbiased(estimate: Estimate, n: int, offset: bool) -> Estimate:
    return estimate._replace(width=estimate.width * _reach(n, offset))


def _triangular_estimate(rows: Rows, offset: bool) -> Estimate:
    """Around the mean; the half-width h solves sum_i d_i / (h - d_i) = n, d_i = |x_i - mean|.

    That is where the slope of the likelihood is 0. The left side falls with h, so that there is
    one solution, beyond the largest d_i.
    """
    centre = _mean(rows, offset)
    d = np.abs(rows - centre[:, None])
    largest = d.max(-1)
    r, n = d / largest[:, None], rows.shape[-1]
    low, high = np.zeros(len(rows)), np.ones(len(rows))  # of y = largest / h
    for _ in range(HALVINGS):
        y = (low + high) / 2
        part = y[:, None] * r
        above = (part / (1 - part)).sum(-1) > n
        low, high = np.where(above, low, y), np.where(above, y, high)
    return _no_shape(centre, largest * 2 / (low + high))


def _laplace_estimate(rows: Rows, offset: bool) -> Estimate:
    centre = np.median(rows, -1) if offset else np.zeros(len(rows))
    return _no_shape(centre, np.abs(rows - centre[:, None]).mean(-1))


def _laplace_quantile(u: Rows, shape: Column) -> Rows:
    small = np.minimum(u, 1 - u)
    return np.sign(u - 0.5) * -np.log(2 * small)


def _student_estimate(rows: Rows, offset: bool) -> Estimate:
    """Expectation maximisation [Kent, Tyler and Vardi 1994], for each number of freedoms."""
    start = _normal_estimate(rows, offset)
    centre, width, n = start.centre, start.width, rows.shape[-1]
    best = Estimate(centre, width, np.full_like(centre, FREEDOMS[0]))
    highest = np.full(len(rows), -math.inf)
    for df in FREEDOMS:
        for _ in range(STEPS):
            weights = 1 / (df + np.square((rows - centre[:, None]) / width[:, None]))
            total = weights.sum(-1)
            if offset:
                centre = (weights * rows).sum(-1) / total
            spread = (weights * np.square(rows - centre[:, None])).sum(-1) / total
            width = np.sqrt(spread)
        shape = np.full_like(centre, df)
        z, _ = standardised(rows, Estimate(centre, width, shape))
        likelihood = _student_log_density(z, shape[:, None]).sum(-1) - n * np.log(width)
        better = likelihood > highest
        highest = np.where(better, likelihood, highest)
        best = Estimate(
            np.where(better, centre, best.centre),
            np.where(better, width, best.width),
            np.where(better, df, best.shape),
        )
    return best


def _student_profile(values: Values, offset: bool) -> tuple[Values, Values]:
    found = _student_estimate(values[None], offset)
    # the more values there are, the closer together are the widths that they leave open
    reach = min(8.0, math.exp(12 / math.sqrt(len(values))))
    widths = found.width[0] * np.geomspace(1 / reach, reach, 321 if len(values) < 1000 else 81)
    best = []
    for some in np.array_split(widths, math.ceil(len(widths) * len(values) / AT_ONCE)):
        z = (values - found.centre[0]) / some[:, None]
        by_freedom = [_student_log_density(z, np.full((1, 1), df)).sum(-1) for df in FREEDOMS]
        best.append(np.max(by_freedom, 0))
    return widths, np.concatenate(best) - len(values) * np.log(widths)


def _student_log_density(z: Rows, df: Column) -> Rows:
    height = gammaln((df + 1) / 2) - gammaln(df / 2) - np.log(df * math.pi) / 2
    return height - (df + 1) / 2 * np.log1p(z**2 / df)


def _student_arguments(centre: float, width: float, shape: float) -> Mapping[str, float]:
    return {"df": shape, "scale": width, **({"mean": centre} if centre else {})}


def _second_moment(a: Float64[np.ndarray, " k"]) -> Float64[np.ndarray, " k"]:
    """E t^2 of N(0, 1 / a^2) between -1 and 1."""
    density = np.exp(-(a**2) / 2 - LOG_ROOT)
    return (1 - 2 * a * density / (2 * ndtr(a) - 1)) / a**2


def _truncated_estimate(rows: Rows, offset: bool) -> Estimate:
    """Limits at the furthest value; the standard deviation by the second moment between them.

    For known limits that is the maximum of the likelihood.
    """
    centre = _mean(rows, offset)
    d = np.abs(rows - centre[:, None])
    half = d.max(-1)
    a = np.geomspace(1 / WIDEST, 1 / NARROWEST, 400)
    moment = np.square(d / half[:, None]).mean(-1)
    shape = np.interp(-moment, -_second_moment(a), a)  # the moment falls with a
    return Estimate(centre, half / shape, shape)


def _truncated_profile(values: Values, offset: bool) -> tuple[Values, Values]:
    """For limits that are known: those of the estimate."""
    found = _truncated_estimate(values[None], offset)
    found = _truncated_unbiased(found, len(values), offset)
    half = float(found.shape[0] * found.width[0])
    widths = half * np.geomspace(NARROWEST, ENDLESS, 400)
    tested = Estimate(np.full_like(widths, found.centre[0]), widths, half / widths)
    z, shape = standardised(np.broadcast_to(values, (len(widths), len(values))), tested)
    return widths, _truncated_log_density(z, shape).sum(-1) - len(values) * np.log(widths)


def _truncated_unbiased(estimate: Estimate, n: int, offset: bool) -> Estimate:
    return estimate._replace(shape=estimate.shape * _reach(n, offset))


def _truncated_log_density(z: Rows, a: Column) -> Rows:
    inside = -(z**2) / 2 - LOG_ROOT - np.log(2 * ndtr(a) - 1)
    return np.where(np.abs(z) <= a * (1 + 1e-12), inside, -math.inf)


def _truncated_cdf(z: Rows, a: Column) -> Rows:
    return np.clip((ndtr(z) - ndtr(-a)) / (2 * ndtr(a) - 1), 0, 1)


def _truncated_arguments(centre: float, width: float, shape: float) -> Mapping[str, float]:
    ends = {"low": centre - shape * width, "high": centre + shape * width}
    return {"std": width, **ends, **({"mean": centre} if centre else {})}


def _triangular_arguments(centre: float, width: float, shape: float) -> Mapping[str, float]:
    if not centre:
        return {"half_width": width}
    return {"low": centre - width, "high": centre + width, "mode": centre}


NORMAL = Family(
    "normal",
    "std",
    1,
    (0, 0),
    lambda z, _: -(z**2) / 2 - LOG_ROOT,
    lambda z, _: ndtr(z),
    lambda u, _: ndtri(u),
    _normal_estimate,
    _normal_unbiased,
    _plain("std"),
)
UNIFORM = Family(
    "uniform",
    "half_width",
    1,
    (1, 2),
    lambda z, _: np.where(np.abs(z) <= 1 + 1e-12, -math.log(2), -math.inf),
    lambda z, _: np.clip((1 + z) / 2, 0, 1),
    lambda u, _: 2 * u - 1,
    _uniform_estimate,
    _uniform_unbiased,
    _plain("half_width"),
)
FAMILIES = (
    NORMAL,
    UNIFORM,
    Family(
        "triangular",
        "half_width",
        1,
        (0, 0),
        lambda z, _: np.log(np.maximum(1 - np.abs(z), 1e-300)),
        lambda z, _: 0.5 + np.sign(z) * (1 - np.square(1 - np.minimum(np.abs(z), 1))) / 2,
        lambda u, _: np.sign(u - 0.5) * (1 - np.sqrt(2 * np.minimum(u, 1 - u))),
        _triangular_estimate,
        _as_it_is,
        _triangular_arguments,
    ),
    Family(
        "laplace",
        "scale",
        1,
        (0, 0),
        lambda z, _: -np.abs(z) - math.log(2),
        lambda z, _: 0.5 + np.sign(z) * (1 - np.exp(-np.abs(z))) / 2,
        _laplace_quantile,
        _laplace_estimate,
        _as_it_is,
        _plain("scale"),
    ),
    Family(
        "student-t",
        "scale",
        2,
        (0, 0),
        _student_log_density,
        lambda z, df: stdtr(df, z),
        lambda u, df: stdtrit(df, u),
        _student_estimate,
        _as_it_is,
        _student_arguments,
        _student_profile,
    ),
    Family(
        "truncated-normal",
        "std",
        2,
        (1, 1),
        _truncated_log_density,
        _truncated_cdf,
        lambda u, a: ndtri(ndtr(-a) + u * (2 * ndtr(a) - 1)),
        _truncated_estimate,
        _truncated_unbiased,
        _truncated_arguments,
        _truncated_profile,
    ),
)
