"""Verdicts on claims: whether the records bear them out, with figures.

Every function takes records of the problems and methods that its claim is about, enough of each.
Medians are those of the tables; "shown" is what the paired test shows, corrected by Holm for the
comparisons of the claim with the same method.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from meseta.bench.markdown import scientific
from meseta.bench.records import RunRecord
from meseta.bench.statistics import (
    FLOOR,
    Comparison,
    at_the_end,
    compare,
    curve,
    groups,
    halfway,
)
from meseta.bench.style import title_of

Verdict = Literal["yes", "partly", "no", "not enough runs yet"]

# A regret that does not halve while the evaluations double has all but stopped falling.
STALLED = 2.0
# "Almost two orders of magnitude": within a factor of two of a hundred. What is less, but clear on
# the paper's logarithmic axes, bears the claim out in part.
ALMOST_A_HUNDRED, CLEAR = 50.0, 5.0


class Finding(NamedTuple):
    """A verdict with the figures behind it."""

    verdict: Verdict
    figures: str


Judge = Callable[[Sequence[RunRecord]], Finding]
Medians = dict[str, dict[str, float]]  # of final regrets, by problem and method


def outperform(records: Sequence[RunRecord], ours: tuple[str, ...]) -> Finding:
    """Yes: each of ours is shown better than every other method on every problem.

    No: another ends lower somewhere. Partly: none does, but not every difference is shown.
    """
    medians = final_medians(records)
    shown, lower, open_ = 0, [], []
    for mine in ours:
        rivals = [r for r in records if r.job.label == mine or r.job.label not in ours]
        for c in compare(rivals, mine):
            if medians[c.problem][c.method] < medians[c.problem][mine]:
                lower.append(_beside(c, medians))
            elif c.better == mine:
                shown += 1
            else:
                open_.append(_beside(c, medians))
    figures = _sentences(
        f"Final regrets of NES and the best baseline: {_ours_and_best(medians, ours)}",
        f"{shown} of {shown + len(lower) + len(open_)} differences are shown",
        f"Lower: {_listed(lower)}" if lower else "",
        f"Higher, but that is not shown: {_listed(open_)}" if open_ else "",
    )
    return Finding("no" if lower else "partly" if open_ else "yes", figures)


def unbeaten(records: Sequence[RunRecord], ours: str) -> Finding:
    """No: another is shown better somewhere. Partly: one ends lower, but that is not shown."""
    medians = final_medians(records)
    found = compare(records, ours)
    shown = [_beside(c, medians) for c in found if c.better == c.method]
    lower = [
        _beside(c, medians)
        for c in found
        if c.better != c.method and medians[c.problem][c.method] < medians[c.problem][ours]
    ]
    figures = _sentences(
        f"Shown better: {_listed(shown)}",
        f"Lower, but that is not shown: {_listed(lower)}",
    )
    return Finding("no" if shown else "partly" if lower else "yes", figures)


def close(records: Sequence[RunRecord], reference: str) -> Finding:
    """Holds on a problem where no difference is shown; one method besides the reference."""
    medians = final_medians(records)
    found = compare(records, reference)
    ratios = [
        f"{c.problem} {medians[c.problem][c.method] / medians[c.problem][reference]:.3g} "
        f"(p {c.p_holm:.2g})"
        for c in found
    ]
    figures = _sentences(
        f"Final regret of {found[0].method} by that of {reference}: {_listed(ratios)}",
        f"Shown: {_listed([f'{c.verdict} on {c.problem}' for c in found if c.better])}",
    )
    return Finding(_by_share([c.better is None for c in found]), figures)


def alike(records: Sequence[RunRecord], reference: str) -> Finding:
    """Holds on a problem where no setting is shown to differ from the reference."""
    return _settings(records, reference, [c for c in compare(records, reference) if c.better])


def best_setting(records: Sequence[RunRecord], reference: str) -> Finding:
    """Holds on a problem where no setting is shown better than the reference."""
    found = compare(records, reference)
    return _settings(records, reference, [c for c in found if c.better == c.method])


def advantage_grows(records: Sequence[RunRecord], ours: str) -> Finding:
    """The factor by which the best other method ends above ours: geometric means per dimension.

    Yes: it grows with every dimension. Partly: from the first to the last only. Less than 1 at the
    last is no advantage.
    """
    dimensions = {r.job.problem: r.x.shape[1] for r in records}
    factors: dict[int, dict[str, float]] = {d: {} for d in sorted(set(dimensions.values()))}
    for problem, row in final_medians(records).items():
        best = min(value for label, value in row.items() if label != ours)
        factors[dimensions[problem]][problem] = best / row[ours]
    means = [float(np.exp(np.mean(np.log(list(some.values()))))) for some in factors.values()]
    said = [
        f"{mean:.3g} in {d} dim. ({', '.join(f'{p} {v:.3g}' for p, v in some.items())})"
        for mean, (d, some) in zip(means, factors.items(), strict=True)
    ]
    figures = _sentences(f"Final regret of the best baseline by that of {ours}: {_listed(said)}")
    if means[-1] <= max(1.0, means[0]):
        return Finding("no", figures)
    growing = all(a < b for a, b in pairwise(means))
    return Finding("yes" if growing else "partly", figures)


def stagnates(records: Sequence[RunRecord], who: str, beside: str) -> Finding:
    """Holds on a problem where the one stalls in the second half of evaluations, the other not."""
    falls = {
        problem: (_fall(by_label[who]), _fall(by_label[beside]))
        for problem, by_label in groups(records).items()
    }
    said = [f"{problem} {a:.3g} and {b:.3g}" for problem, (a, b) in falls.items()]
    figures = _sentences(
        f"Over the second half of evaluations the regrets of {who} and {beside} fall by factors "
        f"of (less than 1: they rise): {_listed(said)}"
    )
    return Finding(_by_share([a < STALLED <= b for a, b in falls.values()]), figures)


def far_below(records: Sequence[RunRecord], ours: str, theirs: str) -> Finding:
    """Yes: ours is lower by almost two orders of magnitude; records of one problem."""
    ((problem, row),) = final_medians(records).items()
    factor = row[theirs] / row[ours]
    figures = _sentences(
        f"Final regret on {problem}: {theirs} {scientific(row[theirs])}, {ours} "
        f"{scientific(row[ours])}, a factor of {factor:.3g}"
    )
    verdict: Verdict = "yes" if factor >= ALMOST_A_HUNDRED else "partly"
    return Finding(verdict if factor >= CLEAR else "no", figures)


def best_designs(records: Sequence[RunRecord], ours: str) -> Finding:
    """As `outperform`, with g of the recommended designs; records of one problem."""
    verdict, figures = outperform(records, (ours,))
    ((_, by_label),) = groups(records).items()
    values = {label: float(curve(runs, "value").median[-1]) for label, runs in by_label.items()}
    said = ", ".join(f"{label} {value:.4g}" for label, value in values.items())
    return Finding(verdict, f"g at the end: {said}. {figures}")


def final_medians(records: Sequence[RunRecord]) -> Medians:
    """The medians of the tables; differences that are only rounding are made equal."""
    return {
        problem: {
            label: max(float(curve(runs).median[-1]), FLOOR) for label, runs in by_label.items()
        }
        for problem, by_label in groups(records).items()
    }


def _settings(
    records: Sequence[RunRecord], reference: str, against: Sequence[Comparison]
) -> Finding:
    """Medians of settings of one method; the claim fails where a comparison is against it."""
    medians = final_medians(records)
    labels = list(dict.fromkeys(label for row in medians.values() for label in row))
    names = {label: title_of(label, labels).rpartition(", ")[2] for label in labels}
    rows = [
        f"{problem} {', '.join(scientific(value) for value in row.values())} "
        f"(lowest: {names[min(row, key=row.__getitem__)]})"
        for problem, row in medians.items()
    ]
    shown = [
        f"{names[c.better]} better than "
        f"{names[c.method if c.better == reference else reference]} on {c.problem}"
        for c in against
        if c.better
    ]
    figures = _sentences(
        f"Final regret for {', '.join(names.values())}: {_listed(rows)}",
        f"Shown: {_listed(shown)}",
    )
    failing = {c.problem for c in against}
    return Finding(_by_share([problem not in failing for problem in medians]), figures)


def _fall(runs: Sequence[RunRecord]) -> float:
    c = curve(runs)
    half, end = (max(float(c.median[at(c)]), FLOOR) for at in (halfway, at_the_end))
    return half / end


def _by_share(holds: Sequence[bool]) -> Verdict:
    """Yes: on every problem; partly: on some; no: on none."""
    return "yes" if all(holds) else "partly" if any(holds) else "no"


def _ours_and_best(medians: Medians, ours: tuple[str, ...]) -> str:
    said = []
    for problem, row in medians.items():
        best = min((label for label in row if label not in ours), key=row.__getitem__)
        cells = ", ".join(f"{scientific(row[label])} {label}" for label in (*ours, best))
        said.append(f"{problem} {cells}")
    return _listed(said)


def _beside(c: Comparison, medians: Medians) -> str:
    row = medians[c.problem]
    figures = f"{scientific(row[c.method])} against {scientific(row[c.reference])}"
    return f"{c.method} on {c.problem} ({figures} of {c.reference})"


def _listed(parts: Sequence[str]) -> str:
    return "; ".join(parts) or "nothing"


def _sentences(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)
