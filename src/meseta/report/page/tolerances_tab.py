"""Which tolerance matters, and what tightening it buys."""

from meseta.report.page.axes import axes_of
from meseta.report.page.chart import plot
from meseta.report.page.figures_tolerances import (
    MOST_BANDS,
    MOST_LINES,
    best_figure,
    halving_figure,
    kept_figure,
    movement_figure,
)
from meseta.report.page.markup import Markup, element, together
from meseta.report.page.numbers import SPACE, estimate, number, percent_between, plain, with_unit
from meseta.report.page.table import remark, table
from meseta.report.views.report import Report
from meseta.report.views.terms import Terms
from meseta.report.views.tolerances import Tolerance, Tolerances


def tolerances_tab(report: Report) -> Markup:
    tolerances, terms = report.tolerances, report.terms
    if tolerances is None or not tolerances.each:
        return element("p", "Nothing is perturbed here, so that no tolerance can matter.")
    return together(
        _halving(tolerances, terms),
        _worth(tolerances.each, terms),
        _movement(report, tolerances.each),
    )


def _halving(tolerances: Tolerances, terms: Terms) -> Markup:
    each = tolerances.each
    told = [f"{t.name} {estimate(t.halving, terms.unit)}" for t in each[:MOST_LINES]]
    figure = plot(
        halving_figure(each, terms),
        f"Bars of what halving each noise buys: {'; '.join(told)}.",
        "Each bar shows how much better the best design gets when this noise alone is halved; the "
        "line at its end is the 95 % interval.",
    )
    remarks = [element("li", text) for text in tolerances.joint]
    return element(
        "section",
        element("h3", "What halving a noise buys"),
        figure,
        _table(each, terms),
        element("ul", remarks) if remarks else None,
    )


def _table(each: tuple[Tolerance, ...], terms: Terms) -> Markup:
    rows = [
        (
            tolerance.name,
            tolerance.law,
            _std(tolerance, terms),
            estimate(tolerance.halving, terms.unit),
            _slope(tolerance, terms),
            percent_between(tolerance.share),
        )
        for tolerance in each
    ]
    head = (
        "Parameter",
        "Noise",
        "Standard deviation",
        "Halving it buys",
        "Slope at the optimum",
        "Part in the variance",
    )
    return table("Tolerances, those that matter most first", head, rows, wide=True)


def _std(tolerance: Tolerance, terms: Terms) -> Markup:
    if tolerance.std is None:
        return together("none: a choice")
    if tolerance.log:
        return together(number(tolerance.std), remark("of the logarithm"))
    return together(number(tolerance.std, terms.unit_of(tolerance.name)))


def _slope(tolerance: Tolerance, terms: Terms) -> str:
    if tolerance.slope is None:
        return "none: a choice"
    per = terms.unit_of(tolerance.name) or "unit"
    return f"{with_unit(plain(tolerance.slope, 3), terms.unit)} per{SPACE}{per}"


def _worth(each: tuple[Tolerance, ...], terms: Terms) -> Markup:
    most = "" if len(each) <= MOST_LINES else f" Shown are the {MOST_LINES} that matter most."
    bands = " Bands are 95 % intervals." if len(each) <= MOST_BANDS else ""
    overview = plot(
        best_figure(each, terms),
        f"The worth of the best design against the size of each noise, from none to double: "
        f"{'; '.join(_ends(tolerance, terms) for tolerance in each[:MOST_LINES])}.",
        "Each line shows what the best design is worth as the noise of one parameter shrinks to "
        "nothing (0) or doubles (2); the steepest line is the tolerance to care about."
        f"{bands}{most}",
    )
    small = [
        plot(
            kept_figure(tolerance, terms),
            f"Noise of {tolerance.name}: the best design for it, and today's design kept. "
            f"{_ends(tolerance, terms)}.",
            f"The gap between the lines is what adapting the design to the noise of "
            f"{tolerance.name} is worth.",
            "small",
        )
        for tolerance in each[:MOST_LINES]
    ]
    return element(
        "section",
        element("h3", "Worth of the best design as a noise changes"),
        overview,
        element("div", small, class_="grid"),
    )


def _movement(report: Report, each: tuple[Tolerance, ...]) -> Markup:
    terms = report.terms
    plots = [
        plot(
            movement_figure(axis, each, terms),
            f"Where the robust optimum has {name}, as each noise grows from none to double.",
            f"A level line means that {name} can stay where it is when that noise changes.",
            "small",
        )
        for name, axis in axes_of(report).items()
        if all(name in design for tolerance in each for design in tolerance.params)
    ]
    return element(
        "section",
        element("h3", "Where the robust optimum moves"),
        element("div", plots, class_="grid"),
    )


def _ends(tolerance: Tolerance, terms: Terms) -> str:
    first, last = tolerance.best[0], tolerance.best[-1]
    return (
        f"{tolerance.name} from {estimate(first, terms.unit)} at {tolerance.factors[0]:g} to "
        f"{estimate(last, terms.unit)} at {tolerance.factors[-1]:g}"
    )
