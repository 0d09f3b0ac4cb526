"""Measured deviations of several parameters that go together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float64
from scipy.special import stdtrit

from meseta.noise.families import Values
from meseta.noise.suspicions import ORDERED, SURE, in_order

Matrix = Float64[np.ndarray, "d d"]


@dataclass(frozen=True)
class Correlated:
    """Parameters whose deviations go together, and the normal law of all of them."""

    names: tuple[str, ...]
    count: int  # rows in which all of them were measured
    rows: tuple[tuple[float, ...], ...]
    correlation: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...]
    mean: tuple[float, ...]  # 0 unless that of one of them differs from 0


def correlated(columns: Mapping[str, Values]) -> list[Correlated]:
    """Groups of columns that are correlated; NaN is what was not measured.

    Two go together if their rank correlation is no accident, whatever their laws are.
    """
    pairs = list(combinations(columns, 2))
    groups = {name: {name} for name in columns}
    for one, other in pairs:
        if _go_together(columns[one], columns[other], SURE / len(pairs)):
            joined = groups[one] | groups[other]
            for name in joined:
                groups[name] = joined
    found = dict.fromkeys(tuple(name for name in columns if name in groups[n]) for n in columns)
    laws = (_law(names, columns) for names in found if len(names) > 1)
    return [law for law in laws if law is not None]


def _go_together(one: Values, other: Values, sure: float) -> bool:
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < ORDERED or not np.ptp(one[both]) or not np.ptp(other[both]):
        return False
    return in_order(one[both], other[both])[1] < sure


def _law(names: tuple[str, ...], columns: Mapping[str, Values]) -> Correlated | None:
    table = np.column_stack([columns[name] for name in names])
    rows = table[np.isfinite(table).all(-1)]
    n = len(rows)
    if n < len(names) + 2:  # too few for a covariance
        return None
    mean = rows.mean(0)
    reach = float(stdtrit(n - 1, 0.975)) * rows.std(0, ddof=1) / math.sqrt(n)
    centred = bool((np.abs(mean) > reach).any())
    if not centred:
        mean = np.zeros(len(names))
    away = rows - mean
    covariance = away.T @ away / (n - 1 if centred else n)
    std = np.sqrt(np.diag(covariance))
    return Correlated(
        names,
        n,
        _tuples(rows),
        _tuples(covariance / std[:, None] / std),
        _tuples(covariance),
        tuple(mean.tolist()),
    )


def _tuples(matrix: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())
