"""The search: how the answer came about, how well it is supported, every evaluation."""

import math
from collections.abc import Sequence

from meseta.report.page.axes import axes_of
from meseta.report.page.chart import plot
from meseta.report.page.figures_search import (
    evaluated_figure,
    fit_figure,
    progress_figure,
    recommended_figure,
)
from meseta.report.page.markup import Child, Markup, element, together
from meseta.report.page.numbers import estimate, number, percent, plain, setting
from meseta.report.page.table import remark, table
from meseta.report.views.health import Finding
from meseta.report.views.next_point import NextPoint
from meseta.report.views.report import Report
from meseta.report.views.search import Deviation, Evaluation, LeaveOneOut, Progress
from meseta.report.views.terms import Terms

MOST_ROWS = 200  # of evaluations that are open at first
LARGER, SMALLER = 1.5, 0.67  # ratios of what was seen to what is assumed, beyond which it is said


def search_tab(report: Report) -> Markup:
    search, terms = report.search, report.terms
    next_point = None if report.landscape is None else report.landscape.next_point
    return together(
        _findings(search.findings),
        None if next_point is None else _next(next_point, terms),
        None if search.progress is None else _progress(report, search.progress),
        None if search.fit is None else _fit(search.fit, terms),
        _deviations(search.deviations, terms) if search.deviations else None,
        _evaluations(report),
    )


def _findings(findings: Sequence[Finding]) -> Markup | None:
    if not findings:
        return None
    items = [
        element(
            "li",
            element("strong", f"{each.level.capitalize()}, {each.topic}: "),
            each.text,
            class_=each.level,
        )
        for each in findings
    ]
    return element(
        "section",
        element("h3", "Health of model and search"),
        element("ul", items, class_="findings"),
    )


def _next(next_point: NextPoint, terms: Terms) -> Markup:
    rows = [(n, setting(v, terms.unit_of(n))) for n, v in next_point.params.items()]
    caption = f"What {next_point.method} would evaluate next"
    return element(
        "section",
        element("h3", "Next experiment"),
        table(caption, ("Parameter", "Value"), rows),
    )


def _progress(report: Report, progress: Progress) -> Markup:
    terms = report.terms
    last = progress.best[-1]
    overall = plot(
        progress_figure(progress, terms),
        f"What the recommended design is worth in use, over evaluations; at the end "
        f"{estimate(last, terms.unit)} after {progress.evaluations[-1]}.",
        "The line shows what the design recommended at that time was believed to be worth in use, "
        "the band its 95 % interval; once it is level and narrow, more evaluations change little.",
    )
    small = [
        plot(
            recommended_figure(axis, progress, terms),
            f"{name} of the recommended design over evaluations; at the end "
            f"{setting(progress.params[-1][name], terms.unit_of(name))}.",
            f"{name} of the design that was recommended at that time.",
            "small",
        )
        for name, axis in axes_of(report).items()
        if all(name in design for design in progress.params)
    ]
    return element(
        "section",
        element("h3", "What was recommended on the way"),
        overall,
        element("div", small, class_="grid"),
    )


def _fit(fit: LeaveOneOut, terms: Terms) -> Markup:
    rows = [
        ("Values within their 95 % interval", percent(fit.covered)),
        ("Variance of the values explained", percent(fit.explained)),
        ("Values", str(len(fit.numbers))),
    ]
    figure = plot(
        fit_figure(fit, terms),
        f"Predicted against observed {terms.value}, each predicted without itself: "
        f"{percent(fit.covered)} lie within their 95 % interval.",
        "Each point is an evaluation as the model would have predicted it had it not known it; "
        "points near the diagonal, with bars that reach it, speak for the model.",
        "small",
    )
    return element(
        "section",
        element("h3", "How well the model predicts"),
        element(
            "div",
            figure,
            table("Each value left out once, and predicted from the others", ("", "Result"), rows),
            class_="grid",
        ),
    )


def _deviations(deviations: Sequence[Deviation], terms: Terms) -> Markup:
    rows = [
        (
            each.name,
            str(each.pairs),
            number(each.mean, terms.unit_of(each.name)),
            number(each.std, terms.unit_of(each.name)),
            number(each.assumed_mean, terms.unit_of(each.name)),
            number(each.assumed_std, terms.unit_of(each.name)),
            together(
                verdict(each.ratio),
                None if math.isnan(each.ratio) else remark(f"ratio {plain(each.ratio, 3)}"),
            ),
        )
        for each in deviations
    ]
    head = (
        "Parameter",
        "Pairs",
        "Mean",
        "Standard deviation",
        "Assumed mean",
        "Assumed standard deviation",
        "Seen beside assumed",
    )
    return element(
        "section",
        element("h3", "Executed against planned"),
        table("Executed minus planned values, and the noise assumed", head, rows, wide=True),
    )


def verdict(ratio: float) -> str:
    """On the spread that was seen, beside the one that is assumed."""
    if math.isnan(ratio):
        return "no noise is assumed"
    if ratio > LARGER:
        return "larger than assumed"
    return "smaller than assumed" if ratio < SMALLER else "as assumed"


def _evaluations(report: Report) -> Markup:
    evaluations, terms = report.search.evaluations, report.terms
    if not evaluations:
        return element("section", element("h3", "Evaluations"), element("p", "There are none yet."))
    plots = [
        plot(
            evaluated_figure(axis, evaluations, terms),
            f"{name} of every trial, in their order; {report.failed} failed.",
            f"Each point is a trial: where {name} was, and by its colour what {terms.value} came "
            "out; crosses failed, open circles are pending.",
            "small",
        )
        for name, axis in axes_of(report).items()
    ]
    rows = _table(report, evaluations)
    if len(evaluations) > MOST_ROWS:
        rows = element("details", element("summary", f"All {len(evaluations)} evaluations"), rows)
    heading = element("h3", "Evaluations")
    return element("section", heading, element("div", plots, class_="grid"), rows)


def _table(report: Report, evaluations: Sequence[Evaluation]) -> Markup:
    terms = report.terms
    named = [_with_unit(name, terms.unit_of(name)) for name in report.parameters]
    known = any(each.origin is not None for each in evaluations)
    head = ["Trial", *named, _with_unit(terms.value, terms.unit), "State"]
    head += ["Chosen by"] if known else []
    rows: list[list[Child]] = [
        [
            str(each.number),
            *(_executed(each, name) for name in report.parameters),
            "" if each.value is None else plain(each.value, 6),
            each.state if each.error is None else together(each.state, remark(each.error)),
            *([each.origin or ""] if known else []),
        ]
        for each in evaluations
    ]
    return table("Every trial", head, rows, wide=True)


def _executed(each: Evaluation, name: str) -> Child:
    if name not in each.params:
        return ""
    value = setting(each.params[name])
    if each.planned is None or each.planned.get(name, each.params[name]) == each.params[name]:
        return value
    return together(value, remark(f"planned {setting(each.planned[name])}"))


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
