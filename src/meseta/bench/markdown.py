"""Tables of the records in Markdown, which a terminal shows well, too."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median, stdev

import numpy as np

from meseta.bench.plan import Plan
from meseta.bench.records import COMPUTE, RunRecord
from meseta.bench.statistics import (
    Comparison,
    Curve,
    Rank,
    at_the_end,
    compare,
    curve,
    fewest_pairs,
    groups,
    halfway,
    mean_ranks,
)
from meseta.bench.style import title_of
from meseta.bench.timing import PARTS, Timing, per_iteration


def own_page(path: Path, head: str, what: str) -> Path:
    """The path of a page, known by its head; refused where something else is there."""
    if path.exists() and head not in path.read_text(encoding="utf-8", errors="replace")[:200]:
        raise ValueError(
            f"{path} exists and is no {what}, so it is left as it is; move it, or name another "
            "folder by --output"
        )
    return path


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first column is aligned left, the others right."""
    columns = list(zip(head, *rows, strict=True))
    widths = [max(3, *map(len, column)) for column in columns]

    def line(cells: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join([first, *others])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return [line(head), line(rule), *map(line, rows)]


def scientific(value: float, digits: int = 1) -> str:
    """A short number such as 1.2e-4."""
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def regret_tables(plan: Plan, records: Sequence[RunRecord]) -> list[str]:
    """Medians at the end with their quartiles, and after half of the evaluations."""
    found = groups(records)
    curves = {
        problem: {label: curve(runs) for label, runs in found[problem].items()}
        for problem in plan.problems
        if problem in found
    }
    return [
        f"At the end (25th to 75th percentile), the lowest in bold. {_runs(curves)}",
        "",
        *_medians(plan, curves, at_the_end, quartiles=True),
        "",
        "After half of the evaluations:",
        "",
        *_medians(plan, curves, halfway, quartiles=False),
    ]


def rank_table(records: Sequence[RunRecord]) -> list[str]:
    """Mean ranks, best first."""
    ranks: list[Rank] = mean_ranks(records)
    if not ranks:
        return ["No pair of problem and seed is finished by all methods yet."]
    rows = [[r.method, f"{r.mean:.2f}", f"{r.low:.2f} to {r.high:.2f}"] for r in ranks]
    return [
        *markdown(["method", "mean rank", "95 % interval"], rows),
        "",
        f"1 is the lowest final regret; over {ranks[0].cells} pairs of problem and seed; "
        "intervals by bootstrap over seeds.",
    ]


def comparison_table(records: Sequence[RunRecord], reference: str) -> list[str]:
    """The differences to the reference, and whether they are real."""
    found = compare(records, reference)
    if not found:
        return [f"There is nothing to compare with {reference} yet."]
    rows = [_comparison_row(c) for c in found]
    head = ["problem", "method", f"regret by that of {reference}", "w/t/l", "p", "p (Holm)", ""]
    needed, pairs = fewest_pairs(len(found)), min(c.pairs for c in found)
    few = f" With {pairs} pairs none can be: it takes {needed}." if pairs < needed else ""
    return [
        *markdown(head, rows),
        "",
        f"Median ratio of final regrets over pairs with the same initial points; wins, ties and "
        f"losses of {reference}; Wilcoxon signed-rank test on log regret, two-sided, corrected by "
        f"Holm for all {len(found)} comparisons.{few}",
    ]


def cost_table(plan: Plan, records: Sequence[RunRecord]) -> list[str]:
    """Milliseconds of an iteration in these runs; runs beside each other slow each other down."""
    found = groups(records)
    rows = []
    for problem in plan.problems:
        for label, runs in found.get(problem, {}).items():
            parts = [_milliseconds(runs, part) for part in COMPUTE]
            whole = f"{sum(parts):.0f}"
            rows.append([problem, label, *(f"{part:.0f}" for part in parts), whole])
    return markdown(["problem", "method", *COMPUTE, "all (ms)"], rows)


def timing_table(plan: Plan, found: Sequence[Timing]) -> list[str]:
    """Compute time per iteration, and its ratio to the reference within the same function."""
    reference = plan.of.reference
    rows = []
    for label in plan.methods:
        whole = [1e3 * per_iteration(timing, label) for timing in found]
        parts = [1e3 * mean(t.seconds[label][part] for t in found) for part in PARTS]
        ratio = "-"
        if reference in plan.methods:
            ratios = [per_iteration(t, label) / per_iteration(t, reference) for t in found]
            ratio = f"{median(ratios):.2f}"
        deviation = stdev(whole) if len(whole) > 1 else 0.0
        rows.append(
            [
                title_of(label),
                *(f"{part:.1f}" for part in parts),
                f"{mean(whole):.1f} ({deviation:.1f})",
                ratio,
            ]
        )
    return [
        *markdown(["method", *PARTS, "iteration: mean (sd)", f"ratio to {reference}"], rows),
        "",
        f"Milliseconds, over {len(found)} functions; methods took turns in one thread. Last "
        "column: median ratio.",
    ]


def failure_table(records: Sequence[RunRecord]) -> list[str]:
    """Runs that failed, and warnings of those that did not."""
    failed = [r for r in records if r.state == "failed"]
    lines = [
        f"- failed: {r.job.label} on {r.job.problem}, seed {r.job.seed}: {r.reason}" for r in failed
    ]
    warned = sum(r.warnings > 0 for r in records)
    count = sum(r.warnings for r in records)
    lines.append(f"{len(failed)} runs failed. {warned} runs had {count} warnings.")
    return lines


def _medians(
    plan: Plan,
    curves: dict[str, dict[str, Curve]],
    when: Callable[[Curve], int],
    *,
    quartiles: bool,
) -> list[str]:
    """One row for each method, one column for each problem, with its number of evaluations."""
    head, columns = ["method"], []
    for problem, by_label in curves.items():
        some = next(iter(by_label.values()))
        at = when(some)
        head.append(f"{problem}, {some.evaluations[at]:.0f} ev.")
        lowest = min(c.median[at] for c in by_label.values())
        columns.append(
            {
                label: _median(c, at, bold=bool(c.median[at] == lowest), quartiles=quartiles)
                for label, c in by_label.items()
            }
        )
    rows = [[label, *(column.get(label, "") for column in columns)] for label in plan.methods]
    return markdown(head, rows)


def _median(c: Curve, at: int, *, bold: bool, quartiles: bool) -> str:
    mark = "**" if bold else ""
    low, high = scientific(c.lower[at], 0), scientific(c.upper[at], 0)
    around = f" ({low} to {high})" if quartiles else ""
    return f"{mark}{scientific(c.median[at])}{mark}{around}"


def _runs(curves: dict[str, dict[str, Curve]]) -> str:
    """The number of runs behind a table; one number if it is the same for all."""
    spans = {}
    for problem, by_label in curves.items():
        counts = sorted({c.runs for c in by_label.values()})
        spans[problem] = " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))
    if len(set(spans.values())) == 1:
        return f"{spans.popitem()[1]} runs of each method on each problem."
    return f"Runs of each method: {', '.join(f'{span} on {p}' for p, span in spans.items())}."


def _comparison_row(c: Comparison) -> list[str]:
    counts = f"{c.wins}/{c.ties}/{c.losses}"
    p, p_holm = (f"{p:.3f}" if p >= 0.001 else f"{p:.0e}" for p in (c.p, c.p_holm))
    return [c.problem, c.method, f"{c.ratio:.3g}", counts, p, p_holm, c.verdict]


def _milliseconds(runs: Sequence[RunRecord], part: str) -> float:
    return 1e3 * float(np.mean(np.concatenate([r.seconds[part] for r in runs])))
