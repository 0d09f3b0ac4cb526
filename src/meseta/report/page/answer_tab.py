"""The first tab: the robust and the nominal optimum, their values, and the values in use."""

from meseta.optimizer.record import Kept, Recommendation
from meseta.optimizer.record import percent as share
from meseta.report.page.chart import plot
from meseta.report.page.figures_outcomes import outcomes_figure
from meseta.report.page.html_table import remark, table
from meseta.report.page.markup import Child, Markup, element, together
from meseta.report.page.numbers import (
    estimate,
    interval,
    percent,
    plain,
    setting,
    with_interval,
    with_unit,
)
from meseta.report.page.summary import gain_and_price, specification
from meseta.report.views.answer import Answer
from meseta.report.views.estimate import Estimate, nominal_value, robust_value
from meseta.report.views.outcomes import LEVELS, OutcomesOfBoth
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms


def answer_tab(report: Report, answer: Answer) -> Markup:
    terms = report.terms
    sentences = [element("p", sentence) for sentence in gain_and_price(report, answer)]
    parts: list[Child] = [
        element("div", sentences, class_="lead"),
        element(
            "div", _design_table(report, answer), _value_table(report, answer), class_="beside"
        ),
    ]
    if answer.robust.kept:
        parts.append(_constraint_table(answer))
    if report.outcomes is not None:
        parts.append(_outcomes(report.outcomes, terms))
    return together(parts)


def _design_table(report: Report, answer: Answer) -> Markup:
    terms = report.terms
    robust, nominal = answer.robust.params, answer.nominal.params
    # a parameter with a single value is no part of the model, but it is part of the design
    names = [n for n in dict.fromkeys([*report.parameters, *robust]) if n in robust]
    rows = [
        (
            together(name, remark(terms.notes[name]) if terms.notes.get(name) else None),
            setting(robust[name], terms.unit_of(name)),
            setting(nominal[name], terms.unit_of(name)) if name in nominal else "",
        )
        for name in names
    ]
    return table("Both designs", ("Parameter", "Robust optimum", "Nominal optimum"), rows)


def _value_table(report: Report, answer: Answer) -> Markup:
    terms = report.terms

    def row(head: str, small: str, robust: Estimate, nominal: Estimate) -> tuple[Child, ...]:
        return (together(head, remark(small)), _cell(robust, terms), _cell(nominal, terms))

    robust, nominal = answer.robust, answer.nominal
    better = "large" if answer.maximize else "small"
    by = answer.measured
    unit = terms.unit if by is None or by.of_values else ""
    rows = [
        *_yield(report),
        *(
            []
            if by is None
            else [
                (
                    together("Chosen by", _small(by.words, robust.scatter)),
                    *(_in(e, unit) for e in by.both),
                )
            ]
        ),
        row("Robust value (g)", "mean in use", robust_value(robust), robust_value(nominal)),
        row("Nominal value (f)", "without noise", nominal_value(robust), nominal_value(nominal)),
        ("Put to the test", _tested(answer.robust, terms), _tested(answer.nominal, terms)),
        (
            together("Extrapolated", remark("noise beyond all evaluations")),
            percent(answer.robust.beyond),
            percent(answer.nominal.beyond),
        ),
    ]
    if by is None and not robust.kept:  # what keeps its constraints is not compared by its value
        gain, price = answer.gain, answer.price
        rows.append(
            ("Better by", _by(gain, "robust value", terms), _by(price, "nominal value", terms))
        )
    wanted = f" ({better} values are better)" if by is None or by.of_values else ""
    caption = f"Values of {terms.value} with 95 % intervals{wanted}"
    return table(caption, ("", "Robust optimum", "Nominal optimum"), rows)


def _yield(report: Report) -> list[tuple[Child, ...]]:
    """What is asked of the value comes first."""
    both, terms = report.outcomes, report.terms
    if both is None or both.robust.meets is None or both.nominal.meets is None:
        return []
    meets = (both.robust.meets, both.nominal.meets)
    cells = (
        together(
            percent(each.value), remark("95 %: ", percent(each.low), " to ", percent(each.high))
        )
        for each in meets
    )
    small = _small(specification(terms), both.scatter)
    return [(together("Meets the specification", small), *cells)]


