"""The tab of capability: yield, ppm and indices, the stack-up on paper, and defects by setting."""

import math

from meseta.boundary import are
from meseta.measures.capability import GOOD
from meseta.report.page.chart import plot
from meseta.report.page.figures_capability import profile_figure
from meseta.report.page.html_table import remark, table
from meseta.report.page.markup import Child, Markup, element, together
from meseta.report.page.numbers import (
    index_with_interval,
    interval,
    number,
    percent,
    percent_with_interval,
    ppm,
    ppm_with_interval,
    with_interval,
)
from meseta.report.page.summary import scatter_sentence, specification
from meseta.report.views.capability import Capability, CapabilityOfBoth
from meseta.report.views.estimate import SampledEstimate
from meseta.report.views.profiles import Profile
from meseta.report.views.stack_up import Spread, StackUp
from meseta.report.views.wording import Terms


def capability_tab(both: CapabilityOfBoth, terms: Terms) -> Markup:
    sentences = [element("p", sentence) for sentence in _in_words(both, terms)]
    return together(
        element("div", sentences, class_="lead"),
        _table(both, terms),
        _stack_up(both.stack_up, terms),
        _profiles(both.profiles, terms),
    )


def _in_words(both: CapabilityOfBoth, terms: Terms) -> list[str]:
    best = both.robust
    asked = both.goal.probability
    enough = _against(best.inside, asked, percent(asked), "asked for")
    index = _against(best.ppk, GOOD, f"{GOOD:g}", "that is commonly asked for")
    law = (
        "The values are close to a normal law, so that Cpk and Ppk say the same."
        if best.normal
        else "The values do not follow a normal law: go by Ppk, which is by percentiles."
    )
    return [
        f"{percent_with_interval(best.inside)} of the values meet the specification "
        f"({specification(terms)}) at the robust optimum. This is {enough}.",
        *scatter_sentence(both.scatter),
        f"Its Ppk is {index_with_interval(best.ppk)}, which is {index}. {law}",
    ]


def _against(estimate: SampledEstimate, asked: float, shown: str, words: str) -> str:
    """Whether what is asked for is reached, as far as it is known."""
    if estimate.low >= asked:
        return f"more than the {shown} {words}, with all of its interval"
    if estimate.high < asked:
        return f"less than the {shown} {words}, with all of its interval"
    side = "more" if estimate.value >= asked else "less"
    return f"{side} than the {shown} {words}, but this is not sure: the interval has both"


def _table(both: CapabilityOfBoth, terms: Terms) -> Markup:
    def row(head: str, small: str, *cells: Child) -> tuple[Child, ...]:
        return (together(head, remark(small)), *cells)

    each = (both.robust, both.nominal)
    rows = [
        row(
            "Yield",
            specification(terms),
            *(percent_with_interval(one.inside) for one in each),
        ),
        row(
            "Out of specification",
            "parts per million",
            *(together(ppm_with_interval(o.outside), _sides(o)) for o in each),
        ),
    ]
    if both.robust.cp is not None:
        rows.append(row("Cp", "room between the limits / 6 std", *(_index(o.cp) for o in each)))
    rows += [
        row("Cpk", "mean to the nearer limit / 3 std", *(_index(o.cpk) for o in each)),
        row("Ppk", "the same by percentiles, for any law", *(_index(o.ppk) for o in each)),
    ]
    if both.robust.cpm is not None:
        at = (both.goal.low + both.goal.high) / 2 if both.target is None else both.target
        small = f"as Cp, around the target {number(at, terms.unit)}"
        rows.append(row("Cpm", small, *(_index(o.cpm) for o in each)))
    rows += [
        row("Mean", "in use", *(with_interval(o.mean, terms.unit) for o in each)),
        row(
            "Standard deviation",
            "scatter in use",
            *(with_interval(o.std, terms.unit) for o in each),
        ),
    ]
    caption = (
        f"Capability of {terms.value} in use: the best guess, with 95 % intervals in brackets of "
        "what the model does not know"
    )
    return table(caption, ("", "Robust optimum", "Nominal optimum"), rows)


def _sides(one: Capability) -> Markup | None:
    """How the defects are shared between both limits."""
    if one.below is None or one.above is None:
        return None
    return remark(f"{ppm(one.below)} below, {ppm(one.above)} above")


def _index(estimate: SampledEstimate | None) -> Child:
    return "" if estimate is None else index_with_interval(estimate)


def _stack_up(paper: StackUp, terms: Terms) -> Markup:
    def row(head: str, small: str, spread: Spread) -> tuple[Child, ...]:
        met = "yes" if spread.meets else "no"
        return (
            together(head, remark(small)),
            interval(spread.low, spread.high, terms.unit),
            met,
        )

    rows = [
        row("Worst case", "every tolerance at its end, all at once; by slopes", paper.worst_case),
        row("Root sum square", "by slopes", paper.root_sum_square),
        row("Statistical", "99.73 % of the values, by the model of f", paper.statistical),
    ]
    left = paper.left_out
    text = (
        "The first two are the methods of tolerance stack-ups. They know the slopes of f at the "
        "robust optimum, and nothing else: where f is curved, or one tolerance changes what "
        "another does, they are wrong. A tolerance is the limit of its law, or three standard "
        "deviations where there is none, as the scatter of single values has none."
    )
    if left:
        text += f" Choices have no slope: {are(left)} left out of them."
    return element(
        "section",
        element("h3", "Stack-up of the tolerances"),
        element("p", text),
        table("Values of the robust optimum", ("Method", "Values", "Within the limits"), rows),
    )


def _profiles(profiles: tuple[Profile, ...], terms: Terms) -> Markup:
    plots = [
        plot(
            profile_figure(each, terms),
            f"Share of {terms.value} out of specification over {each.axis.name}. {_lowest(each)}",
            f"Out of specification over {each.axis.name}; the band is the 95 % interval.",
            "small",
        )
        for each in profiles
    ]
    return element(
        "section",
        element("h3", "Defects by setting"),
        element(
            "p",
            "The share out of specification when one setting is changed and the others stay as at "
            "the robust optimum, with the noise acting on all.",
        ),
        element("div", plots, class_="grid"),
    )


def _lowest(each: Profile) -> str:
    least = min(each.outside)
    if not math.isfinite(least):
        return ""
    return f"The least is {percent(least)}."
