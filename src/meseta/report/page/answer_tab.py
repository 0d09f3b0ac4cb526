"""The answer: where the robust optimum lies, what to expect of it, what comes out in use."""

from meseta.report.page.chart import plot
from meseta.report.page.figures_outcomes import outcomes_figure
from meseta.report.page.markup import Child, Markup, element, together
from meseta.report.page.numbers import (
    between,
    estimate,
    interval,
    percent,
    percent_between,
    setting,
)
from meseta.report.page.sentences_of_answer import gain_and_price
from meseta.report.page.table import remark, table
from meseta.report.views.answer import Answer, Choice
from meseta.report.views.estimate import Estimate
from meseta.report.views.outcomes import LEVELS, OutcomesOfBoth
from meseta.report.views.report import Report
from meseta.report.views.terms import Terms


def answer_tab(report: Report, answer: Answer) -> Markup:
    terms = report.terms
    sentences = [element("p", sentence) for sentence in gain_and_price(answer, terms)]
    parts: list[Child] = [
        element("div", sentences, class_="lead"),
        element("div", _design_table(report, answer), _worth_table(answer, terms), class_="beside"),
    ]
    if report.outcomes is not None:
        parts.append(_outcomes(report.outcomes, terms))
    return together(parts)


def _design_table(report: Report, answer: Answer) -> Markup:
    terms = report.terms
    robust, nominal = answer.robust.params, answer.nominal.params
    # those with a single value are no parameters of the model, but part of the design
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


def _worth_table(answer: Answer, terms: Terms) -> Markup:
    def row(head: str, small: str, robust: Estimate, nominal: Estimate) -> tuple[Child, ...]:
        return (together(head, remark(small)), _cell(robust, terms), _cell(nominal, terms))

    def both(choice: Choice) -> tuple[Estimate, Estimate]:
        return choice.perturbed, choice.unperturbed

    (robust_g, robust_f), (nominal_g, nominal_f) = both(answer.robust), both(answer.nominal)
    wanted = "large" if answer.maximize else "small"
    rows = [
        row("In use", "expected under the noise, g", robust_g, nominal_g),
        row("On paper", "if nothing perturbs it, f", robust_f, nominal_f),
        ("Better by", _by(answer.gain, "in use", terms), _by(answer.price, "on paper", terms)),
    ]
    caption = f"What to expect of {terms.value} ({wanted} values are wanted)"
    return table(caption, ("", "Robust optimum", "Nominal optimum"), rows)


def _cell(belief: Estimate, terms: Terms) -> Markup:
    return together(
        estimate(belief, terms.unit), remark("95 %: ", interval(belief.low, belief.high))
    )


def _by(belief: Estimate, where: str, terms: Terms) -> Markup:
    return together(estimate(belief, terms.unit), remark(where))


def _outcomes(both: OutcomesOfBoth, terms: Terms) -> Markup:
    median = LEVELS.index(0.5)
    told = [
        f"{each.name}: median {between(each.quantiles[median], terms.unit)}, nine tenths from "
        f"{interval(each.quantiles[0].value, each.quantiles[-1].value, terms.unit)}"
        for each in (both.robust, both.nominal)
    ]
    caption = (
        "Each outline shows how often which value comes out when the inputs are perturbed; below, "
        "the thin line holds nine tenths of the outcomes, the thick one half, the symbol is the "
        "median."
    )
    if max(both.outside) > 0.0005:  # what rounds to a tenth of a per cent
        caption += (
            f" Not shown, beyond the ends: {percent(both.outside[0])} of the robust and "
            f"{percent(both.outside[1])} of the nominal outcomes."
        )
    figure = plot(
        outcomes_figure(both, terms),
        f"Histograms of {terms.value} in use. {'; '.join(told)}.",
        caption,
    )
    heading = element("h3", "What comes out in use")
    return element("section", heading, figure, _quantile_table(both, terms))


def _quantile_table(both: OutcomesOfBoth, terms: Terms) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (
            f"{100 * level:.0f} % lie below",
            between(robust, terms.unit),
            between(nominal, terms.unit),
        )
        for level, robust, nominal in zip(
            LEVELS, both.robust.quantiles, both.nominal.quantiles, strict=True
        )
    ]
    rows.append(
        (
            "Standard deviation",
            between(both.robust.std, terms.unit),
            between(both.nominal.std, terms.unit),
        )
    )
    if both.robust.meets is not None and both.nominal.meets is not None:
        rows.append(
            (
                together("Meets the specification", remark(_specification(terms))),
                percent_between(both.robust.meets),
                percent_between(both.nominal.meets),
            )
        )
    caption = f"Outcomes of {terms.value}; in brackets how sure the model is, 95 %"
    return table(caption, ("Outcomes", "Robust optimum", "Nominal optimum"), rows)


def _specification(terms: Terms) -> str:
    limits = (("at least", terms.at_least), ("at most", terms.at_most))
    return " and ".join(f"{w} {setting(v, terms.unit)}" for w, v in limits if v is not None)