def _constraint_table(answer: Answer) -> Markup:
    """How both designs keep each constraint in use."""
    robust, nominal = answer.robust.kept, answer.nominal.kept
    rows: list[tuple[Child, ...]] = [
        (
            together(
                name,
                _small(
                    f"{kept.constraint.in_words()}, in {_asked(kept)} of the cases", kept.scatter
                ),
            ),
            _kept(kept),
            _kept(nominal[name]),
        )
        for name, kept in robust.items()
    ]
    rows.append(
        (
            together("All of them", remark("probability that they are kept as often as asked")),
            share(answer.robust.sure),
            share(answer.nominal.sure),
        )
    )
    caption = "How often constraints are kept in use, with 95 % intervals"
    return table(caption, ("Constraint", "Robust optimum", "Nominal optimum"), rows)


def _small(words: str, scatter: str) -> Markup:
    """Small print, with what is counted of the scatter of single values."""
    return remark(f"{words}; {scatter}" if scatter else words)


def _asked(kept: Kept) -> str:
    return share(kept.constraint.probability)


def _kept(kept: Kept) -> Markup:
    if kept.share is None:
        return together("not known", remark(f"{kept.counted.values} values of it"))
    low, high = kept.interval
    enough = f"as often as asked: sure to {share(kept.sure)}{kept.missing}"
    return together(f"{share(kept.share)} ({share(low)} to {share(high)})", remark(enough))


def _cell(belief: Estimate, terms: Terms) -> Markup:
    return _in(belief, terms.unit)


def _in(belief: Estimate, unit: str) -> Markup:
    return together(estimate(belief, unit), remark("95 %: ", interval(belief.low, belief.high)))


def _tested(best: Recommendation, terms: Terms) -> Markup:
    """The evaluation at a design, and whether it came out as the other values had said."""
    if best.test is None:
        return together("not evaluated", remark("nor anything within 2 % of the ranges"))
    test = best.test
    expected = Estimate(test.expected, test.std)
    word = "as expected" if test.passed else "not as expected"
    near = [] if test.itself else [remark("at a design close by")]
    return together(
        f"{with_unit(plain(test.value, 5), terms.unit)}, {word}",
        *near,
        remark("expected from the other values: ", interval(expected.low, expected.high)),
    )


def _by(belief: Estimate, where: str, terms: Terms) -> Markup:
    return together(estimate(belief, terms.unit), remark(where))


def _outcomes(both: OutcomesOfBoth, terms: Terms) -> Markup:
    median = LEVELS.index(0.5)
    told = [
        f"{each.name}: median {with_interval(each.quantiles[median], terms.unit)}, 90 % from "
        f"{interval(each.quantiles[0].value, each.quantiles[-1].value, terms.unit)}"
        for each in (both.robust, both.nominal)
    ]
    caption = (
        "The histograms show how the noise scatters the values in use, by the best guess of f. The "
        "bands are what the model does not know about them (95 %). Below, the thin line holds 90 % "
        "of the values, the thick line holds 50 %, and the symbol is the median."
    )
    if both.scatter:
        caption += f" All of this is {both.scatter}."
    if max(both.outside) > 0.0005:  # less would be shown as 0.0 %
        caption += (
            f" Outside of the plot are {percent(both.outside[0])} of the values of the robust "
            f"optimum and {percent(both.outside[1])} of those of the nominal optimum."
        )
    figure = plot(
        outcomes_figure(both, terms),
        f"Histograms of {terms.value} in use. {'; '.join(told)}.",
        caption,
    )
    heading = element("h3", "Values in use")
    return element("section", heading, figure, _quantile_table(both, terms))


def _quantile_table(both: OutcomesOfBoth, terms: Terms) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (
            f"{100 * level:.0f} % are below",
            with_interval(robust, terms.unit),
            with_interval(nominal, terms.unit),
        )
        for level, robust, nominal in zip(
            LEVELS, both.robust.quantiles, both.nominal.quantiles, strict=True
        )
    ]
    rows.append(
        (
            together("Standard deviation", remark("scatter by the noise")),
            with_interval(both.robust.std, terms.unit),
            with_interval(both.nominal.std, terms.unit),
        )
    )
    caption = (
        f"Values of {terms.value} in use by the best guess of f; in brackets 95 % intervals of "
        "what the model does not know"
    )
    return table(caption, ("Values in use", "Robust optimum", "Nominal optimum"), rows)
