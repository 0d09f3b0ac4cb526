"""Statistics of the records: medians and quartiles, paired comparisons, ranks.

Runs of one problem with one seed start from the same points, so methods are compared in pairs.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.stats import rankdata, wilcoxon
from scipy.stats import t as student_t

from meseta.bench.experiments import Metric
from meseta.bench.runs import E, Ended

# Regrets below are rounding: g* is known to about 12 digits.
FLOOR = 1e-10
LEVEL = 0.05
DRAWS = 5000


class Curve(NamedTuple):
    """Median and quartiles over runs, after each number of evaluations."""

    evaluations: Float64[np.ndarray, " m"]
    median: Float64[np.ndarray, " m"]
    lower: Float64[np.ndarray, " m"]  # 25th percentile
    upper: Float64[np.ndarray, " m"]  # 75th percentile
    runs: int


class Comparison(NamedTuple):
    """A method beside the reference on one problem, at the end of runs with the same seeds."""

    problem: str
    method: str
    reference: str
    pairs: int
    wins: int  # pairs that the reference wins
    ties: int
    losses: int
    ratio: float  # median over pairs of the method's regret by that of the reference
    balance: float  # sum of signed ranks, positive where the reference is better
    p: float  # Wilcoxon signed-rank test on the logarithms, two-sided
    p_holm: float  # the same, corrected for all comparisons made together

    @property
    def better(self) -> str | None:
        """The better method, if the test shows one; it may win fewer pairs."""
        if self.p_holm >= LEVEL:
            return None
        return self.reference if self.balance > 0 else self.method

    @property
    def verdict(self) -> str:
        return f"{self.better} is better" if self.better else "no difference shown"


class Rank(NamedTuple):
    """Mean rank of a method, 1 being the lowest regret, with its 95 % interval."""

    method: str
    mean: float
    low: float
    high: float
    cells: int  # pairs of problem and seed in which every method has finished
    problems: int


def groups(records: Sequence[E]) -> dict[str, dict[str, list[E]]]:
    """Complete runs by problem and method, each ordered by seed."""
    found: dict[str, dict[str, list[E]]] = {}
    for record in sorted(records, key=lambda record: record.job.seed):
        if record.state == "complete":
            methods = found.setdefault(record.job.problem, {})
            methods.setdefault(record.job.label, []).append(record)
    return found


def curve(runs: Sequence[Ended], metric: Metric = "regret") -> Curve:
    """The curve of one method on one problem, from the initial design on."""
    values = np.stack([getattr(record, metric) for record in runs])
    last = runs[0].job.evaluations
    first = last - values.shape[1] + 1
    lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    return Curve(np.arange(first, last + 1.0), median, lower, upper, len(runs))


def halfway(curve: Curve) -> int:
    """The index after half of the evaluations, or after the initial design if later."""
    return max(0, int(curve.evaluations[-1] // 2 - curve.evaluations[0]))


def at_the_end(curve: Curve) -> int:
    return len(curve.median) - 1


def final_log_regret(runs: Sequence[Ended]) -> dict[int, float]:
    """log10 of the last regret by seed."""
    return {r.job.seed: float(np.log10(max(r.regret[-1], FLOOR))) for r in runs}


def compare(records: Sequence[Ended], reference: str) -> list[Comparison]:
    """Every method with the reference on every problem, corrected for their number by Holm."""
    found = []
    for problem, methods in groups(records).items():
        if reference not in methods:
            continue
        ours = final_log_regret(methods[reference])
        for method, runs in methods.items():
            theirs = final_log_regret(runs)
            seeds = sorted(ours.keys() & theirs.keys())
            if method != reference and seeds:
                difference = np.array([theirs[seed] - ours[seed] for seed in seeds])
                found.append(_compared(problem, method, reference, difference))
    corrected = holm([comparison.p for comparison in found])
    return [c._replace(p_holm=p) for c, p in zip(found, corrected, strict=True)]


def rank_balance(difference: Float64[np.ndarray, " n"]) -> float:
    """The sum whose distance from 0 the test judges; ties left out."""
    different = difference[difference != 0]
    return float((np.sign(different) * rankdata(np.abs(different))).sum())


def signed_rank(difference: Float64[np.ndarray, " n"]) -> float:
    """p of the two-sided Wilcoxon test that differences are symmetric about 0; ties left out."""
    different = difference[difference != 0]
    return float(wilcoxon(different).pvalue) if len(different) else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for their number: reject in order, the i-th smallest at level/(n - i).

    S. Holm, Scand. J. Statist. 6 (1979).
    """
    corrected, highest = [0.0] * len(p), 0.0
    for i, index in enumerate(np.argsort(p, kind="stable").tolist()):
        highest = max(highest, min(1.0, (len(p) - i) * p[index]))
        corrected[index] = highest
    return corrected


