"""The answer in sentences, for the head of the page and the first tab."""

from meseta.optimizer.comparison import verdict
from meseta.optimizer.record import percent
from meseta.report.page.numbers import estimate, setting
from meseta.report.page.numbers import percent as percent_of
from meseta.report.views.answer import Answer, MeasuredBoth
from meseta.report.views.estimate import Estimate, robust_value
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms

MOST_SETTINGS = 4  # parameters in a sentence; the table shows all


def summary(report: Report) -> str:
    """The robust optimum, its robust value, and its gain."""
    answer, terms = report.answer, report.terms
    if answer is None:
        return "No trial has a value yet, so there is no robust optimum to show."
    value = estimate(robust_value(answer.robust), terms.unit)
    meets = _meets(report)
    if meets and not answer.robust.kept:
        return f"{_settings(answer, terms)} {meets} The mean of {terms.value} is {value} there."
    if answer.robust.kept:
        return (
            f"{_settings(answer, terms)} In use, the mean of {terms.value} is {value} there "
            f"(95 % interval). {' '.join([_verdict(answer), *_broken(answer)])}"
        )
    if answer.measured is not None:
        return (
            f"{_settings(answer, terms)} In use, the mean of {terms.value} is {value} there "
            f"(95 % interval). {_measured(answer.measured, terms)}"
        )
    return (
        f"{_settings(answer, terms)} In use, the mean of {terms.value} is {value} there "
        f"(95 % interval). {_gain(answer.gain, terms)}"
    )


def specification(terms: Terms) -> str:
    """The limits of the value."""
    limits = (("at least", terms.at_least), ("at most", terms.at_most))
    return " and ".join(f"{w} {setting(v, terms.unit)}" for w, v in limits if v is not None)


def scatter_sentence(words: str) -> list[str]:
    """What figures of the values in use count of their scatter; none where nothing scatters."""
    return [f"Figures of the values in use are {words}. Means are as without it."] if words else []


def _meets(report: Report) -> str:
    """The yield of both optima, where something is asked of the value."""
    both = report.outcomes
    if both is None or both.robust.meets is None or both.nominal.meets is None:
        return ""
    robust, nominal = both.robust.meets, both.nominal.meets
    against = (
        f"against {percent_of(nominal.value)} at the nominal optimum"
        if percent_of(robust.value) != percent_of(nominal.value)
        else "as at the nominal optimum"
    )
    return (
        f"In use, {percent_of(robust.value)} of the values meet the specification "
        f"({specification(report.terms)}), {against}."
    )


def gain_and_price(report: Report, answer: Answer) -> list[str]:
    """What the choice of the robust optimum gains and costs, one paragraph each."""
    terms = report.terms
    measured = [] if answer.measured is None else [_measured(answer.measured, terms)]
    if answer.robust.kept:
        return [_verdict(answer), *_broken(answer), *measured]
    if measured:
        return measured
    gain, price = (estimate(each, terms.unit) for each in (answer.gain, answer.price))
    if answer.gain.low > 0:
        first = f"In use, the robust optimum is better than the nominal optimum by {gain}."
    else:
        first = (
            "In use, the robust optimum is not clearly better than the nominal optimum. The "
            f"difference is {gain}. More evaluations may make it clear."
        )
    if answer.price.low > 0:
        second = (
            f"Without noise, the nominal optimum is better by {price}. This is the price of "
            "robustness."
        )
    else:
        second = (
            "Without noise, the nominal optimum is not clearly better. The difference, the price "
            f"of robustness, is {price}."
        )
    return [first, second]


def _measured(by: MeasuredBoth, terms: Terms) -> str:
    unit = terms.unit if by.of_values else ""
    robust, nominal = (estimate(each, unit) for each in by.both)
    return (
        f"It was chosen by another measure than the mean ({by.words}): {robust} there, {nominal} "
        "at the nominal optimum."
    )


def _verdict(answer: Answer) -> str:
    return f"{verdict(answer.robust)}."


def _broken(answer: Answer) -> list[str]:
    """What the nominal optimum breaks most often, where that is more often than asked."""
    known = {n: k for n, k in answer.nominal.kept.items() if k.share is not None}
    short = {n: k.constraint.probability - (k.share or 0.0) for n, k in known.items()}
    worst = max(short, key=lambda name: short[name], default=None)
    if worst is None or short[worst] <= 0:
        return []
    return [
        f"The nominal optimum, which ignores the noise, keeps {worst} in "
        f"{percent(known[worst].share or 0.0)} of the cases only."
    ]


def counts(report: Report) -> str:
    """The number of trials in each state."""
    return f"{report.complete} complete, {report.failed} failed, {report.pending} pending"


def _settings(answer: Answer, terms: Terms) -> str:
    params = answer.robust.params
    if len(params) > MOST_SETTINGS:
        return f"The table below has the {len(params)} parameters of the robust optimum."
    parts = [f"{name} = {setting(v, terms.unit_of(name), 4)}" for name, v in params.items()]
    return f"The robust optimum is {', '.join(parts)}."


def _gain(gain: Estimate, terms: Terms) -> str:
    if gain.low > 0:
        return f"This is better than at the nominal optimum by {estimate(gain, terms.unit)}."
    return "This is not clearly different from the mean at the nominal optimum."
