"""The last tab: health, recommendations on the way, how the model predicts, every trial."""

import math
from collections.abc import Sequence

from meseta.optimizer.amendment import local_time
from meseta.optimizer.record import Trial
from meseta.report.page.axes import axes_of
from meseta.report.page.chart import plot
from meseta.report.page.figures_search import (
    fit_figure,
    progress_figure,
    recommended_figure,
    trials_figure,
)
from meseta.report.page.html_table import remark, table
from meseta.report.page.markup import Child, Markup, element, together
from meseta.report.page.numbers import estimate, number, percent, plain, setting
from meseta.report.views.deviations import Deviation
from meseta.report.views.health import Finding
from meseta.report.views.next_point import NextPoint
from meseta.report.views.report import Report
from meseta.report.views.search import LeaveOneOut, Progress
from meseta.report.views.wording import Terms

MOST_ROWS = 200  # longer tables of trials are closed at first


def search_tab(report: Report) -> Markup:
    search, terms = report.search, report.terms
    next_point = None if report.landscape is None else report.landscape.next_point
    return together(
        _findings(search.findings),
        None if next_point is None else _next(next_point, terms),
        None if search.progress is None else _progress(report, search.progress),
        None if search.fit is None else _fit(search.fit, terms),
        _deviations(search.deviations, terms) if search.deviations else None,
        _trials(report),
        _amendments(search.trials),
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
        element("h3", "Health of the model and the search"),
        element("ul", items, class_="findings"),
    )


def _next(next_point: NextPoint, terms: Terms) -> Markup:
    rows = [(n, setting(v, terms.unit_of(n))) for n, v in next_point.params.items()]
    caption = f"The design that {next_point.method} would evaluate next"
    return element(
        "section",
        element("h3", "Next evaluation"),
        table(caption, ("Parameter", "Value"), rows),
    )


def _progress(report: Report, progress: Progress) -> Markup:
    terms = report.terms
    last = progress.best[-1]
    overall = plot(
        progress_figure(progress, terms),
        f"The robust value of the recommended design over evaluations; after "
        f"{progress.evaluations[-1]} it is {estimate(last, terms.unit)}.",
        "The line shows the robust value of the design that was recommended after each number of "
        "evaluations. The band is the 95 % interval. When the line is flat and the band is narrow, "
        "more evaluations change little.",
    )
    small = [
        plot(
            recommended_figure(axis, progress, terms),
            f"{name} of the recommended design over evaluations; at the end "
            f"{setting(progress.params[-1][name], terms.unit_of(name))}.",
            f"{name} of the design that was recommended after each number of evaluations.",
            "small",
        )
        for name, axis in axes_of(report).items()
        if all(name in design for design in progress.params)
    ]
    return element(
        "section",
        element("h3", "Recommendations on the way"),
        overall,
        element("div", small, class_="grid"),
    )


def _fit(fit: LeaveOneOut, terms: Terms) -> Markup:
    rows = [
        ("Values in their 95 % interval", percent(fit.covered)),
        ("Explained variance of the values", percent(fit.explained)),
        ("Number of values", str(len(fit.numbers))),
    ]
    figure = plot(
        fit_figure(fit, terms),
        f"Predicted against observed {terms.value}. Each value is predicted from the others: "
        f"{percent(fit.covered)} of the values lie in their 95 % interval.",
        "Each point is an evaluation: its value, and the prediction of the model from all other "
        "values. If the model is good, the points lie near the diagonal and their bars reach it.",
        "small",
    )
    return element(
        "section",
        element("h3", "How well the model predicts"),
        element(
            "div",
            figure,
            table("Each value is predicted from the others", ("", "Result"), rows),
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
                each.verdict,
                None if math.isnan(each.ratio) else remark(_ratio(each)),
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
        "Measured noise",
    )
    return element(
        "section",
        element("h3", "Measured and planned values"),
        table("Measured minus planned values, and the assumed noise", head, rows, wide=True),
        element(
            "p",
            "Only values that were measured count. What was carried out as planned, without "
            "anybody having measured it, says nothing about the noise. The ratio compares the "
            "width of the measured noise with that of the assumed noise; its 95 % interval is "
            "right for normal noise.",
        ),
    )


def _ratio(each: Deviation) -> str:
    low, high = each.interval
    return f"ratio {plain(each.ratio, 3)} ({plain(low, 3)} to {plain(high, 3)})"


def _trials(report: Report) -> Markup:
    trials, terms = report.search.trials, report.terms
    if not trials:
        return element("section", element("h3", "Trials"), element("p", "There are no trials yet."))
    plots = [
        plot(
            trials_figure(axis, trials, terms),
            f"{name} of every trial, in their order. {report.failed} trials failed.",
            f"Each point is a trial with its value of {name}. Colours show {terms.value}. Crosses "
            "are failed trials, open circles are pending trials.",
            "small",
        )
        for name, axis in axes_of(report).items()
    ]
    rows = _table(report, trials)
    if len(trials) > MOST_ROWS:
        rows = element("details", element("summary", f"All {len(trials)} trials"), rows)
    heading = element("h3", "Trials")
    return element("section", heading, element("div", plots, class_="grid"), rows)


def _table(report: Report, trials: Sequence[Trial]) -> Markup:
    terms = report.terms
    named = [_with_unit(name, terms.unit_of(name)) for name in report.parameters]
    known = any(each.origin is not None for each in trials)
    head = ["Trial", *named, _with_unit(terms.value, terms.unit), "State"]
    head += ["Chosen by"] if known else []
    rows: list[list[Child]] = [
        [
            f"{each.number} *" if each.amendments else str(each.number),
            *(_executed(each, name) for name in report.parameters),
            "" if each.value is None else plain(each.value, 6),
            each.state if each.error is None else together(each.state, remark(each.error)),
            *([each.origin or ""] if known else []),
        ]
        for each in trials
    ]
    return table("Every trial", head, rows, wide=True)


def _amendments(trials: Sequence[Trial]) -> Markup | None:
    """What was said of trials after they were told."""
    rows = [
        (str(each.number), said.in_words(), said.why, said.who, local_time(said.when))
        for each in trials
        for said in each.amendments
    ]
    if not rows:
        return None
    head = ("Trial", "Change", "Reason or remark", "By", "When")
    caption = "What was said of trials after they were told"
    return element(
        "section", element("h3", "Corrections and comments"), table(caption, head, rows, wide=True)
    )


def _executed(each: Trial, name: str) -> Child:
    if name not in each.params:
        return ""
    value = setting(each.params[name])
    if each.planned is None or each.planned.get(name, each.params[name]) == each.params[name]:
        return value
    return together(value, remark(f"planned {setting(each.planned[name])}"))


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
