"""The answer in sentences."""

from meseta.report.page.numbers import estimate, setting
from meseta.report.views.answer import Answer
from meseta.report.views.estimate import Estimate
from meseta.report.views.report import Report
from meseta.report.views.terms import Terms

MOST_SETTINGS = 4  # in a sentence; more are for the table


def summary(report: Report) -> str:
    """One sentence."""
    answer, terms = report.answer, report.terms
    if answer is None:
        return "Nothing has finished yet, so that there is no answer."
    worth = estimate(answer.robust.perturbed, terms.unit)
    return (
        f"With {_settings(answer, terms)}, {terms.value} is expected to be {worth} in use, "
        f"{_gain(answer.gain, terms)}."
    )


def gain_and_price(answer: Answer, terms: Terms) -> list[str]:
    """What choosing the robust design means, a sentence each."""
    gain, price = (estimate(each, terms.unit) for each in (answer.gain, answer.price))
    if answer.gain.low > 0:
        first = f"In use the robust optimum is better than the nominal one by {gain}."
    else:
        first = (
            f"In use the robust optimum is not clearly better than the nominal one: by {gain}; "
            "more evaluations may tell."
        )
    if answer.price.low > 0:
        second = f"Its price: where nothing is perturbed, the nominal optimum is better by {price}."
    else:
        second = (
            "Robustness costs nothing that could be measured: where nothing is perturbed, the "
            f"nominal optimum is better by {price}."
        )
    return [first, second]


def counts(report: Report) -> str:
    """Of trials."""
    return f"{report.complete} complete, {report.failed} failed, {report.pending} pending"


def _settings(answer: Answer, terms: Terms) -> str:
    params = answer.robust.params
    if len(params) > MOST_SETTINGS:
        return f"the {len(params)} parameters of the robust optimum (below)"
    parts = [f"{name} at {setting(v, terms.unit_of(name), 4)}" for name, v in params.items()]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _gain(gain: Estimate, terms: Terms) -> str:
    if gain.low > 0:
        return f"which is {estimate(gain, terms.unit)} better than the nominal optimum would be"
    return "which is not clearly different from what the nominal optimum would give"
