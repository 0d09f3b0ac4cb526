"""The tab that shows which tolerance matters, and the gain from a smaller one."""

from dataclasses import replace

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
from meseta.report.page.goal_section import goal_section
from meseta.report.page.html_table import remark, table
from meseta.report.page.markup import Markup, element, together
from meseta.report.page.numbers import (
    SPACE,
    estimate,
    number,
    percent_with_interval,
    plain,
    with_unit,
)
from meseta.report.views.report import Report
from meseta.report.views.tolerances import Tolerance, Tolerances
from meseta.report.views.wording import Terms


def tolerances_tab(report: Report) -> Markup:
    tolerances, terms = report.tolerances, report.terms
    if tolerances is None or not tolerances.each:
        return element("p", "No parameter has noise, so no tolerance matters.")
    by = None if report.answer is None else report.answer.measured
    wanted = terms
    if by is not None:
        wanted = replace(terms, value=by.words, unit=terms.unit if by.of_values else "")
    return together(
        None
        if by is None
        else element("p", f"The robust value is here what the design was chosen by: {by.words}."),
        _halving(report, tolerances, wanted),
        None if tolerances.goal is None else goal_section(tolerances.goal, terms),
        _values(tolerances.each, wanted),
        _movement(report, tolerances.each),
    )


def _halving(report: Report, tolerances: Tolerances, wanted: Terms) -> Markup:
    each, terms = tolerances.each, report.terms
    told = [f"{t.name} {estimate(t.halving, wanted.unit)}" for t in each[:MOST_LINES]]
    figure = plot(
        halving_figure(each, wanted),
        f"Bars of the gain from half the noise of each parameter: {'; '.join(told)}.",
        "Each bar shows how much the robust value of the best design improves when the noise of "
        "this parameter is halved. The line at its end is the 95 % interval.",
    )
    remarks = [
        element("li", text) for text in (*_explained(each), *_chosen(report), *tolerances.joint)
    ]
    return element(
        "section",
        element("h3", "Gain from half the noise"),
        figure,
        _table(each, terms, wanted),
        element("ul", remarks),
    )


def _table(each: tuple[Tolerance, ...], terms: Terms, wanted: Terms) -> Markup:
    rows = [
        (
            together(tolerance.name, remark("environment") if tolerance.environment else None),
            tolerance.law,
            _std(tolerance, terms),
            estimate(tolerance.halving, wanted.unit),
            _slope(tolerance, terms),
            percent_with_interval(tolerance.alone),
            percent_with_interval(tolerance.total),
        )
        for tolerance in each
    ]
    head = (
        "Parameter",
        "Noise",
        "Standard deviation",
        "Gain from half the noise",
        "Slope of f at the robust optimum",
        "Share of the variance, alone",
        "Share of the variance, with others",
    )
    return table("Tolerances, most important first", head, rows, wide=True)


def _explained(each: tuple[Tolerance, ...]) -> list[str]:
    """What the columns of the table mean."""
    told = [
        "The variance is that of the value in use at the robust optimum. The first share is what "
        "the noise of a parameter does by itself (first-order Sobol index); the second is also "
        "what it does together with other noise (total-effect index). Second shares may add up to "
        "more than 100 %. The shares are those of the best guess of f; the intervals show what the "
        "model does not know.",
    ]
    if any(tolerance.environment for tolerance in each):
        told.append(
            "An environment variable is set by nobody. Its row shows what would be if it varied "
            "less, or more, around its mean."
        )
    return told


def _chosen(report: Report) -> list[str]:
    """What else the best design for each noise has to do."""
    if report.answer is None or not report.answer.robust.kept:
        return []
    return [
        "The best design for each noise keeps the constraints as surely as that of today has "
        "to. The design of today need not, once its noise is wider."
    ]


def _std(tolerance: Tolerance, terms: Terms) -> Markup:
    if tolerance.std is None:
        return together("none: categorical")
    if tolerance.log:
        return together(number(tolerance.std), remark("of the logarithm"))
    return together(number(tolerance.std, terms.unit_of(tolerance.name)))


def _slope(tolerance: Tolerance, terms: Terms) -> str:
    if tolerance.slope is None:
        return "none: categorical"
    per = terms.unit_of(tolerance.name) or "unit"
    return f"{with_unit(plain(tolerance.slope, 3), terms.unit)} per{SPACE}{per}"


def _values(each: tuple[Tolerance, ...], terms: Terms) -> Markup:
    most = "" if len(each) <= MOST_LINES else f" Only the {MOST_LINES} most important are shown."
    bands = " Bands are 95 % intervals." if len(each) <= MOST_BANDS else ""
    overview = plot(
        best_figure(each, terms),
        f"The robust value of the best design as each noise grows from none to double: "
        f"{'; '.join(_ends(tolerance, terms) for tolerance in each[:MOST_LINES])}.",
        "Each line shows the robust value of the best design as the noise of one parameter grows "
        "from none (0) to double (2). The steepest line is the tolerance that matters most."
        f"{bands}{most}",
    )
    small = [
        plot(
            kept_figure(tolerance, terms),
            f"Noise of {tolerance.name}: the best design for each noise, and the design of today. "
            f"{_ends(tolerance, terms)}.",
            f"The gap between the lines is the gain from a new design when the noise of "
            f"{tolerance.name} changes.",
            "small",
        )
        for tolerance in each[:MOST_LINES]
    ]
    return element(
        "section",
        element("h3", "Robust value as the noise changes"),
        overview,
        element("div", small, class_="grid"),
    )


def _movement(report: Report, each: tuple[Tolerance, ...]) -> Markup:
    terms = report.terms
    plots = [
        plot(
            movement_figure(axis, each, terms),
            f"{name} of the robust optimum as each noise grows from none to double.",
            f"Where a line is flat, {name} of the robust optimum does not depend on that noise.",
            "small",
        )
        for name, axis in axes_of(report).items()
        if all(name in design for tolerance in each for design in tolerance.params)
    ]
    return element(
        "section",
        element("h3", "The robust optimum as the noise changes"),
        element("div", plots, class_="grid"),
    )


def _ends(tolerance: Tolerance, terms: Terms) -> str:
    first, last = tolerance.best[0], tolerance.best[-1]
    return (
        f"{tolerance.name} from {estimate(first, terms.unit)} at {tolerance.factors[0]:g} to "
        f"{estimate(last, terms.unit)} at {tolerance.factors[-1]:g}"
    )