def fewest_pairs(comparisons: int = 1) -> int:
    """The number of pairs k from which the corrected test can find anything: n 2^(1-k) < level."""
    return int(np.floor(1 + np.log2(max(comparisons, 1) / LEVEL))) + 1


def mean_ranks(records: Sequence[Ended], seed: int = 0, draws: int = DRAWS) -> list[Rank]:
    """The mean rank of each method over problems and seeds, best first.

    Seeds are resampled: the intervals are for these problems.
    """
    methods, tables = _rank_tables(records)
    if not tables:
        return []
    random = np.random.default_rng(seed)
    sums = np.zeros((draws, len(methods)))
    for table in tables:
        chosen = random.integers(len(table), size=(draws, len(table)))
        sums += table[chosen].sum(1)
    low, high = np.quantile(sums / sum(map(len, tables)), [0.025, 0.975], axis=0)
    return _ranked(methods, tables, np.concatenate(tables).mean(0), low, high)


def mean_ranks_of_many(records: Sequence[Ended]) -> list[Rank]:
    """The same over problems that are some of many there might be, each counting the same.

    The mean ranks of problems are taken for independent draws: their intervals are those of
    Student's t. A bootstrap of few problems holds the truth too seldom, in 85 % for six of them.
    Of one problem there is no interval: its ends are those of nothing, NaN.
    """
    methods, tables = _rank_tables(records)
    if not tables:
        return []
    means = np.array([table.mean(0) for table in tables])
    k, mean = len(means), means.mean(0)
    half = np.full(len(methods), np.nan)
    if k > 1:
        half = student_t.ppf(1 - LEVEL / 2, k - 1) * means.std(0, ddof=1) / np.sqrt(k)
    low, high = np.clip([mean - half, mean + half], 1, len(methods))
    return _ranked(methods, tables, mean, low, high)


def _rank_tables(
    records: Sequence[Ended],
) -> tuple[list[str], list[Float64[np.ndarray, "seeds methods"]]]:
    found = groups(records)
    methods = list(dict.fromkeys(label for by_label in found.values() for label in by_label))
    tables = [_rank_table(by_label, methods) for by_label in found.values()]
    return methods, [table for table in tables if len(table)]


def _ranked(
    methods: list[str],
    tables: list[Float64[np.ndarray, "seeds methods"]],
    mean: Float64[np.ndarray, " m"],
    low: Float64[np.ndarray, " m"],
    high: Float64[np.ndarray, " m"],
) -> list[Rank]:
    over = (sum(map(len, tables)), len(tables))
    rows = zip(methods, mean.tolist(), low.tolist(), high.tolist(), strict=True)
    return sorted((Rank(*row, *over) for row in rows), key=lambda rank: rank.mean)


def _compared(
    problem: str, method: str, reference: str, difference: Float64[np.ndarray, " n"]
) -> Comparison:
    p = signed_rank(difference)
    return Comparison(
        problem,
        method,
        reference,
        pairs=len(difference),
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
        ratio=float(10 ** np.median(difference)),
        balance=rank_balance(difference),
        p=p,
        p_holm=p,
    )


def _rank_table(
    by_label: Mapping[str, Sequence[Ended]], methods: list[str]
) -> Float64[np.ndarray, "seeds methods"]:
    """Ranks of all methods for each seed that every one of them has finished."""
    columns = [final_log_regret(by_label.get(method, [])) for method in methods]
    seeds = sorted(set.intersection(*(set(column) for column in columns)))
    values = np.array([[column[seed] for column in columns] for seed in seeds])
    return rankdata(values.reshape(len(seeds), len(methods)), axis=-1)
