"""Tolerances and the operating window of a study file, as plain values and as text."""

from dataclasses import replace
from typing import Any

from meseta.integrations.optuna.study_report import study_subject
from meseta.measures.constraints import Constraint, limits
from meseta.optimizer.record import percent
from meseta.optimizer.window import Window
from meseta.report.views.goal import ByGoal, allocation_of, window_of
from meseta.report.views.subject import Subject
from meseta.report.views.tolerances import Tolerances, tolerances
from meseta.space.price import REACH
from meseta.study import show
from meseta.study.ledger import Ledger
from meseta.study.reporting import terms_of


def subject_of(ledger: Ledger) -> Subject:
    file = ledger.file
    return study_subject(ledger.study, file.settings(), tuple(file.parameters))[0]


def goal_of(ledger: Ledger, probability: float | None) -> Constraint | None:
    """The goal of the file, or with another probability."""
    goal = ledger.file.goal
    if goal is None or probability is None:
        return goal
    low = None if goal.low == -float("inf") else goal.low
    high = None if goal.high == float("inf") else goal.high
    return limits(low, high, probability)


def tolerances_of(ledger: Ledger, confidence: float) -> Tolerances | None:
    """None: no parameter has noise."""
    terms = replace(terms_of(ledger), prices={})
    subject = subject_of(ledger)
    found = tolerances(subject, terms, window=False, confidence=confidence)
    prices = ledger.file.prices
    if found is None or found.goal is None or not prices:
        return found
    made = allocation_of(subject, terms.goal, prices, confidence)
    return replace(found, goal=replace(found.goal, allocation=made))


def window_in(ledger: Ledger, probability: float | None, confidence: float) -> Window:
    return window_of(subject_of(ledger), goal_of(ledger, probability), confidence)


def tolerance_table(found: Tolerances) -> str:
    """A line for each tolerance, and what to do with it."""
    by_goal = {} if found.goal is None else found.goal.each
    head = ["parameter", "share of variance", "with others", "gain of half"]
    if by_goal:
        head += ["may be", "with a new design"]
    rows = []
    for each in found.each:
        row = [
            each.name,
            percent(each.alone.value),
            percent(each.total.value),
            f"{each.halving.mean:.4g} {found.unit}".rstrip(),
        ]
        if by_goal:
            sure = by_goal[each.name].sure
            row += ["a choice"] * 2 if sure is None else [_times(part) for part in sure]
        rows.append(row)
    shown = show.table(head, rows)
    if found.goal is None:
        return shown
    asked = percent(found.goal.confidence)
    today = f"the goal is met today with a probability of {percent(found.goal.sure)}"
    verdicts = [f"{name}: {each.verdict}" for name, each in by_goal.items()]
    return "\n".join([f"{shown}{today} (asked: {asked})", *verdicts, ""])


def _times(factor: float | None) -> str:
    if factor is None:
        return "not met"
    return f"{'at least ' if factor >= REACH else ''}{factor:.3g} x"


def tolerances_data(found: Tolerances) -> dict[str, Any]:
    goal = found.goal
    made = None if goal is None else goal.allocation
    return {
        "tolerances": [
            {
                "name": each.name,
                "law": each.law,
                "environment": each.environment,
                "share_alone": _sampled(each.alone),
                "share_total": _sampled(each.total),
                "half": {
                    "gain": each.halving.mean,
                    "std": each.halving.std,
                    "unit": found.unit,
                },
                **({} if goal is None else _by_goal(goal.each[each.name])),
            }
            for each in found.each
        ],
        "confidence": None if goal is None else goal.confidence,
        "sure_today": None if goal is None else goal.sure,
        "goal_met_today": None if goal is None or goal.meets is None else _sampled(goal.meets),
        "allocation": None
        if made is None
        else {
            "met": made.met,
            "sure": made.sure,
            "confidence": made.confidence,
            "cost": made.cost,
            "today_cost": made.today_cost,
            "tolerances": {
                name: {
                    "width": each.width,
                    "cost": each.cost,
                    "today": each.today,
                    "today_cost": each.today_cost,
                }
                for name, each in made.tolerances.items()
            },
            "params": made.params,
            "kept": show.kept_data(made.kept),
            "today": made.today,
            "today_kept": show.kept_data(made.today_kept),
            "experiment": made.experiment,
            "beyond": made.beyond,
            "outside": made.outside,
        },
    }


def _sampled(each: Any) -> dict[str, float]:
    return {"value": each.value, "low": each.low, "high": each.high}


def _by_goal(each: ByGoal) -> dict[str, Any]:
    width = each.width
    return {
        "width": None if width is None else width.value,
        "width_means": None if width is None else width.means,
        "relative": None if width is None else width.relative,
        "unit": each.unit,
        "verdict": each.verdict,
        "goal_met_with_half": None if each.half is None else _sampled(each.half),
        "loosened": None if each.sure is None else each.sure._asdict(),
        "loosened_best_guess": None if each.guess is None else each.guess._asdict(),
    }


def window_data(made: Window) -> dict[str, Any]:
    return {
        "found": made.found,
        "verdict": made.verdict,
        "confidence": made.confidence,
        "sure": made.sure,
        "share": made.share,
        "sides": {
            name: {
                "low": side.low,
                "high": side.high,
                "share": side.share,
                "ends_of_range": list(side.at_ends),
            }
            for name, side in made.sides.items()
        },
        "fixed": made.fixed,
        "params": made.params,
        "kept": show.kept_data(made.kept),
        "worst": made.worst,
        "worst_kept": show.kept_data(made.worst_kept),
        "experiment": made.experiment,
    }
