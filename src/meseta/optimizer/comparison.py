"""The robust optimum beside the nominal one, as text."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol, runtime_checkable

from meseta.measures import Mean, Measure
from meseta.optimizer.beyond import in_words
from meseta.optimizer.record import BAND, Kept, Recommendation, Test, percent
from meseta.space.space import Design

# The search was for the robust one, and need not have come near the other.
INTERVALS = "(± is half the width of a 95 % interval.)"
NOMINAL = "(The nominal optimum ignores the noise. It was not the target of the search.)"


@runtime_checkable
class Expected(Protocol):
    """A design and what is expected of it: a `Recommendation`, or what has the same fields."""

    @property
    def params(self) -> Design: ...
    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def nominal_mean(self) -> float: ...
    @property
    def nominal_std(self) -> float: ...
    @property
    def test(self) -> Test | None: ...
    @property
    def beyond(self) -> float: ...
    @property
    def outside(self) -> float: ...
    @property
    def kept(self) -> Mapping[str, Kept]: ...
    @property
    def sure(self) -> float: ...
    @property
    def feasible(self) -> bool: ...
    @property
    def scatter(self) -> str: ...


def comparison(
    title: Sequence[str],
    robust: Expected,
    nominal: Recommendation,
    measure: Measure,
    further: str = "",
) -> str:
    """A line of title, then a row for each parameter and for both values, then notes."""
    rows = _rows(robust, nominal, measure)
    width = max(len(label) for label, *_ in rows)
    wide = max(22, *(len(cell) for _, *cells in rows for cell in cells))
    lines = (f"{a:{width}} {b:>{wide}} {c:>{wide}}" for a, b, c in rows)
    return "\n".join([", ".join(title), *lines, *_notes(robust, nominal, measure, further)])


def comparison_html(
    title: Sequence[str],
    robust: Expected,
    nominal: Recommendation,
    measure: Measure,
    further: str = "",
) -> str:
    """The same for a notebook."""
    head, *rows = [[escape(cell) for cell in row] for row in _rows(robust, nominal, measure)]
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{label}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for label, *cells in rows
    )
    notes = "".join(
        f"<div>{escape(note)}</div>" for note in _notes(robust, nominal, measure, further)
    )
    return (
        f"<div><strong>{escape(', '.join(title))}</strong></div>"
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table><small>{notes}</small>"
    )


def _rows(
    robust: Expected, nominal: Recommendation, measure: Measure
) -> list[tuple[str, str, str]]:
    in_use = "E f(x + xi)" if isinstance(measure, Mean) else measure.in_words()
    labels = ["", *robust.params, in_use, "f(x)"]
    left, right = _column("robust optimum", robust), _column("nominal optimum", nominal)
    return list(zip(labels, left, right, strict=True))


def _notes(robust: Expected, nominal: Recommendation, measure: Measure, further: str) -> list[str]:
    test = robust.test or "not evaluated itself, nor anything within 2 % of the ranges"
    tested = f"(The robust optimum was {test}.)"
    warning = in_words(robust.beyond, robust.outside)
    others = [f"({note}.)" for note in (warning, further) if note]
    notes = [INTERVALS, tested, *others, NOMINAL]
    scatter = [f"({measure.in_words()}: {robust.scatter}.)"] if robust.scatter else []
    return [*_constraints(robust, nominal), *scatter, *notes]


def _constraints(robust: Expected, nominal: Recommendation) -> list[str]:
    """A line for each constraint, what of it the nominal optimum keeps, and how sure that is."""
    if not robust.kept:
        return []
    lines = []
    for name, kept in robust.kept.items():
        other = nominal.kept[name].share
        beside = "" if other is None else f"; the nominal optimum: {percent(other)}"
        lines.append(f"{name} {kept}{beside}")
    return [*lines, f"({verdict(robust)}.)"]


def verdict(best: Expected) -> str:
    """Whether a design is known to keep its constraints, in a sentence."""
    if best.feasible:
        return f"The design keeps all constraints as often as asked, sure to {percent(best.sure)}"
    if any(kept.share is None for kept in best.kept.values()):
        return "Too few values to say whether a design keeps all constraints as often as asked"
    return (
        f"No design is known to keep all constraints as often as asked: this one does with a "
        f"probability of {percent(best.sure)}, and is the most promising"
    )


def _column(title: str, optimum: Expected) -> list[str]:
    return [
        title,
        *(f"{v:.5g}" if isinstance(v, float) else str(v) for v in optimum.params.values()),
        f"{optimum.mean:.5g} ± {BAND * optimum.std:.2g}",
        f"{optimum.nominal_mean:.5g} ± {BAND * optimum.nominal_std:.2g}",
    ]
